"""The training state, a value the loop replaces at every step, and the settings of the loop."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dhyan.training.loss import Objective
from dhyan.training.schedule import Plateau, Schedule


@dataclass(frozen=True)
class TrainState:
    """Progress of a run: everything a checkpoint holds beside the weights and the optimizer state.

    `position` is where the next batch begins in the stream. `validations_since_best` counts
    validations without improvement, `rate_reductions` how often the plateau schedule reduced the
    learning rate. Both count only the validations of the schedule, of which `best_scheduled_score`
    is the best: the extra validation at the end of a run that is extended later changes nothing of
    what follows. Batch lengths are rounded to `length_multiple`; another one gives other positions.
    `skipped_steps` counts the steps without a finite loss and gradient, `skipped_in_a_row` the
    latest of them without a break; `restores` how often the run went back to its last checkpoint;
    `split_steps` the steps whose batches did not fit into memory. `validation_pending` says that a
    validation was interrupted.
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
        """The state with one more step counted as finite or skipped, and as split or not."""
        return replace(
            self,
            skipped_steps=self.skipped_steps + (not finite),
            skipped_in_a_row=0 if finite else self.skipped_in_a_row + 1,
            split_steps=self.split_steps + split,
        )

    def skip_ahead(self, diverged: "TrainState") -> "TrainState":
        """The state of a restored checkpoint, with the batches after those of a diverged run."""
        return replace(
            self,
            position=diverged.position,
            skipped_steps=diverged.skipped_steps,
            split_steps=diverged.split_steps,
            restores=diverged.restores + 1,
            skipped_in_a_row=0,
        )

    def with_best_of(self, other: "TrainState") -> "TrainState":
        """The state with another's best step: the checkpoint of its own could not be written."""
        return replace(self, best_step=other.best_step, best_score=other.best_score)


@dataclass(frozen=True, kw_only=True)
class TrainerSettings:
    """How often things happen, in steps, what an update computes, and the limits of recovery.

    `max_skipped_in_a_row` steps without a finite result restore the last checkpoint; from there the
    run takes other batches, and after `max_restores` of one checkpoint it stops. It also stops
    after `max_save_failures` checkpoints in a row that could not be written.
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

    def learning_rate_at(self, step: int, rate_reductions: int) -> float:
        """The learning rate of a step: the schedule's, after reductions on a plateau."""
        factor = self.plateau.factor_after(rate_reductions) if self.plateau else 1.0
        return self.learning_rate * self.schedule(step) * factor

    def validation_due(self, step: int) -> bool:
        """Whether the schedule has a validation after this step."""
        return step % self.validate_every == 0

    def save_due(self, step: int) -> bool:
        """Whether the schedule has a checkpoint after this step."""
        return step % self.save_every == 0

    def report_due(self, step: int) -> bool:
        """Whether the results of the last steps are reported after this one."""
        return step % self.report_every == 0
