"""Line order in `dhyan evaluate`: lines that do not match their references are reported."""

import random

import pytest
import typer
from typer.testing import CliRunner

from dhyan.cli.evaluate import evaluate
from dhyan.data.primer import generate_sentences
from dhyan.errors import UserError
from dhyan.run.evaluate import is_out_of_order

COUNT = 60
app = typer.Typer()
app.command()(evaluate)


@pytest.fixture(scope="module")
def lines():
    sentences = generate_sentences("train", max_words=12)
    pairs = [next(sentences) for _ in range(COUNT)]
    return [pair.english for pair in pairs], [pair.hindi for pair in pairs]


def evaluate_files(folder, hypotheses, references, sources):
    """Run `dhyan evaluate` on three files of bytes."""
    for name, content in (("said.hi", hypotheses), ("test.hi", references), ("test.en", sources)):
        (folder / name).write_bytes(content)
    words = [folder / "said.hi", "--source", folder / "test.en", "--target", folder / "test.hi"]
    return CliRunner().invoke(app, [*map(str, words), "--metrics", "bleu", "--bootstrap", "0"])


def join_lines(lines, end="\n"):
    return "".join(f"{line}{end}" for line in lines).encode()


def test_right_translations_are_scored_with_a_signature(lines, tmp_path):
    result = evaluate_files(
        tmp_path, join_lines(lines[1]), join_lines(lines[1]), join_lines(lines[0])
    )
    assert result.exit_code == 0, result.output
    assert "BLEU    100.00" in result.stdout
    assert "tok:intl|smooth:exp|version:" in result.stdout
    assert "translates line N" not in result.stderr


@pytest.mark.parametrize("at", [0, COUNT // 2, COUNT - 1])
@pytest.mark.parametrize("which", ["translations", "references", "sources"])
def test_another_number_of_lines_is_refused_with_both_counts(which, at, lines, tmp_path):
    files = {"translations": lines[1], "references": lines[1], "sources": lines[0]}
    files[which] = [*files[which][:at], *files[which][at + 1 :]]
    result = evaluate_files(tmp_path, *map(join_lines, files.values()))
    assert isinstance(result.exception, UserError)
    assert str(COUNT) in str(result.exception)
    assert str(COUNT - 1) in str(result.exception)
    assert "BLEU" not in result.stdout


@pytest.mark.parametrize("side", [0, 1, 2])
def test_crlf_and_byte_order_marks_change_no_score(side, lines, tmp_path):
    files = [lines[1], lines[1], lines[0]]
    contents = [join_lines(lines) for lines in files]
    contents[side] = b"\xef\xbb\xbf" + join_lines(files[side], "\r\n")
    result = evaluate_files(tmp_path, *contents)
    assert result.exit_code == 0, result.output
    assert "BLEU    100.00" in result.stdout


def test_unicode_line_separators_do_not_shift_lines(lines, tmp_path):
    separated = [f"{line}\u2028{line}\x0b{line}\x85" for line in lines[1]]
    result = evaluate_files(
        tmp_path, join_lines(separated), join_lines(separated), join_lines(lines[0])
    )
    assert "BLEU    100.00" in result.stdout


def test_empty_translations_are_scored_as_empty(lines, tmp_path):
    hypotheses = ["" if at % 2 else line for at, line in enumerate(lines[1])]
    result = evaluate_files(
        tmp_path, join_lines(hypotheses), join_lines(lines[1]), join_lines(lines[0])
    )
    assert f"{COUNT // 2} translations are empty" in result.stdout
    assert "BLEU    100.00" not in result.stdout
    all_empty = evaluate_files(tmp_path, b"\n" * COUNT, join_lines(lines[1]), join_lines(lines[0]))
    assert "said.hi: is empty" in str(all_empty.exception)


def shift(lines):
    return [*lines[1:], lines[0]]


def shuffle(lines):
    return random.Random(1).sample(lines, len(lines))


@pytest.mark.parametrize("change", [shift, shuffle, lambda lines: lines[::-1]])
def test_lines_in_another_order_are_reported(change, lines, tmp_path):
    result = evaluate_files(
        tmp_path, join_lines(change(lines[1])), join_lines(lines[1]), join_lines(lines[0])
    )
    assert result.exit_code == 0
    assert f"{tmp_path}/said.hi: shares no more words with its references" in result.stderr


def test_a_poor_system_in_order_is_not_reported(lines):
    rng = random.Random(2)
    vocabulary = [word for line in lines[1] for word in line.split()]
    poor = [
        " ".join(word if rng.random() < 0.3 else rng.choice(vocabulary) for word in line.split())
        for line in lines[1]
    ]
    assert not is_out_of_order(poor, lines[1])
    assert not is_out_of_order(shift(lines[1][:5]), lines[1][:5]), "too few to tell"


def test_a_system_without_a_matching_word_is_reported(lines):
    assert is_out_of_order(["nothing", *[""] * (COUNT - 1)], lines[1])
