"""No command speaks to another machine, and none listens to one."""

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
def place(tmp_path_factory):
    """A corpus and a model."""
    folder = tmp_path_factory.mktemp("place")
    write_corpus(folder, pairs=60)
    (folder / "few.en").write_text("one\ntwo three\n")
    (folder / "few.hi").write_text("एक\nदो तीन\n")
    write_model(folder / "model", model_files("transformer", **{"decoding.max_length": 5}))
    return folder


def few_steps(place, family="rnn"):
    more = {"training.steps": 2, "training.valid_sentences": 2}
    settings = tiny_settings(family, place / "a.en", place / "a.hi", **more)
    return as_arguments(settings)


def cheap(place):
    """Commands that take no time, once torch is there."""
    files = ["--source", str(place / "few.en"), "--target", str(place / "few.hi")]
    yield ["recipe", "numbers"]
    yield ["data", "check", str(place / "a.en"), str(place / "a.hi")]
    yield ["info", str(place / "model")]
    yield ["lesson"]
    yield ["train", "bahdanau2015-small", "--out", str(place / "cheap"), *few_steps(place)]
    yield ["translate", str(place / "model"), str(place / "few.en"), "--beam", "1"]
    yield ["show", str(place / "model"), "how are you"]
    yield ["evaluate", str(place / "model"), *files, "--bootstrap", "0", "--beam", "1"]


@pytest.mark.slow
def test_cheap_commands_speak_to_nobody(place, tmp_path):
    asked = json.dumps(list(cheap(place)))
    words = [sys.executable, "-c", SEVERAL, asked]
    done = traced(words, tmp_path / "log", env=environment(), cwd=place)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert not offences(tmp_path / "log")
    assert not listeners(tmp_path / "log")


def test_a_word_to_another_machine_would_be_seen(tmp_path):
    program = """
import socket
for kind, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
    try:
        with socket.socket(kind, socket.SOCK_DGRAM) as one:
            one.connect((address, 9))
    except OSError:
        pass
for kind, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET, "")):
    with socket.socket(kind) as one:
        one.bind((address, 0))
        one.listen()
with socket.socket() as one:
    one.listen()
"""
    traced([sys.executable, "-c", program], tmp_path / "log", check=True)
    found = offences(tmp_path / "log")
    assert sum("connect(" in line for line in found) == 1 + socket.has_ipv6
    assert sum("bind(" in line for line in found) == 2
    assert sum("listen(" in line for line in found) == 3


def test_a_word_within_this_machine_is_none(tmp_path):
    program = """
import socket
with socket.create_server(("127.0.0.1", 0)) as one:
    socket.create_connection(one.getsockname()).close()
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
    "evaluate": ("evaluate", "model", "--source", "a.en", "--target", "a.hi", "--attention-statistics"),
    "prepare": (
        "data", "prepare", "numbers", "--source", "a.en", "--target", "a.hi", "--out", "prepared",
    ),
    "primer": ("data", "primer", "--pairs", "20", "--test-pairs", "5", "--out", "primer"),
    "lesson": ("lesson", "context", "-o", "lesson.png"),
    "average": ("average", "twice", "--last", "2", "--out", "averaged"),
    "compare": (
        "compare", "numbers", "reverse", "--quick", "--budget", "2", "--data", "numbers",
        "--set", "data.pairs=60", "--out", "compared",
    ),
    "demo": ("demo", "--steps", "2", "--sentences", "6", "--out", "demo"),
}  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("name", LONG)
def test_no_command_speaks_to_anybody(place, tmp_path, name):
    words = list(LONG[name])
    if name == "train":
        words += few_steps(place, "transformer")
    if name == "average":
        twice = command("train", "bahdanau2015-small", "--out", "twice", *few_steps(place))
        more = ["--set", "training.save_every=1"]
        subprocess.run([*twice, *more], env=environment(), cwd=place, check=True)
    done = traced(command(*words), tmp_path / "log", env=environment(), cwd=place)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
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
def test_a_server_listens_to_this_machine_alone_also_while_it_translates(place, tmp_path, name):
    words, paths, (question, body) = SERVERS[name]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log, here = tmp_path / "log", f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [*strace(log), *command(*words, "--port", port)],
        env=environment(), cwd=place, stdout=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        for path in paths:
            assert answered(here + path), path
        said = answered(here + question, body=body)
        assert "translation" in said, said
    finally:
        os.killpg(process.pid, signal.SIGINT)  # strace itself waits for what it traces
        process.wait(timeout=60)
    assert not offences(log)
    print(f"{name}: translating, {len(CALLS.findall(log.read_text()))} calls, none beyond loopback")
    assert any(where.startswith(f"127.0.0.1:{port}") for where in listeners(log))


def answered(address, seconds=60, body=None):
    """What it answers, as soon as it does."""
    until, data = time.monotonic() + seconds, body and json.dumps(body).encode()
    asked = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(asked, timeout=20) as reply:
                return reply.read().decode()
        except OSError:  # nobody is there yet, or says that it is not ready
            time.sleep(0.3)
    return ""
