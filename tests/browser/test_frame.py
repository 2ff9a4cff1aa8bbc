"""Page frame: every view opens, fits its window and is accessible."""

import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import TimeoutError, expect

from dhyan.studio.model_cards import ROOMS, STAGES
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.routes import translate
from tests.browser.conftest import Studio, current_url, serving

SENTENCE = "text=The+bank+of+the+river+is+far.&model=transformer"
WIDTHS = (375, 768, 1440)
SCREENS = Path(__file__).parents[2] / "build" / "studio"  # kept, for whoever wants to look


def still(page):
    """Wait until the page is idle, or the request takes long."""
    with suppress(TimeoutError):
        page.wait_for_load_state("networkidle", timeout=2000)
    return page


def translated(page):
    """Wait until the attention map of the translation is drawn."""
    page.wait_for_selector(".translate:not(.loading) .map-layout")
    return page


VIEWS = [
    room if view == ROOMS[room][0] else f"{room}/{view}" for room in ROOMS for view in ROOMS[room]
]


@pytest.mark.parametrize("path", [*VIEWS, *STAGES])
def test_every_view_fits_every_window_and_is_accessible(studio, path):
    SCREENS.mkdir(parents=True, exist_ok=True)
    model = "transformer" if path in ("inside/head", *STAGES) else "bahdanau"
    query = f"text=How+are+you%3F&model={model}&per_bucket=2"  # few sentences in the length view
    for look in ("theme=light", "theme=dark&language=hi"):
        page = still(studio.open(f"/{path}?{query}&{look}"))
        report = Axe().run(page)
        assert report.violations_count == 0, f"{look}: {report.generate_report()}"
    assert path in STAGES or current_url(page).split("?")[0] == f"{studio.address}/{path}"
    assert page.locator("main h1").count() == 1
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=SCREENS / f"{path.replace('/', '-')}-{width}.png")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{path} is {wide} wide in a window of {width}"
    page.set_viewport_size({"width": min(WIDTHS), "height": 900})
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()


def test_link_reproduces_the_view_and_back_returns(studio):
    page = translated(studio.open(f"/translate?{SENTENCE}"))
    page.locator("[role=gridcell][tabindex='0']").press(
        "ArrowRight"
    )  # a large map has one cell alone
    snapshot = page.locator("main").aria_snapshot()
    other = translated(studio.open(current_url(page).removeprefix(studio.address)))
    assert other.locator("main").aria_snapshot() == snapshot
    page.get_by_role("link", name="Heads").click()
    page.wait_for_url(re.compile("/heads"))
    page.go_back()
    expect(page.locator("[role=gridcell]").first).to_be_visible()
    assert "/translate" in current_url(page)


def test_translate_and_navigate_by_keyboard(studio):
    page = studio.open("/translate?model=bahdanau")
    page.keyboard.press("/")
    page.keyboard.type("How are you?")
    page.keyboard.press("Enter")
    expect(page.locator("[role=gridcell]").first).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.wait_for_url(re.compile("/inside"))
    expect(page.locator("main h1")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_shortcuts_are_inactive_in_text_fields_and_can_be_switched_off(studio):
    page = studio.open("/translate?model=bahdanau")
    page.locator("#sentence").fill("")
    page.locator("#sentence").press_sequentially("gi")
    assert "/inside" not in current_url(page)
    page.locator("#sentence").press("Escape")
    page.keyboard.press("?")
    page.get_by_label("switch single-letter keys off").check()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("i")
    assert "/inside" not in current_url(page)


def test_invalid_url_values_are_corrected_and_reported(studio):
    page = studio.open("/translate?beam=99&scale=none&model=bahdanau")
    expect(page.locator(".notice")).to_have_count(2)
    expect(page.locator(".notices")).to_contain_text("scale is now auto")
    assert page.locator("#beam").input_value() == "8"


def test_unknown_page_lists_the_rooms(studio):
    page = studio.open("/nothing", wait=False)
    expect(page.get_by_role("heading")).to_have_text("There is no such page")
    assert page.get_by_role("link").count() == len(ROOMS)
    expect(page.get_by_role("link", name="Guided tour")).to_be_visible()
    studio.wrong.clear()  # the browser tells of the 404 itself


def test_the_mark_and_the_status_are_about_the_sentence_that_is_shown(studio):
    page = translated(studio.open("/translate?text=How+are+you%3F&model=bahdanau"))
    mark = page.locator("#sentence-mark .mark")
    expect(mark).to_be_visible()
    page.locator("#sentence").fill("How are you today?")
    expect(mark).to_be_hidden()
    page.locator("#sentence").fill("")
    page.locator("#sentence").press("Enter")
    expect(page.locator("#status")).to_contain_text("Write a sentence")


def test_devanagari_is_shaped_with_the_served_font(studio):
    page = translated(studio.open(f"/translate?{SENTENCE}"))
    assert page.evaluate("document.fonts.check('16px \"Noto Sans Devanagari\"', 'क्ष')")
    widths = page.evaluate(
        """() => ["क्ष", "क्\u200cष"].map((text) => {
          const span = document.createElement("span");
          span.textContent = text;
          span.lang = "hi";
          document.querySelector("main").append(span);
          const wide = span.getBoundingClientRect().width;
          span.remove();
          return wide;
        })"""
    )
    assert widths[0] < widths[1]


def test_page_survives_a_stopped_server(browser, models):
    with serving(ModelRegistry(models)) as address:
        opened = Studio(browser, address)
        page = opened.open("/translate?text=How+are+you%3F&model=bahdanau")
        expect(page.locator("[role=gridcell]").first).to_be_visible()
    page.locator("#sentence").fill("We are friends.")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("does not answer")
    page.get_by_role("link", name="Playground").focus()
    opened.close()


def test_server_that_stops_mid_stream_is_reported(browser, models, monkeypatch):
    def slow(registry, request, on_words):
        for number in range(100):
            on_words(["नदी"] * number)
            time.sleep(0.1)

    monkeypatch.setattr(translate, "trace_json", slow)
    with serving(ModelRegistry(models)) as address:
        opened = Studio(browser, address)
        page = opened.open("/translate?text=How+are+you%3F&model=bahdanau")
        expect(page.locator(".pair-target .pair-word").nth(2)).to_be_visible()
    expect(page.locator("#status")).to_contain_text("stopped during the response")
    expect(page.locator("#sentence")).to_be_editable()
    opened.close()


def test_reduced_motion_stops_animation(studio):
    page = translated(studio.open(f"/translate?{SENTENCE}"))
    moving = page.evaluate("document.getAnimations().length")
    assert moving == 0


def test_language_and_theme_buttons(studio):
    page = translated(studio.open(f"/translate?{SENTENCE}"))
    page.get_by_role("button", name="हिंदी").click()
    expect(page.locator("html")).to_have_attribute("lang", "hi")
    expect(page.locator("main h1")).to_contain_text("अनुवाद")
    for theme in ("dark", "auto", "dark"):  # the system's is light: each click is seen
        page.locator("#theme").click()
        expect(page.locator("html")).to_have_attribute("data-theme", theme)


def test_lesson_panel_can_be_collapsed(studio):
    page = translated(studio.open(f"/translate?{SENTENCE}"))
    page.get_by_role("button", name="Hide the lesson").click()
    expect(page.get_by_text("Predict first")).to_have_count(0)
    page.get_by_role("button", name="Show the lesson").click()
    expect(page.get_by_text("Predict first")).to_be_visible()
