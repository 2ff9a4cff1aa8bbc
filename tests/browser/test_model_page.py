"""A page with a model inside, opened from a file: it translates as the model does, and stays alive."""

import lzma
import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from fastapi.testclient import TestClient
from playwright.sync_api import expect

from benchmarks.model_page import differing, generated_sentences
from dhyan.pretrained import TRANSLATORS, find_pretrained
from dhyan.run import load
from dhyan.studio.export_model import export_model
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.server import make_app
from tests.browser.conftest import Studio, new_context
from tests.plain_search import in_pytorch
from tests.studio.page_answers import assert_alike

QUICK = ("en-hi-transformer", "en-hi-luong", "en-fr-bahdanau")  # the others: make test-all

DATA = Path(os.environ.get("DHYAN_DATA", Path(__file__).parents[3] / "shared" / "data"))
CORPUS = DATA / "tatoeba-en-hi"
FEW, MANY = 25, 200
SENTENCE = "Will you come to my house tomorrow?"
ASK = """async ([path, body]) => {
    const { askModel } = await import("dhyan/embedded_model.js");
    return askModel(path, body);
}"""
CANCEL = """async ([given_up, text]) => {
    const { askModel } = await import("dhyan/embedded_model.js");
    const stop = new AbortController();
    let counted = 0;
    const count = () => {
        counted += 1;
        stop.abort();
    };
    const body = { model: "", beam: 8, prefix: "" };
    const first = askModel("/api/translate", { ...body, text: given_up }, count, stop.signal);
    const second = askModel("/api/translate", { ...body, text });
    const outcome = await first.catch((error) => error.name);
    return [outcome, counted, (await second).text];
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The pages of the pretrained models, written when they are first asked for."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def open_page(browser, folder):
    """Opens the page of a model from its file; fails after any error or request."""
    opened = Studio(browser, folder.as_uri())

    def open_model(name, address="", **options):
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(export_model(name), encoding="utf-8")
        return opened.open(
            f"/{path.name}{address}", viewport={"width": 1280, "height": 900}, **options
        )

    yield open_model
    opened.close()
    assert not opened.foreign
    assert not opened.wrong


def compare(page, name, texts):
    """The page's translations and those of `dhyan translate`, greedy and with beam 4."""
    translator = in_pytorch(load(name))
    for beam in (1, 4):
        different = differing(page, translator, texts, beam)
        print(f"{name}, beam {beam}: {len(texts) - len(different)} of {len(texts)} equal")
        assert not different


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.soak] * (name not in QUICK), id=name)
        for name in TRANSLATORS
    ],
)
def test_a_page_translates_as_the_model_does(open_page, name):
    compare(open_page(name), name, generated_sentences(FEW))


@pytest.mark.soak
@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_page_translates_many_sentences_as_the_model_does(open_page, name):
    compare(open_page(name), name, generated_sentences(MANY))


@pytest.mark.soak
@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"needs the corpus {CORPUS}, which is not there")
@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_page_translates_a_corpus_as_the_model_does(open_page, name):
    with lzma.open(CORPUS / "test.en.xz", "rt", encoding="utf-8") as lines:
        texts = [line.strip() for line in lines][:MANY]
    compare(open_page(name), name, texts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "requests"),
    [
        (
            "en-hi-bahdanau",
            [
                ("/api/translate", {}),
                ("/api/step", {}),
                ("/api/activations", {}),
                ("/api/leak", {"position": 2}),
                ("/api/beam", {"beam": 4}),
                ("/api/layers", {}),
                ("/api/padding", {}),
                ("/api/gravity", {}),
            ],
        ),
        (
            "en-hi-luong",
            [
                ("/api/translate", {"prefix": "क्या"}),
                ("/api/step", {"beam": 3}),
                ("/api/activations", {"beam": 3}),
                ("/api/beam", {"beam": 8}),
                ("/api/padding", {}),
            ],
        ),
        (
            "en-hi-no-attention",
            [
                ("/api/translate", {"beam": 3}),
                ("/api/activations", {}),
                ("/api/beam", {"beam": 3}),
                ("/api/padding", {}),
                ("/api/gravity", {}),
            ],
        ),
        (
            "en-hi-transformer",
            [
                ("/api/translate", {"beam": 3}),
                ("/api/activations", {}),
                ("/api/head", {"role": "encoder_self", "layer": 2, "head": 3}),
                ("/api/head", {"role": "decoder_self", "layer": 1, "head": 1}),
                ("/api/head", {"role": "cross", "layer": 2, "head": 4}),
                ("/api/leak", {"position": 3}),
                ("/api/leak", {"position": 2, "word": "घर", "masked": False}),
                ("/api/heads/importance", {"role": "cross"}),
                ("/api/heads/ablation", {"role": "encoder_self", "layer": 3, "head": 1}),
                ("/api/beam", {"beam": 1}),
                ("/api/beam", {"beam": 5, "prefix": "क्या"}),
                ("/api/layers", {"beam": 2}),
                ("/api/padding", {}),
                ("/api/gravity", {}),
            ],
        ),
    ],
)
def test_a_page_answers_as_the_server_does(open_page, name, requests):
    page = open_page(name)
    app = make_app(ModelRegistry([find_pretrained(name)]))
    client = TestClient(app, base_url="http://127.0.0.1")
    for path, more in requests:
        decoding = {} if path == "/api/gravity" else {"beam": 1, "prefix": ""}
        body = {"text": SENTENCE, "model": name, **decoding, **more}
        response = client.post(path, json=body)
        assert response.status_code == 200, response.text
        assert_alike(page.evaluate(ASK, [path, body]), response.json(), path)


