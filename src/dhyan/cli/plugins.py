"""A user's own file, run before the command so that recipes know what it registers."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from dhyan.errors import UserError


def run_plugin(path: Path) -> None:
    """Run a Python file; its faults are said in one line."""
    if not path.is_file():
        raise UserError(f"--plugin {path}: there is no such file")
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UserError(f"--plugin {path}: not a Python file; its name must end in .py")
    try:
        spec.loader.exec_module(module_from_spec(spec))
    except Exception as error:  # whatever a user's file may raise
        raise UserError(f"--plugin {path}: {type(error).__name__}: {error}") from error
