"""Reading a model folder of unknown origin: small things first, each before the next is touched."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dhyan import atomic_folder
from dhyan.atomic_folder import MANIFEST, DamagedFolder
from dhyan.checkpoint import REMEDY, find_checkpoint, read_manifest, steps_in
from dhyan.config import LONGEST_RECIPE, Recipe, parse_recipe
from dhyan.errors import UserError
from dhyan.model_check.match_recipe import check_recipe, is_foreseen
from dhyan.model_check.training_state import PER_WEIGHT, check_memory, check_progress
from dhyan.safe_io.files import is_sparse, open_file, read_file
from dhyan.safe_io.json_toml import read_json, read_toml, safe_repr
from dhyan.safe_io.safetensors_header import LONGEST_HEADER, Header, InvalidHeader, read_header
from dhyan.text.safe_tokenizer import MOST_BYTES, count_pieces, text_of

RECIPE, WEIGHTS, SOURCE, TARGET = "recipe.toml", "model.safetensors", "source.json", "target.json"
MODEL_FILES = (RECIPE, WEIGHTS, SOURCE, TARGET)
MEMORY, PROGRESS = TRAINING_FILES = ("training.safetensors", "training.json")
SOON_SUMMED = 2**26  # bytes; of larger files the header is looked at before the sum is taken
MOST_UNFORESEEN = 2**34  # bytes of weights whose shapes do not follow from the recipe
SMALL = {RECIPE: LONGEST_RECIPE, SOURCE: MOST_BYTES, TARGET: MOST_BYTES}


@dataclass(frozen=True)
class CheckedModel:
    """A model that was looked through, by the name it was asked for: all that it is made of."""

    name: str
    folder: Path
    recipe: Recipe
    sizes: tuple[int, int]
    header: Header
    files: Mapping[str, bytes]


def read_model(model: str | Path, *, foreign: bool = False) -> CheckedModel:
    """The model meant by a path, once it is known to be whole, and to be one.

    Names, kinds and sizes of files come first, then recipe and vocabularies, compared with their
    hashes; then what the weights' header says is compared with what the recipe implies; then the
    weights are read. A `foreign` one may name an attention of its own: it is looked at, not run.
    """
    folder = find_checkpoint(Path(model))
    if folder != Path(model) and folder.is_symlink():
        raise UserError(
            f"{folder}: is a link, not a checkpoint of this run; name what it points to"
        )
    manifest = read_manifest(folder)
    _check_names(folder, manifest)
    files = atomic_folder.read_files(folder, manifest, SMALL, remedy=REMEDY)
    recipe = _recipe(folder, files[RECIPE])
    sizes = _pieces(folder / SOURCE, files[SOURCE]), _pieces(folder / TARGET, files[TARGET])
    soon = manifest["files"][WEIGHTS]["bytes"] <= SOON_SUMMED
    if soon:
        atomic_folder.check_files(folder, manifest, [WEIGHTS], remedy=REMEDY)
    header = _header(folder, manifest, WEIGHTS)
    try:
        check_recipe(recipe, header, sizes, foreign=foreign)
    except UserError as fault:
        raise UserError(f"{folder}: {fault}") from None
    if not soon:
        _check_large(folder, manifest, foreseen=is_foreseen(recipe))
    files |= atomic_folder.read_files(folder, manifest, [WEIGHTS], remedy=REMEDY)
    _check_numbers(folder / WEIGHTS, files[WEIGHTS], header)
    _check_rest(folder, manifest, recipe, header)
    return CheckedModel(str(model), folder, recipe, sizes, header, files)


def check_newest(run: Path) -> None:
    """Refuse a run whose newest checkpoint that is whole is no model of ours.

    What is damaged is left to the run that would go on, which tells of it and takes the one before.
    """
    for step in steps_in(run):
        folder = run / f"step-{step}"
        try:
            read_model(folder)
        except DamagedFolder:
            if _is_whole(folder):
                raise
        else:
            return


def parse_saved_recipe(data: bytes) -> Recipe:
    """The recipe a checkpoint was made by."""
    if len(data) > LONGEST_RECIPE:
        raise UserError(f"recipe.toml of the model has more than {LONGEST_RECIPE:,} bytes")
    try:
        table = read_toml(data)
    except ValueError as error:
        raise UserError(f"recipe.toml of the model cannot be read: {error}") from None
    return parse_recipe(table, place="recipe.toml")


def _recipe(folder: Path, data: bytes) -> Recipe:
    try:
        return parse_saved_recipe(data)
    except UserError as fault:
        raise UserError(f"{folder}: {fault}") from None


def _check_names(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a list of files that is not a model's, and small files that are large."""
    listed = manifest["files"]
    for name in MODEL_FILES:
        if name not in listed:
            raise DamagedFolder(f"{folder / MANIFEST}: lists no {name}; {REMEDY}")
    for name in listed:
        if name not in (*MODEL_FILES, *TRAINING_FILES):
            raise DamagedFolder(
                f"{folder / MANIFEST}: a model has no file {safe_repr(name)}; {REMEDY}"
            )
    most = {**SMALL, PROGRESS: LONGEST_RECIPE, MEMORY: _most_memory(listed[WEIGHTS]["bytes"])}
    for name in listed.keys() & most.keys():
        if listed[name]["bytes"] > most[name]:
            raise UserError(
                f"{folder / name}: has more than the {most[name]:,} bytes it may; {REMEDY}"
            )


