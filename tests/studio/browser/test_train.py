"""Training: curves and attention of a run, and a toy that learns while one watches."""

from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe

from dhyan.studio.toys import TOYS
from tests.studio.test_trainings import ENDLESS, TINY


def test_a_models_curves_and_checkpoints_are_shown(studio):
    page = studio.open("/train?run=bahdanau")
    page.wait_for_selector(".train-probe .heat")
    assert page.locator(".train-curve:visible h2").first.inner_text() == "Loss"
    frames = page.locator(".frame")
    assert frames.count() == 2
    assert frames.last.get_attribute("aria-checked") == "true"
    frames.last.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".frame[data-step='30'][aria-checked=true]")
    assert "ck=30" in page.url
    page.wait_for_selector("text=After 30 steps it says:")


def test_a_link_to_a_checkpoint_shows_it_and_play_goes_on_from_it(studio):
    page = studio.open("/train?run=transformer&ck=30")
    page.wait_for_selector("text=After 30 steps it says:")
    page.wait_for_selector(".frame:last-child[aria-label*='largest weight']")
    page.keyboard.press("p")
    page.wait_for_selector("text=After 60 steps it says:")
    assert "ck=" not in page.url


def test_a_toy_is_trained_and_can_be_opened_elsewhere(studio, monkeypatch):
    monkeypatch.setitem(TOYS, "copy", replace(TOYS["copy"], settings=TINY))
    page = studio.open("/train")
    page.click("[data-toy=copy]")
    page.wait_for_selector("text=has learnt for 8 steps", timeout=40_000)
    page.wait_for_selector(".frame:nth-child(5)[aria-label*='largest weight']")
    assert page.locator(".train-probe [role=row]").count() == len("namaste") + 1
    page.click("text=Open it in Translate")
    page.wait_for_selector("#view .heat")
    assert page.locator("#model").input_value().startswith("copy-")


def test_a_toy_can_be_cancelled(studio, monkeypatch):
    monkeypatch.setitem(TOYS, "reverse", replace(TOYS["reverse"], settings=ENDLESS))
    page = studio.open("/train")
    page.click("[data-toy=reverse]")
    page.wait_for_selector("text=of 1000000", timeout=40_000)
    assert page.locator("[data-toy=dates]").is_disabled()
    page.click(".cancel")
    page.wait_for_selector("text=was stopped at step", timeout=40_000)
    assert page.locator("[data-toy=dates]").is_enabled()


@pytest.mark.parametrize(("scheme", "ui"), [("light", "en"), ("dark", "hi")])
def test_training_is_fit_for_everyone(studio, scheme, ui):
    viewport = {"width": 375, "height": 800}
    page = studio.open(f"/train?run=luong&ui={ui}", color_scheme=scheme, viewport=viewport)
    page.wait_for_selector(".train-probe .heat")
    assert Axe().run(page).violations_count == 0
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 375
