"""A corpus prepared before: checked, and mapped into memory as batches ask for it."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from dhyan import atomic_folder
from dhyan.config import Data, Recipe, Text
from dhyan.data.encode import merge_dropout
from dhyan.data.examples import Examples
from dhyan.data.mixture import Mixture
from dhyan.data.pairs import Pair
from dhyan.data.read_text import fault, nearest
from dhyan.data.store import FILES, open_store
from dhyan.errors import UserError
from dhyan.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

VALIDATION = "validation.jsonl"
TOKENIZERS = ("source.json", "target.json")
FORMAT = 1
FACTS = {
    *("format", "sizes", "weights", "validation", "fingerprint", "sample", "vocabulary"),
    *("data", "text"),
}
REMEDY = "prepare it again into another folder with `dhyan data prepare`"
# Where pairs lie may be left unsaid when they are prepared; how they are read may not.
MAY_BE_UNSAID = {
    *("source", "target", "columns", "valid_source", "valid_target", "mix"),
    *("source_language", "target_language", "test_source", "test_target"),
}
OF_NO_MATTER = {"task", "pairs", "prepared", "bpe_dropout", "allow_leakage"}


@dataclass(frozen=True)
class PreparedCorpus:
    """Pairs as ids in files, with the vocabularies they were encoded by."""

    folder: Path
    manifest: Mapping[str, Any]
    validation: list[Pair]
    tokenizers: tuple[Tokenizer, Tokenizer]
    text: Text

    @property
    def fingerprint(self) -> str:
        """That of the text the ids come from, so that a run may go on with either."""
        return str(self.manifest["fingerprint"])

    @property
    def sample(self) -> str:
        """A source sentence to try the model on."""
        return str(self.manifest["sample"])

    def lessons(self, recipe: Recipe) -> Iterator[Pair]:
        """Refused: ids are not learned from."""
        raise UserError(
            f"{self.folder}: holds ids, not sentences to learn from; prepare it with the same "
            f"--init-from and --init-vocabulary extend, then train with --init-vocabulary "
            f"new, which takes its own"
        )

    def learn(self, recipe: Recipe) -> tuple[Tokenizer, Tokenizer]:
        """The vocabularies that were learned when the pairs were prepared."""
        source, target = self.tokenizers
        logger.info(
            f"vocabularies of {self.folder}: {len(source):,} source, {len(target):,} target"
        )
        return source, target

    def encode(self, source: Tokenizer, target: Tokenizer, longest: int) -> Examples:
        """The training pairs, if these are the vocabularies they were encoded by."""
        for given, own in zip((source, target), self.tokenizers, strict=True):
            if given.to_json() != own.to_json():
                remedy = "prepare it with the same --init-from, or train with --init-vocabulary new"
                raise UserError(f"{self.folder}: was encoded by other vocabularies; {remedy}")
        sizes, weights = self.manifest["sizes"], self.manifest["weights"]
        return replace(
            open_store(self.folder),
            mixture=Mixture(tuple(sizes), tuple(weights)),
            dropout=merge_dropout(self.text, source, target, longest),
        )


def open_prepared(folder: Path, recipe: Recipe) -> PreparedCorpus:
    """A prepared corpus, once every file is known to be whole and the recipe to be the same."""
    manifest = read_manifest(folder)
    check_same(folder, manifest, recipe)
    check_whole(folder, manifest)
    tokenizers = tuple(Tokenizer.load(folder / name) for name in TOKENIZERS)
    with open(folder / VALIDATION, encoding="utf-8", newline="\n") as file:
        validation = [Pair(**json.loads(line)) for line in file]
    logger.info(
        f"{folder}: {sum(manifest['sizes']):,} pairs prepared, {len(validation):,} to validate on"
    )
    return PreparedCorpus(folder, manifest, validation, (tokenizers[0], tokenizers[1]), recipe.text)


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a prepared folder says of itself."""
    path = folder / atomic_folder.MANIFEST
    if not folder.exists():
        raise fault(folder, 0, f"there is no such folder; {nearest(folder)}")
    if not path.exists():
        raise UserError(f"{folder}: is no prepared corpus (no {path.name}); {REMEDY}")
    manifest = atomic_folder.read_manifest(folder, FACTS, remedy=REMEDY)
    if manifest["format"] != FORMAT:
        raise UserError(f"{path}: has format {manifest['format']}, not {FORMAT}; {REMEDY}")
    return manifest


def prepared_languages(folder: Path) -> tuple[str, str]:
    """The languages of a prepared corpus, where they are known."""
    data = read_manifest(folder)["data"]
    return data["source_language"], data["target_language"]


def check_same(folder: Path, manifest: Mapping[str, Any], recipe: Recipe) -> None:
    """Refuse a recipe that would have prepared something else."""
    now = settings_of(recipe)
    for room, kind in (("data", Data), ("text", Text)):
        for key, wanted in now[room].items():
            before = manifest[room].get(key)
            unsaid = key in MAY_BE_UNSAID and wanted == _default(kind, key)
            if key not in OF_NO_MATTER and not unsaid and wanted != before:
                found = f"was prepared with {room}.{key} = {json.dumps(before, ensure_ascii=False)}"
                remedy = "set it the same, or prepare it again into another folder"
                here = json.dumps(wanted, ensure_ascii=False)
                raise UserError(f"{folder}: {found}, the recipe has {here}: {remedy}")


def settings_of(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """The recipe's data and text settings as they stand in a manifest."""
    return json.loads(json.dumps({"data": asdict(recipe.data), "text": asdict(recipe.text)}))


def check_whole(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Compare every file with its size and sha256 in the manifest."""
    names = (*FILES, *TOKENIZERS, VALIDATION)
    atomic_folder.check_files(folder, manifest, names, remedy=REMEDY)


def _default(kind: type[Data] | type[Text], key: str) -> object:
    """A setting's default, as JSON has it."""
    (found,) = (f for f in fields(kind) if f.name == key)
    assert found.default is not MISSING
    return json.loads(json.dumps(found.default))
