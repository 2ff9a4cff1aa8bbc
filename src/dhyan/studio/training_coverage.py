"""Bounds on generated test sentences: vocabulary and lengths of training, no training sentences."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dhyan.errors import UserError
from dhyan.studio.registry import ModelRegistry, RegisteredModel

if TYPE_CHECKING:
    from dhyan.config import Recipe

CORE_SHARES = (1.0, 0.3, 0.15)  # of the primer's vocabulary; the first the models know is used
SAMPLE_SIZE = 30  # sentences
MAX_UNKNOWN = 0.01  # of the sample's tokens
MAX_LINES = 200_000  # of a training text
FORWARDS, BACKWARDS = ("en", "hi"), ("hi", "en")


def recipe_of(model: RegisteredModel) -> "Recipe":
    """The recipe a model was trained with."""
    from dhyan.checkpoint import find_checkpoint
    from dhyan.config import load_recipe

    if model.saved:
        raise model.saved.needs_model()
    return load_recipe(str(find_checkpoint(model.path) / "recipe.toml"))


def is_measured(recipe: "Recipe") -> bool:
    """Whether generated sentences can test a model: it translates English to Hindi or back."""
    direction = recipe.data.source_language, recipe.data.target_language
    return recipe.data.synthetic in ("", "primer") and direction in (FORWARDS, BACKWARDS)


def core_share_for(registry: ModelRegistry) -> float:
    """The share of the primer's vocabulary that all measured models know.

    Recipes of the primer name it; for models trained on texts their vocabularies tell.
    """
    recipes = [(model, recipe) for model, recipe in _recipes(registry) if is_measured(recipe)]
    shares = [recipe.data.core_share for _, recipe in recipes if recipe.data.synthetic == "primer"]
    share = min(shares, default=1.0)
    for model, recipe in recipes:
        if recipe.data.synthetic == "":
            share = min(share, _known_share(model, share))
    return share


def trained_length(recipe: "Recipe") -> int:
    """Most words of a source sentence the model was trained on; 0 if that is not known."""
    from dhyan.compare.test_sets import LONGEST as LONGEST_OF_PRIMER

    data = recipe.data
    if data.synthetic == "primer":  # its bounds are on the English side
        return 0 if data.source_language == "hi" else data.max_words or LONGEST_OF_PRIMER
    return data.max_words or max((len(line.split()) for line in _lines(data.source)), default=0)


def training_sentences(registry: ModelRegistry) -> set[str]:
    """Sentences of the models' training texts, which must not test them."""
    texts = {recipe.data.source for _, recipe in _recipes(registry) if recipe.data.synthetic == ""}
    return set().union(*map(_lines, texts))


def _recipes(registry: ModelRegistry) -> "Iterator[tuple[RegisteredModel, Recipe]]":
    """The models whose recipes can be read."""
    for model in registry.models.values():
        try:
            yield model, recipe_of(model)
        except UserError:
            continue


def _known_share(model: RegisteredModel, maximum: float) -> float:
    """The largest share of the primer's vocabulary that a model's vocabulary covers."""
    from dhyan.special_tokens import UNK

    try:
        with model.translator() as translator:
            tokenizer, side = translator.source_tokenizer, int(translator.source_language == "hi")
    except UserError:
        return maximum
    shares = [share for share in CORE_SHARES if share <= maximum] or [maximum]
    for share in shares:
        ids = [token for pair in _sample(share) for token in tokenizer.encode(pair[side])]
        if ids.count(UNK) <= MAX_UNKNOWN * len(ids):
            return share
    return shares[-1]


@lru_cache(maxsize=8)
def _sample(core: float) -> tuple[tuple[str, str], ...]:
    """Sentences of a share of the primer's vocabulary, English and Hindi."""
    from dhyan.data.primer import generate_sentences

    pairs = generate_sentences("random", min_words=6, max_words=10, core_share=core)
    return tuple((pair.english, pair.hindi) for pair in islice(pairs, SAMPLE_SIZE))


@lru_cache(maxsize=4)
def _lines(path: str) -> frozenset[str]:
    """The lines of a text, if it is readable and still there."""
    try:
        with Path(path).open(encoding="utf-8") as text:
            return frozenset(line.strip() for line in islice(text, MAX_LINES))
    except (OSError, UnicodeError):
        return frozenset()
