"""Translate view: streamed translation and attention map, by mouse and keyboard."""

import base64
import struct
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from dhyan.pretrained import card_of, model_folder
from dhyan.studio.registry import ModelRegistry
from tests.browser.conftest import Studio, current_url, serving

SENTENCE = "How are you?"
PREFIX = "नदी का"  # the small models generate little without a prefix
PATH = f"/translate?text={quote(SENTENCE)}&model=bahdanau&prefix={quote(PREFIX)}"


def trace(page, model="bahdanau", text=SENTENCE, prefix=PREFIX):
    response = page.request.post(
        current_url(page).split("/translate")[0] + "/api/translate",
        data={"text": text, "model": model, "prefix": prefix},
    )
    return response.json()


def weights(response):
    block = next(block for block in response["attention"] if block["role"] == "cross")
    _, rows, columns = block["shape"]
    values = struct.unpack(
        f"<{rows * columns}f", base64.b64decode(block["data"])[: 4 * rows * columns]
    )
    return [values[row * columns : (row + 1) * columns] for row in range(rows)]


def query(page):
    return {key: value for key, [value] in parse_qs(urlsplit(current_url(page)).query).items()}


def loaded(page):
    page.wait_for_selector(".translate:not(.loading) .map-layout")
    return page


def test_map_shows_the_weights_of_the_model(studio):
    page = studio.open("/translate?model=bahdanau&specials=1")
    loaded(page)
    page.keyboard.press("/")
    page.keyboard.type(SENTENCE)
    page.keyboard.press("Enter")
    expect(page.locator(".pair-source .pair-text").first).to_have_text(SENTENCE.split()[0])
    cells = loaded(page).locator("[role=gridcell]")
    expected = weights(trace(page, prefix=""))
    assert cells.count() == sum(map(len, expected))
    labels = cells.evaluate_all(
        "(cells) => cells.map((cell) => cell.getAttribute('aria-label').split(': ').at(-1))"
    )
    assert labels == [f"{value:.3f}" for line in expected for value in line]
    assert page.locator(".pair-target .pair-word").count() == len(expected)
    assert set(page.locator(".row-statistic").all_text_contents()) >= {"1.000", "Σ"}
    expect(page.locator(".live")).not_to_be_empty()


def test_hidden_tokens_have_a_column_that_completes_every_row(studio):
    page = loaded(studio.open(f"{PATH}&specials=0"))
    *hidden, title = page.locator(".row-statistic").all_text_contents()[::2]
    assert title == "</s>"
    shown = [sum(row[:-1]) for row in weights(trace(page))][: len(hidden)]
    assert [float(weight) for weight in hidden] == pytest.approx(
        [1 - weight for weight in shown], abs=2e-3
    )
    expect(page.locator(".legend-notes")).to_contain_text("The column </s> is their weight")


@pytest.mark.parametrize(
    ("language", "new", "seen"),
    [("en", "new", "seen in training"), ("hi", "नया", "प्रशिक्षण में देखा हुआ")],
)
def test_sentences_are_marked_as_new_or_seen_in_training(studio, language, new, seen):
    page = studio.open(f"/translate?model=bahdanau&language={language}")
    example = page.locator("#examples .example-groups > .examples li", has_text="My sister works")
    expect(example.locator(".mark")).to_have_text(new)
    lights = page.locator("#examples .examples-seen li", has_text="Turn off the lights")
    expect(lights.locator(".mark")).to_have_text(seen)
    mark = page.locator("#sentence-mark .mark")
    expect(mark).to_have_text(new)
    for text, expected in (("how are you", seen), ("How is the weather there?", new)):
        page.locator("#sentence").fill(text)
        page.locator("#sentence").press("Enter")
        expect(mark).to_have_text(expected)
        expect(mark).to_be_visible()


def test_the_scores_of_a_pretrained_model_stand_beside_its_name(browser, models):
    folders = [model_folder("en-hi-bahdanau"), models[1]]
    with serving(ModelRegistry(folders)) as address:
        opened = Studio(browser, address)
        page = opened.open("/translate")
        scores = card_of("en-hi-bahdanau").scores
        text = " · ".join(f"{score.name} {score.value:.1f}" for score in scores.values())
        expect(page.locator("#model-scores")).to_have_text(f"unseen: {text}")
        page.select_option("#model", "bahdanau")
        expect(page.locator("#model-scores")).to_have_text("not scored on unseen sentences")
        opened.close()
    assert not opened.wrong


