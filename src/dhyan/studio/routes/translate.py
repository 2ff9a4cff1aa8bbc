"""HTTP routes: list models and examples, translate a sentence, stream its tokens."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI
from fastapi.responses import Response, StreamingResponse

from dhyan.errors import UserError
from dhyan.studio.examples import examples, own_examples
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.request_job import Job, JobCancelledError, check, current_job
from dhyan.studio.schemas import LoadRequest, SeenRequest, TranslateRequest
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
        """Those of the package, then those of models that none of them fits."""
        own = [
            example
            for model in registry.models.values()
            if not model.saved
            for example in own_examples(model.name, model.path)
        ]
        return list(map(asdict, [*examples(), *own]))

    @app.post("/api/seen")
    def seen(request: SeenRequest) -> list[bool] | None:
        """Whether each sentence was seen in training; None if that is not known."""
        sentences = registry.get(request.model).training_sentences
        return None if sentences is None else [text in sentences for text in request.texts]

    @app.post("/api/load")
    def load(request: LoadRequest) -> None:
        """Load a model ahead of its first sentence."""
        model = registry.get(request.model)
        if not model.saved:
            with model.translator():
                pass

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


async def _events(registry: ModelRegistry, request: TranslateRequest) -> AsyncIterator[str]:
    """The stages of loading and the tokens as they come, then the trace, or an error.

    When the client disconnects, the generator is closed, and the thread stops at its next step.
    """
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def put(name: str, event: str) -> None:
        with suppress(RuntimeError):  # the server has stopped
            loop.call_soon_threadsafe(events.put_nowait, (name, event))

    def send(name: str, **data: Any) -> None:
        put(name, server_sent_event(name, data))

    job = Job(report=lambda stage: send("loading", stage=stage))

    def on_tokens(tokens: Sequence[str]) -> None:
        check()
        send("tokens", tokens=tokens)

    def work() -> None:
        try:
            with current_job(job):
                trace = trace_json(registry, request, on_tokens)
            put("done", f"event: done\ndata: {trace}\n\n")
        except JobCancelledError:
            pass
        except UserError as error:
            send("error", code="invalid_request", message=str(error))
        except Exception:
            send("error", code="internal_error", message="the model failed; see the terminal")
            raise

    threading.Thread(target=work, daemon=True).start()
    try:
        while True:
            name, event = await events.get()
            yield event
            if name in ("done", "error"):
                return
    finally:
        job.cancelled.set()
