"""Kernels run on the CPU by Triton's interpreter."""

from importlib.util import find_spec

import pytest
import torch

from dhyan.kernels.backend import triton_interpreter


@pytest.fixture(autouse=True)
def interpreter():
    if find_spec("triton") is None:
        pytest.skip("needs Triton, for its interpreter: pip install --no-deps triton==3.6.0")
    torch.set_num_threads(1)
    with triton_interpreter():
        yield