def _most_memory(weights: int) -> int:
    """How many bytes an optimizer's memory of so many bytes of weights may have."""
    return PER_WEIGHT * weights + LONGEST_HEADER + 8


def _check_large(folder: Path, manifest: Mapping[str, Any], *, foreseen: bool) -> None:
    """Refuse large weights that are a hole in a file, or that only claim to be someone's own."""
    path, size = folder / WEIGHTS, manifest["files"][WEIGHTS]["bytes"]
    if is_sparse(path):
        raise UserError(
            f"{path}: is mostly a hole where {size:,} bytes should be; name another model"
        )
    if not foreseen:
        if size > MOST_UNFORESEEN:
            raise UserError(f"{path}: has more than the {MOST_UNFORESEEN:,} bytes it may; {REMEDY}")
        atomic_folder.check_files(folder, manifest, [WEIGHTS], remedy=REMEDY)


def _check_rest(folder: Path, manifest: Mapping[str, Any], recipe: Recipe, weights: Header) -> None:
    """Refuse a training state that is none, though only a run that goes on would read it."""
    listed = manifest["files"]
    for name in TRAINING_FILES:
        if name not in listed:
            continue
        soon = listed[name]["bytes"] <= SOON_SUMMED
        if soon:
            atomic_folder.check_files(folder, manifest, [name], remedy=REMEDY)
        try:
            if name == MEMORY:
                check_memory(_header(folder, manifest, name), weights, recipe)
            else:
                facts = read_json(read_file(folder / name, max_bytes=LONGEST_RECIPE), finite=False)
                check_progress(facts, manifest["step"])
        except DamagedFolder:
            raise
        except (OSError, ValueError) as error:
            raise DamagedFolder(f"{folder / name}: {error}; {REMEDY}") from None
        if not soon:
            atomic_folder.check_files(folder, manifest, [name], remedy=REMEDY)


def _is_whole(folder: Path) -> bool:
    """Whether every file of a checkpoint has its sum."""
    try:
        manifest = read_manifest(folder)
        atomic_folder.check_files(folder, manifest, manifest["files"], remedy=REMEDY)
    except DamagedFolder:
        return False
    return True


def _pieces(path: Path, data: bytes) -> int:
    try:
        return count_pieces(text_of(data))
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def _header(folder: Path, manifest: Mapping[str, Any], name: str) -> Header:
    """What a file of tensors says it holds; nothing after it is read."""
    path, size = folder / name, manifest["files"][name]["bytes"]
    try:
        with open_file(path, max_bytes=size) as file:
            return read_header(file, size)
    except OSError as error:
        raise DamagedFolder(f"{path}: cannot be read: {error.strerror}; {REMEDY}") from None
    except InvalidHeader as fault:
        raise DamagedFolder(f"{path}: {fault}; {REMEDY}") from None
    except UserError as fault:
        raise DamagedFolder(f"{fault}; {REMEDY}") from None


def _check_numbers(path: Path, data: bytes, header: Header) -> None:
    """Refuse weights among which is one that is no number: no translation comes of them."""
    import numpy

    if not numpy.isfinite(numpy.frombuffer(data, "<f4", offset=header.begins)).all():
        raise DamagedFolder(f"{path}: holds a weight that is no number; {REMEDY}")
