"""Heat map: values, keyboard navigation, and speed of a large one."""

import json

import pytest
from playwright.sync_api import expect


def draw(page, **heat):
    """Draw a map in an empty page; its callbacks are recorded in `calls`."""
    page.evaluate(
        """async (options) => {
          const { drawHeatmap } = await import("/static/js/heatmap.js");
          globalThis.calls = [];
          const record = (kind) => (...args) => calls.push([kind, ...args]);
          const began = performance.now();
          globalThis.map = drawHeatmap({ label: "a map", maxWidth: 700, ...options,
            describe: (row, column, value) => `${row} ${column} ${value}`,
            onFocus: record("focus"), onHover: record("hover"),
            onOpen: record("open"), onPin: record("pin") });
          document.querySelector("#view").replaceChildren(map);
          map.getBoundingClientRect();
          globalThis.spent = performance.now() - began;
        }""",
        heat,
    )
    return page.locator(".heatmap")


def drawing_time(page, size):
    """Milliseconds to draw a square map."""
    draw(page, **square(size))
    return page.evaluate("spent")


def square(size):
    names = [{"text": f"w{at}"} for at in range(size)]
    values = [[1.0 if row == column else 0.0 for column in range(size)] for row in range(size)]
    return {"rows": names, "columns": names, "values": values}


def calls(page):
    return json.loads(page.evaluate("JSON.stringify(calls)"))


@pytest.mark.parametrize("size", [7, 70])
def test_keyboard_and_hover_callbacks_on_svg_and_canvas(studio, size):
    page = studio.open("/translate")
    box = draw(page, **square(size))
    live = box.locator("[role=gridcell][tabindex='0']")
    live.focus()
    for key in ("ArrowRight", "ArrowDown", "End", "Control+Home", "PageDown", "Enter", " "):
        page.keyboard.press(key)
    last, ten = size - 1, min(10, size - 1)
    assert calls(page) == [
        ["focus", 0, 1], ["focus", 1, 1], ["focus", 1, last], ["focus", 0, 0], ["focus", ten, 0],
        ["open", ten, 0], ["pin", ten],
    ]  # fmt: skip
    expect(live).to_be_focused()
    expect(live).to_have_attribute("aria-label", f"{ten} 0 0")
    page.evaluate("calls.length = 0")
    frame = box.locator("svg").bounding_box()
    x, y = frame["x"] + 0.4 * frame["width"], frame["y"] + min(0.5 * frame["height"], 300)
    page.mouse.move(x, y)
    page.mouse.move(x + 1, y)
    page.mouse.move(2, 2)
    hovers = calls(page)
    assert [kind for kind, *_ in hovers] == ["hover", "hover"]
    assert hovers[0][1] is not None
    assert hovers[1][1:] == [None, None]


def test_masked_cells_are_hatched_and_labels_of_a_large_map_are_sticky(studio):
    page = studio.open("/translate")
    hidden = [[column > row for column in range(4)] for row in range(4)]
    box = draw(page, **square(4), hidden=hidden)
    assert box.locator("rect.cell-rect[fill^='url']").count() == 6
    assert box.locator(".digits", has_text="−∞").count() == 6
    assert any(drawing_time(page, 128) < 1000 for _ in range(10))  # once without interruption
    assert page.locator(".heatmap canvas").count() == 1
    draw(page, **square(100), minCellWidth=12)
    page.evaluate("map.scrollTo(300, 300)")
    page.wait_for_function(
        """() => {
          const [frame, label] = [map, map.querySelector('[data-row="40"].label')]
            .map((label) => label.getBoundingClientRect().left);
          return map.scrollLeft > 100 && label >= frame && label - frame < 60;
        }""",
    )
