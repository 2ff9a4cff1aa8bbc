"""Draws every lesson, by day and by night, and writes its page: `make figures`, or with names."""

import sys
from html import escape
from inspect import getsource
from pathlib import Path
from textwrap import fill

import torch

from dhyan.insight.blocks import Words
from dhyan.insight.heatmap import save
from dhyan.lessons.contents import LESSONS
from dhyan.lessons.entry import Lesson
from dhyan.lessons.keeping import KEPT, is_kept, kept
from dhyan.lessons.shown import Shown, Story

HERE = Path(__file__).parent
FIGURES = HERE / "figures"


def build(names: list[str]) -> None:
    """The pages of these lessons, or of all, and the list of them."""
    FIGURES.mkdir(exist_ok=True)
    for one in LESSONS:
        if not names or one.name in names:
            print(one.name, file=sys.stderr, flush=True)
            shown = one.load()()
            draw(shown, one.name)
            trained = kept(one.name) if shown.origin is None and is_kept(one.name) else None
            if trained:
                draw(trained, f"{one.name}-trained")
            (HERE / f"{one.name}.md").write_text(page(one, shown, trained), encoding="utf-8")
    (HERE / "README.md").write_text(index(), encoding="utf-8")


def draw(shown: Shown, name: str) -> None:
    """A figure on white paper and one on dark."""
    for dark in (False, True):
        save(shown.figure(dark=dark), FIGURES / f"{name}{'-dark' if dark else ''}.svg")


def page(one: Lesson, shown: Shown, trained: Shown | None) -> str:
    """What a lesson says, its figure, how to run it, and its code."""
    story = shown.told("en")
    parts = [f"# {story.title}", picture(one.name, one.english), *said(story)]
    if trained:
        told = trained.told("en")
        parts += [f"## {told.title}", picture(f"{one.name}-trained", told.title), *said(told)]
    parts += ["## Run it", program(one, trained)]
    hindi = shown.told("hi")
    parts += [f"## {hindi.title}", *said(hindi)]
    parts += ["## The code", f"Rungs: {one.rung}. [`{path(one)}`](../../{path(one)})", code(one)]
    return "\n\n".join(parts) + "\n"


def picture(name: str, alt: str) -> str:
    """A figure in the colours of the reader's screen."""
    return f"""<picture>
<source media="(prefers-color-scheme: dark)" srcset="figures/{name}-dark.svg">
<img src="figures/{name}.svg" alt="{alt}">
</picture>"""


def said(story: Story) -> list[str]:
    """Its sentences; what looks like a tag, such as <start>, stays to be read."""
    texts = (part.text for part in story.parts if isinstance(part, Words))
    return [fill(escape(text, quote=False), 110, break_on_hyphens=False) for text in texts]


def program(one: Lesson, trained: Shown | None) -> str:
    """How it is run in a terminal, and in Python."""
    lines = [f"dhyan lesson {one.name}", f"dhyan lesson {one.name} --lang hi -o {one.name}.svg"]
    if trained:
        lines.append(f"dhyan lesson {one.name} --give model={KEPT}")
    shell = "\n".join(lines)
    return f"""```text
{shell}
```

```python
import dhyan

shown = dhyan.lessons.{one.name}()
figure = shown.figure(dark=True)
```"""


def path(one: Lesson) -> str:
    """Where its code stands."""
    return f"src/dhyan/lessons/{one.module.replace('.', '/')}.py"


def code(one: Lesson) -> str:
    """The lesson's function."""
    return f"```python\n{getsource(one.load()).rstrip()}\n```"


def index() -> str:
    """All lessons in the order of the ladder."""
    rows = [f"| {one.rung} | [{one.name}]({one.name}.md) | {one.english} |" for one in LESSONS]
    head = """# Understanding attention, rung by rung

Numbers in a table go into a plain network, an image into a convolutional one; a sentence, in
which order and length count, into a recurrent one, one word after the other. Sequence to sequence
is what remains when the output is a sentence too, of another length and in another order:
translation is the model case, and the ladder below climbs from one LSTM that hands a single state
to another up to the Transformer, which is attention and little else.

The same machine summarises (a long text in, a short one out), answers and converses. Its encoder
alone judges the sentiment of a sentence or finds the names in it; with another encoder it
describes an image; with another decoder it speaks or draws what was written. Here it translates,
and one lesson lets it judge [sentiment](tasks.md).

Every page is a lesson you can run with your own words and numbers ([how](../lessons.md)); `make
figures` draws them all anew.

| rung | lesson | |
|---|---|---|"""
    return "\n".join([head, *rows]) + "\n"


if __name__ == "__main__":
    torch.set_num_threads(1)
    build(sys.argv[1:])
