"""Training one model of a comparison to the end of its budget, from wherever it stands."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dhyan.compare.plan import Entry, Plan
from dhyan.run import Run, train
from dhyan.run.run_folder import RunFolder
from dhyan.training.events import Event, Stepped
from dhyan.training.trainer import Trainer


@dataclass(frozen=True)
class Budgeted:
    """A run that ends when it has been trained for so long, or at its last step (0: no bound).

    The time is that of the steps that led to its weights, those before a resumption too; steps
    that are repeated because they had not been saved count once.
    """

    run: Run
    seconds: float = 0.0

    @property
    def folder(self) -> RunFolder:
        """Where the run is kept."""
        return self.run.folder

    @property
    def trainer(self) -> Trainer:
        """What trains it."""
        return self.run.trainer

    @property
    def sample(self) -> str:
        """A sentence to try the model on."""
        return self.run.sample

    def spent(self) -> float:
        """The seconds it has been trained for."""
        return spent_on(self.folder.path, self.trainer.state.step)

    def __iter__(self) -> Iterator[Event]:
        """What happens; the last step is validated, so that it can be the best."""
        trainer = self.trainer
        spent = self.spent()
        if self._over(spent):
            if not trainer.state.validation_pending:
                self.run.lock.close()
                return
            self._end()
        for event in self.run:
            if isinstance(event, Stepped):
                spent += event.seconds
                if self._over(spent) and not trainer.stop_reason:
                    self._end()
            yield event

    def _over(self, spent: float) -> bool:
        return bool(self.seconds) and spent >= self.seconds

    def _end(self) -> None:
        self.trainer.settings = replace(self.trainer.settings, validate_every=1)
        self.trainer.stop(f"{self.seconds:g} seconds of training are over")


def begin(plan: Plan, entry: Entry, *, device: str, threads: int) -> Budgeted:
    """An entry's run, ready to go, anew or from its newest checkpoint."""
    out = plan.home(entry)
    begun = any(out.glob("step-*"))
    run = train(entry.recipe, out, resume=begun, device=device, threads=threads)
    return Budgeted(run, plan.budget.seconds)


def spent_on(home: Path, step: int) -> float:
    """The seconds of training that led to a step, by the run's own metrics."""
    return float(sum(one["seconds"] for one in _steps(home) if one["step"] <= step))


def last_step(home: Path) -> int:
    """The last step a run has taken."""
    return int(max((one["step"] for one in _steps(home)), default=0))


def _steps(home: Path) -> Iterator[dict[str, float]]:
    path = home / "metrics.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            noted = json.loads(line)
        except ValueError:  # a line cut off by a crash
            continue
        if noted["event"] == "stepped":
            yield noted
