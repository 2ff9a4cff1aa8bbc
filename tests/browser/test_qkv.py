"""Q K V view: the preset toys, edits, and agreement with a trained head."""

import math
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import current_url

SENTENCE = "text=we+are+friends&model=transformer"
ROWS = """table => [...table.tBodies[0].rows].map((row) =>
    [...row.querySelectorAll("td[data-row]")].map((cell) => cell.textContent))"""


def table(page, stage, *, last=True):
    """Cell texts of a stage's result, row by row."""
    tables = page.locator(f"[data-stage='{stage}'] table.matrix-table")
    return (tables.last if last else tables.first).evaluate(ROWS)


def test_toy_cat_has_the_expected_numbers(studio):
    page = studio.open("/playground?toy=cat")
    assert table(page, 3) == [["2", "0", "2"], ["0", "2", "2"], ["2", "2", "4"]]
    assert table(page, 4) == [["1", "0", "1"], ["0", "1", "1"], ["1", "1", "2"]]
    assert table(page, 6) == [
        [".422", ".155", ".422"], [".155", ".422", ".422"], [".212", ".212", ".576"],
    ]  # fmt: skip
    assert table(page, 7) == [
        ["0.845", "0.578", "0.845", "0.578"],
        ["0.578", "0.845", "0.578", "0.845"],
        ["0.788", "0.788", "0.788", "0.788"],
    ]


def test_softmax_of_money_bank_saturates_and_a_tenth_does_not(studio):
    page = studio.open("/playground?toy=bank")
    assert table(page, 3) == [["691", "1086"], ["1086", "1467"]]
    assert "1.000 to three digits" in page.locator("[data-stage='6'] .remark").inner_text()
    page.click("[data-toy=tenth]")
    assert table(page, 3) == [["6.91", "10.86"], ["10.86", "14.67"]]
    weights = [[float(text) for text in row] for row in table(page, 6)]
    assert [[round(weight, 3) for weight in row] for row in weights] == [
        [0.058, 0.942],
        [0.063, 0.937],
    ]
    assert page.locator("[data-stage='6'] .remark").inner_text() == ""


def test_swapped_queries_and_keys_are_detected(studio):
    page = studio.open("/playground?toy=swaps")
    assert table(page, 3) == [["6.46", "11.97"], ["9.69", "15.39"]]
    assert table(page, 6) == [[".0199", ".9801"], [".0175", ".9825"]]
    assert table(page, 7) == [["4.1602", "1.1940"], ["4.1651", "1.1948"]]
    page.click("[data-switch=swapped]")
    assert table(page, 6) == [[".0925", ".9075"], [".0818", ".9182"]]
    remark = page.locator("[data-stage='6'] .remark").inner_text()
    assert "off by up to 0.0725" in remark
    assert "(.0199, .9801) (.0175, .9825)" in remark
    page.click("[data-toy=cat]")
    page.click("[data-switch=swapped]")
    assert "cannot show" in page.locator("[data-stage='6'] .remark").inner_text()


def test_masking_before_the_softmax_renormalizes(studio):
    page = studio.open("/playground?toy=how")
    assert table(page, 6, last=False)[0][1:] == ["−∞", "−∞"]
    weights = page.locator("[data-stage='6'] [role=grid]")
    cells = weights.locator("td[data-row]").all_inner_texts()
    assert cells == ["1.000", "0", "0", ".600", ".400", "0", ".600", ".300", ".100"]
    aside = page.locator(".aside").inner_text()
    assert "sum to .200, .500, 1.000" in aside
    page.click("[data-switch=causal]")
    assert table(page, 6) == [
        [".200", ".100", ".700"], [".300", ".200", ".500"], [".600", ".300", ".100"],
    ]  # fmt: skip


def test_edits_update_at_once_and_are_kept_in_the_url(studio):
    page = studio.open("/playground?toy=cat")
    field = page.get_by_label("W_v, the value projection, row 1, column 1")
    field.fill("−2,5")
    assert table(page, 7)[0][0] == "-2.112".replace("-", "−")
    assert "v+-2.5_0_0_0" in current_url(page)
    assert field.evaluate("field => field === document.activeElement")
    field.fill("two")
    assert field.get_attribute("aria-invalid") == "true"
    field.press("Tab")
    assert "not a number" in page.locator("#status").inner_text()
    before = page.locator("#view").aria_snapshot()
    page.reload()
    page.wait_for_selector("[data-stage='7']")
    assert page.locator("#view").aria_snapshot() == before


def test_words_and_widths_can_be_changed(studio):
    page = studio.open("/playground?toy=swaps")
    page.get_by_role("button", name="Add a word").click()
    page.get_by_label("word 3").fill("नदी")
    page.get_by_role("button", name="dk: one more").click()
    page.get_by_role("button", name="dv: one less").click()
    assert page.locator("[data-stage='3'] [role=grid] td[data-row]").count() == 9
    assert page.locator("[data-stage='7'] [role=grid] td[data-row]").count() == 3
    assert page.locator("[data-stage='4'] .operator").inner_text() == "÷ √3 ="
    assert page.locator("[data-stage='7'] [role=grid] th").all_inner_texts()[-1] == "नदी"
    page.get_by_role("button", name="Remove money").click()
    assert page.locator("[data-stage='3'] [role=grid] td[data-row]").count() == 4
    assert "words+bank+%E0%A4" in current_url(page)


