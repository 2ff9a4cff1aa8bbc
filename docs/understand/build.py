"""Write the page of every lesson, with a light and a dark figure, into this folder.

`make docs` runs it; the pages and figures are not kept in git. Only lessons whose inputs changed
(code, texts, snapshot, drawing) are built again; `make figures` builds all of them again.
`python docs/understand/build.py one_hot luong` builds these two.
"""

import sys
from hashlib import sha256
from html import escape
from inspect import getsource
from pathlib import Path
from textwrap import fill

import torch

from dhyan.insight.heatmap import save
from dhyan.insight.lesson_blocks import Paragraph
from dhyan.lessons.catalogue import FOLDER, LANGUAGES, LESSONS, Lesson, read_catalogue
from dhyan.lessons.lesson import LessonResult, Page
from dhyan.lessons.snapshots import SNAPSHOT, has_snapshot, read_snapshot

HERE = Path(__file__).parent
INSIGHT = FOLDER.parent / "insight"  # draws the figures


def build(names: list[str], folder: Path = HERE, *, force: bool = False) -> list[str]:
    """Build the pages of these lessons, or of all; return the names of those that were built."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    built = []
    for lesson in LESSONS:
        if (not names or lesson.name in names) and (force or not is_current(lesson, folder)):
            print(lesson.name, file=sys.stderr, flush=True)
            build_page(lesson, folder)
            built.append(lesson.name)
    return built


def build_page(lesson: Lesson, folder: Path) -> None:
    """Draw the figures of a lesson, then write its page."""
    result = lesson.load()()
    trained = trained_snapshot(lesson, result)
    draw(result, folder, lesson.name)
    if trained:
        draw(trained, folder, f"{lesson.name}-trained")
    text = page(lesson, result, trained) + f"\n{stamp(lesson)}\n"
    (folder / f"{lesson.name}.md").write_text(text, encoding="utf-8")


def is_current(lesson: Lesson, folder: Path) -> bool:
    """Whether the page exists and was built from the current inputs."""
    path = folder / f"{lesson.name}.md"
    return path.is_file() and path.read_text(encoding="utf-8").endswith(f"\n{stamp(lesson)}\n")


def stamp(lesson: Lesson) -> str:
    """The last line of a page, a MyST comment: the checksum of what the page is built from."""
    shared = [path for folder in (FOLDER, INSIGHT) for path in sorted(folder.glob("*.py"))]
    own = [
        FOLDER / lesson.section / f"{lesson.name}.py",
        FOLDER / "snapshots" / f"{lesson.name}.json",
    ]
    files = [Path(__file__), *shared, *(path for path in own if path.is_file())]
    texts = [repr(read_catalogue(lang)[lesson.name]).encode() for lang in LANGUAGES]
    contents = [*(path.read_bytes() for path in files), *texts]
    return f"% built from {sha256(b''.join(contents)).hexdigest()[:16]}"


def trained_snapshot(lesson: Lesson, result: LessonResult) -> LessonResult | None:
    """The snapshot of a trained model, where the lesson does not show it by itself."""
    if result.provenance is None and has_snapshot(lesson.name):
        return read_snapshot(lesson.name, LessonResult)
    return None


def draw(result: LessonResult, folder: Path, name: str) -> None:
    """Draw a light figure and a dark one."""
    for dark in (False, True):
        path = folder / "figures" / f"{name}{'-dark' if dark else ''}.svg"
        save(result.figure(dark=dark), path)


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
        lines.append(f"dhyan lesson {lesson.name} model={SNAPSHOT}")
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
    """The path of its module."""
    return f"src/{lesson.module.replace('.', '/')}.py"


def code(lesson: Lesson) -> str:
    """The lesson's function."""
    return f"```python\n{getsource(lesson.load()).rstrip()}\n```"


if __name__ == "__main__":
    torch.set_num_threads(1)
    build([name for name in sys.argv[1:] if name != "--force"], force="--force" in sys.argv)
