"""A fork server for all tests of this folder, and undisturbed runs of both model families."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from dhyan.checkpoint import is_run, read_checkpoint
from tests.faults.fork_client import fork_server
from tests.tiny_models import RECIPES, as_arguments, tiny_settings, write_corpus

STEPS = 3


@dataclass(frozen=True)
class TrainingCommand:
    """The training command of a model family, its corpus, and an undisturbed run."""

    family: str
    files: tuple[Path, Path]
    undisturbed: Path

    def arguments(self, out, steps=STEPS, **more):
        """The words of the command; they resume a run that was started in the folder."""
        every = {
            "training.steps": steps,
            "training.save_every": 1,
            "decoding.max_length": 8,
            **more,
        }
        settings = as_arguments(tiny_settings(self.family, *self.files, **every))
        resume = ("--resume",) if is_run(out) else ()
        return ("train", RECIPES[self.family], *resume, "--threads", 1, "--out", out, *settings)

    def final_files(self, out, steps=STEPS):
        """The files of the last checkpoint, and best.json."""
        return read_checkpoint(out / f"step-{steps}"), (out / "best.json").read_bytes()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with fork_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session")
def training_of(server, tmp_path_factory):
    """The training command of a family, with an undisturbed run made at its first use."""
    commands = {}

    def command(family):
        if family not in commands:
            folder = tmp_path_factory.mktemp(family)
            training = TrainingCommand(
                family, write_corpus(folder, pairs=250), folder / "undisturbed"
            )
            if not commands:
                server.warm_up(*training.arguments(folder / "warm-up"))
            code, output = server.run(*training.arguments(training.undisturbed))
            assert code == 0, output
            commands[family] = training
        return commands[family]

    return command


@pytest.fixture
def memory_folder():
    """A folder in /dev/shm if there is one, which is faster."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def copy_of(training_of, tmp_path):
    """A copy of an undisturbed run, which a test may damage."""

    def copy(family):
        training = training_of(family)
        shutil.copytree(training.undisturbed, tmp_path / family)
        return training, tmp_path / family

    return copy
