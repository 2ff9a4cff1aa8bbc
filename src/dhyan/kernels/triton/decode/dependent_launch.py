"""Kernels that are launched before the one they wait for has ended (Hopper and later).

Each lets the next one come as soon as it runs itself, so several may run at once; each waits for
the end of the one before (and so of all before that) where it first touches what they may have
written. Before that it reads what no kernel of the same captured step writes: weights, the source,
earlier words. For that, steps are captured one by one.
"""

from functools import cache

import torch
from torch import Tensor

USED = True


def early(tensor: Tensor) -> dict[str, bool]:
    """How a kernel on this tensor's device is launched."""
    if USED and tensor.is_cuda and _knows(tensor.device):
        return {"EARLY": True, "launch_pdl": True}
    return {"EARLY": False}


@cache
def _knows(device: torch.device) -> bool:
    return torch.cuda.get_device_capability(device) >= (9, 0)
