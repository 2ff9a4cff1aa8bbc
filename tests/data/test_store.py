"""The token store on disk, and rows that are cut anew whenever they are trained on."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from dhyan.data.batches import Batches, sorted_batches
from dhyan.data.encode import encode_pairs
from dhyan.data.pairs import Pair
from dhyan.data.store import FILES, BpeDropout, create_store, open_store
from dhyan.special_tokens import BOS, EOS, PAD
from dhyan.text.bpe_dropout import MergeDropout
from dhyan.text.tokenizer import Tokenizer

SENTENCES = [
    "three hundred forty two", "seven thousand and eleven", "one million", "forty", "ninety nine",
    "two hundred", "three thousand three hundred thirty three", "a thousand and one nights",
] * 5  # fmt: skip
SIDES = ("source", "target")
STREAMS = ((1, 0), (2, 0), (1, len(SENTENCES)))  # a seed, and where an epoch begins


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(SENTENCES, kind="bpe", size=320)


@pytest.fixture(scope="module")
def examples(tokenizer):
    pairs = [Pair(text, text[::-1], line) for line, text in enumerate(SENTENCES, 1)]
    return encode_pairs(pairs, tokenizer, tokenizer, max_tokens=50)


def same(one, other):
    return all(
        torch.equal(getattr(getattr(one, side), what), getattr(getattr(other, side), what))
        for side in ("source", "target")
        for what in ("ids", "mask")
    )


def test_a_store_on_disk_gives_the_same_batches_as_one_in_memory(examples, tmp_path):
    with create_store(tmp_path) as store:
        for row in range(len(examples)):
            batch = examples.batch(np.array([row]))
            store.add(batch.source.ids[0].tolist(), batch.target.ids[0].tolist())
    mapped = open_store(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    assert len(mapped) == len(examples)
    for rows in ([0], [3, 1, 4, 1], list(range(len(examples)))):
        assert same(mapped.batch(np.array(rows)), examples.batch(np.array(rows)))


def test_a_store_on_disk_cannot_be_written_through(examples, tmp_path):
    with create_store(tmp_path) as store:
        store.add([5, EOS], [BOS, 6, EOS])
    with pytest.raises(ValueError, match="read-only"):
        open_store(tmp_path).source.ids[0] = 1


def dropping(examples, tokenizer, chance, *, longest=50):
    cut = MergeDropout(tokenizer, chance)
    return replace(examples, bpe_dropout=BpeDropout(cut, cut, longest))


def stream(examples, seed=1):
    return Batches(examples, tokens_per_batch=120, seed=seed)


def text_of(tokenizer, tokens):
    return [tokenizer.decode(ids) for ids in tokens.ids.tolist()]


def one_epoch(batches, position=0):
    """The batches of an epoch, each with where it begins."""
    epoch = batches.epoch(position)
    while batches.epoch(position) == epoch:
        batch, after = batches.at(position)
        yield position, batch
        position = after


def pairs_of(tokenizer, batches):
    """Every pair of an epoch as text."""
    parts = [batch for _, batch in one_epoch(batches)]
    sides = [sum((text_of(tokenizer, getattr(b, side)) for b in parts), []) for side in SIDES]
    return sorted(zip(*sides, strict=True))


def test_merges_left_out_change_the_ids_and_never_the_text(examples, tokenizer):
    plain, cut = stream(examples), stream(dropping(examples, tokenizer, 0.5))
    assert pairs_of(tokenizer, plain) == pairs_of(tokenizer, cut)
    grown = 0
    for _, batch in one_epoch(cut):
        for side in (batch.source, batch.target):
            assert (side.ids[~side.mask] == PAD).all()
            grown += int(side.mask.sum())
        assert (batch.target.ids[:, 0] == BOS).all()
        ends = batch.source.ids.gather(1, batch.source.lengths[:, None] - 1)
        assert (ends == EOS).all()
    assert grown > sum(int(lengths.sum()) for lengths in examples.lengths(np.arange(40)))


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.99])
def test_however_sentences_grow_no_batch_is_over_its_budget(examples, tokenizer, chance):
    cut = stream(dropping(examples, tokenizer, chance))
    batches = [batch for _, batch in one_epoch(cut)]
    assert len(batches) > 5
    for batch in batches:
        assert max(batch.source.ids.numel(), batch.target.ids.numel()) <= 120


def test_a_stream_of_new_cuts_goes_on_from_any_position(examples, tokenizer):
    cut = dropping(examples, tokenizer, 0.5)
    for position, batch in reversed(list(one_epoch(stream(cut)))):
        assert same(batch, stream(cut).at(position)[0])


def test_what_is_left_out_follows_from_the_seed_the_epoch_and_the_place(examples, tokenizer):
    cut = dropping(examples, tokenizer, 0.5)
    epochs = [[b for _, b in one_epoch(stream(cut, seed), start)] for seed, start in STREAMS]
    seen = [{tuple(row) for b in epoch for row in b.source.ids.tolist()} for epoch in epochs]
    assert seen[0] != seen[1]
    assert seen[0] != seen[2]
    rows = cut.resegmented(np.array([0, 0, 8, 16]), [1, 2, 3, 4]).batch(np.arange(4)).source.ids
    assert len({tuple(row) for row in rows.tolist()}) > 1, "rows of one sentence are cut apart"


def test_the_cut_of_a_row_does_not_depend_on_the_window(examples, tokenizer):
    cut, seen = dropping(examples, tokenizer, 0.5), []
    for window in (8, 64):
        batches = Batches(cut, tokens_per_batch=120, seed=1, window=window)
        parts = [batch.source for _, batch in one_epoch(batches)]
        rows = [ids[mask].tolist() for p in parts for ids, mask in zip(p.ids, p.mask, strict=True)]
        seen.append(sorted(rows))
    assert seen[0] == seen[1]


def test_a_chance_of_nothing_leaves_every_batch_as_it_is(examples, tokenizer):
    assert same(stream(dropping(examples, tokenizer, 0.0)).at(0)[0], stream(examples).at(0)[0])


def test_no_row_grows_past_what_the_model_takes(examples, tokenizer):
    longest = int(max(side.max() for side in examples.lengths(np.arange(len(examples))))) - 1
    cut = dropping(examples, tokenizer, 0.99, longest=longest)
    rows = np.arange(len(examples))
    batch = cut.resegmented(rows, rows.tolist()).batch(rows)
    assert batch.source.lengths.max() <= longest + 1
    assert batch.target.lengths.max() <= longest + 2


def test_validation_leaves_no_merge_out(examples, tokenizer):
    cut = dropping(examples, tokenizer, 0.5)
    for one, other in zip(sorted_batches(cut, 200), sorted_batches(examples, 200), strict=True):
        assert same(one, other)
