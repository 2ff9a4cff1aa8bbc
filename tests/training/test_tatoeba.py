"""On a real corpus a small recipe trains, translates and draws, all by the command line."""

import json
import os
from pathlib import Path

import pytest

from tests.tiny_models import dhyan

DATA = Path(os.environ.get("DHYAN_DATA", Path(__file__).parents[3] / "shared" / "data"))
CORPUS = DATA / "tatoeba-en-hi"


@pytest.mark.soak
@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"needs the corpus {CORPUS}, which is not there")
def test_english_to_hindi_trains_end_to_end(tmp_path):
    def pair(split, prefix=""):
        return (f"--{prefix}source", CORPUS / f"{split}.en.xz",
                f"--{prefix}target", CORPUS / f"{split}.hi.xz")  # fmt: skip

    training = dhyan(
        "train", "bahdanau2015-small", *pair("train"), *pair("valid", "valid-"), "--threads", 1,
        "--set", "training.steps=250", cwd=tmp_path, timeout=300,
    )  # fmt: skip
    assert training.returncode == 0, training.stderr.decode()
    lines = [json.loads(x) for x in (tmp_path / "runs/bahdanau2015-small/metrics.jsonl").open()]
    losses = [line["scores"]["loss"] for line in lines if line["event"] == "validated"]
    assert losses[-1] < losses[0] < 5
    evaluation = dhyan("evaluate", "runs/bahdanau2015-small", *pair("test"), "--json", "--threads", 1,
                   cwd=tmp_path)  # fmt: skip
    scores = json.loads(evaluation.stdout)["scores"]
    assert "tok:intl" in scores["bleu"]["signature"]
    assert scores["chrf"]["value"] > 10
    show = dhyan("show", "runs/bahdanau2015-small", "I am going home.", "-o", "map.png",
                  "--threads", 1, cwd=tmp_path)  # fmt: skip
    assert show.returncode == 0, show.stderr.decode()
    devanagari = [c for c in show.stdout.decode() if "\u0900" <= c <= "\u097f"]
    assert devanagari
