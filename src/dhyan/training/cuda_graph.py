"""The update as CUDA graphs: nothing of Python runs between its kernels."""

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

from dhyan.batch import Batch, Tokens
from dhyan.training.scheduled_sampling import ForcingSchedule, constant
from dhyan.training.update import LossAndNorm, UpdateParts, empty_cache, is_finite, step_if

logger = logging.getLogger(__name__)

MOST = 256  # graphs; batches of further shapes run kernel after kernel

Key = tuple[torch.Size, torch.Size, bool]
Pass = Callable[[Batch], None]
Work = Callable[[], None]


class Recorder:
    """Makes CUDA graphs that share their memory, since no two of them ever run at once."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device)
        self.pool = torch.cuda.graph_pool_handle()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Inside the block kernels run on the stream that is recorded later."""
        before = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(before)
        try:
            with torch.cuda.stream(self.stream):
                yield
        finally:
            before.wait_stream(self.stream)

    def record(self, work: Work) -> Work:
        """The kernels of some work, to be run later, again and again.

        A recording that breaks off leaves its memory and its stream in use, and the random numbers
        waiting for its end: another, of nothing, sets those free.
        """
        graph, before = torch.cuda.CUDAGraph(), torch.cuda.current_stream(self.device)
        try:
            self._capture(graph, work)
        except Exception:
            torch.cuda.set_stream(before)
            self.pool = torch.cuda.graph_pool_handle()
            self._capture(torch.cuda.CUDAGraph(), lambda: None)
            raise
        return graph.replay

    def _capture(self, graph: torch.cuda.CUDAGraph, work: Work) -> None:
        with torch.cuda.graph(
            graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"
        ):
            work()


@dataclass(frozen=True)
class Replay:
    """A pass over batches of one shape: the batch is copied to where the graph reads it."""

    work: Work
    place: Batch

    def __call__(self, batch: Batch) -> None:
        """Add a batch's loss and gradients to those of the step."""
        for here, given in ((self.place.source, batch.source), (self.place.target, batch.target)):
            here.ids.copy_(given.ids)
            here.mask.copy_(given.mask)
        self.work()


