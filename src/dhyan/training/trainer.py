"""The training loop, as a stream of what happened."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from time import perf_counter

import torch
from torch import Tensor

from dhyan.faults import Fault
from dhyan.models.seq2seq import Seq2Seq
from dhyan.training.ema import WeightAverage
from dhyan.training.events import Event, Saved, Stepped, Stopped, Validated
from dhyan.training.feed import BatchStream, Direct, Fed, Feed
from dhyan.training.loss import Objective
from dhyan.training.schedule import Plateau, Schedule
from dhyan.training.update import Found, Learner, PlainUpdate, Update

LOWER_IS_BETTER = {"loss"}


@dataclass(frozen=True)
class Progress:
    """Where a run stands: all of it that is not weights.

    `waited` counts the validations since one was better than all before, `falls` how often a
    plateau lowered the rate. Only those on schedule count there, and `to_beat` is the best of them:
    the one at the end of a run that is made longer later changes nothing of what follows. Batches
    whose lengths are rounded to another `multiple` begin at other positions.
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


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How often things happen, in steps, and what an update is."""

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


@dataclass(kw_only=True)
class Trainer:
    """Updates a model batch by batch, validates it and saves it.

    With an `average` of the weights, that is what is validated and saved. Every random choice of
    a step follows from (seed, step), and every batch from the position, so a run that is stopped
    anywhere and goes on from its last checkpoint ends in the same weights. `updates` says how a
    step is taken, `feeds` how batches reach the device.
    """

    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    batches: BatchStream
    settings: Settings
    device: torch.device
    validate: Callable[[], Mapping[str, float]] | None
    save: Callable[["Trainer"], Path]
    average: WeightAverage | None = None
    updates: Callable[[Learner], Update] = PlainUpdate
    feeds: Callable[[BatchStream, torch.device], Feed] = Direct
    progress: Progress = field(default_factory=Progress)
    stopping: str = ""
    saved_at: int = 0
    _update: tuple[Learner, Update] | None = field(default=None, init=False, repr=False)

    def run(self, steps: int) -> Iterator[Event]:
        """Take up to `steps` more steps; a checkpoint stands at the end of them."""
        self.saved_at, last = self.progress.step, self.progress.step + steps
        self._lose_patience()
        feed = self.feeds(self.batches, self.device)
        try:
            while self.progress.step < last and not self.stopping:
                yield from self._stretch(last, feed)
                yield from self._rest(last)
        finally:
            feed.close()
        if self.progress.step != self.saved_at:  # asked to stop when there was no time to save
            yield self._saved(best=False)
        if self.stopping:
            yield Stopped(self.progress.step, self.stopping)

    def stop(self, reason: str) -> None:
        """End the run after the step in hand, with a checkpoint."""
        self.stopping = reason

    def weights(self) -> Mapping[str, Tensor]:
        """What the run has found so far, by name: the weights, or their average."""
        return self.average.weights if self.average else dict(self.model.named_parameters())

    def _stretch(self, last: int, feed: Feed) -> Iterator[Stepped]:
        """Steps without a break, up to the next validation, save or end."""
        pauses = (self.settings.validate_every, self.settings.save_every)
        self.model.train()
        update = self._updating()
        losses, tokens, start = [], 0, perf_counter()
        while True:
            (loss, norm), count = self._step(update, feed)
            losses.append(loss)
            tokens += count
            step = self.progress.step
            pause = step >= last or self.stopping or any(step % n == 0 for n in pauses)
            if pause or step % self.settings.report_every == 0:
                mean = float(torch.stack(losses).sum()) / tokens
                if not isfinite(mean + float(norm)):
                    raise Fault(
                        f"training diverged before step {step}: the loss is {mean}, the gradient "
                        f"{float(norm)}; lower training.learning_rate and begin in another --out"
                    )
                epoch = self.batches.epoch(self.progress.position)
                rate, seconds = self._rate(step), perf_counter() - start
                yield Stepped(step, epoch, mean, rate, float(norm), tokens, seconds)
                losses, tokens, start = [], 0, perf_counter()
            if pause:
                return

    def _step(self, update: Update, feed: Feed) -> tuple[Found, int]:
        """One update: what it found, still on the device, and how many words it learned from."""
        step, position = self.progress.step + 1, self.progress.position
        parts: list[Fed] = []
        for _ in range(self.settings.accumulate):
            parts.append(feed.at(position))
            position = parts[-1].after
        tokens = sum(part.tokens for part in parts)
        batches = [part.batch for part in parts]
        found = update(batches, tokens=tokens, step=step, rate=self._rate(step))
        self.progress = replace(self.progress, step=step, position=position)
        return found, tokens

    def _updating(self) -> Update:
        """The way steps are taken; made anew only if something of it has been replaced."""
        learner = Learner(
            model=self.model,
            optimizer=self.optimizer,
            objective=self.settings.objective,
            average=self.average,
            device=self.device,
            clip=self.settings.clip,
            seed=self.settings.seed,
        )
        if self._update is None or not learner.like(self._update[0]):
            self._update = (learner, self.updates(learner))
        return self._update[1]

    def _rest(self, last: int) -> Iterator[Event]:
        """Between stretches: validate and save when it is time."""
        step, settings = self.progress.step, self.settings
        ending, best = step >= last, False
        if self.validate and (ending or step % settings.validate_every == 0):
            self.model.eval()
            with self._averaged():
                scores = self.validate()
            best = self._judge(scores, on_schedule=step % settings.validate_every == 0)
            yield Validated(step, scores, best)
            self._lose_patience()
        if best or ending or self.stopping or step % settings.save_every == 0:
            yield self._saved(best=best)

    def _lose_patience(self) -> None:
        """Stop if too many validations in a row have brought nothing better."""
        settings, progress = self.settings, self.progress
        if settings.patience and progress.waited >= settings.patience:
            self.stop(
                f"{settings.stop_on} got no better in {progress.waited} validations in a row; "
                f"the best was at step {progress.best_step}"
            )

    def _judge(self, scores: Mapping[str, float], *, on_schedule: bool) -> bool:
        """Note the scores of a validation; True if they are the best so far."""
        noted, now = replace(self.progress, scores=scores), scores[self.settings.stop_on]
        best = self._better(now, noted.best_score)
        if best:
            noted = replace(noted, best_step=noted.step, best_score=now)
        if on_schedule and self._better(now, noted.to_beat):
            noted = replace(noted, to_beat=now, waited=0)
        elif on_schedule:
            waited, plateau = noted.waited + 1, self.settings.plateau
            falls = noted.falls + bool(plateau and plateau.falls(waited))
            noted = replace(noted, waited=waited, falls=falls)
        self.progress = noted
        return best

    def _better(self, now: float, before: float | None) -> bool:
        sign = 1 if self.settings.stop_on in LOWER_IS_BETTER else -1
        return isfinite(now) and (before is None or sign * now < sign * before)

    def _saved(self, *, best: bool) -> Saved:
        self.saved_at = self.progress.step
        return Saved(self.progress.step, self.save(self), best)

    def _rate(self, step: int) -> float:
        plateau = self.settings.plateau
        left = plateau.after(self.progress.falls) if plateau else 1.0
        return self.settings.learning_rate * self.settings.schedule(step) * left

    def _averaged(self) -> AbstractContextManager[None]:
        return self.average.lent(self.model) if self.average else nullcontext()
