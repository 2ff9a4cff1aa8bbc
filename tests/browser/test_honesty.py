"""What the page says about itself: notices of doubt, corrections, limits, and other models."""

import json
import threading
import time
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from dhyan.pretrained import model_folder
from dhyan.studio.registry import ModelRegistry, RegisteredModel
from dhyan.studio.request_job import JobCancelledError, check, report
from dhyan.studio.routes import translate
from tests.browser.conftest import Studio, serving
from tests.browser.test_export import download


def test_unknown_words_give_a_notice_that_counts_them(studio):
    page = studio.open(
        f"/translate?text={quote('The zorbl saw a frumious bandersnatch.')}&model=bahdanau"
    )
    notice = page.locator(".quality-notice")
    expect(notice).to_contain_text("of 6 words unknown: expect nonsense.")
    expect(notice).to_contain_text("zorbl")
    assert not Axe().run(page, context=".quality-notice").response["violations"]


def test_words_that_training_never_had_are_unknown_to_a_model_of_subwords(browser):
    with serving(ModelRegistry([model_folder("en-hi-transformer")])) as address:
        opened = Studio(browser, address)
        page = opened.open(f"/translate?text={quote('My friend is waiting at the station.')}")
        page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
        expect(page.locator(".quality-notice")).to_have_count(0)
        page.locator("#sentence").fill("Udifos ojataqoz olexa esibow.")
        page.keyboard.press("Enter")
        expect(page.locator(".quality-notice")).to_contain_text(
            "4 of 4 words unknown: expect nonsense"
        )
        opened.close()
    assert not opened.wrong


def test_a_translation_much_shorter_than_its_sentence_is_said_to_miss_parts(browser):
    sentence = (
        "The old man and his younger sister went to the market in the morning and bought rice, "
    )
    sentence += (
        "fish and flowers for their mother, and then they came home by train because it rained."
    )
    with serving(ModelRegistry([model_folder("en-hi-transformer")])) as address:
        opened = Studio(browser, address)
        page = opened.open("/", wait=False)
        page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
        trace = page.request.post(f"{address}/api/translate", data={"text": sentence}).json()
        trace["target"]["words"] = trace["target"]["words"][:5]
        for token in trace["target"]["tokens"]:
            token["word"] = min(token["word"], 4)
        for step in trace["steps"]:
            step["logprob"] = -0.1
        body = f"event: done\ndata: {json.dumps(trace)}\n\n"
        page.route(
            "**/api/translate/stream",
            lambda route: route.fulfill(body=body, content_type="text/event-stream"),
        )
        page.locator("#sentence").fill(sentence)
        page.locator("#sentence").press("Enter")
        notice = page.locator(".quality-notice")
        expect(notice).to_contain_text("Parts of the sentence are missing")
        expect(notice).to_contain_text("has 33 words, its translation 5")
        opened.close()
    assert not opened.wrong


def test_corrections_of_a_link_stay_until_they_are_closed(studio):
    page = studio.open(f"/translate?text={quote('We are friends.')}&beam=99&model=nobody")
    page.wait_for_selector(".translate:not(.loading) .map-layout")
    notices = page.locator(".notice")
    expect(notices).to_have_count(2)
    expect(page.locator(".notices")).to_contain_text("There is no model nobody here")
    expect(page.locator(".notices")).to_contain_text("beam is now 8")
    expect(page.locator("#model")).to_have_value("bottleneck")
    notices.first.get_by_role("button").click()
    expect(notices).to_have_count(1)


def test_too_long_a_sentence_is_kept_and_its_length_said(studio):
    page = studio.open("/translate?model=bahdanau")
    page.locator("#sentence").fill("a" * 523)
    expect(page.locator("#sentence-length")).to_contain_text("523 characters; at most 500")
    page.keyboard.press("Enter")
    assert "text=a" not in page.evaluate("location.search")
    page.locator("#sentence").fill("We are friends.")
    expect(page.locator("#sentence-length")).to_be_empty()


