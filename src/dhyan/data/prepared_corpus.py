"""A prepared corpus: token ids in a folder, checked by their checksums and memory-mapped."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import MISSING, asdict, dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

from dhyan import atomic_folder
from dhyan.config import Data, Recipe, Text
from dhyan.cpu_engine.threads import usable_cores
from dhyan.data.encode import make_bpe_dropout
from dhyan.data.mixture import Mixture
from dhyan.data.pairs import Pair
from dhyan.data.shards import OLD_FILES, ShardType, open_old_files, open_shards, shard_files
from dhyan.data.store import Examples
from dhyan.data.text_lines import file_error, suggest_path
from dhyan.data.training_sentences import TrainingSentences
from dhyan.errors import UserError, spell_option
from dhyan.text.codec import SourceCodec
from dhyan.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

VALIDATION = "validation.jsonl"
TOKENIZERS = ("source.json", "target.json")
FORMAT, OLD_FORMAT = 2, 1
MANIFEST_KEYS = {
    *("format", "sizes", "weights", "validation", "fingerprint", "sample", "vocabulary"),
    *("data", "text"),
}
REMEDY = "prepare it again into another folder with `dhyan data prepare`"
# A recipe may leave out where the pairs are and how files are read; what it says must be the same.
OPTIONAL_SETTINGS = {
    *("source", "target", "columns", "valid_source", "valid_target", "mix"),
    *("source_language", "target_language", "test_source", "test_target"),
    *("header", "delimiter", "unescape", "dedupe", "drop_leaks"),
}
IGNORED_SETTINGS = {"synthetic", "pairs", "prepared", "bpe_dropout", "allow_leakage"}


@dataclass(frozen=True)
class PreparedCorpus:
    """Pairs as token ids in files, with the tokenizers that encoded them."""

    folder: Path
    manifest: Mapping[str, Any]
    validation: list[Pair]
    tokenizers: tuple[Tokenizer, Tokenizer]
    text: Text

    @property
    def fingerprint(self) -> str:
        """That of the text the ids come from, so that a run may resume with either."""
        return str(self.manifest["fingerprint"])

    @property
    def sample(self) -> str:
        """A source sentence to try the model on."""
        return str(self.manifest["sample"])

    def vocabulary_pairs(self, recipe: Recipe) -> Iterator[Pair]:
        """Not available: the folder holds token ids, not sentences."""
        model, extend, new = (
            spell_option("training.init_from"),
            spell_option("training.init_vocabulary", "extend"),
            spell_option("training.init_vocabulary", "new"),
        )
        raise UserError(
            f"{self.folder}: holds ids, not sentences to learn from; prepare it with the same "
            f"{model} and {extend}, then train with {new}, which takes its own"
        )

    def make_codecs(self, recipe: Recipe) -> tuple[SourceCodec, Tokenizer]:
        """The tokenizers of the folder."""
        source, target = self.tokenizers
        logger.info(
            f"vocabularies of {self.folder}: {len(source):,} source, {len(target):,} target"
        )
        return source, target

    def encode(self, source: SourceCodec, target: Tokenizer, max_tokens: int) -> Examples:
        """The training pairs, if they were encoded by these tokenizers."""
        for tokenizer, stored in zip((source, target), self.tokenizers, strict=True):
            if tokenizer.to_json() != stored.to_json():
                model = spell_option("training.init_from")
                new = spell_option("training.init_vocabulary", "new")
                raise UserError(
                    f"{self.folder}: was encoded by other vocabularies; prepare it with the same "
                    f"{model}, or train with {new}"
                )
        sizes, weights = self.manifest["sizes"], self.manifest["weights"]
        if self.manifest["format"] == OLD_FORMAT:
            sources, targets = open_old_files(self.folder, sum(sizes))
        else:
            types = ShardType(**self.manifest["types"])
            sources, targets = open_shards(self.folder, self.manifest["shards"], types)
        return Examples(
            sources,
            targets,
            mixture=Mixture(tuple(sizes), tuple(weights)),
            bpe_dropout=make_bpe_dropout(self.text, source, target, max_tokens),
        )

    def training_sentences(self) -> TrainingSentences | None:
        """None: the folder holds token ids, not sentences."""
        return None


def open_prepared(folder: Path, recipe: Recipe) -> PreparedCorpus:
    """A prepared corpus, after checking every checksum and that the recipe has its settings."""
    manifest = read_manifest(folder)
    check_same_settings(folder, manifest, recipe)
    check_files(folder, manifest)
    source, target = (Tokenizer.load(folder / name) for name in TOKENIZERS)
    with open(folder / VALIDATION, encoding="utf-8", newline="\n") as file:
        validation = [Pair(**json.loads(line)) for line in file]
    pairs = f"{sum(manifest['sizes']):,} pairs prepared, {len(validation):,} to validate on"
    logger.info(f"{folder}: {pairs}")
    return PreparedCorpus(folder, manifest, validation, (source, target), recipe.text)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a prepared folder."""
    path = folder / atomic_folder.MANIFEST
    if not folder.exists():
        raise file_error(folder, 0, f"there is no such folder; {suggest_path(folder)}")
    if not path.exists():
        raise UserError(f"{folder}: is no prepared corpus (no {path.name}); {REMEDY}")
    manifest = atomic_folder.read_manifest(folder, MANIFEST_KEYS, remedy=REMEDY)
    if manifest["format"] not in (FORMAT, OLD_FORMAT):
        raise UserError(f"{path}: has format {manifest['format']}, not {FORMAT}; {REMEDY}")
    if manifest["format"] == FORMAT and not _has_shards(manifest):
        raise UserError(f"{path}: does not say what its shards hold; {REMEDY}")
    return manifest


