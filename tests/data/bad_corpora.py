"""Bad corpora, generated; run as a program, this module checks them all.

Each has its files, the options of `dhyan data check`, and the expected message. `refused` is a
pattern of the error line; `reported` is a pattern of a line of the report of a usable corpus.
"""

import contextlib
import gzip
import io
import json
import lzma
import os
import resource
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from backports import zstd

MEGABYTE = 2**20
NOBODY = 65534
SECONDS = 90  # after which a corpus has hung
EN = "".join(f"this is line number {n} of the text\n" for n in range(1, 41)).encode()
HI = "".join(f"यह पाठ की पंक्ति {n} है\n" for n in range(1, 41)).encode()
ENGLISH, HINDI = EN.decode().splitlines(), HI.decode().splitlines()
TSV = "".join(f"{a}\t{b}\n" for a, b in zip(ENGLISH, HINDI, strict=True)).encode()
JSONL = "".join(
    json.dumps({"source": a, "target": b}) + "\n" for a, b in zip(ENGLISH, HINDI, strict=True)
).encode()


@dataclass(frozen=True)
class BadCorpus:
    """Files by name (bytes, or a function that makes the path), and the expected message."""

    files: dict
    refused: str = ""
    reported: str = ""
    options: tuple[str, ...] = ()
    nobody: bool = False  # read without permissions
    checked_paths: tuple[str, ...] = field(default=())  # paths to check, if not the files


def line(number, text, of=EN):
    """The English text, or another, with one line replaced by bytes."""
    lines = of.split(b"\n")
    lines[number - 1] = text
    return b"\n".join(lines)


def without(number, of=EN):
    """A text without one of its lines."""
    lines = of.split(b"\n")
    del lines[number - 1]
    return b"\n".join(lines)


def with_hindi(english, **expected):
    return BadCorpus({"a.en": english, "a.hi": HI}, **expected)


def table(name, content, **expected):
    return BadCorpus({name: content}, **expected)


def make_link_loop(path):
    path.symlink_to(path)


def write_gzip_bomb(path):
    part = gzip.compress(b"x" * 11 * MEGABYTE, 1)
    path.write_bytes(20 * part + gzip.compress(b"\n" + without(1)))


def write_unreadable(path):
    path.write_bytes(EN)
    path.chmod(0)


PAIR = b'{"source": "a", "target": "b"}\n'
COLUMNS = ("--columns", "en,hi")
NOT_UTF8 = r"a\.en:7: byte \d+ .* is not UTF-8; convert"

