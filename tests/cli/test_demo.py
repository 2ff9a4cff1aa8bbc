"""The demonstration goes through from end to end, however little it has learned."""

import pytest

from tests.docs.test_guides import in_process


@pytest.mark.slow
def test_the_demo_trains_scores_draws_and_says_what_is_next(tmp_path):
    words = ("demo", "--steps", "2", "--sentences", "6", "--threads", "1", "--out", "here")
    code, said = in_process(words, tmp_path)
    assert code == 0, said
    assert (tmp_path / "here" / "attention.png").stat().st_size > 1000
    assert said.count("BLEU ") >= 3
    assert "understood" in said
    for command in (
        "dhyan show here/run",
        "dhyan train bahdanau2015-small",
        "dhyan compare --ladder",
    ):
        assert command in said
