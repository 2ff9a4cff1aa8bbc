"""Gravity: the notes' plane, words that can be moved, and the words of a model."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe


def test_bank_moves_as_the_notes_draw_it(studio):
    page = studio.open("/gravity?gw=drawn")
    told = page.locator(".gravity-told .live").inner_text()
    assert "from [9, 3] to [7.6, 3.8]" in told
    assert "from 8.06 to 6.45" in told


def test_a_point_is_moved_by_keys_and_the_link_keeps_it(studio):
    page = studio.open("/gravity?gs=river")
    page.locator("[data-id=bank]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    label = page.locator("[data-id=bank]").get_attribute("aria-label")
    assert label.startswith("bank at 9.5, 3.1;")
    assert page.evaluate("() => document.activeElement.dataset.id") == "bank"
    again = studio.open(page.url.removeprefix(studio.address))
    assert again.locator("[data-id=bank]").get_attribute("aria-label") == label
    page.click("text=Put the words back")
    assert (
        page.locator("[data-id=bank]").get_attribute("aria-label").startswith("bank at 9.0, 3.0;")
    )


def test_a_point_is_drawn_about_with_the_pointer(studio):
    page = studio.open("/gravity")
    box = page.locator("[data-id=money] .plane-spot").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=4)
    page.mouse.up()
    label = page.locator("[data-id=money]").get_attribute("aria-label")
    right, up = map(float, re.match(r"money at ([\d.]+), ([\d.]+);", label).groups())
    assert right > 2
    assert up < 7


def test_many_layers_bring_the_words_together(studio):
    page = studio.open("/gravity?gs=both&gt=100&gl=8")
    assert "nearly the same place" in page.locator(".gravity-told .live").inner_text()
    page = studio.open("/gravity?gs=both&gt=100&gl=1")
    assert "nearly the same place" not in page.locator(".gravity-told .live").inner_text()


def test_a_model_is_shown_as_the_projection_it_is(studio):
    page = studio.open("/gravity?gm=model&m=transformer&gl=2")
    page.wait_for_selector(".plane-trail")
    caption = page.locator("figcaption").inner_text()
    assert caption.startswith("A projection: of 24 dimensions")
    assert re.search(r"hold \d+ % of the variance of the embeddings and \d+ %", caption)
    page.select_option("#model", "bahdanau")
    page.wait_for_selector("text=This encoder is recurrent")
    assert page.locator(".plane").count() == 2


@pytest.mark.parametrize("mode", ["gm=toy", "gm=model&m=transformer"])
@pytest.mark.parametrize(("scheme", "ui"), [("light", "en"), ("dark", "hi")])
def test_gravity_is_fit_for_everyone(studio, mode, scheme, ui):
    viewport = {"width": 375, "height": 800}
    page = studio.open(f"/gravity?{mode}&ui={ui}", color_scheme=scheme, viewport=viewport)
    page.wait_for_selector(".plane-point")
    assert Axe().run(page).violations_count == 0
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 375
