"""One thread for small tensors, and a fixed seed for every test."""

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)
