"""Training in two processes survives the loss of one, again and again, and ends in the same bits."""

import hashlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from dhyan.checkpoint import read_checkpoint
from tests.faults.fork_client import newest_step
from tests.fork_server import ROOT, forked_python
from tests.tiny_models import as_arguments, command, environment, tiny_settings, write_corpus

LAUNCH = """
import json, sys
from dhyan.cli.launch_processes import launch
command, arguments, restarts = map(json.loads, sys.argv[1:])
sys.exit(launch(arguments, processes=2, max_restarts=restarts, command=command))
"""
LISTENING = "0A"
LOOPBACK = {"0100007F", "00000000000000000000000001000000"}
EXACT = {
    "training.exact": "true",
    "training.gradient_accumulation": 2,
    "training.save_every": 1,
    "training.validate_every": 50,
    "training.keep_checkpoints": 2,
    "decoding.max_length": 8,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), pairs=250)


def train_words(corpus, out, steps):
    settings = tiny_settings("rnn", *corpus, **{**EXACT, "training.steps": steps})
    return ["train", "bahdanau2015-small", "--out", str(out), *as_arguments(settings)]


def environ():
    return environment() | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}


def start_two(words, restarts, output):
    """The launcher of two processes, which are forked from one that has imported torch."""
    return subprocess.Popen(
        forked_python(
            "-c", LAUNCH, *map(json.dumps, (forked_python("-m", "dhyan"), words, restarts))
        ),
        env=environ(), cwd=ROOT, stdout=output, stderr=subprocess.STDOUT,
    )  # fmt: skip


def process_of_first(out):
    """The process that holds the lock of a run; 0 if there is none."""
    lock = out / "lock"
    text = lock.read_text() if lock.exists() else ""
    return int(text) if text.isdecimal() else 0


