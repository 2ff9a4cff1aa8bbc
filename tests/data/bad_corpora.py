"""Corpora as they should not be, each made by code; run as a program, it tries them all.

Each has its files, the arguments of `dhyan data check`, and what must be said of it. `refused` is
a pattern of the one line by which it is refused; `told` is one of a line beside a good end.
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
class Corpus:
    """Files by name (bytes, or a function that makes the path), and what is said of them."""

    files: dict
    refused: str = ""
    told: str = ""
    more: tuple[str, ...] = ()
    nobody: bool = False  # to be read by someone without rights
    named: tuple[str, ...] = field(default=())  # what to check, if not the files


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


def beside(english, **says):
    return Corpus({"a.en": english, "a.hi": HI}, **says)


def table(name, content, **says):
    return Corpus({name: content}, **says)


def linked(path):
    path.symlink_to(path)


def swollen(path):
    part = gzip.compress(b"x" * 11 * MEGABYTE, 1)
    path.write_bytes(20 * part + gzip.compress(b"\n" + without(1)))


def closed(path):
    path.write_bytes(EN)
    path.chmod(0)


PAIR = b'{"source": "a", "target": "b"}\n'
BOTH = ("--columns", "en,hi")
NOT_UTF8 = r"a\.en:7: byte \d+ .* is not UTF-8; convert"

ZOO = {
    # bytes that are no text
    "latin-1": beside(line(7, b"caf\xe9 au lait"), refused=r"a\.en:7: byte 4 .*0xe9"),
    "lone continuation byte": beside(line(7, b"\x80"), refused=NOT_UTF8),
    "character cut short": beside(line(7, b"\xe0\xa4"), refused=NOT_UTF8),
    "overlong form": beside(line(7, b"\xc0\xaf"), refused=NOT_UTF8),
    "surrogates in UTF-8": beside(line(7, b"\xed\xa0\x80"), refused=NOT_UTF8),
    "beyond Unicode": beside(line(7, b"\xf4\x90\x80\x80"), refused=NOT_UTF8),
    "UTF-16 with a mark": beside(EN.decode().encode("utf-16"), refused=r"a\.en:1: .*UTF-16"),
    "UTF-16, big end first": beside(
        b"\xfe\xff" + EN.decode().encode("utf-16-be"), refused=r"a\.en:1: .*UTF-16"
    ),
    "UTF-16 without a mark": beside(EN.decode().encode("utf-16-le"), refused=r"a\.en:1: .*UTF-16"),
    "NUL": beside(line(7, b"a\0b"), refused=r"a\.en:7: byte 2 .* NUL"),
    "gzip without its name": beside(gzip.compress(EN), refused=r"a\.en:1: .*gzip data; end its"),
    "xz without its name": beside(lzma.compress(EN), refused=r"a\.en:1: .*xz data; end its"),
    "zstd without its name": beside(zstd.compress(EN), refused=r"a\.en:1: .*zstd data; end its"),
    "zip": beside(b"PK\x03\x04\x14\0\0\0\x08\0", refused=r"a\.en:1: .*zip archive; unpack"),
    "random bytes": beside(bytes(range(256)) * 40, refused=r"a\.en:\d+: "),
    # packed and damaged
    "cut gzip": Corpus(
        {"a.en.gz": gzip.compress(EN)[:-9], "a.hi": HI}, refused=r"a\.en\.gz:\d+: broken \.gz"
    ),
    "gzip with a wrong sum": Corpus(
        {"a.en.gz": gzip.compress(EN)[:-8] + b"12345678", "a.hi": HI}, refused=r"a\.en\.gz:\d+: "
    ),
    "text called .gz": Corpus({"a.en.gz": EN, "a.hi": HI}, refused=r"a\.en\.gz:1: broken"),
    "cut xz": Corpus({"a.en.xz": lzma.compress(EN)[:-9], "a.hi": HI}, refused=r"a\.en\.xz:\d+: "),
    "cut zstd": Corpus(
        {"a.en.zst": zstd.compress(EN)[:-3], "a.hi": HI}, refused=r"a\.en\.zst:\d+: broken"
    ),
    "gzip of a thousand times its size": Corpus(
        {"a.en.gz": swollen, "a.hi": HI},
        told=r"dropped 1 pair: source of more than 10,000 characters \(.*a\.en\.gz:1\)",
    ),
    # paths that are no files
    "folder": Corpus({"a.en": Path.mkdir, "a.hi": HI}, refused=r"a\.en: is a folder"),
    "pipe": Corpus({"a.en": os.mkfifo, "a.hi": HI}, refused=r"a\.en: is not a regular file"),
    "zeros without end": Corpus(
        {"a.hi": HI}, refused=r"/dev/zero: is not a regular", named=("/dev/zero", "a.hi")
    ),
    "terminal": Corpus({"a.hi": HI}, refused=r"/dev/tty: ", named=("/dev/tty", "a.hi")),
    "a file that gives errors": Corpus(
        {"a.hi": HI}, refused=r"/proc/self/mem: cannot be read", named=("/proc/self/mem", "a.hi")
    ),
    "nothing there": Corpus({"a.hi": HI}, refused=r"a\.en: there is no", named=("a.en", "a.hi")),
    "link to itself": Corpus({"a.en": linked, "a.hi": HI}, refused=r"a\.en: cannot be read"),
    "unreadable": Corpus(
        {"a.en": closed, "a.hi": HI}, refused=r"a\.en: cannot be read .Permission", nobody=True
    ),
    "name with an escape in it": Corpus(
        {"a\x1b[31m\n.en": b"", "a.hi": HI}, refused=r"a\\x1b\[31m\\n\.en: is empty"
    ),
    # too little, too much, the wrong number
    "empty": beside(b"", refused=r"a\.en: is empty"),
    "one newline": beside(b"\n", refused=r"a\.en:1: the number of lines is 1, but .* 40"),
    "all blank": beside(b"\n" * 40, refused=r"a\.en: no usable pair \(40 × empty source\)"),
    "first line missing": beside(without(1), refused=r"a\.en:39: .* 39, but .* 40; .* line 1$"),
    "line missing in the middle": beside(
        without(20), refused=r"a\.en:39: .* 39, but .* 40; .* line 20$"
    ),
    "last line missing": beside(without(40), refused=r"a\.en:39: .* 39, but .* 40; .* line 40$"),
    "one line too many": beside(
        line(20, b"this is line number 20\nof the text"),
        refused=r"a\.hi:40: .* 40, but .* 41; .* line 2[01]$",
    ),
    "no newline at the end": beside(EN.rstrip(b"\n"), told="kept 40 pairs"),
    "blank on one side": beside(line(7, b""), told=r"dropped 1 pair: empty source \(.*a\.en:7\)"),
    "blank on both sides": Corpus(
        {"a.en": line(7, b" "), "a.hi": line(7, b"\t", HI)}, told="dropped 1 pair: empty source"
    ),
    "ten megabytes without a newline": beside(
        line(7, b"word " * (2 * MEGABYTE)), told=r"dropped 1 pair: source of more than .*a\.en:7"
    ),
    "a million tokens": beside(
        line(7, b"a " * 1_000_000), told=r"dropped 1 pair: source of more than .*a\.en:7"
    ),
    "one side only": Corpus({"a.en": EN}, refused=r"a\.en: has one side"),
    "the same file twice": Corpus(
        {"a.en": EN}, refused=r"a\.en: is the source file again", named=("a.en", "a.en")
    ),
    "a copy of the source": Corpus({"a.en": EN, "a.hi": EN}, told=r"copies .* +40  .*a\.en:1,"),
    # signs that are no line ends, and signs that no one sees
    "CRLF": Corpus({"a.en": EN.replace(b"\n", b"\r\n"), "a.hi": HI}, told="kept 40 pairs"),
    "lone carriage returns": beside(line(7, b"a\rb\rc"), told="kept 40 pairs"),
    "the old Macintosh": beside(
        EN.replace(b"\n", b"\r"), refused=r"a\.en:1: the number of lines is 1, but .* 40"
    ),
    "every other line end": beside(
        line(7, "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i".encode()), told="kept 40 pairs"
    ),
    "mark inside": beside(
        line(7, "\ufeffagain".encode()), told=r"other invisible characters +1  .*a\.en:7"
    ),
    "mark at the start": beside(b"\xef\xbb\xbf" + EN, told="kept 40 pairs"),
    "bidi override": beside(
        line(7, "a \u202etxet\u202c b".encode()), told=r"bidi overrides and isolates +1  .*a\.en:7"
    ),
    "bidi isolate": Corpus(
        {"a.en": EN, "a.hi": line(9, "क \u2067ख\u2069".encode(), HI)},
        told=r"bidi overrides and isolates +1  .*a\.hi:9",
    ),
    "hidden in tags": beside(
        line(7, "a\U000e0068\U000e0069".encode()), told=r"tag characters +1  .*a\.en:7"
    ),
    "bells and escapes": beside(
        line(7, b"a\x07\x1b[31mb"), told=r"other invisible characters +1 .*en:7"
    ),
    # the wrong language
    "sides swapped": Corpus({"a.en": HI, "a.hi": EN}, told="seem to be swapped"),
    "a line in another script": Corpus(
        {"a.en": EN, "a.hi": line(9, b"not translated at all", HI)},
        told=r"targets without Devanagari +1  .*a\.hi:9",
    ),
    "another language": Corpus(
        {"a.en": EN, "a.hi": "".join(f"это строка {n}\n" for n in range(40)).encode()},
        told=r"targets without Devanagari +40  ",
    ),
    # tables
    "TSV of one column": table("a.tsv", line(7, b"alone", TSV), refused=r"a\.tsv:7: .*is 1, not"),
    "ragged TSV": table(
        "a.tsv", line(7, b"a\tb\tc", TSV), told=r"1 row with another number of columns .*a\.tsv:7"
    ),
    "TSV against its header": table(
        "a.tsv",
        b"en\thi\n" + line(7, b"a\tb\tc", TSV),
        refused=r"a\.tsv:8: .*is 3, not 2",
        more=BOTH,
    ),
    "TSV without the column": table(
        "a.tsv", b"en\tde\n" + TSV, refused=r"a\.tsv:1: no column is called hi", more=BOTH
    ),
    "CSV with an open quote": table("a.csv", b'en,hi\n"a,b\n', refused=r"a\.csv:2: broken quoting"),
    "CSV of too many fields": table("a.csv", b"en,hi\na,b,c\n", refused=r"a\.csv:2: .*is 3, not 2"),
    "ragged JSONL": table("a.jsonl", PAIR + b'{"source": "a"}\n', refused=r"a\.jsonl:2: no key"),
    "JSONL cut short": table("a.jsonl", PAIR + PAIR[:20], refused=r"a\.jsonl:2: not JSON"),
    "JSONL of numbers": table(
        "a.jsonl", b'{"source": "a", "target": 7}\n', refused=r"a\.jsonl:1: target is 7, not a text"
    ),
    "JSONL with half a character": table(
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
    """Write a corpus, and name what is to be checked."""
    folder.mkdir()
    for name, content in corpus.files.items():
        if callable(content):
            content(folder / name)
        else:
            (folder / name).write_bytes(content)
    return [name if name[0] == "/" else str(folder / name) for name in corpus.named or corpus.files]


def tried(corpus, folder):
    """What `dhyan data check` does with a corpus, and whether training would take it."""
    from dhyan.cli import main

    files = build(corpus, folder)
    recipe = recipe_of(files, corpus.more)  # as long as one may read the package
    if corpus.nobody and not os.getuid():
        os.seteuid(NOBODY)
    output, errors, began = io.StringIO(), io.StringIO(), time.process_time()
    sys.argv, code = ["dhyan", "data", "check", *files, *corpus.more], 0
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            main()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        except BaseException as error:  # what no one should ever see
            code, errors = 1, io.StringIO(f"{type(error).__name__}: {error}")
    taken = trained(recipe)
    os.seteuid(os.getuid())
    return {
        "code": code,
        "output": output.getvalue(),
        "errors": errors.getvalue(),
        "seconds": time.process_time() - began,
        "trained": taken,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def recipe_of(files, more):
    """A recipe that trains on these files."""
    from dhyan.config import load_recipe

    named = dict(zip(("data.source", "data.target"), files, strict=False))
    columns = {"data.columns": more[1].split(",")} if more else {}
    return load_recipe("numbers", {**named, **columns})


def trained(recipe):
    """The fault by which training refuses a corpus, or nothing."""
    from dhyan.data.corpus import read_corpus
    from dhyan.errors import UserError

    try:
        read_corpus(recipe, stream=True)
    except UserError as fault:
        return str(fault)
    return ""


def hung(*_):
    raise TimeoutError("hung")


def keeper(root):
    """Try every corpus of the zoo, and print a line of JSON for each."""
    signal.signal(signal.SIGALRM, hung)
    tried(Corpus({"a.en": EN, "a.hi": HI}), root / "good")  # all that is imported is imported now
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for number, (name, corpus) in enumerate(ZOO.items()):
        signal.alarm(SECONDS)
        found = tried(corpus, root / str(number))
        signal.alarm(0)
        found["megabytes"] -= before
        print(json.dumps({"name": name, **found}))


if __name__ == "__main__":
    keeper(Path(sys.argv[1]))
