"""Where a run stands, and how it is to go on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dhyan.training.loss import Objective
from dhyan.training.schedule import Plateau, Schedule


class Halted(Exception):
    """There is no time for what is being done."""


@dataclass(frozen=True)
class Progress:
    """Where a run stands: all of it that is not weights.

    `waited` counts the validations since one was better than all before, `falls` how often a
    plateau lowered the rate. Only those on schedule count there, and `to_beat` is the best of them:
    the one at the end of a run that is made longer later changes nothing of what follows. Batches
    whose lengths are rounded to another `multiple` begin at other positions. `skipped` counts the
    steps that found nothing finite, `in_a_row` the last of them; `returns` how often the run went
    back to its last checkpoint, `split` the steps whose batches were too large for the memory. A
    validation that was broken off is `owed`.
    """

    step: int = 0
    position: int = 0
    best_step: int | None = None
    best_score: float | None = None
    waited: int = 0
    falls: int = 0
    to_beat: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    multiple: int = 1
    skipped: int = 0
    in_a_row: int = 0
    returns: int = 0
    split: int = 0
    owed: bool = False

    def counting(self, *, finite: bool, split: bool) -> "Progress":
        """The same, after one more step that was or was not such."""
        return replace(
            self,
            skipped=self.skipped + (not finite),
            in_a_row=0 if finite else self.in_a_row + 1,
            split=self.split + split,
        )

    def after(self, astray: "Progress") -> "Progress":
        """A checkpoint's progress, for a run that has gone astray since: it takes other batches."""
        return replace(
            self,
            position=astray.position,
            skipped=astray.skipped,
            split=astray.split,
            returns=astray.returns + 1,
            in_a_row=0,
        )


@dataclass(frozen=True, kw_only=True)
class Settings:
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
    most_skipped: int = 5
    most_returns: int = 3
    most_unsaved: int = 3