def test_without_a_model_the_page_says_what_to_do(browser):
    with serving(ModelRegistry([])) as address:
        opened = Studio(browser, address)
        page = opened.open("/translate")
        expect(page.locator(".start-card")).to_contain_text("dhyan train numbers")
        expect(page.locator("#status")).to_contain_text("There is no model here")
        opened.close()
    assert not opened.wrong


def test_hover_does_not_select_and_keyboard_does(studio):
    page = loaded(studio.open(PATH))
    before = current_url(page)
    page.locator(".cell[data-row='1'][data-column='2']").hover()
    expect(page.locator(".pair-target .pair-word.selected")).to_have_text(PREFIX.split()[1])
    assert page.locator(".pair-lines path").count() >= 1
    assert current_url(page) == before
    page.locator(".pair-source .pair-word").nth(2).hover()
    expect(page.locator(".pair-source .pair-word.selected")).to_have_text("you")
    assert current_url(page) == before
    page.locator("[role=gridcell][tabindex='0']").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert (query(page)["target"], query(page)["source"]) == ("2", "2")
    label = page.locator(".cell:focus").get_attribute("aria-label")
    expect(page.locator(".live")).to_contain_text(label)
    page.keyboard.press("Space")
    assert query(page)["pinned"] == "2"
    page.keyboard.press("Enter")
    page.wait_for_url("**/inside?*")
    assert (query(page)["target"], query(page)["source"]) == ("2", "2")


def test_forced_prefix_and_undo(studio):
    page = loaded(studio.open("/translate?text=the+dog&model=bahdanau"))
    tokens = [token["text"] for token in trace(page, text="the dog", prefix="")["target"]["tokens"]]
    choice = page.locator("button.top-token").first
    word = choice.locator(".token-text").text_content()
    choice.click()
    expect(page.locator(".forced-notice")).to_be_visible()
    expect(page.locator(".pair-target .pair-text").first).to_have_text(word)
    assert query(page)["prefix"] == word
    page.locator(".forced-notice button").click()
    expect(page.locator(".pair-target .pair-text").first).to_have_text(tokens[0])
    page.go_back()
    expect(page.locator(".pair-target .pair-text").first).to_have_text(word)


def test_ribbon_widths_are_weights_and_ribbons_have_keyboard_navigation(studio):
    page = loaded(studio.open(f"{PATH}&display=ribbons&specials=1"))
    expected = [value for line in weights(trace(page)) for value in line if value >= 0.02]
    assert page.locator(".ribbon").count() == len(expected)
    page.set_viewport_size({"width": 375, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.locator(".ribbon-word[data-side=row]").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".ribbon-word:focus")).to_have_attribute("data-index", "1")
    assert query(page)["target"] == "2"
    strong = page.locator(".ribbon.selected").evaluate_all(
        "(cells) => cells.map((cell) => cell.dataset.row)"
    )
    assert set(strong) == {"1"}
    assert not Axe().run(page, context="main").response["violations"]


@pytest.mark.parametrize(
    ("display", "focused", "words"),
    [
        ("map", ".cell[data-row='1'][data-column='2']", ".cell"),
        ("map", ".pair-source .pair-word[data-index='2']", ".pair-word"),
        ("ribbons", ".ribbon-word[data-side=row][data-index='1']", ".ribbon-word"),
        ("ribbons", ".ribbon-word[data-side=column][data-index='3']", ".ribbon-word"),
        ("table", ".weights", ".weights"),
    ],
)
def test_a_new_width_and_a_setting_keep_the_focus(studio, display, focused, words):
    page = loaded(studio.open(f"{PATH}&display={display}"))
    for change in (
        lambda: page.set_viewport_size({"width": 375, "height": 800}),
        lambda: page.evaluate("document.querySelector('[data-key=numbers]').click()"),
    ):
        page.locator(focused).focus()
        page.locator(words).first.evaluate("element => element.classList.add('old')")
        change()
        expect(page.locator(".old")).to_have_count(0)  # drawn again
        expect(page.locator(f"{focused}:focus")).to_have_count(1)


