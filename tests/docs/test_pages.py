"""The pages of the lessons: texts in two languages, two figures, the code; built incrementally."""

import importlib.util
import re
import subprocess
from html import escape
from inspect import getsource
from pathlib import Path

import pytest

from dhyan.insight.lesson_blocks import Paragraph
from dhyan.lessons.catalogue import FOLDER, LESSONS, find_lesson

ROOT = Path(__file__).parents[2]
UNDERSTAND = ROOT / "docs" / "understand"
BUILT = ("one_hot", "multi_head")  # the second has the snapshot of a trained model as well


def _builder():
    spec = importlib.util.spec_from_file_location("understand_build", UNDERSTAND / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = _builder()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("understand")
    assert BUILD.build(list(BUILT), path) == [
        lesson.name for lesson in LESSONS if lesson.name in BUILT
    ]
    return path


@pytest.mark.parametrize("name", BUILT)
def test_a_page_has_light_and_dark_figures_and_the_current_code(folder, name):
    page = (folder / f"{name}.md").read_text(encoding="utf-8")
    figures = re.findall(r'(?:srcset|src)="(figures/[^"]+)"', page)
    assert {f"figures/{name}.svg", f"figures/{name}-dark.svg"} <= set(figures)
    for figure in figures:
        assert "<svg" in (folder / figure).read_text(encoding="utf-8")[:500]
    assert getsource(find_lesson(name).load()).rstrip() in page


@pytest.mark.parametrize("name", BUILT)
def test_a_page_has_the_texts_of_the_lesson_in_both_languages(folder, name):
    page = " ".join((folder / f"{name}.md").read_text(encoding="utf-8").split())
    for lang in ("en", "hi"):
        blocks = find_lesson(name).load()().render(lang).blocks
        texts = [block.text for block in blocks if isinstance(block, Paragraph)]
        assert texts
        for text in texts:
            assert " ".join(escape(text, quote=False).split()) in page


def test_a_trained_model_has_figures_of_its_own(folder):
    page = (folder / "multi_head.md").read_text(encoding="utf-8")
    assert "figures/multi_head-trained.svg" in page
    assert "dhyan lesson multi_head model=snapshot" in page


def test_only_figures_of_the_pages_are_drawn(folder):
    pages = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.md"))
    for figure in (folder / "figures").iterdir():
        assert f"figures/{figure.name}" in pages


def test_a_current_page_is_not_built_again(folder):
    assert BUILD.build(list(BUILT), folder) == []


def test_a_page_of_other_inputs_is_built_again(folder):
    page = folder / "one_hot.md"
    page.write_text(re.sub(r"% built from \w+", "% built from 0", page.read_text(encoding="utf-8")))
    assert BUILD.build(list(BUILT), folder) == ["one_hot"]


@pytest.mark.parametrize("changed", ["lesson.py", "text/hi.toml", "snapshots/multi_head.json"])
def test_the_checksum_of_a_page_depends_on_its_inputs(changed, monkeypatch):
    before = BUILD.stamp(find_lesson("multi_head"))
    read_bytes, catalogue = Path.read_bytes, BUILD.read_catalogue
    path = (FOLDER / changed).resolve()
    monkeypatch.setattr(
        Path, "read_bytes", lambda self: read_bytes(self) + b"#" * (self.resolve() == path)
    )
    if changed.endswith("hi.toml"):
        texts = {**catalogue("hi"), "multi_head": {"title": "changed"}}
        monkeypatch.setattr(
            BUILD, "read_catalogue", lambda lang: texts if lang == "hi" else catalogue(lang)
        )
    assert BUILD.stamp(find_lesson("multi_head")) != before


def test_pages_and_figures_are_not_in_git():
    listed = subprocess.run(
        ["git", "ls-files", "docs/understand"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    assert listed.split() == ["docs/understand/build.py", "docs/understand/index.md"]
