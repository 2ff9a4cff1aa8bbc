"""Command-line entry point: the commands of `dhyan`; each imports torch only if it needs it."""

import io
import os
import signal
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Annotated, Any

import typer

from dhyan.cli import data
from dhyan.cli.average import average
from dhyan.cli.compare import COMPARE_ONE, compare, compare_one
from dhyan.cli.demo import demo
from dhyan.cli.evaluate import evaluate
from dhyan.cli.export import export
from dhyan.cli.import_model import import_
from dhyan.cli.info import info
from dhyan.cli.lesson import lesson
from dhyan.cli.messages import Exit
from dhyan.cli.models import models
from dhyan.cli.predict import predict
from dhyan.cli.recipe import recipe
from dhyan.cli.serve import serve
from dhyan.cli.show import show
from dhyan.cli.studio import studio
from dhyan.cli.sweep import SWEEP_TRIAL, sweep, sweep_trial
from dhyan.cli.tasks import tasks
from dhyan.cli.train import train
from dhyan.cli.translate import translate
from dhyan.errors import UserError, command_line_spelling, ran_out_of_memory
from dhyan.version import __version__

UsageError: Any = typer.BadParameter.__base__  # typer exports only this subclass of it
app = typer.Typer(
    name="dhyan",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
WAIT_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
SPIN_COUNT = "20000"  # libgomp's default is 300,000
COMMANDS = (
    demo, studio, train, translate, predict, models, tasks, serve, export, evaluate, show, lesson,
    compare, sweep, info, recipe, average,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)
app.command("import")(import_)
app.command(COMPARE_ONE, hidden=True)(compare_one)
app.command(SWEEP_TRIAL, hidden=True)(sweep_trial)
app.add_typer(data.app, name="data")


def print_version(requested: bool) -> bool:
    """Print the version and exit."""
    if requested:
        typer.echo(f"dhyan {__version__}")
        raise typer.Exit
    return requested


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="Print the version."),
    ] = False,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.py",
            show_default="none",
            help="Python file to run first, which registers an attention or a task.",
        ),
    ] = None,
) -> None:
    """Train sequence-to-sequence models, translate with them, and look at their attention.

    First steps: echo "My sister works in a hospital." | dhyan translate en-hi
    """
    context.with_resource(command_line_spelling())
    for file in plugin or ():
        run_plugin(file)


def run_plugin(path: Path) -> None:
    """Run a Python file of the user before the command; its exceptions become one line."""
    if not path.is_file():
        raise UserError(f"--plugin {path}: there is no such file")
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UserError(f"--plugin {path}: not a Python file; its name must end in .py")
    try:
        spec.loader.exec_module(module_from_spec(spec))
    except Exception as error:  # whatever a user's file may raise
        raise UserError(f"--plugin {path}: {type(error).__name__}: {error}") from error


def let_idle_threads_sleep() -> None:
    """Limit how long idle OpenMP threads spin, unless the user chose; before torch is imported.

    Beside busy processes, long spinning makes several threads slower than one; without spinning,
    two threads alone are half as fast.
    """
    if not any(name in os.environ for name in WAIT_VARIABLES):
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT


def main() -> None:
    """Run a command; a user's mistake is one line on stderr per problem, and exit code 2."""
    let_idle_threads_sleep()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends the process, as any filter
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        if sys.stdout is None:
            raise UserError("stdout is closed: nowhere to write the result")
        sys.exit(app(prog_name="dhyan", standalone_mode=False))
    except UserError as error:
        fail(*error.problems)
    except UsageError as error:
        fail(usage_message(error))
    except OSError as error:
        fail(f"{error.filename or 'the output'}: {error.strerror}")
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(Exit.INTERRUPTED)
    except (MemoryError, RuntimeError, ModuleNotFoundError) as error:
        if not (message := remedy_for(error)):
            raise
        fail(message)


def usage_message(error: Any) -> str:
    """What is wrong with the arguments of a command, and where its help is."""
    if error.ctx is None:
        return error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.ctx.get_help())
        sys.exit(Exit.USER_ERROR)
    message = error.format_message().rstrip(".")
    if "--plugin" in message:
        message += "; it comes before the command: dhyan --plugin FILE.py train …"
    return f"{message}; see {error.ctx.command_path} --help"


def fail(*lines: str) -> None:
    """Print what the user has to correct, a line per problem, and exit."""
    for line in lines:
        print("dhyan:", line.replace("\n", "\\n"), file=sys.stderr)
    sys.exit(Exit.USER_ERROR)


def remedy_for(error: Exception) -> str:
    """What to do about an exception that is no bug; empty for a bug."""
    if isinstance(error, ModuleNotFoundError):
        missing = "this needs PyTorch, which is not installed: pip install torch"
        return missing if error.name == "torch" else ""
    smaller = "out of memory: make the model, training.tokens_per_batch or the beam smaller"
    return smaller if ran_out_of_memory(error) else ""
