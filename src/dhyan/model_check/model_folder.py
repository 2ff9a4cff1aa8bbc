"""Model folder of unknown origin: small files first, each checked before the next is read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dhyan import atomic_folder
from dhyan.atomic_folder import MANIFEST, DamagedFolder
from dhyan.audio.codebook_file import CODEBOOK_FILE, MAX_CODEBOOK_BYTES, check_codebook_header
from dhyan.checkpoint import REMEDY, START_RECIPE, find_checkpoint, read_manifest, steps_in
from dhyan.config import LONGEST_RECIPE, Recipe, parse_recipe
from dhyan.data.training_sentences import (
    MAX_FILE_BYTES,
    TRAINING_SENTENCES,
    TrainingSentences,
)
from dhyan.errors import UserError, spell
from dhyan.model_check.checkpoint_contents import (
    MAX_TENSORS_PER_WEIGHT,
    check_header,
    check_optimizer_state,
    check_shapes,
    check_train_state,
    unknown_attention,
    weight_shapes,
)
from dhyan.pretrained import model_folder
from dhyan.pretrained.card import CARD, MAX_CARD_BYTES
from dhyan.quantization import Shape, is_finite
from dhyan.safe_io.bounded_files import is_sparse, open_file, read_file
from dhyan.safe_io.json_toml import read_json, read_toml, safe_repr
from dhyan.safe_io.safetensors_header import MAX_HEADER_BYTES, Header, InvalidHeader, read_header
from dhyan.text.codec import codec_size
from dhyan.text.safe_tokenizer import MAX_BYTES, count_pieces, decode_file

RECIPE, WEIGHTS, SOURCE, TARGET = "recipe.toml", "model.safetensors", "source.json", "target.json"
MODEL_FILES = (RECIPE, WEIGHTS, SOURCE, TARGET)
OPTIMIZER_STATE, TRAIN_STATE = TRAINING_FILES = ("training.safetensors", "training.json")
HASHED_FIRST = 2**26  # bytes; the header of a larger file is checked before its hash
MAX_UNKNOWN_BYTES = 2**34  # of weights that are not compared with a recipe
SMALL_FILES = {RECIPE: LONGEST_RECIPE, SOURCE: MAX_BYTES, TARGET: MAX_BYTES}


@dataclass(frozen=True)
class CheckedModel:
    """A model folder that was checked, and the bytes of its files.

    `name` is the path or name it was asked for, `sizes` are those of the source and target
    vocabulary, `shapes` those of the weights. `training_sentences` is None if they are not known,
    `codebook` if the target's symbols are no sound.
    """

    name: str
    folder: Path
    manifest: Mapping[str, Any]
    recipe: Recipe
    sizes: tuple[int, int]
    header: Header
    shapes: Mapping[str, Shape]
    files: Mapping[str, bytes]
    training_sentences: TrainingSentences | None
    codebook: bytes | None


def check_folder(model: str | Path, *, without_training_state: bool = False) -> CheckedModel:
    """Check everything of a model that can be checked without torch; the weights are not read.

    File names, kinds and sizes come first, then recipe and vocabularies, compared with their
    hashes; then the header of the weights and the training state, unless it is not asked for.
    """
    folder = find_checkpoint(model)
    if folder != model_folder(model) and folder.is_symlink():
        raise UserError(
            f"{folder}: is a link, not a checkpoint of this run; name what it points to"
        )
    manifest = read_manifest(folder)
    _check_names(folder, manifest)
    files = atomic_folder.read_files(folder, manifest, SMALL_FILES, remedy=REMEDY)
    sizes = _vocabulary_size(folder, files, SOURCE), _vocabulary_size(folder, files, TARGET)
    if _is_hashed_first(manifest, WEIGHTS):
        atomic_folder.check_files(folder, manifest, [WEIGHTS], remedy=REMEDY)
    header = _read_header(folder, manifest, WEIGHTS)
    try:
        recipe = parse_saved_recipe(files[RECIPE])
        shapes = check_header(recipe, header)
    except UserError as fault:
        raise UserError(f"{folder}: {fault}") from None
    if not without_training_state:
        _check_training_files(folder, manifest, recipe, shapes)
    _check_card(folder, manifest)
    seen, codebook = _read_training_sentences(folder, manifest), _read_codebook(folder, manifest)
    return CheckedModel(
        str(model), folder, manifest, recipe, sizes, header, shapes, files, seen, codebook
    )


def read_model(
    model: str | Path,
    *,
    allow_unknown_attention: bool = False,
    without_training_state: bool = False,
) -> CheckedModel:
    """Check a model, compare its weights with what its recipe builds, and read them.

    A model whose attention comes from a plugin that is not loaded can be averaged, not run: with
    `allow_unknown_attention` it is read without comparing its shapes. `without_training_state`
    reads nothing of a state of training, which may be missing.
    """
    checked = check_folder(model, without_training_state=without_training_state)
    unknown = unknown_attention(checked.recipe)
    try:
        if not unknown:
            check_shapes(checked.shapes, weight_shapes(checked.recipe, checked.sizes))
        elif not allow_unknown_attention:
            remedy = spell(command_line="--plugin FILE", python="dhyan.register")
            raise UserError(
                f"recipe.toml: no attention is called {safe_repr(unknown[0])}; "
                f"one of your own is made known with {remedy}"
            )
    except UserError as fault:
        raise UserError(f"{checked.folder}: {fault}") from None
    return _read_weights(checked, shapes_compared=not unknown)


def read_without_torch(model: str | Path) -> CheckedModel:
    """Check a model and read it; its weights are not compared with what the recipe builds.

    This is enough to describe a model, not to run it.
    """
    return _read_weights(check_folder(model), shapes_compared=False)


def _read_weights(checked: CheckedModel, *, shapes_compared: bool) -> CheckedModel:
    folder, manifest = checked.folder, checked.manifest
    if not _is_hashed_first(manifest, WEIGHTS):
        _check_large_file(folder, manifest, shapes_compared=shapes_compared)
    weights = atomic_folder.read_files(folder, manifest, [WEIGHTS], remedy=REMEDY)
    _check_finite(folder / WEIGHTS, weights[WEIGHTS], checked.header)
    return replace(checked, files={**checked.files, **weights})


def parse_saved_recipe(data: bytes) -> Recipe:
    """The recipe a checkpoint was trained with."""
    if len(data) > LONGEST_RECIPE:
        raise UserError(f"recipe.toml of the model has more than {LONGEST_RECIPE:,} bytes")
    try:
        table = read_toml(data)
    except ValueError as error:
        raise UserError(f"recipe.toml of the model cannot be read: {error}") from None
    return parse_recipe(table, place="recipe.toml")


def _check_names(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a list of files that is not a model's, and small files that are large."""
    listed = manifest["files"]
    for name in MODEL_FILES:
        if name not in listed:
            raise DamagedFolder(f"{folder / MANIFEST}: lists no {name}; {REMEDY}")
    for name in listed:
        if name not in (*MODEL_FILES, *TRAINING_FILES, CARD, TRAINING_SENTENCES, CODEBOOK_FILE):
            raise DamagedFolder(
                f"{folder / MANIFEST}: a model has no file {safe_repr(name)}; {REMEDY}"
            )
    optimizer_bytes = MAX_TENSORS_PER_WEIGHT * listed[WEIGHTS]["bytes"] + MAX_HEADER_BYTES + 8
    limits = {**SMALL_FILES, TRAIN_STATE: LONGEST_RECIPE, OPTIMIZER_STATE: optimizer_bytes}
    limits |= {CARD: MAX_CARD_BYTES, TRAINING_SENTENCES: MAX_FILE_BYTES}
    limits |= {CODEBOOK_FILE: MAX_CODEBOOK_BYTES}
    for name in listed.keys() & limits.keys():
        if listed[name]["bytes"] > limits[name]:
            raise UserError(
                f"{folder / name}: has more than the {limits[name]:,} bytes it may; {REMEDY}"
            )


