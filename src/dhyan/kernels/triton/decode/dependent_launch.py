"""Programmatic dependent launch (CUDA): a kernel starts before the one it waits for has ended.

On Hopper and later. Each kernel lets the next one start as soon as it runs itself, so several may
run at once; each waits for the end of the one before (and so of all before that) where it first
reads what they may have written. Before that it reads what no kernel of the same captured step
writes: weights, the source, earlier tokens. For that, steps are captured one by one.
"""

from functools import cache

import torch
from torch import Tensor

ENABLED = True


def launch_options(tensor: Tensor) -> dict[str, bool]:
    """How a kernel on this tensor's device is launched."""
    if ENABLED and tensor.is_cuda and _supported(tensor.device):
        return {"DEPENDENT": True, "launch_pdl": True}
    return {"DEPENDENT": False}


@cache
def _supported(device: torch.device) -> bool:
    return torch.cuda.get_device_capability(device) >= (9, 0)
