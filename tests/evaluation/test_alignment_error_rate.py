"""The alignment error rate is zero for what people agree on, and one for what nobody allows."""

from pathlib import Path

import pytest

from dhyan.errors import UserError
from dhyan.evaluation.alignment_error_rate import (
    Gold,
    alignment_score,
    check_gold,
    parse_gold,
    read_gold,
)

HERE = Path("gold.txt")


def gold(text):
    return parse_gold(text, HERE, 1)


def test_a_question_mark_makes_a_link_possible_and_a_sure_one_is_possible_too():
    assert gold("0-0 1?2") == Gold(frozenset({(0, 0)}), frozenset({(0, 0), (1, 2)}), 1)


def test_all_sure_links_and_any_possible_ones_are_without_error():
    references = [gold("0-0 1-1 1?2")]
    for links in ([(0, 0), (1, 1)], [(0, 0), (1, 1), (1, 2)]):
        score = alignment_score([links], references)
        assert (score.error_rate, score.precision, score.recall) == (0, 1, 1)


def test_links_that_are_not_possible_are_errors():
    score = alignment_score([[(3, 3)]], [gold("0-0 1?2")])
    assert (score.error_rate, score.precision, score.recall) == (1, 0, 0)


def test_the_error_rate_is_that_of_och_and_ney():
    score = alignment_score(
        [[(0, 0), (1, 2), (5, 5)], [(0, 1)]], [gold("0-0 1-1 1?2"), gold("0-1")]
    )
    assert score.error_rate == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert score.precision == pytest.approx(3 / 4)
    assert score.recall == pytest.approx(2 / 3)


def test_with_sure_links_only_it_is_one_less_the_f_measure():
    score = alignment_score([[(0, 0), (1, 2)]], [gold("0-0 1-1 2-2")])
    balanced = 2 * score.precision * score.recall / (score.precision + score.recall)
    assert score.error_rate == pytest.approx(1 - balanced)


def test_a_sentence_without_gold_links_does_not_count():
    score = alignment_score([[(0, 0)], [(7, 7)]], [gold("0-0"), gold("")])
    assert (score.error_rate, score.sentences) == (0, 1)


def test_an_empty_alignment_has_error_rate_one():
    score = alignment_score([[]], [gold("0-0")])
    assert (score.error_rate, score.precision, score.recall) == (1, 0, 0)


def test_a_repeated_link_counts_once():
    assert alignment_score([[(0, 0), (0, 0)]], [gold("0-0")]).error_rate == 0


@pytest.mark.parametrize("word", ["0", "0-", "a-b", "0_1", "0-1-2", "-1-0", "1p2", "0-०"])
def test_an_invalid_link_is_an_error_with_its_line(word):
    with pytest.raises(UserError, match="gold.txt:1: .* is no link; write 0-0"):
        gold(f"0-0 {word}")


def test_links_beyond_the_sentence_are_errors():
    check_gold(gold("1-2"), "a b", "c d e", HERE)
    with pytest.raises(UserError, match="gold.txt:1: links source word 2, but the sentence has 2"):
        check_gold(gold("2-0"), "a b", "c d e", HERE)
    with pytest.raises(UserError, match="links target word 3"):
        check_gold(gold("0?3"), "a b", "c d e", HERE)


def test_a_file_is_read_line_by_line(tmp_path):
    file = tmp_path / "gold.txt"
    file.write_text("0-0\n\n1?1 0-1\n")
    counts = [(len(links.sure), len(links.possible), links.line) for links in read_gold(file)]
    assert counts == [(1, 1, 1), (0, 0, 2), (1, 2, 3)]
    file.write_text("0?0\n")
    with pytest.raises(UserError, match="no sure link on any line"):
        read_gold(file)


def test_counts_must_agree():
    with pytest.raises(UserError, match="2 alignments for 1 gold ones"):
        alignment_score([[], []], [gold("0-0")])
    with pytest.raises(UserError, match="no sure links"):
        alignment_score([[]], [gold("0?0")])
