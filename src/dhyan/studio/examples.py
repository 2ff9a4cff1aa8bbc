"""Example sentences of the studio: everyday ones, hard ones, and those of synthetic corpora.

The default sentences are in no training text of the pretrained models, and each of these models
translates every one of them sensibly by greedy search; `tests/studio/test_examples.py` checks both.
The hard ones show a phenomenon each; some models get them wrong.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dhyan.checkpoint import find_checkpoint
from dhyan.config import load_recipe
from dhyan.config.sections import PICTURE_CODECS
from dhyan.data.corpus_files import validation_files
from dhyan.data.pairs import Pair
from dhyan.data.read_report import ReadReport
from dhyan.data.rendered_text import rendered_text_pairs
from dhyan.data.scenes import scene_pairs
from dhyan.errors import UserError
from dhyan.studio.model_cards import has_codecs
from dhyan.studio.schemas import MAX_CHARACTERS

ENGLISH = "en"
OWN = 3  # sentences of a model's own validation text, or pictures
PICTURES: Mapping[str, Callable[..., Iterable[Pair]]] = {
    "scenes": scene_pairs,
    "rendered_text": rendered_text_pairs,
}
"""Corpora of generated pictures, whose examples are generated too."""
EXAMPLE_SEED = 2**31  # no training has it by default
MAX_OWN_CHARACTERS = 120


@dataclass(frozen=True)
class Example:
    """A sentence of a language or a synthetic corpus, and the phenomenon that a hard one shows.

    `model` names the only model that a sentence of its own validation text is for.
    """

    text: str
    language: str = ENGLISH
    synthetic: str = ""
    phenomenon: str = ""
    hard: bool = False
    model: str = ""


DEFAULT = tuple(
    map(
        Example,
        (
            "My sister works in a hospital.",
            "The children are playing in the garden.",
            "My mother is cooking rice in the kitchen.",
            "He wants to become a pilot.",
            "I have been living here for ten years.",
            "Do you want some water?",
            "What is your sister's name?",
            "I don't know where my keys are.",
            "This book is very interesting.",
            "We live near the river.",
        ),
    )
) + (
    Example("The teacher called the doctor.", phenomenon="order"),
    Example("The doctor called the teacher.", phenomenon="order"),
)

HARD = tuple(
    Example(text, phenomenon=phenomenon, hard=True)
    for text, phenomenon in (
        ("The bank of the river is far.", "river"),
        ("Sita went to the bank and then took a loan.", "money"),
        ("Amit came to the bank and rowed the boat.", "river"),
        ("Apple launched a new phone while I was eating an orange.", "meaning"),
        ("The teacher saw the thief with a telescope.", "readings"),
        ("The man saw the astronomer with a telescope.", "readings"),
        ("The chicken is ready to eat.", "readings"),
        ("Turn off the lights.", "order"),
    )
)

WORDS = tuple(  # of pretrained models for words, in neither training text
    Example(text, language="", model=model)
    for model, texts in {
        "hi-transliteration": ("shukriya", "chaand", "titliyan", "indradhanush"),
        "en-pronunciation": ("tokenizer", "encoder", "softmax", "dhyan"),
    }.items()
    for text in texts
)

TOYS = tuple(
    Example(text, synthetic=corpus)
    for corpus, texts in {
        "copy": ("n a m a s t e", "d h y a n", "s t u d i o"),
        "reverse": ("n a m a s t e", "d h y a n", "s t u d i o"),
        "dates": ("25 march 1998", "1 january 2031", "30 november 1875"),
        "numbers": ("three hundred forty two", "seven thousand eleven", "ninety nine"),
        "counting": ("red blue pink 5 to 9", "white red golden 20 to 22"),
        "perspectives": (
            "engineer: The case burns every hand. Four thousand turns face only forty. "
            "It is painted green. It works as softly as a cat.",
        ),
        "scene_cells": (
            "a small red circle is left of a large blue square",
            "a large green triangle is below a small black star",
        ),
        "primer": ("Anil sends the money to Ravi.", "The girl sees the river."),
    }.items()
    for text in texts
)


def examples() -> tuple[Example, ...]:
    """The default sentences, the hard ones, those of synthetic corpora, and words."""
    return DEFAULT + HARD + TOYS + WORDS


def own_examples(name: str, folder: Path) -> list[Example]:
    """The first sentences of a model's validation text, or generated pictures, if no other fits."""
    recipe = load_recipe(str(find_checkpoint(folder) / "recipe.toml"))
    data, fits = recipe.data, not has_codecs(recipe)
    if data.synthetic in PICTURES:
        pairs: Iterable[Pair] = PICTURES[data.synthetic](seed=EXAMPLE_SEED)
        return [Example(pair.source, model=name) for pair in islice(pairs, OWN)]
    if data.synthetic or (fits and data.source_language == ENGLISH) or not data.valid_source:
        return []
    if recipe.text.source_codec in PICTURE_CODECS:
        return []
    files = validation_files(data)
    try:
        pairs = files.read(ReadReport()) if files else ()
        return [Example(text, model=name) for text in islice(_short(pairs), OWN)]
    except (OSError, UserError):  # the text of a training need not be there any more
        return []


def _short(pairs: Iterable[Pair]) -> Iterable[str]:
    limit = min(MAX_OWN_CHARACTERS, MAX_CHARACTERS)
    return (text for pair in pairs if 0 < len(text := pair.source.strip()) <= limit)
