"""The token store on disk, and BPE dropout of its rows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from dhyan.data.batches import Batches, sorted_batches
from dhyan.data.encode import encode_pairs
from dhyan.data.pairs import Pair
from dhyan.data.shards import ShardType, open_shards, shard_files
from dhyan.data.store import BpeDropout, Examples
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


def same(first, second):
    return all(
        torch.equal(getattr(getattr(first, side), what), getattr(getattr(second, side), what))
        for side in ("source", "target")
        for what in ("ids", "mask")
    )


def write_shards(folder, examples, sizes, types):
    """Some examples as shards of these sizes."""
    first = 0
    for number, size in enumerate(sizes):
        for at, side in enumerate(("source", "target")):
            sequences = getattr(examples, side)
            offsets = sequences.offsets[first : first + size + 1]
            ids, name = shard_files(number)[2 * at : 2 * at + 2]
            sequences.ids[offsets[0] : offsets[-1]].astype(types.ids).tofile(folder / ids)
            (offsets - offsets[0]).astype(types.offsets).tofile(folder / name)
        first += size
    return Examples(*open_shards(folder, sizes, types))


@pytest.mark.parametrize("sizes", [[40], [1, 39], [13, 0, 13, 14], [1] * 40])
@pytest.mark.parametrize("types", [ShardType("<u2", "<u4"), ShardType("<u4", "<u8")])
def test_shards_give_the_same_batches_as_memory(examples, tmp_path, sizes, types):
    mapped = write_shards(tmp_path, examples, sizes, types)
    assert len(mapped) == len(examples)
    for rows in ([0], [3, 1, 39, 4, 1], list(range(len(examples)))):
        assert same(mapped.batch(np.array(rows)), examples.batch(np.array(rows)))
        for ours, theirs in zip(
            mapped.lengths(np.array(rows)), examples.lengths(np.array(rows)), strict=True
        ):
            assert ours.tolist() == theirs.tolist()


def test_shards_are_read_only(examples, tmp_path):
    mapped = write_shards(tmp_path, examples, [40], ShardType("<u2", "<u4"))
    with pytest.raises(ValueError, match="read-only"):
        mapped.source.shards[0].ids[0] = 1


def test_the_smallest_types_that_suffice_are_chosen():
    assert ShardType.of(2**16, 2**32 - 1) == ShardType("<u2", "<u4")
    assert ShardType.of(2**16 + 1, 2**32) == ShardType("<u4", "<u8")


def with_dropout(examples, tokenizer, prob, *, max_tokens=50):
    resegmented = MergeDropout(tokenizer, prob)
    return replace(examples, bpe_dropout=BpeDropout(resegmented, resegmented, max_tokens))


def stream(examples, seed=1):
    return Batches(examples, tokens_per_batch=120, seed=seed)


def text_of(tokenizer, tokens):
    return [tokenizer.decode(ids) for ids in tokens.ids.tolist()]


def epoch_batches(batches, position=0):
    """The batches of an epoch, each with its position."""
    epoch = batches.epoch(position)
    while batches.epoch(position) == epoch:
        batch, after = batches.at(position)
        yield position, batch
        position = after


def pairs_of(tokenizer, batches):
    """Every pair of an epoch as text."""
    parts = [batch for _, batch in epoch_batches(batches)]
    sides = [sum((text_of(tokenizer, getattr(b, side)) for b in parts), []) for side in SIDES]
    return sorted(zip(*sides, strict=True))


def test_bpe_dropout_changes_the_ids_and_never_the_text(examples, tokenizer):
    plain, resegmented = stream(examples), stream(with_dropout(examples, tokenizer, 0.5))
    assert pairs_of(tokenizer, plain) == pairs_of(tokenizer, resegmented)
    grown = 0
    for _, batch in epoch_batches(resegmented):
        for side in (batch.source, batch.target):
            assert (side.ids[~side.mask] == PAD).all()
            grown += int(side.mask.sum())
        assert (batch.target.ids[:, 0] == BOS).all()
        ends = batch.source.ids.gather(1, batch.source.lengths[:, None] - 1)
        assert (ends == EOS).all()
    assert grown > sum(int(lengths.sum()) for lengths in examples.lengths(np.arange(40)))


@pytest.mark.parametrize("prob", [0.1, 0.5, 0.99])
def test_no_batch_with_dropout_is_over_its_budget(examples, tokenizer, prob):
    resegmented = stream(with_dropout(examples, tokenizer, prob))
    batches = [batch for _, batch in epoch_batches(resegmented)]
    assert len(batches) > 5
    for batch in batches:
        assert max(batch.source.ids.numel(), batch.target.ids.numel()) <= 120


def test_dropout_resumes_at_any_position(examples, tokenizer):
    resegmented = with_dropout(examples, tokenizer, 0.5)
    for position, batch in reversed(list(epoch_batches(stream(resegmented)))):
        assert same(batch, stream(resegmented).at(position)[0])


def test_dropout_depends_on_seed_epoch_and_position(examples, tokenizer):
    resegmented = with_dropout(examples, tokenizer, 0.5)
    epochs = [
        [b for _, b in epoch_batches(stream(resegmented, seed), start)] for seed, start in STREAMS
    ]
    segmentations = [
        {tuple(row) for b in epoch for row in b.source.ids.tolist()} for epoch in epochs
    ]
    assert segmentations[0] != segmentations[1]
    assert segmentations[0] != segmentations[2]
    rows = (
        resegmented.resegmented(np.array([0, 0, 8, 16]), np.arange(4).astype(np.uint64))
        .batch(np.arange(4))
        .source.ids
    )
    assert len({tuple(row) for row in rows.tolist()}) > 1, (
        "equal sentences have different segmentations"
    )


def test_dropout_does_not_depend_on_the_window(examples, tokenizer):
    resegmented, segmentations = with_dropout(examples, tokenizer, 0.5), []
    for window in (8, 64):
        batches = Batches(resegmented, tokens_per_batch=120, seed=1, window=window)
        parts = [batch.source for _, batch in epoch_batches(batches)]
        rows = [ids[mask].tolist() for p in parts for ids, mask in zip(p.ids, p.mask, strict=True)]
        segmentations.append(sorted(rows))
    assert segmentations[0] == segmentations[1]


def test_dropout_of_zero_changes_nothing(examples, tokenizer):
    assert same(stream(with_dropout(examples, tokenizer, 0.0)).at(0)[0], stream(examples).at(0)[0])


def test_dropout_does_not_exceed_the_maximum_length(examples, tokenizer):
    max_tokens = int(max(side.max() for side in examples.lengths(np.arange(len(examples))))) - 1
    resegmented = with_dropout(examples, tokenizer, 0.99, max_tokens=max_tokens)
    rows = np.arange(len(examples))
    batch = resegmented.resegmented(rows, rows.astype(np.uint64)).batch(rows)
    assert batch.source.lengths.max() <= max_tokens + 1
    assert batch.target.lengths.max() <= max_tokens + 2


def test_validation_has_no_dropout(examples, tokenizer):
    resegmented = with_dropout(examples, tokenizer, 0.5)
    for batch, expected in zip(
        sorted_batches(resegmented, 200), sorted_batches(examples, 200), strict=True
    ):
        assert same(batch, expected)
