"""No score is given of lines that do not belong together."""

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
    twins = generate_sentences("train", max_words=12)
    pairs = [next(twins) for _ in range(COUNT)]
    return [twin.english for twin in pairs], [twin.hindi for twin in pairs]


def scored(folder, said, references, sources):
    """The command over three files of bytes, and what came of it."""
    for name, content in (("said.hi", said), ("test.hi", references), ("test.en", sources)):
        (folder / name).write_bytes(content)
    words = [folder / "said.hi", "--source", folder / "test.en", "--target", folder / "test.hi"]
    return CliRunner().invoke(app, [*map(str, words), "--metrics", "bleu", "--bootstrap", "0"])


def joined(lines, end="\n"):
    return "".join(f"{line}{end}" for line in lines).encode()


def test_right_translations_are_scored_with_a_signature(lines, tmp_path):
    done = scored(tmp_path, joined(lines[1]), joined(lines[1]), joined(lines[0]))
    assert done.exit_code == 0, done.output
    assert "BLEU    100.00" in done.stdout
    assert "tok:intl|smooth:exp|version:" in done.stdout
    assert "translates line N" not in done.stderr


@pytest.mark.parametrize("at", [0, COUNT // 2, COUNT - 1])
@pytest.mark.parametrize("which", ["said", "references", "sources"])
def test_another_number_of_lines_is_refused_with_both_counts(which, at, lines, tmp_path):
    files = {"said": lines[1], "references": lines[1], "sources": lines[0]}
    files[which] = [*files[which][:at], *files[which][at + 1 :]]
    done = scored(tmp_path, *map(joined, files.values()))
    assert isinstance(done.exception, UserError)
    assert str(COUNT) in str(done.exception)
    assert str(COUNT - 1) in str(done.exception)
    assert "BLEU" not in done.stdout


@pytest.mark.parametrize("side", [0, 1, 2])
def test_line_ends_and_marks_of_other_systems_change_no_score(side, lines, tmp_path):
    files = [lines[1], lines[1], lines[0]]
    contents = [joined(own) for own in files]
    contents[side] = b"\xef\xbb\xbf" + joined(files[side], "\r\n")
    done = scored(tmp_path, *contents)
    assert done.exit_code == 0, done.output
    assert "BLEU    100.00" in done.stdout


def test_unicode_line_separators_do_not_shift_lines(lines, tmp_path):
    odd = [f"{line}\u2028{line}\x0b{line}\x85" for line in lines[1]]
    done = scored(tmp_path, joined(odd), joined(odd), joined(lines[0]))
    assert "BLEU    100.00" in done.stdout


def test_empty_translations_are_scored_as_empty(lines, tmp_path):
    said = ["" if at % 2 else line for at, line in enumerate(lines[1])]
    done = scored(tmp_path, joined(said), joined(lines[1]), joined(lines[0]))
    assert f"{COUNT // 2} translations are empty" in done.stdout
    assert "BLEU    100.00" not in done.stdout
    nothing = scored(tmp_path, b"\n" * COUNT, joined(lines[1]), joined(lines[0]))
    assert "said.hi: is empty" in str(nothing.exception)


def shifted(lines):
    return [*lines[1:], lines[0]]


def shuffled(lines):
    return random.Random(1).sample(lines, len(lines))


@pytest.mark.parametrize("change", [shifted, shuffled, lambda own: own[::-1]])
def test_lines_in_another_order_are_reported(change, lines, tmp_path):
    done = scored(tmp_path, joined(change(lines[1])), joined(lines[1]), joined(lines[0]))
    assert done.exit_code == 0
    assert f"{tmp_path}/said.hi: shares no more words with its references" in done.stderr


def test_a_poor_system_in_order_is_not_doubted(lines):
    chance = random.Random(2)
    every = [word for line in lines[1] for word in line.split()]
    poor = [
        " ".join(w if chance.random() < 0.3 else chance.choice(every) for w in line.split())
        for line in lines[1]
    ]
    assert not is_out_of_order(poor, lines[1])
    assert not is_out_of_order(shifted(lines[1][:5]), lines[1][:5]), "too few to tell"


def test_a_system_without_a_right_word_is_reported(lines):
    assert is_out_of_order(["nothing", *[""] * (COUNT - 1)], lines[1])
