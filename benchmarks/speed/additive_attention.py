"""Benchmark of additive attention: the Triton kernels beside eager and compiled PyTorch."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks.speed.timing import Log, Row, Table
from dhyan.kernels import reference

Attend = Callable[..., Tensor]
SHAPES = ((64, 50, 50, 512), (128, 50, 50, 1024), (64, 256, 256, 512))  # B T S A
NAMES = {"ours": "dhyan", "eager": "PyTorch", "compiled": "PyTorch, compiled"}
MEASURES = {
    "forward_ms": "forward, ms",
    "both_ms": "forward and backward, ms",
    "graph_forward_ms": "forward, CUDA graph, ms",
    "graph_both_ms": "forward and backward, CUDA graph, ms",
    "both_gb": "extra memory, GB",
}


def additive_attention(
    *, shapes: Sequence[tuple[int, ...]], compiled: bool, log: Log
) -> dict[str, Any]:
    """Milliseconds and memory at each shape in bf16; relative errors are checked first."""
    table = Table({"B T S A": [list(shape) for shape in shapes], "dtype": "bfloat16"}, log)
    if not torch.cuda.is_available():
        table.failed["additive"] = "no GPU"
    for shape in shapes if torch.cuda.is_available() else ():
        at = " ".join(map(str, shape))
        with table.trying(at):
            results = additive_case(*shape, compiled=compiled)
            table.check(f"{at}: relative errors", results["errors"])
            for measure, unit in MEASURES.items():
                for key, name in NAMES.items():
                    if key in results:
                        table.add(Row.of(name, at, unit, [results[key][measure]]))
    return table.figures()


def additive_case(
    batch: int,
    queries: int,
    positions: int,
    width: int,
    *,
    breadth: int | None = None,
    dtype: torch.dtype = torch.bfloat16,
    compiled: bool = True,
) -> dict[str, Any]:
    """Additive attention: fused kernels, reference in eager PyTorch, reference compiled."""
    from dhyan.kernels.triton.additive_attention import additive_attention as fused

    shape = (batch, queries, positions, width, breadth or width)
    implementations: dict[str, Attend] = {"ours": fused, "eager": _reference}
    if compiled:
        implementations["compiled"] = torch.compile(_reference, dynamic=False)
    tensors, mask = _additive_inputs(shape, dtype)
    return {
        "what": "additive attention",
        "shape": dict(zip(("B", "T", "S", "A", "E"), shape, strict=True)),
        "dtype": str(dtype).removeprefix("torch."),
        "errors": _relative_errors(implementations, shape, dtype),
        **{name: _measure(run, tensors, mask) for name, run in implementations.items()},
    }


def _reference(query: Tensor, keys: Tensor, values: Tensor, energy: Tensor, mask: Tensor) -> Tensor:
    return reference.attend(reference.additive_scores(query, keys, energy), values, mask)[0]


def _additive_inputs(
    shape: tuple[int, ...], dtype: torch.dtype, *, seed: int = 0
) -> tuple[list[Tensor], Tensor]:
    """Random queries, keys, values and energy; a tenth of the positions is masked."""
    batch, queries, positions, width, breadth = shape
    generator = torch.Generator("cuda").manual_seed(seed)

    def random(*sizes: int) -> Tensor:
        numbers = torch.randn(*sizes, device="cuda", generator=generator)
        return numbers.to(dtype).requires_grad_()

    tensors = [
        random(batch, 1, queries, width),
        random(batch, 1, positions, width),
        random(batch, 1, positions, breadth),
        (random(width).detach() * width**-0.5).requires_grad_(),
    ]
    mask = torch.rand(batch, 1, 1, positions, device="cuda", generator=generator) > 0.1
    return tensors, mask.expand(-1, 1, queries, -1)


def _relative_errors(
    implementations: dict[str, Attend], shape: tuple[int, ...], dtype: torch.dtype
) -> dict[str, list[float]]:
    """‖output − exact‖ / ‖exact‖ of the context and the gradients of q, k, v and energy.

    Against double precision on a few sentences; ours may be at most twice that of PyTorch.
    """
    small = (min(shape[0], 2), *shape[1:])
    tensors, mask = _additive_inputs(small, dtype, seed=1)
    exact = _with_gradients(_reference, [tensor.detach().double() for tensor in tensors], mask)
    results = {}
    for name in ("ours", "eager"):
        near = _with_gradients(implementations[name], [tensor.detach() for tensor in tensors], mask)
        results[name] = [
            float((tensor.double() - true).norm() / true.norm())
            for tensor, true in zip(near, exact, strict=True)
        ]
    for ours, theirs in zip(results["ours"], results["eager"], strict=True):
        if not ours <= 2 * theirs + 1e-5:
            raise AssertionError(f"relative error {ours:.2g}; PyTorch has {theirs:.2g}: {results}")
    return results


def _with_gradients(implementation: Attend, tensors: list[Tensor], mask: Tensor) -> list[Tensor]:
    inputs = [tensor.clone().requires_grad_() for tensor in tensors]
    context = implementation(*inputs, mask)
    generator = torch.Generator("cuda").manual_seed(2)
    grad_context = torch.randn(context.shape, device="cuda", generator=generator)
    return [context.detach(), *torch.autograd.grad(context, inputs, grad_context.to(context.dtype))]


def _measure(implementation: Attend, tensors: list[Tensor], mask: Tensor) -> dict[str, float]:
    """Milliseconds and memory, forward and with backward; `graph` as the replay of a CUDA graph."""
    grad_context = torch.randn_like(implementation(*tensors, mask))

    def forward() -> Tensor:
        return implementation(*tensors, mask)

    def both() -> None:
        torch.autograd.grad(forward(), tensors, grad_context)

    return {
        "forward_ms": timed(forward),
        "both_ms": timed(both),
        "graph_forward_ms": timed(captured(forward)),
        "graph_both_ms": timed(captured(both)),
        "forward_gb": extra_memory(forward),
        "both_gb": extra_memory(both),
    }


def timed(run: Callable[[], object], *, seconds: float = 0.2) -> float:
    """Median milliseconds of many runs by CUDA events, after warm-up runs."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times: list[float] = []
    for warm in (True, False):
        times.clear()
        while len(times) < 5 or (sum(times) < 1000 * seconds / (4 if warm else 1)):
            begin.record()
            run()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
            if len(times) >= 300:
                break
    return statistics.median(times)


def captured(run: Callable[[], object]) -> Callable[[], None]:
    """Capture a function in a CUDA graph; the result replays it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def extra_memory(run: Callable[[], object]) -> float:
    """Peak memory of a run above what was allocated before it, in GB."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 1e9
