"""Source and target stay aligned: both sides of each pair carry the same number."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dhyan.data.batches import Batches, sorted_batches
from dhyan.data.corpus import load_corpus, with_languages
from dhyan.data.prepare import prepare
from dhyan.data.read_pairs import read_pairs
from dhyan.special_tokens import BOS, EOS, PAD
from dhyan.training.prefetch import DirectLoader, Prefetcher
from dhyan.training.steps import Steps
from tests.tiny_models import tiny_recipe

PAIRS, OTHERS = 1000, 200
CPU = torch.device("cpu")


def write_numbered(folder, name, numbers, seed):
    """Two files whose line N has the same number on both sides, with bad lines among them."""
    rng, sides = random.Random(seed), ([], [])
    for number in numbers:
        for side, letter in zip(sides, "st", strict=True):
            text = " ".join([f"{letter}{number}", *["x"] * rng.randint(0, 30)])
            side.append(text if rng.random() > 0.1 else f"{text}\u2028\x0b\x85\rx")
        if rng.random() < 0.1:
            at = rng.randrange(2)
            long = f"{'st'[at]}{number} " + "x " * 300
            sides[at][-1] = rng.choice(["", " ", "\u3000", "y" * 10_001, long])
    paths = folder / f"{name}.en", folder / f"{name}.hi"
    for path, lines in zip(paths, sides, strict=True):
        path.write_bytes("\n".join(lines).encode())
    return paths


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbered")
    first = write_numbered(folder, "a", range(PAIRS), 1)
    second = write_numbered(folder, "b", range(PAIRS, PAIRS + OTHERS), 2)
    return *first, *second


def usable(*paths):
    """The numbers of the usable pairs, computed independently."""
    lines = [path.read_bytes().decode().split("\n") for path in paths]
    return {
        int(source.split()[0][1:])
        for source, target in zip(*lines, strict=True)
        if all(
            text.strip() and len(text.split()) <= 60 and len(text) < 9000
            for text in (source, target)
        )
    }


def numbers_of(batch, source, target):
    """The number of each row of a batch, the same on both sides."""
    for source_ids, target_ids in zip(
        batch.source.ids.tolist(), batch.target.ids.tolist(), strict=True
    ):
        if set(target_ids) <= {PAD, BOS}:  # a padding row
            assert set(source_ids) <= {PAD, EOS}
            continue
        first_words = [
            tokenizer.decode(id for id in ids if id not in (PAD, BOS, EOS)).split()[0]
            for tokenizer, ids in ((source, source_ids), (target, target_ids))
        ]
        assert first_words[0][0] + first_words[1][0] == "st"
        assert first_words[0][1:] == first_words[1][1:], "the sides are misaligned"
        yield int(first_words[0][1:])


def recipe_over(files, **settings):
    words = {
        "text.tokenizer": "words",
        "text.source_vocabulary_size": 9000,
        "text.target_vocabulary_size": 9000,
    }
    return with_languages(tiny_recipe("rnn", *files[:2], **{**words, **settings}))


def test_every_pair_has_the_line_number_of_both_sides(files):
    for pair in read_pairs(*files[:2]):
        assert pair.source.split()[0][1:] == pair.target.split()[0][1:] == str(pair.line - 1)


@pytest.mark.parametrize(
    ("pipeline", "multiple"),
    [
        *(("text", 1), ("text", 8), ("prepared", 1), ("mixed", 8), ("bpe dropout", 8)),
        *(
            pytest.param(pipeline, 1, marks=pytest.mark.soak)
            for pipeline in ("mixed", "bpe dropout")
        ),
        pytest.param("prepared", 8, marks=pytest.mark.soak),
    ],
)
def test_source_and_target_stay_aligned_in_batches(pipeline, multiple, files, tmp_path):
    mix = [{"source": str(files[2]), "target": str(files[3]), "weight": 2.0}]
    settings = {"mixed": {"data.mix": mix}}.get(pipeline, {})
    if pipeline == "bpe dropout":
        settings = {
            "text.tokenizer": "bpe",
            "text.source_vocabulary_size": 300,
            "text.target_vocabulary_size": 300,
        }
        settings |= {"text.bpe_dropout": 0.3, "text.vocabulary_pairs": 50}
    recipe = recipe_over(files, **settings)
    if pipeline == "prepared":
        prepare(recipe, tmp_path / "ready")
        recipe = replace(recipe, data=replace(recipe.data, prepared=str(tmp_path / "ready")))
    corpus = load_corpus(recipe)
    source, target = corpus.make_codecs(recipe)
    examples = corpus.encode(source, target, 60 if pipeline != "bpe dropout" else 200)
    batches = Batches(examples, tokens_per_batch=500, seed=3, multiple=multiple, max_length=210)
    held_out = {int(pair.source.split()[0][1:]) for pair in corpus.validation}
    expected = Counter(usable(*files[:2]) - held_out)
    if pipeline == "mixed":
        expected += Counter(2 * sorted(usable(*files[2:])))
    loader, position, counts = Prefetcher(Steps(batches), CPU, depth=3), 0, Counter()
    while position < batches.size:
        loaded = loader.at(position)
        counts.update(numbers_of(loaded.micro_batches[0].batch, source, target))
        position = loaded.next_position
    loader.close()
    assert counts == expected, "each pair has its expected count"
    (following,) = DirectLoader(Steps(batches), CPU).at(position).micro_batches
    number = next(iter(numbers_of(following.batch, source, target)))
    assert number in expected, "the next epoch too"


def test_source_and_target_stay_aligned_in_validation(files):
    recipe = recipe_over(files)
    corpus = load_corpus(recipe)
    source, target = corpus.make_codecs(recipe)
    examples = corpus.encode(source, target, 60)
    counts = [
        n for batch in sorted_batches(examples, 300) for n in numbers_of(batch, source, target)
    ]
    assert len(counts) == len(set(counts)) == len(examples)


def test_counting_lines_agrees_with_wc(files):
    for path in map(Path, files):
        assert sum(1 for _ in path.open("rb")) == path.read_bytes().count(b"\n") + 1
    lines = [pair.line for pair in read_pairs(*files[:2])]
    assert max(lines) <= PAIRS
