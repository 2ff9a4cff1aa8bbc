"""Injection: hostile texts stay text as input, output and labels."""

import json
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from dhyan.studio.registry import ModelRegistry
from tests.browser.conftest import Studio, serving

CALLS = ("alert(1)", "confirm`1`", "top.done=1", "fetch('//x.example')")
SHAPES = (
    "<script>{}</script>",
    "</script><script>{}</script>",
    "<img src=x onerror={}>",
    "<svg onload={}>",
    "<svg><script>{}</script></svg>",
    "<iframe srcdoc='<script>{}</script>'>",
    "<a href='javascript:{}'>x</a>",
    "javascript:{}",
    "<body onload={}>",
    "<math><mtext onclick={}>",
    "'><img src=x onerror={}>",
    '"><img src=x onerror={}>',
    "'-{}-'",
    '";{}//',
    "${{{}}}",
    "{{{{{}}}}}",
    "<details open ontoggle={}>",
    "<input autofocus onfocus={}>",
    "<style>@import '//x.example';{}",
    "<link rel=stylesheet href=//x.example onload={}>",
    "<object data='javascript:{}'>",
    "<embed src='data:text/html,<script>{}</script>'>",
    "<base href=//x.example/><p>{}",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    "<!--<img src='--><img src=x onerror={}>'>",
    "<img src=x onerror=\u2028{}>",
    "<ScRiPt>{}</sCrIpT>",
    "&lt;script&gt;{}&lt;/script&gt;",
    "\u202e<script>{}</script>",
    "<template><script>{}</script></template>",
    "]]><script>{}</script>",
    "<noscript><p title='</noscript><img src=x onerror={}>'>",
    "<video><source onerror={}>",
    "<audio src onerror={}>",
    "<marquee onstart={}>",
    "<form action='javascript:{}'><button>",
    "<isindex type=image src=1 onerror={}>",
    "<select onfocus={} autofocus>",
    "<textarea onfocus={} autofocus>",
    "<keygen onfocus={} autofocus>",
    "<table background='javascript:{}'>",
    "<x onclick={}>x",
    "<button onclick={}>x",
    "<p style='x:expression({})'>",
    "<div style=\"background:url('javascript:{}')\">",
    "%3Cscript%3E{}%3C/script%3E",
    "\\u003cscript\\u003e{}\\u003c/script\\u003e",
    "<script\x0c>{}</script>",
    "<img src=`x` onerror={}>",
    "<svg><animate onbegin={} attributeName=x>",
    "<svg><use href='data:image/svg+xml,{}#x'/>",
)
HOSTILE = [shape.format(call) for shape, call in product(SHAPES, CALLS)]
AT_ONCE = 52
SHOWS = """(text) => {
  const bare = (words) => words.replace(/\\s/g, "");
  const cells = [...document.querySelectorAll("[role=gridcell]")];
  return cells.length === 1 && bare(cells[0].getAttribute("aria-label")).includes(bare(text));
}"""
TYPE_EACH = f"""async (texts) => {{
  const says = {SHOWS};
  const wrong = [];
  for (const text of texts) {{
    const box = document.querySelector("#sentence");
    box.value = text;
    box.dispatchEvent(new InputEvent("input", {{ bubbles: true }}));
    const enter = {{ key: "Enter", bubbles: true, cancelable: true }};
    box.dispatchEvent(new KeyboardEvent("keydown", enter));
    const until = performance.now() + 120000;
    while (!says(text) && performance.now() < until) await new Promise((go) => setTimeout(go, 2));
    if (!says(text) || document.querySelector("#sentence").value !== text) wrong.push(text);
  }}
  return wrong;
}}"""
WATCH = """window.reports = [];
document.addEventListener("securitypolicyviolation", (event) => reports.push(event.blockedURI));
"""


def as_trace(text):
    """A saved trace whose every label is the text."""
    token = {"text": text, "id": 9, "word": 0, "special": False}
    side = {"tokens": [token], "words": [text]}
    block = {"name": text, "layer": 1, "shape": [1, 1, 1], "data": "AACAPw=="}
    return {
        "schema": "dhyan-trace/2", "model": text, "text": text, "translation": text,
        "finished": True, "score": -1.0, "source": side, "decoder_input": side, "target": side,
        "steps": [{"logprob": -0.5, "top_tokens": [[text, 0.6]]}],
        "attention": [{**block, "role": role} for role in ("encoder_self", "decoder_self", "cross")],
    }  # fmt: skip


def test_there_are_two_hundred_hostile_texts():
    assert len(set(HOSTILE)) >= 200


@pytest.mark.parametrize("first", range(0, len(HOSTILE), AT_ONCE))
def test_hostile_output_and_labels_stay_text(browser, tmp_path, first):
    texts = HOSTILE[first : first + AT_ONCE]
    files = []
    for number, text in enumerate(texts):
        files.append(Path(tmp_path / f"t{number}.json"))
        files[-1].write_text(json.dumps(as_trace(text)))
    with serving(ModelRegistry([], files)) as address:
        opened = Studio(browser, address)
        page = opened.open("/translate?model=t0")
        page.evaluate(WATCH)
        for number, text in enumerate(texts):
            page.locator("#model").select_option(f"t{number}")
            page.wait_for_function(SHOWS, arg=text)
        assert page.evaluate("window.reports") == []
        assert page.evaluate("window.done") is None
        opened.close()
    assert not opened.wrong
    assert not opened.foreign


def echo_trace(route):
    """Respond with a trace whose source is the requested text."""
    text = route.request.post_data_json["text"]
    echo = as_trace(text)
    trace = {**as_trace("said"), "text": text, "source": echo["source"]}
    body = f"event: done\ndata: {json.dumps(trace)}\n\n"
    route.fulfill(body=body, content_type="text/event-stream")


def test_hostile_input_stays_text(studio):
    page = studio.open("/translate?model=bahdanau")
    page.evaluate(WATCH)
    page.route("**/api/translate/stream", echo_trace)
    assert page.evaluate(TYPE_EACH, HOSTILE) == []
    page.unroute("**/api/translate/stream")
    page.locator("#sentence").fill(HOSTILE[0])  # once with the model itself
    page.locator("#sentence").press("Enter")
    expect(page.locator("[role=gridcell]").nth(1)).to_be_visible()
    assert page.locator("#sentence").input_value() == HOSTILE[0]
    assert page.evaluate("window.reports") == []
    assert page.evaluate("window.done") is None


@pytest.mark.parametrize("text", HOSTILE[1::20])
def test_hostile_url_stays_text(studio, text):
    page = studio.open(
        f"/translate?text={quote(text)}&model=bahdanau&run={quote(text)}&toy={quote(text)}"
    )
    expect(page.locator("#sentence")).to_have_value(text)
