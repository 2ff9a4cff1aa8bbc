"""The training loop, as a stream of what happened."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

import torch
from torch import Tensor

from dhyan.checkpoint import CheckpointWriteError
from dhyan.errors import UserError
from dhyan.models.seq2seq import Seq2Seq
from dhyan.training.divergence import (
    PendingStep,
    StepResult,
    all_finite,
    divergence_message,
    optimizer_tensors,
    read_results,
)
from dhyan.training.early_stopping import record_validation
from dhyan.training.ema import WeightEMA
from dhyan.training.events import (
    BatchSplit,
    Event,
    Restored,
    Saved,
    SaveFailed,
    Skipped,
    Stepped,
    Stopped,
    Validated,
)
from dhyan.training.out_of_memory import step_with_splitting
from dhyan.training.prefetch import BatchLoader, BatchStream, DirectLoader, LoadedBatch
from dhyan.training.state import TrainerSettings, TrainState, ValidationInterrupted
from dhyan.training.update import EagerUpdate, Update, UpdateParts

__all__ = ["TrainState", "TrainerSettings", "Trainer"]


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
    settings: TrainerSettings
    device: torch.device
    validate: Callable[[], Mapping[str, float]] | None
    save: Callable[["Trainer"], Path]
    restore: Callable[["Trainer"], None] | None = None
    ema: WeightEMA | None = None
    make_update: Callable[[UpdateParts], Update] = EagerUpdate
    make_loader: Callable[[BatchStream, torch.device], BatchLoader] = DirectLoader
    state: TrainState = field(default_factory=TrainState)
    stop_reason: str = ""
    interrupted: bool = False
    validating: bool = False
    saved_step: int = 0
    unsaved: int = 0
    _update: tuple[UpdateParts, Update] | None = field(default=None, init=False, repr=False)
    _skipped: tuple[Skipped, ...] = field(default=(), init=False, repr=False)

    def run(self, steps: int) -> Iterator[Event]:
        """Take up to `steps` more steps; a checkpoint stands at the end of them."""
        self.saved_step, last = self.state.step, self.state.step + steps
        self._lose_patience()
        if self.state.validation_pending:
            self.state = replace(self.state, validation_pending=False)
            yield from self._rest(last)
        feed = self.make_loader(self.batches, self.device)
        try:
            while self.state.step < last and not self.stop_reason:
                yield from self._stretch(last, feed)
                yield from self._rest(last) if self._sound() else self._go_back()
        finally:
            feed.close()
        if self.state.step != self.saved_step:  # asked to stop when there was no time to save
            yield self._saved(best=False, last=True)
        if self.stop_reason:
            yield Stopped(self.state.step, self.stop_reason)

    def stop(self, reason: str) -> None:
        """End the run after the step in hand, with a checkpoint."""
        self.stop_reason = reason

    def interrupt(self, reason: str) -> None:
        """The same, and soon: a validation is broken off, to be made up for when the run goes on.

        To be called from a signal's handler, which may interrupt anything.
        """
        self.stop(reason)
        self.interrupted = True
        if self.validating:
            raise ValidationInterrupted

    def weights(self) -> Mapping[str, Tensor]:
        """What the run has found so far, by name: the weights, or their average."""
        return self.ema.weights if self.ema else dict(self.model.named_parameters())

    def _stretch(self, last: int, feed: BatchLoader) -> Iterator[Event]:
        """Steps without a break, up to the next validation, save or end."""
        pauses = (self.settings.validate_every, self.settings.save_every)
        self.model.train()
        update = self.current_update()
        taken, start = list[PendingStep](), perf_counter()
        while True:
            taken.append(self._step(update, feed))
            step = self.state.step
            pause = step >= last or self.stop_reason or any(step % n == 0 for n in pauses)
            if pause or step % self.settings.report_every == 0:
                yield from self._report(read_results(taken), start)
                taken, start = [], perf_counter()
                pause = pause or self.state.skipped_in_a_row >= self.settings.max_skipped_in_a_row
            if pause:
                return

    def _step(self, update: Update, feed: BatchLoader) -> PendingStep:
        """One update."""
        step, position = self.state.step + 1, self.state.position
        parts, positions = list[LoadedBatch](), list[int]()
        for _ in range(self.settings.accumulate):
            positions.append(position)
            parts.append(feed.at(position))
            position = parts[-1].next_position
        tokens = sum(part.tokens for part in parts)
        batches = [part.batch for part in parts]
        found, count = step_with_splitting(
            update, batches, tokens=tokens, step=step, rate=self._rate(step)
        )
        self.state = replace(self.state, step=step, position=position)
        return PendingStep(step, tuple(positions), found, tokens, count)

    def _report(self, steps: list[StepResult], start: float) -> Iterator[Event]:
        """What the steps since the last report have come to."""
        for one in steps:
            self.state = self.state.counting(finite=one.finite, split=one.split)
            if one.split:
                yield BatchSplit(one.step, one.parts)
            if not one.finite:
                self._skipped += (one.skipped(self.batches),)
                yield self._skipped[-1]
        good = [one for one in steps if one.finite]
        if good:
            step, tokens = self.state.step, sum(one.tokens for one in good)
            loss, norm = sum(one.loss for one in good) / tokens, good[-1].norm
            epoch = self.batches.epoch(self.state.position)
            seconds = perf_counter() - start
            yield Stepped(step, epoch, loss, self._rate(step), norm, tokens, seconds)

    def _sound(self) -> bool:
        """Whether the run may go on from here: every number that would be saved is one."""
        tensors = (
            *optimizer_tensors(self.optimizer),
            *self.weights().values(),
            *self.model.parameters(),
        )
        return self.state.skipped_in_a_row < self.settings.max_skipped_in_a_row and all_finite(
            tensors
        )

    def _go_back(self) -> Iterator[Event]:
        """Take up the last checkpoint again, but with the batches after those that led astray."""
        astray = self.state
        if self.restore is None or astray.restores >= self.settings.max_restores:
            raise UserError(divergence_message(astray, self._skipped, checkpoint=self.saved_step))
        self.restore(self)
        self._update, self.saved_step = None, self.state.step
        self.state = self.state.after(astray)
        yield Restored(astray.step, self.saved_step, astray.position)

    def current_update(self) -> Update:
        """The way steps are taken; made anew only if something of it has been replaced."""
        parts = UpdateParts(
            model=self.model,
            optimizer=self.optimizer,
            objective=self.settings.objective,
            ema=self.ema,
            device=self.device,
            clip=self.settings.clip,
            seed=self.settings.seed,
        )
        if self._update is None or not parts.same_objects(self._update[0]):
            self._update = (parts, self.make_update(parts))
        return self._update[1]

    def _rest(self, last: int) -> Iterator[Event]:
        """Between stretches: validate and save when it is time."""
        step, settings, before = self.state.step, self.settings, self.state
        ending, best, regular = step >= last, False, step % self.settings.validate_every == 0
        if self.validate and (ending or regular):
            scores = self._scores(self.validate)
            self.state = replace(before, validation_pending=scores is None)
            if scores is not None:
                self.state, best = record_validation(
                    self.state, scores, settings, on_schedule=regular
                )
                yield Validated(step, scores, best)
                self._lose_patience()
        on_schedule = step % settings.save_every == 0 and not self.state.skipped_in_a_row
        if best or ending or self.stop_reason or on_schedule:
            saved = self._saved(best=best)
            if isinstance(saved, SaveFailed) and (
                ending or self.stop_reason
            ):  # once more, the last time
                yield saved
                saved = self._saved(best=best, last=True)
            if isinstance(saved, SaveFailed):
                best_step, score = before.best_step, before.best_score
                self.state = replace(self.state, best_step=best_step, best_score=score)
            yield saved

    def _scores(self, validate: Callable[[], Mapping[str, float]]) -> Mapping[str, float] | None:
        """What a validation finds; nothing if there is no time for it."""
        if self.interrupted:
            return None
        self.model.eval()
        try:
            with self._averaged():
                try:
                    self.validating = True
                    return validate()
                finally:
                    self.validating = False
        except ValidationInterrupted:
            return None

    def _lose_patience(self) -> None:
        """Stop if too many validations in a row have brought nothing better."""
        settings, state = self.settings, self.state
        if settings.patience and state.validations_since_best >= settings.patience:
            self.stop(
                f"{settings.stop_on} did not improve in {state.validations_since_best} validations; "
                f"the best was at step {state.best_step}"
            )

    def _saved(self, *, best: bool, last: bool = False) -> Saved | SaveFailed:
        """Save; where that fails, go on, unless it is the last chance or has failed too often."""
        before, step = self.state, self.state.step
        self.state = replace(before, restores=before.restores if before.skipped_in_a_row else 0)
        try:
            folder = self.save(self)
        except CheckpointWriteError as fault:
            self.state = before
            self.unsaved += 1
            if last or self.unsaved >= self.settings.max_save_failures:
                raise
            return SaveFailed(step, str(fault))
        self.saved_step, self.unsaved, self._skipped = step, 0, ()
        return Saved(step, folder, best)

    def _rate(self, step: int) -> float:
        plateau = self.settings.plateau
        left = plateau.factor_after(self.state.rate_reductions) if plateau else 1.0
        return self.settings.learning_rate * self.settings.schedule(step) * left

    def _averaged(self) -> AbstractContextManager[None]:
        return self.ema.swapped_into(self.model) if self.ema else nullcontext()
