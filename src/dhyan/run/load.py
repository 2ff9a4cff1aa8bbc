"""From a checkpoint's files to a translator."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from dhyan.checkpoint import tensors_from_bytes
from dhyan.config import Recipe
from dhyan.decoding.translator import LengthLimits, Translator, join_translators
from dhyan.errors import UserError
from dhyan.model_check import MODEL_FILES as MODEL_FILES
from dhyan.model_check import CheckedModel, parse_saved_recipe, read_model
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.text.tokenizer import Tokenizer

DEVICES = {"cpu", "cuda", "mps"}


def load(folder: str | Path, *, device: str = "auto") -> Translator:
    """A translator from a run folder (its best checkpoint) or from one checkpoint.

    Every file is compared with its hash first, and looked through as a stranger's.
    """
    return build_translator(read_model(folder), choose_device(device))


def build_translator(read: CheckedModel, place: torch.device) -> Translator:
    """A translator from a model that was read."""
    recipe = read.recipe
    source, target = load_tokenizers(read.files)
    model = build_model(recipe, len(source), len(target))
    load_weights(model, tensors_from_bytes(read.files["model.safetensors"]))
    translator = make_translator(recipe, model.to(place).eval(), source, target, place)
    return replace(translator, fast=place.type == "cuda")


def load_ensemble(folders: Sequence[str | Path], *, device: str = "auto") -> Translator:
    """Several models as one translator, which averages their probabilities word by word.

    They may be of any kind but must have the same vocabularies; the first says how to search.
    """
    if not folders:
        raise UserError("no model is named: give at least one")
    return build_ensemble([read_model(folder) for folder in folders], device=device)


def build_ensemble(models: Sequence[CheckedModel], *, device: str = "auto") -> Translator:
    """One translator from models that were read."""
    place = choose_device(device)
    found = [build_translator(read, place) for read in models]
    return join_translators(found, names=[read.name for read in models])


def choose_device(name: str) -> torch.device:
    """The named device; 'auto' is the GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"device {name!r}: no GPU was found; give cpu")
    try:
        device = torch.device(name)
        usable = device.type in DEVICES
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        usable = False
    if not usable:
        raise UserError(f"device {name!r} cannot be used here: give cpu, cuda, cuda:N or mps")
    return device


def set_threads(wanted: int) -> None:
    """Let PyTorch use so many CPU threads; 0 is all there are, up to four."""
    torch.set_num_threads(wanted or min(torch.get_num_threads(), 4))


def load_saved_recipe(files: Mapping[str, bytes]) -> Recipe:
    """The recipe a checkpoint was made by."""
    return parse_saved_recipe(files["recipe.toml"])


def load_tokenizers(files: Mapping[str, bytes]) -> tuple[Tokenizer, Tokenizer]:
    """The source and target tokenizers of a checkpoint."""
    source, target = (files[f"{side}.json"].decode() for side in ("source", "target"))
    return Tokenizer.from_json(source), Tokenizer.from_json(target)


def make_translator(
    recipe: Recipe, model: Seq2Seq, source: Tokenizer, target: Tokenizer, device: torch.device
) -> Translator:
    """A model with its tokenizers and the recipe's decoding options."""
    most, longest = model.encoder.max_length, recipe.decoding.max_source_length
    return Translator(
        model,
        source,
        target,
        language=recipe.data.target_language,
        source_language=recipe.data.source_language,
        limits=LengthLimits(
            source=min(longest, most - 1) if most else longest, target=model.decoder.max_length
        ),
        options=recipe.decoding,
        placeholders=recipe.text.placeholders,
        device=device,
    )


def weights_of(model: Seq2Seq) -> dict[str, Tensor]:
    """Every weight once, by name; tied ones under the first of their names."""
    return dict(model.named_parameters())


def load_weights(model: Seq2Seq, saved: Mapping[str, Tensor]) -> None:
    """Fill a model with saved weights, which must be just those it has."""
    wanted = weights_of(model)
    if odd := sorted(wanted.keys() ^ saved.keys()):
        raise UserError(f"the saved weights do not fit the recipe: {odd[0]!r} is on one side only")
    with torch.no_grad():
        for name, weight in wanted.items():
            if weight.shape != saved[name].shape:
                raise UserError(
                    f"the saved weights do not fit the recipe: {name!r} is "
                    f"{tuple(saved[name].shape)}, the model needs {tuple(weight.shape)}"
                )
            weight.copy_(saved[name])
