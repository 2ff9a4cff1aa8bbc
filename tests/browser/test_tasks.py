"""Models of other tasks: their figure comes first, pictures are files, words speak of the task."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import expect

from dhyan.studio.registry import ModelRegistry
from tests.browser.conftest import Studio, current_url, new_context, serving
from tests.picture_models import picture
from tests.task_models import OUTPUTS, write_task_model

SENTENCE = "सीता नई दिल्ली में है"
VERBS = {
    "classify": "Classify", "tag": "Tag", "ocr": "Read", "caption": "Describe",
    "text_to_image": "Draw", "text_to_speech": "Speak",
}  # fmt: skip
PICTURES = ("ocr", "caption")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory, browser):
    """A studio with an untrained model of every task."""
    root = tmp_path_factory.mktemp("tasks")
    folders = [write_task_model(root / task, task).parent for task in OUTPUTS]
    with serving(ModelRegistry(folders)) as address:
        context = new_context(browser)
        opened = Studio(browser, address, context)
        yield opened
        context.close()
    assert not opened.foreign
    assert not opened.wrong


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "a.png"
    picture(64, 32).save(path)
    return path


def show(studio, task, file, query=""):
    """The page with the figure of a task."""
    text = "" if task in PICTURES else f"&text={SENTENCE}"
    page = studio.open(f"/translate?model={task}{text}{query}")
    if task in PICTURES:
        page.set_input_files("#picture", file)
    page.wait_for_selector(".translate:not(.loading) .task-figure")
    return page


@pytest.mark.parametrize("task", OUTPUTS)
def test_the_figure_comes_first_and_the_words_speak_of_the_task(tasks, file, task):
    page = show(tasks, task, file)
    expect(page.locator("#send")).to_have_text(VERBS[task])
    expect(page.locator("main h1")).to_have_text(VERBS[task])
    expect(page.locator("#navigation a").first).to_have_text(VERBS[task])
    tabs = page.locator(".translate-tools > .segments [role=radio]")
    expect(tabs).to_have_text(["figure", "map", "ribbons", "table"])
    expect(tabs.first).to_have_attribute("aria-checked", "true")
    assert not re.search("[Tt]ranslat", page.locator(".live").inner_text())
    tabs.nth(1).click()
    page.wait_for_selector(".heatmap-svg, .heatmap-canvas, canvas")
    assert "display=map" in current_url(page)
    page.close()


@pytest.mark.parametrize("task", OUTPUTS)
@pytest.mark.parametrize("look", ["&theme=light", "&theme=dark&language=hi"])
def test_a_figure_is_accessible_and_fits_every_window(tasks, file, task, look):
    page = show(tasks, task, file, look)
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()
    for width in (375, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{task} is {wide} wide in a window of {width}"
    page.close()


def test_words_of_a_label_are_shaded_and_can_be_changed(tasks, file):
    page = show(tasks, "classify", file)
    words = page.locator(".figure-word")
    expect(words).to_have_count(len(SENTENCE.split()))
    shades = words.evaluate_all("all => all.map((word) => word.style.backgroundColor)")
    assert all(shades)
    words.first.focus()
    page.keyboard.press("ArrowRight")
    expect(words.nth(1)).to_be_focused()
    expect(words.nth(1)).to_have_class(re.compile("selected"))
    expect(page.locator(".translate-side form")).to_be_visible()
    page.close()


def test_a_chosen_word_of_the_output_brightens_another_part_of_the_picture(tasks, file):
    page = show(tasks, "caption", file)
    panels = page.locator(".overlay-panel")
    panels.first.focus()
    veils = "all => all.map((veil) => veil.getAttribute('fill-opacity')).join()"
    large = page.locator(".overlay-large .overlay-veil")
    for index in range(min(panels.count(), 3)):
        expect(panels.nth(index)).to_be_focused()
        own = panels.nth(index).locator(".overlay-veil").evaluate_all(veils)
        assert large.evaluate_all(veils) == own
        page.keyboard.press("ArrowRight")
    page.close()


def test_the_link_of_a_picture_works_in_its_tab_and_is_explained_elsewhere(tasks, file, browser):
    page = show(tasks, "ocr", file)
    url = current_url(page)
    assert "picture-" in url
    assert "base64" not in url
    page.reload()
    page.wait_for_selector(".task-figure")
    other = Studio(browser, tasks.address)
    elsewhere = other.open(url.removeprefix(tasks.address))
    expect(elsewhere.locator(".failure")).to_contain_text("Choose it again")
    other.close()
    page.close()


def test_a_file_that_is_no_picture_is_refused_and_a_large_one_made_smaller(tasks, tmp_path):
    page = tasks.open("/translate?model=caption")
    text = tmp_path / "a.txt"
    text.write_text("no picture")
    page.set_input_files("#picture", text)
    expect(page.locator("#status")).to_contain_text("no PNG")
    large = tmp_path / "large.png"
    Image.effect_noise((900, 700), 90).save(large)
    assert large.stat().st_size > 2**18
    page.set_input_files("#picture", large)
    page.wait_for_selector(".translate:not(.loading) .task-figure")
    page.close()


def test_cells_are_a_grid_with_one_tab_stop(tasks, file):
    page = show(tasks, "text_to_image", file)
    cells = page.locator("[role=gridcell]")
    assert page.locator('[role=gridcell][tabindex="0"]').count() == 1
    page.locator('[role=gridcell][tabindex="0"]').focus()
    page.keyboard.press("End")
    expect(cells.last).to_be_focused()
    expect(cells.last).to_have_class(re.compile("selected"))
    page.close()


def test_a_sound_can_be_played(tasks, file):
    page = show(tasks, "text_to_speech", file)
    page.wait_for_function("document.querySelector('audio').readyState >= 1")
    assert page.evaluate("document.querySelector('audio').duration") > 0
    expect(page.locator(".wave")).to_be_visible()
    page.close()


def test_a_model_of_another_kind_gets_no_picture_as_its_sentence(tasks, file):
    page = show(tasks, "caption", file)
    page.select_option("#model", "classify")
    expect(page.locator("#sentence")).to_be_visible()
    expect(page.locator(".picture-input")).to_be_hidden()
    assert "picture-" not in current_url(page)
    page.close()
