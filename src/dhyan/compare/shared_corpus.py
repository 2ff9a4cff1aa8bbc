"""The pairs of a comparison, read or made once and kept as ids beside the models."""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from dhyan.atomic_folder import atomic_folder
from dhyan.config import Data, Recipe
from dhyan.data.corpus import read_corpus, with_languages
from dhyan.data.pairs import Pair
from dhyan.data.prepare import prepare
from dhyan.data.prepared_corpus import PreparedCorpus, open_prepared
from dhyan.errors import UserError

PAIRS, CORPUS = "pairs", "corpus"
BEGUN = ".begun"  # marks a folder whose pairs and corpus are a comparison's own


def prepared(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe over pairs that lie ready in the folder, with the words learned from them."""
    named = with_languages(recipe)
    if not named.data.prepared:
        _clear(folder)
    if named.data.task:
        named = replace(named, data=_written(named, folder / PAIRS))
    if not named.data.prepared:
        prepare(named, folder / CORPUS)
    place = named.data.prepared or str(folder / CORPUS)
    data = replace(named.data, source="", target="", valid_source="", valid_target="")
    data = replace(data, test_source="", test_target="", allow_leakage=recipe.data.allow_leakage)
    return replace(recipe, data=replace(data, task="", columns=(), mix=(), prepared=place))


def opened(recipe: Recipe) -> PreparedCorpus:
    """The pairs of a recipe that was given prepared ones."""
    return open_prepared(Path(recipe.data.prepared), recipe)


def _clear(folder: Path) -> None:
    """Remove what an attempt that came to no plan has left; what is not our own is refused."""
    mark = folder / BEGUN
    for place in (folder / PAIRS, folder / CORPUS):
        if place.exists() and not mark.exists():
            raise UserError(f"{place}: holds something else already; name another --out")
        if place.exists():
            shutil.rmtree(place)
    mark.touch()


def _written(recipe: Recipe, folder: Path) -> Data:
    """A task's pairs as text files; they are as long as was asked, so nothing bounds them again."""
    data = recipe.data
    tongues = data.source_language or "source", data.target_language or "target"
    corpus = read_corpus(recipe)
    with atomic_folder(folder) as half:
        _write(half, "train", tongues, corpus.training)
        _write(half, "valid", tongues, corpus.validation)
    source, target = (str(folder / f"train.{tongue}") for tongue in tongues)
    valid_source, valid_target = (str(folder / f"valid.{tongue}") for tongue in tongues)
    return replace(
        data,
        task="",
        source=source,
        target=target,
        valid_source=valid_source,
        valid_target=valid_target,
        allow_leakage=True,  # whoever makes the pairs keeps them apart
        min_words=0,
        max_words=0,
        max_length_ratio=0.0,
    )


def _write(folder: Path, name: str, tongues: tuple[str, str], pairs: Iterable[Pair]) -> None:
    kept = list(pairs)
    for tongue, side in zip(tongues, ("source", "target"), strict=True):
        text = "".join(f"{getattr(pair, side)}\n" for pair in kept)
        (folder / f"{name}.{tongue}").write_text(text, encoding="utf-8")
