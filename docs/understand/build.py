"""Writes the page of every lesson, with a light and a dark figure: `make figures`, or with names.

`--text` leaves the figures as they are.
"""

import sys
from html import escape
from inspect import getsource
from pathlib import Path
from textwrap import fill

import torch

from dhyan.insight.blocks import Paragraph
from dhyan.insight.heatmap import save
from dhyan.lessons.catalogue import LESSONS, SECTIONS, Lesson, Text
from dhyan.lessons.lesson import LessonResult, Page
from dhyan.lessons.snapshots import SNAPSHOT, has_snapshot, read_snapshot

HERE = Path(__file__).parent
FIGURES = HERE / "figures"


def build(names: list[str], *, draw_figures: bool = True) -> None:
    """The pages of these lessons, or of all, and the index."""
    FIGURES.mkdir(exist_ok=True)
    for lesson in LESSONS:
        if not names or lesson.name in names:
            print(lesson.name, file=sys.stderr, flush=True)
            result = lesson.load()()
            trained = trained_snapshot(lesson, result)
            if draw_figures:
                draw(result, lesson.name)
                if trained:
                    draw(trained, f"{lesson.name}-trained")
            text = page(lesson, result, trained)
            (HERE / f"{lesson.name}.md").write_text(text, encoding="utf-8")
    (HERE / "README.md").write_text(index(), encoding="utf-8")


def trained_snapshot(lesson: Lesson, result: LessonResult) -> LessonResult | None:
    """The snapshot of a trained model, where the lesson does not show it by itself."""
    if result.provenance is None and has_snapshot(lesson.name):
        return read_snapshot(lesson.name, LessonResult)
    return None


def draw(result: LessonResult, name: str) -> None:
    """A light figure and a dark one."""
    for dark in (False, True):
        save(result.figure(dark=dark), FIGURES / f"{name}{'-dark' if dark else ''}.svg")


def page(lesson: Lesson, result: LessonResult, trained: LessonResult | None) -> str:
    """A lesson's texts and figure, how to run it, and its code."""
    english = result.render("en")
    parts = [f"# {english.title}", picture(lesson.name, lesson.summary()), *sentences(english)]
    if trained:
        snapshot = trained.render("en")
        figure = picture(f"{lesson.name}-trained", snapshot.title)
        parts += [f"## {snapshot.title}", figure, *sentences(snapshot)]
    parts += ["## Run it", program(lesson, trained)]
    hindi = result.render("hi")
    parts += [f"## {hindi.title}", *sentences(hindi)]
    parts += ["## The code", f"[`{path(lesson)}`](../../{path(lesson)})", code(lesson)]
    return "\n\n".join(parts) + "\n"


def picture(name: str, alt: str) -> str:
    """A figure in the colours of the reader's screen."""
    return f"""<picture>
<source media="(prefers-color-scheme: dark)" srcset="figures/{name}-dark.svg">
<img src="figures/{name}.svg" alt="{alt}">
</picture>"""


def sentences(rendered: Page) -> list[str]:
    """The sentences of a page, with tags such as <start> escaped."""
    texts = (block.text for block in rendered.blocks if isinstance(block, Paragraph))
    return [fill(escape(text, quote=False), 110, break_on_hyphens=False) for text in texts]


def program(lesson: Lesson, trained: LessonResult | None) -> str:
    """How it is run in a terminal, and in Python."""
    lines = [
        f"dhyan lesson {lesson.name}",
        f"dhyan lesson {lesson.name} --lang hi -o {lesson.name}.svg",
    ]
    if trained:
        lines.append(f"dhyan lesson {lesson.name} --give model={SNAPSHOT}")
    shell = "\n".join(lines)
    return f"""```text
{shell}
```

```python
import dhyan

result = dhyan.lessons.{lesson.name}()
figure = result.figure(dark=True)
```"""


def path(lesson: Lesson) -> str:
    """Where its code stands."""
    return f"src/{lesson.module.replace('.', '/')}.py"


def code(lesson: Lesson) -> str:
    """The lesson's function."""
    return f"```python\n{getsource(lesson.load()).rstrip()}\n```"


def index() -> str:
    """All lessons by section."""
    head = """# Understanding attention, one idea at a time

Numbers in a table go into a plain network, an image into a convolutional one; a sentence, in
which order and length count, into a recurrent one, one word after the other. Sequence to sequence
is what remains when the output is a sentence too, of another length and in another order:
translation is the model case, and the lessons below lead from one LSTM that hands a single state
to another up to the Transformer, which is attention and little else.

The same machine summarises (a long text in, a short one out), answers and converses. Its encoder
alone judges the sentiment of a sentence or finds the names in it; with another encoder it
describes an image; with another decoder it speaks or draws what was written. Here it translates,
and one lesson lets it judge [sentiment](task_specific_vectors.md).

Every page is a lesson you can run with your own words and numbers ([how](../tutorials/lessons.md));
`make figures` draws them all anew."""
    text = Text("en")
    parts = [head]
    for section, names in SECTIONS.items():
        rows = [f"| [{name}]({name}.md) | {text(f'{name}.summary')} |" for name in names]
        parts.append(f"## {text(f'sections.{section}')}")
        parts.append("\n".join(["| lesson | |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    torch.set_num_threads(1)
    names = [name for name in sys.argv[1:] if name != "--text"]
    build(names, draw_figures="--text" not in sys.argv)