def test_a_model_of_letters_offers_the_letters_with_spaces(browser, models):
    registry = ModelRegistry([models[1]])
    with serving(registry) as address:
        opened = Studio(browser, address)
        page = opened.open("/translate", wait=False)
        cards = page.request.get(f"{address}/api/models").json()
        page.route(
            "**/api/models", lambda route: route.fulfill(json=[{**cards[0], "synthetic": "copy"}])
        )
        page.goto(f"{address}/translate?text=namaste")
        expect(page.locator("#model-description")).to_contain_text("copies letters")
        page.get_by_role("button", name="Translate “n a m a s t e”").click()
        expect(page.locator("#sentence")).to_have_value("n a m a s t e")
        opened.close()
    assert not opened.wrong


def test_one_step_exports_its_picture(studio):
    page = studio.open(
        "/inside?text=the+man+is+tall&model=bahdanau&prefix=%E0%A4%A8%E0%A4%A6%E0%A5%80"
    )
    page.wait_for_selector(".flow")
    root = ElementTree.fromstring(download(page, "view-svg")[1])
    texts = [element.text for element in root.iter() if element.tag.endswith("}text")]
    weights = page.locator(".row-alpha .flow-number .number").all_inner_texts()
    assert len(weights) == 5
    assert set(weights) <= set(texts)
    assert {"the", "man", "is", "tall", "Query"} <= set(texts)
    assert download(page, "view-png")[1].startswith(b"\x89PNG")


def test_a_trained_model_is_not_said_to_follow_the_rule_of_the_toy(studio):
    page = studio.open("/playground/gravity?gravity_mode=model&model=transformer")
    expect(page.locator(".gravity-pair")).to_contain_text("bank")
    expect(page.locator(".gravity-pair")).to_contain_text("cosine")
    expect(page.locator(".gravity")).to_contain_text("A trained layer does more than average")
    expect(page.locator("#lesson")).to_contain_text("In the toy, attention replaces it")


@pytest.mark.parametrize("width", [390, 1440])
def test_unknown_page_is_styled_and_accessible(studio, width):
    page = studio.open("/nothing", wait=False, viewport={"width": width, "height": 800})
    assert (
        page.locator("main").evaluate("main => parseFloat(getComputedStyle(main).paddingTop)") > 8
    )
    assert not Axe().run(page).response["violations"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    studio.wrong.clear()  # the browser tells of the 404 itself


def test_a_loading_model_says_so_with_progress(browser, models, monkeypatch):
    load, go = RegisteredModel._load, threading.Event()

    def slow(model):
        report("weights")
        go.wait(60)
        return load(model)

    monkeypatch.setattr(RegisteredModel, "_load", slow)
    with serving(ModelRegistry(models[1:2])) as address:
        opened = Studio(browser, address)
        page = opened.open("/translate?text=We+are+friends.")
        expect(page.locator(".loading-notice")).to_contain_text("bahdanau is loading")
        assert page.locator(".loading-notice progress").get_attribute("value") == "2"
        go.set()
        expect(page.locator("[role=gridcell]").first).to_be_visible()
        expect(page.locator(".loading-notice")).to_have_count(0)
        opened.close()
    assert not opened.wrong


def test_an_abandoned_sentence_is_stopped_on_the_server(browser, models, monkeypatch):
    stopped = threading.Event()

    def endless(registry, request, on_tokens):
        if request.text == "We are friends.":
            return original(registry, request, on_tokens)
        for _ in range(600):
            try:
                check()
            except JobCancelledError:
                stopped.set()
                raise
            on_tokens(["नदी"])
            time.sleep(0.05)
        return None

    original = translate.trace_json
    monkeypatch.setattr(translate, "trace_json", endless)
    with serving(ModelRegistry(models[1:2])) as address:
        opened = Studio(browser, address)
        page = opened.open("/translate?text=How+are+you%3F")
        expect(page.locator(".pair-target .pair-word").first).to_be_visible()
        page.locator("#sentence").fill("We are friends.")
        page.keyboard.press("Enter")
        expect(page.locator("[role=gridcell]").first).to_be_visible()
        assert stopped.wait(10)
        opened.close()
    assert not opened.wrong
