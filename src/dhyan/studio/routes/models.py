"""Which models there are, and in which colours the page draws."""

from dataclasses import asdict
from typing import Any

from fastapi import FastAPI

from dhyan.studio.registry import Shelf


def add(app: FastAPI, shelf: Shelf) -> None:
    """Routes that need no model."""

    @app.get("/livez")
    def livez() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/api/models")
    def models() -> list[dict[str, Any]]:
        return [asdict(book.card()) for book in shelf.books.values()]

    @app.get("/api/coming")
    def coming() -> list[dict[str, Any]]:
        return [asdict(one) for one in shelf.coming()]

    @app.get("/api/colours")
    def colours() -> dict[str, Any]:
        from dhyan.insight.colors import weight_colors

        return weight_colors()
