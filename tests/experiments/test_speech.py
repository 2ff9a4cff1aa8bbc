"""Speech data and its measure, without a synthesiser."""

import json

import pytest
import torch

from dhyan.audio.codebook import Codebook
from experiments.tasks import speech_data
from experiments.tasks.speech_data import Utterance, numbers, spoken_phonemes
from experiments.tasks.speech_measure import warped_distances


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def test_pauses_are_one_symbol_and_short_ones_go():
    starts = [("t", 264), ("u:", 2000), ("_:", 5000), ("_|", 6000), ("w", 7000), ("_", 9990)]
    assert spoken_phonemes(starts, 10_000, 352) == [
        ("t", 0),
        ("u:", 2000),
        ("_", 5000),
        ("w", 7000),
    ]


def test_every_number_is_said_once():
    assert len(set(numbers(9000, seed=1))) == 9000
    assert numbers(5, seed=1) == numbers(5, seed=1) != numbers(5, seed=2)


def test_a_warp_costs_nothing():
    torch.manual_seed(0)
    frames = torch.randn(9, 4)
    slower = frames.repeat_interleave(2, 0)
    other = torch.randn(5, 4)
    distances = warped_distances(frames, [frames, slower, other])
    assert distances[:2] == pytest.approx([0, 0], abs=1e-4)
    assert distances[2] > 1


def test_the_distance_of_equally_long_constant_sounds_is_theirs():
    loud, quiet = torch.zeros(6, 4), torch.full((6, 4), -torch.log(torch.tensor(10.0)).item())
    assert warped_distances(loud, [quiet])[0] == pytest.approx(20)  # dB per factor of ten


class Stub:
    """Says every word of a number as a tone, four frames long."""

    rate = speech_data.SETTINGS.rate

    def __init__(self, *, speed):
        self.speed = speed

    def say(self, text):
        words = text.split()
        span = 4 * speech_data.SETTINGS.hop
        times = torch.arange(span) / self.rate
        tones = [torch.sin(times * 6.28 * (200 + 90 * len(word))) for word in words]
        onsets = tuple(at * span / self.rate for at in range(len(words)))
        return Utterance(text, 0.3 * torch.cat(tones), tuple(words), onsets)


@pytest.mark.parametrize("text", ["primer", "numbers"])
def test_the_folder_has_tables_times_and_codebook(tmp_path, monkeypatch, capsys, text):
    monkeypatch.setattr(speech_data, "Synthesiser", Stub)
    arguments = ["--train", "30", "--held-out", "5", "--codebook", "16", "--text", text]
    speech_data.main([str(tmp_path), *arguments])
    codebook = Codebook.read(tmp_path / "codebook.safetensors")
    assert len(codebook.entries) == 16
    record = json.loads((tmp_path / "test.json").read_text())
    lines = (tmp_path / "test.tsv").read_text().splitlines()
    assert len(lines) == len(record["sentences"]) == 5
    for line, sentence in zip(lines, record["sentences"], strict=True):
        source, target = line.split("\t")
        assert source.split() == sentence["phonemes"]
        assert len(sentence["onsets"]) == len(sentence["phonemes"])
        assert len(codebook.decode(target, iterations=1)) == 4 * 352 * len(source.split())
    sources = [
        {line.split("\t")[0] for line in (tmp_path / f"{name}.tsv").read_text().splitlines()}
        for name in ("train", "valid", "test")
    ]
    assert [len(part) for part in sources] == [30, 5, 5]
    assert not sources[0] & (sources[1] | sources[2])
    assert "30 sentences" in capsys.readouterr().out