class CapturedUpdate:
    """Each batch and each step replays a recorded one, so that launching kernels costs no time.

    A graph for every shape of batch adds to the loss and the gradients; one more clips those, moves
    the weights and their average, and clears the sums for the next step. Before a shape is recorded
    it is tried on a side stream, without changing a weight, and then its first step too is a
    replay: so a resumed run, which records anew, repeats every bit. What differs from step to step
    (the rate, the number of words, the seed …) lies on the device, where graphs read it, and there
    it is decided whether what was found is finite and the weights may move: nobody waits for that.
    A model that cannot be recorded runs kernel after kernel, which is said, and so do parts of a
    step for which the memory was too small.
    """

    def __init__(self, parts: UpdateParts) -> None:
        self.parts = parts
        self.recorder = Recorder(parts.device)
        self.passes: dict[Key, Pass] = {}
        self.last: Work | None = None
        self.recordable, self.short = True, False
        self.tokens, self.rate, self.ratio, self.fresh, self.loss = (
            torch.zeros((), device=parts.device) for _ in range(5)
        )
        self.found = torch.zeros(2, device=parts.device)
        self.weights = [one for one in parts.model.parameters() if one.requires_grad]
        for weight in self.weights:
            weight.grad = None

    def __call__(
        self, batches: Sequence[Batch], *, tokens: int, step: int, rate: float
    ) -> LossAndNorm:
        """Replay a pass for each batch, then the end of the step."""
        parts, ratio = self.parts, self.parts.objective.forcing(step)
        self.tokens.fill_(tokens)
        self.rate.fill_(rate)
        self.ratio.fill_(ratio)
        if parts.ema:
            self.fresh.fill_(1 - parts.ema.decay_at(step))
        passes = [self._prepared(batch, told=ratio >= 1) for batch in batches]
        if not self.short:
            self._ending()
        for part, run in enumerate(passes):
            parts.seed_batch(step, part)
            run(batches[part])
        self._ending()()
        self.short = False
        return cast(LossAndNorm, self.found.clone().unbind())

    def release_memory(self) -> None:
        """Take the next step kernel after kernel: what is recorded keeps its memory."""
        self._clear()
        self.short = True
        empty_cache(self.parts.device)

    def _ending(self) -> Work:
        """The end of a step, recorded if it has not been yet."""
        if not self.last:
            ready(self.parts.optimizer, self.rate)
            self.last = self.recorder.record(self._end)
        return self.last

    def _prepared(self, batch: Batch, *, told: bool) -> Pass:
        """The pass over batches of this shape; it is recorded if it has not been yet."""
        if self.short:
            return partial(self._pass, told=told)
        key = (batch.source.ids.shape, batch.target.ids.shape, told)
        if key not in self.passes:
            self.passes[key] = self._made(batch, told=told)
        return self.passes[key]

    def _made(self, batch: Batch, *, told: bool) -> Pass:
        def run(given: Batch) -> None:
            self._pass(given, told=told)

        self._try(run, batch)
        if not self.recordable or len(self.passes) >= MOST:
            return run
        place = Batch(_copied(batch.source), _copied(batch.target))
        try:
            with waiting_flagged():
                self._try(run, place)
            return Replay(self.recorder.record(lambda: run(place)), place)
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            reason = str(error.__context__ or error).strip().partition("\n")[0]
            logger.warning(f"the steps of this model are not recorded as CUDA graphs: {reason}")
            self.recordable = False
            self._clear()
            return run

    def _try(self, run: Pass, batch: Batch) -> None:
        """Run a pass for nothing, so that all it needs is there, and clear what it added."""
        with self.recorder.aside():
            run(batch)
        self._clear()

    def _pass(self, batch: Batch, *, told: bool) -> None:
        """Add a batch's loss and gradients to those of the step."""
        chance = constant() if told else cast(ForcingSchedule, lambda step: self.ratio)
        objective = replace(self.parts.objective, forcing=chance)
        loss = objective(self.parts.model, batch, 0)
        self._add(torch.autograd.grad(loss / self.tokens, self.weights, allow_unused=True))
        self.loss.add_(loss.detach())

    def _add(self, found: Sequence[Tensor | None]) -> None:
        """Add gradients to those of the weights, all at once; a first one gets a place to stay."""
        sums, given = list[Tensor](), list[Tensor]()
        for weight, one in zip(self.weights, found, strict=True):
            if one is not None:
                if weight.grad is None:
                    weight.grad, self.last = torch.zeros_like(weight), None
                sums.append(weight.grad)
                given.append(one)
        torch._foreach_add_(sums, given)

    def _end(self) -> None:
        """Clip, move the weights and their average, keep what was found, and clear the rest."""
        parts = self.parts
        norm = nn.utils.clip_grad_norm_(parts.model.parameters(), parts.clip)
        moves = is_finite(self.loss, norm)
        step_if(moves, parts.optimizer)
        if parts.ema:
            parts.ema.update_by(parts.model, self.fresh * moves)
        self.found.copy_(torch.stack([self.loss, norm]))
        self._clear()

    def _clear(self) -> None:
        self.parts.optimizer.zero_grad(set_to_none=False)
        self.loss.zero_()


def ready(optimizer: torch.optim.Optimizer, rate: Float[Tensor, ""]) -> None:
    """Let an optimizer read its rate from the device, and give it the memory it begins with.

    At its first step it would make that itself, and a recorded step would make it every time.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate
        if "betas" not in group:
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
def waiting_flagged() -> Iterator[None]:
    """Inside the block it is an error to wait for the GPU, which no graph can record."""
    before = torch.cuda.get_sync_debug_mode()
    with catch_warnings():
        simplefilter("ignore")  # that PyTorch does not find every wait
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


def _copied(tokens: Tokens) -> Tokens:
    return Tokens(tokens.ids.clone(), tokens.mask.clone())
