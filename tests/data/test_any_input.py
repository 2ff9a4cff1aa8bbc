"""Whatever is given to `dhyan translate`, as many lines come out as went in."""

import io
import json
import random
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dhyan.cli.messages import ProgressLines
from dhyan.cli.translate import TranslationJob
from dhyan.cli.translate_io import OutputStyle, in_chunks, read_input
from dhyan.config import DecodingOptions
from dhyan.data.read_text import MAX_LINE_BYTES
from dhyan.decoding.translator import Translation
from dhyan.errors import UserError
from dhyan.run import train
from dhyan.run.evaluate import read_test_set, translate_test_set
from dhyan.run.load import load
from dhyan.text.normalize import normalize
from tests.data.hostile_text import hostile_text
from tests.data.test_spelling import strings
from tests.tiny_models import dhyan, tiny_recipe, write_corpus

LONGEST = 40
KINDS = {
    "unigram": ("rnn", {}),
    "bpe": ("transformer", {"text.tokenizer": "bpe"}),
    "words": ("rnn", {"text.tokenizer": "words", "text.placeholders": ["url", "number", "tag"]}),
    "characters": ("transformer", {"text.tokenizer": "characters"}),
}
WAYS = {
    "plain": (OutputStyle(), {}, False),
    "paragraphs": (OutputStyle(), {}, True),
    "json": (OutputStyle(nbest=2, as_json=True), {"beam": 2, "nbest": 2}, False),
    "json of paragraphs": (OutputStyle(as_json=True, align=True, words=True), {}, True),
    "aligned": (OutputStyle(align=True, words=True), {}, False),
    "drawn": (OutputStyle(), {"sample": True, "beam": None}, False),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A tiny model over each kind of vocabulary, which has learned nothing."""
    folder = tmp_path_factory.mktemp("any")
    files = write_corpus(folder, pairs=60)
    few = {"training.steps": 1, "training.validate_every": 1, "decoding.max_source_length": LONGEST}
    for name, (family, more) in KINDS.items():
        for _ in train(tiny_recipe(family, *files, **{**few, **more}), folder / name, threads=1):
            pass
    return folder


@pytest.fixture(scope="module")
def translators(models):
    return {name: replace(load(models / name), tokens_per_batch=2**14) for name in KINDS}


class Stdin:
    """Bytes that come in by a pipe."""

    def __init__(self, content):
        self.buffer = io.BytesIO(content)


def through(translator, content, way="plain", *, chunk=512):
    """What the command makes of its input: lines on stdout, lines on stderr, and its fault."""
    style, changes, paragraphs = WAYS[way]
    options = DecodingOptions().changed(**{"beam": 1, "max_length": 4, **changes})
    job = TranslationJob(
        name="stdin",
        style=style,
        paragraphs=paragraphs,
        files={},
        prefixes=None,
        glossary=None,
        forbidden=(),
        progress=ProgressLines(quiet=True),
    )
    output, errors, fault = io.StringIO(), io.StringIO(), None
    before, sys.stdin = sys.stdin, Stdin(content)
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            for lines in in_chunks(read_input(None), chunk):
                job.translate(translator, options, lines)
            job.check_end()
    except UserError as found:
        fault = found
    finally:
        sys.stdin = before
    return output.getvalue(), errors.getvalue(), fault


def lines_in(content):
    """The lines as `wc -l` counts them, with the last if it has no newline."""
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def check_law(translator, content, way, **options):
    """As many lines as went in; what was left empty is counted; JSON is numbered and whole."""
    output, errors, fault = through(translator, content, way, **options)
    given_lines = lines_in(content)
    assert output.count("\n") == len(given_lines)
    assert not output or output.endswith("\n")
    said = output.split("\n")[:-1]
    style = WAYS[way][0]
    if style.as_json:
        rows = [json.loads(line) for line in said]
        assert [row["line"] for row in rows] == list(range(1, len(said) + 1))
        said = [row["text"] for row in rows]
        empty = sum("error" in row for row in rows)
        assert empty == (int(re.match(r"[\d,]+", str(fault))[0].replace(",", "")) if fault else 0)
    for raw, text in zip(given_lines, said, strict=True):
        if raw.isascii() and not normalize(raw.decode()):
            assert not text.strip(), "an empty line stays empty"
    for line in errors.split("\n")[:-1]:
        assert line.startswith("dhyan: stdin:") or line.startswith("dhyan: ") and " in all " in line
        assert line.replace("\u200c", "").replace("\u200d", "").isprintable()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_lines_all_come_out(kind, way, translators):
    lines = 6 if WAYS[way][0].align else 20  # they are read a second time, one by one
    check_law(translators[kind], hostile_text(f"{kind} {way}", lines), way)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_thousand_hostile_lines_all_come_out(kind, translators):
    """Over four kinds of vocabulary: 104,000 lines."""
    for number in range(52):
        way = list(WAYS)[number % 3 if number % 5 else number % len(WAYS)]
        check_law(translators[kind], hostile_text(f"long {kind} {number}", 500), way)
    print(f"{kind}: {52 * 500:,} hostile lines in, as many out")


@settings(
    max_examples=15,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    content=st.lists(st.binary(max_size=30) | st.text(max_size=20).map(str.encode), max_size=12),
    end=st.sampled_from([b"", b"\n", b"\r\n"]),
    way=st.sampled_from(list(WAYS)),
    kind=st.sampled_from(list(KINDS)),
)
def test_any_bytes_at_all_come_out_line_by_line(translators, content, end, way, kind):
    check_law(translators[kind], b"\n".join(content) + end, way, chunk=3)


SEPARATORS = "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\rj"


@pytest.mark.parametrize("way", WAYS)
def test_nothing_but_a_newline_ends_a_line(way, translators):
    check_law(translators["unigram"], f"{SEPARATORS}\n\n{SEPARATORS}\r\n".encode(), way)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [LONGEST - 1, LONGEST, LONGEST + 1])
def test_a_source_too_long_by_one_token_is_reported_not_truncated(kind, size, translators):
    translator = translators[kind]
    text = "three " * (size // 6) if kind == "characters" else "seven " * (size + 9)
    ids = translator.encode(text)[:-1]
    while len(ids) != size:
        assert len(ids) > size or kind == "characters", "no text has so many tokens"
        text = text[:-1] if len(ids) > size else text + "e"
        ids = translator.encode(text)[:-1]
    output, errors, fault = through(translator, f"one\n{text}\n\ntwo\n".encode())
    assert output.count("\n") == 4
    assert bool(fault) == (size > LONGEST)
    if fault:
        assert f"stdin:2: {size} tokens, but this model takes at most {LONGEST}; " in errors
        assert output.split("\n")[1] == ""
        assert str(fault) == "1 of 4 lines could not be translated and were left empty"


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_source_gives_an_empty_line_and_one_token_is_translated(kind, translators):
    content = "\u200b\n \u00a0\t\n\u202e\ufeff\nseven\n".encode()
    output, errors, fault = through(translators[kind], content)
    assert output.startswith("\n\n\n")
    assert output.count("\n") == 4
    assert fault is None


def test_an_exam_with_a_source_that_is_too_long_is_refused_by_its_line(translators, tmp_path):
    (tmp_path / "a.en").write_text("one\n\n" + "seven " * 99 + "\ntwo\n", encoding="utf-8")
    (tmp_path / "a.hi").write_text("एक\nक\nख\nदो\n", encoding="utf-8")
    reference_set = read_test_set(tmp_path / "a.en", tmp_path / "a.hi")
    with pytest.raises(
        UserError, match=r"a\.en:3: \d+ tokens, but this model takes at most 40; split"
    ):
        translate_test_set(translators["unigram"], "unigram", reference_set, beam=1)


def test_a_truncated_translation_is_reported(translators):
    _, errors, _ = through(translators["unigram"], b"three hundred two\n")
    assert "stdin:1: cut off at the length limit (--max-length)" in errors


def test_undecodable_bytes_are_named_by_line_and_position(translators):
    content = b"one\ncaf\xe9\n\0\n" + b"\x1f\x8b" + b"\nx\n"
    output, errors, fault = through(translators["unigram"], content)
    assert output.count("\n") == 5
    assert output.split("\n")[1] == output.split("\n")[3] == ""
    assert "dhyan: stdin:2: byte 4 of the line (0xe9) is not UTF-8; " in errors
    assert "stdin:3" not in errors, "NUL is a sign that no one sees"
    assert str(fault).startswith("2 of 5 lines")


LATER = ("a", "word ", "\u0301", "👍", "One two. ", "1,")
LATER = [pytest.param(unit, marks=pytest.mark.soak) for unit in LATER]


@pytest.mark.parametrize("unit", ["क्ष ", "(", *LATER])
def test_a_line_of_a_megabyte_is_one_line(unit, translators):
    line = (unit * (1_000_000 // len(unit.encode()))).encode()
    output, errors, fault = through(translators["unigram"], b"one\n" + line + b"\ntwo\n")
    assert output.count("\n") == 3
    assert "stdin:2: " in errors
    assert "tokens, but this model takes at most" in errors
    assert str(fault).startswith("1 of 3 lines")


def test_a_line_of_many_megabytes_is_not_read(translators):
    line = b"x" * (5 * MAX_LINE_BYTES)
    output, errors, fault = through(translators["words"], b"one\n" + line + b"\ntwo\n", "json")
    assert output.count("\n") == 3
    assert len(output) < 5000
    assert f"stdin:2: a line of {MAX_LINE_BYTES:,} bytes or more; split it" in errors
    assert str(fault).startswith("1 of 3 lines")


class Fails:
    """A translator that cannot do some lines, each in its own way."""

    def __init__(self, translator, errors):
        self.translator, self.errors = translator, errors
        self.language = translator.language

    def translate(self, texts, options, **constraints):
        for text, error in self.errors.items():
            if text in texts:
                raise error
        return self.translator.translate(texts, options, **constraints)


def test_a_line_that_fails_takes_no_other_with_it(translators):
    errors = {
        "six": UserError("the model gives no word a finite score"),
        "ten": torch.OutOfMemoryError("CUDA out of memory"),
        "two": MemoryError(),
    }
    names = ["one", "six", "two", "seven", "", "ten", "nine"]
    failing = Fails(translators["words"], errors)
    output, said, fault = through(failing, "".join(f"{name}\n" for name in names).encode())
    good = through(translators["words"], b"one\n\n\nseven\n\n\nnine\n")[0]
    assert output == good
    assert "stdin:2: the model gives no word a finite score" in said
    assert "stdin:6: out of memory; " in said
    assert str(fault).startswith("3 of 7 lines")


class Copies:
    """A translator that says what it hears, by way of its vocabulary."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def translate(self, texts, options, **constraints):
        ids = self.tokenizer.encode_batch(texts)
        return [Translation(self.tokenizer.decode(own), 0.0, True, tuple(own)) for own in ids]


@pytest.mark.parametrize("way", ["plain", "json"])
def test_a_thousand_lines_with_joiners_come_out_as_they_went_in(way, translators):
    lines = strings(1000)
    content = "".join(f"{line}\n" for line in lines)
    output, errors, fault = through(Copies(translators["unigram"].source), content.encode(), way)
    said = output.split("\n")[:-1]
    if way == "json":
        said = [json.loads(line)["text"] for line in said]
    assert said == lines
    assert not errors
    assert fault is None


def test_errors_of_the_program_are_not_hidden(translators):
    with pytest.raises(RuntimeError, match="a fault of our own"):
        through(Fails(translators["words"], {"six": RuntimeError("a fault of our own")}), b"six\n")


@pytest.mark.soak
def test_the_command_keeps_the_line_count_and_its_exit_code_tells(models, tmp_path):
    content = hostile_text("command", 80)
    (tmp_path / "in").write_bytes(content)
    done = dhyan("translate", models / "words", tmp_path / "in", "--threads", 1, "--max-length", 4)
    assert done.stdout.count(b"\n") == len(lines_in(content))
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"could not be translated and were left empty" in done.stderr.splitlines()[-1]


def test_translations_do_not_depend_on_their_batch(translators):
    chance, content = random.Random(4), hostile_text("beside", 30)
    lines = lines_in(content)
    whole = through(translators["bpe"], content)[0].split("\n")
    for at in chance.sample(range(1, len(lines)), 5):
        assert through(translators["bpe"], lines[at] + b"\n")[0] == f"{whole[at]}\n"
