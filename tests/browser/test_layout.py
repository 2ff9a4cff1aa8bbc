"""Layout: pictures stay inside their boxes, labels stay readable, and the picture is soon reached."""

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from dhyan.pretrained import model_folder
from dhyan.studio.registry import ModelRegistry
from tests.browser.conftest import Studio, current_url, serving

LONG = "The old man gave his younger sister a very good book about birds in the park."
NAMES = ("en-hi-transformer", "en-hi-bahdanau")


@pytest.fixture(scope="module")
def pretrained():
    with serving(ModelRegistry([model_folder(name) for name in NAMES])) as address:
        yield address


@pytest.fixture
def real(browser, pretrained):
    """The studio with two pretrained models."""
    opened = Studio(browser, pretrained)
    yield opened
    opened.close()
    assert not opened.foreign
    assert not opened.wrong


def wide(width):
    return {"viewport": {"width": width, "height": 900}}


@pytest.mark.parametrize("width", [1024, 1440])
def test_compared_maps_stay_inside_their_cards(real, width):
    page = real.open(f"/translate?text={quote(LONG)}&model2={NAMES[1]}", **wide(width))
    page.wait_for_selector(".compare:not(.loading) [role=gridcell]")
    overhang = page.locator(".compare-side").evaluate_all(
        "cards => cards.map(card => card.querySelector('.heatmap').getBoundingClientRect().right"
        " - card.getBoundingClientRect().right)"
    )
    assert len(overhang) == 2
    assert max(overhang) < 0


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_map_of_the_mask_is_not_cut(real, width):
    page = real.open(f"/inside/mask?text={quote(LONG)}&model=en-hi-transformer", **wide(width))
    page.wait_for_selector(".mask-map [role=gridcell]")
    map_width, labels_right, right = page.evaluate(
        """() => {
          const map = document.querySelector(".mask-map .heatmap");
          const labels = [...map.querySelectorAll(".label[data-column]")];
          return [map.scrollWidth - map.clientWidth,
            Math.max(...labels.map((label) => label.getBoundingClientRect().right)),
            map.getBoundingClientRect().right];
        }"""
    )
    assert map_width <= 0
    assert labels_right <= right + 1


def test_one_step_shows_seventeen_words_without_scrolling_and_says_when_it_scrolls(real):
    words = "The old man gave his younger sister a very good book in the park ."  # 16, and </s>
    page = real.open(f"/inside?text={quote(words)}&model=en-hi-bahdanau", **wide(1440))
    page.wait_for_selector(".flow")
    assert page.locator(".flow-word").count() == 17
    box = page.locator(".step-box")
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 1
    expect(page.locator(".step-scrolls")).to_have_count(0)
    page = real.open(f"/inside?text={quote(LONG * 2)}&model=en-hi-bahdanau", **wide(1440))
    page.wait_for_selector(".flow")
    expect(page.locator(".step-scrolls")).to_contain_text("scroll the picture")


def test_nothing_of_the_previous_map_is_visible_while_translating(real):
    page = real.open(f"/translate?text={quote(LONG)}&model=en-hi-bahdanau")
    page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
    page.locator(".cell[data-row='2'][data-column='3']").hover()
    visible = page.evaluate(
        """() => {
          document.querySelector(".translate").classList.add("loading");
          return [...document.querySelectorAll(".map-layout *")]
            .filter((element) => getComputedStyle(element).visibility === "visible").length;
        }"""
    )
    assert visible == 0


def test_one_letter_words_stand_upright_above_their_columns(real):
    page = real.open(f"/translate?text={quote('I have a book.')}&model=en-hi-bahdanau")
    label = page.locator(".label[data-column='0']")
    expect(label).to_have_text("I")
    assert label.get_attribute("transform") is None
    slanted = page.locator(".label[data-column='1']")
    assert slanted.get_attribute("transform").startswith("rotate(-45")


def test_no_line_runs_behind_words_on_a_phone(real):
    page = real.open(f"/translate?text={quote(LONG)}&model=en-hi-bahdanau", **wide(390))
    page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
    expect(page.locator(".pair.wrapped")).to_be_visible()
    assert page.locator(".pair-lines path").count() == 0


def test_the_picture_is_two_tabs_from_the_sentence_and_thirty_without_the_link(real):
    page = real.open(f"/translate?text={quote(LONG)}&model=en-hi-bahdanau", **wide(1440))
    page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
    in_map = "document.activeElement.getAttribute('role') === 'gridcell'"
    page.locator("#sentence").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the picture")
    page.keyboard.press("Enter")
    assert page.evaluate(in_map)
    page.locator("#sentence").focus()
    tabs = 0
    while not page.evaluate(in_map):
        page.keyboard.press("Tab")
        tabs += 1
        assert tabs <= 30


@pytest.mark.parametrize("width", [800, 1024, 1280, 1440])
@pytest.mark.parametrize("part", ["model-scores", "second-model-button"])
def test_nothing_covers_the_line_about_the_model(real, width, part):
    page = real.open("/translate", **wide(width))
    page.wait_for_selector(f"#{part}")
    on_top = page.locator(f"#{part}").evaluate(
        """(line) => {
          const box = line.getBoundingClientRect();
          const middle = (box.top + box.bottom) / 2;
          return [0.05, 0.5, 0.9].map((share) => {
            const topmost = document.elementFromPoint(box.left + share * box.width, middle);
            return line.contains(topmost);
          });
        }"""
    )
    assert on_top == [True, True, True]