def test_server_computes_the_same(studio):
    page = studio.open("/playground?toy=swaps")
    page.click("[data-switch=o]")
    page.click("[data-switch=causal]")
    page.click("button.check")
    page.wait_for_selector(".check-result .badge.match")
    gaps = re.findall(r"at most (0|[\d.]+e−\d+)", page.locator(".check-result").inner_text())
    assert len(gaps) == 2
    assert all(gap == "0" or int(gap.split("−")[1]) >= 12 for gap in gaps)


def test_invalid_toy_is_corrected_and_reported(studio):
    page = studio.open("/playground?toy=words+a+b*x+1_2+3_oops*q+I*k+I*v+I")
    expect(page.locator("#status")).to_contain_text("do not fit (x); they were corrected")
    assert table(page, 3) == [["5", "3"], ["3", "9"]]


@pytest.mark.parametrize("kind", ["encoder_self", "decoder_self", "cross"])
def test_trained_head_agrees_at_every_stage(studio, kind):
    page = studio.open(f"/inside/head?{SENTENCE}&role={kind}&layer=1&head=2&target=2")
    page.wait_for_selector("[data-stage='10']")
    badges = page.locator(".badge").all_inner_texts()
    assert len(badges) == 8
    for words in badges:
        assert re.search(r"agrees with the model to (\d\.\de−[6-9]|the last bit)", words), words
    assert page.locator(".badge.mismatch").count() == 0
    hidden = page.locator("[data-stage='6'] table").count()
    assert bool(hidden) == (kind == "decoder_self")


def test_cells_open_their_sum_and_map_rows_select_the_query(studio):
    page = studio.open(f"/inside/head?{SENTENCE}&role=encoder_self&target=2")
    page.wait_for_selector("[data-stage='10']")
    grid = page.locator("[data-stage='4'] [role=grid]")
    grid.locator("[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    dialog = page.locator("dialog.sum")
    assert dialog.locator(".badge.match").count() == 1
    width = int(page.locator("[data-stage='4'] .matrix-name").first.inner_text().split("×")[1])
    assert dialog.locator("tbody tr").count() == width
    report = Axe().run(page, context="dialog")
    assert report.violations_count == 0, report.generate_report()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.column") == "1"
    page.locator(".picture .cell[data-row='2'][data-column='1']").click()
    asks = page.locator("[data-stage='1'] tbody th").first.inner_text()
    assert asks == page.locator(".picture .label[data-row='2']").first.text_content()
    assert "target=3" in current_url(page)
    page.locator("[data-key=head]").select_option("2")
    expect(page.locator("#status")).to_contain_text("Head 2 of layer 2")


def test_the_first_query_opens_at_its_strongest_key_and_so_does_another(studio):
    page = studio.open(f"/inside/head?{SENTENCE}&role=cross")
    page.wait_for_selector("[data-stage='10']")
    weights = "cells => cells.map((cell) => Number(cell.dataset.value))"
    for target in ("1", "2"):
        page.locator("[data-key=target]").select_option(target)
        values = page.locator("[data-stage='7'] [role=grid] td[data-row]").evaluate_all(weights)
        chosen = page.locator("[data-stage='7'] [role=grid] td[tabindex='0']")
        assert float(chosen.get_attribute("data-value")) == max(values)


def test_the_query_of_cross_attention_has_read_the_token_before(studio):
    page = studio.open(f"/inside/head?{SENTENCE}&role=cross&target=2")
    page.wait_for_selector("[data-stage='10']")
    tokens = page.locator("[data-key=target] option").all_text_contents()
    before, written = [token.split(" · ")[1] for token in tokens[:2]]
    text = page.locator("[data-stage='1'] > p").first.inner_text()
    assert f"has just read {before} and writes {written}" in text


def numbers(text):
    return [float(number.replace("−", "-")) for number in re.findall(r"−?[\d.]+", text)]


@pytest.mark.parametrize("toy", ["cat", "bank", "tenth", "swaps", "how"])
def test_the_printed_sums_of_a_toy_add_up(studio, toy):
    page = studio.open(f"/playground?toy={toy}")
    lines = page.locator(".arithmetic-line").all_inner_texts()
    sums = [line.split(" = ") for line in lines if "·" in line]
    assert len(sums) == 5
    for _, terms, result in sums:
        total = sum(math.prod(numbers(term)) for term in terms.split(" + "))
        digits = len(result.partition(".")[2])
        assert total == pytest.approx(numbers(result)[0], abs=0.51 * 10**-digits), terms


def test_a_sentence_that_is_sent_where_none_is_shown_opens_in_translate(studio):
    page = studio.open("/playground")
    page.locator("#sentence").fill("we are friends")
    page.keyboard.press("Enter")
    page.wait_for_selector(".translate")
    assert "/translate?text=we+are+friends" in current_url(page)
    page.go_back()
    page.wait_for_selector(".self-attention")


def test_the_trace_decides_what_inside_shows(studio):
    page = studio.open("/inside/head?text=we+are+friends&model=bahdanau")
    page.wait_for_selector(".flow")
    assert "/inside?" in current_url(page)
    page.goto(current_url(page).replace("model=bahdanau", "model=transformer"))
    page.wait_for_selector("[data-stage='10']")
    assert "/inside/head?" in current_url(page)