def test_a_page_translates_a_sentence_that_is_typed(open_page):
    page = open_page("en-hi-bahdanau")
    page.wait_for_selector("[role=gridcell]")
    page.fill("#sentence", SENTENCE)
    page.keyboard.press("Enter")
    [expected] = in_pytorch(load("en-hi-bahdanau"))(SENTENCE, beam=1, nbest=1)
    words = page.locator(".pair-target .pair-text")
    page.wait_for_selector("[role=gridcell][aria-label*=tomorrow]")
    assert "".join(words.all_text_contents()).removesuffix("</s>") == expected.text.replace(" ", "")
    page.select_option("#beam", "4")
    expect(page.locator("#status")).to_contain_text("tokens")
    page.click("#model-card")
    expect(page.locator("dialog")).to_contain_text("CC BY 2.0 FR")


def test_a_request_that_is_given_up_does_not_hold_the_next(open_page):
    page = open_page("en-hi-bahdanau")
    long_sentence = " ".join([SENTENCE] * 8)
    assert page.evaluate(CANCEL, [long_sentence, SENTENCE]) == ["AbortError", 1, SENTENCE]


def test_the_page_paints_while_the_worker_translates(open_page):
    page = open_page("en-hi-bahdanau")
    page.wait_for_selector("[role=gridcell]")
    frames = page.evaluate("""async (text) => {
        const { askModel } = await import("dhyan/embedded_model.js");
        let done = false;
        const body = { text, model: "", beam: 8, prefix: "" };
        askModel("/api/translate", body).then(() => { done = true; });
        let frames = 0;
        while (!done) {
            await new Promise(requestAnimationFrame);
            frames += 1;
        }
        return frames;
    }""", " ".join([SENTENCE] * 6))  # fmt: skip
    assert frames > 10


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_a_page_names_its_model_and_its_scores(open_page, width):
    page = open_page("en-hi-bahdanau")
    page.set_viewport_size({"width": width, "height": 844})
    for name, text in ((".model-name", "en-hi-bahdanau"), ("#model-scores", "BLEU 26.7")):
        expect(page.locator(name)).to_contain_text(text)
        right = page.locator(name).bounding_box()
        following = page.locator("#beam").bounding_box()
        assert right["x"] + right["width"] <= following["x"] or right["y"] < following["y"]
        assert page.locator(name).evaluate("own => own.scrollWidth <= own.clientWidth + 1")


def test_a_view_that_needs_the_server_says_so(open_page):
    page = open_page("en-hi-bahdanau", "#/translate?text=Where+is+the+railway+station%3F")
    page.wait_for_selector("[role=gridcell]")
    page.locator("#view").focus()
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page.locator("#status")).to_contain_text("dhyan studio")
    assert "Length" not in page.locator("#navigation").inner_text()
    page.click("#navigation a:has-text('Inside')")
    expect(page.locator("#status")).to_contain_text("agrees with the model")
    page = open_page("en-hi-bahdanau", "#/learning?text=Where+is+the+railway+station%3F")
    expect(page.locator("#view")).to_contain_text("needs `dhyan studio`")


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        ("beam", ".beam-node"),
        ("inside/layers", ".layers-cell"),
        ("inside/mask", ".mask-padding"),
        ("heads", ".head-cell[aria-label*=importance]"),
        ("playground", "[data-stage='8']"),
        ("playground/gravity", ".plot-trail"),
    ],
)
def test_every_room_of_its_kind_works_in_the_page(open_page, view, shown):
    text = "The+bank+of+the+river+is+far."
    page = open_page("en-hi-transformer", f"#/{view}?text={text}&gravity_mode=model")
    expect(page.locator(shown).first).to_be_visible()
    rooms = page.locator(".rooms a").all_inner_texts()
    assert rooms == ["Translate", "Guided tour", "Inside", "Heads", "Beam", "Playground"]
    assert page.get_by_role("button", name="Check with dhyan").count() == 0
    assert "dhyan studio" not in page.locator("#status").inner_text()


def test_a_page_that_is_cut_off_says_so(browser, folder, open_page):
    open_page("en-hi-bahdanau")
    text = (folder / "en-hi-bahdanau.html").read_text(encoding="utf-8")
    start = text.index('id="model-weights">') + 10_000
    cut = folder / "cut.html"
    cut.write_text(text[:start] + text[text.index("</script>", start) :], encoding="utf-8")
    context = new_context(browser)
    page = context.new_page()
    page.goto(cut.as_uri())
    expect(page.locator("#status")).to_contain_text("could not be read")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_and_its_card_are_accessible(open_page, scheme):
    page = open_page("en-hi-bahdanau", color_scheme=scheme, bypass_csp=True)
    page.wait_for_selector("[role=gridcell]")
    assert not Axe().run(page).response["violations"]
    page.click("#model-card")
    page.wait_for_selector("dialog")
    assert not Axe().run(page).response["violations"]
