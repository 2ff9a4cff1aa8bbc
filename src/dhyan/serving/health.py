"""Whether the server lives, whether it can be asked, and what it counts."""

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse, Response

from dhyan.serving import errors as refusals
from dhyan.serving.openapi import asks
from dhyan.serving.scheduler import Desk
from dhyan.serving.service import Service


def add(app: FastAPI, service: Service) -> None:
    """The routes of those who watch over it."""
    desk = service.desk

    @app.get("/livez", response_class=PlainTextResponse, **asks())
    async def livez() -> Response:
        """The process answers."""
        return PlainTextResponse("alive\n")

    @app.get("/readyz", response_class=PlainTextResponse, **asks())
    async def readyz() -> Response:
        """The model is there, and translates the canary as it should."""
        if desk.draining:
            raise refusals.ending()
        if not desk.keeper.ready:
            raise refusals.unready(desk.keeper.reason)
        return PlainTextResponse("ready\n")

    add_metrics(app, desk)


def add_metrics(app: FastAPI, desk: Desk) -> None:
    """The route of what is counted."""

    @app.get("/metrics", response_class=PlainTextResponse, **asks())
    async def metrics() -> Response:
        """Counts and times, for Prometheus."""
        gauges = {
            "dhyan_ready": ("Whether the model can be asked", float(desk.keeper.ready)),
            "dhyan_queue_texts": ("Texts that wait", float(len(desk.waiting))),
            "dhyan_queue_work": ("Their tokens times beam", float(desk.waiting.cost)),
            "dhyan_open_requests": ("Requests accepted and not over", float(desk.open)),
            "dhyan_model_starts": ("How often the model was started", float(desk.keeper.starts)),
        }
        told = desk.metrics.text(gauges)
        return PlainTextResponse(told, media_type="text/plain; version=0.0.4")
