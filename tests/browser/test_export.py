"""Export: every file is complete and opens without the studio."""

import csv
import io
import re
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import expect

from dhyan.insight.trace import Trace
from dhyan.run import load
from dhyan.studio.export_html import interactive
from tests.browser.conftest import current_url, new_context

SENTENCE = "How are you?"
ROOMS = ["Translate", "Guided tour", "Inside", "Heads", "Beam", "Playground"]
ADDRESS = f"/translate?text={quote(SENTENCE)}&model="


@pytest.fixture
def page(studio):
    opened = studio.open(ADDRESS + "transformer")
    opened.wait_for_selector("[role=gridcell]")
    return opened


def download(page, item):
    """Name and bytes of the file that a menu item downloads."""
    page.click("#export")
    with page.expect_download() as event:
        page.click(f"[data-format={item}]")
    expect(page.locator("#status")).to_contain_text(event.value.suggested_filename)
    return event.value.suggested_filename, event.value.path().read_bytes()


def translation(page):
    """The words of the displayed translation."""
    return page.locator(".pair-target .pair-text").all_text_contents()


def weights(page):
    cells = page.locator("[role=gridcell]")
    return cells.evaluate_all("cells => cells.map(cell => cell.getAttribute('aria-label'))")


def test_menu_is_operated_by_keyboard_and_returns_focus(page):
    page.locator("#view").focus()
    page.keyboard.press("e")
    menu = page.get_by_role("menu")
    assert page.locator("#export").get_attribute("aria-expanded") == "true"
    focused_item = "document.activeElement.dataset.format"
    assert page.evaluate(focused_item) == "view-svg"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused_item) == "view-png"
    page.keyboard.press("End")
    assert page.evaluate(focused_item) == "page-html"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused_item) == "view-svg"
    page.keyboard.press("c")
    assert page.evaluate(focused_item) == "data-csv"
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    assert page.evaluate("document.activeElement.id") == "export"
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    with page.expect_download() as event:
        page.keyboard.press("Enter")
    assert event.value.suggested_filename.endswith(".json")
    assert page.evaluate("document.activeElement.id") == "export"
    page.click("#export")
    page.click("#export")
    expect(menu).to_have_count(0)


def test_disabled_items_say_why_and_csv_and_file_names_are_escaped(studio):
    page = studio.open("/translate?model=bahdanau")
    page.locator("#sentence").fill("")
    page.locator("#sentence").press("Enter")
    page.wait_for_selector(".translate.empty")
    page.click("#export")
    items = page.get_by_role("menuitem")
    expect(items).to_have_count(8)
    expect(page.locator("[role=menuitem][aria-disabled=true]")).to_have_count(8)
    page.click("[data-format=data-json]", force=True)
    expect(page.locator("#status")).to_have_text("Translate a sentence first.")
    table, name = page.evaluate(
        """async () => {
          const { asCsv, fileName } = await import("/static/js/export_csv.js");
          return [
            asCsv({ values: [[-0.5, 1], [-Infinity, 0.25]], rows: ["=1+1", 'a "b", c'],
              columns: ["@x", "-y"] }),
            fileName({ view: "heads", model: "../My:Model", text: "" }, { text: "नदी का / किनारा है" },
              "svg", new Date(2026, 10, 15)),
          ];
        }"""
    )
    assert table == '\ufeff,\'@x,\'-y\r\n\'=1+1,-0.5,1\r\n"a ""b"", c",-inf,0.25\r\n'
    assert name == "heads_my-model_नदी-का-किनारा_20261115.svg"


def test_open_menu_is_accessible_and_fits_a_small_window(studio):
    page = studio.open(
        ADDRESS + "bahdanau&language=hi",
        viewport={"width": 375, "height": 700},
        color_scheme="dark",
    )
    page.wait_for_selector("[role=gridcell]")
    page.click("#export")
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    box = page.get_by_role("menu").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 375
    report = Axe().run(page, context=".tools")
    assert report.violations_count == 0, report.generate_report()