def files_at(out, step):
    files = read_checkpoint(out / f"step-{step}")
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def wait_for(condition, process, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "the run ended early"
        assert time.monotonic() < end, "the run hangs"
        time.sleep(0.005)


@pytest.mark.slow
def test_a_run_whose_first_process_is_killed_ends_in_the_same_bits(corpus, tmp_path):
    out, alone, steps, kills = tmp_path / "killed", tmp_path / "alone", 12, 3
    with open(tmp_path / "log", "w") as log:
        process = start_two(train_words(corpus, out, steps), kills, log)
        killed = 0
        for kill in range(kills):
            target = 1 + 3 * kill
            while newest_step(out) < target or process_of_first(out) == killed:
                wait_for(lambda: True, process)
                time.sleep(0.005)
            killed = process_of_first(out)
            os.kill(killed, signal.SIGKILL)
        assert process.wait(120) == 0, (tmp_path / "log").read_text()
    words = [*train_words(corpus, alone, steps), "--threads", "1"]
    subprocess.run(forked_python("-m", "dhyan", *words), env=environ(), check=True)
    assert files_at(out, steps) == files_at(alone, steps)
    text = (tmp_path / "log").read_text()
    lost = text.count("process 1 lost the connection to another process")
    assert lost <= kills  # or the launcher ended it before it noticed
    assert "data_parallel.py" not in text, "a traceback"


@pytest.mark.slow
def test_a_mistake_is_named_once_and_nothing_is_started_again(corpus, tmp_path):
    missing = tmp_path / "missing.en"
    words = train_words((missing, corpus[1]), tmp_path / "run", 2)
    with open(tmp_path / "log", "w+") as log:
        process = start_two(words, 3, log)
        assert process.wait(60) == 2
    text = (tmp_path / "log").read_text()
    assert [line.split(":")[1] for line in text.splitlines()] == [f" {missing}"], text
    assert "Traceback" not in text


@pytest.mark.slow
def test_sigterm_ends_both_processes_with_a_checkpoint(corpus, tmp_path):
    out = tmp_path / "run"
    words = train_words(corpus, out, 5000)
    with open(tmp_path / "log", "w+") as log:
        process = subprocess.Popen(
            command(*words, "--processes", 2), env=environ(), stdout=log, stderr=subprocess.STDOUT
        )
        wait_for(lambda: newest_step(out) >= 2, process)
        listening = listeners(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143, (tmp_path / "log").read_text()
    text = (tmp_path / "log").read_text()
    assert text.count("resume with: dhyan train") == 1, text
    assert f"step {newest_step(out)}" in text
    assert set(listening) <= LOOPBACK, listening


def listeners(pid):
    """The addresses, as the kernel writes them, that a process and its descendants listen at."""
    sockets = set()
    for number in (pid, *children(pid)):
        for file in Path(f"/proc/{number}/fd").iterdir():
            with suppress(OSError):
                sockets.add(os.readlink(file).removeprefix("socket:[").rstrip("]"))
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
    ]
    return [row[1].split(":")[0] for row in rows if row[3] == LISTENING and row[9] in sockets]


def children(pid):
    """All descendants of a process, in the order in which they were started."""
    task = Path(f"/proc/{pid}/task/{pid}/children")
    own = [int(child) for child in task.read_text().split()] if task.exists() else []
    return [*own, *(grandchild for child in own for grandchild in children(child))]


@pytest.mark.soak
@pytest.mark.parametrize("steps", [400])
def test_twenty_kills_of_either_process(corpus, tmp_path, steps):
    """As users start it: nothing is forked, either process is killed at any moment."""
    out, alone, kills, rng = tmp_path / "killed", tmp_path / "alone", 20, random.Random(3)
    words, seconds = train_words(corpus, out, steps), []
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(
            command(*words, "--processes", 2, "--max-restarts", kills),
            env=environ(), stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        wait_for(lambda: newest_step(out) >= 1, process)
        for _ in range(kills):
            time.sleep(rng.uniform(0, 0.5))
            workers = children(process.pid)
            assert len(workers) == 2
            before, start = newest_step(out), time.monotonic()
            os.kill(rng.choice(workers), signal.SIGKILL)
            wait_for(lambda: newest_step(out) > before + 1, process)  # noqa: B023
            seconds.append(time.monotonic() - start)
        assert process.wait(300) == 0, (tmp_path / "log").read_text()
    words = [*train_words(corpus, alone, steps), "--threads", "1"]
    subprocess.run([sys.executable, "-m", "dhyan", *words], env=environ(), check=True)
    assert files_at(out, steps) == files_at(alone, steps)
    text = (tmp_path / "log").read_text()
    assert text.count("resuming from") == kills
    median, longest = statistics.median(seconds), sorted(seconds)[-2]
    print(f"{kills} kills, {kills} restarts, {median:.1f} s median, {longest:.1f} s p95")


@pytest.mark.soak
def test_a_process_that_hangs_is_found_and_all_start_again(corpus, tmp_path):
    out, alone, steps = tmp_path / "hung", tmp_path / "alone", 300
    words = train_words(corpus, out, steps)
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(
            command(*words, "--processes", 2, "--hang-timeout", 5),
            env=environ(), stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        wait_for(lambda: newest_step(out) >= 3, process)
        first, second = children(process.pid)
        start = time.monotonic()
        os.kill(second, signal.SIGSTOP)
        wait_for(lambda: not Path(f"/proc/{first}").exists(), process)
        found = time.monotonic() - start
        before = newest_step(out)
        wait_for(lambda: newest_step(out) > before, process, seconds=90)
        again = time.monotonic() - start
        assert process.wait(300) == 0, (tmp_path / "log").read_text()
    text = (tmp_path / "log").read_text()
    assert "Timeout (0:00:05)!" in text
    assert "data_parallel.py" in text, "the stack of the process that waited"
    words = [*train_words(corpus, alone, steps), "--threads", "1"]
    subprocess.run([sys.executable, "-m", "dhyan", *words], env=environ(), check=True)
    assert files_at(out, steps) == files_at(alone, steps)
    print(f"found after {found:.1f} s, training again after {again:.1f} s")


@pytest.mark.slow
@pytest.mark.soak
def test_two_agents_of_torchrun_restart_together(corpus, tmp_path):
    """As on two hosts: each has an agent, they meet at an address, and one loses its process."""
    out, alone, steps = tmp_path / "two-agents", tmp_path / "alone", 12
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{free.getsockname()[1]}"
    agent = (
        "-m", "torch.distributed.run", "--nnodes", 2, "--nproc-per-node", 1, "--max-restarts", 3,
        "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint, "--rdzv-id", "test",
        "--local-addr", "127.0.0.1", "--monitor-interval", 0.2, "--no-python",
    )  # fmt: skip
    words = (*agent, *forked_python("-m", "dhyan"), *train_words(corpus, out, steps))
    safe = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "GLOO_SOCKET_IFNAME": "lo"}
    with open(tmp_path / "log", "w") as log:
        agents = [
            subprocess.Popen(
                forked_python(*words), env=environ() | safe, stdout=log, stderr=subprocess.STDOUT
            )
            for _ in range(2)
        ]
        wait_for(lambda: newest_step(out) >= 3, agents[0])
        os.kill(process_of_first(out), signal.SIGKILL)
        codes = [process.wait(120) for process in agents]
    text = (tmp_path / "log").read_text()
    assert codes == [0, 0], text
    assert text.count("resuming from") == 1
    words = [*train_words(corpus, alone, steps), "--threads", "1"]
    subprocess.run(forked_python("-m", "dhyan", *words), env=environ(), check=True)
    assert files_at(out, steps) == files_at(alone, steps)
