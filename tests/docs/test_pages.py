"""Every lesson has a page with its figures, program and code, and the list names them all."""

import re
from html import escape
from inspect import getsource
from pathlib import Path

import pytest

from dhyan.insight.blocks import Paragraph
from dhyan.lessons.catalogue import LESSONS, find_lesson

PAGES = Path(__file__).parents[2] / "docs" / "understand"
AGAIN = "run `make figures`"
FAST = (
    "one_hot",
    "cross_entropy",
    "bottleneck",
    "context_vector",
    "bahdanau",
    "luong",
    "bag_of_words",
    "weighted_sum",
    "word_order",
    "seq2seq_improvements",
    "idioms",
    "word_senses",
    "task_specific_vectors",
    "self_attention_by_hand",
    "gravity",
    "self_vs_cross_attention",
    "multi_head",
    "pp_attachment",
    "causal_mask",
    "causal_leak",
    "cross_attention",
    "transformer",
    "summarization",
)


def test_the_index_lists_every_lesson_once_in_order():
    names = re.findall(r"\[(\w+)\]\(\1\.md\)", (PAGES / "README.md").read_text(encoding="utf-8"))
    assert names == [lesson.name for lesson in LESSONS], AGAIN


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_page_has_light_and_dark_figures_and_the_current_code(lesson):
    page = (PAGES / f"{lesson.name}.md").read_text(encoding="utf-8")
    figures = re.findall(r'(?:srcset|src)="(figures/[^"]+)"', page)
    assert {f"figures/{lesson.name}.svg", f"figures/{lesson.name}-dark.svg"} <= set(figures)
    for name in figures:
        assert "<svg" in (PAGES / name).read_text(encoding="utf-8")[:500], AGAIN
    assert getsource(lesson.load()).rstrip() in page, AGAIN
    assert re.search("[\u0900-\u097f]", page), "a page has its sentences in Hindi too"


@pytest.mark.parametrize("name", FAST)
def test_a_page_has_the_current_texts(name):
    page = " ".join((PAGES / f"{name}.md").read_text(encoding="utf-8").split())
    for lang in ("en", "hi"):
        blocks = find_lesson(name).load()().render(lang).blocks
        texts = [block.text for block in blocks if isinstance(block, Paragraph)]
        assert texts
        for text in texts:
            assert " ".join(escape(text, quote=False).split()) in page, AGAIN


def test_every_page_and_figure_belongs_to_a_lesson():
    pages = {path.stem for path in PAGES.glob("*.md")} - {"README"}
    assert pages == {lesson.name for lesson in LESSONS}
    pages_text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES.glob("*.md"))
    for path in (PAGES / "figures").iterdir():
        assert f"figures/{path.name}" in pages_text, f"{path} is on no page"
