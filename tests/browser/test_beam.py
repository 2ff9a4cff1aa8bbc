"""Beam view: the tree of a beam search, its keyboard, its table, and the layout of the tree."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import current_url

TEXT = "The bank of the river is far."
NODES = ".beam-node"


def query(model="transformer", **more):
    fields = {"text": TEXT, "model": model, "beam_width": 4, **more}
    return "&".join(f"{key}={quote(str(value))}" for key, value in fields.items())


def tree_of(studio, page, model="transformer", beam=4):
    answer = page.request.post(
        f"{studio.address}/api/beam", data={"text": TEXT, "model": model, "beam": beam}
    )
    return answer.json()


def opened(studio, **fields):
    page = studio.open(f"/beam?{query(**fields)}")
    page.wait_for_selector(NODES)
    return page


def path_of(tree):
    path, node = [], tree["results"][0]
    while node > 0:
        path.insert(0, node)
        node = tree["nodes"][node]["parent"]
    return path


@pytest.mark.parametrize("model", ["transformer", "bahdanau", "luong", "sutskever"])
def test_the_tree_has_every_hypothesis_of_the_search(studio, model):
    page = opened(studio, model=model)
    tree = tree_of(studio, page, model)
    assert page.locator(NODES).count() == len(tree["nodes"])
    drawn = page.locator(f"{NODES}.winning").evaluate_all(
        "boxes => boxes.map((box) => Number(box.dataset.node)).sort((a, b) => a - b)"
    )
    assert drawn == sorted([0, *path_of(tree)])
    dropped = sum(node["fate"] == "dropped" for node in tree["nodes"])
    assert page.locator(f"{NODES}.dropped").count() == dropped > 0
    page.locator("[data-key=dropped]").click()
    expect(page.locator(f"{NODES}.dropped")).to_have_count(0)
    assert page.locator(NODES).count() == len(tree["nodes"]) - dropped
    best = tree["nodes"][tree["results"][0]]
    expect(page.locator(".beam-winner")).to_have_text(best["text"])
    score = f"{best['score_by_length']:.3f}".replace("-", "−")
    expect(page.locator(".beam-sum")).to_contain_text(f"= {score}")


def test_boxes_do_not_overlap_and_no_lines_cross(studio):
    page = opened(studio, beam_width=8)
    boxes = page.locator(NODES).evaluate_all(
        """boxes => boxes.map((box) => {
          const { x, y, width, height } = box.querySelector("rect").getBBox();
          return { node: Number(box.dataset.node), x, y, width, height };
        })"""
    )
    parents = [node["parent"] for node in tree_of(studio, page, beam=8)["nodes"]]
    middle = {box["node"]: box["y"] + box["height"] / 2 for box in boxes}
    columns = {}
    for box in boxes:
        columns.setdefault(box["x"], []).append(box)
    assert len(columns) > 3
    for column in columns.values():
        column.sort(key=lambda box: box["y"])
        for upper, lower in zip(column, column[1:], strict=False):
            assert upper["y"] + upper["height"] < lower["y"]
            if parents[upper["node"]] >= 0:
                assert middle[parents[upper["node"]]] <= middle[parents[lower["node"]]]


def test_arrow_keys_move_through_the_tree(studio):
    page = opened(studio)
    tree = tree_of(studio, page)
    path = path_of(tree)
    focus = page.locator(f"{NODES}[tabindex='0']")
    expect(focus).to_have_attribute("data-node", str(path[-1]))
    focus.focus()
    page.keyboard.press("ArrowLeft")
    expect(focus).to_have_attribute("data-node", str(path[-2]))
    expect(page.locator(".beam-prefix")).to_have_text(tree["nodes"][path[-2]]["text"])
    assert f"node={path[-2]}" in current_url(page)
    page.keyboard.press("Home")
    expect(focus).to_have_attribute("data-node", "0")
    page.keyboard.press("ArrowRight")
    expect(focus).to_have_attribute("data-node", str(path[0]))
    page.keyboard.press("ArrowDown")
    below = int(focus.get_attribute("data-node"))
    assert tree["nodes"][below]["step"] == 1
    assert below != path[0]
    label = focus.get_attribute("aria-label")
    assert re.match(r"step 1: .*, log-probability −\d.*, sum −\d.*, rank \d, \w+", label)
    page.reload()
    page.wait_for_selector(NODES)
    expect(focus).to_have_attribute("data-node", str(below))


def test_a_click_shows_why_a_hypothesis_was_dropped(studio):
    page = opened(studio)
    tree = tree_of(studio, page)
    index = next(i for i, node in enumerate(tree["nodes"]) if node["fate"] == "dropped")
    node = tree["nodes"][index]
    page.locator(f"[data-node='{index}'] rect").first.click()
    details = page.locator(".beam-details")
    expect(details).to_contain_text(f"rank {node['rank']}")
    expect(details).to_contain_text("Dropped")
    weights = tree["nodes"][node["parent"]]["attention"]
    shown = page.locator(".beam-attention li .number").all_text_contents()
    assert shown == [f"{weight:.2f}".removeprefix("0") for weight in weights]


def test_the_table_has_a_row_for_each_hypothesis(studio):
    page = studio.open(f"/beam?{query(display='table')}")
    rows = page.locator(".beam-rows.tall tbody tr")
    expect(rows.first).to_be_visible()
    assert rows.count() == len(tree_of(studio, page)["nodes"]) - 1


def test_a_beam_of_one_is_greedy_search(studio):
    page = opened(studio, beam_width=1)
    expect(page.locator(".beam-answer")).to_contain_text("greedy search")
    page.get_by_role("radio", name="2", exact=True).click()
    expect(page.locator(".beam-results tbody tr")).to_have_count(2)
    assert "beam_width=2" in current_url(page)


def test_each_kept_hypothesis_says_what_became_of_it(studio):
    page = opened(studio)
    tree = tree_of(studio, page)
    extended = {node["parent"] for node in tree["nodes"]}
    last = tree["nodes"][-1]["step"]
    reasons = set()
    for index, node in enumerate(tree["nodes"]):
        if node["fate"] != "kept" or not index:
            continue
        page.locator(f"[data-node='{index}'] rect").first.click()
        ended = index not in extended and node["step"] < last
        stopped = index not in extended and node["step"] == last
        expected = "ends here" if ended else "not extended" if stopped else "Kept: rank"
        expect(page.locator(".beam-details")).to_contain_text(expected)
        reasons.add(expected)
    assert {"Kept: rank", "not extended"} <= reasons


def test_a_hypothesis_is_continued_in_translate(studio):
    page = opened(studio)
    tree = tree_of(studio, page)
    index = next(i for i, node in enumerate(tree["nodes"]) if node["step"] == 1 and i > 1)
    page.locator(f"[data-node='{index}'] rect").first.click()
    page.locator(".beam-continue button").click()
    page.wait_for_selector(".translate:not(.loading)")
    expect(page.locator(".forced-notice")).to_contain_text(tree["nodes"][index]["text"])
    page.locator("[data-view], #navigation a[href^='/beam']").first.click()
    expect(page.locator(".beam-note")).to_contain_text("forced prefix")
    page.locator(".beam-note button").click()
    expect(page.locator(".beam-note .card")).to_have_count(0)


LABEL = """async (nodes) => {
  const { labelOf } = await import("/static/js/views/beam/explain.js");
  return nodes.map((_, index) => labelOf(nodes, index));
}"""


def test_a_token_that_continues_a_word_has_a_hyphen(studio):
    texts = [
        (-1, "<s>", ""), (0, "work", "work"), (1, "ing", "working"), (2, "now", "working now"),
        (3, ".", "working now."), (4, "</s>", "working now."),
    ]  # fmt: skip
    nodes = [
        {"parent": parent, "token": token, "text": text, "special": token in ("<s>", "</s>")}
        for parent, token, text in texts
    ]
    labels = studio.open("/beam").evaluate(LABEL, nodes)
    assert labels == ["<s>", "work", "\u2011ing", "now", ".", "</s>"]


REASONS = """async (tree) => {
  const { explainWinner } = await import("/static/js/views/beam/explain.js");
  return explainWinner(tree);
}"""


def a_tree(*, long_score, greedy_score):
    """Greedy search says b; a c wins by its length or its sum."""

    def node(step, parent, token, logprob, score, fate, text):
        return {
            "step": step, "parent": parent, "token": token, "logprob": logprob, "score": score,
            "score_by_length": score / max(step, 1), "rank": 1, "fate": fate, "text": text,
        }  # fmt: skip

    nodes = [
        node(0, -1, "<s>", 0, 0, "kept", ""),
        node(1, 0, "b", -0.5, -0.5, "kept", "b"),
        node(1, 0, "a", -1, -1, "kept", "a"),
        node(2, 1, "</s>", -0.5, greedy_score * 2, "finished", "b"),
        node(2, 2, "c", -0.1, -1.1, "kept", "a c"),
        node(3, 4, "</s>", -0.1, long_score, "finished", "a c"),
    ]
    return {
        "nodes": nodes, "results": [5, 3], "greedy": ["b", "</s>"], "greedy_path": [1, 3],
        "greedy_text": "b", "greedy_score": greedy_score,
    }  # fmt: skip


def test_the_answer_follows_from_the_numbers(studio):
    page = studio.open("/beam")
    by_sum = page.evaluate(REASONS, a_tree(long_score=-1.2, greedy_score=-0.9))
    assert by_sum["second"]["step"] == 1
    assert [by_sum["second"][key]["token"] for key in ("token", "otherToken")] == ["a", "b"]
    assert not by_sum["second"]["byLength"]
    assert by_sum["greedy"]["token"]["token"] == "b"
    by_length = page.evaluate(REASONS, a_tree(long_score=-1.2, greedy_score=-0.5))
    assert by_length["second"]["byLength"]
    assert not by_length["greedy"]["better"]


LAYOUT = """async ([nodes, gap]) => {
  const { layoutTree } = await import("/static/js/tree_layout.js");
  return layoutTree(nodes, { gap });
}"""
SEPARATE = """async ([targets, sizes, weights]) => {
  const { separate } = await import("/static/js/tree_layout.js");
  return separate(targets, sizes, weights);
}"""


def test_layout_keeps_a_heavy_path_straight(studio):
    page = studio.open("/beam")
    parents = [-1, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6]
    heavy = {0, 1, 3, 7}
    nodes = [
        {"parent": parent, "size": 2, "weight": 1e9 if index in heavy else 1}
        for index, parent in enumerate(parents)
    ]
    layout = page.evaluate(LAYOUT, [nodes, 1])
    assert layout["depth"] == [0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]
    centre = layout["centre"]
    assert [centre[index] for index in sorted(heavy)] == pytest.approx([0] * 4, abs=1e-6)
    for level in ([1, 2], [3, 4, 5, 6], [7, 8, 9, 10]):
        for upper, lower in zip(level, level[1:], strict=False):
            assert centre[lower] - centre[upper] >= 3 - 1e-6
    assert layout["start"] == pytest.approx(-1)
    assert layout["end"] == pytest.approx(max(centre) + 1)


@pytest.mark.parametrize(
    ("targets", "sizes", "weights", "expected"),
    [
        ([0, 10], [2, 2], [1, 1], [0, 10]),
        ([0, 0], [2, 2], [1, 1], [-1, 1]),
        ([0, 0], [2, 4], [3, 1], [-0.75, 2.25]),
        ([5, 0, 0], [2, 2, 2], [1, 1, 1], [-1 / 3, 5 / 3, 11 / 3]),
    ],
)
def test_separated_boxes_stay_nearest_to_their_targets(studio, targets, sizes, weights, expected):
    page = studio.open("/beam")
    assert page.evaluate(SEPARATE, [targets, sizes, weights]) == pytest.approx(expected)
