"""The application: what may be asked of a server, on top of one desk."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from dhyan.serving import health
from dhyan.serving import libretranslate as libre
from dhyan.serving import translate_routes as translate
from dhyan.serving.access import Door, Rules
from dhyan.serving.api_keys import Allowance
from dhyan.serving.errors import Refusal
from dhyan.serving.openapi import document
from dhyan.serving.scheduler import Desk
from dhyan.serving.service import Service

CODES = {
    404: ("unknown_path", "there is nothing under this path: see /openapi.json"),
    405: ("wrong_method", "this path is asked by another method: see /openapi.json"),
}


def make_app(desk: Desk, rules: Rules) -> FastAPI:
    """All routes behind the door."""
    app = FastAPI(title="dhyan serve", docs_url=None, redoc_url=None, redirect_slashes=False)
    settings = rules.settings
    service = Service(desk, rules, Allowance(settings.rate, settings.burst))
    for routes in (translate, libre, health):
        routes.add(app, service)
    app.openapi = lambda: document(app, desk.keeper.about)  # type: ignore[method-assign]
    return _behind(app, desk, rules)


def make_watch(desk: Desk, rules: Rules) -> FastAPI:
    """The metrics alone."""
    app = FastAPI(title="dhyan serve", openapi_url=None, redirect_slashes=False)
    health.add_metrics(app, desk)
    return _behind(app, desk, rules)


def _behind(app: FastAPI, desk: Desk, rules: Rules) -> FastAPI:
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _broken)
    app.add_middleware(Door, rules=rules, desk=desk)
    return app


async def _refused(request: Request, refusal: Any) -> Response:
    headers = {name.decode(): value.decode() for name, value in refusal.headers()}
    return Response(refusal.body(), refusal.status, headers)


async def _http(request: Request, error: Any) -> Response:
    code, message = CODES.get(error.status_code, ("refused", "the request is refused"))
    answer = await _refused(request, Refusal(error.status_code, code, message))
    answer.headers.update(error.headers or {})
    return answer


async def _broken(request: Request, error: Exception) -> Response:
    return await _refused(request, Refusal(500, "broken", "a fault of the server's own"))
