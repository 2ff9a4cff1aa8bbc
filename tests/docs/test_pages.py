"""Every lesson has a page with its figures, program and code, and the list names them all."""

import re
from html import escape
from inspect import getsource
from pathlib import Path

import pytest

from dhyan.insight.blocks import Words
from dhyan.lessons.contents import LESSONS, lesson

PAGES = Path(__file__).parents[2] / "docs" / "understand"
AGAIN = "run `make figures`"
AT_ONCE = (
    *("one_hot", "loss", "bottleneck", "context", "bahdanau", "luong", "counts", "mixing", "order"),
    *("improvements", "idioms", "senses", "tasks", "by_hand", "gravity", "why_self", "heads"),
    *("attachment", "mask", "leak", "cross", "transformer", "perspectives"),
)


def test_the_list_has_every_lesson_once_in_the_order_of_the_ladder():
    named = re.findall(r"\[(\w+)\]\(\1\.md\)", (PAGES / "README.md").read_text(encoding="utf-8"))
    assert named == [one.name for one in LESSONS], AGAIN


@pytest.mark.parametrize("one", LESSONS, ids=lambda one: one.name)
def test_a_page_shows_figures_by_day_and_by_night_and_the_code_as_it_is(one):
    page = (PAGES / f"{one.name}.md").read_text(encoding="utf-8")
    figures = re.findall(r'(?:srcset|src)="(figures/[^"]+)"', page)
    assert {f"figures/{one.name}.svg", f"figures/{one.name}-dark.svg"} <= set(figures)
    for name in figures:
        assert "<svg" in (PAGES / name).read_text(encoding="utf-8")[:500], AGAIN
    assert getsource(one.load()).rstrip() in page, AGAIN
    assert re.search("[\u0900-\u097f]", page), "a page has its sentences in Hindi too"


@pytest.mark.parametrize("name", AT_ONCE)
def test_a_page_says_what_the_lesson_says_now(name):
    page = " ".join((PAGES / f"{name}.md").read_text(encoding="utf-8").split())
    for lang in ("en", "hi"):
        story = lesson(name).load()().told(lang)
        texts = [part.text for part in story.parts if isinstance(part, Words)]
        assert texts
        for text in texts:
            assert " ".join(escape(text, quote=False).split()) in page, AGAIN


def test_no_page_or_figure_is_left_of_a_lesson_that_is_gone():
    pages = {path.stem for path in PAGES.glob("*.md")} - {"README"}
    assert pages == {one.name for one in LESSONS}
    shown = "\n".join(path.read_text(encoding="utf-8") for path in PAGES.glob("*.md"))
    for path in (PAGES / "figures").iterdir():
        assert f"figures/{path.name}" in shown, f"{path} stands on no page"
