"""The page itself: one document for every view, its modules and styles, and the font for Hindi."""

from importlib.resources import files

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles

STATIC = files("dhyan.studio") / "static"
VIEWS = (
    "translate", "step", "qkv", "heads", "mask", "gravity", "scale", "length", "train", "compare",
)  # fmt: skip
FOREVER = {"cache-control": "public, max-age=31536000, immutable"}


def add(app: FastAPI) -> None:
    """A page for every view, and what it loads."""
    app.mount("/static", StaticFiles(directory=str(STATIC)), name="static")
    page = (STATIC / "index.html").read_text(encoding="utf-8")

    @app.get("/font/deva.ttf", include_in_schema=False)
    def font() -> Response:
        from dhyan.insight.fonts import devanagari_file

        found = devanagari_file()
        if found is None:
            return Response(status_code=404)
        return FileResponse(found, media_type="font/ttf", headers=FOREVER)

    @app.get("/", include_in_schema=False)
    @app.get("/{view:path}", include_in_schema=False)
    def view(view: str = "translate") -> Response:
        known = (view or "translate") in VIEWS
        return HTMLResponse(page) if known else HTMLResponse(_missing(), status_code=404)


def _missing() -> str:
    links = "".join(f'<li><a href="/{one}">{one}</a></li>' for one in VIEWS)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Not here · dhyan</title>'
        '<link rel="stylesheet" href="/static/css/base.css">'
        f"<main><h1>There is no such view</h1><p>These there are:</p><ul>{links}</ul></main></html>"
    )
