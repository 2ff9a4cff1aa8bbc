"""The studio's FastAPI application: the page and its JSON API, for this machine alone."""

from typing import Any

from fastapi import FastAPI
from fastapi.responses import Response
from starlette.types import ASGIApp

from dhyan.errors import UserError
from dhyan.studio import static_files
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.routes import (
    decoder_step,
    figures,
    gravity,
    heads,
    length,
    mask,
    models,
    qkv,
    training,
    translate,
)
from dhyan.studio.saved_trace import TraceOnlyError
from dhyan.version import __version__
from dhyan.web.errors import ApiError, add_error_handlers, invalid_request
from dhyan.web.guard import GuardPolicy, RequestGuard
from dhyan.web.listen import LOOPBACK_NAMES
from dhyan.web.strict_body import StrictRoute

ROUTES = (models, translate, decoder_step, qkv, heads, mask, length, gravity, training, figures)
MAX_BODY_BYTES = 64 * 1024
MAX_HEADER_BYTES = 64 * 1024
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self' data:; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
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
    app.router.route_class = StrictRoute
    add_error_handlers(app)
    app.add_exception_handler(UserError, _user_error)
    app.add_exception_handler(TraceOnlyError, _trace_only)
    for routes in ROUTES:
        routes.add(app, registry)
    static_files.add(app)
    policy = GuardPolicy(is_loopback, MAX_BODY_BYTES, MAX_HEADER_BYTES, CONTENT_SECURITY_POLICY)
    return RequestGuard(app, policy)


def is_loopback(host: str) -> bool:
    """Whether a `Host` header names this machine, with any port."""
    name = host.rsplit(":", 1)[0] if host.rpartition(":")[2].isdecimal() else host
    return name in (*LOOPBACK_NAMES, "::1")


async def _user_error(request: Any, error: Exception) -> Response:
    return invalid_request(str(error)).response()


async def _trace_only(request: Any, error: Exception) -> Response:
    """The page has a translated sentence for this code."""
    return ApiError(400, "trace_only", str(error)).response()
