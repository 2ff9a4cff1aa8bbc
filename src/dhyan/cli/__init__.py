"""The command line: parse, call, print. Torch is imported by the commands that need it."""

import io
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dhyan.cli import data
from dhyan.cli.average import average
from dhyan.cli.compare import ONE, compare
from dhyan.cli.compare_one import compare_one
from dhyan.cli.demo import demo
from dhyan.cli.evaluate import evaluate
from dhyan.cli.exit_codes import Exit
from dhyan.cli.info import info
from dhyan.cli.lesson import lesson
from dhyan.cli.plugins import run_plugin
from dhyan.cli.recipe import recipe
from dhyan.cli.serve import serve
from dhyan.cli.show import show
from dhyan.cli.studio import studio
from dhyan.cli.train import train
from dhyan.cli.translate import translate
from dhyan.errors import UserError
from dhyan.version import __version__

UsageError: Any = typer.BadParameter.__base__  # typer exports only this one of its kind
app = typer.Typer(
    name="dhyan",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    demo, studio, train, translate, serve, evaluate, show, lesson, compare, info, recipe, average,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)
app.command(ONE, hidden=True)(compare_one)
app.add_typer(data.app, name="data")


def say_version(wanted: bool) -> bool:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"dhyan {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=say_version, is_eager=True, help="The version.")
    ] = False,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE.py", help="Run this first: it registers your own attention."),
    ] = None,
) -> None:
    """Train a translator, translate with it, and see what it attends to.

    Begin with: dhyan demo
    """
    for file in plugin or ():
        run_plugin(file)


def main() -> None:
    """Run a command; what the user can mend is one line, and the exit code says which kind."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends us as it ends any filter
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        if sys.stdout is None:
            raise UserError("stdout is closed: there is nowhere to write the result")
        sys.exit(app(standalone_mode=False))
    except UserError as fault:
        leave(str(fault))
    except UsageError as error:
        leave(usage(error))
    except OSError as error:
        leave(f"{error.filename or 'the output'}: {error.strerror}")
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(Exit.INTERRUPTED)
    except (MemoryError, RuntimeError) as error:
        if not ran_out_of_memory(error):
            raise
        leave("out of memory: make the model, training.tokens_per_batch or the beam smaller")


def usage(error: Any) -> str:
    """What is wrong with the words of a command, and where its help is."""
    if error.ctx is None:
        return error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.ctx.get_help())
        sys.exit(Exit.MISTAKE)
    message = error.format_message().rstrip(".")
    if "--plugin" in message:
        message += "; it stands before the command: dhyan --plugin FILE.py train …"
    return f"{message}; see {error.ctx.command_path} --help"


def leave(line: str) -> None:
    """Say what is to be mended, in one line, and end."""
    print("dhyan:", line.replace("\n", "\\n"), file=sys.stderr)
    sys.exit(Exit.MISTAKE)


def ran_out_of_memory(error: Exception) -> bool:
    """Whether PyTorch or Python could not get the memory it asked for."""
    named = type(error).__name__ in ("MemoryError", "OutOfMemoryError")
    return named or "allocate memory" in str(error)
