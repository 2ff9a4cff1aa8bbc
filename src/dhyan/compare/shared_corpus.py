"""The shared corpus of a comparison: read or generated once, encoded, stored with the models."""

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
from dhyan.errors import UserError, spell_option
from dhyan.tasks import with_task

PAIRS, CORPUS = "pairs", "corpus"
MARKER = ".comparison"  # marks a folder whose pairs and corpus belong to a comparison


def prepare_shared(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe with its data replaced by the prepared corpus in the folder."""
    named = with_languages(with_task(recipe))
    if not named.data.prepared:
        _clear(folder)
    if named.data.synthetic:
        named = replace(named, data=_write_task(named, folder / PAIRS))
    if not named.data.prepared:
        prepare(named, folder / CORPUS)
    path = named.data.prepared or str(folder / CORPUS)
    data = replace(named.data, source="", target="", valid_source="", valid_target="")
    data = replace(data, test_source="", test_target="", allow_leakage=recipe.data.allow_leakage)
    return replace(recipe, data=replace(data, synthetic="", columns=(), mix=(), prepared=path))


def open_shared(recipe: Recipe) -> PreparedCorpus:
    """The prepared corpus of a recipe."""
    return open_prepared(Path(recipe.data.prepared), recipe)


def _clear(folder: Path) -> None:
    """Remove what an interrupted preparation left; anything else in the folder is refused."""
    marker = folder / MARKER
    for path in (folder / PAIRS, folder / CORPUS):
        if path.exists() and not marker.exists():
            raise UserError(f"{path}: exists already; name another {spell_option('out')}")
        if path.exists():
            shutil.rmtree(path)
    marker.touch()


def _write_task(recipe: Recipe, folder: Path) -> Data:
    """A task's pairs as text files; their lengths follow the recipe, so no filter applies."""
    data = recipe.data
    languages = data.source_language or "source", data.target_language or "target"
    corpus = read_corpus(recipe)
    with atomic_folder(folder) as half:
        _write(half, "train", languages, corpus.training)
        _write(half, "valid", languages, corpus.validation)
    source, target = (str(folder / f"train.{language}") for language in languages)
    valid_source, valid_target = (str(folder / f"valid.{language}") for language in languages)
    return replace(
        data,
        synthetic="",
        source=source,
        target=target,
        valid_source=valid_source,
        valid_target=valid_target,
        allow_leakage=True,  # it keeps its splits apart
        min_words=0,
        max_words=0,
        max_length_ratio=0.0,
    )


def _write(folder: Path, name: str, languages: tuple[str, str], pairs: Iterable[Pair]) -> None:
    rows = list(pairs)
    for language, side in zip(languages, ("source", "target"), strict=True):
        text = "".join(f"{getattr(pair, side)}\n" for pair in rows)
        (folder / f"{name}.{language}").write_text(text, encoding="utf-8")
