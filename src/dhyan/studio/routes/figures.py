"""Figures of a translation by the command line's own function, and what else is taken away."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from dhyan.errors import UserError
from dhyan.studio.registry import Shelf
from dhyan.studio.schemas import Question
from dhyan.studio.traces import told, traced

if TYPE_CHECKING:
    from dhyan.attention_maps import AttentionMap
    from dhyan.insight.trace import Trace

LONGEST_LETTERS = 4000
KINDS = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
NAMES = {
    "encoder_self": "Encoder self-attention",
    "decoder_self": "Decoder self-attention",
    "cross": "Cross-attention",
}

Letters = Annotated[str, Field(max_length=LONGEST_LETTERS)]


class FigureQuestion(Question):
    """Which attention to draw: layer 0 is the last; no head means each beside the others."""

    role: Literal["encoder_self", "decoder_self", "cross"] = "cross"
    layer: Annotated[int, Field(ge=0, le=1000)] = 0
    head: Annotated[str, Field(pattern=r"^(avg|max|[1-9]\d{0,2})?$")] = ""
    words: bool = True


def add(app: FastAPI, shelf: Shelf) -> None:
    """What the export menu asks."""

    @app.post("/api/figure.{suffix}")
    def figure(suffix: Literal["png", "svg", "pdf"], asked: FigureQuestion) -> Response:
        from dhyan.insight.heatmap import draw_bytes, heatmap

        seen, title = chosen(traced(shelf, asked), asked)
        return Response(draw_bytes(heatmap(seen, title=title), suffix), media_type=KINDS[suffix])

    @app.post("/api/alone.html")
    def alone(asked: Question) -> Response:
        from dhyan.studio.export_html import as_saved, page

        found = told(shelf, asked)
        return HTMLResponse(page(found, as_saved(shelf.book(asked.model).card(), found)))

    @app.get("/api/font/subset.ttf")
    def font(text: Letters) -> Response:
        from dhyan.studio.font_subset import subset

        return Response(subset(text), media_type="font/ttf")


def chosen(found: "Trace", asked: FigureQuestion) -> tuple["AttentionMap", str]:
    """The attention that was asked for, and what must be said over it: how heads became one."""
    blocks = found.of_role(asked.role)
    if not blocks:
        raise UserError("this model has no attention of that role: choose another")
    of_layer = [block for block in blocks if block.layer == asked.layer]
    block = of_layer[0] if of_layer else blocks[-1]
    seen = found.map(block, words=asked.words)
    heads = len(seen.weights)
    if heads == 1 or not asked.head:
        return seen, ""
    if asked.head == "avg":
        drawn, said = seen.weights.mean(0, keepdim=True), f"mean of {heads} heads"
    elif asked.head == "max":
        drawn, said = seen.weights.amax(0, keepdim=True), f"largest of {heads} heads"
    else:
        number = min(int(asked.head), heads)
        drawn, said = seen.weights[number - 1 : number], f"head {number}"
    return replace(seen, weights=drawn), f"{NAMES[block.role]}, layer {block.layer}: {said}"