BAD_CORPORA = {
    # bytes that are not text
    "latin-1": with_hindi(line(7, b"caf\xe9 au lait"), refused=r"a\.en:7: byte 4 .*0xe9"),
    "lone continuation byte": with_hindi(line(7, b"\x80"), refused=NOT_UTF8),
    "character cut short": with_hindi(line(7, b"\xe0\xa4"), refused=NOT_UTF8),
    "overlong form": with_hindi(line(7, b"\xc0\xaf"), refused=NOT_UTF8),
    "surrogates in UTF-8": with_hindi(line(7, b"\xed\xa0\x80"), refused=NOT_UTF8),
    "beyond Unicode": with_hindi(line(7, b"\xf4\x90\x80\x80"), refused=NOT_UTF8),
    "UTF-16 with a mark": with_hindi(EN.decode().encode("utf-16"), refused=r"a\.en:1: .*UTF-16"),
    "UTF-16, big end first": with_hindi(
        b"\xfe\xff" + EN.decode().encode("utf-16-be"), refused=r"a\.en:1: .*UTF-16"
    ),
    "UTF-16 without a mark": with_hindi(
        EN.decode().encode("utf-16-le"), refused=r"a\.en:1: .*UTF-16"
    ),
    "NUL": with_hindi(line(7, b"a\0b"), refused=r"a\.en:7: byte 2 .* NUL"),
    "gzip without its name": with_hindi(
        gzip.compress(EN), refused=r"a\.en:1: .*gzip data; end its"
    ),
    "xz without its name": with_hindi(lzma.compress(EN), refused=r"a\.en:1: .*xz data; end its"),
    "zstd without its name": with_hindi(
        zstd.compress(EN), refused=r"a\.en:1: .*zstd data; end its"
    ),
    "zip": with_hindi(b"PK\x03\x04\x14\0\0\0\x08\0", refused=r"a\.en:1: .*zip archive; unpack"),
    "random bytes": with_hindi(bytes(range(256)) * 40, refused=r"a\.en:\d+: "),
    # damaged compressed files
    "cut gzip": BadCorpus(
        {"a.en.gz": gzip.compress(EN)[:-9], "a.hi": HI}, refused=r"a\.en\.gz:\d+: broken \.gz"
    ),
    "gzip with a wrong checksum": BadCorpus(
        {"a.en.gz": gzip.compress(EN)[:-8] + b"12345678", "a.hi": HI}, refused=r"a\.en\.gz:\d+: "
    ),
    "text called .gz": BadCorpus({"a.en.gz": EN, "a.hi": HI}, refused=r"a\.en\.gz:1: broken"),
    "cut xz": BadCorpus(
        {"a.en.xz": lzma.compress(EN)[:-9], "a.hi": HI}, refused=r"a\.en\.xz:\d+: "
    ),
    "cut zstd": BadCorpus(
        {"a.en.zst": zstd.compress(EN)[:-3], "a.hi": HI}, refused=r"a\.en\.zst:\d+: broken"
    ),
    "gzip bomb": BadCorpus(
        {"a.en.gz": write_gzip_bomb, "a.hi": HI},
        reported=r"dropped 1 pair: source of more than 10,000 characters \(.*a\.en\.gz:1\)",
    ),
    # paths that are not files
    "folder": BadCorpus({"a.en": Path.mkdir, "a.hi": HI}, refused=r"a\.en: is a folder"),
    "pipe": BadCorpus({"a.en": os.mkfifo, "a.hi": HI}, refused=r"a\.en: is not a regular file"),
    "endless zeros": BadCorpus(
        {"a.hi": HI}, refused=r"/dev/zero: is not a regular", checked_paths=("/dev/zero", "a.hi")
    ),
    "terminal": BadCorpus({"a.hi": HI}, refused=r"/dev/tty: ", checked_paths=("/dev/tty", "a.hi")),
    "a file with read errors": BadCorpus(
        {"a.hi": HI},
        refused=r"/proc/self/mem: cannot be read",
        checked_paths=("/proc/self/mem", "a.hi"),
    ),
    "missing file": BadCorpus(
        {"a.hi": HI}, refused=r"a\.en: there is no", checked_paths=("a.en", "a.hi")
    ),
    "link to itself": BadCorpus(
        {"a.en": make_link_loop, "a.hi": HI}, refused=r"a\.en: cannot be read"
    ),
    "unreadable": BadCorpus(
        {"a.en": write_unreadable, "a.hi": HI},
        refused=r"a\.en: cannot be read .Permission",
        nobody=True,
    ),
    "name with an escape in it": BadCorpus(
        {"a\x1b[31m\n.en": b"", "a.hi": HI}, refused=r"a\\x1b\[31m\\n\.en: is empty"
    ),
    # wrong line counts and lengths
    "empty": with_hindi(b"", refused=r"a\.en: is empty"),
    "one newline": with_hindi(b"\n", refused=r"a\.en:1: the number of lines is 1, but .* 40"),
    "all blank": with_hindi(b"\n" * 40, refused=r"a\.en: no usable pair \(40 × empty source\)"),
    "first line missing": with_hindi(without(1), refused=r"a\.en:39: .* 39, but .* 40; .* line 1$"),
    "line missing in the middle": with_hindi(
        without(20), refused=r"a\.en:39: .* 39, but .* 40; .* line 20$"
    ),
    "last line missing": with_hindi(
        without(40), refused=r"a\.en:39: .* 39, but .* 40; .* line 40$"
    ),
    "one line too many": with_hindi(
        line(20, b"this is line number 20\nof the text"),
        refused=r"a\.hi:40: .* 40, but .* 41; .* line 2[01]$",
    ),
    "no newline at the end": with_hindi(EN.rstrip(b"\n"), reported="kept 40 pairs"),
    "blank on one side": with_hindi(
        line(7, b""), reported=r"dropped 1 pair: empty source \(.*a\.en:7\)"
    ),
    "blank on both sides": BadCorpus(
        {"a.en": line(7, b" "), "a.hi": line(7, b"\t", HI)}, reported="dropped 1 pair: empty source"
    ),
    "ten megabytes without a newline": with_hindi(
        line(7, b"word " * (2 * MEGABYTE)),
        reported=r"dropped 1 pair: source of more than .*a\.en:7",
    ),
    "a million tokens": with_hindi(
        line(7, b"a " * 1_000_000), reported=r"dropped 1 pair: source of more than .*a\.en:7"
    ),
    "one side only": BadCorpus({"a.en": EN}, refused=r"a\.en: has one side"),
    "the same file twice": BadCorpus(
        {"a.en": EN}, refused=r"a\.en: is the source file again", checked_paths=("a.en", "a.en")
    ),
    "a copy of the source": BadCorpus(
        {"a.en": EN, "a.hi": EN}, reported=r"copies .* +40  .*a\.en:1,"
    ),
    # other line ends, and invisible characters
    "CRLF": BadCorpus({"a.en": EN.replace(b"\n", b"\r\n"), "a.hi": HI}, reported="kept 40 pairs"),
    "lone carriage returns": with_hindi(line(7, b"a\rb\rc"), reported="kept 40 pairs"),
    "carriage returns only": with_hindi(
        EN.replace(b"\n", b"\r"), refused=r"a\.en:1: the number of lines is 1, but .* 40"
    ),
    "Unicode line separators": with_hindi(
        line(7, "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i".encode()), reported="kept 40 pairs"
    ),
    "byte order mark inside": with_hindi(
        line(7, "\ufeffagain".encode()), reported=r"other invisible characters +1  .*a\.en:7"
    ),
    "byte order mark at the start": with_hindi(b"\xef\xbb\xbf" + EN, reported="kept 40 pairs"),
    "bidi override": with_hindi(
        line(7, "a \u202etxet\u202c b".encode()),
        reported=r"bidi overrides and isolates +1  .*a\.en:7",
    ),
    "bidi isolate": BadCorpus(
        {"a.en": EN, "a.hi": line(9, "क \u2067ख\u2069".encode(), HI)},
        reported=r"bidi overrides and isolates +1  .*a\.hi:9",
    ),
    "tag characters": with_hindi(
        line(7, "a\U000e0068\U000e0069".encode()), reported=r"tag characters +1  .*a\.en:7"
    ),
    "control characters": with_hindi(
        line(7, b"a\x07\x1b[31mb"), reported=r"other invisible characters +1 .*en:7"
    ),
    # the wrong language
    "sides swapped": BadCorpus({"a.en": HI, "a.hi": EN}, reported="seem to be swapped"),
    "a line in another script": BadCorpus(
        {"a.en": EN, "a.hi": line(9, b"not translated at all", HI)},
        reported=r"targets without Devanagari +1  .*a\.hi:9",
    ),
    "another language": BadCorpus(
        {"a.en": EN, "a.hi": "".join(f"это строка {n}\n" for n in range(40)).encode()},
        reported=r"targets without Devanagari +40  ",
    ),
    # tables
    "TSV of one column": table("a.tsv", line(7, b"alone", TSV), refused=r"a\.tsv:7: .*is 1, not"),
    "ragged TSV": table(
        "a.tsv",
        line(7, b"a\tb\tc", TSV),
        reported=r"1 row with another number of columns .*a\.tsv:7",
    ),
    "TSV against its header": table(
        "a.tsv",
        b"en\thi\n" + line(7, b"a\tb\tc", TSV),
        refused=r"a\.tsv:8: .*is 3, not 2",
        options=COLUMNS,
    ),
    "TSV without the column": table(
        "a.tsv", b"en\tde\n" + TSV, refused=r"a\.tsv:1: no column is called hi", options=COLUMNS
    ),
    "CSV with an open quote": table("a.csv", b'en,hi\n"a,b\n', refused=r"a\.csv:2: broken quoting"),
    "CSV of too many fields": table("a.csv", b"en,hi\na,b,c\n", refused=r"a\.csv:2: .*is 3, not 2"),
    "CSV of semicolons": table(
        "a.csv",
        b"English;Hindi\n" + TSV.replace(b"\t", b";"),
        reported="columns are separated by semicolon, not by comma",
    ),
    "TSV with a header": table(
        "a.tsv", b"English\tHindi\n" + TSV, reported="line 1 is the header: English, Hindi"
    ),
    "TMX with entities": table(
        "a.tmx",
        b'<!DOCTYPE tmx [<!ENTITY a "a"><!ENTITY b "&a;&a;">]><tmx/>',
        refused=r"a\.tmx:1: holds declarations in its DOCTYPE; remove",
    ),
    "TMX cut short": table("a.tmx", b"<tmx><body>\n<tu>", refused=r"a\.tmx:2: not well-formed"),
    "ragged JSONL": table("a.jsonl", PAIR + b'{"source": "a"}\n', refused=r"a\.jsonl:2: no key"),
    "JSONL cut short": table("a.jsonl", PAIR + PAIR[:20], refused=r"a\.jsonl:2: not JSON"),
    "JSONL of numbers": table(
        "a.jsonl", b'{"source": "a", "target": 7}\n', refused=r"a\.jsonl:1: target is 7, not a text"
    ),
    "JSONL with half a surrogate pair": table(
        "a.jsonl",
        PAIR + b'{"source": "\\ud800", "target": "b"}\n',
        refused=r"a\.jsonl:2: source hol",
    ),
    "JSONL with an escaped NUL": table(
        "a.jsonl",
        b'{"source": "a\\u0000", "target": "b"}\n',
        refused=r"a\.jsonl:1: source holds NUL",
    ),
    "JSONL of a hundred thousand brackets": table(
        "a.jsonl", PAIR + b"[" * 100_000 + b"\n", refused=r"a\.jsonl:2: "
    ),
    "JSONL of a number of a million digits": table(
        "a.jsonl", PAIR + b'{"source": ' + b"9" * 1_000_000 + b"}\n", refused=r"a\.jsonl:2: "
    ),
    "an array, not lines": table("a.json", b'[{"source": "a"}]', refused=r"a\.json: .*\.jsonl"),
}


