"""Write the reference of the command line from its declarations: `python docs/commands.py`."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from dhyan.cli import app

PAGE = Path(__file__).parent / "reference" / "commands.md"
HEAD = """\
# Commands

Every command with its arguments and options. Settings of a recipe are [another page](settings.md).
"""


def reference() -> str:
    """The page: a section for each command, a table of its arguments and options."""
    root = typer.main.get_command(app)
    return "\n".join([HEAD, *_sections(root, typer.Context(root, info_name="dhyan"))])


def _sections(command: Any, context: typer.Context) -> Iterator[str]:
    yield f"## {context.command_path}\n"
    yield inspect.cleandoc(command.help or "").replace("\b\n", "") + "\n"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{context.command_path} {usage}\n```\n"
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [record for record in records if record and "--help" not in record[0]]
    if rows:
        yield "| argument or option | meaning |"
        yield "|---|---|"
        yield from (f"| `{_cell(name)}` | {_cell(text)} |" for name, text in rows)
        yield ""
    for name, inner in getattr(command, "commands", {}).items():
        if inner.hidden:
            continue
        yield from _sections(inner, typer.Context(inner, parent=context, info_name=name))


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
