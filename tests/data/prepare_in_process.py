"""Check and prepare a small corpus and return the result; also runs as a program."""

import contextlib
import io
import json
import sys
from hashlib import sha256
from pathlib import Path

from dhyan.cli import main
from tests.tiny_models import write_corpus

SIZES = ("--set", "text.source_vocabulary_size=330", "--set", "text.target_vocabulary_size=340")
TEST = ("--test-source", "t.tsv")


def run_command(*words):
    """The standard output of a command."""
    before, sys.argv, output = sys.argv, ["dhyan", *words], io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        main()
    sys.argv = before
    return output.getvalue()


def prepare_in(folder):
    """The output of the check, and the checksum of every prepared file."""
    write_corpus(folder, pairs=130)
    english, hindi = ((folder / f"a.{end}").read_text("utf-8").splitlines() for end in ("en", "hi"))
    rows = zip(english[100:110], hindi[100:110], strict=True)
    (folder / "t.tsv").write_text("".join(f"{a.upper()}\t{b}\n" for a, b in rows), "utf-8")
    with contextlib.chdir(folder):
        results = {"check": run_command("data", "check", "a.en", "a.hi", *TEST)}
        for kind in ("unigram", "bpe"):
            files = ("--source", "a.en", "--target", "a.hi", *TEST, "--allow-leakage", "--quiet")
            options = ("--set", f"text.tokenizer={kind}", "--out", f"ready-{kind}")
            run_command("data", "prepare", "numbers", *files, *SIZES, *options)
        for path in sorted(Path().glob("ready-*/*")):
            results[str(path)] = sha256(path.read_bytes()).hexdigest()
    return results


if __name__ == "__main__":
    print(json.dumps(prepare_in(Path(sys.argv[1]))))
