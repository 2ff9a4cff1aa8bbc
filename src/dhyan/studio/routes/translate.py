"""HTTP routes: list models and examples, translate a sentence, stream its tokens."""

import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI
from fastapi.responses import Response, StreamingResponse

from dhyan.errors import UserError
from dhyan.studio.examples import examples
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.schemas import SeenRequest, TranslateRequest
from dhyan.studio.traces import trace_json
from dhyan.web.body_format import server_sent_event


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add liveness, models, examples, colours, the trace as JSON and as server-sent events."""

    @app.get("/livez")
    def livez() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/api/models")
    def models() -> list[dict[str, Any]]:
        return [asdict(model.card()) for model in registry.models.values()]

    @app.get("/api/examples")
    def example_sentences() -> list[dict[str, Any]]:
        return list(map(asdict, examples()))

    @app.post("/api/seen")
    def seen(request: SeenRequest) -> list[bool] | None:
        """Whether each sentence was seen in training; None if that is not known."""
        sentences = registry.get(request.model).training_sentences
        return None if sentences is None else [text in sentences for text in request.texts]

    @app.get("/api/colors")
    def colors() -> dict[str, Any]:
        from dhyan.insight.colors import weight_colors

        return weight_colors()

    @app.post("/api/translate")
    def translate(request: TranslateRequest) -> Response:
        return Response(trace_json(registry, request), media_type="application/json")

    @app.post("/api/translate/stream")
    def stream(request: TranslateRequest) -> Response:
        return StreamingResponse(_events(registry, request), media_type="text/event-stream")


def _events(registry: ModelRegistry, request: TranslateRequest) -> Iterator[str]:
    """Tokens as they come, then the trace, or an error."""
    events: queue.Queue[tuple[str, str]] = queue.Queue()
    disconnected = threading.Event()

    def put(name: str, **data: Any) -> None:
        events.put((name, server_sent_event(name, data)))

    def on_tokens(tokens: Sequence[str]) -> None:
        if disconnected.is_set():
            raise _Disconnected
        put("tokens", tokens=tokens)

    def work() -> None:
        try:
            trace = trace_json(registry, request, on_tokens)
            events.put(("done", f"event: done\ndata: {trace}\n\n"))
        except _Disconnected:
            pass
        except UserError as error:
            put("error", code="invalid_request", message=str(error))
        except Exception:
            put("error", code="internal_error", message="the model failed; see the terminal")
            raise

    threading.Thread(target=work, daemon=True).start()
    try:
        while True:
            name, event = events.get()
            yield event
            if name != "tokens":
                return
    finally:
        disconnected.set()


class _Disconnected(Exception):
    """The client has disconnected; the translation is stopped."""
