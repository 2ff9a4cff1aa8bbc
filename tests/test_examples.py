"""The token store on disk, and rows that are cut anew whenever they are trained on."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from dhyan.data.batches import Batches, fixed_batches
from dhyan.data.corpus import Pair
from dhyan.data.examples import Dropout, encode_pairs
from dhyan.data.store import FILES, new_store, open_store
from dhyan.special import BOS, EOS, PAD
from dhyan.text.dropout import MergeDropout
from dhyan.text.tokenizer import Tokenizer

SENTENCES = [
    "three hundred forty two", "seven thousand and eleven", "one million", "forty", "ninety nine",
    "two hundred", "three thousand three hundred thirty three", "a thousand and one nights",
] * 5  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.learn(SENTENCES, kind="bpe", size=320)


@pytest.fixture(scope="module")
def examples(tokenizer):
    pairs = [Pair(text, text[::-1], line) for line, text in enumerate(SENTENCES, 1)]
    return encode_pairs(pairs, tokenizer, tokenizer, longest=50)


def same(one, other):
    return all(
        torch.equal(getattr(getattr(one, side), what), getattr(getattr(other, side), what))
        for side in ("source", "target")
        for what in ("ids", "mask")
    )


def test_a_store_on_disk_gives_the_same_batches_as_one_in_memory(examples, tmp_path):
    with new_store(tmp_path) as store:
        for row in range(len(examples)):
            batch = examples.batch(np.array([row]))
            store.add(batch.source.ids[0].tolist(), batch.target.ids[0].tolist())
    mapped = open_store(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    assert len(mapped) == len(examples)
    for rows in ([0], [3, 1, 4, 1], list(range(len(examples)))):
        assert same(mapped.batch(np.array(rows)), examples.batch(np.array(rows)))


def test_a_store_on_disk_cannot_be_written_through(examples, tmp_path):
    with new_store(tmp_path) as store:
        store.add([5, EOS], [BOS, 6, EOS])
    with pytest.raises(ValueError, match="read-only"):
        open_store(tmp_path).source.ids[0] = 1


def dropping(examples, tokenizer, chance, *, longest=50):
    cut = MergeDropout(tokenizer, chance)
    return replace(examples, dropout=Dropout(cut, cut, longest))


def stream(examples, seed=1):
    return Batches(examples, tokens_per_batch=120, seed=seed)


def text_of(tokenizer, tokens):
    return [tokenizer.decode(ids) for ids in tokens.ids.tolist()]


def test_merges_left_out_change_the_ids_and_never_the_text(examples, tokenizer):
    plain, cut = stream(examples), stream(dropping(examples, tokenizer, 0.5))
    position, changed = 0, False
    while position < len(examples):
        (one, after), (other, again) = plain.at(position), cut.at(position)
        assert after == again
        for side in ("source", "target"):
            ours, theirs = getattr(one, side), getattr(other, side)
            assert text_of(tokenizer, ours) == text_of(tokenizer, theirs)
            assert (theirs.ids[~theirs.mask] == PAD).all()
        assert (other.target.ids[:, 0] == BOS).all()
        ends = other.source.ids.gather(1, other.source.lengths[:, None] - 1)
        assert (ends == EOS).all()
        changed |= not same(one, other)
        position = after
    assert changed


def test_what_is_left_out_follows_from_the_seed_and_the_position(examples, tokenizer):
    cut = dropping(examples, tokenizer, 0.5)
    first, position = stream(cut).at(0)
    assert same(first, stream(cut).at(0)[0])
    later = stream(cut)
    later.at(position)
    assert same(first, later.at(0)[0])
    rows = np.array([0, 0, 8, 16])
    by_seed = [cut.batch(rows, seed=seed) for seed in (1, 2)]
    assert not same(*by_seed)
    source = by_seed[0].source.ids.tolist()
    assert len({tuple(row) for row in source}) > 1, "rows of one sentence are cut apart"


def test_a_chance_of_nothing_leaves_every_batch_as_it_is(examples, tokenizer):
    assert same(stream(dropping(examples, tokenizer, 0.0)).at(0)[0], stream(examples).at(0)[0])


def test_no_row_grows_past_what_the_model_takes(examples, tokenizer):
    longest = int(max(side.max() for side in examples.lengths(np.arange(len(examples))))) - 1
    cut = dropping(examples, tokenizer, 0.99, longest=longest)
    batch = cut.batch(np.arange(len(examples)), seed=1)
    assert batch.source.lengths.max() <= longest + 1
    assert batch.target.lengths.max() <= longest + 2


def test_validation_leaves_no_merge_out(examples, tokenizer):
    cut = dropping(examples, tokenizer, 0.5)
    for one, other in zip(fixed_batches(cut, 200), fixed_batches(examples, 200), strict=True):
        assert same(one, other)