def build(corpus, folder):
    """Write a corpus; returns the paths to check."""
    folder.mkdir()
    for name, content in corpus.files.items():
        if callable(content):
            content(folder / name)
        else:
            (folder / name).write_bytes(content)
    return [
        name if name[0] == "/" else str(folder / name)
        for name in corpus.checked_paths or corpus.files
    ]


def run_check(corpus, folder):
    """The result of `dhyan data check` on a corpus, and the error of training on it."""
    from dhyan.cli import main

    files = build(corpus, folder)
    recipe = recipe_of(files, corpus.options)  # while the package can be read
    if corpus.nobody and not os.getuid():
        os.seteuid(NOBODY)
    output, errors, began = io.StringIO(), io.StringIO(), time.process_time()
    sys.argv, code = ["dhyan", "data", "check", *files, *corpus.options], 0
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            main()
        except SystemExit as exit_status:
            code = int(exit_status.code or 0)
        except BaseException as error:  # a bug
            code, errors = 1, io.StringIO(f"{type(error).__name__}: {error}")
    training_message = training_error(recipe)
    os.seteuid(os.getuid())
    return {
        "code": code,
        "output": output.getvalue(),
        "errors": errors.getvalue(),
        "seconds": time.process_time() - began,
        "trained": training_message,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def recipe_of(files, options):
    """A recipe that trains on these files."""
    from dhyan.config import load_recipe

    files_by_key = dict(zip(("data.source", "data.target"), files, strict=False))
    columns = {"data.columns": options[1].split(",")} if options else {}
    return load_recipe("numbers", {**files_by_key, **columns})


def training_error(recipe):
    """The error of training on a corpus, or nothing."""
    from dhyan.data.corpus import read_corpus
    from dhyan.errors import UserError

    try:
        read_corpus(recipe, stream=True)
    except UserError as error:
        return str(error)
    return ""


def raise_timeout(*_):
    raise TimeoutError("hung")


def main_program(root):
    """Check every bad corpus, and print a line of JSON for each."""
    signal.signal(signal.SIGALRM, raise_timeout)
    run_check(BadCorpus({"a.en": EN, "a.hi": HI}), root / "good")  # warm-up: imports
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for number, (name, corpus) in enumerate(BAD_CORPORA.items()):
        signal.alarm(SECONDS)
        result = run_check(corpus, root / str(number))
        signal.alarm(0)
        result["megabytes"] -= before
        print(json.dumps({"name": name, **result}))


if __name__ == "__main__":
    main_program(Path(sys.argv[1]))
