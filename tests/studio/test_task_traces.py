"""The page's traces of every task: its figure, and what the figure is drawn from."""

import base64
import json
import re

import pytest
from fastapi.testclient import TestClient

from dhyan.config.decoding import DecodingOptions
from dhyan.data.scenes import RGB
from dhyan.insight.task_figures import FIGURES
from dhyan.studio.page_files import STATIC
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.saved_trace import read_saved_trace
from dhyan.studio.server import make_app
from dhyan.studio.traces import longest_output
from dhyan.tasks import find_task
from dhyan.text.image_frames import data_uri
from tests.picture_models import picture
from tests.task_models import OUTPUTS, write_task_model

PICTURES = ("ocr", "caption")
SENTENCE = "सीता दिल्ली में है"


def source(task):
    return data_uri(picture(120, 60)) if task in PICTURES else SENTENCE


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    root = tmp_path_factory.mktemp("tasks")
    folders = [write_task_model(root / task, task).parent for task in OUTPUTS]
    return TestClient(make_app(ModelRegistry(folders)), base_url="http://127.0.0.1")


def ask(page, path, task, **more):
    return page.post(path, json={"text": source(task), "model": task, **more})


@pytest.mark.parametrize("task", OUTPUTS)
def test_a_trace_has_its_task_its_figure_and_what_that_needs(page, task):
    trace = ask(page, "/api/translate", task).json()
    assert (trace["task"], trace["figure"]) == (task, find_task(task).figure)
    assert (trace["picture"] is not None) == (task in PICTURES)
    assert (trace["sound"] is not None) == (task == "text_to_speech")
    if trace["picture"]:
        assert len(trace["picture"]["boxes"]) == len(trace["source"]["tokens"])
        assert trace["picture"]["uri"].startswith("data:image/png;base64,")
        assert "base64" not in trace["text"]
    if trace["sound"]:
        assert base64.b64decode(trace["sound"]["uri"].partition(",")[2])[:4] == b"RIFF"


@pytest.mark.parametrize("task", OUTPUTS)
def test_the_figure_for_print_is_that_of_the_task(page, task):
    images = {ask(page, "/api/figure.png", task, of_task=own).content for own in (True, False)}
    assert len(images) == 2
    assert all(image.startswith(b"\x89PNG") for image in images)


@pytest.mark.parametrize("task", OUTPUTS)
def test_a_card_says_what_a_model_reads_and_offers_no_view_of_translations(page, task):
    [card] = [card for card in page.get("/api/models").json() if card["name"] == task]
    assert (card["task"], card["source"]) == (task, "picture" if task in PICTURES else "text")
    assert not {"tour", "length"} & set(card["views"])


@pytest.mark.parametrize("task", OUTPUTS)
def test_the_views_of_a_model_answer(page, task):
    assert ask(page, "/api/step", task).status_code == 200
    assert ask(page, "/api/beam", task, beam=2).status_code == 200
    assert ask(page, "/api/padding", task).status_code in (200, 400)  # frames cannot be padded so


@pytest.mark.parametrize("task", OUTPUTS)
def test_a_saved_trace_is_read_again(page, task, tmp_path):
    answer = ask(page, "/api/translate", task)
    path = tmp_path / "trace.json"
    path.write_text(answer.text, encoding="utf-8")
    saved = read_saved_trace(path)
    assert json.loads(saved.json)["figure"] == find_task(task).figure
    assert saved.card("one").source == ("picture" if task in PICTURES else "text")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("uri", "https://example.org/a.png"),
        ("uri", "data:text/html;base64,AAAA"),
        ("boxes", []),
        ("width", 0),
    ],
)
def test_a_saved_picture_that_is_none_is_refused(page, tmp_path, key, value):
    trace = ask(page, "/api/translate", "ocr").json()
    trace["picture"][key] = value
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    with pytest.raises(Exception, match="not a complete trace"):
        read_saved_trace(path)


def test_a_page_of_one_file_has_the_figure(page):
    html = ask(page, "/api/export.html", "caption").text
    assert "media-src data:" in html
    assert '"figure":"image_overlay"' in html
    assert "https://" not in html.split('id="embedded-responses"')[0]


@pytest.mark.parametrize(("of_recipe", "limit"), [(0, 128), (20, 20), (226, 226), (5000, 512)])
def test_an_output_is_as_long_as_the_recipe_says_and_the_page_can_show(of_recipe, limit):
    assert longest_output(DecodingOptions(max_length=of_recipe)) == limit


def test_the_page_draws_the_figures_and_colours_of_the_package():
    names = re.findall(r"^  (\w+): draw\w+,$", (STATIC / "js" / "figures.js").read_text(), re.M)
    assert set(names) == set(FIGURES)
    grid = (STATIC / "js" / "figures" / "cell_grid.js").read_text()
    table = dict(re.findall(r'(\w+): "(#[0-9a-f]{6})"', grid))
    assert table == {name: "#" + bytes(rgb).hex() for name, rgb in RGB.items()}
