"""The server's responses about one sentence, recorded for a page that has no server.

The page finds a response by its path and the values that choose among several. Tensors are apart,
in one safetensors file: weights that are loaded from int8 are int8 again, which loses nothing.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import ValidationError

from dhyan.errors import UserError
from dhyan.quantization import LARGEST, SCALE
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.routes import beam, heads, mask_tests, operands, translate, word_vector_gravity
from dhyan.studio.schemas import MAX_BEAM, SeenRequest, TranslateRequest
from dhyan.studio.traces import trace_of

if TYPE_CHECKING:
    from dhyan.insight.trace import Trace, TracedAttention

ROUTES = (translate, operands, heads, mask_tests, word_vector_gravity, beam)
ONCE = ("activations", "step", "layers", "padding", "gravity")  # one response to a sentence
LEAST_WEIGHTS = 1024  # numbers of a matrix that is tried in int8

Choices = Mapping[str, str | int | bool]


@dataclass
class Recording:
    """Responses by path and choices, and the tensors in them."""

    responses: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    _places: dict[str, dict[str, Any]] = field(default_factory=dict)  # by the tensor's base64

    def add(self, path: str, choices: Choices, response: Any) -> None:
        """Keep a response."""
        key = " ".join((path, *(str(value).lower() for value in choices.values())))
        self.responses[key] = self._without_tensors(response)

    def views(self) -> list[str]:
        """The views that only these responses can fill."""
        steps = self.responses["/api/step"]
        heads = any(key.startswith("/api/head ") for key in self.responses)
        attends = heads or steps.get("score", "bottleneck") != "bottleneck"
        offered = {
            "tour": attends and "error" not in self.responses["/api/activations"],
            "step": "error" not in steps,
            "head": heads,
            "beam": True,
        }
        return [view for view, filled in offered.items() if filled]

    def to_bytes(self) -> bytes:
        """The tensors as a safetensors file."""
        from safetensors.numpy import save

        return save({name: np.ascontiguousarray(own) for name, own in self.tensors.items()})

    def _without_tensors(self, value: Any) -> Any:
        """A response with the places of its tensors."""
        if isinstance(value, list | tuple):
            return [self._without_tensors(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"shape", "data"}:
            return self._place(value["shape"], value["data"])
        return {name: self._without_tensors(item) for name, item in value.items()}

    def _place(self, shape: list[int], data: str) -> dict[str, Any]:
        """Store a tensor, once, and return its place."""
        if data not in self._places:
            name, transposed = str(len(self._places)), False
            tensor = np.frombuffer(base64.b64decode(data), "<f4").reshape(shape)
            stored = None
            if tensor.ndim == 2 and tensor.size >= LEAST_WEIGHTS:
                stored = whole_numbers(tensor)
                if stored is None:
                    stored, transposed = whole_numbers(tensor.T), True
            if stored is None:
                self.tensors[name], transposed = tensor, False
            else:
                self.tensors[name], self.tensors[name + SCALE] = stored
            self._places[data] = {"tensor": name, **({"transposed": True} if transposed else {})}
        return {"shape": shape, **self._places[data]}


def record(registry: ModelRegistry, request: TranslateRequest, *, heads: bool = True) -> Recording:
    """The responses that the rooms ask for about one sentence; `heads` are the largest."""
    recording, trace = Recording(), trace_of(registry, request)
    endpoints = _endpoints(registry)
    if trace.picture is None:
        seen = SeenRequest(texts=[request.text], model=request.model)
        recording.add("/api/seen", {}, endpoints["/api/seen"](seen))
    for path, choices in _requests(trace):
        endpoint = endpoints[path]
        schema = get_type_hints(endpoint)["request"]
        values = {**request.model_dump(), **choices}
        try:
            response = endpoint(
                schema(
                    **{name: values[name] for name in values.keys() & schema.model_fields.keys()}
                )
            )
        except UserError as error:
            response = {"error": str(error)}
        except ValidationError:  # a route that takes no picture
            response = {"error": "this view needs a sentence, and the model reads pictures"}
        recording.add(path, choices, response)
    for block in _several_heads(trace) if heads else ():
        responses = operands.head_responses(registry, request, block)
        for head, response in enumerate(responses, 1):
            recording.add(
                "/api/head", {"role": block.role, "layer": block.layer, "head": head}, response
            )
    return recording


def _requests(trace: "Trace") -> Iterator[tuple[str, Choices]]:
    """Paths and choices, except the operands of heads."""
    for name in ONCE:
        yield f"/api/{name}", {}
    for width in range(1, MAX_BEAM + 1):
        yield "/api/beam", {"beam": width}
    masks = (True, False) if trace.of_role("decoder_self") else (True,)
    for position in range(1, len(trace.decoder_input.tokens)):
        for masked in masks:
            yield "/api/leak", {"position": position, "masked": masked}
    for role in dict.fromkeys(block.role for block in _several_heads(trace)):
        yield "/api/heads/importance", {"role": role}
    for block in _several_heads(trace):
        for head in range(1, len(block.weights) + 1):
            yield "/api/heads/ablation", {"role": block.role, "layer": block.layer, "head": head}


def _several_heads(trace: "Trace") -> "list[TracedAttention]":
    return [block for block in trace.attention if len(block.weights) > 1]


def _endpoints(registry: ModelRegistry) -> dict[str, Callable[..., Any]]:
    """The functions behind the routes, by path."""
    app = FastAPI()
    for routes in ROUTES:
        routes.add(app, registry)
    return {route.path: route.endpoint for route in app.routes if isinstance(route, APIRoute)}


def whole_numbers(
    matrix: np.ndarray[Any, Any],
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """A matrix as int8 and a scale for each row; None if that would lose anything.

    Of a row of multiples of one unknown scale, the smallest is a small multiple.
    """
    most, sizes = LARGEST["int8"], np.abs(matrix)
    largest = sizes.max(axis=1)
    smallest = np.where(sizes > 0, sizes, np.inf).min(axis=1)
    scales = np.where(largest > 0, 0, 1).astype("<f4")
    for divisor in range(1, most + 1):
        rows = np.flatnonzero(scales == 0)
        if not len(rows):
            return np.rint(matrix / scales[:, None]).astype(np.int8), scales
        top = np.rint(largest[rows] / (smallest[rows] / divisor))
        guess = (largest[rows] / top).astype("<f4")
        for candidate in (
            guess,
            np.nextafter(guess, np.float32(0)),
            np.nextafter(guess, np.float32(1)),
        ):
            whole = np.rint(matrix[rows] / candidate[:, None]).astype("<f4")
            fits = (whole * candidate[:, None] == matrix[rows]).all(axis=1) & (top <= most)
            scales[rows[fits]] = candidate[fits]
        if divisor == 1 and not (scales > 0).any():
            return None  # no row has its scale itself among many numbers
    return None
