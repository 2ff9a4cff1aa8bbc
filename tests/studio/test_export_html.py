"""Self-contained HTML export: complete, isolated, safe for any sentence."""

import base64
import hashlib
import json
import re
import subprocess
import sys

import pytest

from dhyan.insight.trace import Trace, trace
from dhyan.studio.export_html import STATIC, export_html, export_trace, interactive
from dhyan.studio.model_cards import trace_card
from tests.insight.test_explain import ENGLISH, translator_of

NAMESPACES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML")


@pytest.fixture(scope="module")
def seen():
    return trace(translator_of(("transformer", "transformer")), ENGLISH[0], model="mine")


@pytest.fixture(scope="module")
def made(seen):
    return export_trace(seen)


def imports(made):
    [text] = re.findall(r'<script type="importmap">(.*?)</script>', made, re.S)
    return json.loads(text)["imports"]


def source(url):
    return base64.b64decode(url.partition("base64,")[2]).decode()


def files(suffixes):
    folder = STATIC.joinpath("js").parent
    return [one for one in folder.rglob("*") if one.suffix in suffixes]


def test_no_static_file_names_another_host():
    for one in files({".js", ".css", ".html", ".svg"}):
        text = one.read_text(encoding="utf-8")
        for name in NAMESPACES:
            text = text.replace(name, "")
        assert not re.search(r"https?://|['\"(]//\w", text), one


def test_every_imported_module_is_embedded(made):
    found = imports(made)
    assert "dhyan/main.js" in found
    assert "dhyan/views/heads.js" in found
    assert "dhyan/views/step.js" not in found
    for url in found.values():
        text = source(url)
        named = re.findall(r"""\b(?:from|import)\s*\(?\s*["'`]([^"'`]+)["'`]""", text)
        assert all(one in found or "${" in one for one in named)
        assert "import.meta" not in text
    assert not re.search(r'(?:href|src)="/', made)
    assert "/font/deva.ttf" not in made


def test_only_the_embedded_scripts_may_run(made):
    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', made)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    assert made.index("Content-Security-Policy") < made.index("<style>") < made.index("<script")
    for kind in ("style", 'script type="importmap"', 'script type="module"'):
        [text] = re.findall(rf"<{kind}>(.*?)</", made, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_a_sentence_cannot_inject_html(seen):
    parts = json.loads(seen.to_json())
    parts["text"] = parts["translation"] = "</script><script>alert(1)</script><!--\u2028"
    found = export_html(json.dumps(parts), trace_card("<b>", parts))
    assert found.count("<script") == 3
    assert "alert(1)</script>" not in found
    assert "<b>" not in found.partition("</style>")[0].partition("<style>")[0]
    held = found.partition('id="held">')[2].partition("</script>")[0]
    assert json.loads(held)["/api/translate"] == parts


def test_the_font_has_every_devanagari_character_of_the_page(made):
    from io import BytesIO

    from fontTools.ttLib import TTFont

    [font] = re.findall(r'url\("data:font/woff;base64,([^"]+)"\)', made)
    held = set(TTFont(BytesIO(base64.b64decode(font))).getBestCmap())
    shown = made + "".join(map(source, imports(made).values()))
    assert {ord(one) for one in shown if "\u0904" <= one <= "\u096f"} <= held


def test_a_notebook_shows_a_sandboxed_frame(seen):
    shown = interactive(seen, height=400)._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts" ')
    assert 'height="400"' in shown
    assert shown.count("<") == 2  # the frame's own two tags


def test_a_notebook_shows_a_trace_as_a_picture_and_never_as_html(seen):
    shown = seen._repr_mimebundle_()
    assert set(shown) == {"text/plain", "image/png", "image/svg+xml"}
    assert base64.b64decode(shown["image/png"]).startswith(b"\x89PNG")
    assert (
        shown["image/svg+xml"]
        == Trace.from_json(seen.to_json())._repr_mimebundle_()["image/svg+xml"]
    )


@pytest.mark.parametrize("words", [True, False])
def test_a_trace_gives_the_maps_that_explain_gives(words):
    import torch

    from dhyan.insight.explain import explain

    translator = translator_of(("transformer", "transformer"))
    found = trace(translator, ENGLISH[0], beam=2)
    maps = explain(translator, ENGLISH[0], beam=2, words=words)
    for block, own in zip(found.attention, maps, strict=True):
        made = found.map(block, words=words)
        assert (made.name, made.source, made.target) == (own.name, own.source, own.target)
        torch.testing.assert_close(made.weights, own.weights)


def test_export_needs_no_web_packages():
    """A notebook needs nothing of the studio extra."""
    code = (
        "import sys; sys.modules.update(fastapi=None, pydantic=None, uvicorn=None, starlette=None);"
        "import dhyan.studio.export_html"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
