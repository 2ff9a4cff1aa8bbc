"""Compare view: two maps with linked cursors, and their difference."""

from urllib.parse import parse_qs, quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import current_url

FRIENDS = f"/translate?text={quote('We are friends.')}&model=bahdanau"
ALIKE = f"{FRIENDS}&text2={quote('They are friends.')}"
PAIR = f"{FRIENDS}&text2={quote('We see a dog.')}"


def loaded(page):
    page.wait_for_selector(".compare:not(.loading) [role=gridcell]")
    return page


def query(page):
    return {key: value for key, [value] in parse_qs(urlsplit(current_url(page)).query).items()}


def values(page, selector):
    cells = page.locator(f"{selector} [role=gridcell]")
    return cells.evaluate_all("(cells) => cells.map((cell) => Number(cell.dataset.value))")


def test_a_second_sentence_that_is_too_long_is_not_cut(studio):
    page = loaded(studio.open(ALIKE))
    field = page.locator("#second-sentence")
    field.fill("friend " * 80)
    field.press("Enter")
    expect(page.locator("#status")).to_contain_text("559 characters; at most 500 are translated")
    expect(field).to_have_attribute("aria-invalid", "true")
    assert query(page)["text2"] == "They are friends."


def test_a_second_model_joins_the_picture_and_leaves_it(studio):
    page = studio.open("/translate?model=bahdanau")
    page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
    page.get_by_role("button", name="+ second model").click()
    loaded(page)
    expect(page.locator("#second-model")).to_have_value("luong")  # the next one
    assert query(page)["model2"] == "luong"
    expect(page.locator(".compare-side .compare-translation")).to_have_count(2)
    page.locator("#second-model").select_option("transformer")
    expect(page.locator("#status")).to_contain_text("bahdanau, transformer")
    assert not Axe().run(page, context="main").response["violations"]
    page.locator(".compare-close").click()
    page.wait_for_selector(".translate:not(.loading) [role=gridcell]")
    assert "model2" not in query(page)


def test_a_link_to_the_earlier_view_opens_the_second_model(studio):
    page = loaded(studio.open("/translate/compare?text=We+are+friends.&model=bahdanau"))
    assert current_url(page).startswith(f"{studio.address}/translate?")
    assert query(page)["model2"] == "luong"
    page = loaded(studio.open(ALIKE.replace("/translate?", "/translate/compare?")))
    assert "model2" not in query(page)


def test_an_unknown_second_model_of_a_link_is_replaced_with_a_notice(studio):
    page = loaded(studio.open(f"{FRIENDS}&model2=nobody"))
    expect(page.locator(".notices")).to_contain_text("There is no model nobody here")
    expect(page.locator("#second-model")).to_have_value("luong")


def test_difference_is_b_minus_a_and_cursors_are_linked(studio):
    page = loaded(studio.open(ALIKE))
    left, right = (
        values(page, ".compare-side:first-child"),
        values(page, ".compare-side:last-child"),
    )
    delta = values(page, ".compare-delta")
    assert delta == pytest.approx([b - a for a, b in zip(left, right, strict=True)], abs=1e-7)
    first = page.locator(".compare-side").first
    first.locator(".cell[data-row='1'][data-column='2']").click()
    assert (query(page)["target"], query(page)["source"]) == ("2", "3")
    for map in (".compare-side:last-child", ".compare-delta"):
        here = page.locator(f"{map} .cell[tabindex='0']")
        expect(here).to_have_attribute("data-row", "1")
        expect(here).to_have_attribute("data-column", "2")
    expect(page.locator(".compare .live")).to_contain_text("Δ")


def test_different_translations_are_compared_by_source_word(studio):
    for sentence in ("We are friends.", "The bank of the river is far.", "The man saw the dog."):
        page = loaded(
            studio.open(f"/translate?text={quote(sentence)}&model=luong&model2=bahdanau&specials=1")
        )
        if len(set(page.locator(".compare-translation").all_text_contents())) == 2:
            break
    rows = page.locator(".compare-sources tbody tr")
    words = [*sentence.removesuffix(".").split(), ".", "</s>"]
    assert rows.locator("th").all_text_contents() == words


def test_model_without_attention_has_no_map_beside_one_that_has(studio):
    page = studio.open("/translate?text=We+are+friends.&model=bahdanau&model2=sutskever")
    expect(page.locator(".compare-side").last).to_contain_text("This model has no attention")
    assert page.locator(".compare-side:first-child [role=gridcell]").count()
    assert page.locator(".compare-delta").count() == 0


def test_missing_difference_is_explained_and_swap_exchanges_sides(studio):
    page = loaded(studio.open(PAIR))
    assert page.locator(".compare-delta [role=grid]").count() == 0
    expect(page.locator(".compare-delta")).to_contain_text("There is no difference map")
    before = [values(page, f".compare-side:{side}-child") for side in ("first", "last")]
    page.locator(".compare-swap").click()
    expect(page.locator("#second-sentence")).to_have_value("We are friends.")
    loaded(page)
    assert [values(page, f".compare-side:{side}-child") for side in ("last", "first")] == before
    assert query(page)["text"] == "We see a dog."


def test_equal_translations_are_named_and_each_has_its_probability(studio):
    page = studio.open("/translate?text=the+man+is+tall&model=luong&model2=luong")
    expect(page.locator(".compare-notice")).to_have_text("Both translations have the same words.")
    first, second = page.locator(".compare-confidence").all_inner_texts()
    assert first == second
    assert first.startswith("Mean probability of its tokens: 0.")
