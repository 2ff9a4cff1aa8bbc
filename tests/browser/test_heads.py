"""Heads view: thumbnails, one enlarged head, and its ablation."""

import math
import re
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import current_url

QUESTION = {"text": "The bank of the river is far.", "model": "transformer"}
QUERY = f"text={quote(QUESTION['text'])}&model=transformer"
TILES = ".heads-tile"


def importance(tile):
    """The importance on a tile, as a number."""
    label_value = tile.get_attribute("aria-label").rpartition(" ")[2]
    return float(label_value.replace("−", "-"))


def test_every_head_is_a_button_named_by_layer_head_and_statistics(studio):
    page = studio.open(f"/heads?{QUERY}&role=decoder_self")
    page.wait_for_selector(f"{TILES}[aria-label*='importance']")
    assert page.locator(f"{TILES}:not(.summary)").count() == 2 * 2
    assert page.locator(f"{TILES}.summary").count() == 2 * 2
    badges = "entropy .*, diagonal .*, previous .*, first .*, importance "
    label = page.locator(TILES).first.get_attribute("aria-label")
    assert re.match(f"layer 1 · head 1, {badges}", label)


def test_arrows_and_enter_enlarge_a_head_and_the_url_keeps_it(studio):
    page = studio.open(f"/heads?{QUERY}&role=cross")
    page.locator(f"{TILES}[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".heads-title").text_content() == "cross-attention · layer 1 · head 2"
    assert "layer=1&head=2" in current_url(page)
    trace = page.request.post(f"{studio.address}/api/translate", data=QUESTION).json()
    rows, columns = (len(trace[side]["words"]) for side in ("target", "source"))
    assert page.locator(".heads-enlarged [role=gridcell]").count() == rows * columns
    page.reload()
    page.wait_for_selector(f"{TILES}[aria-pressed=true]")
    assert page.locator(".heads-title").text_content() == "cross-attention · layer 1 · head 2"


def test_heads_are_sorted_by_importance(studio):
    page = studio.open(f"/heads?{QUERY}&role=cross&order=importance")
    page.wait_for_selector(f"{TILES}[aria-label*='importance']")
    values = [importance(tile) for tile in page.locator(f"{TILES}:not(.summary)").all()]
    assert len(values) == 4
    assert values == sorted(values)


def test_ablation_shows_both_translations(studio):
    page = studio.open(f"/heads?{QUERY}&role=cross&layer=2&head=1&language=hi")
    page.locator("#ablate-head").click()
    page.wait_for_selector(".heads-diff")
    answer = page.request.post(
        f"{studio.address}/api/heads/ablation",
        data={**QUESTION, "role": "cross", "layer": 2, "head": 1},
    ).json()
    for tag, change in (("del", "removed"), ("ins", "added")):
        marked = page.locator(f".heads-diff {tag}").count()
        assert marked == sum(kind == change for _, kind in answer["words"])
    assert page.locator(".heads-table tbody tr").count() >= 2
    assert "ablated=1" in current_url(page)
    assert Axe().run(page, context="#view").violations_count == 0


def test_recurrent_model_has_one_tile_and_a_link(studio):
    page = studio.open(f"/heads?{QUERY.replace('transformer', 'bahdanau')}&role=encoder_self")
    page.wait_for_selector(TILES)
    assert page.locator(TILES).count() == 1
    assert page.locator("#ablate-head").count() == 0
    assert page.locator(".heads-statistics-box :is([role=radiogroup], select)").count() == 0
    assert not page.get_by_text("switch it off").is_visible()
    page.get_by_text("Use transformer").click()
    page.wait_for_selector(f"{TILES}.summary")
    assert "model=transformer" in current_url(page)


def test_without_attention_there_is_nothing_to_set_or_to_choose(studio):
    page = studio.open(f"/heads?{QUERY.replace('transformer', 'sutskever')}")
    page.wait_for_selector("text=This model has no attention")
    assert page.locator("#view button:visible").count() == 0
    assert page.get_by_role("link", name="Use transformer").is_visible()


def test_the_enlarged_head_gets_its_importance_when_it_is_measured(studio):
    page = studio.open(f"/heads?{QUERY}")
    tile = page.locator(f"{TILES}[aria-pressed=true][aria-label*='importance']")
    tile.wait_for()
    value = tile.get_attribute("aria-label").rpartition(" ")[2]
    assert page.locator(".heads-chips span").last.inner_text().split() == ["importance", value]


def test_all_layers_and_heads_of_all_roles_are_in_one_grid(studio):
    page = studio.open(f"/heads?{QUERY}", viewport={"width": 390, "height": 800})
    page.wait_for_selector(".head-cell[aria-label*=importance] >> nth=11")
    trace = page.request.post(f"{studio.address}/api/translate", data=QUESTION).json()
    cells = page.locator(".head-cell")
    assert cells.count() == sum(block["shape"][0] for block in trace["attention"])
    assert page.locator(".head-role").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert min(box["width"] for box in (cell.bounding_box() for cell in cells.all())) >= 30
    page.locator("[data-cell='decoder_self-2-1']").click()
    assert "role=decoder_self&layer=2" in current_url(page)
    assert "decoder self-attention · layer 2" in page.locator(".heads-title").text_content().lower()
    assert page.locator(".head-cell[aria-pressed=true]").get_attribute("data-cell") == (
        "decoder_self-2-1"
    )


def test_ablation_says_in_words_whether_anything_changed(studio):
    page = studio.open(f"/heads?{QUERY}&role=encoder_self&layer=1&head=1&ablated=1")
    verdict = page.locator(".heads-verdict")
    verdict.wait_for()
    answer = page.request.post(
        f"{studio.address}/api/heads/ablation",
        data={**QUESTION, "role": "encoder_self", "layer": 1, "head": 1},
    ).json()
    pairs = zip(answer["logprobs"], answer["ablated_logprobs"], strict=True)
    largest = max(abs(math.exp(after) - math.exp(before)) for before, after in pairs)
    if any(kind != "same" for _, kind in answer["words"]):
        assert "removed" in verdict.inner_text()
    elif largest < 0.01:
        assert verdict.inner_text().startswith("Nothing changed")
    else:
        assert f"{largest:.3f}" in verdict.inner_text()
    cells = page.locator(".heads-table tbody tr").last.locator("td").all_text_contents()
    assert float(cells[0]) == pytest.approx(math.exp(sum(answer["logprobs"])), abs=6e-4)