def _is_hashed_first(manifest: Mapping[str, Any], name: str) -> bool:
    return bool(manifest["files"][name]["bytes"] <= HASHED_FIRST)


def _vocabulary_size(folder: Path, files: Mapping[str, bytes], name: str) -> int:
    size = codec_size if name == SOURCE else count_pieces
    try:
        return size(decode_file(files[name]))
    except ValueError as error:
        raise UserError(f"{folder / name}: {error}") from None


def _read_header(folder: Path, manifest: Mapping[str, Any], name: str) -> Header:
    """The header of a safetensors file; nothing after it is read."""
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


def _check_training_files(
    folder: Path, manifest: Mapping[str, Any], recipe: Recipe, weights: Mapping[str, Shape]
) -> None:
    """Refuse an invalid training state, though only a resumed run would read it."""
    for name in TRAINING_FILES:
        if name not in manifest["files"]:
            continue
        if not (folder / name).exists():
            slim = spell(
                command_line=f"dhyan export {folder} --slim OUT",
                python="dhyan.run.slim_export.write_slim",
            )
            raise DamagedFolder(
                f"{folder / name}: is missing: a checkpoint keeps the state of its training; make a "
                f"folder without it by {slim}"
            )
        hashed_first = _is_hashed_first(manifest, name)
        if hashed_first:
            atomic_folder.check_files(folder, manifest, [name], remedy=REMEDY)
        try:
            if name == OPTIMIZER_STATE:
                check_optimizer_state(_read_header(folder, manifest, name), weights, recipe)
            else:
                data = read_file(folder / name, max_bytes=LONGEST_RECIPE)
                check_train_state(read_json(data, finite=False), manifest["step"])
        except DamagedFolder:
            raise
        except (OSError, ValueError) as error:
            raise DamagedFolder(f"{folder / name}: {error}; {REMEDY}") from None
        if not hashed_first:
            atomic_folder.check_files(folder, manifest, [name], remedy=REMEDY)


