"""The start: a finished example without a sentence in the link, decoded word by word."""

import threading
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from dhyan.pretrained import model_folder
from dhyan.studio.examples import DEFAULT
from dhyan.studio.registry import ModelRegistry, RegisteredModel
from dhyan.studio.request_job import report
from tests.browser.conftest import Studio, current_url, serving

MOVING = {"reduced_motion": "no-preference"}
FIRST = DEFAULT[0].text


@pytest.fixture(scope="module")
def pretrained():
    names = ("en-hi-transformer", "en-fr-bahdanau")
    with serving(ModelRegistry([model_folder(name) for name in names])) as address:
        yield address


@pytest.fixture
def real(browser, pretrained):
    """The studio with two pretrained models."""
    opened = Studio(browser, pretrained)
    yield opened
    opened.close()
    assert not opened.foreign
    assert not opened.wrong


def decoding(page):
    page.wait_for_selector(".translate[data-decoding]")
    return page


def paused(studio, query=""):
    """Translate at the beginning of its animation; only `page.clock.run_for` lets it go on."""
    page = studio.open(f"/playground{query}", **MOVING)
    page.clock.install(time=0)
    page.clock.pause_at(3_600_000)
    page.get_by_role("link", name="Translate", exact=True).click()
    return decoding(page)


def finished(page):
    page.wait_for_selector(".translate:not(.loading):not([data-decoding]) .pair-target button")
    assert page.locator(".pending").count() == 0
    return page


@pytest.mark.parametrize("path", ["/", "/translate", "/inside/head", "/heads", "/beam"])
def test_a_page_without_a_sentence_opens_with_an_example(real, path):
    page = real.open(path)
    expect(page.locator("#sentence")).to_have_value(FIRST)
    expect(page.locator("#sentence-mark .mark")).to_have_text("new")
    query = parse_qs(urlsplit(current_url(page)).query)
    assert query["text"] == [FIRST]
    assert page.evaluate("history.length") == 2  # about:blank and this page: nothing was pushed


def test_with_reduced_motion_the_finished_picture_comes_at_once(real):
    page = real.open("/")
    page.evaluate(
        """() => {
          window.decoded = 0;
          new MutationObserver(() => { window.decoded += 1; }).observe(
            document.querySelector("#view"), { subtree: true, attributeFilter: ["data-decoding"] });
        }"""
    )
    page.locator("#sentence").fill("We live near the river.")
    page.locator("#sentence").press("Enter")
    expect(page.locator(".pair-source .pair-text").first).to_have_text("We")
    finished(page)
    assert page.evaluate("window.decoded") == 0
    expect(page.locator(".live")).to_contain_text("largest weight")


def test_words_appear_one_after_the_other_with_ribbons_and_runners_up(real):
    page = paused(real)
    words = page.locator(".pair-target .pair-word").count()
    assert words >= 7
    for shown in range(words):
        assert page.locator(".pair-target .pair-word:not(.pending)").count() == shown
        assert page.locator(".cell:not(.pending)[data-column='0']").count() == shown
        page.clock.run_for(250 if shown == 0 else 650)
        assert page.locator(".pair-lines path").count() >= 1
        assert page.locator(".pair-runners .number").count() == 3
        expect(page.locator(".pair-target .arriving")).to_have_attribute("data-index", str(shown))
    page.clock.run_for(650)
    finished(page)


def test_ribbons_are_decoded_too_and_a_new_width_does_not_end_it(real):
    page = paused(real, "?display=ribbons")
    page.clock.run_for(250 + 650)
    page.locator(".ribbons").evaluate("picture => picture.classList.add('old')")
    page.set_viewport_size({"width": 900, "height": 900})
    expect(page.locator(".old")).to_have_count(0)  # drawn again
    targets = page.locator(".ribbon-word[data-side=row]:not(.pending)")
    assert targets.count() == 2
    assert {"0", "1"} >= set(
        page.locator(".ribbon:not(.pending)").evaluate_all("all => all.map(one => one.dataset.row)")
    )
    page.clock.run_for(650)
    assert targets.count() == 3


