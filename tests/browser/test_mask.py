"""The mask in Inside: masked cells are hatched, and the leak test."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import current_url

QUERY = "text=The+bank+of+the+river+is+far.&model=transformer"
PAST = ".mask-before [data-value]"


def values(page, selector=PAST):
    return [float(cell.get_attribute("data-value")) for cell in page.locator(selector).all()]


def test_masked_cells_are_hatched_and_only_unmasked_attention_leaks(studio):
    page = studio.open(f"/inside/mask?{QUERY}&position=3")
    page.wait_for_selector(PAST)
    for cell in page.locator(".mask-map [role=gridcell]").all():
        row, column = (int(cell.get_attribute(f"data-{side}")) for side in ("row", "column"))
        hatched = "url(#" in cell.locator("rect").first.get_attribute("fill")
        assert hatched == ("−∞" in cell.get_attribute("aria-label")) == (column > row)
    assert values(page) == [0.0, 0.0, 0.0]
    assert page.locator(f"{PAST} .number").all_inner_texts() == ["0.0"] * 3
    page.get_by_role("radio", name="mask removed").click()
    page.wait_for_selector(".mask-verdict.leak")
    assert len(values(page)) == 3
    reference, without = (page.locator(f".mask-table tbody td:nth-child({n})") for n in (4, 5))
    pairs = zip(reference.all_inner_texts(), without.all_inner_texts(), strict=True)
    changed = sum(old != new.split(" → ")[0] for old, new in pairs)
    expect(page.locator(".mask-result")).to_contain_text(f"another next word at {changed} of ")
    assert all(value > 0 for value in values(page))
    assert "masked=0" in current_url(page)
    assert "−∞" not in page.locator(".mask-map").inner_html()
    padding = page.locator(".mask-token.pad").first
    assert "gradient" in padding.evaluate("cell => getComputedStyle(cell).backgroundImage")
    assert "0.0" in page.locator(".mask-padding > p").last.inner_text()


def test_unknown_word_gets_suggestions(studio):
    page = studio.open(f"/inside/mask?{QUERY}&position=2")
    page.wait_for_selector(PAST)
    page.locator("#mask-word").fill("qqq")
    page.keyboard.press("Enter")
    page.wait_for_selector("#mask-word[aria-invalid=true]")
    assert "“qqq”" in page.locator("#mask-error").inner_text()
    assert page.locator(PAST).count() == 0
    offered = page.locator(".mask-suggestions button").first
    word = offered.inner_text()
    offered.click()
    page.wait_for_selector(PAST)
    assert page.locator(".mask-table ins").inner_text() == word
    assert page.locator("#mask-error").inner_text() == ""


def test_recurrent_decoder_has_no_mask_and_no_leak(studio):
    page = studio.open(f"/inside?{QUERY.replace('transformer', 'luong')}&masked=0&position=3")
    page.locator(".step details.stage-panel > summary").click()
    page.wait_for_selector(PAST)
    assert values(page) == [0.0, 0.0, 0.0]
    assert page.locator(".mask [role=radio], .mask-map [role=grid]").count() == 0
    page.locator(".mask-toy a").click()
    expect(page.locator("[data-toy=how]")).to_have_attribute("aria-pressed", "true")


def test_the_tests_stand_beside_the_stage_of_the_mask(studio):
    page = studio.open(f"/inside/head?{QUERY}&role=decoder_self")
    panel = page.locator("#panel-mask")
    panel.locator("> summary").click()
    page.wait_for_selector(PAST)
    assert "stage=mask" in current_url(page)
    assert page.locator("[data-stage='6']").bounding_box()["y"] < panel.bounding_box()["y"]
    assert panel.bounding_box()["y"] < page.locator("[data-stage='7']").bounding_box()["y"]
    report = Axe().run(page, context="#view")
    assert report.violations_count == 0, report.generate_report()


def test_of_a_long_sentence_the_padding_is_in_sight(studio):
    text = "+".join(["the", "man", "is", "tall", "and"] * 6)
    path = f"/inside/mask?text={text}&model=transformer"
    page = studio.open(path, viewport={"width": 390, "height": 800})
    box = page.locator(".mask-padding .picture")
    box.wait_for()
    page.wait_for_function("document.querySelector('.mask-padding .picture').scrollLeft > 0")
    frame, first = box.bounding_box(), page.locator(".mask-token.pad").first.bounding_box()
    assert frame["x"] <= first["x"]
    assert first["x"] + first["width"] <= frame["x"] + frame["width"]
