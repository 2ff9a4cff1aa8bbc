"""`dhyan studio`: one command, one address, this machine alone."""

import json
import socket
import urllib.request
from pathlib import Path

from tests.studio.running_server import running
from tests.tiny_models import dhyan


def answered(address, path=""):
    with urllib.request.urlopen(address + path) as answer:
        return answer.read().decode()


def loaded(process):
    """The libraries a process has mapped."""
    return Path(f"/proc/{process.pid}/maps").read_text()


def test_it_prints_one_address_paints_without_torch_and_ends_by_ctrl_c(models, tmp_path):
    with running(*map(str, models), cwd=tmp_path) as (process, address):
        assert "<title>dhyan studio</title>" in answered(address)
        assert len(json.loads(answered(address, "api/models"))) == 4
        assert "libtorch" not in loaded(process)
    assert process.returncode == 0


def test_the_port_is_open_to_this_machine_alone(models, tmp_path):
    with running(str(models[0]), cwd=tmp_path) as (process, address):
        port = int(address.rsplit(":", 1)[1].strip("/"))
        wanted = f"{port:04X}"
        listening = [
            line.split()[1]
            for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
            if line.split()[3] == "0A" and line.split()[1].endswith(wanted)
        ]
        assert listening == [f"0100007F:{wanted}"]
        assert not [line for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]
                    if line.split()[1].endswith(wanted)]  # fmt: skip


def test_without_a_name_it_takes_the_models_that_lie_there(models, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "mine").symlink_to(models[1])
    (tmp_path / "runs" / "broken" / "step-1").mkdir(parents=True)
    with running(cwd=tmp_path) as (process, address):
        [card] = json.loads(answered(address, "api/models"))
        assert card["name"] == "mine"
        assert "left out: " in process.stderr.readline()


def test_a_saved_trace_is_shown_without_a_model(models, tmp_path):
    saved = tmp_path / "look.json"
    shown = dhyan("show", models[1], "How are you?", "-o", saved)
    assert shown.returncode == 0
    with running("--trace", str(saved), cwd=tmp_path) as (process, address):
        [card] = json.loads(answered(address, "api/models"))
        assert card["saved"] == "How are you?"
        assert "libtorch" not in loaded(process)


def test_with_no_model_at_all_it_says_what_it_trains_and_where(tmp_path):
    with running(cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache")) as (process, address):
        pending = json.loads(answered(address, "api/models/pending"))
        assert [one["name"] for one in pending] == [
            "bahdanau",
            "transformer",
            "luong",
            "bottleneck",
        ]
        assert json.loads(answered(address, "api/models")) == []
        line = process.stderr.readline()
        assert "no model is named: training bahdanau, transformer, luong, bottleneck once" in line
        assert str(tmp_path / "cache") in line


def test_a_port_that_is_taken_is_one_line(models, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = dhyan("studio", models[0], "--no-browser", "--port", str(port), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.decode().count("\n") == 1
    assert f"127.0.0.1 port {port}: Address already in use" in done.stderr.decode()
