"""Self-contained HTML export: complete, isolated, safe for any sentence."""

import base64
import hashlib
import json
import re
import subprocess
import sys

import pytest

from dhyan.insight.trace import Trace, trace
from dhyan.studio.export_html import export_html, export_trace, interactive
from dhyan.studio.model_cards import trace_card
from dhyan.studio.page_files import STATIC
from tests.insight.test_explain import ENGLISH, translator_of

NAMESPACES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML")


@pytest.fixture(scope="module")
def example_trace():
    return trace(translator_of(("transformer", "transformer")), ENGLISH[0], model="mine")


@pytest.fixture(scope="module")
def page(example_trace):
    return export_trace(example_trace)


def imports(page):
    [text] = re.findall(r'<script type="importmap">(.*?)</script>', page, re.S)
    return json.loads(text)["imports"]


def source(url):
    return base64.b64decode(url.partition("base64,")[2]).decode()


def files(suffixes):
    folder = STATIC.joinpath("js").parent
    return [path for path in folder.rglob("*") if path.suffix in suffixes]


def test_no_static_file_names_another_host():
    for path in files({".js", ".css", ".html", ".svg"}):
        text = path.read_text(encoding="utf-8")
        for name in NAMESPACES:
            text = text.replace(name, "")
        assert not re.search(r"https?://|['\"(]//\w", text), path


def test_every_imported_module_is_embedded(page):
    modules = imports(page)
    assert "dhyan/main.js" in modules
    assert "dhyan/views/heads.js" in modules
    assert "dhyan/views/step.js" not in modules
    for url in modules.values():
        text = source(url)
        names = re.findall(r"""\b(?:from|import)\s*\(?\s*["'`]([^"'`]+)["'`]""", text)
        assert all(name in modules or "${" in name for name in names)
        assert "import.meta" not in text
    assert not re.search(r'(?:href|src)="/', page)
    assert "/font/noto-sans-devanagari.ttf" not in page


def test_only_the_embedded_scripts_may_run(page):
    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', page)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    assert page.index("Content-Security-Policy") < page.index("<style>") < page.index("<script")
    for tag in ("style", 'script type="importmap"', 'script type="module"'):
        [text] = re.findall(rf"<{tag}>(.*?)</", page, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_a_sentence_cannot_inject_html(example_trace):
    fields = json.loads(example_trace.to_json())
    fields["text"] = fields["translation"] = "</script><script>alert(1)</script><!--\u2028"
    page = export_html(json.dumps(fields), trace_card("<b>", fields))
    assert page.count("<script") == 3
    assert "alert(1)</script>" not in page
    assert "<b>" not in page.partition("</style>")[0].partition("<style>")[0]
    responses = page.partition('id="embedded-responses">')[2].partition("</script>")[0]
    assert json.loads(responses)["/api/translate"] == fields


def test_the_font_has_every_devanagari_character_of_the_page(page):
    from io import BytesIO

    from fontTools.ttLib import TTFont

    [font] = re.findall(r'url\("data:font/woff;base64,([^"]+)"\)', page)
    font_characters = set(TTFont(BytesIO(base64.b64decode(font))).getBestCmap())
    texts = page + "".join(map(source, imports(page).values()))
    assert {ord(char) for char in texts if "\u0904" <= char <= "\u096f"} <= font_characters


def test_a_notebook_shows_a_sandboxed_frame(example_trace):
    frame = interactive(example_trace, height=400)._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts" ')
    assert 'height="400"' in frame
    assert frame.count("<") == 2  # the frame's own two tags


def test_a_notebook_shows_a_trace_as_a_picture_and_never_as_html(example_trace):
    bundle = example_trace._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png", "image/svg+xml"}
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert (
        bundle["image/svg+xml"]
        == Trace.from_json(example_trace.to_json())._repr_mimebundle_()["image/svg+xml"]
    )


@pytest.mark.parametrize("words", [True, False])
def test_a_trace_gives_the_maps_that_explain_gives(words):
    import torch

    from dhyan.insight.explain import explain

    translator = translator_of(("transformer", "transformer"))
    own_trace = trace(translator, ENGLISH[0], beam=2)
    maps = explain(translator, ENGLISH[0], beam=2, words=words)
    for block, expected in zip(own_trace.attention, maps, strict=True):
        attention = own_trace.map(block, words=words)
        assert (attention.name, attention.source, attention.target) == (
            expected.name,
            expected.source,
            expected.target,
        )
        torch.testing.assert_close(attention.weights, expected.weights)


def test_export_needs_no_web_packages():
    """A notebook needs nothing of the studio extra."""
    code = (
        "import sys; sys.modules.update(fastapi=None, pydantic=None, uvicorn=None, starlette=None);"
        "import dhyan.studio.export_html"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
