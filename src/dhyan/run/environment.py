"""Environment of a run: CPU threads, deterministic algorithms, versions and machine."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from dhyan.checkpoint import read_manifest
from dhyan.config import Recipe
from dhyan.cpu_engine.library import cpu_features
from dhyan.cpu_engine.threads import idle_threads
from dhyan.version import __version__

WORKSPACE = ":4096:8"  # cuBLAS needs this for a fixed order of sums; it is read when CUDA starts
PACKAGES = ("numpy", "sacrebleu", "tokenizers")
BF16_FEATURES = frozenset({"avx512_bf16", "amx_bf16"})  # of a CPU that multiplies bfloat16


def set_threads(threads: int) -> None:
    """Set the number of CPU threads of PyTorch; 0 is one per idle core, at most four.

    Threads that share cores with other processes wait for each other at every operation, and are
    then slower than one thread.
    """
    if not threads:
        threads = idle_threads(torch.get_num_threads())
    torch.set_num_threads(threads)


def choose_precision(recipe: Recipe, device: torch.device) -> Recipe:
    """The recipe with a precision instead of `auto`: bfloat16 where a CPU multiplies it."""
    if recipe.training.precision != "auto":
        return recipe
    half = device.type == "cpu" and bool(BF16_FEATURES & cpu_features())
    fast = half and recipe.training.kernels == "auto"
    return replace(recipe, training=replace(recipe.training, precision="bf16" if fast else "fp32"))


def saved_threads(checkpoint: Path) -> int:
    """The threads a checkpoint was trained with, at most those there are; sums depend on them."""
    return min(int(read_manifest(checkpoint)["threads"]), torch.get_num_threads())


@contextmanager
def deterministic_algorithms(enabled: bool) -> Iterator[None]:
    """Inside the block PyTorch uses deterministic algorithms only, if `enabled`."""
    if not enabled:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    lenient = torch.is_deterministic_algorithms_warn_only_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", WORKSPACE)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=lenient)


def deterministic_flags() -> str:
    """Which deterministic settings of PyTorch are on; "none" if none is."""
    flags = {
        "algorithms": torch.are_deterministic_algorithms_enabled(),
        "cudnn": torch.backends.cudnn.deterministic,
    }
    return " and ".join(name for name, on in flags.items() if on) or "none"


def versions() -> dict[str, str]:
    """Versions of dhyan, torch and Python, for the manifest."""
    return {
        "dhyan": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def measurement_environment(device: str) -> dict[str, Any]:
    """The machine, the threads, the versions and the date."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "device": device,
            "gpu": torch.cuda.get_device_name(device) if device.startswith("cuda") else "",
            "processor": _processor(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "system": platform.system(),
        },
        "versions": {**versions(), **{name: version(name) for name in PACKAGES}},
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
