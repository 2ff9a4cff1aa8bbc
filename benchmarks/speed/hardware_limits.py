"""Peak rates of the device: matrix products and copies."""

from typing import Any

import torch

from benchmarks.speed.timing import Log, Row, Table, throughputs


def hardware_limits(*, device: str, quick: bool, log: Log) -> dict[str, Any]:
    """Rates of a large bf16 matrix product and a large copy, on random numbers."""
    side, size = (512, 2**20) if quick else (8192, 2**31)
    table = Table({"product": [side] * 3, "copied bytes": size}, log)
    left, right = (torch.randn(side, side, device=device).bfloat16() for _ in range(2))
    exact = left[:64].double() @ right.double()
    error = ((left[:64] @ right).double() - exact).norm() / exact.norm()
    table.check("product", {"relative error": float(error), "right": bool(error < 1e-2)})
    rates = throughputs(lambda: left @ right, 2 * side**3 / 1e12, repeats=10, warm=3)
    table.add(Row.of("bf16 product", f"{side}³", "TFLOP/s", rates))
    bytes_in = torch.randint(0, 255, (size,), dtype=torch.uint8, device=device)
    bytes_out = torch.empty_like(bytes_in)
    rates = throughputs(lambda: bytes_out.copy_(bytes_in), 2 * size / 1e12, repeats=10, warm=3)
    table.check("copy", bool(bytes_in[-100:].equal(bytes_out[-100:])))
    table.add(Row.of("copy", f"{size / 2**30:g} GiB", "TB/s", rates))
    return table.figures()
