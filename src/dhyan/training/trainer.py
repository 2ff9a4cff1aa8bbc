"""The training loop, as a stream of what happened."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

import torch
from torch import Tensor

from dhyan.checkpoint import Unwritten
from dhyan.errors import UserError
from dhyan.models.seq2seq import Seq2Seq
from dhyan.training.divergence import Taken, Told, all_finite, diverged, remembered, told
from dhyan.training.early_stopping import judged
from dhyan.training.ema import WeightAverage
from dhyan.training.events import (
    Event,
    Returned,
    Saved,
    Skipped,
    Split,
    Stepped,
    Stopped,
    Unsaved,
    Validated,
)
from dhyan.training.out_of_memory import fitted_step
from dhyan.training.prefetch import BatchStream, Direct, Fed, Feed
from dhyan.training.state import Halted, Progress, Settings
from dhyan.training.update import Learner, PlainUpdate, Update

__all__ = ["Progress", "Settings", "Trainer"]


@dataclass(kw_only=True)
class Trainer:
    """Updates a model batch by batch, validates it and saves it.

    With an `average` of the weights, that is what is validated and saved. Every random choice of
    a step follows from (seed, step), and every batch from the position, so a run that is stopped
    anywhere and goes on from its last checkpoint ends in the same weights. `updates` says how a
    step is taken, `feeds` how batches reach the device. What is not finite is neither learned from
    nor saved: `recall` brings the last checkpoint back where there is no other way on.
    """

    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    batches: BatchStream
    settings: Settings
    device: torch.device
    validate: Callable[[], Mapping[str, float]] | None
    save: Callable[["Trainer"], Path]
    recall: Callable[["Trainer"], None] | None = None
    average: WeightAverage | None = None
    updates: Callable[[Learner], Update] = PlainUpdate
    feeds: Callable[[BatchStream, torch.device], Feed] = Direct
    progress: Progress = field(default_factory=Progress)
    stopping: str = ""
    halted: bool = False
    validating: bool = False
    saved_at: int = 0
    unsaved: int = 0
    _update: tuple[Learner, Update] | None = field(default=None, init=False, repr=False)
    _skipped: tuple[Skipped, ...] = field(default=(), init=False, repr=False)

    def run(self, steps: int) -> Iterator[Event]:
        """Take up to `steps` more steps; a checkpoint stands at the end of them."""
        self.saved_at, last = self.progress.step, self.progress.step + steps
        self._lose_patience()
        if self.progress.owed:
            self.progress = replace(self.progress, owed=False)
            yield from self._rest(last)
        feed = self.feeds(self.batches, self.device)
        try:
            while self.progress.step < last and not self.stopping:
                yield from self._stretch(last, feed)
                yield from self._rest(last) if self._sound() else self._go_back()
        finally:
            feed.close()
        if self.progress.step != self.saved_at:  # asked to stop when there was no time to save
            yield self._saved(best=False, last=True)
        if self.stopping:
            yield Stopped(self.progress.step, self.stopping)

    def stop(self, reason: str) -> None:
        """End the run after the step in hand, with a checkpoint."""
        self.stopping = reason

    def halt(self, reason: str) -> None:
        """The same, and soon: a validation is broken off, to be made up for when the run goes on.

        To be called from a signal's handler, which may interrupt anything.
        """
        self.stop(reason)
        self.halted = True
        if self.validating:
            raise Halted

    def weights(self) -> Mapping[str, Tensor]:
        """What the run has found so far, by name: the weights, or their average."""
        return self.average.weights if self.average else dict(self.model.named_parameters())

    def _stretch(self, last: int, feed: Feed) -> Iterator[Event]:
        """Steps without a break, up to the next validation, save or end."""
        pauses = (self.settings.validate_every, self.settings.save_every)
        self.model.train()
        update = self._updating()
        taken, start = list[Taken](), perf_counter()
        while True:
            taken.append(self._step(update, feed))
            step = self.progress.step
            pause = step >= last or self.stopping or any(step % n == 0 for n in pauses)
            if pause or step % self.settings.report_every == 0:
                yield from self._report(told(taken), start)
                taken, start = [], perf_counter()
                pause = pause or self.progress.in_a_row >= self.settings.most_skipped
            if pause:
                return

    def _step(self, update: Update, feed: Feed) -> Taken:
        """One update."""
        step, position = self.progress.step + 1, self.progress.position
        parts, positions = list[Fed](), list[int]()
        for _ in range(self.settings.accumulate):
            positions.append(position)
            parts.append(feed.at(position))
            position = parts[-1].after
        tokens = sum(part.tokens for part in parts)
        batches = [part.batch for part in parts]
        found, count = fitted_step(update, batches, tokens=tokens, step=step, rate=self._rate(step))
        self.progress = replace(self.progress, step=step, position=position)
        return Taken(step, tuple(positions), found, tokens, count)

    def _report(self, steps: list[Told], start: float) -> Iterator[Event]:
        """What the steps since the last report have come to."""
        for one in steps:
            self.progress = self.progress.counting(finite=one.finite, split=one.split)
            if one.split:
                yield Split(one.step, one.parts)
            if not one.finite:
                self._skipped += (one.skipped(self.batches),)
                yield self._skipped[-1]
        good = [one for one in steps if one.finite]
        if good:
            step, tokens = self.progress.step, sum(one.tokens for one in good)
            loss, norm = sum(one.loss for one in good) / tokens, good[-1].norm
            epoch = self.batches.epoch(self.progress.position)
            seconds = perf_counter() - start
            yield Stepped(step, epoch, loss, self._rate(step), norm, tokens, seconds)

    def _sound(self) -> bool:
        """Whether the run may go on from here: every number that would be saved is one."""
        tensors = (*remembered(self.optimizer), *self.weights().values(), *self.model.parameters())
        return self.progress.in_a_row < self.settings.most_skipped and all_finite(tensors)

    def _go_back(self) -> Iterator[Event]:
        """Take up the last checkpoint again, but with the batches after those that led astray."""
        astray = self.progress
        if self.recall is None or astray.returns >= self.settings.most_returns:
            raise UserError(diverged(astray, self._skipped, checkpoint=self.saved_at))
        self.recall(self)
        self._update, self.saved_at = None, self.progress.step
        self.progress = self.progress.after(astray)
        yield Returned(astray.step, self.saved_at, astray.position)

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
        step, settings, before = self.progress.step, self.settings, self.progress
        ending, best, regular = step >= last, False, step % self.settings.validate_every == 0
        if self.validate and (ending or regular):
            scores = self._scores(self.validate)
            self.progress = replace(before, owed=scores is None)
            if scores is not None:
                self.progress, best = judged(self.progress, scores, settings, on_schedule=regular)
                yield Validated(step, scores, best)
                self._lose_patience()
        on_schedule = step % settings.save_every == 0 and not self.progress.in_a_row
        if best or ending or self.stopping or on_schedule:
            saved = self._saved(best=best)
            if isinstance(saved, Unsaved) and (ending or self.stopping):  # once more, the last time
                yield saved
                saved = self._saved(best=best, last=True)
            if isinstance(saved, Unsaved):
                best_step, score = before.best_step, before.best_score
                self.progress = replace(self.progress, best_step=best_step, best_score=score)
            yield saved

    def _scores(self, validate: Callable[[], Mapping[str, float]]) -> Mapping[str, float] | None:
        """What a validation finds; nothing if there is no time for it."""
        if self.halted:
            return None
        self.model.eval()
        try:
            with self._averaged():
                try:
                    self.validating = True
                    return validate()
                finally:
                    self.validating = False
        except Halted:
            return None

    def _lose_patience(self) -> None:
        """Stop if too many validations in a row have brought nothing better."""
        settings, progress = self.settings, self.progress
        if settings.patience and progress.waited >= settings.patience:
            self.stop(
                f"{settings.stop_on} got no better in {progress.waited} validations in a row; "
                f"the best was at step {progress.best_step}"
            )

    def _saved(self, *, best: bool, last: bool = False) -> Saved | Unsaved:
        """Save; where that fails, go on, unless it is the last chance or has failed too often."""
        before, step = self.progress, self.progress.step
        self.progress = replace(before, returns=before.returns if before.in_a_row else 0)
        try:
            folder = self.save(self)
        except Unwritten as fault:
            self.progress = before
            self.unsaved += 1
            if last or self.unsaved >= self.settings.most_unsaved:
                raise
            return Unsaved(step, str(fault))
        self.saved_at, self.unsaved, self._skipped = step, 0, ()
        return Saved(step, folder, best)

    def _rate(self, step: int) -> float:
        plateau = self.settings.plateau
        left = plateau.after(self.progress.falls) if plateau else 1.0
        return self.settings.learning_rate * self.settings.schedule(step) * left

    def _averaged(self) -> AbstractContextManager[None]:
        return self.average.lent(self.model) if self.average else nullcontext()
