"""Word swaps: another word in the sentence, and what moves in the translation and its attention."""

from urllib.parse import parse_qs, quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from dhyan.pretrained import model_folder
from dhyan.studio.export_model import export_model
from dhyan.studio.registry import ModelRegistry
from tests.browser.conftest import Studio, current_url, serving

SENTENCE = "My sister works in a hospital."
SWAPPED = "My brother works in a hospital."


@pytest.fixture(scope="module")
def pretrained():
    with serving(ModelRegistry([model_folder("en-hi-bahdanau")])) as address:
        yield address


@pytest.fixture
def real(browser, pretrained):
    """The studio with one pretrained model."""
    opened = Studio(browser, pretrained)
    yield opened
    opened.close()
    assert not opened.foreign
    assert not opened.wrong


def query(page):
    return {key: value for key, [value] in parse_qs(urlsplit(current_url(page)).query).items()}


def chosen(page, word):
    page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
    page.locator(".pair-source .pair-word", has_text=word).click()
    return page.locator(".translate-side .word-swap")


def compared(page):
    page.wait_for_selector(".compare:not(.loading) .compare-delta [role=gridcell]")
    return page


def marked(page):
    sides = page.locator(".compare-translation")
    return [sides.nth(side).locator(".changed-word").all_inner_texts() for side in (0, 1)]


def test_a_suggested_word_shows_what_changes_and_what_moves(real):
    page = real.open(f"/translate?text={quote(SENTENCE)}")
    form = chosen(page, "sister")
    assert "brother" in form.locator(".swap-suggestions button").all_inner_texts()
    form.get_by_role("button", name="brother").click()
    compared(page)
    assert query(page)["text2"] == SWAPPED
    before, after = marked(page)
    assert {"बहन", "करती"} <= set(before)
    assert {"भाई", "करता"} <= set(after)
    expect(page.locator(".swap-summary")).to_contain_text("“sister” → “brother”")
    expect(page.locator(".compare-delta")).to_contain_text("of its attention elsewhere")
    expect(page.locator("#lesson-title")).to_have_text("Change one word")
    assert not Axe().run(page, context="main").response["violations"]
    page.locator(".swap-suggestions button", has_text="mother").click()
    compared(page)
    assert query(page)["text2"] == "My mother works in a hospital."
    page.go_back()
    expect(page.locator("#second-sentence")).to_have_value(SWAPPED)
    page.locator(".compare-close").click()
    page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
    assert "text2" not in query(page)


def test_a_written_word_keeps_the_punctuation_and_a_link_reproduces_the_swap(real):
    page = real.open(f"/translate?text={quote(SENTENCE)}")
    form = chosen(page, "hospital")
    form.get_by_role("textbox").fill("school")
    form.get_by_role("textbox").press("Enter")
    compared(page)
    assert query(page)["text2"] == "My sister works in a school."
    again = compared(real.open(current_url(page).removeprefix(real.address)))
    assert again.locator("main").aria_snapshot() == page.locator("main").aria_snapshot()


def test_the_difference_has_the_words_of_both_translations(real):
    page = real.open(f"/translate?text={quote(SENTENCE)}&text2={quote(SWAPPED)}")
    compared(page)
    rows = page.locator(".compare-delta [role=row]").evaluate_all(
        "rows => rows.map(row => row.getAttribute('aria-label'))"
    )
    both = [
        page.locator(f".compare-side:nth-child({side}) [role=row]").evaluate_all(
            "rows => rows.map(row => row.getAttribute('aria-label'))"
        )
        for side in (1, 2)
    ]
    assert len(rows) >= 5
    for row in rows:
        words = row.split(" / ")
        assert words[0] in both[0]
        assert words[-1] in both[1]
    sums = page.locator(".compare-delta [role=row]").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('[role=gridcell]')]"
        ".reduce((total, cell) => total + Number(cell.dataset.value), 0))"
    )
    assert max(map(abs, sums)) < 1  # differences of distributions


def test_punctuation_has_no_other_word(real):
    page = real.open(f"/translate?text={quote(SENTENCE)}")
    chosen(page, "hospital")
    page.locator(".pair-source .pair-word").last.click()
    expect(page.locator(".translate-side .side-title")).to_have_text(".")
    assert page.locator(".word-swap").count() == 0


@pytest.mark.parametrize("width", [390, 1024])
def test_a_swap_fits_the_window(real, width):
    path = f"/translate?text={quote(SENTENCE)}&text2={quote(SWAPPED)}&language=hi"
    page = compared(real.open(path, viewport={"width": width, "height": 900}))
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_page_with_a_model_inside_starts_with_an_example_and_swaps_words(browser, tmp_path):
    (tmp_path / "page.html").write_text(export_model("en-hi-bahdanau"), encoding="utf-8")
    opened = Studio(browser, tmp_path.as_uri())
    page = opened.open("/page.html")
    form = chosen(page, "sister")
    form.get_by_role("button", name="brother").click()
    compared(page)
    assert "करता" in marked(page)[1]
    assert "text2=My+brother" in current_url(page)
    opened.close()
    assert not opened.foreign
    assert not opened.wrong
