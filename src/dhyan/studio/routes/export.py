"""HTTP routes of the studio's export menu: figures (PNG, SVG, PDF), a subset font."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import FastAPI
from fastapi.responses import Response
from pydantic import Field

from dhyan.errors import UserError
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.schemas import TranslateRequest
from dhyan.studio.traces import trace_of

if TYPE_CHECKING:
    from dhyan.attention_maps import AttentionMap
    from dhyan.insight.trace import Trace

MAX_FONT_CHARACTERS = 4000
MEDIA_TYPES = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
ROLE_NAMES = {
    "encoder_self": "Encoder self-attention",
    "decoder_self": "Decoder self-attention",
    "cross": "Cross-attention",
}

Characters = Annotated[str, Field(max_length=MAX_FONT_CHARACTERS)]


class FigureRequest(TranslateRequest):
    """Which attention to draw; layer 0 is the last, an empty head means all side by side.

    With `of_task` it is the figure of the model's task, if that is no heat map.
    """

    role: Literal["encoder_self", "decoder_self", "cross"] = "cross"
    layer: Annotated[int, Field(ge=0, le=1000)] = 0
    head: Annotated[str, Field(pattern=r"^(avg|max|[1-9]\d{0,2})?$")] = ""
    words: bool = True
    of_task: bool = False


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add the routes of the export menu."""

    @app.post("/api/figure.{suffix}")
    def figure(suffix: Literal["png", "svg", "pdf"], request: FigureRequest) -> Response:
        from dhyan.insight.heatmap import draw_bytes, heatmap
        from dhyan.insight.task_figures import find_figure

        trace = trace_of(registry, request)
        task_figure = find_figure(trace.figure) if request.of_task else None
        if task_figure:
            drawn = task_figure.draw(trace)
        else:
            attention, title = select_map(trace, request)
            drawn = heatmap(attention, title=title)
        return Response(draw_bytes(drawn, suffix), media_type=MEDIA_TYPES[suffix])

    @app.get("/api/font/subset.ttf")
    def font(text: Characters) -> Response:
        from dhyan.studio.export_html import subset_font

        return Response(subset_font(text), media_type="font/ttf")


def select_map(trace: "Trace", request: FigureRequest) -> tuple["AttentionMap", str]:
    """The attention map of a request, and a title that names the combination of its heads."""
    blocks = trace.of_role(request.role)
    if not blocks:
        raise UserError("this model has no attention of that role: choose another")
    of_layer = [block for block in blocks if block.layer == request.layer]
    block = of_layer[0] if of_layer else blocks[-1]
    attention = trace.map(block, words=request.words)
    heads = len(attention.weights)
    if heads == 1 or not request.head:
        return attention, ""
    if request.head == "avg":
        weights, how = attention.weights.mean(0, keepdim=True), f"mean of {heads} heads"
    elif request.head == "max":
        weights, how = attention.weights.amax(0, keepdim=True), f"largest of {heads} heads"
    else:
        number = min(int(request.head), heads)
        weights, how = attention.weights[number - 1 : number], f"head {number}"
    return replace(
        attention, weights=weights
    ), f"{ROLE_NAMES[block.role]}, layer {block.layer}: {how}"
