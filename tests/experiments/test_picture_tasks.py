"""Data of the picture tasks: fonts held out, edit distance, folders that a recipe reads."""

import itertools
from pathlib import Path

import pytest

from dhyan.data.read_pairs import read_pairs
from dhyan.data.rendered_text import default_font
from dhyan.data.scene_cells import attribute_accuracy
from dhyan.errors import UserError
from experiments.tasks import ocr_baseline
from experiments.tasks.__main__ import main
from experiments.tasks.fonts import HELD_OUT, TRAINING, VALIDATION, find_fonts
from experiments.tasks.ocr_baseline import error_rate, measure_tesseract
from experiments.tasks.picture_data import KINDS, texts_of_kind, write_lines


def test_no_family_of_fonts_is_in_two_lists():
    families = [
        {Path(name).stem.partition("-")[0] for name in set(names)}
        for names in (TRAINING, VALIDATION, HELD_OUT)
    ]
    assert len(set().union(*families)) == sum(map(len, families))


def test_a_missing_font_is_named(tmp_path):
    with pytest.raises(UserError, match="Gargi/Gargi.ttf; install"):
        find_fonts(("Gargi/Gargi.ttf",), tmp_path)


def test_error_rates_are_per_character():
    rates = error_rate(["आम\n", " एक  दो", "x"], ["आम", "एक दो", ""])
    assert (rates["lines"], rates["edits"], rates["characters"]) == (3, 1, 7)
    assert rates["cer"] == round(100 / 7, 3)


def test_a_baseline_counts_every_kind(tmp_path, monkeypatch):
    texts = {kind: list(itertools.islice(texts_of_kind(kind), 3)) for kind in KINDS}
    for kind in KINDS:
        write_lines(tmp_path / f"test-{kind}", texts[kind], [default_font()], seed=1)
    monkeypatch.setattr(ocr_baseline, "tesseract_version", lambda: "0")
    monkeypatch.setattr(ocr_baseline, "recognise", lambda picture: "\n")
    rates = measure_tesseract(tmp_path)["rates"]
    assert set(rates) == {*KINDS, "all"}
    assert rates["all"]["cer"] == rates["words"]["cer"] == 100
    assert rates["all"]["lines"] == 9


def test_scenes_are_written_with_their_cells(tmp_path, capsys):
    main(["scene-data", str(tmp_path), "--count", "4", "--test-count", "3", "--language", "hi"])
    sizes = {name: len(list(read_pairs(tmp_path / name))) for name in ("train", "test", "held-out")}
    assert sizes == {"train": 4, "test": 3, "held-out": 3}
    for pair in read_pairs(tmp_path / "held-out-cells.tsv"):
        assert attribute_accuracy(pair.target.split(), pair.source) == 1.0