def _has_shards(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest says how many pairs each shard holds, and in which types of numbers."""
    shards, types = manifest.get("shards"), manifest.get("types")
    return (
        isinstance(shards, list)
        and all(type(size) is int and size >= 0 for size in shards)
        and sum(shards) == sum(manifest["sizes"])
        and isinstance(types, dict)
        and types.get("ids") in ("<u2", "<u4")
        and types.get("offsets") in ("<u4", "<u8")
        and len(types) == 2
    )


def prepared_languages(folder: Path) -> tuple[str, str]:
    """The languages of a prepared corpus, where they are known."""
    data = read_manifest(folder)["data"]
    return data["source_language"], data["target_language"]


def check_same_settings(folder: Path, manifest: Mapping[str, Any], recipe: Recipe) -> None:
    """Refuse a recipe that would have prepared something else."""
    settings = manifest_settings(recipe)
    for section, section_type in (("data", Data), ("text", Text)):
        for key, value in settings[section].items():
            prepared = manifest[section].get(key)
            omitted = key in OPTIONAL_SETTINGS and value == _default(section_type, key)
            if key not in IGNORED_SETTINGS and not omitted and value != prepared:
                setting = f"{section}.{key} = {json.dumps(prepared, ensure_ascii=False)}"
                remedy = "set it the same, or prepare it again into another folder"
                raise UserError(
                    f"{folder}: was prepared with {setting}, "
                    f"the recipe has {json.dumps(value, ensure_ascii=False)}: {remedy}"
                )


def manifest_settings(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """The data and text settings of a recipe as they stand in a manifest."""
    return json.loads(json.dumps({"data": asdict(recipe.data), "text": asdict(recipe.text)}))


def check_files(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Compare every file with its size and sha256 in the manifest."""
    if manifest["format"] == OLD_FORMAT:
        stored: Iterable[str] = OLD_FILES
    else:
        numbers = range(len(manifest["shards"]))
        stored = chain.from_iterable(map(shard_files, numbers))
    names = [*TOKENIZERS, VALIDATION, *stored]
    with ThreadPoolExecutor(usable_cores()) as threads:  # hashing leaves Python's lock
        for _ in threads.map(
            lambda name: atomic_folder.check_files(folder, manifest, [name], remedy=REMEDY), names
        ):
            pass


def _default(section_type: type[Data] | type[Text], key: str) -> object:
    """The default of a setting, as JSON has it."""
    (setting,) = (field for field in fields(section_type) if field.name == key)
    assert setting.default is not MISSING
    return json.loads(json.dumps(setting.default))
