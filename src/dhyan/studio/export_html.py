"""Self-contained HTML page with a translation's trace, or a model: scripts, styles, a subset font.

The file opens from a disk without a server or network. Its modules cannot import each other by
path, so each is a `data:` URL under a name in an import map.
"""

import base64
import hashlib
import html
import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from dhyan.errors import UserError
from dhyan.insight.colors import weight_colors
from dhyan.studio.model_cards import ModelCard, trace_card
from dhyan.studio.page_files import STATIC, catalogue

if TYPE_CHECKING:
    from dhyan.insight.trace import Trace

MAIL_BYTES = 12_000_000  # most mail servers take 20 MB, and attach files a third larger
ENTRY_MODULE = "main.js"
FONT = 'url("/font/noto-sans-devanagari.ttf") format("truetype")'

FontFormat = Literal["ttf", "woff"]

# `from "./x.js"`, `import "./x.js"` and `import("./x.js")`; of the last also `views/${name}.js`.
_IMPORT = re.compile(r"""(\bfrom\s*|\bimport\s*\(?\s*)(["'`])(\.{1,2}/[^"'`]+)\2""")
_STATEMENT = re.compile(r"""^import (\{[^}]*\}) from "(\./[^"]+)";""", re.M)  # not in a comment
_EXPORT = re.compile(r"^export (?=async |class |const |function )", re.M)
_EXPORTED = re.compile(
    r"^export (?:async )?(?:class|const|function)\*? (?:\[([^\]]*)\]|(\w+))", re.M
)
_STYLE = re.compile(r'<link rel="stylesheet" href="/static/([^"]+)">\n?')
_VIEW = re.compile(r"css/views/(\w+)\.css")


def export_html(
    trace_json: str,
    card: ModelCard,
    recorded: Mapping[str, Any] | None = None,
    tensors: bytes = b"",
) -> str:
    """The page with a trace inside, and with recorded responses about its sentence."""
    responses = {
        **(recorded or {}),
        "/api/models": [asdict(card)],
        "/api/colors": weight_colors(),
        "/api/translate": json.loads(trace_json),
    }
    shown_text = trace_json + json.dumps(recorded, ensure_ascii=False)
    blocks = {"embedded-tensors": base64.b64encode(tensors).decode()} if tensors else None
    return standalone_page(
        responses, card.views, title=card.saved, shown_text=shown_text, blocks=blocks
    )


def standalone_page(
    responses: Mapping[str, Any],
    views: tuple[str, ...],
    *,
    title: str,
    shown_text: str,
    blocks: Mapping[str, str] | None = None,
    worker: bool = False,
) -> str:
    """The page as one file, with the server's responses and only these views.

    The font has the characters of `shown_text`. `blocks` are further data by element id, JSON or
    base64; `worker` says that they hold one.
    """
    names = _required_modules(ENTRY_MODULE, *(f"views/{view}.js" for view in views))
    catalogues = {f"/static/text/{language}.json": catalogue(language) for language in ("en", "hi")}
    texts = json.dumps(catalogues, ensure_ascii=False)
    font = subset_font("".join(map(_module, names)) + texts + shown_text, "woff")
    style = _styles(views).replace(FONT, _data_url(font, "font/woff"))
    import_map = safe_json({"imports": {f"dhyan/{name}": _module_url(name) for name in names}})
    start = f'import "dhyan/{ENTRY_MODULE}";'
    policy = _security_policy(style, import_map, start, worker=worker)
    page = _STYLE.sub("", (STATIC / "index.html").read_text(encoding="utf-8"))
    data = {"embedded-responses": safe_json({**responses, **catalogues}), **(blocks or {})}
    for old, new in {  # the data come last, so that nothing is replaced in them
        "<html ": "<html data-standalone ",
        '<meta charset="utf-8">': f'<meta charset="utf-8">\n{policy}',
        "/static/icon.svg": _data_url((STATIC / "icon.svg").read_bytes(), "image/svg+xml"),
        "<title>dhyan studio</title>": f"<title>{html.escape(title)} · dhyan</title>",
        '<script type="module" src="/static/js/main.js"></script>': "\n".join(
            (
                f"<style>{style}</style>",
                *(
                    f'<script type="application/json" id="{name}">{text}</script>'
                    for name, text in data.items()
                ),
                f'<script type="importmap">{import_map}</script>',
                f'<script type="module">{start}</script>',
            )
        ),
    }.items():
        assert page.count(old) == 1, f"index.html has no single {old}"
        page = page.replace(old, new)
    return page


def export_trace(trace: "Trace") -> str:
    """The page with a trace, without its model's card."""
    trace_json = trace.to_json()
    card = trace_card(trace.model or "model", json.loads(trace_json))
    return export_html(trace_json, card)


def trace_only_card(card: ModelCard, trace_json: str) -> ModelCard:
    """A model's card for a page that has only this trace of it."""
    saved_card = trace_card(card.name, json.loads(trace_json))
    return replace(card, saved=saved_card.saved, views=saved_card.views)