def test_svg_is_self_contained_and_png_is_twice_the_size(page):
    name, content = download(page, "view-svg")
    assert re.fullmatch(r"alpha_transformer_how-are-you_\d{8}\.svg", name)
    root = ElementTree.fromstring(content)
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert tags.count("rect") >= len(weights(page))
    texts = {element.text for element in root.iter() if element.tag.endswith("}text")}
    assert {"How", "are", "you"} <= texts
    assert translation(page)[0] in texts
    assert root.find("{*}title").text.endswith(SENTENCE)
    assert "/translate?text=" in root.find("{*}metadata").text
    assert "data:font/ttf;base64," in root.find("{*}style").text
    for element in root.iter():
        assert not {"class", "tabindex", "style"} & set(element.attrib)
        assert not any("http" in value for key, value in element.attrib.items() if "href" in key)
    box = page.locator("svg.heatmap-svg").bounding_box()
    name, content = download(page, "view-png")
    picture = Image.open(io.BytesIO(content))
    assert name.endswith(".png")
    assert abs(picture.width - 2 * (box["width"] + 32)) <= 2
    assert picture.text["Title"].endswith(SENTENCE)
    assert "/translate?text=" in picture.text["Source"]
    # Labels beside the map are drawn: there is ink left of the first cell.
    left = page.locator("[role=gridcell] rect").first.bounding_box()["x"] - box["x"]
    labels = picture.convert("L").crop((0, picture.height // 3, int(2 * left), picture.height))
    assert labels.getextrema()[0] < 100


def test_svg_of_a_large_map_contains_its_canvas(studio):
    page = studio.open("/translate?unit=token&model=transformer&text=" + quote("how are you " * 24))
    page.wait_for_selector("canvas")
    root = ElementTree.fromstring(download(page, "view-svg")[1])
    [image] = [element for element in root.iter() if element.tag.endswith("}image")]
    assert image.get("href").startswith("data:image/png;base64,")


def test_svg_of_a_table_has_its_numbers(studio):
    page = studio.open(f"{ADDRESS}bahdanau&display=table")
    page.wait_for_selector(".weights table")
    root = ElementTree.fromstring(download(page, "view-svg")[1])
    texts = [element.text for element in root.iter() if element.tag.endswith("}text")]
    cells = page.locator(".weights :is(td, th)").all_inner_texts()
    assert sorted(texts) == sorted(filter(None, cells))


def test_svg_of_a_comparison_has_both_maps_with_their_canvases_and_the_difference(studio):
    text = quote("how are you " * 24)
    page = studio.open(f"/translate?text={text}&model=bahdanau&model2=luong")
    page.wait_for_selector(".compare:not(.loading) .compare-side canvas")
    canvases = page.locator(".compare canvas").count()
    root = ElementTree.fromstring(download(page, "view-svg")[1])
    images = [element for element in root.iter() if element.tag.endswith("}image")]
    assert len(images) == canvases >= 2
    texts = {element.text for element in root.iter() if element.tag.endswith("}text")}
    assert {"A", "B", "bahdanau", "luong", page.locator(".compare-delta h2").inner_text()} <= texts
    width = float(root.get("width"))
    drawings = page.locator(".compare svg").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().right)"
    )
    left = page.locator(".compare-pair").bounding_box()["x"]
    assert width >= max(drawings) - left  # what scrolls on the page is in the picture


def test_figures_and_data_are_complete(page):
    assert download(page, "figure-png")[1].startswith(b"\x89PNG")
    assert download(page, "figure-pdf")[1].startswith(b"%PDF-")
    svg = ElementTree.fromstring(download(page, "figure-svg")[1])
    assert svg.tag.endswith("}svg")
    trace = Trace.from_json(download(page, "data-json")[1].decode())
    assert (trace.text, list(trace.target.words)[:-1]) == (SENTENCE, translation(page))
    page.keyboard.press("x")  # with the special tokens
    expect(page.locator(".pair-target .pair-text").last).to_have_text("</s>")
    name, content = download(page, "data-csv")
    assert content.startswith(b"\xef\xbb\xbf")
    [_, *columns], *rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    assert tuple(columns) == trace.source.words
    assert [row[0] for row in rows] == list(trace.target.words)
    for _, *line in rows:
        assert sum(map(float, line)) == pytest.approx(1, abs=1e-5)


