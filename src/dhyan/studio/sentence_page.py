"""HTML page about one sentence: all that the studio's rooms show about it, without a server."""

from dataclasses import replace

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from dhyan.studio.export_html import MAIL_BYTES, export_html, trace_only_card
from dhyan.studio.model_cards import ALL_VIEWS
from dhyan.studio.recorded_responses import record
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.schemas import TranslateRequest
from dhyan.studio.traces import trace_json


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add the route that exports a sentence."""

    @app.post("/api/export.html")
    def export(request: TranslateRequest) -> HTMLResponse:
        return HTMLResponse(export_sentence(registry, request))


def export_sentence(registry: ModelRegistry, request: TranslateRequest) -> str:
    """The page with all that its rooms show about one sentence; with a saved trace, only that.

    The operands of heads are left out where the page would be too large.
    """
    trace, model = trace_json(registry, request), registry.get(request.model)
    own_card = model.card()
    card = trace_only_card(own_card, trace)
    if model.saved:
        return export_html(trace, card)
    for heads in (True, False):
        recording = record(registry, request, heads=heads)
        views = ({*recording.views()} & {*own_card.views}) | {*card.views}
        own = replace(card, views=tuple(view for view in ALL_VIEWS if view in views))
        page = export_html(trace, own, recording.responses, recording.to_bytes())
        if len(page.encode()) <= MAIL_BYTES:
            break
    return page
