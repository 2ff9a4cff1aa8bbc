"""Draws every lesson, by day and by night, and writes its page: `make figures`, or with names."""

import sys
from pathlib import Path
from textwrap import fill

import torch

from dhyan.insight.figures import save
from dhyan.insight.parts import Words
from dhyan.lessons.contents import LESSONS, Lesson
from dhyan.lessons.shown import Shown

HERE = Path(__file__).parent
FIGURES = HERE / "figures"
RESULTS = HERE.parents[1] / "benchmarks" / "results"
# Lessons that look at something that is there already.
GIVEN = {"bottleneck": {"report": max(RESULTS.glob("ladder_*.json"), default=None)}}


def build(names: list[str]) -> None:
    """The pages of these lessons, or of all, and the list of them."""
    FIGURES.mkdir(exist_ok=True)
    for one in LESSONS:
        if not names or one.name in names:
            print(one.name, file=sys.stderr, flush=True)
            shown = one.load()(**GIVEN.get(one.name, {}))
            for dark in (False, True):
                save(shown.figure(dark=dark), FIGURES / f"{drawn(one, dark=dark)}")
            (HERE / f"{one.name}.md").write_text(page(one, shown), encoding="utf-8")
    (HERE / "README.md").write_text(index(), encoding="utf-8")


def drawn(one: Lesson, *, dark: bool = False) -> str:
    """The name of a lesson's figure."""
    return f"{one.name}{'-dark' if dark else ''}.svg"


def page(one: Lesson, shown: Shown) -> str:
    """What a lesson says, its figure, and how to run it."""
    story = shown.told("en")
    said = [fill(part.text, 100) for part in story.parts if isinstance(part, Words)]
    given = "".join(f" --give {key}=…" for key in GIVEN.get(one.name, {}))
    picture = f"""<picture>
<source media="(prefers-color-scheme: dark)" srcset="figures/{drawn(one, dark=True)}">
<img src="figures/{drawn(one)}" alt="{one.english}">
</picture>"""
    called = ", ".join(f"{key}=…" for key in GIVEN.get(one.name, {}))
    program = f"""```text
dhyan lesson {one.name}{given}
dhyan lesson {one.name}{given} --lang hi -o {one.name}.svg
```

```text
>>> import dhyan
>>> shown = dhyan.lessons.{one.name}({called})
>>> shown.figure()
```"""
    code = f"[`lessons/{one.module}.py`](../../src/dhyan/lessons/{one.module}.py)"
    parts = [f"# {story.title}", picture, *said, f"Rungs: {one.rung}. The code: {code}.", program]
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """All lessons in the order of the ladder."""
    rows = [f"| {one.rung} | [{one.name}]({one.name}.md) | {one.english} |" for one in LESSONS]
    head = """# Understanding attention, rung by rung

Every page is a lesson you can run with your own words and numbers ([how](../lessons.md));
`make figures` draws them all anew.

| rung | lesson | |
|---|---|---|"""
    return "\n".join([head, *rows]) + "\n"


if __name__ == "__main__":
    torch.set_num_threads(1)
    build(sys.argv[1:])
