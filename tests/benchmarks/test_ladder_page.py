"""The page of the ladder is what its result file says."""

import json
from pathlib import Path

from benchmarks.ladder import PREDICTIONS
from benchmarks.ladder_page import newest_page

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("ladder_*.json"))


def test_the_page_is_written_from_the_newest_results():
    assert (ROOT / "docs" / "ladder.md").read_text(encoding="utf-8") == newest_page()
    for picture in ("bleu-by-length.png", "attention.png"):
        assert (ROOT / "docs" / "ladder" / picture).is_file()


def test_every_prediction_is_in_the_result_with_its_outcome():
    figures = json.loads(RESULTS[-1].read_text(encoding="utf-8"))["figures"]
    kept = figures["predictions"]
    assert [one["says"] for one in kept] == [one.says for one in PREDICTIONS]
    assert [one["held"] for one in kept] == [bool(one.holds(figures)) for one in PREDICTIONS]
