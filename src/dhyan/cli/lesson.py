"""`dhyan lesson`: print a lesson on attention, with every intermediate value and a figure."""

from inspect import signature
from pathlib import Path
from typing import Annotated

import typer

from dhyan.cli.messages import warn
from dhyan.errors import UserError

PROGRESS = "on_progress"  # the argument through which a lesson that trains reports its progress


def lesson(
    name: Annotated[str, typer.Argument(help="Name of the lesson; without it, a list.")] = "",
    give: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE",
            show_default="the lesson's own",
            help="Arguments of the lesson: a number, a matrix as [[1, 0], [0, 1]], a word.",
        ),
    ] = None,
    sentence: Annotated[
        str | None, typer.Option(help="Sentence to use.", show_default="the lesson's own")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", show_default="none", help="Figure file: .png, .svg or .pdf."
        ),
    ] = None,
    lang: Annotated[str, typer.Option(help="Language: en or hi.")] = "en",
    dark: Annotated[bool, typer.Option("--dark", help="Dark theme for the figure.")] = False,
) -> None:
    """Run a lesson: one idea of attention, with your own numbers.

    Example: dhyan lesson self_attention_by_hand --sentence "how are you" -o look.svg
    """
    from dhyan.lessons.catalogue import find_lesson

    if not name:
        _list_lessons(lang)
        return
    function = find_lesson(name).load()
    parameters = signature(function).parameters
    values = _arguments(name, sentence, give or [], [key for key in parameters if key != PROGRESS])
    progress = {PROGRESS: warn} if PROGRESS in parameters else {}
    result = function(**values, **progress)
    typer.echo(result.text(lang))
    if output:
        from dhyan.insight.heatmap import save

        save(result.figure(lang=lang, dark=dark), output)
        warn(f"drew {output}")


def _list_lessons(lang: str) -> None:
    from dhyan.lessons.catalogue import LESSONS, SECTIONS, Text

    text = Text(lang)
    for section in SECTIONS:
        typer.echo(text(f"sections.{section}"))
        for lesson in LESSONS:
            if lesson.section == section:
                typer.echo(f"  {lesson.name:<23} {lesson.summary(lang)}")
    typer.echo("\ndhyan lesson NAME [NAME=VALUE …] [--sentence …] [-o figure.svg] [--lang hi]")


def _arguments(
    name: str, sentence: str | None, pairs: list[str], known: list[str]
) -> dict[str, object]:
    """The lesson's arguments from `--sentence` and pairs of NAME=VALUE."""
    from dhyan.lessons.lesson import parse_argument

    values: dict[str, object] = {} if sentence is None else {"sentence": sentence}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator:
            raise UserError(f"{pair}: write NAME=VALUE")
        values[key] = parse_argument(value)
    for key in values:
        if key not in known:
            raise UserError(
                f"lesson {name} takes no {key!r}; it takes {', '.join(known) or 'nothing'}"
            )
    return values
