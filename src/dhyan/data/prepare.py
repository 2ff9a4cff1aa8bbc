"""`dhyan data prepare`: encode a corpus once into files that training memory-maps."""

import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dhyan.atomic_folder import (
    MANIFEST,
    atomic_folder,
    check_writable,
    file_checksum,
    remove_contents,
    to_json_bytes,
    write_manifest,
)
from dhyan.config import Recipe
from dhyan.config.sections import FRAME_CODECS
from dhyan.cpu_engine.threads import usable_cores
from dhyan.data.corpus import TextCorpus, read_corpus, with_languages
from dhyan.data.corpus_files import LogProgress
from dhyan.data.encode import no_pair_fits
from dhyan.data.encode_shards import SHARD_PAIRS, ChunkEncoder, ShardEncoder
from dhyan.data.prepared_corpus import (
    FORMAT,
    TOKENIZERS,
    VALIDATION,
    check_files,
    check_same_settings,
    manifest_settings,
    read_manifest,
)
from dhyan.data.shards import SIDES, ShardType
from dhyan.errors import UserError, spell_option
from dhyan.safe_io.bounded_files import UnsafeFile, read_file
from dhyan.safe_io.json_toml import read_json
from dhyan.text.codec import SourceCodec
from dhyan.text.tokenizer import Tokenizer
from dhyan.version import __version__

logger = logging.getLogger(__name__)

BEGUN, MAX_BEGUN_BYTES = "begun.json", 2**20  # what a folder that is not finished is made from
Codecs = tuple[SourceCodec, Tokenizer]
ChooseCodecs = Callable[[Recipe, TextCorpus], Codecs]


@dataclass(frozen=True)
class PreparedSizes:
    """How many training and validation pairs a prepared folder holds."""

    folder: Path
    training: int
    validation: int


def prepare(
    recipe: Recipe, out: Path, *, choose_codecs: ChooseCodecs | None = None, workers: int = 0
) -> PreparedSizes:
    """Write the pairs of a recipe as token ids into the folder `out`, unless they are there.

    The files are read as streams, several times; few pairs are ever in memory. Several processes
    encode a large corpus, by default one per core. An interrupted run is continued.
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
        with atomic_folder(path, resumable=True) as folder:
            manifest = _write(folder, recipe, corpus, codecs, workers or usable_cores())
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


def _write(
    folder: Path, recipe: Recipe, corpus: TextCorpus, codecs: Callable[[], Codecs], workers: int
) -> dict[str, Any]:
    facts = {
        "format": FORMAT,
        "dhyan": __version__,
        "fingerprint": corpus.fingerprint,
        "sample": corpus.sample,
        "vocabulary": _vocabulary_origin(recipe),
        **manifest_settings(recipe),
    }
    _begin(folder, facts, codecs)
    sizes = [len(Tokenizer.load(folder / name)) for name in TOKENIZERS]
    types = ShardType.of(max(sizes), SHARD_PAIRS * (recipe.data.max_tokens + 2))
    encode = ChunkEncoder(
        codecs=(folder / TOKENIZERS[0], folder / TOKENIZERS[1]),
        placeholders=recipe.text.placeholders,
        max_tokens=recipe.data.max_tokens,
        ids_type=types.ids,
    )
    encoder = ShardEncoder(folder, encode, types, workers=workers)
    kept = []
    for part in corpus.parts:
        records = encoder.add(LogProgress(part.pairs, "encoded {count} pairs"))
        kept.append(sum(record.pairs for record in records))
        if not kept[-1]:
            raise no_pair_fits(recipe.data.max_tokens)
    _log_records(encoder)
    with open(folder / VALIDATION, "w", encoding="utf-8") as file:
        for pair in corpus.validation:
            file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
    encoder.remove_records()
    (folder / BEGUN).unlink()
    records = encoder.records
    checksums = {name: file_checksum(folder / name) for name in (*TOKENIZERS, VALIDATION)}
    for record in records:
        checksums |= record.files
    facts |= {
        "sizes": kept,
        "weights": [part.weight for part in corpus.parts],
        "validation": len(corpus.validation),
        "tokens": {side: sum(record.tokens[side] for record in records) for side in SIDES},
        "shards": [record.pairs for record in records],
        "types": asdict(types),
    }
    return write_manifest(folder, facts, checksums)


def _begin(folder: Path, facts: Mapping[str, Any], codecs: Callable[[], Codecs]) -> None:
    """Go on with what an interrupted run has written from the same pairs, or begin anew."""
    facts = json.loads(json.dumps(facts))
    with suppress(OSError, UnsafeFile, ValueError, KeyError):
        begun = read_json(read_file(folder / BEGUN, max_bytes=MAX_BEGUN_BYTES))
        hashes = {name: file_checksum(folder / name) for name in TOKENIZERS}
        if begun["facts"] == facts and begun["codecs"] == hashes:
            logger.info(f"{folder}: continuing an interrupted run")
            return
    remove_contents(folder)
    for name, codec in zip(TOKENIZERS, codecs(), strict=True):
        (folder / name).write_text(codec.to_json(), encoding="utf-8")
    hashes = {name: file_checksum(folder / name) for name in TOKENIZERS}
    (folder / BEGUN).write_bytes(to_json_bytes({"facts": facts, "codecs": hashes}))


def _log_records(encoder: ShardEncoder) -> None:
    """Log which pairs were left out, and how much an interrupted run had done."""
    dropped = sum((Counter(record.dropped) for record in encoder.records), Counter[str]())
    for reason, count in dropped.items():
        logger.info(f"left out {count:,} pairs: {reason}")
    if encoder.resumed:
        logger.info(f"{encoder.resumed:,} shards were there, from an interrupted run")


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
