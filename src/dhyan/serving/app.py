"""The FastAPI applications: the API behind its access guard, and the metrics alone."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.types import ASGIApp

from dhyan.serving.access import AccessPolicy, RateLimiter, access_guard
from dhyan.serving.libretranslate import libretranslate_routes
from dhyan.serving.routes import health_routes, metrics_routes, translate_routes
from dhyan.serving.scheduler import Scheduler
from dhyan.serving.service import TranslationService
from dhyan.version import __version__
from dhyan.web.errors import add_error_handlers


def make_app(scheduler: Scheduler, policy: AccessPolicy) -> ASGIApp:
    """All routes behind the access guard."""
    app = FastAPI(
        title="dhyan serve",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    settings = policy.settings
    limiter = RateLimiter(settings.rate_limit, settings.burst_seconds)
    service = TranslationService(scheduler, policy, limiter)
    app.include_router(translate_routes(service))
    app.include_router(libretranslate_routes(service))
    app.include_router(health_routes(scheduler))
    app.include_router(metrics_routes(scheduler))
    app.openapi = lambda: openapi(app, scheduler.supervisor.card)  # type: ignore[method-assign]
    add_error_handlers(app)
    return access_guard(app, policy, scheduler)


def make_metrics_app(scheduler: Scheduler, policy: AccessPolicy) -> ASGIApp:
    """The metrics alone."""
    app = FastAPI(title="dhyan metrics", openapi_url=None, redirect_slashes=False)
    app.include_router(metrics_routes(scheduler))
    add_error_handlers(app)
    return access_guard(app, policy, scheduler)


def openapi(app: FastAPI, card: dict[str, Any]) -> dict[str, Any]:
    """FastAPI's OpenAPI document, with this server's own facts.

    Invalid bodies get 400, not FastAPI's 422; the languages are the model's, once it is loaded.
    """
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    for operation in operations:
        operation["responses"].pop("422", None)
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    if card:
        forms = document["paths"]["/translate"]["post"]["requestBody"]["content"].values()
        inline = [form["schema"] for form in forms if "properties" in form["schema"]]
        for schema in (schemas["LibreTranslateRequest"], *inline):
            source, target = card["source_language"], card["target_language"]
            schema["properties"]["source"] = {"enum": ["auto", source], "default": "auto"}
            schema["properties"]["target"] = {"enum": [target]}
    document["components"]["securitySchemes"] = {"api_key": {"type": "http", "scheme": "bearer"}}
    return document
