"""Routes without a model: liveness, the registry, and the colour tables."""

from dataclasses import asdict
from typing import Any

from fastapi import FastAPI

from dhyan.studio.registry import ModelRegistry


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add the routes."""

    @app.get("/livez")
    def livez() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/api/models")
    def models() -> list[dict[str, Any]]:
        return [asdict(model.card()) for model in registry.models.values()]

    @app.get("/api/models/pending")
    def pending() -> list[dict[str, Any]]:
        return [asdict(model) for model in registry.pending()]

    @app.get("/api/colours")
    def colours() -> dict[str, Any]:
        from dhyan.insight.colors import weight_colors

        return weight_colors()
