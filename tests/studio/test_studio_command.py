"""`dhyan studio`: its address, its models, its port."""

import json
import socket
import urllib.request
from pathlib import Path

import pytest

from dhyan.pretrained import TRANSLATORS, VARIABLE, model_names
from tests.studio.running_server import running
from tests.tiny_models import dhyan


def get(address, path=""):
    with urllib.request.urlopen(address + path) as response:
        return response.read().decode()


def without_pretrained(folder):
    """A variable with which no pretrained model is found."""
    return {VARIABLE: str(folder / "none")}


def mapped_libraries(process):
    """The libraries a process has mapped."""
    return Path(f"/proc/{process.pid}/maps").read_text()


def test_the_page_is_served_without_torch_until_ctrl_c(models, tmp_path):
    with running(*map(str, models), cwd=tmp_path) as (process, address):
        assert "<title>dhyan studio</title>" in get(address)
        assert len(json.loads(get(address, "api/models"))) == 5
        assert "libtorch" not in mapped_libraries(process)
    assert process.returncode == 0


def test_the_port_is_open_on_loopback_only(models, tmp_path):
    with running(str(models[0]), cwd=tmp_path) as (process, address):
        port = int(address.rsplit(":", 1)[1].strip("/"))
        hex_port = f"{port:04X}"
        listening = [
            line.split()[1]
            for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
            if line.split()[3] == "0A" and line.split()[1].endswith(hex_port)
        ]
        assert listening == [f"0100007F:{hex_port}"]
        assert not [line for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]
                    if line.split()[1].endswith(hex_port)]  # fmt: skip


def test_models_in_the_run_folder_are_listed(models, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "mine").symlink_to(models[1])
    (tmp_path / "runs" / "broken" / "step-1").mkdir(parents=True)
    with running(cwd=tmp_path, **without_pretrained(tmp_path)) as (process, address):
        [card] = json.loads(get(address, "api/models"))
        assert card["name"] == "mine"
        assert "left out: " in process.stderr.readline()


def test_a_saved_trace_is_shown_without_a_model(models, tmp_path):
    saved = tmp_path / "trace.json"
    result = dhyan("show", models[1], "How are you?", "-o", saved)
    assert result.returncode == 0
    with running("--trace", str(saved), cwd=tmp_path) as (process, address):
        [card] = json.loads(get(address, "api/models"))
        assert card["saved"] == "How are you?"
        assert "libtorch" not in mapped_libraries(process)


def test_without_a_model_the_terminal_says_what_to_do(tmp_path):
    with running(cwd=tmp_path, **without_pretrained(tmp_path)) as (process, address):
        assert json.loads(get(address, "api/models")) == []
        line = process.stderr.readline()
        for part in ("there is no model", "dhyan train numbers", "Training view"):
            assert part in line
    assert not list(tmp_path.iterdir()), "nothing is trained or cached"


def test_the_studio_opens_with_the_models_of_the_package(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    names = model_names()
    assert tuple(names[: len(TRANSLATORS)]) == TRANSLATORS
    with running(cwd=tmp_path) as (process, address):
        cards = json.loads(get(address, "api/models"))
        assert [card["name"] for card in cards] == names
        translators = cards[: len(TRANSLATORS)]
        assert all(card["test_scores"].keys() == {"BLEU", "chrF++"} for card in translators)
        assert f"with {', '.join(names)}" in process.stderr.readline()
        assert "libtorch" not in mapped_libraries(process)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no such model folder"),
        (["--port", "99999"], "65535"),
        (["--trace", "none.json"], "none.json"),
    ],
)
def test_an_invalid_argument_is_one_line_of_error(tmp_path, arguments, message):
    result = dhyan("studio", *arguments, "--no-browser", cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr.decode()
    assert result.stderr.decode().count("\n") == 1


def test_a_port_in_use_is_one_line_of_error(models, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = dhyan("studio", models[0], "--no-browser", "--port", str(port), cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.decode().count("\n") == 1
    assert f"127.0.0.1 port {port}: Address already in use" in result.stderr.decode()