@pytest.fixture
def file(page, browser, tmp_path):
    """The exported page, opened from disk without network; a page error fails the test."""
    path = tmp_path / "page.html"
    path.write_bytes(download(page, "page-html")[1])
    context = new_context(browser, offline=True)
    opened, wrong = context.new_page(), []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda log: log.type in ("error", "warning") and wrong.append(log.text))
    opened.on(
        "request",
        lambda request: wrong.append(request.url) if request.url.startswith("http") else None,
    )
    opened.goto(path.as_uri())
    opened.wait_for_selector("[role=gridcell]")
    yield opened
    context.close()
    assert not wrong


def test_standalone_page_shows_the_same_and_names_what_needs_a_server(page, file):
    assert weights(file) == weights(page)
    assert file.locator("#sentence").input_value() == SENTENCE
    assert not file.locator("#sentence").is_editable()
    assert file.locator(".rooms a").all_inner_texts() == ROOMS
    for hidden in ("#model", "#beam", ".examples", "#copy-link", ".sentence-form button"):
        assert not file.locator(hidden).is_visible()
    assert download(file, "view-png")[1].startswith(b"\x89PNG")
    assert b"data:font/woff" in download(file, "view-svg")[1]
    file.click("#export")
    offered = file.get_by_role("menuitem").evaluate_all("all => all.map(one => one.dataset.format)")
    assert offered == ["view-svg", "view-png", "data-csv", "data-json"]
    expect(file.locator("[role=menuitem][aria-disabled=true]")).to_have_count(0)
    file.keyboard.press("Escape")
    expect(file.locator("button.top-token")).to_have_count(0)
    expect(file.locator("main")).not_to_contain_text("Choose another word")
    file.keyboard.press("?")
    expect(file.get_by_role("dialog")).to_contain_text("go to Translate, Inside, Heads, Beam")
    expect(file.get_by_role("dialog")).not_to_contain_text("Training")
    expect(file.get_by_role("dialog")).not_to_contain_text("second model")
    file.keyboard.press("Escape")
    file.keyboard.press("g")
    file.keyboard.press("l")
    expect(file.locator("#status")).to_contain_text("saved trace")
    file.get_by_role("link", name="Heads").click()
    file.wait_for_selector(".heads [role=gridcell]")
    file.click("#language")
    file.wait_for_selector("html[lang=hi]")
    assert "#/heads?" in current_url(file)
    before = file.locator("main").aria_snapshot()
    file.reload()  # its address brings it back
    file.wait_for_selector(".heads [role=gridcell]")
    assert file.locator("main").aria_snapshot() == before
    assert file.evaluate("document.fonts.check('16px \"Noto Sans Devanagari\"', 'क्ष')")
    file.go_back()
    file.wait_for_selector("html[lang=en]")


def test_notebook_iframe_shows_a_trace(studio, models):
    from dhyan.insight.trace import trace

    page = studio.open("/translate?text=")
    iframe = interactive(trace(load(models[1]), SENTENCE, model="bahdanau"))._repr_html_()
    outside = page.context.new_page()
    wrong = []
    outside.on("pageerror", lambda error: wrong.append(str(error)))
    outside.on("console", lambda log: wrong.append(log.text) if log.type == "error" else None)
    outside.set_content(f"<!doctype html>{iframe}{iframe}")
    for number in (0, 1):
        frame = outside.frame_locator("iframe").nth(number)
        frame.locator("[role=gridcell]").first.wait_for()
        frame.locator("[role=gridcell]").nth(1).click()
        outside.keyboard.press("ArrowRight")
        assert not frame.locator("#export").is_visible()
    assert not wrong
    page.close()
