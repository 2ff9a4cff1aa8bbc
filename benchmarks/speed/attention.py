"""Additive attention by our kernels, beside its definition and that compiled."""

from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.kernels import additive_case
from benchmarks.speed.timing import Row, Say, Table

SHAPES = ((64, 50, 50, 512), (128, 50, 50, 1024), (64, 256, 256, 512))  # B T S A
NAMES = {"ours": "dhyan", "eager": "PyTorch", "compiled": "PyTorch, compiled"}
MEASURES = {
    "forward_ms": "forward, ms",
    "both_ms": "forward and backward, ms",
    "graph_forward_ms": "forward, recorded, ms",
    "graph_both_ms": "forward and backward, recorded, ms",
    "both_gb": "extra memory, GB",
}


def additive(*, shapes: Sequence[tuple[int, ...]], compiled: bool, say: Say) -> dict[str, Any]:
    """Milliseconds and memory at each shape, in bf16; the errors are compared first."""
    table = Table({"B T S A": [list(shape) for shape in shapes], "dtype": "bfloat16"}, say)
    if not torch.cuda.is_available():
        table.failed["additive"] = "there is no GPU here"
    for shape in shapes if torch.cuda.is_available() else ():
        at = " ".join(map(str, shape))
        with table.trying(at):
            found = additive_case(*shape, compiled=compiled)
            table.check(f"{at}: relative errors", found["errors"])
            for measure, unit in MEASURES.items():
                for key, name in NAMES.items():
                    if key in found:
                        table.add(Row.of(name, at, unit, [found[key][measure]]))
    return table.figures()
