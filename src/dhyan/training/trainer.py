"""The training loop: fetch, step, report, validate, save, recover; every event is yielded."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

import torch
from torch import Tensor

from dhyan.checkpoint import CheckpointWriteError
from dhyan.models.seq2seq import Seq2Seq
from dhyan.training.data_parallel import DataParallel, local
from dhyan.training.divergence import all_finite, divergence_error, optimizer_tensors
from dhyan.training.early_stopping import out_of_patience, record_validation
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
from dhyan.training.prefetch import DirectLoader, StepLoader
from dhyan.training.state import TrainerSettings, TrainState
from dhyan.training.steps import BatchStream, Steps
from dhyan.training.update import (
    EagerUpdate,
    PendingStep,
    StepResult,
    Update,
    UpdateContext,
    read_results,
)

__all__ = ["TrainState", "TrainerSettings", "Trainer"]


class ValidationInterrupted(Exception):
    """A validation was broken off because the process is to end soon."""


@dataclass(kw_only=True)
class Trainer:
    """Trains a model batch by batch, validates it and saves checkpoints.

    Every random choice of a step follows from (seed, step), and every batch from its position in
    the stream, so a run that stops anywhere and resumes from its last checkpoint ends in the same
    weights. With an `ema`, the moving average is what is validated and saved. A step without a
    finite loss and gradient changes nothing; `restore` loads the last checkpoint if such steps do
    not end, or if a weight is not finite. `make_update` decides how a step is computed (eager or
    CUDA graphs), `make_loader` how batches reach the device. Processes of one `parallel` share the
    batches of each step, and decide alike: all have the same loss and gradient.
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
    make_update: Callable[[UpdateContext], Update] = EagerUpdate
    make_loader: Callable[[Steps, torch.device], StepLoader] = DirectLoader
    parallel: DataParallel = field(default_factory=DataParallel)
    state: TrainState = field(default_factory=TrainState)
    stop_reason: str = field(default="", init=False)
    _stop_request: str = field(default="", init=False, repr=False)
    saved_step: int = field(default=0, init=False)
    _interrupted: bool = field(default=False, init=False, repr=False)
    _validating: bool = field(default=False, init=False, repr=False)
    _save_failures: int = field(default=0, init=False, repr=False)
    _skipped: tuple[Skipped, ...] = field(default=(), init=False, repr=False)
    _update: tuple[UpdateContext, Update] | None = field(default=None, init=False, repr=False)

    def run(self, steps: int) -> Iterator[Event]:
        """Take up to `steps` more steps, yield every event, and end with a checkpoint.

        Losses and gradient norms stay on the device until they are reported, so the loop itself
        does not wait for the device between reports; nor does an update by CUDA graphs, while an
        eager one waits in every step. Steps are taken until a check is due: at a validation or a
        checkpoint of the schedule, at the end, or when too many in a row were skipped.
        """
        until, self.saved_step = self.state.step + steps, self.state.step
        self._agree_to_stop()
        self.stop_reason = self.stop_reason or out_of_patience(self.state, self.settings)
        check_due = self.state.validation_pending  # one was interrupted: it is repeated first
        self.state = replace(self.state, validation_pending=False)
        batches = Steps(self.batches, self.settings.gradient_accumulation, self.parallel)
        with closing(self.make_loader(batches, self.device)) as loader:
            while check_due or (self.state.step < until and not self.stop_reason):
                self.model.train()
                update, pending, start = self.current_update(), list[PendingStep](), perf_counter()
                while not check_due:
                    pending.append(self._step(update, loader))
                    check_due = self._check_due(until)
                    if check_due or self.settings.report_due(self.state.step):
                        results = read_results(pending, self.parallel)
                        check_due = self._agree_to_stop() or check_due
                        self._count(results)
                        yield from self._report(results, start)
                        pending, start = [], perf_counter()
                        check_due = check_due or self._skips_too_many()
                check_due = False

                # Recover from divergence before anything is validated or saved.
                if self._skips_too_many() or not self._is_finite():
                    yield self._restore_checkpoint()
                    continue

                # Validate; the best weights so far are saved, and patience may end the run.
                before, ending, scores = self.state, self.state.step >= until, None
                if self.validate and (ending or self.settings.validation_due(self.state.step)):
                    scores = self._scores(self.validate)
                    self.state = replace(before, validation_pending=scores is None)
                if scores is not None:
                    self.state = record_validation(self.state, scores, self.settings)
                    yield Validated(self.state.step, scores, self._is_best(before))
                    self.stop_reason = self.stop_reason or out_of_patience(
                        self.state, self.settings
                    )

                ending = ending or bool(self.stop_reason)
                if ending or self._is_best(before) or self._save_due():
                    yield from self._save(before, final=ending)
        if self.state.step != self.saved_step:  # stopped after it was decided not to save
            yield self._try_save(best=False, final=True)
        if self.stop_reason:
            yield Stopped(self.state.step, self.stop_reason)

    def stop(self, reason: str) -> None:
        """End the run after this step, of several processes after a report, with a checkpoint."""
        self._stop_request = reason
        if self.parallel.count == 1:
            self.stop_reason = reason

    def interrupt(self, reason: str) -> None:
        """Stop soon: a validation is broken off, and repeated when the run resumes.

        Called from a signal handler, which may interrupt anything. Several processes end a
        validation together, so they do not break it off.
        """
        self.stop(reason)
        if self.parallel.count > 1:
            return
        self._interrupted = True
        if self._validating:
            raise ValidationInterrupted

    def weights(self) -> Mapping[str, Tensor]:
        """The weights that are validated and saved, by name: the model's, or their average."""
        return self.ema.weights if self.ema else dict(self.model.named_parameters())

    def current_update(self) -> Update:
        """The update of the current model, optimizer and settings; a new one if any was replaced."""
        context = UpdateContext(
            model=self.model,
            optimizer=self.optimizer,
            objective=self.settings.objective,
            ema=self.ema,
            device=self.device,
            clip_norm=self.settings.clip_norm,
            seed=self.settings.seed,
            parallel=self.parallel,
            exact_batches=self.settings.gradient_accumulation if self.settings.exact else 0,
        )
        if self._update is None or not context.same_objects(self._update[0]):
            self._update = (context, self.make_update(context))
        return self._update[1]

    def _step(self, update: Update, loader: StepLoader) -> PendingStep:
        """Fetch the batches of one step and update the weights."""
        step, loaded = self.state.step + 1, loader.at(self.state.position)
        rate = self.settings.learning_rate_at(step, self.state.rate_reductions)
        result, parts = step_with_splitting(
            update, loaded.micro_batches, tokens=loaded.tokens, step=step, rate=rate
        )
        self.state = replace(self.state, step=step, position=loaded.next_position)
        split = parts > len(loaded.micro_batches)
        return PendingStep(step, loaded.positions, result, loaded.tokens, parts, split)

    def _agree_to_stop(self) -> bool:
        """Whether several processes end the run now, since one of them was told to."""
        if self.parallel.count == 1:
            return False
        reasons = self.parallel.gather(self._stop_request)
        self.stop_reason = self.stop_reason or next(filter(None, reasons), "")
        return bool(self.stop_reason)

    def _check_due(self, until: int) -> bool:
        step, settings = self.state.step, self.settings
        scheduled = settings.validation_due(step) or settings.save_due(step)
        return step >= until or bool(self.stop_reason) or scheduled

    def _count(self, results: list[StepResult]) -> None:
        """Count the skipped and the split steps in the training state."""
        for result in results:
            self.state = self.state.counting(finite=result.finite, split=result.split)

    def _report(self, results: list[StepResult], start: float) -> Iterator[Event]:
        """The events of the steps since the last report: splits, skips, and their mean loss."""
        for result in results:
            if result.split:
                yield BatchSplit(result.step, result.parts)
            if not result.finite:
                self._skipped += (result.skipped_event(self.batches),)
                yield self._skipped[-1]
        finite = [result for result in results if result.finite]
        if finite:
            step, tokens = self.state.step, sum(result.tokens for result in finite)
            yield Stepped(
                step=step,
                epoch=self.batches.epoch(self.state.position),
                loss=sum(result.loss for result in finite) / tokens,
                learning_rate=self.settings.learning_rate_at(step, self.state.rate_reductions),
                gradient_norm=finite[-1].norm,
                tokens=tokens,
                seconds=perf_counter() - start,
            )

    def _skips_too_many(self) -> bool:
        return self.state.skipped_in_a_row >= self.settings.max_skipped_in_a_row

    def _is_finite(self) -> bool:
        """Whether every number that a checkpoint would hold is finite."""
        state = optimizer_tensors(self.optimizer)
        tensors = (*state, *self.weights().values(), *self.model.parameters())
        return all(self.parallel.gather(all_finite(map(local, tensors))))

    def _restore_checkpoint(self) -> Restored:
        """Load the last checkpoint, and continue with the batches after those of the diverged run."""
        diverged = self.state
        if self.restore is None or diverged.restores >= self.settings.max_restores:
            raise divergence_error(diverged, self._skipped, checkpoint_step=self.saved_step)
        self.restore(self)
        self._update, self.saved_step = None, self.state.step
        self.state = self.state.skip_ahead(diverged)
        return Restored(diverged.step, self.saved_step, diverged.position)

    def _scores(self, validate: Callable[[], Mapping[str, float]]) -> Mapping[str, float] | None:
        """The scores of a validation; None if it is interrupted."""
        if self._interrupted:
            return None
        self.model.eval()
        try:
            with self.ema.swapped_into(self.model) if self.ema else nullcontext():
                try:
                    self._validating = True
                    return validate()
                finally:
                    self._validating = False
        except ValidationInterrupted:
            return None

    def _is_best(self, before: TrainState) -> bool:
        """Whether the validation since `before` was the best so far."""
        return self.state.best_step != before.best_step

    def _save_due(self) -> bool:
        return self.settings.save_due(self.state.step) and not self.state.skipped_in_a_row

    def _save(self, before: TrainState, *, final: bool) -> Iterator[Saved | SaveFailed]:
        """Save a checkpoint, at the end of a run with a second attempt; training goes on without."""
        best = self._is_best(before)
        event = self._try_save(best=best)
        if isinstance(event, SaveFailed) and final:
            yield event
            event = self._try_save(best=best, final=True)
        if isinstance(event, SaveFailed):
            self.state = self.state.with_best_of(before)
        yield event

    def _try_save(self, *, best: bool, final: bool = False) -> Saved | SaveFailed:
        """Save once; the error is raised if this is `final`, or if too many saves have failed."""
        before, step = self.state, self.state.step
        # `max_restores` counts for one checkpoint, so a new one begins at 0; not one written while
        # steps are being skipped, from which a restored run may diverge again.
        self.state = replace(before, restores=before.restores if before.skipped_in_a_row else 0)
        try:
            folder = self.save(self)
        except CheckpointWriteError as error:
            self.state = before
            self._save_failures += 1
            if final or self._save_failures >= self.settings.max_save_failures:
                raise
            return SaveFailed(step, str(error))
        self.saved_step, self._save_failures, self._skipped = step, 0, ()
        return Saved(step, folder, best)
