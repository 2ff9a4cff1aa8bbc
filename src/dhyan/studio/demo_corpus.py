"""What the offered models learn from: the primer's short sentences, and the lecture notes' own.

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

OFFERED = files("dhyan.studio") / "offered"
PAIRS, VALID, LONGEST, CORE, SEED = 60_000, 100, 12, 0.15, 1
OWN, TIMES = 100, 10  # that a sentence of the notes is read in an epoch, and one of its kind
AS_TYPED, NOTE_AS_TYPED = 0.15, 0.4  # shares
# Words that begin a sentence with a capital letter and have none within it.
OPENERS = frozenset(
    "A An And Are But Come Did Do Does He Her His How If In Is It My Nice On Our She That The "
    "Their There These They Think This Those Turn Was We Were What When Where Who Why You "
    "Your".split()
)


def write_corpus(folder: Path) -> Path:
    """The texts to learn from and to validate on, if they are not there yet."""
    if folder.exists():
        return folder
    dice = random.Random(SEED)
    twins = generate_sentences("train", seed=SEED, longest=LONGEST, core=CORE)
    made = distinct(twins, lambda twin: twin.english, PAIRS)
    pairs = [typed(twin.english, twin.hindi, dice, AS_TYPED) for twin in made]
    for line in notes():
        for times, (english, hindi) in zip(chain([OWN], repeat(TIMES)), line, strict=False):
            pairs += [typed(english, hindi, dice, NOTE_AS_TYPED) for _ in range(times)]
    dice.shuffle(pairs)
    known = {hindi for line in notes() for _, hindi in line}
    held = generate_sentences("valid", seed=SEED, longest=LONGEST, core=CORE)
    new = (twin for twin in held if twin.hindi not in known)
    valid = [(one.english, one.hindi) for one in distinct(new, lambda twin: twin.english, VALID)]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(folder) as half:
        _write(half, "train", pairs)
        _write(half, "valid", valid)
    return folder


def notes() -> list[list[tuple[str, str]]]:
    """The notes' sentences, each followed by others of its kind."""
    lines = (OFFERED / "notes.txt").read_text(encoding="utf-8").splitlines()
    return [list(_filled(line)) for line in lines if not line.startswith("#")]


def _filled(line: str) -> Iterator[tuple[str, str]]:
    """A line's sentences: every word of every slot with every other; ~ is a space in a word."""
    pair, *slots = line.split(" | ")
    english, hindi = pair.split(" = ")
    names = [slot.partition(": ")[0] for slot in slots]
    words = [[one.split("/") for one in slot.partition(": ")[2].split()] for slot in slots]
    for chosen in product(*words):
        sides = [dict(zip(names, side, strict=True)) for side in zip(*chosen, strict=True)] or [
            {},
            {},
        ]
        yield (
            english.format(**sides[0]).replace("~", " "),
            hindi.format(**sides[1]).replace("~", " "),
        )


def typed(english: str, hindi: str, dice: random.Random, share: float) -> tuple[str, str]:
    """The pair as it is, or, in a share of all cases, as people type it."""
    if dice.random() >= share:
        return english, hindi
    if english.split()[0] in OPENERS:
        english = english[0].lower() + english[1:]
    return (english.rstrip(".?"), hindi.rstrip("।?")) if dice.random() < 0.5 else (english, hindi)


def _write(folder: Path, name: str, pairs: Sequence[tuple[str, str]]) -> None:
    for side, language in enumerate(("en", "hi")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (folder / f"{name}.{language}").write_text(text, encoding="utf-8")
