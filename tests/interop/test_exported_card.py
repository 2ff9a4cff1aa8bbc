"""The card of an exported folder: its program runs, and it says what dhyan knows of the model."""

import os
import re
import subprocess
import sys

import pytest

import dhyan
from dhyan.interop.export_ctranslate2 import export_ctranslate2
from dhyan.interop.export_huggingface import export_huggingface
from dhyan.interop.import_model import import_model
from tests.interop.spm_models import SHAPES, marian_folder
from tests.interop.test_ctranslate2 import REAL
from tests.tiny_models import tiny_recipe, write_corpus

EXPORTS = {"huggingface": export_huggingface, "ctranslate2": export_ctranslate2}


def program_of(folder):
    [program] = re.findall(
        r"^```python\n(.*?)^```", (folder / "README.md").read_text(), re.S | re.M
    )
    return program


def run_program(folder):
    """What the program of the card prints, run in its folder as a user would."""
    result = subprocess.run(
        [sys.executable, "-c", program_of(folder)], cwd=folder, capture_output=True, text=True,
        check=True, env={**os.environ, "PYTHONIOENCODING": "utf-8", "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    return result.stdout.splitlines()


@pytest.mark.parametrize("format", EXPORTS)
def test_the_program_of_the_card_prints_our_translation(format, tmp_path):
    EXPORTS[format]("en-hi", tmp_path / "out")
    expected = dhyan.load("en-hi", device="cpu").translate("The house is small.").text
    assert run_program(tmp_path / "out") == [expected]


def test_an_imported_model_is_run_with_its_sentencepiece_models(tmp_path):
    marian_folder(tmp_path / "theirs", **SHAPES["square"])
    import_model(tmp_path / "theirs", tmp_path / "ours", languages=("en", "hi"))
    export_ctranslate2(tmp_path / "ours", tmp_path / "out")
    assert "SentencePieceProcessor" in program_of(tmp_path / "out")
    assert len(run_program(tmp_path / "out")) == 1


def test_a_run_has_the_scores_of_its_validation_and_names_no_path(tmp_path):
    files = write_corpus(tmp_path)
    for _ in dhyan.run.train(
        tiny_recipe("transformer", *files), tmp_path / "run", device="cpu", threads=1
    ):
        pass
    export_ctranslate2(tmp_path / "run", tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert re.search(r"On the validation set, step \d+: .*loss \d", card)
    assert f"Trained on `{files[0].name}`" in card
    assert str(tmp_path) not in card
    assert "whoever publishes them states it" in card


@pytest.mark.skipif(not REAL.is_dir(), reason=f"needs {REAL}, which is not there")
def test_a_model_of_characters_names_our_tokenizers(tmp_path):
    import_model(REAL / "float32", tmp_path / "ours", languages=("ar", "en"))
    export_ctranslate2(tmp_path / "ours", tmp_path / "out")
    assert "Tokenizer.load" in program_of(tmp_path / "out")
    assert len(run_program(tmp_path / "out")) == 1