@pytest.mark.parametrize("act", ["key", "click", "hover"])
def test_any_key_click_or_hover_ends_the_animation_and_play_repeats_it(real, act):
    page = paused(real)
    if act == "key":
        page.keyboard.press("Shift")
    elif act == "click":
        page.locator("#view-title").click()
    else:
        box = page.locator("#view-title").bounding_box()
        page.mouse.move(box["x"] + 5, box["y"] + 5)
        page.mouse.move(box["x"] + 30, box["y"] + 8)
    finished(page)
    play = page.locator(".play-button")
    play.click()
    decoding(page)
    expect(play).to_have_attribute("aria-pressed", "true")
    play.click()
    finished(page)
    expect(play).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("p")
    decoding(page)
    page.keyboard.press("p")
    finished(page)


def test_an_own_sentence_is_decoded_and_a_link_to_a_word_is_not(real):
    page = paused(real)
    page.locator("#sentence").fill("We live near the river.")
    page.locator("#sentence").press("Enter")
    decoding(page)
    expect(page.locator(".pair-source .pair-text").first).to_have_text("We")
    page = real.open("/translate?text=We+live+near+the+river.&target=3", **MOVING)
    finished(page)
    expect(page.locator(".pair-target .pair-word.selected")).to_have_count(1)


def test_a_new_theme_language_or_room_does_not_decode_again(real):
    page = paused(real)
    page.keyboard.press("Shift")
    finished(page)
    for change in ("#theme", "#language"):
        page.locator(change).click()
        finished(page)
    page.get_by_role("link", name="हेड", exact=True).click()
    page.wait_for_selector(".heads")
    page.get_by_role("link", name="अनुवाद", exact=True).click()
    finished(page)
    page.keyboard.press("p")
    decoding(page)


def test_the_lesson_speaks_of_the_language_of_the_model(real):
    page = real.open("/translate?model=en-hi-transformer")
    lesson = page.locator("#lesson")
    expect(lesson).to_contain_text("Hindi puts the verb last")
    page.locator("#model").select_option("en-fr-bahdanau")
    expect(lesson).to_contain_text("Where both sides have the same order")
    expect(lesson).not_to_contain_text("Hindi")


def test_the_frame_is_painted_before_the_model_is_read(browser, models, monkeypatch):
    load, go = RegisteredModel._load, threading.Event()

    def slow(model):
        report("weights")
        go.wait(60)
        return load(model)

    monkeypatch.setattr(RegisteredModel, "_load", slow)
    with serving(ModelRegistry(models[1:2])) as address:
        opened = Studio(browser, address)
        page = opened.open("/")
        expect(page.locator(".pair-source")).to_contain_text("sister")
        expect(page.locator(".loading-notice")).to_contain_text("bahdanau is loading")
        page.locator("#examples-button").click()
        expect(page.locator("#examples .mark").first).to_be_visible()
        go.set()
        finished(page)
        opened.close()
    assert not opened.wrong


def test_a_model_of_another_task_begins_with_an_example_of_its_own(browser, models):
    with serving(ModelRegistry(models[1:3])) as address:
        opened = Studio(browser, address)
        page = opened.open("/playground")
        cards = page.request.get(f"{address}/api/models").json()
        toy = {**cards[1], "synthetic": "dates"}
        page.route("**/api/models", lambda route: route.fulfill(json=[cards[0], toy]))
        page.goto(f"{address}/")
        expect(page.locator("#sentence")).to_have_value(FIRST)
        page.locator("#model").select_option("luong")
        expect(page.locator("#sentence")).to_have_value("25 march 1998")
        page.locator("#sentence").fill("1 may 2001")
        page.locator("#sentence").press("Enter")
        page.locator("#model").select_option("bahdanau")
        expect(page.locator("#sentence")).to_have_value("1 may 2001")  # a sentence of one's own
        opened.close()
    assert not opened.wrong
