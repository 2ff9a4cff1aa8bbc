"""Checks and prepares a small corpus, and tells what came of it; also a program of its own."""

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


def spoken(*words):
    """What a command prints."""
    before, sys.argv, output = sys.argv, ["dhyan", *words], io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        main()
    sys.argv = before
    return output.getvalue()


def prepared_in(folder):
    """All that is said of a corpus, and the sum of every file that is written for it."""
    write_corpus(folder, pairs=130)
    english, hindi = ((folder / f"a.{end}").read_text("utf-8").splitlines() for end in ("en", "hi"))
    rows = zip(english[100:110], hindi[100:110], strict=True)
    (folder / "t.tsv").write_text("".join(f"{a.upper()}\t{b}\n" for a, b in rows), "utf-8")
    with contextlib.chdir(folder):
        found = {"said": spoken("data", "check", "a.en", "a.hi", *TEST)}
        for kind in ("unigram", "bpe"):
            named = ("--source", "a.en", "--target", "a.hi", *TEST, "--allow-leakage", "--quiet")
            chosen = ("--set", f"text.tokenizer={kind}", "--out", f"ready-{kind}")
            spoken("data", "prepare", "numbers", *named, *SIZES, *chosen)
        for path in sorted(Path().glob("ready-*/*")):
            found[str(path)] = sha256(path.read_bytes()).hexdigest()
    return found


if __name__ == "__main__":
    print(json.dumps(prepared_in(Path(sys.argv[1]))))
