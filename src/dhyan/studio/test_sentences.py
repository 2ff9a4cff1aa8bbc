"""Which of the primer's sentences suit the models of a shelf, by what these learned from."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dhyan.errors import UserError
from dhyan.studio.registry import Book, Shelf

if TYPE_CHECKING:
    from dhyan.config import Recipe

CORES = (1.0, 0.3, 0.15)  # shares of the primer's words, the first that the models know
SAMPLE = 30  # sentences by which that is judged
UNKNOWN = 0.01  # of their tokens at most
MOST_LINES = 200_000  # of a training text


def recipe_of(book: Book) -> "Recipe":
    """What a model was trained by."""
    from dhyan.checkpoint import find_checkpoint
    from dhyan.config import load_recipe

    if book.saved:
        raise book.saved.alone()
    return load_recipe(str(find_checkpoint(book.folder) / "recipe.toml"))


def core_for(shelf: Shelf) -> float:
    """The share of the primer's words that the models have met.

    Recipes of the primer say it; of models that learned from texts, their vocabularies do.
    """
    recipes = list(_recipes(shelf))
    said = min(
        (one.data.core_share for _, one in recipes if one.data.task == "primer"), default=1.0
    )
    for book, recipe in recipes:
        if recipe.data.task == "":
            said = min(said, _known(book, said))
    return said


def trained_to(recipe: "Recipe") -> int:
    """The most words of a source sentence the model was trained on; 0 if that is not known."""
    from dhyan.compare.test_sets import LONGEST as OF_THE_PRIMER

    data = recipe.data
    if data.task == "primer":  # its bounds are on the English side
        return 0 if data.source_language == "hi" else data.max_words or OF_THE_PRIMER
    return data.max_words or max((len(one.split()) for one in _lines(data.source)), default=0)


def learned(shelf: Shelf) -> set[str]:
    """Sentences of the models' training texts, which cannot test them."""
    texts = {recipe.data.source for _, recipe in _recipes(shelf) if recipe.data.task == ""}
    return set().union(*map(_lines, texts))


def _recipes(shelf: Shelf) -> "Iterator[tuple[Book, Recipe]]":
    """The models whose recipes can be read."""
    for book in shelf.books.values():
        try:
            yield book, recipe_of(book)
        except UserError:
            continue


def _known(book: Book, most: float) -> float:
    """The largest share of the primer's words, up to `most`, that the vocabulary of a model has."""
    from dhyan.special_tokens import UNK

    try:
        with book.opened() as translator:
            tokenizer, side = translator.source, int(translator.source_language == "hi")
    except UserError:
        return most
    shares = [share for share in CORES if share <= most] or [most]
    for share in shares:
        ids = [token for pair in _sample(share) for token in tokenizer.encode(pair[side])]
        if ids.count(UNK) <= UNKNOWN * len(ids):
            return share
    return shares[-1]


@lru_cache(maxsize=8)
def _sample(core: float) -> tuple[tuple[str, str], ...]:
    """Sentences of a share of the primer's words, English and Hindi."""
    from dhyan.data.primer import generate_sentences

    twins = generate_sentences("random", shortest=6, longest=10, core=core)
    return tuple((one.english, one.hindi) for one in islice(twins, SAMPLE))


@lru_cache(maxsize=4)
def _lines(path: str) -> frozenset[str]:
    """The lines of a text, if it is one and is still there."""
    try:
        with Path(path).open(encoding="utf-8") as text:
            return frozenset(line.strip() for line in islice(text, MOST_LINES))
    except (OSError, UnicodeError):
        return frozenset()
