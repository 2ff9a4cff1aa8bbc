"""`dhyan demo` runs from end to end."""

import pytest

from tests.docs.test_guides import in_process


@pytest.mark.slow
def test_the_demo_trains_scores_draws_and_names_the_next_commands(tmp_path):
    words = ("demo", "--steps", "2", "--sentences", "6", "--threads", "1", "--out", "here")
    code, output = in_process(words, tmp_path)
    assert code == 0, output
    assert (tmp_path / "here" / "attention.png").stat().st_size > 1000
    assert output.count("BLEU ") >= 3
    assert "right meaning" in output
    for command in (
        "dhyan show here/run",
        "dhyan train bahdanau2015-small",
        "dhyan compare --ladder",
    ):
        assert command in output
