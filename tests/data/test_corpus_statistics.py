import random

import pytest

from dhyan.data.corpus_statistics import LengthStatistics, corpus_statistics
from dhyan.data.filters import split_words
from dhyan.data.pairs import Pair
from dhyan.data.read_pairs import read_pairs
from dhyan.data.read_report import ReadReport
from dhyan.errors import UserError


def statistics_of(rows):
    pairs = [Pair(source, target, line) for line, (source, target) in enumerate(rows, 1)]
    return corpus_statistics(pairs, ReadReport())


def test_words_keep_marks_and_joiners_but_no_punctuation():
    assert split_words("हिन्दी में, क्\u200dष और न\u200cहीं।") == [
        "हिन्दी",
        "में",
        "क्\u200dष",
        "और",
        "न\u200cहीं",
    ]
    assert split_words("Don't stop (now) – 3.5 %!") == ["Don", "t", "stop", "now", "3", "5"]
    assert split_words("cafe\u0301 நன்றி ภาษาไทย") == ["cafe\u0301", "நன்றி", "ภาษาไทย"]
    assert split_words(" … ") == []


def test_lengths_are_counted_in_words():
    statistics = statistics_of([("a " * count, "b") for count in range(1, 102)])
    assert statistics.pairs == 101
    assert statistics.source == LengthStatistics(1, 51.0, 51.0, 96.0, 101)
    assert statistics.target == LengthStatistics(1, 1.0, 1.0, 1.0, 1)


def test_pairs_of_unequal_length_are_counted_with_location():
    rows = [("a", "b " * 10), ("a", "b " * 11), ("a " * 40, "b " * 10), ("a " * 30, "b " * 10)]
    statistics = statistics_of(rows)
    assert statistics.unequal.count == 2
    assert statistics.unequal.locations == ["source:2", "source:3"]


def test_copies_and_duplicates_are_counted_after_normalising():
    rows = [
        ("क़ा", "x"),
        ("b", "c"),
        ("\u0958ा", "x"),
        ("b", "c"),
        ("b", "c"),
        ("same", "same"),
        ("b", "d"),
    ]
    statistics = statistics_of(rows)
    assert statistics.copies.count == 1
    assert statistics.copies.locations == ["source:6"]
    assert statistics.duplicates.count == 3
    assert statistics.duplicates.locations == ["source:3", "source:4", "source:5"]
    assert statistics.ambiguous == 1


def test_repeats_agree_with_a_plain_count():
    rng = random.Random(0)
    rows = [(rng.choice("abcdefgh") * 2, rng.choice("ijk")) for _ in range(60)]
    statistics = statistics_of(rows)
    assert statistics.duplicates.count == len(rows) - len(set(rows))
    sources = [source for source, _ in set(rows)]
    assert statistics.ambiguous == sum(sources.count(source) > 1 for source in set(sources))


def test_the_unknown_rate_is_of_every_tenth_pair_against_the_rest():
    rows = [("known", "known")] * 9 + [("known new known new", "known")]
    statistics = statistics_of(rows * 3)
    assert statistics.unknown_source == 0.5
    assert statistics.unknown_target == 0


def test_a_check_lists_every_error_and_dropped_pair(tmp_path):
    source, target = tmp_path / "a.en", tmp_path / "a.hi"
    source.write_bytes(b"one\n\xff\nthree\n\nfive\nsix\n")
    target.write_bytes(b"1\n2\n3\xff\n4\n5\n")
    report = ReadReport(tolerant=True)
    statistics = corpus_statistics(read_pairs(source, target, report=report), report)
    assert statistics.pairs == statistics.report.kept_count == 2
    assert [error.split(": ")[0] for error in report.errors] == [
        f"{source}:2",
        f"{target}:3",
        f"{target}:5",
    ]
    assert report.lines()[3:] == ["kept 2 pairs", f"dropped 1 pair: empty source ({source}:4)"]


def test_a_missing_file_is_one_error_and_no_pairs(tmp_path):
    report = ReadReport(tolerant=True)
    statistics = corpus_statistics(read_pairs(tmp_path / "a.tsv", report=report), report)
    assert statistics.pairs == 0
    assert statistics.source == LengthStatistics(0, 0.0, 0.0, 0.0, 0)
    assert "no such file" in report.errors[0]
    with pytest.raises(UserError, match="no such file"):
        corpus_statistics(read_pairs(tmp_path / "a.tsv"), ReadReport())
