"""A stage for all tests of this folder, and runs of both families that nobody disturbed."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from dhyan.checkpoint import read_checkpoint
from tests.faults.fork_client import stage_in
from tests.tiny_models import RECIPES, as_arguments, tiny_settings, write_corpus

STEPS = 3


@dataclass(frozen=True)
class Story:
    """A family's corpus, the words that train on it, and how such a run ends."""

    family: str
    files: tuple[Path, Path]
    alone: Path

    def words(self, out, steps=STEPS, **more):
        every = {
            "training.steps": steps,
            "training.save_every": 1,
            "decoding.max_length": 8,
            **more,
        }
        settings = as_arguments(tiny_settings(self.family, *self.files, **every))
        return ("train", RECIPES[self.family], "--resume", "--threads", 1, "--out", out, *settings)

    def ending(self, out, steps=STEPS):
        """All that a run has come to, byte by byte."""
        return read_checkpoint(out / f"step-{steps}"), (out / "best.json").read_bytes()


@pytest.fixture(scope="session")
def stage(tmp_path_factory):
    with stage_in(tmp_path_factory.mktemp("stage")) as stage:
        yield stage


@pytest.fixture(scope="session")
def told(stage, tmp_path_factory):
    """The story of a family, made when it is first asked for."""
    known = {}

    def tell(family):
        if family not in known:
            folder = tmp_path_factory.mktemp(family)
            story = Story(family, write_corpus(folder, pairs=250), folder / "alone")
            if not known:
                stage.rehearse(*story.words(folder / "rehearsed"))
            code, said = stage.run(*story.words(story.alone))
            assert code == 0, said
            known[family] = story
        return known[family]

    return tell


@pytest.fixture
def swift():
    """A folder in memory, where there is one: who is killed there leaves the same behind."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def fresh(told, tmp_path):
    """A copy of an undisturbed run, to be damaged."""

    def copy(family):
        story = told(family)
        shutil.copytree(story.alone, tmp_path / family)
        return story, tmp_path / family

    return copy
