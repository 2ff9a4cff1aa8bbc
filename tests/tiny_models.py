"""A corpus and recipes small enough to train in a test, made by code."""

import io
import itertools
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from dhyan.cli import main
from dhyan.config import load_recipe
from dhyan.data.synthetic import number_pairs, reverse_pairs
from tests.fork_server import forked_python

SIZES = {
    "rnn": {
        "encoder.embedding_width": 16,
        "encoder.width": 16,
        "decoder.embedding_width": 16,
        "decoder.width": 24,
        "decoder.readout_width": 16,
        "decoder.attention.score_width": 16,
    },
    "transformer": {
        "encoder.width": 16,
        "encoder.heads": 2,
        "encoder.feed_forward_width": 32,
        "decoder.width": 16,
        "decoder.heads": 2,
        "decoder.feed_forward_width": 32,
    },
}
RECIPES = {"rnn": "bahdanau2015-small", "transformer": "transformer2017-small"}
OFTEN = {
    "text.source_vocabulary_size": 320,
    "text.target_vocabulary_size": 340,
    "data.max_tokens": 60,
    "decoding.max_source_length": 60,
    "training.tokens_per_batch": 200,
    "training.steps": 12,
    "training.validate_every": 4,
    "training.save_every": 2,
    "training.report_every": 1,
    "training.valid_sentences": 4,
}


def write_corpus(folder, pairs=400, generate=number_pairs):
    """Two text files of generated pairs."""
    generated = list(itertools.islice(generate(seed=5), pairs))
    source, target = Path(folder) / "a.en", Path(folder) / "a.hi"
    source.write_text("".join(f"{p.source}\n" for p in generated), encoding="utf-8")
    target.write_text("".join(f"{p.target}\n" for p in generated), encoding="utf-8")
    return source, target


def tiny_settings(family, source, target, **more):
    """Overrides that make a shipped recipe tiny."""
    files = {"data.source": str(source), "data.target": str(target)}
    return {**SIZES[family], **OFTEN, **files, **more}


def tiny_recipe(family, source, target, **more):
    """A shipped recipe made tiny, over the given files."""
    return load_recipe(RECIPES[family], tiny_settings(family, source, target, **more))


def as_arguments(settings):
    """Settings as `--set` arguments."""
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


def command(*arguments):
    """The words of a dhyan command that starts Python itself."""
    return [sys.executable, "-m", "dhyan", *map(str, arguments)]


def environment():
    """This one, with the package on its path."""
    source = Path(__file__).parents[1] / "src"
    return {**os.environ, "PYTHONPATH": str(source), "COLUMNS": "100"}


def dhyan(*arguments, stdin=None, cwd=None, timeout=120):
    """Run a dhyan command in a process of its own, forked from one that has imported torch."""
    return subprocess.run(
        forked_python("-m", "dhyan", *arguments),
        input=stdin,
        capture_output=True,
        env=environment(),
        cwd=cwd,
        timeout=timeout,
    )


def here(*arguments, stdin=b"", cwd=None):
    """The same in this process, for what needs no other: the package is loaded already."""
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr, os.getcwd()
    handler, threads = signal.getsignal(signal.SIGPIPE), torch.get_num_threads()
    files = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115
    files[0].write(stdin or b"")
    files[0].seek(0)
    try:
        sys.argv = ["dhyan", *map(str, arguments)]
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(file, "utf-8", write_through=True) for file in files
        )
        os.chdir(cwd or before[-1])
        try:
            main()
            code = 0
        except SystemExit as exit_error:
            code = int(exit_error.code or 0)
        outputs = []
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            stream.seek(0)
            outputs.append(stream.buffer.read())
        return subprocess.CompletedProcess(sys.argv, code, *outputs)
    finally:
        *streams, folder = before
        sys.argv, sys.stdin, sys.stdout, sys.stderr = streams
        os.chdir(folder)
        signal.signal(signal.SIGPIPE, handler)
        torch.set_num_threads(threads)


__all__ = [
    "as_arguments",
    "command",
    "dhyan",
    "here",
    "environment",
    "reverse_pairs",
    "tiny_recipe",
    "tiny_settings",
    "write_corpus",
]
