"""Suspicious corpora: wrong scripts, invisible characters, misaligned and changing files."""

import os
import random
import unicodedata
from itertools import islice

import pytest

from dhyan.data.corpus import load_corpus
from dhyan.data.filters import INVISIBLE_CHARACTERS, invisible_classes
from dhyan.data.pairs import Pair
from dhyan.data.primer import generate_sentences
from dhyan.data.read_pairs import first_misaligned_line, read_pairs
from dhyan.data.script_check import ScriptCheck
from dhyan.errors import UserError
from dhyan.text.languages import LANGUAGES, script_of
from dhyan.text.normalize import normalize
from tests.tiny_models import tiny_recipe, write_corpus

UNICODE_NAMES = {  # how Unicode names the letters of a script
    "Chinese": "CJK", "Japanese": "HIRAGANA", "Korean": "HANGUL", "Odia": "ORIYA",
    "Burmese": "MYANMAR",
}  # fmt: skip


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_a_script_has_the_letters_of_its_unicode_names(language):
    script = script_of(language)
    if script is None:
        assert language in "az bs kk mn sd sr tk uz".split(), "written in more than one script"
        return
    name = UNICODE_NAMES.get(script.name, script.name.upper())
    letters = [
        chr(code)
        for code in range(0x41, 0xD7A4)
        if unicodedata.name(chr(code), "").split("-")[0].split(" ")[0] == name
        and unicodedata.category(chr(code)) in ("Ll", "Lo")
    ]
    assert len(letters) > 20
    matching = sum(bool(script.letters.fullmatch(letter)) for letter in letters)
    assert matching > 0.5 * len(letters), "except phonetic and historic letters"
    other = "кошка" if script.name == "Latin" else "abc"
    assert script.is_missing(other)
    assert not script.is_missing(letters[0] * 3)


def test_numbers_punctuation_and_single_letters_have_no_script():
    script = script_of("hi")
    assert not any(map(script.is_missing, ("", "1984", "3.14 %", "— ?", "A", "x = 7")))
    assert script.is_missing("hello")
    assert not script.is_missing("hello जी")


def test_swapped_sides_differ_from_a_few_wrong_lines():
    right, wrong = Pair("the house", "घर है", 1), Pair("घर है", "the house", 1)
    for wrongs, crossed in ((0, False), (4, False), (6, True), (10, True)):
        scripts = ScriptCheck.of(("en", "hi"))
        for number in range(10):
            scripts.wrong_sides(wrong if number < wrongs else right)
        assert scripts.swapped == crossed
    same = ScriptCheck.of(("en", "de"))
    assert same.wrong_sides(wrong) == ["source"]
    assert not same.swapped
    assert ScriptCheck.of(("", "")).wrong_sides(wrong) == []


def test_training_warns_about_swapped_sides(log, tmp_path):
    source, target = write_corpus(tmp_path)
    load_corpus(tiny_recipe("rnn", source, target))
    assert not [line for line in log.messages if "letter" in line]
    for path, name in ((source, "b.hi"), (target, "b.en")):
        path.rename(tmp_path / name)
    load_corpus(tiny_recipe("rnn", tmp_path / "b.en", tmp_path / "b.hi"))
    warnings = [line for line in log.messages if "letter" in line]
    assert len(warnings) == 2
    assert "b.en: 400 of the first 400 sources have no Latin letter; are source and" in warnings[0]


def test_every_invisible_character_has_one_class_and_is_removed():
    for code in range(0x110000):
        character = chr(code)
        classes = list(invisible_classes(character))
        assert len(classes) <= 1
        if classes:
            assert normalize(f"a{character}b") == "ab"
    assert list(invisible_classes("a\u200cb\u200dc \u00a0")) == [], "joiners and spaces stay"
    assert set(INVISIBLE_CHARACTERS) == set(invisible_classes("\u202e\U000e0041\ufeff"))


@pytest.fixture(scope="module")
def sentence_pairs():
    return [(pair.english, pair.hindi) for pair in islice(generate_sentences("train"), 400)]


def delete_lines(folder, sentence_pairs, *, side, at, deleted):
    """Write two files, one without some lines; the first misaligned line, and the paths."""
    sides = [[pair[0] for pair in sentence_pairs], [pair[1] for pair in sentence_pairs]]
    del sides[side][at : at + deleted]
    paths = folder / "a.en", folder / "a.hi"
    for path, lines in zip(paths, sides, strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return first_misaligned_line(*paths), paths


@pytest.mark.parametrize("deleted", [1, 3])
@pytest.mark.parametrize("side", [0, 1])
def test_the_first_misaligned_line_is_nearly_exact(side, deleted, sentence_pairs, tmp_path):
    rng = random.Random(side)
    positions = [0, 1, 200, 398, *(rng.randrange(397) for _ in range(21))]
    errors = [
        abs(delete_lines(tmp_path, sentence_pairs, side=side, at=at, deleted=deleted)[0] - (at + 1))
        for at in positions
    ]
    assert sum(error <= 5 for error in errors) >= 0.9 * len(errors), errors


def test_both_line_counts_and_the_misaligned_line_are_named(sentence_pairs, tmp_path):
    line, paths = delete_lines(tmp_path, sentence_pairs, side=1, at=200, deleted=2)
    with pytest.raises(UserError) as caught:
        list(read_pairs(*paths))
    assert str(caught.value) == (
        f"{paths[1]}:398: the number of lines is 398, but {paths[0]} has 400; "
        f"line N must translate line N; they seem to be misaligned from line {line}"
    )


def grow(path):
    with path.open("ab") as file:
        file.write(b"more\n")


def shrink(path):
    os.truncate(path, 100)


def replace(path):
    path.rename(path.with_suffix(".old"))
    path.write_bytes(b"other\n" * 3)


@pytest.mark.parametrize("change", [grow, shrink, replace])
def test_a_file_that_changes_under_the_reader_is_an_error(change, tmp_path):
    paths = tmp_path / "a.en", tmp_path / "a.hi"
    for path in paths:
        path.write_bytes(b"a line of some length\n" * 20_000)
    pairs = read_pairs(*paths)
    next(pairs)
    change(paths[0])
    with pytest.raises(UserError, match=r"a\.(en|hi):\d+: (changed while|the number of lines)"):
        list(pairs)


def test_a_file_that_disappears_while_read_is_an_error(tmp_path):
    paths = tmp_path / "a.en", tmp_path / "a.hi"
    for path in paths:
        path.write_bytes(b"a line of some length\n" * 20_000)
    pairs = read_pairs(*paths)
    next(pairs)
    paths[0].unlink()
    with pytest.raises(UserError, match=r"a\.en: there is no such file"):
        list(pairs)
