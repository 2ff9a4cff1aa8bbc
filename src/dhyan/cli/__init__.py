"""The command line: parse, call, print. Torch is imported by the commands that need it."""

import sys
from typing import Annotated

import typer

from dhyan import __version__
from dhyan.cli import data
from dhyan.cli.demo import demo
from dhyan.cli.evaluate import evaluate
from dhyan.cli.exits import Exit
from dhyan.cli.info import info
from dhyan.cli.show import show
from dhyan.cli.train import train
from dhyan.cli.translate import translate
from dhyan.faults import Fault

app = typer.Typer(
    name="dhyan",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (demo, train, translate, evaluate, show, info):
    app.command()(command)
app.add_typer(data.app, name="data")


def say_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"dhyan {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=say_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Train a translator, translate with it, and see what it attends to.

    Begin with: dhyan demo
    """


def main() -> None:
    """Run a command; what the user can mend is one line, and the exit code says which kind."""
    try:
        app()
    except Fault as fault:
        print(f"dhyan: {fault}", file=sys.stderr)
        sys.exit(Exit.MISTAKE)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
