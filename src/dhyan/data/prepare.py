"""Preparing a corpus once, as ids in files, so that training needs no memory for it."""

import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dhyan.atomic_folder import (
    MANIFEST,
    atomic_folder,
    check_writable,
    file_checksum,
    write_manifest,
)
from dhyan.config import Recipe
from dhyan.data.encode import Part, pour
from dhyan.data.load_corpus import TextCorpus, read_corpus, with_languages
from dhyan.data.prepared_corpus import (
    FORMAT,
    TOKENIZERS,
    VALIDATION,
    check_same,
    check_whole,
    read_manifest,
    settings_of,
)
from dhyan.data.sources import Told
from dhyan.data.store import new_store
from dhyan.errors import UserError
from dhyan.text.tokenizer import Tokenizer
from dhyan.version import __version__

logger = logging.getLogger(__name__)

Tokenizers = tuple[Tokenizer, Tokenizer]
Choose = Callable[[Recipe, TextCorpus], Tokenizers]


@dataclass(frozen=True)
class Prepared:
    """A prepared folder, and how many pairs it holds to train on and to validate on."""

    folder: Path
    training: int
    validation: int


def prepare(recipe: Recipe, out: Path, *, choose: Choose | None = None) -> Prepared:
    """Write the recipe's pairs as ids into the folder `out`, or find them there already.

    The files are read as streams, several times over; few pairs are ever in memory. `choose` gives
    the vocabularies of a recipe that begins from a model; else they are learned.
    """
    _check(recipe, out, choose)
    recipe = with_languages(recipe)
    corpus = read_corpus(recipe, stream=True)
    vocabularies = _choice(recipe, corpus, choose)
    place = Path(os.path.abspath(out))
    if (place / MANIFEST).exists():
        return _already(out, recipe, corpus, vocabularies)
    try:
        with atomic_folder(place) as folder:
            manifest = _write(folder, recipe, corpus, vocabularies())
    except OSError as error:
        where, remedy = error.filename or out, "see to it, or name another --out"
        raise UserError(f"{where}: cannot be written: {error.strerror}; {remedy}") from None
    return _told(out, manifest)


def _check(recipe: Recipe, out: Path, choose: Choose | None) -> None:
    """Refuse what cannot be prepared, or not there, before any pair is read."""
    data, init = recipe.data, recipe.training.init_from
    if data.prepared:
        raise UserError(f"data.prepared: {data.prepared} is prepared already; train with it")
    if data.task:
        raise UserError(f"data.task: {data.task!r} makes its own pairs; name --source FILE")
    if init and choose is None:
        raise UserError(
            f"training.init_from: the vocabularies of {init} must be given too, as `choose`"
        )
    check_writable(out)
    if out.is_dir() and not (out / MANIFEST).exists():
        if any(out.iterdir()):
            raise UserError(f"{out}: holds something else already; name another --out")
        if out.samefile(os.curdir):
            raise UserError(f"{out}: is the folder you are in; name a new one as --out")


def _choice(recipe: Recipe, corpus: TextCorpus, choose: Choose | None) -> Callable[[], Tokenizers]:
    if choose is None or not recipe.training.init_from:
        return lambda: corpus.learn(recipe)
    return lambda: choose(recipe, corpus)


def _write(
    folder: Path, recipe: Recipe, corpus: TextCorpus, tokenizers: Tokenizers
) -> dict[str, Any]:
    for name, tokenizer in zip(TOKENIZERS, tokenizers, strict=True):
        tokenizer.save(folder / name)
    with open(folder / VALIDATION, "w", encoding="utf-8") as file:
        for pair in corpus.validation:
            file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
    with new_store(folder) as writer:
        parts = [_spoken_of(part) for part in corpus.parts]
        longest = recipe.data.max_tokens
        mixture = pour(parts, *tokenizers, writer.add, text=recipe.text, longest=longest)
    facts = {
        "format": FORMAT,
        "dhyan": __version__,
        "sizes": list(mixture.sizes),
        "weights": list(mixture.weights),
        "validation": len(corpus.validation),
        "tokens": dict(writer.tokens),
        "fingerprint": corpus.fingerprint,
        "sample": corpus.sample,
        "vocabulary": _words(recipe),
        **settings_of(recipe),
    }
    return write_manifest(
        folder, facts, {p.name: file_checksum(p) for p in sorted(folder.iterdir())}
    )


def _words(recipe: Recipe) -> str:
    """Whose words they are: nothing, or what was to become of those of a model."""
    return recipe.training.init_vocabulary if recipe.training.init_from else ""


def _already(
    out: Path,
    recipe: Recipe,
    corpus: TextCorpus,
    vocabularies: Callable[[], Tokenizers],
) -> Prepared:
    """What lies there, if it is what would be written."""
    manifest = read_manifest(out)
    if manifest["fingerprint"] != corpus.fingerprint:
        raise UserError(
            f"{out}: was prepared from other pairs, or other weights; name another --out"
        )
    check_same(out, manifest, _anywhere(recipe))
    check_whole(out, manifest)
    same = manifest["vocabulary"] == _words(recipe)
    if same and recipe.training.init_from:
        here = [tokenizer.to_json() for tokenizer in vocabularies()]
        same = here == [Tokenizer.load(out / name).to_json() for name in TOKENIZERS]
    if not same:
        raise UserError(f"{out}: was prepared with other vocabularies; name another --out")
    logger.info(f"{out}: already prepared, and nothing has changed")
    return _told(out, manifest)


def _anywhere(recipe: Recipe) -> Recipe:
    """The recipe without its files, which are known by their fingerprint wherever they lie."""
    data = replace(recipe.data, source="", target="", valid_source="", valid_target="")
    data = replace(data, test_source="", test_target="", columns=(), mix=())
    return replace(recipe, data=data)


def _spoken_of(part: Part) -> Part:
    return replace(part, pairs=Told(part.pairs, lambda n: logger.info(f"encoded {n:,} pairs")))


def _told(out: Path, manifest: Mapping[str, Any]) -> Prepared:
    return Prepared(out, sum(manifest["sizes"]), manifest["validation"])
