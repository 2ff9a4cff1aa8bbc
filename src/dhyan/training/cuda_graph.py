"""Training steps captured as CUDA graphs and replayed."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import cast
from warnings import catch_warnings, simplefilter

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dhyan.batch import Batch
from dhyan.kernels.cuda_graph import capture, run_on_stream
from dhyan.training.scheduled_sampling import constant_ratio, is_teacher_forcing
from dhyan.training.steps import MicroBatch
from dhyan.training.update import (
    LossAndNorm,
    UpdateContext,
    by_number,
    empty_cache,
    is_finite,
    step_if,
)

logger = logging.getLogger(__name__)

MAX_GRAPHS = 256  # batches of further shapes run eagerly

ShapeKey = tuple[torch.Size, torch.Size, bool]
Pass = Callable[[Batch], None]
Work = Callable[[], None]


class GraphRecorder:
    """Captures CUDA graphs that share one memory pool, since no two of them ever run at once."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device)
        self.pool = torch.cuda.graph_pool_handle()

    @contextmanager
    def side_stream(self) -> Iterator[None]:
        """Inside the block kernels run on the stream that is captured later."""
        with run_on_stream(self.stream, self.device):
            yield

    def capture(self, work: Work) -> Work:
        """Capture the kernels of some work as a graph; returns the function that replays it.

        A capture that fails leaves its memory and its stream in use, and the random number
        generator waiting for its end: a second, empty capture resets them.
        """
        current = torch.cuda.current_stream(self.device)
        try:
            return self._capture(work).replay
        except Exception:
            torch.cuda.set_stream(current)
            self.pool = torch.cuda.graph_pool_handle()
            self._capture(lambda: None)
            raise

    def _capture(self, work: Work) -> torch.cuda.CUDAGraph:
        return capture(work, pool=self.pool, stream=self.stream, error_mode="thread_local")


@dataclass(frozen=True)
class Replay:
    """Replays forward and backward for batches of one shape, copied to where the graph reads."""

    graph: Work
    buffers: Batch

    def __call__(self, batch: Batch) -> None:
        """Add a batch's loss and gradients to those of the step."""
        self.buffers.copy_(batch)
        self.graph()


