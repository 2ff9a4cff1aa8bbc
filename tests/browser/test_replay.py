"""Saved trace in the browser: everything in it is shown, and unavailable actions are hidden."""

import pytest
from playwright.sync_api import expect

from dhyan.insight.trace import trace
from dhyan.run import load
from dhyan.studio.registry import ModelRegistry
from tests.browser.conftest import Studio, serving

SENTENCES = {"first": "the man reads the book", "second": "how are you"}


@pytest.fixture(scope="module")
def registry(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    translator = load(models[3])
    for name, sentence in SENTENCES.items():
        saved = trace(translator, sentence, model="transformer").to_json()
        (folder / f"{name}.json").write_text(saved, encoding="utf-8")
    return ModelRegistry([], [folder / f"{name}.json" for name in SENTENCES])


@pytest.fixture
def replay(browser, registry):
    with serving(registry) as address:
        opened = Studio(browser, address)
        yield opened
        opened.close()
    assert not opened.foreign
    assert not opened.wrong


def test_replay_opens_its_sentence_and_names_what_needs_a_model(replay):
    page = replay.open("/inside?text=something+else")
    page.wait_for_selector("[role=gridcell]")
    assert "translate" in page.locator("main section").get_attribute("class")
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page.locator("#status")).to_contain_text("saved trace")
    box = page.locator("#sentence")
    assert box.input_value() == SENTENCES["first"]
    assert not box.is_editable()
    assert page.locator(".rooms a").all_inner_texts() == ["Translate", "Heads", "Playground"]
    assert page.locator(".examples button").all_inner_texts() == list(SENTENCES.values())
    page.select_option("#model", "second")
    page.wait_for_function("() => document.querySelector('#sentence').value === 'how are you'")
    page.wait_for_selector("[role=gridcell][aria-label*=you]")
    page.go_back()
    page.wait_for_selector("[role=gridcell][aria-label*=book]")
