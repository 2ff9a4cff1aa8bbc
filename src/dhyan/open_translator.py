"""Open a translator: on a CPU by the compiled engine, without importing torch, where it fits."""

from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from dhyan.config import Recipe, TransformerDecoder, TransformerEncoder
from dhyan.cpu_engine import library_target, supports_recipe
from dhyan.cpu_engine.threads import default_threads, idle_threads
from dhyan.decoding.deferred_engine import deferred_engine
from dhyan.decoding.translator import DeferredModel, LengthLimits, Translator
from dhyan.model_check import CheckedModel, check_folder, read_model, read_without_torch
from dhyan.model_check.model_folder import MAX_UNKNOWN_BYTES, WEIGHTS
from dhyan.quantization import is_quantized
from dhyan.tasks import find_task
from dhyan.text.codec import load_codecs

if TYPE_CHECKING:
    from dhyan.models.seq2seq import Seq2Seq

GPU_DEVICES = ("nvidiactl", "nvidia0", "dxg", "kfd")  # in /dev, of a machine that may have one


def open_translator(
    model: str | Path,
    *,
    device: str = "auto",
    threads: int = 0,
    ensemble: Sequence[str | Path] = (),
) -> Translator:
    """The translator of a model folder or name, or of an ensemble.

    `threads` are those of the CPU; 0 is one per idle core, at most four.
    """
    if not ensemble and uses_cpu(device):
        translator = open_cpu_translator(model, threads)
        if translator is not None:
            return translator
    models = [read_model(folder) for folder in (model, *ensemble)]
    from dhyan.run.environment import set_threads
    from dhyan.run.load import build_ensemble

    set_threads(threads)
    return build_ensemble(models, device=device)


def uses_cpu(device: str) -> bool:
    """Whether the device is the CPU for certain; a machine with a GPU's driver may have one."""
    if device == "auto":
        return not any(Path("/dev", name).exists() for name in GPU_DEVICES)
    return device == "cpu"


def open_cpu_translator(model: str | Path, threads: int = 0) -> Translator | None:
    """The translator with the compiled engine; None where it has no such model.

    PyTorch is imported, and its model built, only when something asks for that.
    """
    if library_target() is None:
        return None
    checked = check_folder(model)
    size = checked.manifest["files"][WEIGHTS]["bytes"]
    if not supports_recipe(checked.recipe) or size > MAX_UNKNOWN_BYTES:
        return None
    checked = read_without_torch(model)
    engine = deferred_engine(checked)
    if engine() is None:
        return None
    recipe = checked.recipe
    source, target = load_codecs(checked.files)
    chosen = cache(lambda: threads or idle_threads(default_threads()))
    return Translator(
        DeferredModel(lambda: _build(checked, chosen()), sum(map(prod, checked.shapes.values()))),
        source,
        target,
        language=recipe.data.target_language,
        source_language=recipe.data.source_language,
        limits=length_limits(recipe),
        options=recipe.decoding,
        placeholders=recipe.text.placeholders,
        task=recipe.task,
        task_rules=find_task(recipe.task).rules,
        training_sentences=checked.training_sentences,
        fast=True,
        cpu_engine=engine,
        threads=chosen,
    )


def describe_cpu_engine(checked: CheckedModel) -> str:
    """What translates with a model on a CPU: the engine, its target and precision, or PyTorch."""
    target = library_target()
    if target is None:
        return "PyTorch: the engine is not compiled"
    if not supports_recipe(checked.recipe):
        return "PyTorch: the engine has no such model"
    return f"engine {target}, {'int8' if is_quantized(checked.header) else 'float32'}"


def length_limits(recipe: Recipe) -> LengthLimits:
    """The limits of a model that the engine supports: learned positions are finitely many."""
    longest = recipe.data.max_tokens + 2
    learned = [
        isinstance(half, TransformerEncoder | TransformerDecoder) and half.positions == "learned"
        for half in (recipe.encoder, recipe.decoder)
    ]
    source = recipe.decoding.max_source_length
    return LengthLimits(
        source=min(source, longest - 1) if learned[0] else source,
        target=longest if learned[1] else None,
    )


def _build(checked: CheckedModel, threads: int) -> "Seq2Seq":
    from dhyan.run.environment import set_threads
    from dhyan.run.load import build_network

    set_threads(threads)
    return build_network(checked)