def test_shortcuts_change_the_display_and_a_link_reproduces_it(studio):
    page = loaded(studio.open(PATH))
    for key in "sxnT":
        page.keyboard.press(key)
    table = page.locator(".weights table")
    expect(table).to_be_visible()
    assert "</s>" in table.text_content()
    expect(page.locator(".legend")).to_contain_text("Bold: the largest weight of a row")
    assert page.locator(".legend-scale").count() == 0  # a table has no colours
    page.locator(".all-steps summary").click()
    assert not Axe().run(page, context="main").response["violations"]
    page.locator(".all-steps summary").click()
    assert {key: query(page)[key] for key in ("scale", "specials", "numbers", "display")} == {
        "scale": "sqrt", "specials": "1", "numbers": "0", "display": "table",
    }  # fmt: skip
    again = loaded(studio.open(current_url(page).removeprefix(studio.address)))
    assert again.locator("main").aria_snapshot() == page.locator("main").aria_snapshot()


def test_head_selection_and_labelled_averages(studio):
    page = loaded(studio.open(f"/translate?text={quote(SENTENCE)}&model=transformer"))
    expect(page.locator(".legend")).to_contain_text("summary")
    page.locator("select[data-key=head]").select_option("2")
    expect(page.locator(".legend")).not_to_contain_text("summary")
    page.locator(".cell[data-row='0'][data-column='1']").dblclick()
    page.wait_for_url("**/inside/head?*")
    assert [query(page)[key] for key in ("role", "layer", "head", "source")] == [
        "cross",
        "2",
        "2",
        "2",
    ]


def test_bottleneck_model_shows_one_vector_and_no_share_of_a_word(studio):
    page = loaded(studio.open(PATH.replace("bahdanau", "bottleneck")))
    expect(page.locator(".bottleneck")).to_contain_text("one vector for the whole sentence")
    assert page.locator("[role=gridcell], .context-sum, .context-bar").count() == 0
    expect(page.locator(".translate-side")).to_contain_text("It holds the whole sentence")
    page.locator(".pair-source button").first.click()
    expect(page.locator(".translate-side")).to_contain_text("no weight of its own")


def test_model_without_attention_says_so_and_shows_no_map(studio):
    page = loaded(studio.open(PATH.replace("bahdanau", "sutskever")))
    expect(page.locator(".bottleneck")).to_contain_text("This model has no attention")
    expect(page.locator("#lesson-title")).to_have_text("One vector for a sentence")
    words = page.locator(".pair-target .pair-text").all_inner_texts()
    count = sum(any(letter.isalnum() for letter in word) for word in words)
    expect(page.locator(".bottleneck .muted")).to_contain_text("these 3 words")  # without the "?"
    expect(page.locator(".bottleneck .muted")).to_contain_text(f"all {count} words")
    expect(page.get_by_role("radiogroup", name="Picture")).to_be_hidden()
    assert page.locator("[role=gridcell]").count() == 0
    page.locator(".pair-source button").first.click()
    expect(page.locator(".translate-side")).to_contain_text("no attention")
    page = studio.open("/heads?text=We+are+friends.&model=sutskever")
    expect(page.locator(".heads-note")).to_contain_text("no attention")


def test_long_sentence_is_drawn_and_too_long_is_refused(studio):
    words = ["a"] * 129
    page = loaded(studio.open(f"/translate?text={'+'.join(words[:128])}&model=bahdanau&specials=1"))
    expect(page.locator("canvas.heatmap-canvas")).to_be_visible()
    page.locator(".heatmap-cursor").focus()
    page.keyboard.press("End")
    assert query(page)["source"] == "129"  # with the end of the sentence
    page = studio.open(f"/translate?text={'+'.join(words)}&model=bahdanau", wait=False)
    expect(page.locator("#status")).to_contain_text("at most 128")
    expect(page.locator(".translate-notice .failure")).to_contain_text("at most 128")
    studio.wrong.clear()  # the browser's console names the refusal


def test_a_sentence_in_another_script_names_the_language_of_the_model(studio):
    page = studio.open("/translate?text=आदमी लंबा है&model=bahdanau")
    notice = page.locator(".quality-notice")
    expect(notice).to_contain_text("This model translates from English.")
    page.fill("#sentence", "the man is tall")
    page.press("#sentence", "Enter")
    expect(page.locator(".quality-notice", has_text="translates from")).to_have_count(0)
