"""One thread for small tensors, a fixed seed for every test, and closed pipes that are errors."""

import signal
from collections.abc import Iterator
from threading import Timer

import jaxtyping
import pytest
import torch

CHECKED = 1.0  # seconds

torch.set_num_threads(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[object]:
    """Shapes are checked in the first second of every test; after it the same calls come again."""
    timer = Timer(CHECKED, jaxtyping.config.update, ("jaxtyping_disable", True))
    timer.start()
    try:
        return (yield)
    finally:
        timer.cancel()
        timer.join()
        jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def closed_pipes_are_errors() -> Iterator[None]:
    """As Python has it; the command line, run within this process, lets them end it."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
