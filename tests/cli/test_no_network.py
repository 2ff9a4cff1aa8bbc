"""No command connects to another machine, and servers listen on loopback alone."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from tests.model_check.valid_model import model_files, write_model
from tests.network_trace import CALLS, listeners, offences, strace, traced
from tests.tiny_models import as_arguments, command, environment, tiny_settings, write_corpus

SEVERAL = """
import json, sys
sys.argv[0] = "dhyan"
from dhyan.cli import app
for words in json.loads(sys.argv[1]):
    app(words, standalone_mode=False)
"""  # in one process, for torch takes longest to import


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus and a model."""
    folder = tmp_path_factory.mktemp("network")
    write_corpus(folder, pairs=60)
    (folder / "few.en").write_text("one\ntwo three\n")
    (folder / "few.hi").write_text("एक\nदो तीन\n")
    write_model(folder / "model", model_files("transformer", **{"decoding.max_length": 5}))
    return folder


def few_steps(folder, family="rnn"):
    more = {"training.steps": 2, "training.valid_sentences": 2}
    settings = tiny_settings(family, folder / "a.en", folder / "a.hi", **more)
    return as_arguments(settings)


def quick_commands(folder):
    """Commands that take little time once torch is imported."""
    files = ["--source", str(folder / "few.en"), "--target", str(folder / "few.hi")]
    yield ["recipe", "numbers"]
    yield ["data", "check", str(folder / "a.en"), str(folder / "a.hi")]
    yield ["info", str(folder / "model")]
    yield ["lesson"]
    yield ["train", "bahdanau2015-small", "--out", str(folder / "cheap"), *few_steps(folder)]
    yield ["translate", str(folder / "model"), str(folder / "few.en"), "--beam", "1"]
    yield ["show", str(folder / "model"), "how are you"]
    yield ["evaluate", str(folder / "model"), *files, "--bootstrap", "0", "--beam", "1"]


@pytest.mark.slow
def test_quick_commands_open_no_connection(folder, tmp_path):
    commands = json.dumps(list(quick_commands(folder)))
    program = [sys.executable, "-c", SEVERAL, commands]
    process = traced(program, tmp_path / "log", env=environment(), cwd=folder)
    assert process.returncode == 0, process.stderr.decode()[-2000:]
    assert not offences(tmp_path / "log")
    assert not listeners(tmp_path / "log")


def test_a_connection_to_another_machine_is_detected(tmp_path):
    program = """
import socket
for kind, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
    try:
        with socket.socket(kind, socket.SOCK_DGRAM) as client:
            client.connect((address, 9))
    except OSError:
        pass
for kind, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET, "")):
    with socket.socket(kind) as server:
        server.bind((address, 0))
        server.listen()
with socket.socket() as server:
    server.listen()
"""
    traced([sys.executable, "-c", program], tmp_path / "log", check=True)
    calls = offences(tmp_path / "log")
    assert sum("connect(" in line for line in calls) == 1 + socket.has_ipv6
    assert sum("bind(" in line for line in calls) == 2
    assert sum("listen(" in line for line in calls) == 3


def test_a_loopback_connection_is_allowed(tmp_path):
    program = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
a, b = socket.socketpair()
"""
    traced([sys.executable, "-c", program], tmp_path / "log", check=True)
    assert not offences(tmp_path / "log")
    assert len(listeners(tmp_path / "log")) == 1


LONG = {
    "train": ("train", "transformer2017-small", "--out", "trained"),
    "translate": ("translate", "model", "a.en", "--nbest", "2", "--align", "--json"),
    "paragraphs": ("translate", "model", "a.en", "--paragraphs", "--sample"),
    "show": ("show", "model", "how are you", "-o", "map.png"),
    "evaluate": (
        "evaluate", "model", "--source", "a.en", "--target", "a.hi", "--attention-statistics",
    ),
    "prepare": (
        "data", "prepare", "numbers", "--source", "a.en", "--target", "a.hi", "--out", "prepared",
    ),
    "primer": ("data", "primer", "--pairs", "20", "--test-pairs", "5", "--out", "primer"),
    "lesson": ("lesson", "context_vector", "-o", "lesson.png"),
    "average": ("average", "twice", "--last", "2", "--out", "averaged"),
    "compare": (
        "compare", "numbers", "reverse", "--quick", "--budget", "2", "--data", "numbers",
        "--set", "data.pairs=60", "--out", "compared",
    ),
    "demo": ("demo", "--steps", "2", "--sentences", "6", "--out", "demo"),
}  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("name", LONG)
def test_no_command_connects_to_another_machine(folder, tmp_path, name):
    words = list(LONG[name])
    if name == "train":
        words += few_steps(folder, "transformer")
    if name == "average":
        twice = command("train", "bahdanau2015-small", "--out", "twice", *few_steps(folder))
        more = ["--set", "training.save_every=1"]
        subprocess.run([*twice, *more], env=environment(), cwd=folder, check=True)
    process = traced(command(*words), tmp_path / "log", env=environment(), cwd=folder)
    assert process.returncode == 0, process.stderr.decode()[-2000:]
    assert not offences(tmp_path / "log")
    assert all(where.startswith("127.") for where in listeners(tmp_path / "log"))


SERVERS = {
    "studio": (
        ("studio", "model", "--no-browser"),
        ("/", "/api/models"),
        ("/api/translate", {"model": "model", "text": "how are you"}),
    ),
    "serve": (
        ("serve", "model"),
        ("/livez", "/readyz", "/metrics"),
        ("/v1/translate", {"text": "how are you", "nbest": 2, "align": True}),
    ),
}


@pytest.mark.soak
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_listens_on_loopback_alone_while_it_translates(folder, tmp_path, name):
    arguments, paths, (route, body) = SERVERS[name]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log, here = tmp_path / "log", f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [*strace(log), *command(*arguments, "--port", port)],
        env=environment(), cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        for path in paths:
            assert answered(here + path), path
        response = answered(here + route, body=body)
        assert "translation" in response, response
    finally:
        os.killpg(process.pid, signal.SIGINT)  # strace itself waits for what it traces
        process.wait(timeout=60)
    assert not offences(log)
    print(f"{name}: translating, {len(CALLS.findall(log.read_text()))} calls, none beyond loopback")
    assert any(where.startswith(f"127.0.0.1:{port}") for where in listeners(log))


def answered(address, seconds=60, body=None):
    """The response, as soon as there is one."""
    until, data = time.monotonic() + seconds, body and json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                return reply.read().decode()
        except OSError:  # the server is not there yet, or not ready
            time.sleep(0.3)
    return ""
