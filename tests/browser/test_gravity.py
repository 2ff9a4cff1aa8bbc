"""Gravity view: the toy plane, movable points, and the projection of a model."""

import re

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from dhyan.run import load
from tests.browser.conftest import current_url


def test_bank_moves_as_in_the_lecture_notes(studio):
    page = studio.open("/playground/gravity?gravity_weights=fixed")
    summary = page.locator(".gravity-summary .live").inner_text()
    assert "from [9, 3] to [7.6, 3.8]" in summary
    assert "from 8.06 to 6.45" in summary


def test_points_move_by_keyboard_or_pointer_and_the_url_keeps_them(studio):
    page = studio.open("/playground/gravity?gravity_sentence=river")
    bank = page.locator("[data-id=bank]")
    bank.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    label = bank.get_attribute("aria-label")
    assert label.startswith("bank at 9.5, 3.1;")
    assert page.evaluate("() => document.activeElement.dataset.id") == "bank"
    again = studio.open(current_url(page).removeprefix(studio.address))
    assert again.locator("[data-id=bank]").get_attribute("aria-label") == label
    page.click("text=Reset the words")
    assert bank.get_attribute("aria-label").startswith("bank at 9.0, 3.0;")
    box = page.locator("[data-id=bank] .plot-marker").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y - 40, steps=2)
    page.mouse.up()
    label = bank.get_attribute("aria-label")
    right, up = map(float, re.match(r"bank at ([\d.]+), ([\d.]+);", label).groups())
    assert right < 9
    assert up > 3


def test_many_layers_collapse_the_points(studio):
    page = studio.open(
        "/playground/gravity?gravity_sentence=both&gravity_temperature=100&gravity_layers=8"
    )
    assert "nearly the same point" in page.locator(".gravity-summary .live").inner_text()
    page = studio.open(
        "/playground/gravity?gravity_sentence=both&gravity_temperature=100&gravity_layers=1"
    )
    assert "nearly the same point" not in page.locator(".gravity-summary .live").inner_text()


def test_model_plane_is_labelled_as_a_projection(studio, models):
    page = studio.open("/playground/gravity?gravity_mode=model&model=transformer&gravity_layers=2")
    page.wait_for_selector(".plot-trail")
    caption = page.locator("figcaption").inner_text()
    width = load(models[3], device="cpu").model.encoder.token_embedding.weight.shape[1]
    assert caption.startswith(f"A projection: of {width} dimensions")
    assert re.search(r"hold \d+ % of the variance of the embeddings and \d+ %", caption)
    assert Axe().run(page, context="#view").violations_count == 0
    page.select_option("#model", "bahdanau")
    page.wait_for_selector("text=This encoder is recurrent")
    assert page.locator(".plot").count() == 2


def test_a_server_that_does_not_answer_is_explained_in_words(studio):
    page = studio.open("/playground/gravity?model=transformer")
    page.route("**/api/gravity", lambda route: route.abort())
    page.locator("[data-value=model]").click()
    expect(page.locator(".gravity-container")).to_contain_text("The server does not answer.")
    studio.wrong.clear()  # the browser tells of the failed request itself
