"""Slim export: a model folder without training state, with quantized weights and a model card."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dhyan import atomic_folder
from dhyan.atomic_folder import check_writable, to_json_bytes
from dhyan.audio.codebook_file import CODEBOOK_FILE
from dhyan.checkpoint import tensors_to_bytes, weights_from_bytes
from dhyan.config import Data, LinearDecoder, Recipe, dump_recipe
from dhyan.data.training_sentences import TRAINING_SENTENCES
from dhyan.errors import UserError
from dhyan.model_check import MODEL_FILES, read_model
from dhyan.pretrained.card import CARD
from dhyan.quantization import Precision, quantize

RECIPE, WEIGHTS = "recipe.toml", "model.safetensors"
FACTS = ("step", "data_fingerprint", "device", "threads", "versions")


def write_slim(
    model: str | Path,
    out: Path,
    *,
    precision: Precision = "int8",
    card: Mapping[str, Any] | None = None,
) -> Path:
    """Write the model of a run or checkpoint as a slim folder, and return it.

    The state of training is not read: it may be missing. The folder is loaded, served and
    fine-tuned like a checkpoint, but no run resumes from it. Its recipe names no file of the
    machine it was trained on. `card` becomes its card.json.
    """
    check_writable(out)
    if out.exists():
        raise UserError(f"{out} exists already: name another folder")
    checked = read_model(model, allow_unknown_attention=True, without_training_state=True)
    weights = weights_from_bytes(checked.files[WEIGHTS])
    files = {
        **{name: checked.files[name] for name in MODEL_FILES},
        RECIPE: dump_recipe(without_files(checked.recipe)).encode(),
        WEIGHTS: tensors_to_bytes(quantize(weights, precision)),
    }
    if checked.training_sentences is not None:
        files[TRAINING_SENTENCES] = checked.training_sentences.to_bytes()
    if checked.codebook is not None:
        files[CODEBOOK_FILE] = checked.codebook
    if card is not None:
        files[CARD] = to_json_bytes(card)
    facts = {key: checked.manifest[key] for key in FACTS} | {"precision": precision}
    checksums = {name: atomic_folder.checksum(data) for name, data in files.items()}
    with atomic_folder.atomic_folder(out) as folder:
        for name, data in files.items():
            (folder / name).write_bytes(data)
        atomic_folder.write_manifest(folder, facts, checksums)
    return out


def without_files(recipe: Recipe) -> Recipe:
    """The recipe without its corpus and the other files it names; languages and lengths are kept."""
    data, decoder = recipe.data, recipe.decoder
    if not isinstance(decoder, LinearDecoder):
        decoder = replace(decoder, pretrained_embedding="", freeze_embedding=False)
    return replace(
        recipe,
        data=Data(
            source_language=data.source_language,
            target_language=data.target_language,
            max_tokens=data.max_tokens,
        ),
        encoder=replace(recipe.encoder, pretrained_embedding="", freeze_embedding=False),
        decoder=decoder,
        training=replace(recipe.training, init_from="", init_vocabulary="keep"),
    )
