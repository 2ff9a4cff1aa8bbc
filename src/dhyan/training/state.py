"""Training state (step, position in the data, best score) and the trainer's settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dhyan.evaluation.metric import find_metric, metric_names
from dhyan.training.loss import Objective
from dhyan.training.schedule import Plateau, Schedule

LOSS = "loss"


def lower_is_better(metric: str) -> bool:
    """The direction of what may choose the best checkpoint: the loss, or a registered metric."""
    return metric == LOSS or find_metric(metric).lower_is_better


@dataclass(frozen=True)
class TrainState:
    """Progress of a run: everything a checkpoint holds beside the weights and the optimizer state.

    Patience and the plateau schedule count only the validations of the schedule: the extra
    validation at the end of a run that is extended later changes nothing of what follows.
    """

    step: int = 0
    position: int = 0  # where the next batch begins in the stream
    length_multiple: int = 1  # batch lengths are rounded up to it; another gives other positions

    scores: Mapping[str, float] = field(default_factory=dict)  # of the last validation
    best_step: int | None = None
    best_score: float | None = None
    best_scheduled_score: float | None = None  # the best of the schedule's validations
    validations_since_best: int = 0  # validations of the schedule without improvement
    rate_reductions: int = 0  # how often the plateau schedule reduced the learning rate
    validation_pending: bool = False  # a validation was interrupted and is to be repeated

    skipped_steps: int = 0  # steps without a finite loss and gradient
    skipped_in_a_row: int = 0  # the latest of them, without a break
    restores: int = 0  # how often the run went back to its last checkpoint
    split_steps: int = 0  # steps whose batches did not fit into memory

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
    after `max_save_failures` checkpoints in a row that could not be written. With `exact` gradients
    are summed in an order that the number of processes does not change.
    `early_stopping_metric` chooses the best checkpoint; patience and the plateau schedule follow it.
    """

    learning_rate: float
    schedule: Schedule
    seed: int
    plateau: Plateau | None = None
    objective: Objective = field(default_factory=Objective)
    clip_norm: float = 1.0
    gradient_accumulation: int = 1
    exact: bool = False
    report_every: int = 10
    validate_every: int = 500
    save_every: int = 500
    early_stopping_metric: str = "loss"
    patience: int = 0
    max_skipped_in_a_row: int = 5
    max_restores: int = 3
    max_save_failures: int = 3

    def __post_init__(self) -> None:
        """Refuse a metric whose direction is unknown: it might be maximised where less is better."""
        if self.early_stopping_metric not in (LOSS, *metric_names()):
            names = ", ".join((LOSS, *metric_names()))
            raise ValueError(
                f"early_stopping_metric is {self.early_stopping_metric!r}: give one of {names}"
            )

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
