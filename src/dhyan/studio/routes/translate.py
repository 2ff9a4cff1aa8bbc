"""A sentence's translation with all its attention: at once, or word by word as it is said."""

import json
import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.responses import Response, StreamingResponse

from dhyan.errors import UserError
from dhyan.studio.registry import Shelf
from dhyan.studio.schemas import Question
from dhyan.studio.traces import told


def add(app: FastAPI, shelf: Shelf) -> None:
    """The whole trace as JSON, and the same as a stream of events."""

    @app.post("/api/translate")
    def translate(asked: Question) -> Response:
        return Response(told(shelf, asked), media_type="application/json")

    @app.post("/api/translate/stream")
    def stream(asked: Question) -> Response:
        return StreamingResponse(_told(shelf, asked), media_type="text/event-stream")


def _told(shelf: Shelf, asked: Question) -> Iterator[str]:
    """Words as they are said, then everything, or what went wrong."""
    heard: queue.Queue[tuple[str, str]] = queue.Queue()
    gone = threading.Event()

    def put(kind: str, **data: Any) -> None:
        heard.put((kind, json.dumps(data, ensure_ascii=False)))

    def said(words: Sequence[str]) -> None:
        if gone.is_set():
            raise _Gone
        put("words", words=words)

    def work() -> None:
        try:
            heard.put(("done", told(shelf, asked, said)))
        except _Gone:
            pass
        except UserError as fault:
            put("error", code="invalid_request", message=str(fault))
        except Exception:  # the page is told; the terminal has the rest
            put("error", code="internal_error", message="the model failed; see the terminal")
            raise

    threading.Thread(target=work, daemon=True).start()
    try:
        while True:
            kind, data = heard.get()
            yield f"event: {kind}\ndata: {data}\n\n"
            if kind != "words":
                return
    finally:
        gone.set()


class _Gone(Exception):
    """Nobody listens any more: the translation need not be finished."""
