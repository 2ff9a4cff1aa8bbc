"""Studio server, on the loopback address only: the web page and its JSON API."""

import asyncio
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.types import ASGIApp

from dhyan.errors import UserError
from dhyan.studio import sentence_page
from dhyan.studio.model_cards import ROOMS, STAGES
from dhyan.studio.page_files import STATIC, catalogue
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.request_job import CancellableRoute
from dhyan.studio.routes import (
    beam,
    bleu_by_length,
    export,
    heads,
    mask_tests,
    operands,
    training,
    translate,
    word_vector_gravity,
)
from dhyan.studio.saved_trace import TraceOnlyError
from dhyan.version import __version__
from dhyan.web.errors import ApiError, add_error_handlers, invalid_request
from dhyan.web.guard import GuardPolicy, RequestGuard
from dhyan.web.listen import LOOPBACK_NAMES, ListenAddress
from dhyan.web.server import Server, listener

ROUTES = (
    translate, operands, heads, mask_tests, bleu_by_length, word_vector_gravity, training, export,
    beam, sentence_page,
)  # fmt: skip
IMMUTABLE = {"cache-control": "public, max-age=31536000, immutable"}
OLD_PATHS = {"translate/compare"}  # of links to an earlier page, which reads them
MAX_BODY_BYTES = 320 * 1024  # a picture and what else is sent with it
MAX_HEADER_BYTES = 64 * 1024
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self' data:; "
    "img-src 'self' data: blob:; media-src data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


def make_app(registry: ModelRegistry) -> ASGIApp:
    """All routes over a registry of models, behind the request guard."""
    app = FastAPI(
        title="dhyan studio",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.router.route_class = CancellableRoute
    add_error_handlers(app)
    app.add_exception_handler(UserError, _user_error)
    app.add_exception_handler(TraceOnlyError, _trace_only)
    for routes in ROUTES:
        routes.add(app, registry)
    _add_page(app)
    policy = GuardPolicy(is_loopback, MAX_BODY_BYTES, MAX_HEADER_BYTES, CONTENT_SECURITY_POLICY)
    return RequestGuard(app, policy)


class PageFiles(StaticFiles):
    """Modules and styles, which a browser asks for again: two versions of dhyan never mix."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """The file, or that it did not change (ETag)."""
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "no-cache"
        return response


def _add_page(app: FastAPI) -> None:
    """One HTML document for every view, its modules and styles, and the Devanagari font."""
    app.mount("/static", PageFiles(directory=str(STATIC)), name="static")
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    views = (f"{room}/{view}" for room, views in ROOMS.items() for view in views[1:])
    paths = {"", *ROOMS, *views, *STAGES, *OLD_PATHS}

    @app.get("/font/noto-sans-devanagari.ttf", include_in_schema=False)
    def font() -> Response:
        from dhyan.insight.fonts import devanagari_file

        path = devanagari_file()
        if path is None:
            return Response(status_code=404)
        return FileResponse(path, media_type="font/ttf", headers=IMMUTABLE)

    @app.get("/", include_in_schema=False)
    @app.get("/{path:path}", include_in_schema=False)
    def view(path: str = "") -> Response:
        return HTMLResponse(page) if path in paths else HTMLResponse(_not_found(), status_code=404)


def _not_found() -> str:
    """The page for an unknown address, in both languages: the address does not say which."""
    english, hindi = catalogue("en")["frame"], catalogue("hi")["frame"]
    links = "".join(
        f'<li><a href="/{room}">{english[f"room_{room}"]}'
        f' · <span lang="hi">{hindi[f"room_{room}"]}</span></a></li>'
        for room in ROOMS
    )
    styles = "".join(
        f'<link rel="stylesheet" href="/static/css/{name}.css">' for name in ("base", "not_found")
    )
    return (
        '<!doctype html><html lang="en" data-theme="auto"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="/static/icon.svg" type="image/svg+xml">'
        f"<title>{english['not_found']} · dhyan</title>{styles}"
        '<main class="not-found"><p class="logo"><b lang="hi">ध्यान</b> dhyan</p>'
        f"<h1>{english['not_found']}</h1>"
        f'<p lang="hi">{hindi["not_found"]}</p>'
        f'<nav aria-label="{english["rooms"]}"><ul>{links}</ul></nav></main></html>'
    )


def is_loopback(host: str) -> bool:
    """Whether a `Host` header names this machine, with any port."""
    name = host.rsplit(":", 1)[0] if host.rpartition(":")[2].isdecimal() else host
    return name in (*LOOPBACK_NAMES, "::1")


async def _user_error(request: Any, error: Exception) -> Response:
    return invalid_request(str(error)).response()


async def _trace_only(request: Any, error: Exception) -> Response:
    """The page has a translated sentence for this code."""
    return ApiError(400, "trace_only", str(error)).response()


@dataclass(frozen=True)
class Announcement:
    """Prints the address when the server is ready, and opens the browser."""

    url: str
    browser: bool
    write: Callable[[str], None]

    def ready(self) -> None:
        """Announce the address."""
        self.write(f"Studio: {self.url} (Ctrl-C to stop)")
        if self.browser:
            threading.Timer(0.5, webbrowser.open, (self.url,)).start()

    def stop(self, signal_number: int) -> bool:
        """Stop at the first signal."""
        return True

    def is_drained(self) -> bool:
        """Only a signal stops the studio."""
        return False


def serve(
    registry: ModelRegistry, bound: socket.socket, *, browser: bool, announce: Callable[[str], None]
) -> None:
    """Answer until Ctrl-C."""
    logging.getLogger("uvicorn.error").addFilter(_is_unexpected)
    main = listener(bound, make_app(registry))
    announcement = Announcement(ListenAddress().url(main.port), browser, announce)
    with suppress(KeyboardInterrupt):  # raised again by uvicorn after its shutdown
        Server([main], announcement).run_listeners()


def _is_unexpected(record: logging.LogRecord) -> bool:
    """Whether a log record is more than a request cut off by the shutdown."""
    cancelled = record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cancelled and not record.getMessage().startswith("Cancel ")
