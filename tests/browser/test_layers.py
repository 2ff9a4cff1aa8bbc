"""The last stage of Inside: the prediction after every layer of a Transformer decoder."""

from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.conftest import current_url

TEXT = "The bank of the river is far."
CELLS = ".layers-cell"


def test_every_cell_is_the_top_token_of_its_layer(studio):
    page = studio.open(f"/inside/layers?text={quote(TEXT)}&model=transformer")
    page.wait_for_selector(CELLS)
    answer = page.request.post(
        f"{studio.address}/api/layers", data={"text": TEXT, "model": "transformer"}
    ).json()
    assert page.locator(CELLS).count() == len(answer["layers"]) * len(answer["outputs"])
    for layer, entries in enumerate(answer["layers"]):
        for position, entry in enumerate(entries):
            cell = page.locator(f"[data-position='{position}'][data-layer='{layer}']")
            token, prob = entry["top_tokens"][0]
            own = " ✓" if entry["top_is_output"] else ""
            assert cell.text_content() == f"{token}{own}{prob:.2f}".replace("0.", ".")


def test_arrow_keys_move_in_the_grid(studio):
    page = studio.open(f"/inside/layers?text={quote(TEXT)}&model=transformer")
    selected = page.locator(f"{CELLS}[aria-selected=true]")
    selected.focus()
    expect(selected).to_have_attribute("data-layer", "2")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    expect(selected).to_be_focused()
    expect(selected).to_have_attribute("data-position", "1")
    expect(selected).to_have_attribute("data-layer", "1")
    expect(page.locator(".layers-details h3")).to_contain_text("Position 2")
    assert "target=2" in current_url(page)
    page.keyboard.press("Home")
    expect(selected).to_have_attribute("data-layer", "0")


def test_the_stage_is_missing_where_the_trace_has_no_decoder_self_attention(studio):
    page = studio.open(f"/inside/layers?text={quote(TEXT)}&model=luong")
    page.wait_for_selector(".flow")
    assert page.locator(CELLS).count() == 0
    assert "/inside?" in current_url(page)