class CudaGraphUpdate:
    """An update that replays CUDA graphs, so that launching kernels costs no time.

    One graph for every shape of batch adds to the loss and the gradients; another clips them, takes
    the optimizer's step, updates the moving average and clears the sums. Before a shape is
    captured it runs once on a side stream without changing a weight, and then its first step too is
    a replay: so a resumed run, which captures anew, repeats every bit. What differs from step to
    step (learning rate, number of tokens, teacher forcing) is on the device, where graphs read it.
    Whether loss and gradient are finite is decided there too, so that nothing waits for the device.
    A model that cannot be captured runs eagerly, with a warning, and so does a step whose batches
    were split for lack of memory.
    """

    def __init__(self, context: UpdateContext) -> None:
        self.context = context
        self.recorder = GraphRecorder(context.device)
        self.passes: dict[ShapeKey, Pass] = {}
        self.optimizer_step: Work | None = None
        self.capturable, self.out_of_memory = True, False
        self.tokens, self.rate, self.forcing_ratio, self.ema_share = (
            torch.zeros((), device=context.device) for _ in range(4)
        )
        self.loss_and_norm = torch.zeros(2, device=context.device)
        self.weights = [weight for weight in context.model.parameters() if weight.requires_grad]
        self.gradients = context.gradient_sum()
        self.gradients.clear()
        self.loss = self.gradients.loss

    @property
    def exchanged(self) -> bool:
        """Whether other processes have had this one's part of the step."""
        return self.gradients.exchanged

    def __call__(
        self, micro_batches: Sequence[MicroBatch], *, tokens: int, step: int, rate: float
    ) -> LossAndNorm:
        """Replay forward and backward for each batch, then the optimizer's step."""
        context, ratio = self.context, self.context.objective.teacher_forcing_schedule(step)
        self.tokens.fill_(tokens)
        self.rate.fill_(rate)
        self.forcing_ratio.fill_(ratio)
        if context.ema:
            self.ema_share.fill_(1 - context.ema.decay_at(step))
        forced = is_teacher_forcing(ratio)
        passes = {
            part.path: self._pass_for(part.batch, teacher_forcing=forced) for part in micro_batches
        }
        if not self.out_of_memory:
            self._captured_optimizer_step()
        self.gradients.restart()
        for batches in by_number(micro_batches):
            for part in batches:
                context.seed_batch(step, part.path)
                passes[part.path](part.batch)
            self.gradients.end_micro_batch()
        self.gradients.end_step()
        self._captured_optimizer_step()()
        self.out_of_memory = False
        return cast(LossAndNorm, self.loss_and_norm.clone().unbind())

    def release_memory(self) -> None:
        """Clear the gradients, and run the next step eagerly: captured graphs keep their memory."""
        self._clear()
        self.out_of_memory = True
        empty_cache(self.context.device)

    def _captured_optimizer_step(self) -> Work:
        """The graph of the optimizer's step, captured if it has not been yet."""
        if not self.optimizer_step:
            prepare_optimizer(self.context.optimizer, self.rate)
            self.optimizer_step = self.recorder.capture(self._take_optimizer_step)
        return self.optimizer_step

    def _pass_for(self, batch: Batch, *, teacher_forcing: bool) -> Pass:
        """Forward and backward for batches of this shape, captured if they have not been yet."""
        if self.out_of_memory:
            return partial(self._forward_backward, teacher_forcing=teacher_forcing)
        key = (batch.source.shape, batch.target.shape, teacher_forcing)
        if key not in self.passes:
            self.passes[key] = self._capture_pass(batch, teacher_forcing=teacher_forcing)
        return self.passes[key]

    def _capture_pass(self, batch: Batch, *, teacher_forcing: bool) -> Pass:
        run = partial(self._forward_backward, teacher_forcing=teacher_forcing)
        self._warm_up(run, batch)
        if not self.capturable or len(self.passes) >= MAX_GRAPHS:
            return run
        buffers = batch.clone()
        try:
            with synchronization_is_an_error():
                self._warm_up(run, buffers)
            return Replay(self.recorder.capture(lambda: run(buffers)), buffers)
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            reason = str(error.__context__ or error).strip().partition("\n")[0]
            logger.warning(f"the steps of this model are not captured as CUDA graphs: {reason}")
            self.capturable = False
            self._clear()
            return run

    def _warm_up(self, run: Pass, batch: Batch) -> None:
        """Run a pass on the side stream, so that all it allocates is there, and clear its sums."""
        with self.recorder.side_stream():
            run(batch)
        self._clear()

    def _forward_backward(self, batch: Batch, *, teacher_forcing: bool) -> None:
        """Add a batch's loss and gradients to those of the step."""
        schedule = constant_ratio(ratio=1.0 if teacher_forcing else self.forcing_ratio)
        objective = replace(self.context.objective, teacher_forcing_schedule=schedule)
        loss = objective(self.context.model, batch, 0)
        self._add(torch.autograd.grad(loss / self.tokens, self.weights, allow_unused=True))
        self.loss.add_(loss.detach())

    def _add(self, gradients: Sequence[Tensor | None]) -> None:
        """Add gradients to those of the weights in one call; a first one allocates its sum."""
        sums, addends = list[Tensor](), list[Tensor]()
        for weight, gradient in zip(self.weights, gradients, strict=True):
            if gradient is not None:
                if weight.grad is None:
                    weight.grad, self.optimizer_step = torch.zeros_like(weight), None
                sums.append(weight.grad)
                addends.append(gradient)
        torch._foreach_add_(sums, addends)

    def _take_optimizer_step(self) -> None:
        """Clip, update the weights and their average, copy loss and norm, and clear the sums."""
        context = self.context
        norm = nn.utils.clip_grad_norm_(context.model.parameters(), context.clip_norm)
        finite = is_finite(self.loss, norm)
        step_if(finite, context.optimizer)
        if context.ema:
            context.ema.update_by(context.model, self.ema_share * finite)
        self.loss_and_norm.copy_(torch.stack([self.loss, norm]))
        self._clear()

    def _clear(self) -> None:
        self.context.optimizer.zero_grad(set_to_none=False)
        self.loss.zero_()


def prepare_optimizer(optimizer: torch.optim.Optimizer, rate: Float[Tensor, ""]) -> None:
    """Let an optimizer read its learning rate from the device, and allocate its state.

    It would allocate the state at its first step, and a captured step would do so every time.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate
        if "betas" not in group:  # SGD, which keeps no state; the others are Adam and AdamW
            continue
        group["capturable"] = True
        for weight in group["params"]:
            if weight.grad is not None and not optimizer.state[weight]:
                optimizer.state[weight] = {
                    "step": torch.zeros((), device=weight.device),
                    "exp_avg": torch.zeros_like(weight),
                    "exp_avg_sq": torch.zeros_like(weight),
                }


@contextmanager
def synchronization_is_an_error() -> Iterator[None]:
    """Inside the block waiting for the GPU, which no graph can capture, is an error."""
    mode = torch.cuda.get_sync_debug_mode()
    with catch_warnings():
        simplefilter("ignore")  # that PyTorch does not detect every synchronization
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(mode)
