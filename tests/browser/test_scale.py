"""Scale view: the sampled statistics agree with theory."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import current_url


def cells(page, kind):
    """The displayed mean largest weight and mean of Σ p(1−p)."""
    texts = page.locator(f"tr[data-kind={kind}] td").all_inner_texts()
    return [float(text) for text in texts[1:]]


def values(page, which):
    """The numbers of a chart's table by series."""
    page.locator(".scale-part summary").nth(which).click()
    table = page.locator(".scale-part details").nth(which).locator("table")
    return table.evaluate(
        "(table) => [...table.tBodies[0].rows].map((row) => "
        "[...row.cells].map((cell) => parseFloat(cell.textContent)))"
    )


def open_scale(studio, query=""):
    page = studio.open(f"/playground/scaling{query}")
    expect(page.locator(".scale .chart-picture")).to_have_count(3)
    return page


def test_raw_softmax_saturates_at_width_64_and_scaled_does_not(studio):
    page = open_scale(studio)
    before = cells(page, "raw")
    assert before == pytest.approx([0.847, 0.218], abs=0.04)
    assert cells(page, "scaled") == pytest.approx([0.246, 0.867], abs=0.02)
    width = page.locator("input[data-key=dimension]")
    width.focus()
    page.keyboard.press("End")
    assert "dimension=1024" in current_url(page)
    after = cells(page, "raw")
    assert after[0] > before[0]
    assert after[1] < before[1]
    redraw = """(input) => {
      input.value = "5";
      const began = performance.now();
      input.dispatchEvent(new Event("input", { bubbles: true }));
      return performance.now() - began;
    }"""
    assert any(width.evaluate(redraw) < 250 for _ in range(10))  # 15 without interruption
    page.locator(".scale-part").first.locator(".chart-cursor").focus()
    page.keyboard.press("End")
    assert "1024" in page.locator(".scale-part .chart-line").first.inner_text()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert "dimension=2" in current_url(page)


def test_variance_equals_width_and_weights_sum_to_one(studio):
    page = open_scale(studio, "?seed=3&keys=5&dimension=16")
    rows = values(page, 0)
    assert len(rows) == 10
    for width, line, measured in rows:
        assert line == width
        assert measured == pytest.approx(width, rel=0.2)
    _, *columns = zip(*values(page, -1), strict=True)
    assert len(columns[0]) == 5
    for column in columns:
        assert sum(column) == pytest.approx(1, abs=1e-3)
        assert list(column) == sorted(column, reverse=True)


def test_seed_changes_the_numbers_and_a_link_reproduces_them(studio):
    page = open_scale(studio, "?seed=7&keys=9")
    before = cells(page, "raw")
    page.locator("input[data-key=seed]").focus()
    page.keyboard.press("ArrowRight")
    assert "seed=8" in current_url(page)
    other = cells(page, "raw")
    assert other != before
    page.reload()
    page.wait_for_selector(".scale .chart-picture")
    assert cells(page, "raw") == other
