"""Static files: one HTML document for every view, modules, styles, and the Devanagari font."""

from importlib.resources import files

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles

STATIC = files("dhyan.studio") / "static"
VIEWS = (
    "translate", "step", "qkv", "heads", "mask", "gravity", "scale", "length", "train", "compare",
)  # fmt: skip
IMMUTABLE = {"cache-control": "public, max-age=31536000, immutable"}


def add(app: FastAPI) -> None:
    """Add the routes of the page and its files."""
    app.mount("/static", StaticFiles(directory=str(STATIC)), name="static")
    page = (STATIC / "index.html").read_text(encoding="utf-8")

    @app.get("/font/deva.ttf", include_in_schema=False)
    def font() -> Response:
        from dhyan.insight.fonts import devanagari_file

        path = devanagari_file()
        if path is None:
            return Response(status_code=404)
        return FileResponse(path, media_type="font/ttf", headers=IMMUTABLE)

    @app.get("/", include_in_schema=False)
    @app.get("/{view:path}", include_in_schema=False)
    def view(view: str = "translate") -> Response:
        known = (view or "translate") in VIEWS
        return HTMLResponse(page) if known else HTMLResponse(_not_found(), status_code=404)


def _not_found() -> str:
    links = "".join(f'<li><a href="/{view}">{view}</a></li>' for view in VIEWS)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Not found · dhyan</title>'
        '<link rel="stylesheet" href="/static/css/base.css">'
        f"<main><h1>There is no such view</h1><p>The views are:</p><ul>{links}</ul></main></html>"
    )
