"""One thread for small tensors, a fixed seed for every test, and closed pipes that are errors."""

import gc
import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests import shape_checks

os.environ.setdefault("TRITON_INTERPRET", "1")  # read when triton is imported, by whatever module
CACHE = "DHYAN_CACHE"
torch.set_num_threads(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Modules and tests stay to the end: no garbage collection walks through them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[object]:
    """Every test begins with its shapes checked."""
    shape_checks.reset()
    return (yield)


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache of imported models: no test writes into the home folder."""
    folder, before = tmp_path_factory.mktemp("cache"), os.environ.get(CACHE)
    os.environ[CACHE] = str(folder)
    yield folder
    os.environ.pop(CACHE)
    if before is not None:
        os.environ[CACHE] = before


@pytest.fixture(autouse=True)
def seed() -> None:
    if torch.cuda.is_available():
        torch.manual_seed(0)
    else:  # without the stack trace that the former keeps for each kind of device
        torch.default_generator.manual_seed(0)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Everything that the package logs: `log.messages`."""
    caplog.set_level(logging.INFO, logger="dhyan")
    return caplog


@pytest.fixture(autouse=True)
def closed_pipes_are_errors() -> Iterator[None]:
    """As Python has it; the command line, run within this process, lets them end it."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
