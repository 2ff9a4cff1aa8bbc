"""Load a translator, or an ensemble, from model folders."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from dhyan.checkpoint import weights_from_bytes
from dhyan.config import Recipe
from dhyan.decoding.deferred_engine import deferred_engine
from dhyan.decoding.translator import LengthLimits, Translator
from dhyan.errors import UserError
from dhyan.model_check import MODEL_FILES as MODEL_FILES
from dhyan.model_check import CheckedModel, parse_saved_recipe, read_model
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.tasks import find_task
from dhyan.text.codec import SourceCodec
from dhyan.text.codec import load_codecs as load_codecs
from dhyan.text.tokenizer import Tokenizer

DEVICES = {"cpu", "cuda", "mps"}


def load(folder: str | Path, *, device: str = "auto") -> Translator:
    """A translator from a run folder (its best checkpoint), one checkpoint, or a pretrained model.

    A text that is exactly the name of a pretrained model, such as `"en-hi"`, means that model; a
    folder of the same name is given as `Path("en-hi")` or `"./en-hi"`.

    Every file is checked first, as of unknown origin, and compared with its hash.

    >>> dhyan.load(run_folder).translate("seven", max_length=5).source
    'seven'
    """
    return build_translator(read_model(folder), choose_device(device))


def build_translator(checked: CheckedModel, device: torch.device) -> Translator:
    """A translator from a model that was read and checked."""
    source, target = load_codecs(checked.files)
    model = build_network(checked).to(device)
    translator = make_translator(checked.recipe, model, source, target, device)
    return replace(
        translator,
        fast=device.type in ("cuda", "cpu"),
        cpu_engine=deferred_engine(checked) if device.type == "cpu" else None,
        training_sentences=checked.training_sentences,
    )


def build_network(checked: CheckedModel) -> Seq2Seq:
    """The model of a folder that was read and checked, on the CPU."""
    model = build_model(checked.recipe, *checked.sizes)
    load_weights(model, weights_from_bytes(checked.files["model.safetensors"]))
    return model.eval()


def load_ensemble(folders: Sequence[str | Path], *, device: str = "auto") -> Translator:
    """An ensemble: one translator that averages the probabilities of several models per token.

    The models must have the same vocabularies; the decoding options are those of the first.

    >>> both = dhyan.load_ensemble([run_folder, run_folder])
    >>> both.translate("seven", max_length=5).source
    'seven'
    """
    if not folders:
        raise UserError("no model is named: give at least one")
    return build_ensemble([read_model(folder) for folder in folders], device=device)


def build_ensemble(models: Sequence[CheckedModel], *, device: str = "auto") -> Translator:
    """An ensemble from models that were read and checked."""
    torch_device = choose_device(device)
    translators = [build_translator(model, torch_device) for model in models]
    return join_translators(translators, names=[model.name for model in models])


def join_translators(translators: Sequence[Translator], *, names: Sequence[str] = ()) -> Translator:
    """The first translator with the models of all; `names` are for errors.

    Vocabularies must be equal, since probabilities are averaged token by token.
    """
    first, *others = translators
    names = names or [f"model {number}" for number in range(1, len(translators) + 1)]
    for other, name in zip(others, names[1:], strict=True):
        if difference := _difference(first, other):
            raise UserError(f"no ensemble of {names[0]} and {name}: {difference}")
    models = [
        model
        for translator in translators
        for model in (translator.model, *translator.other_models)
    ]
    targets = [
        translator.limits.target
        for translator in translators
        if translator.limits.target is not None
    ]
    limits = LengthLimits(
        source=min(translator.limits.source for translator in translators),
        target=min(targets, default=None),
    )
    return replace(first, limits=limits, network=models[0], other_models=tuple(models[1:]))


def _difference(first: Translator, other: Translator) -> str:
    """Why two translators cannot be joined; empty if they can."""
    if first.placeholders != other.placeholders:
        kinds = [", ".join(translator.placeholders) or "nothing" for translator in (first, other)]
        return f"one copies {kinds[0]}, the other {kinds[1]} (text.placeholders)"
    sides = {"source": (first.source, other.source), "target": (first.target, other.target)}
    for side, (tokenizer, other_tokenizer) in sides.items():
        if how := _vocabulary_difference(tokenizer, other_tokenizer):
            return f"their {side} vocabularies differ: {how}; train both with the same vocabularies"
    return ""


def _vocabulary_difference(first: SourceCodec, other: SourceCodec) -> str:
    """How two codecs differ; empty if they do not."""
    if first.to_json() == other.to_json():
        return ""
    if not isinstance(first, Tokenizer) or not isinstance(other, Tokenizer):
        return f"{first.kind} and {other.kind}, or other settings of them"
    pieces, other_pieces = list(first.piece_ids()), list(other.piece_ids())
    sizes = f"{len(pieces):,} tokens and {len(other_pieces):,}"
    for id, (piece, other_piece) in enumerate(zip(pieces, other_pieces, strict=False)):
        if piece != other_piece:
            return f"{sizes}, and id {id} is {piece!r} and {other_piece!r}"
    if len(pieces) != len(other_pieces):
        return sizes
    return "they have the same tokens but split words differently"


def choose_device(name: str) -> torch.device:
    """The device of that name; "auto" is the GPU if there is one."""
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


def load_saved_recipe(files: Mapping[str, bytes]) -> Recipe:
    """The recipe a checkpoint was trained with."""
    return parse_saved_recipe(files["recipe.toml"])


def make_translator(
    recipe: Recipe, model: Seq2Seq, source: SourceCodec, target: Tokenizer, device: torch.device
) -> Translator:
    """A model with its codecs, the recipe's decoding options and the rules of its task."""
    positions, max_length = model.encoder.max_length, recipe.decoding.max_source_length
    return Translator(
        model,
        source,
        target,
        language=recipe.data.target_language,
        source_language=recipe.data.source_language,
        limits=LengthLimits(
            source=min(max_length, positions - 1) if positions else max_length,
            target=model.decoder.max_length,
        ),
        options=recipe.decoding,
        placeholders=recipe.text.placeholders,
        task=recipe.task,
        task_rules=find_task(recipe.task).rules,
        device_name=str(device),
    )


def weights_of(model: Seq2Seq) -> dict[str, Tensor]:
    """The weights of a model by name; tied weights under the first of their names."""
    return dict(model.named_parameters())


def load_weights(model: Seq2Seq, saved: Mapping[str, Tensor]) -> None:
    """Copy saved weights into a model; names and shapes must be the same."""
    weights = weights_of(model)
    if unmatched := sorted(weights.keys() ^ saved.keys()):
        raise UserError(
            f"the saved weights do not fit the recipe: {unmatched[0]!r} is on one side only"
        )
    with torch.no_grad():
        for name, weight in weights.items():
            if weight.shape != saved[name].shape:
                raise UserError(
                    f"the saved weights do not fit the recipe: {name!r} is "
                    f"{tuple(saved[name].shape)}, the model needs {tuple(weight.shape)}"
                )
            weight.copy_(saved[name])
