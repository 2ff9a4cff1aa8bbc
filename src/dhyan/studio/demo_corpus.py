"""The corpus of the demo models: short sentences of the primer, and those of the lecture notes.

Some are written as people type, without a capital letter or a full stop.
"""

import random
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import chain, product, repeat
from pathlib import Path

from dhyan.atomic_folder import atomic_folder
from dhyan.data.filters import distinct
from dhyan.data.primer import generate_sentences

DEMO_RECIPES = files("dhyan.studio") / "demo_recipes"
PAIRS, VALID_PAIRS, LONGEST, CORE_SHARE, SEED = 60_000, 100, 12, 0.15, 1
NOTE_REPEATS, VARIANT_REPEATS = 100, 10  # of a sentence of the notes, and of its variants
INFORMAL_SHARE, INFORMAL_NOTE_SHARE = 0.15, 0.4
# Words with a capital letter only at the beginning of a sentence.
SENTENCE_OPENERS = frozenset(
    "A An And Are But Come Did Do Does He Her His How If In Is It My Nice On Our She That The "
    "Their There These They Think This Those Turn Was We Were What When Where Who Why You "
    "Your".split()
)


def write_corpus(folder: Path) -> Path:
    """Write training and validation texts into a folder, unless it exists."""
    if folder.exists():
        return folder
    rng = random.Random(SEED)
    generated = generate_sentences("train", seed=SEED, max_words=LONGEST, core_share=CORE_SHARE)
    train = distinct(generated, lambda pair: pair.english, PAIRS)
    pairs = [informal(pair.english, pair.hindi, rng, INFORMAL_SHARE) for pair in train]
    for variants in note_sentences():
        repeats = chain([NOTE_REPEATS], repeat(VARIANT_REPEATS))
        for times, (english, hindi) in zip(repeats, variants, strict=False):
            pairs += [informal(english, hindi, rng, INFORMAL_NOTE_SHARE) for _ in range(times)]
    rng.shuffle(pairs)
    known = {hindi for variants in note_sentences() for _, hindi in variants}
    held_out = generate_sentences("valid", seed=SEED, max_words=LONGEST, core_share=CORE_SHARE)
    unseen = (pair for pair in held_out if pair.hindi not in known)
    distinct_pairs = distinct(unseen, lambda pair: pair.english, VALID_PAIRS)
    valid = [(pair.english, pair.hindi) for pair in distinct_pairs]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(folder) as partial:
        _write(partial, "train", pairs)
        _write(partial, "valid", valid)
    return folder


def note_sentences() -> list[list[tuple[str, str]]]:
    """The sentences of the notes, each followed by its variants."""
    lines = (DEMO_RECIPES / "notes.txt").read_text(encoding="utf-8").splitlines()
    return [list(_variants(line)) for line in lines if not line.startswith("#")]


def _variants(line: str) -> Iterator[tuple[str, str]]:
    """All combinations of the words of a template's slots; ~ is a space within a word."""
    pair, *slots = line.split(" | ")
    english, hindi = pair.split(" = ")
    names = [slot.partition(": ")[0] for slot in slots]
    words = [[pair.split("/") for pair in slot.partition(": ")[2].split()] for slot in slots]
    for combination in product(*words):
        sides = [
            dict(zip(names, side, strict=True)) for side in zip(*combination, strict=True)
        ] or [
            {},
            {},
        ]
        yield (
            english.format(**sides[0]).replace("~", " "),
            hindi.format(**sides[1]).replace("~", " "),
        )


def informal(english: str, hindi: str, rng: random.Random, share: float) -> tuple[str, str]:
    """The pair, in a share of all cases as people type it."""
    if rng.random() >= share:
        return english, hindi
    if english.split()[0] in SENTENCE_OPENERS:
        english = english[0].lower() + english[1:]
    return (english.rstrip(".?"), hindi.rstrip("।?")) if rng.random() < 0.5 else (english, hindi)


def _write(folder: Path, name: str, pairs: Sequence[tuple[str, str]]) -> None:
    for side, language in enumerate(("en", "hi")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (folder / f"{name}.{language}").write_text(text, encoding="utf-8")
