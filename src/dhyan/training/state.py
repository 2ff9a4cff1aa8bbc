"""Where a run stands, and how it is to go on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dhyan.training.loss import Objective
from dhyan.training.schedule import Plateau, Schedule


class ValidationInterrupted(Exception):
    """There is no time for what is being done."""


@dataclass(frozen=True)
class TrainState:
    """Where a run stands: everything but the weights and the optimizer's state.

    `validations_since_best` counts validations without improvement, `rate_reductions` how often
    the plateau schedule reduced the learning rate. Both count only the validations of the
    schedule, of which `best_scheduled_score` is the best: the extra validation at the end of a
    run that is extended later changes nothing of what follows. Batch lengths are rounded to
    `length_multiple`; another one gives other positions. `skipped_steps` counts the steps without
    a finite loss and gradient, `skipped_in_a_row` the latest of them without a break; `restores`
    how often the run went back to its last checkpoint; `split_steps` the steps whose batches did
    not fit into memory. `validation_pending` says that a validation was interrupted.
    """

    step: int = 0
    position: int = 0
    best_step: int | None = None
    best_score: float | None = None
    validations_since_best: int = 0
    rate_reductions: int = 0
    best_scheduled_score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    length_multiple: int = 1
    skipped_steps: int = 0
    skipped_in_a_row: int = 0
    restores: int = 0
    split_steps: int = 0
    validation_pending: bool = False

    def counting(self, *, finite: bool, split: bool) -> "TrainState":
        """The same, after one more step that was or was not such."""
        return replace(
            self,
            skipped_steps=self.skipped_steps + (not finite),
            skipped_in_a_row=0 if finite else self.skipped_in_a_row + 1,
            split_steps=self.split_steps + split,
        )

    def after(self, astray: "TrainState") -> "TrainState":
        """A checkpoint's progress, for a run that has gone astray since: it takes other batches."""
        return replace(
            self,
            position=astray.position,
            skipped_steps=astray.skipped_steps,
            split_steps=astray.split_steps,
            restores=astray.restores + 1,
            skipped_in_a_row=0,
        )


@dataclass(frozen=True, kw_only=True)
class TrainerSettings:
    """How often things happen, in steps, what an update is, and how much is put up with.

    `most_skipped` steps in a row that find nothing finite lead back to the last checkpoint; from
    there the run takes other batches, and after `most_returns` to one and the same it stops. It
    also stops after `most_unsaved` checkpoints in a row that could not be written.
    """

    learning_rate: float
    schedule: Schedule
    seed: int
    plateau: Plateau | None = None
    objective: Objective = field(default_factory=Objective)
    clip: float = 1.0
    accumulate: int = 1
    report_every: int = 10
    validate_every: int = 500
    save_every: int = 500
    stop_on: str = "loss"
    patience: int = 0
    max_skipped_in_a_row: int = 5
    max_restores: int = 3
    max_save_failures: int = 3
