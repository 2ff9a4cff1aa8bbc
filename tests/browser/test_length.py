"""Length view: models are measured one after the other, and buckets can be opened."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import current_url

SMALL = "per_bucket=2"


def measured(studio, query=SMALL, **options):
    """Wait until all models are measured."""
    page = studio.open(f"/learning/length?{query}", **options)
    page.locator(".length-run").wait_for(state="hidden")
    return page


def test_every_model_has_a_line_a_row_and_the_servers_scores(studio, models):
    page = measured(studio)
    names = [folder.name for folder in models]
    assert page.locator(".length-table tbody tr").count() == len(names)
    assert page.locator(".length-results .chart-band").count() == len(names)
    assert page.locator(".length-results .chart").last.locator(".chart-bars rect").count() == 7
    ends = page.locator(".length-results .chart-name").all_text_contents()
    assert sorted(ends) == sorted(names)
    page.locator(".length-notes summary").click()
    assert "bs:1000" in page.locator(".length-notes").inner_text()
    page.locator(".chart-table summary").first.click()
    cells = page.locator(".chart-table table").first.locator("tbody tr td:nth-child(2)")
    scores = page.evaluate(
        """async () => {
          const body = JSON.stringify({ model: "bottleneck", per_bucket: 2, beam: 1 });
          const headers = { "content-type": "application/json" };
          const answer = await fetch("/api/length", { method: "POST", body, headers });
          const data = (await answer.text()).trim().split("data: ").at(-1);
          return JSON.parse(data).buckets.map((bucket) => bucket.value);
        }"""
    )
    displayed = [float(text.split()[0]) for text in cells.all_inner_texts()]
    assert displayed == pytest.approx(scores, abs=0.051)


def test_bucket_shows_sentences_that_open_in_translate(studio):
    page = measured(studio)
    page.locator(".length-results .chart-cursor").first.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert "bucket=7" in current_url(page)
    card = page.get_by_role("region", name="luong", exact=True)
    sentence = card.locator("dd").first.inner_text()
    card.get_by_role("link").first.click()
    page.wait_for_url("**/translate?**")
    assert page.locator("#sentence").input_value() == sentence
    assert "model=luong" in current_url(page)
    page.go_back()
    page.wait_for_selector(".length-card")
    assert "bucket=7" in current_url(page)


def test_link_reproduces_the_bucket_and_it_is_accessible(studio):
    viewport = {"width": 375, "height": 800}
    page = measured(studio, f"{SMALL}&bucket=2&language=hi&theme=dark", viewport=viewport)
    assert page.locator(".length-card").count() == 5
    assert page.locator(".length-chooser [aria-checked=true]").inner_text() == "6–10"
    page.locator(".chart-table summary").first.click()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 375
    report = Axe().run(page, context="#view")
    assert report.violations_count == 0, report.generate_report()


def test_measurement_stops_and_resumes(studio):
    page = studio.open(f"/playground/scaling?{SMALL}")
    page.route("**/api/length", lambda route: None)  # never answered
    page.get_by_role("link", name="Learning").click()
    page.get_by_role("link", name="Length").click()
    button = page.locator(".length-run")
    button.click()
    table = page.locator(".length-table")
    assert table.locator(".length-progress", has_text="stopped").count() == 5
    page.unroute("**/api/length")
    button.click()
    button.wait_for(state="hidden")
    assert table.locator("b").count() == 3 * 5
