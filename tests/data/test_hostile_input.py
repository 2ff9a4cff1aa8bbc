"""Hostile input to `dhyan translate`: the output has as many lines as the input."""

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
from dhyan.data.text_lines import MAX_LINE_BYTES
from dhyan.decoding.source_language_check import LanguageCheck
from dhyan.decoding.translator import Translation, Translator
from dhyan.errors import UserError
from dhyan.run import train
from dhyan.run.evaluate import read_test_set, translate_test_set
from dhyan.run.load import load
from dhyan.text.normalize import normalize
from tests.data.hostile_text import hostile_text
from tests.text.test_joiners import strings
from tests.tiny_models import dhyan, tiny_recipe, write_corpus

MAX_SOURCE = 40
TOKENIZERS = {
    "unigram": ("rnn", {}),
    "bpe": ("transformer", {"text.tokenizer": "bpe"}),
    "words": ("rnn", {"text.tokenizer": "words", "text.placeholders": ["url", "number", "tag"]}),
    "characters": ("transformer", {"text.tokenizer": "characters"}),
}
OUTPUT_MODES = {
    "plain": (OutputStyle(), {}, False),
    "paragraphs": (OutputStyle(), {}, True),
    "json": (OutputStyle(nbest=2, as_json=True), {"beam": 2, "nbest": 2}, False),
    "json of paragraphs": (OutputStyle(as_json=True, align=True, words=True), {}, True),
    "aligned": (OutputStyle(align=True, words=True), {}, False),
    "drawn": (OutputStyle(), {"sample": True, "beam": None}, False),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """An untrained tiny model for each kind of tokenizer."""
    folder = tmp_path_factory.mktemp("any")
    files = write_corpus(folder, pairs=60)
    small = {
        "training.steps": 1,
        "training.validate_every": 1,
        "decoding.max_source_length": MAX_SOURCE,
    }
    for name, (family, overrides) in TOKENIZERS.items():
        for _ in train(
            tiny_recipe(family, *files, **{**small, **overrides}), folder / name, threads=1
        ):
            pass
    return folder


@pytest.fixture(scope="module")
def translators(models):
    return {name: replace(load(models / name), tokens_per_batch=2**14) for name in TOKENIZERS}


class Stdin:
    """Standard input from bytes."""

    def __init__(self, content):
        self.buffer = io.BytesIO(content)


def run_translate(translator, content, mode="plain", *, chunk=512):
    """Run the translation job: its standard output, its standard error, and its UserError."""
    style, changes, paragraphs = OUTPUT_MODES[mode]
    options = DecodingOptions().changed(**{"beam": 1, "max_length": 4, **changes})
    job = TranslationJob(
        name="stdin",
        style=style,
        table=None,
        paragraphs=paragraphs,
        files={},
        prefixes=None,
        glossary=None,
        forbidden=(),
        progress=ProgressLines(quiet=True),
        language_check=None if isinstance(translator, Translator) else translator.language_check(),
    )
    output, errors, failure = io.StringIO(), io.StringIO(), None
    before, sys.stdin = sys.stdin, Stdin(content)
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            for lines in in_chunks(read_input(None), chunk):
                job.translate(translator, options, lines, output)
            job.check_end()
    except UserError as error:
        failure = error
    finally:
        sys.stdin = before
    return output.getvalue(), errors.getvalue(), failure


def lines_in(content):
    """The lines as `wc -l` counts them, with the last if it has no newline."""
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def check_line_count(translator, content, mode, **options):
    """The output has the line count of the input; empty lines are counted; JSON lines are numbered."""
    output, errors, error = run_translate(translator, content, mode, **options)
    input_lines = lines_in(content)
    assert output.count("\n") == len(input_lines)
    assert not output or output.endswith("\n")
    texts = output.split("\n")[:-1]
    style = OUTPUT_MODES[mode][0]
    if style.as_json:
        rows = [json.loads(line) for line in texts]
        assert [row["line"] for row in rows] == list(range(1, len(texts) + 1))
        texts = [row["text"] for row in rows]
        empty = sum("error" in row for row in rows)
        assert empty == (int(re.match(r"[\d,]+", str(error))[0].replace(",", "")) if error else 0)
    for raw, text in zip(input_lines, texts, strict=True):
        if raw.isascii() and not normalize(raw.decode()):
            assert not text.strip(), "an empty line stays empty"
    for line in errors.split("\n")[:-1]:
        assert line.startswith("dhyan: stdin:") or line.startswith("dhyan: ") and " in all " in line
        assert line.replace("\u200c", "").replace("\u200d", "").isprintable()


@pytest.mark.parametrize("mode", OUTPUT_MODES)
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_hostile_input_keeps_the_line_count(tokenizer, mode, translators):
    lines = (
        6 if OUTPUT_MODES[mode][0].align else 20
    )  # alignment needs a second pass, sentence by sentence
    check_line_count(translators[tokenizer], hostile_text(f"{tokenizer} {mode}", lines), mode)


@pytest.mark.soak
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_a_hundred_thousand_hostile_lines_keep_their_count(tokenizer, translators):
    """Over four kinds of tokenizer: 104,000 lines."""
    for number in range(52):
        mode = list(OUTPUT_MODES)[number % 3 if number % 5 else number % len(OUTPUT_MODES)]
        check_line_count(
            translators[tokenizer], hostile_text(f"long {tokenizer} {number}", 500), mode
        )
    print(f"{tokenizer}: {52 * 500:,} hostile lines in, as many out")


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
    mode=st.sampled_from(list(OUTPUT_MODES)),
    tokenizer=st.sampled_from(list(TOKENIZERS)),
)
def test_random_bytes_keep_the_line_count(translators, content, end, mode, tokenizer):
    check_line_count(translators[tokenizer], b"\n".join(content) + end, mode, chunk=3)


