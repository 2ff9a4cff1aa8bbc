"""Step view: the page recomputes the step, and every cell opens its arithmetic."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from dhyan.insight.decoder_step_operands import decoder_steps
from dhyan.studio.schemas import to_json
from tests.browser.conftest import current_url
from tests.lessons.untrained_models import ENGLISH, untrained_translator
from tests.studio.test_decoder_step import KINDS

PREFIX = "%E0%A4%86%E0%A4%A6%E0%A4%AE%E0%A5%80"  # आदमी
HERE = f"/inside?text=the+man+is+tall&prefix={PREFIX}&target=1&source=2"
RECOMPUTE = """async (response) => {
  const { unpackSteps, recomputeStep } = await import("/static/js/views/step/recompute.js");
  const operands = unpackSteps(response);
  return operands.queries.map((_, step) => recomputeStep(operands, step).maxDifference);
}"""
WIDE = {"viewport": {"width": 1440, "height": 900}}
ROWS = {
    "bahdanau": ["s", "Ws", "h", "Uh", "sum", "tanh", "e", "exp", "alpha", "ah", "c"],
    "luong": ["s", "h", "Wh", "e", "exp", "alpha", "ah", "c", "tilde"],
}


def open_step(studio, path, **options):
    page = studio.open(path, **options)
    page.wait_for_selector(".flow")
    return page


def rows(page):
    return page.locator(".flow-row[data-name]").evaluate_all(
        "elements => elements.map((row) => row.dataset.name)"
    )


def test_recomputed_scores_agree_with_the_model(studio):
    page = studio.open("/inside")
    for decoder in KINDS:
        translator = untrained_translator("gru", decoder)
        [translation] = translator(ENGLISH[0])
        differences = page.evaluate(
            RECOMPUTE, to_json(decoder_steps(translator, ENGLISH[0], translation))
        )
        assert differences
        assert max(differences) < 1e-5, decoder


@pytest.mark.parametrize("model", ROWS)
def test_rows_go_from_state_to_context_and_cells_open_their_arithmetic(studio, model):
    page = open_step(studio, f"{HERE}&model={model}")
    assert rows(page) == ROWS[model]
    shares = page.locator(".row-alpha [data-value]").evaluate_all(
        "elements => elements.map((cell) => Number(cell.dataset.value))"
    )
    assert sum(shares) == pytest.approx(1, abs=1e-6)
    assert "agrees with the model to" in page.locator(".step-check").inner_text()
    assert page.locator(".flow-check.mismatch").count() == 0
    for row in ROWS[model]:
        page.locator(f".row-{row} [data-word='1'], .row-{row} .strip-cell").first.click()
        dialog = page.locator("dialog.sum")
        assert dialog.locator("h2").inner_text()
        if row not in ("s", "h"):
            assert dialog.locator(".badge.match").count() == 1, row
            assert dialog.locator("tbody tr").count() >= 1, row
        page.keyboard.press("Escape")
        dialog.wait_for(state="detached")


def test_dialog_selects_another_element_of_the_vector(studio):
    page = open_step(studio, f"{HERE}&model=bahdanau", color_scheme="dark")
    page.locator(".row-c .strip-cell").first.click()
    page.keyboard.press("Tab")
    page.locator("dialog .strip-cell").nth(3).click()
    assert "number 4 of" in page.locator("dialog h2").inner_text()
    assert page.locator("dialog .badge.match").count() == 1
    report = Axe().run(page, context="dialog")
    assert report.violations_count == 0, report.generate_report()


def test_a_factor_of_a_sum_opens_the_sum_it_comes_from_and_leads_back(studio):
    page = open_step(studio, f"{HERE}&model=bahdanau")
    page.locator(".row-c .strip-cell").first.click()
    titles = []
    for cell in ("αᵢⱼ", "exp", "eᵢⱼ", "tanh", "W sᵢ₋₁"):
        titles.append(page.locator("#sum-title").inner_text())
        page.locator("dialog .sum-origin").first.click()
        expect(page.locator("#sum-title")).to_contain_text(cell)
        expect(page.locator("dialog .badge.match")).to_have_count(1)
    for title in reversed(titles):
        page.locator("dialog .sum-back").click()
        expect(page.locator("#sum-title")).to_have_text(title)
    expect(page.locator("dialog .sum-back")).to_have_count(0)
    assert not Axe().run(page, context="dialog").response["violations"]


def test_keyboard_moves_and_nothing_plays_by_itself(studio):
    page = open_step(studio, f"{HERE}&model=bahdanau")
    page.keyboard.press(".")
    assert "target=2" in current_url(page)
    second = page.locator(".step-tokens button:nth-child(2)[aria-current]")
    second.wait_for()
    page.keyboard.press(",")
    page.locator(".row-alpha [data-word='1']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert "source=3" in current_url(page)
    position = page.evaluate(
        "[document.activeElement.dataset.name, document.activeElement.dataset.word]"
    )
    assert position == ["exp", "2"]
    page.keyboard.press("Enter")
    assert page.locator("dialog.sum").is_visible()
    page.keyboard.press("Escape")
    assert page.locator(".step-play").get_attribute("aria-label") == "Play"
    page.keyboard.press("p")
    assert page.locator(".step-play").get_attribute("aria-label") == "Pause"
    second.wait_for()


def test_a_sentence_of_twenty_five_words_fits_a_wide_window(studio):
    text = "+".join(["the", "man", "is", "tall", "and"] * 5)
    page = open_step(studio, f"/inside?text={text}&model=bahdanau", **WIDE)
    box = page.locator(".step-box")
    columns = page.locator(".flow-heads .flow-word").count()
    assert columns >= 25
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 1
    words = page.locator(".flow-word.tiny button span[lang]").evaluate_all(
        "words => words.filter((word) => word.scrollHeight > word.clientHeight + 1).length"
    )
    assert words == 0
    page.set_viewport_size({"width": 390, "height": 900})
    expect(page.locator(".step-scrolls")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_step_opens_at_its_strongest_word_and_a_link_at_the_chosen_one(studio):
    page = open_step(studio, "/inside?text=the+man+is+tall&model=bahdanau")
    weights = "cells => cells.map((cell) => Number(cell.dataset.value))"
    for step in range(1, 4):
        expect(page.locator(f".step-tokens button:nth-child({step})")).to_have_class("current")
        values = page.locator(".row-alpha [data-value]").evaluate_all(weights)
        strongest = values.index(max(values))
        assert page.locator(f".row-alpha .selected [data-word='{strongest}']").count() == 1
        page.locator(".step-after").click()
    weakest = values.index(min(values)) + 1
    page = open_step(
        studio, f"/inside?text=the+man+is+tall&model=bahdanau&target=3&source={weakest}"
    )
    assert page.locator(f".row-alpha .selected [data-word='{weakest - 1}']").count() == 1


def test_small_exponentials_stay_inside_their_cells(studio):
    text = "+".join(["the", "man", "is", "tall", "and"] * 7)
    page = open_step(studio, f"/inside?text={text}&model=luong", **WIDE)
    wide = page.locator(".row-exp .tiny .number").evaluate_all(
        "texts => texts.filter((text) => text.scrollWidth > text.closest('button').clientWidth)"
        ".map((text) => text.textContent)"
    )
    assert page.locator(".row-exp .tiny").count() > 20
    assert wide == []


def test_step_is_clamped_to_the_last(studio):
    page = open_step(studio, "/inside?text=the+man+is+tall&target=500&model=luong")
    assert page.locator(".step-tokens button").last.get_attribute("aria-current") == "step"


def test_unsupported_models_link_to_supported_ones(studio):
    page = studio.open(f"{HERE}&model=bottleneck")
    page.wait_for_selector(".step-card .strip")
    assert "one vector for the whole sentence" in page.locator(".bottleneck").inner_text()
    page = studio.open(f"{HERE}&model=sutskever")
    expect(page.locator(".bottleneck")).to_contain_text("This model has no attention")
    expect(page.locator("#lesson-title")).to_have_text("Without attention")
    page.get_by_role("link", name="Show it with luong").click()
    page.wait_for_selector(".flow")
