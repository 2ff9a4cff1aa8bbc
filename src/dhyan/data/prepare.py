"""`dhyan data prepare`: encode a corpus once into files that training memory-maps."""

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
from dhyan.config.sections import FRAME_CODECS
from dhyan.data.corpus import TextCorpus, read_corpus, with_languages
from dhyan.data.corpus_files import LogProgress
from dhyan.data.encode import encode_into
from dhyan.data.prepared_corpus import (
    FORMAT,
    TOKENIZERS,
    VALIDATION,
    check_files,
    check_same_settings,
    manifest_settings,
    read_manifest,
)
from dhyan.data.store import create_store
from dhyan.errors import UserError, spell_option
from dhyan.text.codec import SourceCodec
from dhyan.text.tokenizer import Tokenizer
from dhyan.version import __version__

logger = logging.getLogger(__name__)

Codecs = tuple[SourceCodec, Tokenizer]
ChooseCodecs = Callable[[Recipe, TextCorpus], Codecs]


@dataclass(frozen=True)
class PreparedSizes:
    """How many training and validation pairs a prepared folder holds."""

    folder: Path
    training: int
    validation: int


def prepare(
    recipe: Recipe, out: Path, *, choose_codecs: ChooseCodecs | None = None
) -> PreparedSizes:
    """Write the pairs of a recipe as token ids into the folder `out`, unless they are there.

    The files are read as streams, several times; few pairs are ever in memory.
    `choose_codecs` is for a recipe that begins from a pretrained model; else they are trained.
    """
    _check_preparable(recipe, out, choose_codecs)
    recipe = with_languages(recipe)
    corpus = read_corpus(recipe, stream=True)

    def codecs() -> Codecs:
        if choose_codecs is None or not recipe.training.init_from:
            return corpus.make_codecs(recipe)
        return choose_codecs(recipe, corpus)

    path = Path(os.path.abspath(out))
    if (path / MANIFEST).exists():
        return _check_existing(out, recipe, corpus, codecs)
    try:
        with atomic_folder(path) as folder:
            manifest = _write(folder, recipe, corpus, codecs())
    except OSError as error:
        file, remedy = (
            error.filename or out,
            f"make room or fix it, or name another {spell_option('out')}",
        )
        raise UserError(f"{file}: cannot be written: {error.strerror}; {remedy}") from None
    return _sizes(out, manifest)


def _check_preparable(recipe: Recipe, out: Path, choose_codecs: ChooseCodecs | None) -> None:
    """Refuse a recipe or a folder that cannot be prepared, before any pair is read."""
    data, init = recipe.data, recipe.training.init_from
    if recipe.text.source_codec in FRAME_CODECS:
        raise UserError(
            f"text.source_codec: {recipe.text.source_codec} are frames, which are read as they are "
            f"needed; train with data.source"
        )
    if data.prepared:
        raise UserError(f"data.prepared: {data.prepared} is prepared already; train with it")
    if data.synthetic:
        raise UserError(
            f"data.synthetic: {data.synthetic!r} generates its own pairs; name "
            f"{spell_option('data.source', 'FILE')}"
        )
    if init and choose_codecs is None:
        raise UserError(
            f"training.init_from: {init} has its own vocabularies; pass `choose_codecs`"
        )
    check_writable(out)
    if out.is_dir() and not (out / MANIFEST).exists():
        if any(out.iterdir()):
            raise UserError(
                f"{out}: holds something else already; name another {spell_option('out')}"
            )
        if out.samefile(os.curdir):
            raise UserError(
                f"{out}: is the folder you are in; name a new one as {spell_option('out')}"
            )


def _write(folder: Path, recipe: Recipe, corpus: TextCorpus, codecs: Codecs) -> dict[str, Any]:
    for name, codec in zip(TOKENIZERS, codecs, strict=True):
        (folder / name).write_text(codec.to_json(), encoding="utf-8")
    with open(folder / VALIDATION, "w", encoding="utf-8") as file:
        for pair in corpus.validation:
            file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
    parts = [
        replace(part, pairs=LogProgress(part.pairs, "encoded {count} pairs"))
        for part in corpus.parts
    ]
    with create_store(folder) as writer:
        mixture = encode_into(
            writer.add, parts, *codecs, text=recipe.text, max_tokens=recipe.data.max_tokens
        )
    facts = {
        "format": FORMAT,
        "dhyan": __version__,
        "sizes": list(mixture.sizes),
        "weights": list(mixture.weights),
        "validation": len(corpus.validation),
        "tokens": dict(writer.tokens),
        "fingerprint": corpus.fingerprint,
        "sample": corpus.sample,
        "vocabulary": _vocabulary_origin(recipe),
        **manifest_settings(recipe),
    }
    checksums = {path.name: file_checksum(path) for path in sorted(folder.iterdir())}
    return write_manifest(folder, facts, checksums)


def _vocabulary_origin(recipe: Recipe) -> str:
    """How the vocabularies of a pretrained model were used; empty if there is none."""
    return recipe.training.init_vocabulary if recipe.training.init_from else ""


def _check_existing(
    out: Path, recipe: Recipe, corpus: TextCorpus, codecs: Callable[[], Codecs]
) -> PreparedSizes:
    """Use the folder if it holds what would be written; refuse it otherwise."""
    manifest = read_manifest(out)
    if manifest["fingerprint"] != corpus.fingerprint:
        raise UserError(
            f"{out}: was prepared from other pairs, or other weights; name another "
            f"{spell_option('out')}"
        )
    check_same_settings(out, manifest, _without_files(recipe))
    check_files(out, manifest)
    same = manifest["vocabulary"] == _vocabulary_origin(recipe)
    if same and recipe.training.init_from:
        new = [codec.to_json() for codec in codecs()]
        same = new == [Tokenizer.load(out / name).to_json() for name in TOKENIZERS]
    if not same:
        raise UserError(
            f"{out}: was prepared with other vocabularies; name another {spell_option('out')}"
        )
    logger.info(f"{out}: already prepared, and nothing has changed")
    return _sizes(out, manifest)


def _without_files(recipe: Recipe) -> Recipe:
    """The recipe without its files: their fingerprint identifies them, wherever they lie."""
    data = replace(recipe.data, source="", target="", valid_source="", valid_target="")
    data = replace(data, test_source="", test_target="", columns=(), mix=())
    data = replace(data, header="auto", delimiter="")
    return replace(recipe, data=data)


def _sizes(out: Path, manifest: Mapping[str, Any]) -> PreparedSizes:
    return PreparedSizes(out, sum(manifest["sizes"]), manifest["validation"])
