"""Training view: curves and attention of a run, and training of a toy."""

from dataclasses import replace

import pytest

from dhyan.studio.registry import ModelRegistry
from dhyan.studio.routes.training import TOYS
from tests.browser.conftest import Studio, current_url, serving
from tests.studio.small_models import ALL
from tests.studio.test_training import ENDLESS, STEPS, TINY

BEFORE = STEPS - ALL["training.save_every"]  # the last checkpoint but one of the small models


def test_curves_and_checkpoints_of_a_run(studio):
    page = studio.open("/learning?run=bahdanau")
    page.wait_for_selector(".train-probe .heatmap")
    assert page.locator(".train-curve:visible h2").first.inner_text() == "Loss"
    frames = page.locator(".frame")
    steps = [int(frame.get_attribute("data-step")) for frame in frames.all()]
    assert steps == list(range(0, STEPS + 1, ALL["training.save_every"]))
    assert frames.last.get_attribute("aria-checked") == "true"
    frames.last.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(f".frame[data-step='{BEFORE}'][aria-checked=true]")
    assert f"checkpoint={BEFORE}" in current_url(page)
    page.wait_for_selector(f"text=After {BEFORE} steps:")


def test_link_opens_a_checkpoint_and_play_continues_from_it(studio):
    page = studio.open(f"/learning?run=transformer&checkpoint={BEFORE}")
    page.wait_for_selector(f"text=After {BEFORE} steps:")
    page.wait_for_selector(".frame:last-child[aria-label*='largest weight']")
    page.keyboard.press("p")
    page.wait_for_selector(f"text=After {STEPS} steps:")
    assert "checkpoint=" not in current_url(page)


def test_a_run_that_ended_without_a_checkpoint_says_so(studio):
    progress = {"state": "cancelled", "step": 0, "steps": 10, "loss": None, "scores": {}}
    run = {"name": "copy-9", "toy": True, "probe": "n a", "expected": "n a", "languages": None}
    run |= {"curves": False, "checkpoints": [], "progress": progress}
    page = studio.open("/playground")
    page.route("**/api/runs", lambda route: route.fulfill(json={"runs": [run], "toys": []}))
    events = "event: done\ndata: null\n\n"
    page.route("**/api/runs/*/events", lambda route: route.fulfill(body=events))
    page.get_by_role("link", name="Learning").click()
    page.wait_for_selector("text=It was stopped before its first checkpoint.")
    assert not page.get_by_text("Waiting for the first checkpoint").is_visible()


@pytest.fixture
def own_studio(browser, models):
    """A studio of its own: a trained toy is registered."""
    with serving(ModelRegistry(models)) as address:
        opened = Studio(browser, address)
        yield opened
        opened.close()
    assert not opened.foreign
    assert not opened.wrong


@pytest.mark.slow
def test_toy_training_is_cancelled_or_finished_and_opened(own_studio, monkeypatch):
    monkeypatch.setitem(TOYS, "reverse", replace(TOYS["reverse"], settings=ENDLESS))
    monkeypatch.setitem(TOYS, "copy", replace(TOYS["copy"], settings=TINY))
    page = own_studio.open("/learning")
    page.click("[data-toy=reverse]")
    page.wait_for_selector("text=of 1000000")
    assert page.locator("[data-toy=copy]").is_disabled()
    page.click(".cancel")
    page.wait_for_selector("text=was stopped at step")
    page.click("[data-toy=copy]")
    page.wait_for_selector("text=is trained for 8 steps")
    page.wait_for_selector(".frame:nth-child(5)[aria-label*='largest weight']")
    assert page.locator(".train-probe [role=row]").count() == len("namaste") + 1
    page.click("text=Open it in Translate")
    page.wait_for_selector("#view .heatmap")
    assert page.locator("#model").input_value().startswith("copy-")
