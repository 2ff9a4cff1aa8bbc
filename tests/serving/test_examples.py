"""The systemd unit and the Dockerfile in examples/serving: syntax, and options that exist."""

import json
import re
import shlex
import shutil
import subprocess

import pytest
import typer

from dhyan.cli import app
from tests.serving.running_server import ROOT

FOLDER = ROOT / "examples" / "serving"
INSTRUCTIONS = {
    "FROM", "RUN", "ENV", "COPY", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD",
}  # fmt: skip


def instructions():
    """The instructions of the Dockerfile, each with its arguments."""
    text = re.sub(r"^#.*\n", "", (FOLDER / "Dockerfile").read_text(), flags=re.MULTILINE)
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if line:
            name, _, arguments = line.partition(" ")
            yield name, arguments


def parse(arguments):
    """Parse the arguments of `dhyan serve`; a wrong one raises an error."""
    command = typer.main.get_command(app).commands["serve"]
    return command.make_context("serve", list(arguments)).params


def unit_command():
    [command] = re.findall(r"^ExecStart=(.*)", (FOLDER / "dhyan.service").read_text(), re.MULTILINE)
    return shlex.split(command)


def test_the_units_command_is_valid():
    program, name, *arguments = unit_command()
    assert program.endswith("/dhyan")
    assert name == "serve"
    parameters = parse(arguments)
    assert parameters["key_file"]
    assert parameters["host"] == "127.0.0.1"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path):
    unit = tmp_path / "dhyan.service"
    text = (FOLDER / "dhyan.service").read_text()
    unit.write_text(text.replace(unit_command()[0], "/bin/true"))
    process = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True
    )
    warnings = [line for line in process.stderr.splitlines() if unit.name in line]
    assert (process.returncode, warnings) == (0, [])


def test_the_dockerfile_has_only_known_instructions():
    names = [name for name, _ in instructions()]
    assert set(names) <= INSTRUCTIONS
    assert (names[0], names[-2:]) == ("FROM", ["ENTRYPOINT", "CMD"])
    copied = [shlex.split(rest)[:-1] for name, rest in instructions() if name == "COPY"]
    for path in (path for paths in copied for path in paths if not path.startswith(("-", "/"))):
        assert (ROOT / path).exists(), path
        assert f"!{path}\n" in (FOLDER / "Dockerfile.dockerignore").read_text()


def test_the_containers_command_is_valid():
    parts = dict(instructions())
    assert json.loads(parts["ENTRYPOINT"]) == ["dhyan", "serve"]
    parameters = parse(json.loads(parts["CMD"]))
    assert f"EXPOSE {parameters['port']}" in (FOLDER / "Dockerfile").read_text()
    assert f":{parameters['port']}/readyz" in parts["HEALTHCHECK"]
    assert parameters["key_file"]
    assert parts["USER"] != "root"
