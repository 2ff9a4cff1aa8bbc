"""Experiment trackers that listen to the events of a run: TensorBoard, MLflow, Weights & Biases.

MLflow and Weights & Biases write into the run folder, and send nothing anywhere, unless their own
environment variables say otherwise: MLFLOW_TRACKING_URI, WANDB_MODE.
"""

import json
import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, runtime_checkable

from dhyan.config import Recipe
from dhyan.config.declare_settings import values_by_key
from dhyan.errors import UserError
from dhyan.run.tensorboard import TensorBoardLog, require_tensorboard, scalars
from dhyan.training.events import Event

PROJECT = "dhyan"
PACKAGES = {"mlflow": ("mlflow", "sqlalchemy", "alembic"), "wandb": ("wandb",)}


@runtime_checkable
class Tracker(Protocol):
    """Listens to a run."""

    def write(self, event: Event) -> None:
        """Take note of an event."""
        ...

    def close(self) -> None:
        """Write what is buffered; the run is over, or interrupted."""
        ...


@runtime_checkable
class TrackedRun(Protocol):
    """A run in the store of an experiment tracker."""

    id: str

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Store some scalars of a step."""
        ...

    def close(self) -> None:
        """Write what is buffered."""
        ...


def start_trackers(recipe: Recipe, folder: Path, *, after: int) -> list[Tracker]:
    """The trackers of a recipe's run; `after` is the step it resumes from, -1 for a new run."""
    training = recipe.training
    trackers = list[Tracker]()
    if training.tensorboard:
        trackers.append(TensorBoardLog(folder / "tensorboard", after=after))
    for name in training.trackers:
        trackers.append(ScalarTracker(name, recipe, folder, new=after < 0))
    return trackers


def require_trackers(recipe: Recipe) -> None:
    """Refuse a recipe whose trackers are not installed."""
    if recipe.training.tensorboard:
        require_tensorboard()
    for name in recipe.training.trackers:
        if any(find_spec(package) is None for package in PACKAGES[name]):
            raise UserError(
                f"training.trackers: {name} is not installed; pip install 'dhyan[{name}]', or leave "
                f"it out"
            )


class ScalarTracker:
    """Gives the scalars of a run to MLflow or Weights & Biases, those of each step once.

    A resumed run continues the same run there, by a small file of its id. Steps that it repeats were
    given before, and came out the same, so they are left out.
    """

    def __init__(self, name: str, recipe: Recipe, folder: Path, *, new: bool) -> None:
        self._path = folder / f"{name}.json"
        known = {} if new or not self._path.exists() else json.loads(self._path.read_bytes())
        self._run = OPEN[name](recipe, folder, str(known.get("run", "")))
        self._last_steps: dict[str, int] = known.get("last_steps", {})

    def write(self, event: Event) -> None:
        """Store the scalars of an event."""
        values, kind = scalars(event), type(event).__name__  # a step is reported and validated
        if values and event.step > self._last_steps.get(kind, -1):
            self._run.log(values, event.step)
            self._last_steps[kind] = event.step
            state = {"run": self._run.id, "last_steps": self._last_steps}
            temporary = self._path.with_suffix(".part")
            temporary.write_text(json.dumps(state) + "\n")
            temporary.replace(self._path)

    def close(self) -> None:
        """Write what is buffered."""
        self._run.close()


class MLflowRun:
    """A run of MLflow: in `mlflow.db` of the run folder, or where MLFLOW_TRACKING_URI says."""

    def __init__(self, recipe: Recipe, folder: Path, known: str) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param

        uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{folder.resolve()}/mlflow.db"
        self._client, self._metric = MlflowClient(tracking_uri=uri), Metric
        self.id = known
        if known:
            self._client.update_run(known, status="RUNNING")
            return
        experiment = self._client.get_experiment_by_name(PROJECT)
        number = experiment.experiment_id if experiment else self._client.create_experiment(PROJECT)
        self.id = self._client.create_run(number, run_name=folder.resolve().name).info.run_id
        settings = [Param(key, str(value)[:500]) for key, value in values_by_key(recipe)]
        for start in range(0, len(settings), 100):  # the most of one call
            self._client.log_batch(self.id, params=settings[start : start + 100])

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Store some scalars of a step."""
        metrics = [self._metric(name, value, 0, step) for name, value in values.items()]
        self._client.log_batch(self.id, metrics=metrics)

    def close(self) -> None:
        """Mark the run as finished; one that is resumed runs again."""
        self._client.set_terminated(self.id)


class WandbRun:
    """A run of Weights & Biases: offline, in `wandb` of the run folder, unless WANDB_MODE is set."""

    def __init__(self, recipe: Recipe, folder: Path, known: str) -> None:
        os.environ.setdefault("WANDB_MODE", "offline")
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        import wandb

        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=folder.resolve().name,
            id=known or None,
            resume="allow",
            dir=str(folder),
            config=dict(values_by_key(recipe)),
            settings=wandb.Settings(
                console="off", disable_git=True, save_code=False, silent=True, x_disable_stats=True
            ),
        )
        self.id = str(self._run.id)

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Store some scalars of a step."""
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        """Write what is buffered."""
        self._run.finish()


OPEN: Mapping[str, Callable[[Recipe, Path, str], TrackedRun]] = {
    "mlflow": MLflowRun,
    "wandb": WandbRun,
}
