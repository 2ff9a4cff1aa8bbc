"""The CPU engine of a model folder, made when it is first used."""

from collections.abc import Callable
from functools import cache

from dhyan.cpu_engine import CpuEngine, build_engine, library_target, supports_recipe
from dhyan.model_check import CheckedModel
from dhyan.model_check.model_folder import WEIGHTS
from dhyan.quantization import is_quantized, read_arrays


def deferred_engine(checked: CheckedModel) -> Callable[[], CpuEngine | None]:
    """The engine of a model, made at its first use; int8 where the weights are stored so."""

    @cache
    def engine() -> CpuEngine | None:
        if library_target() is None or not supports_recipe(checked.recipe):
            return None
        weights = read_arrays(checked.files[WEIGHTS], checked.header)
        return build_engine(
            checked.recipe, weights, *checked.sizes, int8=is_quantized(checked.header)
        )

    return engine
