"""The page as one file: a trace, the studio's own modules and styles, and the letters it needs.

It opens from a disk without a server and without a network. Modules cannot name each other by
path in such a page, so each gets a name in an import map, under which it stands as a `data:` URL.
"""

import base64
import hashlib
import html
import json
import posixpath
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dhyan.insight.colors import weight_colors
from dhyan.studio.font_subset import subset
from dhyan.studio.model_cards import Card, saved_card

if TYPE_CHECKING:
    from dhyan.insight.trace import Trace

STATIC = files("dhyan.studio") / "static"
START = "main.js"
FONT = 'url("/font/deva.ttf") format("truetype")'

# `from "./x.js"`, `import "./x.js"` and `import("./x.js")`; of the last also `views/${name}.js`.
_IMPORT = re.compile(r"""(\bfrom\s*|\bimport\s*\(?\s*)(["'`])(\.{1,2}/[^"'`]+)\2""")
_STYLE = re.compile(r'<link rel="stylesheet" href="/static/([^"]+)">\n?')
_VIEW = re.compile(r"css/views/(\w+)\.css")


def page(told: str, card: Card) -> str:
    """A trace's JSON as a page of its own."""
    modules = "".join(_module(name) for name in _reached(card.views))
    style = _styles(card.views).replace(FONT, _data(subset(modules + told, "woff"), "font/woff"))
    answers = {"/api/models": [asdict(card)], "/api/colours": weight_colors()}
    map_ = _safe({"imports": {f"dhyan/{name}": _url(name) for name in _reached(card.views)}})
    start = f'import "dhyan/{START}";'
    held = _safe({**answers, "/api/translate": json.loads(told)})
    found = _STYLE.sub("", (STATIC / "index.html").read_text(encoding="utf-8"))
    for old, new in {  # words of the trace come last, so that nothing is sought in them
        "<html ": "<html data-alone ",
        '<meta charset="utf-8">': f'<meta charset="utf-8">\n{_policy(style, map_, start)}',
        "/static/icon.svg": _data((STATIC / "icon.svg").read_bytes(), "image/svg+xml"),
        '<script type="module" src="/static/js/main.js"></script>': "\n".join(
            (
                f"<style>{style}</style>",
                f'<script type="application/json" id="held">{held}</script>',
                f'<script type="importmap">{map_}</script>',
                f'<script type="module">{start}</script>',
            )
        ),
        "<title>dhyan studio</title>": f"<title>{html.escape(card.saved)} · dhyan</title>",
    }.items():
        assert found.count(old) == 1, f"index.html has no single {old}"
        found = found.replace(old, new)
    return found


def page_of(trace: "Trace") -> str:
    """A trace as a page of its own."""
    told = trace.to_json()
    return page(told, saved_card(trace.model or "model", json.loads(told)))


def as_saved(card: Card, told: str) -> Card:
    """A model's card for a page that has only this trace of it."""
    own = saved_card(card.name, json.loads(told))
    return replace(card, saved=own.saved, views=own.views)


@dataclass(frozen=True)
class Interactive:
    """A trace to walk through in a notebook, in a frame that can reach nothing else."""

    trace: "Trace"
    height: int = 720

    def _repr_html_(self) -> str:
        """A frame of fixed height; two in one notebook know nothing of each other."""
        held = html.escape(page_of(self.trace))
        title = html.escape(f"{self.trace.text} → {self.trace.translation}")
        return (
            f'<iframe sandbox="allow-scripts" title="{title}" width="100%" '
            f'height="{self.height}" frameborder="0" srcdoc="{held}"></iframe>'
        )


def interactive(trace: "Trace", *, height: int = 720) -> Interactive:
    """What a notebook shows of a trace when asked for more than a picture."""
    return Interactive(trace, height)


def _policy(style: str, *scripts: str) -> str:
    """Nothing may be fetched, and nothing run but what was put in here."""
    run = " ".join(_hash(one) for one in scripts)
    rules = (
        f"default-src 'none'; script-src data: {run}; style-src {_hash(style)}; font-src data:; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _safe(value: Any) -> str:
    """JSON that no reader of HTML takes for a tag."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _data(content: bytes, kind: str) -> str:
    url = f"data:{kind};base64,{base64.b64encode(content).decode()}"
    return f'url("{url}")' if kind.startswith("font/") else url


def _url(name: str) -> str:
    return _data(_named(name).encode(), "text/javascript;charset=utf-8")


def _styles(views: Iterable[str]) -> str:
    """All styles that the page links, but for those of views that are not here."""
    linked = _STYLE.findall((STATIC / "index.html").read_text(encoding="utf-8"))
    kept = (name for name in linked if (own := _VIEW.fullmatch(name)) is None or own[1] in views)
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in kept)


def _reached(views: tuple[str, ...]) -> list[str]:
    """The modules that the page and these views need, each once."""
    waiting, found = [START, *(f"views/{one}.js" for one in views)], dict[str, None]()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting += [_resolved(name, one[2]) for one in _IMPORT.findall(_module(name))]
            waiting = [one for one in waiting if "${" not in one]
    return sorted(found)


def _module(name: str) -> str:
    return (STATIC / "js" / name).read_text(encoding="utf-8")


def _named(name: str) -> str:
    """A module whose imports are names of the import map."""
    return _IMPORT.sub(
        lambda one: f"{one[1]}{one[2]}dhyan/{_resolved(name, one[3])}{one[2]}", _module(name)
    )


def _resolved(name: str, path: str) -> str:
    """What a path means in a module."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