def _check_card(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a card that is not a table of JSON."""
    if CARD not in manifest["files"]:
        return
    data = atomic_folder.read_files(folder, manifest, [CARD], remedy=REMEDY)[CARD]
    try:
        valid = isinstance(read_json(data), dict)
    except ValueError:
        valid = False
    if not valid:
        raise DamagedFolder(f"{folder / CARD}: is not a table of JSON; {REMEDY}")


def read_training_sentences(model: str | Path) -> TrainingSentences | None:
    """The sentences a model was trained on, without reading the rest of it; None if not known."""
    folder = find_checkpoint(model)
    manifest = read_manifest(folder)
    _check_names(folder, manifest)
    return _read_training_sentences(folder, manifest)


def _read_training_sentences(folder: Path, manifest: Mapping[str, Any]) -> TrainingSentences | None:
    name = TRAINING_SENTENCES
    if name not in manifest["files"]:
        return None
    data = atomic_folder.read_files(folder, manifest, [name], remedy=REMEDY)[name]
    try:
        return TrainingSentences.from_bytes(data)
    except ValueError as error:
        raise DamagedFolder(f"{folder / name}: {error}; {REMEDY}") from None


def _read_codebook(folder: Path, manifest: Mapping[str, Any]) -> bytes | None:
    """The file of a codebook, if it has one and its header is that of a codebook."""
    name = CODEBOOK_FILE
    if name not in manifest["files"]:
        return None
    data = atomic_folder.read_files(folder, manifest, [name], remedy=REMEDY)[name]
    try:
        check_codebook_header(_read_header(folder, manifest, name))
    except InvalidHeader as fault:
        raise DamagedFolder(f"{folder / name}: {fault}; {REMEDY}") from None
    return data


def _check_large_file(folder: Path, manifest: Mapping[str, Any], *, shapes_compared: bool) -> None:
    """Refuse large weights that are a hole in a file, or too large if their shapes are unknown."""
    path, size = folder / WEIGHTS, manifest["files"][WEIGHTS]["bytes"]
    if is_sparse(path):
        raise UserError(
            f"{path}: is mostly a hole where {size:,} bytes should be; name another model"
        )
    if not shapes_compared:
        if size > MAX_UNKNOWN_BYTES:
            raise UserError(
                f"{path}: has more than the {MAX_UNKNOWN_BYTES:,} bytes it may; {REMEDY}"
            )
        atomic_folder.check_files(folder, manifest, [WEIGHTS], remedy=REMEDY)


def _check_finite(path: Path, data: bytes, header: Header) -> None:
    """Refuse weights that are NaN or infinite: no translation comes of them."""
    if not is_finite(data, header):
        raise DamagedFolder(f"{path}: holds a weight that is not finite; {REMEDY}")


def find_saved_recipe(run: Path) -> Path:
    """The recipe of a run's newest undamaged checkpoint; else the one the run was started with."""
    damage: DamagedFolder | None = None
    for step in steps_in(run):
        checkpoint = run / f"step-{step}"
        if checkpoint.is_symlink():
            raise UserError(f"{checkpoint}: is a link, not a checkpoint of this run; remove it")
        try:
            return check_folder(checkpoint).folder / RECIPE
        except DamagedFolder as error:
            damage = damage or error
    if damage:
        raise damage
    if (run / START_RECIPE).is_file():
        return run / START_RECIPE
    start = spell(
        command_line=f"dhyan train RECIPE --out {run}",
        python=f"dhyan.train(DATA, RECIPE, out={str(run)!r})",
    )
    raise UserError(f"{run}: was stopped before its recipe was saved; start it again with {start}")
