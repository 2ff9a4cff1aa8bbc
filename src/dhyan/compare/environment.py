"""Measurement environment: machine, threads, package versions and date."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from dhyan.run.run_folder import versions

PACKAGES = ("numpy", "sacrebleu", "tokenizers")


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