def test_header_is_one_row_on_a_wide_screen(real):
    page = real.open("/translate?text=Hello.&model=en-hi-bahdanau", **wide(1440))
    middles = page.evaluate(
        """() => ["#sentence", "#model", "#beam", "#examples-button", "#export", "#help"]
          .map((name) => document.querySelector(name).getBoundingClientRect())
          .map((box) => box.top + box.height / 2)"""
    )
    assert max(middles) - min(middles) < 12
    assert page.locator("#header").evaluate("header => header.offsetHeight") < 80


def test_sixty_words_are_readable_and_scroll_inside_the_picture(real):
    page = real.open(
        f"/translate?text={quote('The man and the boy see a dog and a cat . ' * 5)}"
        "&model=en-hi-bahdanau",
        **wide(1440),
    )
    page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
    expect(page.locator(".legend")).to_contain_text("√α")
    box = page.locator(".heatmap-scroll")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".label[data-column].skipped").count() <= 0.5 * 61
    page.locator(".label[data-row='0']").click()
    page.keyboard.press("T")
    page.keyboard.press("T")
    page.locator(".label[data-row='4']").click()  # a row opens at its strongest cell, in view
    strongest = page.locator("[role=gridcell][data-row='4']").evaluate_all(
        "cells => cells.map(cell => Number(cell.dataset.value))"
    )
    column = strongest.index(max(strongest))
    assert f"source={column + 1}" in current_url(page)
    cell = page.locator(f"[role=gridcell][data-row='4'][data-column='{column}']").bounding_box()
    frame = box.bounding_box()
    assert frame["x"] <= cell["x"]
    assert cell["x"] + cell["width"] <= frame["x"] + frame["width"]


def test_ribbons_of_a_long_sentence_begin_with_the_first_words_of_both_sides(real):
    text = "The man and the boy see a dog and a cat . " * 5
    page = real.open(f"/translate?text={quote(text)}&model=en-hi-bahdanau&display=ribbons")
    page.wait_for_selector(".translate:not(.loading) .ribbon-word")
    middles = {
        side: page.locator(f".ribbon-word[data-side={side}]").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect()).map(box => (box.top + box.bottom) / 2)"
        )
        for side in ("row", "column")
    }
    step = [(places[-1] - places[0]) / len(places) for places in middles.values()]
    assert abs(middles["row"][0] - middles["column"][0]) < max(step)
    box = page.locator(".ribbons")
    assert box.evaluate(
        "box => box.scrollHeight > box.clientHeight && box.clientHeight < innerHeight"
    )


def test_eleven_words_fit_a_phone_with_all_their_labels(real):
    text = "The train to Delhi leaves at seven in the morning."
    page = real.open(f"/translate?text={quote(text)}&model=en-hi-bahdanau", **wide(390))
    page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
    assert page.locator(".label[data-column]").count() == 11
    assert page.locator(".label.skipped").count() == 0
    assert page.locator(".heatmap").evaluate("box => box.scrollWidth <= box.clientWidth")


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_results_of_a_beam_are_not_cut(real, width):
    page = real.open(f"/beam?text={quote(LONG)}&model=en-hi-transformer", **wide(width))
    page.wait_for_selector(".beam-results tbody tr")
    box = page.locator(".beam-results .beam-rows")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_the_notice_of_a_long_sentence_covers_nothing(real, width):
    page = real.open("/translate?text=Hello.&model=en-hi-bahdanau&language=hi", **wide(width))
    page.locator("#sentence").fill("a " * 300)
    notice = page.locator("#sentence-length")
    expect(notice).to_contain_text("500")
    box = notice.bounding_box()
    for other in ("#navigation", ".selectors", ".sentence-field"):
        frame = page.locator(other).bounding_box()
        beside = frame["x"] >= box["x"] + box["width"] or frame["x"] + frame["width"] <= box["x"]
        below = frame["y"] >= box["y"] + box["height"] - 1
        assert beside or below or frame["y"] + frame["height"] <= box["y"] + 1


def test_end_of_sentence_is_hidden_until_it_is_switched_on_in_the_one_menu(real):
    page = real.open(f"/translate?text={quote('I have a book.')}&model=en-hi-bahdanau")
    page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
    expect(page.locator(".pair")).not_to_contain_text("</s>")
    page.locator("#view-settings-button").click()
    expect(page.locator("#view-settings .setting")).to_have_count(5)
    page.get_by_role("button", name="special tokens").click()
    expect(page.locator(".pair")).to_contain_text("</s>")
    page.keyboard.press("Escape")
    expect(page.locator("#view-settings")).to_be_hidden()


@pytest.mark.parametrize("width", [390, 1024, 1440])
@pytest.mark.parametrize("menu", ["view-settings", "examples"])
def test_open_menus_are_inside_the_window(real, width, menu):
    page = real.open(
        f"/translate?text={quote('I have a book.')}&model=en-hi-bahdanau&language=hi", **wide(width)
    )
    page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
    page.locator(f"#{menu}-button").click()
    box = page.locator(f"#{menu}").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= 900
    controls = page.locator(f"#{menu} button").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().right)"
    )
    assert max(controls) <= box["x"] + box["width"]