SEPARATORS = "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\rj"


@pytest.mark.parametrize("mode", OUTPUT_MODES)
def test_only_a_newline_ends_a_line(mode, translators):
    check_line_count(translators["unigram"], f"{SEPARATORS}\n\n{SEPARATORS}\r\n".encode(), mode)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("size", [MAX_SOURCE - 1, MAX_SOURCE, MAX_SOURCE + 1])
def test_a_source_over_the_limit_is_reported_not_truncated(tokenizer, size, translators):
    translator = translators[tokenizer]
    text = "three " * (size // 6) if tokenizer == "characters" else "seven " * (size + 9)
    ids = translator.encode(text)[:-1]
    while len(ids) != size:
        assert len(ids) > size or tokenizer == "characters", "no text has so many tokens"
        text = text[:-1] if len(ids) > size else text + "e"
        ids = translator.encode(text)[:-1]
    output, errors, error = run_translate(translator, f"one\n{text}\n\ntwo\n".encode())
    assert output.count("\n") == 4
    assert bool(error) == (size > MAX_SOURCE)
    if error:
        assert f"stdin:2: {size} tokens, but this model takes at most {MAX_SOURCE}; " in errors
        assert output.split("\n")[1] == ""
        assert str(error) == "1 of 4 lines could not be translated and were left empty"


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_an_empty_source_gives_an_empty_line(tokenizer, translators):
    content = "\u200b\n \u00a0\t\n\u202e\ufeff\nseven\n".encode()
    output, errors, error = run_translate(translators[tokenizer], content)
    assert output.startswith("\n\n\n")
    assert output.count("\n") == 4
    assert error is None


def test_a_test_set_with_a_source_too_long_is_refused_by_line(translators, tmp_path):
    (tmp_path / "a.en").write_text("one\n\n" + "seven " * 99 + "\ntwo\n", encoding="utf-8")
    (tmp_path / "a.hi").write_text("एक\nक\nख\nदो\n", encoding="utf-8")
    reference_set = read_test_set(tmp_path / "a.en", tmp_path / "a.hi")
    with pytest.raises(
        UserError, match=r"a\.en:3: \d+ tokens, but this model takes at most 40; split"
    ):
        translate_test_set(translators["unigram"], "unigram", reference_set, beam=1)


def test_a_truncated_translation_is_reported(translators):
    _, errors, _ = run_translate(translators["unigram"], b"three hundred two\n")
    assert "stdin:1: cut off at the length limit (--max-length)" in errors


def test_undecodable_bytes_are_named_by_line_and_position(translators):
    content = b"one\ncaf\xe9\n\0\n" + b"\x1f\x8b" + b"\nx\n"
    output, errors, error = run_translate(translators["unigram"], content)
    assert output.count("\n") == 5
    assert output.split("\n")[1] == output.split("\n")[3] == ""
    assert "dhyan: stdin:2: byte 4 of the line (0xe9) is not UTF-8; " in errors
    assert "stdin:3" not in errors, "NUL is an invisible character"
    assert str(error).startswith("2 of 5 lines")


SOAK_UNITS = [
    pytest.param(unit, marks=pytest.mark.soak)
    for unit in ("a", "word ", "\u0301", "👍", "One two. ", "1,")
]


@pytest.mark.parametrize("unit", ["क्ष ", "(", *SOAK_UNITS])
def test_a_line_of_a_megabyte_is_one_line(unit, translators):
    line = (unit * (1_000_000 // len(unit.encode()))).encode()
    output, errors, error = run_translate(translators["unigram"], b"one\n" + line + b"\ntwo\n")
    assert output.count("\n") == 3
    assert "stdin:2: " in errors
    assert "tokens, but this model takes at most" in errors
    assert str(error).startswith("1 of 3 lines")


def test_a_line_of_many_megabytes_is_not_read(translators):
    line = b"x" * (5 * MAX_LINE_BYTES)
    output, errors, error = run_translate(
        translators["words"], b"one\n" + line + b"\ntwo\n", "json"
    )
    assert output.count("\n") == 3
    assert len(output) < 5000
    assert f"stdin:2: a line of {MAX_LINE_BYTES:,} bytes or more; split it" in errors
    assert str(error).startswith("1 of 3 lines")


class FailingTranslator:
    """A translator that raises an error for some lines."""

    def __init__(self, translator, errors):
        self.translator, self.errors = translator, errors
        self.language = translator.language

    def language_check(self):
        return LanguageCheck.of(self.translator)

    def translate_sentences(self, texts, options, **constraints):
        for text, error in self.errors.items():
            if text in texts:
                raise error
        return self.translator.translate_sentences(texts, options, **constraints)


def test_a_failing_line_does_not_affect_others(translators):
    errors = {
        "six": UserError("the model gives no word a finite score"),
        "ten": torch.OutOfMemoryError("CUDA out of memory"),
        "two": MemoryError(),
    }
    names = ["one", "six", "two", "seven", "", "ten", "nine"]
    failing = FailingTranslator(translators["words"], errors)
    output, messages, error = run_translate(
        failing, "".join(f"{name}\n" for name in names).encode()
    )
    good = run_translate(translators["words"], b"one\n\n\nseven\n\n\nnine\n")[0]
    assert output == good
    assert "stdin:2: the model gives no word a finite score" in messages
    assert "stdin:6: out of memory; " in messages
    assert str(error).startswith("3 of 7 lines")


class CopyTranslator:
    """A translator that copies its input through its tokenizer."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def language_check(self):
        """A check that is complete: the words of its input are of no language."""
        return LanguageCheck(self.tokenizer, self.tokenizer, complete=True)

    def translate_sentences(self, texts, options, **constraints):
        ids = self.tokenizer.encode_batch(texts)
        return [
            Translation(self.tokenizer.decode(token_ids), 0.0, True, tuple(token_ids))
            for token_ids in ids
        ]


@pytest.mark.parametrize("mode", ["plain", "json"])
def test_joiners_are_copied_unchanged(mode, translators):
    lines = strings(1000)
    content = "".join(f"{line}\n" for line in lines)
    output, errors, error = run_translate(
        CopyTranslator(translators["unigram"].source), content.encode(), mode
    )
    texts = output.split("\n")[:-1]
    if mode == "json":
        texts = [json.loads(line)["text"] for line in texts]
    assert texts == lines
    assert not errors
    assert error is None


def test_internal_errors_are_not_hidden(translators):
    with pytest.raises(RuntimeError, match="an internal error"):
        run_translate(
            FailingTranslator(translators["words"], {"six": RuntimeError("an internal error")}),
            b"six\n",
        )


@pytest.mark.soak
def test_the_command_keeps_the_line_count_and_fails(models, tmp_path):
    content = hostile_text("command", 80)
    (tmp_path / "in").write_bytes(content)
    process = dhyan(
        "translate", models / "words", tmp_path / "in", "--threads", 1, "--max-length", 4
    )
    assert process.stdout.count(b"\n") == len(lines_in(content))
    assert process.returncode == 2
    assert b"Traceback" not in process.stderr
    assert b"could not be translated and were left empty" in process.stderr.splitlines()[-1]


def test_translations_do_not_depend_on_their_batch(translators):
    rng, content = random.Random(4), hostile_text("beside", 30)
    lines = lines_in(content)
    together = run_translate(translators["bpe"], content)[0].split("\n")
    for at in rng.sample(range(1, len(lines)), 5):
        assert run_translate(translators["bpe"], lines[at] + b"\n")[0] == f"{together[at]}\n"
