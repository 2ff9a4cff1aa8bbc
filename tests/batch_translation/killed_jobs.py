"""Jobs of translating shards whose workers and drivers are killed, as tests do it to each engine."""

import json
import os
import signal
import subprocess
import time
from itertools import islice
from pathlib import Path

from dhyan.config import load_recipe
from dhyan.data.corpus import generate_primer
from tests.tiny_models import command, environment

MODEL, DEADLINE = "en-hi-transformer", 600.0


def write_shards(folder, *, shards, lines):
    """A folder of shards with generated English sentences."""
    folder.mkdir()
    pairs = generate_primer(load_recipe("primer").data, "random", 3)
    for number in range(shards):
        text = "".join(f"{pair.source}\n" for pair in islice(pairs, lines))
        (folder / f"part-{number:03}.txt").write_text(text, encoding="utf-8")
    return folder


def start(source, out, *options):
    """The command that translates the shards, in a process of its own."""
    words = command("translate", MODEL, "--shards", source, "--out", out, "--beam", 1, *options)
    log = open(out.with_suffix(".log"), "ab")  # noqa: SIM115
    return subprocess.Popen(words, env=environment(), stdout=log, stderr=log)


def workers_in(out):
    """The processes that have claimed a shard of this output folder."""
    claims, pids = f"{out.resolve()}/.ledger/claims/", set()
    for descriptors in Path("/proc").glob("[0-9]*/fd"):
        try:
            links = [os.readlink(link) for link in descriptors.iterdir()]
        except OSError:  # it has ended, or is another user's
            continue
        if any(link.startswith(claims) for link in links):
            pids.add(int(descriptors.parent.name))
    return pids


def records(out):
    """The records of finished shards, with the time they were written."""
    folder = out / ".ledger" / "records"
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json")}


def kill_and_finish(source, out, *options, workers, drivers):
    """Kill workers in the middle of shards, and drivers, then let a last driver finish.

    Each kill waits for a further record, so that all fall into work. Returns how many processes
    were killed of each sort, and whether a finished shard was ever translated again.
    """
    killed, again = {"workers": 0, "drivers": 0}, False
    deadline = time.monotonic() + DEADLINE
    driver, known = start(source, out, *options), {}
    while driver.poll() is None:
        assert time.monotonic() < deadline, out.with_suffix(".log").read_text()
        time.sleep(0.01)
        now = records(out)
        again = again or any(now.get(name) != written for name, written in known.items())
        if len(now) <= len(known):
            continue
        if killed["drivers"] < drivers and killed["workers"] * drivers >= workers * (
            killed["drivers"] + 1
        ):
            driver.kill()
            driver.wait()
            killed["drivers"] += 1
            while workers_in(out):  # they end with the driver
                assert time.monotonic() < deadline
                time.sleep(0.05)
            known = records(out)
            driver = start(source, out, *options)
        elif killed["workers"] < workers and (pids := workers_in(out)):
            known = now
            os.kill(min(pids), signal.SIGKILL)
            killed["workers"] += 1
    assert driver.returncode == 0, out.with_suffix(".log").read_text()
    return killed, again


def check_outputs(source, out, reference):
    """Every line once, in its place: each output is that of the single process."""
    names = sorted(path.name for path in source.iterdir())
    manifest = json.loads((out / "manifest.json").read_text())
    assert sorted(manifest["files"]) == names
    assert sorted(os.listdir(out)) == sorted([".ledger", "manifest.json", *names])
    for name in names:
        assert (out / name).read_bytes() == (reference / name).read_bytes(), name
    assert not os.listdir(out / ".ledger" / "claims")
    assert not os.listdir(out / ".ledger" / "parts")


def single_process(source, reference, translate):
    """The outputs of one process that knows no shards: `dhyan translate FILE -o FILE`."""
    reference.mkdir()
    whole, translations = reference.with_suffix(".en"), reference.with_suffix(".hi")
    texts = {path.name: path.read_bytes() for path in sorted(source.iterdir())}
    whole.write_bytes(b"".join(texts.values()))
    result = translate("translate", MODEL, whole, "-o", translations, "--beam", 1, "--threads", 1)
    assert result.returncode == 0, result.stderr
    lines = iter(translations.read_bytes().splitlines(keepends=True))
    for name, text in texts.items():
        (reference / name).write_bytes(b"".join(islice(lines, text.count(b"\n"))))
    assert not list(lines)
    return reference