@dataclass(frozen=True)
class Interactive:
    """A trace as an interactive view in a notebook, in a sandboxed frame."""

    trace: "Trace"
    height: int = 720

    def _repr_html_(self) -> str:
        """A frame of fixed height; several in one notebook are independent."""
        page = html.escape(export_trace(self.trace))
        title = html.escape(f"{self.trace.text} → {self.trace.translation}")
        return (
            f'<iframe sandbox="allow-scripts" title="{title}" width="100%" '
            f'height="{self.height}" frameborder="0" srcdoc="{page}"></iframe>'
        )


def interactive(trace: "Trace", *, height: int = 720) -> Interactive:
    """The interactive view of a trace for a notebook."""
    return Interactive(trace, height)


def _security_policy(style: str, *scripts: str, worker: bool) -> str:
    """Nothing may be fetched, and only these scripts may run."""
    hashes = " ".join(_hash(script) for script in scripts)
    rules = (
        f"default-src 'none'; script-src data: {hashes}; style-src {_hash(style)}; font-src data:; "
        "img-src data: blob:; media-src data:; base-uri 'none'; form-action 'none'"
        + ("; worker-src data:" if worker else "")
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def safe_json(value: Any) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _data_url(content: bytes, media_type: str) -> str:
    url = f"data:{media_type};base64,{base64.b64encode(content).decode()}"
    return f'url("{url}")' if media_type.startswith("font/") else url


def _module_url(name: str) -> str:
    return _data_url(_with_import_names(name).encode(), "text/javascript;charset=utf-8")


@lru_cache
def worker_url(name: str) -> str:
    """A module and all that it imports in one `data:` URL: a worker has no import map.

    Every module becomes a function that returns its exports, after those that it imports.
    """
    order: dict[str, str] = {}

    def add(module: str) -> None:
        if module in order:
            return
        source, imports = _module(module), []
        for names, path in _STATEMENT.findall(source):
            imported = _resolve(module, path)
            add(imported)
            imports.append(f"const {names} = {_variable(imported)};")
        exports = ", ".join(_exported(source))
        body = _EXPORT.sub("", _STATEMENT.sub("", source))
        lines = [f"const {_variable(module)} = (() => {{", *imports, body]
        order[module] = "\n".join([*lines, f"return {{ {exports} }};", "})();"])

    add(name)
    exports = ", ".join(_exported(_module(name)))
    source = "\n".join([*order.values(), f"export const {{ {exports} }} = {_variable(name)};"])
    return _data_url(source.encode(), "text/javascript;charset=utf-8")


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _exported(source: str) -> list[str]:
    """The names that a module exports."""
    names = [name or several for several, name in _EXPORTED.findall(source)]
    return [name.strip() for group in names for name in group.split(",")]


def _styles(views: Iterable[str]) -> str:
    """All linked styles except those of views that are left out."""
    linked = _STYLE.findall((STATIC / "index.html").read_text(encoding="utf-8"))
    included = (
        name for name in linked if (view := _VIEW.fullmatch(name)) is None or view[1] in views
    )
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in included)


def _required_modules(*entries: str) -> list[str]:
    """These modules and all that they import, directly or not."""
    queue, modules = list(entries), set[str]()
    while queue:
        name = queue.pop()
        if name not in modules:
            modules.add(name)
            imports = [_resolve(name, match[2]) for match in _IMPORT.findall(_module(name))]
            queue += [path for path in imports if "${" not in path]
    return sorted(modules)


def _module(name: str) -> str:
    return (STATIC / "js" / name).read_text(encoding="utf-8")


def _with_import_names(name: str) -> str:
    """A module whose imports are rewritten to names of the import map."""
    return _IMPORT.sub(
        lambda match: f"{match[1]}{match[2]}dhyan/{_resolve(name, match[3])}{match[2]}",
        _module(name),
    )


def _resolve(name: str, path: str) -> str:
    """The module a relative path refers to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def subset_font(text: str, file_format: FontFormat = "ttf") -> bytes:
    """The Devanagari font with only the characters of a text, their conjuncts, and all weights.

    Latin characters are left to the reader's own fonts, as on the page.
    """
    return _subset("".join(sorted({char for char in text if not char.isascii()})), file_format)


@lru_cache(maxsize=32)
def _subset(characters: str, file_format: FontFormat) -> bytes:
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont
    from fontTools.varLib.instancer import instantiateVariableFont

    from dhyan.insight.fonts import devanagari_file

    path = devanagari_file()
    if path is None:
        raise UserError("there is no Devanagari font: pip install fontpkg-noto-sans-devanagari")
    font = TTFont(path, lazy=False)
    subsetter = Subsetter(Options(layout_features=["*"], hinting=False))
    subsetter.populate(text=characters)
    subsetter.subset(font)
    instantiateVariableFont(font, {"wdth": 100}, inplace=True)
    font.flavor = None if file_format == "ttf" else file_format
    buffer = BytesIO()
    font.save(buffer)
    return buffer.getvalue()
