"""The compiled library of the engine: which of its files fits this CPU, and its functions."""

import ctypes
import os
import platform
from ctypes import POINTER, c_char_p, c_double, c_float, c_int32, c_int64, c_uint8, c_void_p
from functools import cache
from pathlib import Path

TARGETS: dict[str, frozenset[str]] = {
    "avx512": frozenset({"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni", "fma"}),
    "avxvnni": frozenset({"avx2", "fma", "avx_vnni"}),
    "avx2": frozenset({"avx2", "fma"}),
    "portable": frozenset(),
}
"""The targets that the library is compiled for, the fastest first, and the CPU features of each."""

VARIABLE = "DHYAN_CPU_ENGINE"  # a target, or "off"
FOLDER = Path(__file__).parent


class Half(ctypes.Structure):
    """The settings of one half of a model, as in csrc/model.h."""

    _fields_ = [
        (name, c_int32)
        for name in (
            "kind vocabulary embedding_width width layers heads kv_heads feed_forward_width "
            "activation pre_norm positions scaled scale_embedding reads_eos cell bidirectional "
            "reverse score score_width readout_width input_feeding learned_bridge"
        ).split()
    ]


class Weight(ctypes.Structure):
    """A float32 weight by name; a vector has one row."""

    _fields_ = [("name", c_char_p), ("data", c_void_p), ("rows", c_int64), ("columns", c_int64)]


def cpu_features() -> frozenset[str]:
    """The features of this CPU, as Linux names them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return frozenset(flags.partition(":")[2].split())


@cache
def library_target() -> str | None:
    """The target of the fastest compiled library that runs here; None if there is none."""
    choice = os.environ.get(VARIABLE, "")
    features = cpu_features() if platform.machine() in ("x86_64", "AMD64") else frozenset()
    for target, needed in TARGETS.items():
        wanted = choice in ("", target)
        if wanted and needed <= features and (FOLDER / file_name(target)).is_file():
            return target
    return None


def file_name(target: str) -> str:
    """The name of the library of a target."""
    return f"engine-{target}.so"


@cache
def load_library() -> ctypes.CDLL:
    """The library with the types of its functions."""
    target = library_target()
    if target is None:
        raise RuntimeError("the CPU engine was not compiled")
    library = ctypes.CDLL(str(FOLDER / file_name(target)))
    message = [c_char_p, c_int32]
    library.dhyan_half_size.restype = c_int32
    if library.dhyan_half_size() != ctypes.sizeof(Half):
        raise RuntimeError(f"{file_name(target)} is of another version: install dhyan again")
    declare(
        library.dhyan_model_new,
        c_void_p,
        [POINTER(Half), POINTER(Half), POINTER(Weight), c_int32, c_int32, *message],
    )
    declare(library.dhyan_model_free, None, [c_void_p])
    declare(
        library.dhyan_model_positions,
        c_int32,
        [c_void_p, c_int32, POINTER(c_float), c_int32, *message],
    )
    declare(
        library.dhyan_translate,
        c_void_p,
        [c_void_p, POINTER(c_int32), POINTER(c_int64), POINTER(c_int32)]
        + [c_int32, c_int32, c_int32, c_double, c_int32, *message],
    )
    declare(library.dhyan_results_size, None, [c_void_p, POINTER(c_int64), POINTER(c_int64)])
    declare(
        library.dhyan_results_copy,
        None,
        [c_void_p, POINTER(c_int32), POINTER(c_int32), POINTER(c_float), POINTER(c_uint8)]
        + [POINTER(c_int32)],
    )
    declare(library.dhyan_results_free, None, [c_void_p])
    return library


def declare(function: object, result: object, arguments: list[object]) -> None:
    """Set the types of a function of the library."""
    function.restype, function.argtypes = result, arguments  # type: ignore[attr-defined]
