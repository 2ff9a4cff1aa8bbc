"""The server of the page: what is asked over the loopback interface, and what is answered."""

from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response

from dhyan.errors import UserError
from dhyan.studio import static_files as pages
from dhyan.studio.loopback import Guard
from dhyan.studio.registry import Shelf
from dhyan.studio.routes import (
    figures,
    gravity,
    head,
    heads,
    length,
    mask,
    models,
    step,
    trainings,
    translate,
)
from dhyan.studio.saved_trace import Alone

QUESTIONS = (models, translate, step, head, heads, mask, length, gravity, trainings, figures)


def make_app(shelf: Shelf) -> FastAPI:
    """All routes over a shelf of models."""
    app = FastAPI(
        title="dhyan studio", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json"
    )
    app.add_middleware(Guard)
    app.add_exception_handler(UserError, _fault)
    app.add_exception_handler(Alone, _alone)
    app.add_exception_handler(RequestValidationError, _misfit)
    for questions in QUESTIONS:
        questions.add(app, shelf)
    pages.add(app)
    return app


async def _fault(request: Any, fault: Exception) -> Response:
    return JSONResponse({"problem": str(fault)}, status_code=400)


async def _alone(request: Any, fault: Exception) -> Response:
    """The page has words of its own for this."""
    return JSONResponse({"problem": str(fault), "key": "alone"}, status_code=400)


async def _misfit(request: Any, error: Any) -> Response:
    """What does not fit, without sending it back."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return JSONResponse({"problem": f"{where}: {first['msg']}"}, status_code=422)
