"""A page about one sentence, opened from a file: every room that it offers works."""

import pytest
from playwright.sync_api import expect

from dhyan.studio.registry import ModelRegistry
from dhyan.studio.schemas import TranslateRequest
from dhyan.studio.sentence_page import export_sentence
from tests.browser.conftest import Studio

SENTENCE = "the man reads the book"
ROOMS = {
    "bahdanau": ["Translate", "Guided tour", "Inside", "Beam", "Playground"],
    "luong": ["Translate", "Guided tour", "Inside", "Beam", "Playground"],
    "transformer": ["Translate", "Guided tour", "Inside", "Heads", "Beam", "Playground"],
    "sutskever": ["Translate", "Beam", "Playground"],
}


@pytest.fixture(scope="module")
def folder(models, tmp_path_factory):
    """The page of each small model, without any of them."""
    pages, registry = tmp_path_factory.mktemp("pages"), ModelRegistry(models)
    for name in ROOMS:
        page = export_sentence(registry, TranslateRequest(text=SENTENCE, model=name))
        (pages / f"{name}.html").write_text(page, encoding="utf-8")
    return pages


@pytest.fixture
def open_page(browser, folder):
    """Opens a page at an address; fails after any error or request."""
    opened = Studio(browser, folder.as_uri())
    yield lambda name, address="": opened.open(f"/{name}.html#/{address}", offline=True)
    opened.close()
    assert not opened.foreign
    assert not opened.wrong


@pytest.mark.parametrize("name", ROOMS)
def test_only_rooms_that_work_are_offered(open_page, name):
    page = open_page(name)
    expect(page.locator(".rooms a")).to_have_text(ROOMS[name])
    for room in ROOMS[name]:
        page.locator(".rooms a", has_text=room).click()
        page.wait_for_selector("#view h1")
        for view in range(page.locator(".room-views a").count()):
            page.locator(".room-views a").nth(view).click()
        expect(page.locator("#status.error")).to_have_count(0)
        expect(page.locator("main")).not_to_contain_text("saved trace")


@pytest.mark.parametrize("name", ["bahdanau", "luong"])
def test_a_decoder_step_is_recomputed(open_page, name):
    page = open_page(name, "inside")
    expect(page.locator("#status")).to_contain_text("agrees with the model")


@pytest.mark.parametrize("role", ["encoder_self", "decoder_self", "cross"])
def test_every_head_is_recomputed(open_page, role):
    for layer, head in [(1, 1), (1, 2), (2, 1), (2, 2)]:
        page = open_page("transformer", f"inside/head?role={role}&layer={layer}&head={head}")
        expect(page.locator("#status")).to_contain_text(f"Head {head} of layer {layer}")
        expect(page.locator("main .agreement").first).to_contain_text("agrees with the model")


@pytest.mark.parametrize("name", ["bahdanau", "luong", "transformer"])
def test_the_tour_reaches_its_end(open_page, name):
    page = open_page(name, "tour?tour_step=1&target=2")
    page.wait_for_selector(".tour-dots a")
    for step in range(page.locator(".tour-dots a").count()):
        page.locator(".tour-dots a").nth(step).click()
        page.locator(".tour-skip").click()
        expect(page.locator(".tour-after p").first).to_be_visible()
    page.locator(".tour-ending a", has_text="every number").click()
    expect(page.locator("main")).to_contain_text("agrees with the model")


def test_beam_layers_mask_heads_and_gravity_have_their_responses(open_page):
    page = open_page("transformer", "beam")
    for width in (1, 8, 3):
        page.get_by_role("radio", name=str(width), exact=True).click()
        expect(page.locator("#status")).to_contain_text(f"beam {width}")
    expect(page.locator(".beam-continue")).to_be_hidden()
    page = open_page("transformer", "inside/layers")
    expect(page.locator(".layers-cell").first).to_be_visible()
    page = open_page("transformer", "inside/mask")
    expect(page.locator(".mask-padding")).to_be_visible()
    expect(page.locator("#mask-word")).to_be_hidden()
    page.locator("[role=radio][data-value='0']").click()
    expect(page.locator(".mask-warning")).to_be_visible()
    page.select_option("#mask-position", "2")
    expect(page.locator("#status.error")).to_have_count(0)
    page = open_page("transformer", "heads?role=cross&layer=1&head=2")
    expect(page.locator(".head-cell[aria-label*=importance]").first).to_be_visible()
    page.click("#ablate-head")
    expect(page.locator(".heads-verdict")).to_be_visible()
    page = open_page("transformer", "playground/gravity?gravity_mode=model")
    expect(page.locator(".plot-trail").first).to_be_visible()


def test_the_page_says_what_only_a_model_can_do(open_page):
    page = open_page("transformer")
    page.wait_for_selector("[role=gridcell]")
    for hidden in ("#model", "#beam", "#examples", "#second-model-button", "button.top-token"):
        expect(page.locator(hidden).locator("visible=true")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page.locator("#status")).to_contain_text("saved trace")
