"""A codebook travels with its model: in checkpoints, averages and slim folders, also resumed."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from dhyan.audio.codebook import Codebook, read_codebook
from dhyan.audio.codebook_file import CODEBOOK_FILE
from dhyan.audio.spectrogram import SpectrogramSettings
from dhyan.checkpoint import find_checkpoint
from dhyan.config import load_recipe
from dhyan.errors import UserError
from dhyan.model_check import check_folder
from dhyan.run import load, train
from dhyan.run.average_checkpoints import average
from dhyan.run.slim_export import write_slim
from tests.model_check.valid_model import replace_file
from tests.tiny_models import OFTEN, SIZES


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("speech")
    torch.manual_seed(0)
    spectrogram = SpectrogramSettings(rate=8000, window=256, hop=64, mels=12, top=4000)
    Codebook(spectrogram, torch.randn(8, 12)).write(folder / "tones.safetensors")
    lines = [
        f"{' '.join(letters)}\t{' '.join(f'c{ord(letter) - 97:03d}' for letter in letters * 2)}\n"
        for letters in ("abcd", "bcde", "cdef", "hgfe", "abba", "cafe", "deaf", "head", "fade")
    ]
    (folder / "table.tsv").write_text("".join(lines))
    return {
        **SIZES["rnn"],
        **OFTEN,
        "task": "text_to_speech",
        "data.source": str(folder / "table.tsv"),
        "data.header": "no",
        "data.allow_leakage": True,
        "data.codebook": str(folder / "tones.safetensors"),
        "decoder.attention.score": "location_aware",
        "training.steps": 4,
        "training.early_stopping_metric": "loss",
        "training.valid_sentences": 2,
    }


@pytest.fixture(scope="module")
def run(settings, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    list(train(load_recipe("bahdanau2015-small", settings), out, device="cpu", threads=1))
    return out


def entries(folder):
    return read_codebook(folder).entries


def test_every_folder_of_the_model_has_it(run, settings, tmp_path):
    given = Codebook.read(Path(settings["data.codebook"])).entries
    slim = write_slim(run, tmp_path / "slim")
    mean = average([run / "step-2", run / "step-4"], tmp_path / "mean")
    for folder in (
        find_checkpoint(run),
        run / "step-2",
        slim,
        mean,
        write_slim(mean, tmp_path / "s"),
    ):
        check_folder(folder)
        assert torch.equal(entries(folder), given)
    assert not check_folder(slim).recipe.data.codebook  # no path of this machine


def test_a_resumed_run_keeps_it_without_the_file(run, settings, tmp_path):
    resumed = shutil.copytree(run, tmp_path / "run")
    recipe = load_recipe("bahdanau2015-small", {**settings, "training.steps": 6})
    list(train(recipe, resumed, resume=True, device="cpu", threads=1))
    assert torch.equal(entries(resumed / "step-6"), entries(run / "step-4"))


def test_what_the_model_says_is_a_sound(run):
    translator = load(run, device="cpu")
    codebook = read_codebook(find_checkpoint(run))
    symbols = translator.translate("a b c d", max_length=9).text
    assert len(codebook.decode(symbols)) == codebook.settings.samples(len(symbols.split()))


def test_a_file_that_is_no_codebook_is_refused(run, settings, tmp_path):
    slim = write_slim(run, tmp_path / "slim")
    for data in (b"", b"\x80\x04.", save({"entries": torch.ones(2, 3)})):
        replace_file(slim, CODEBOOK_FILE, data)
        with pytest.raises(UserError, match=r"codebook\.safetensors: "):
            check_folder(slim)


@pytest.mark.parametrize("data", [None, b"no tensors"])
def test_a_codebook_that_cannot_be_read_stops_the_run_before_it_starts(settings, tmp_path, data):
    path = tmp_path / "bad.safetensors"
    if data is not None:
        path.write_bytes(data)
    recipe = load_recipe("bahdanau2015-small", {**settings, "data.codebook": str(path)})
    with pytest.raises(UserError, match=r"bad\.safetensors: .* codebook"):
        train(recipe, tmp_path / "run", device="cpu", threads=1)
    assert not (tmp_path / "run").exists()
