"""Why √d: the page draws its own numbers, and they are those of the theory."""

import pytest
from axe_playwright_python.sync_playwright import Axe


def cells(page, kind):
    """The mean largest weight and the mean of Σ p(1−p) that the page shows."""
    texts = page.locator(f"tr[data-kind={kind}] td").all_inner_texts()
    return [float(text) for text in texts[1:]]


def opened(studio, query="", **options):
    page = studio.open(f"/scale{query}", **options)
    page.wait_for_selector(".scale .chart-picture")
    return page


def test_the_softmax_of_sixteen_scores_at_width_64_is_hard_and_scaled_it_is_soft(studio):
    page = opened(studio)
    assert cells(page, "raw") == pytest.approx([0.847, 0.218], abs=0.04)
    assert cells(page, "scaled") == pytest.approx([0.246, 0.867], abs=0.02)


def test_the_variance_of_products_is_the_width(studio):
    page = opened(studio, "?seed=3")
    page.locator(".scale-part summary").first.click()
    rows = page.locator(".scale-part table").first.locator("tbody tr").all()
    assert len(rows) == 10
    for row in rows:
        width = float(row.locator("th").inner_text())
        line, measured = (float(text) for text in row.locator("td").all_inner_texts())
        assert line == width
        assert measured == pytest.approx(width, rel=0.2)


def test_a_seed_gives_the_same_numbers_again_and_another_gives_others(studio):
    first, again, other = (opened(studio, f"?seed={seed}&nn=9") for seed in (7, 7, 8))
    assert cells(first, "raw") == cells(again, "raw")
    assert cells(first, "raw") != cells(other, "raw")


def test_moving_a_slider_by_keys_moves_the_numbers_and_the_address_at_once(studio):
    page = opened(studio)
    before = cells(page, "raw")
    width = page.locator("input[data-key=d]")
    width.focus()
    page.keyboard.press("End")
    assert "d=1024" in page.url
    after = cells(page, "raw")
    assert after[0] > before[0]
    assert after[1] < before[1]
    spent = width.evaluate(
        """(input) => {
          input.value = "5";
          const began = performance.now();
          input.dispatchEvent(new Event("input", { bubbles: true }));
          return performance.now() - began;
        }"""
    )
    assert spent < 250  # 15 where nothing else runs


def test_the_bars_are_two_softmaxes_that_sum_to_one(studio):
    page = opened(studio, "?nn=5&d=16")
    page.locator(".scale-part summary").last.click()
    rows = page.locator(".scale-part table").last.locator("tbody tr").all()
    values = [[float(text) for text in row.locator("td").all_inner_texts()] for row in rows]
    assert len(values) == 5
    for column in zip(*values, strict=True):
        assert sum(column) == pytest.approx(1, abs=1e-3)
        assert list(column) == sorted(column, reverse=True)


def test_arrows_walk_through_a_chart_and_its_line_says_the_point(studio):
    page = opened(studio)
    page.locator(".scale-part").first.locator(".chart-here").focus()
    page.keyboard.press("End")
    assert "1024" in page.locator(".scale-part .chart-line").first.inner_text()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert "d=2" in page.url


@pytest.mark.parametrize(("theme", "ui"), [("light", "en"), ("dark", "hi")])
def test_the_view_is_fit_for_everyone_and_for_small_windows(studio, theme, ui):
    viewport = {"width": 375, "height": 800}
    page = opened(studio, f"?ui={ui}&th={theme}", viewport=viewport)
    page.locator(".scale-part summary").first.click()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 375
    found = Axe().run(page, context="#view")
    assert found.violations_count == 0, found.generate_report()
