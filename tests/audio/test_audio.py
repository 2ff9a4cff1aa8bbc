"""What holds for every sound: its lengths, its frequency, and its symbols."""

import math
import wave

import pytest
import torch
from safetensors.torch import save

from dhyan.audio.codebook import Codebook, k_means, read_codebook, waveform
from dhyan.audio.codebook_file import CODEBOOK_FILE
from dhyan.audio.spectrogram import (
    SpectrogramSettings,
    griffin_lim,
    log_mel,
    magnitudes,
    magnitudes_of_log_mel,
    mel_filters,
)
from dhyan.audio.wav import envelope, from_wav_bytes, read_wav, to_wav_bytes
from dhyan.errors import UserError

SMALL = SpectrogramSettings(rate=8000, window=256, hop=64, mels=24, top=4000)


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def sine(frequency, seconds=0.5, settings=SMALL):
    times = torch.arange(int(seconds * settings.rate)) / settings.rate
    return 0.5 * torch.sin(2 * math.pi * frequency * times)


def strongest_frequency(samples, rate):
    spectrum = torch.fft.rfft(samples * torch.hann_window(len(samples))).abs()
    return int(spectrum.argmax()) * rate / len(samples)


@pytest.fixture(scope="module")
def sounds():
    return [sine(220 * 2 ** (step / 6)) for step in range(12)]


@pytest.fixture(scope="module")
def codebook(sounds):
    return Codebook.train(sounds, SMALL, size=32, iterations=5)


@pytest.mark.parametrize("frequency", [110, 440, 1000, 3100])
def test_the_sound_of_a_sines_magnitudes_has_its_frequency(frequency):
    rebuilt = griffin_lim(magnitudes(sine(frequency), SMALL), SMALL)
    assert strongest_frequency(rebuilt, SMALL.rate) == pytest.approx(frequency, abs=4)
    assert rebuilt.abs()[500:-500].max() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("frequency", [220, 700, 2000])
def test_a_sine_keeps_its_frequency_through_the_mel_spectrogram(frequency):
    inverse = magnitudes_of_log_mel(log_mel(sine(frequency), SMALL), SMALL)
    rebuilt = griffin_lim(inverse, SMALL)
    bin_width = SMALL.rate / SMALL.window
    widest = max(2 * bin_width, 0.15 * frequency)  # half a mel band
    assert abs(strongest_frequency(rebuilt, SMALL.rate) - frequency) < widest


def test_more_iterations_come_closer_to_the_magnitudes():
    torch.manual_seed(0)
    wanted = magnitudes(torch.randn(4000) * 0.1, SMALL)

    def distance(iterations, momentum):
        rebuilt = griffin_lim(wanted, SMALL, iterations=iterations, momentum=momentum)
        return float((magnitudes(rebuilt, SMALL) - wanted).norm() / wanted.norm())

    plain = [distance(iterations, 0.0) for iterations in (0, 5, 20, 60)]
    assert plain == sorted(plain, reverse=True)
    assert distance(60, 0.99) < plain[-1]  # what the fast variant is for


def test_every_filter_is_a_triangle_of_weight_one():
    for settings in (SMALL, SpectrogramSettings()):
        filters = mel_filters(settings)
        assert filters.shape == (settings.mels, settings.frequencies)
        torch.testing.assert_close(filters.sum(1), torch.ones(settings.mels))
        peaks = filters.argmax(dim=1)
        assert (peaks.diff() >= 0).all()
        assert (filters[:, 1:].diff(dim=1).sign().diff(dim=1) <= 0).sum() > 0


def test_the_inverse_has_the_mel_spectrogram(sounds):
    mels = log_mel(sounds[5], SMALL)
    again = (magnitudes_of_log_mel(mels, SMALL) @ mel_filters(SMALL).T).clamp_min(1e-3)
    assert (again - mels.exp()).norm() < 0.01 * mels.exp().norm()


@pytest.mark.parametrize("length", [1, 63, 64, 65, 255, 1000, 4096])
def test_lengths_agree(codebook, length):
    symbols = codebook.encode(torch.rand(length) - 0.5).split()
    assert len(symbols) == SMALL.frames(length)
    decoded = codebook.decode(symbols, iterations=2)
    assert len(decoded) == SMALL.samples(len(symbols)) == length // SMALL.hop * SMALL.hop
    assert len(codebook.encode(decoded).split()) == len(symbols)


def test_quantising_twice_is_quantising_once(codebook, sounds):
    for samples in sounds:
        symbols = codebook.encode(samples)
        assert codebook.spell(codebook.nearest(codebook.frames(symbols))) == symbols
    every = " ".join(codebook.symbols)
    assert codebook.spell(codebook.nearest(codebook.frames(every))) == every


def test_symbols_rise_with_loudness(codebook):
    assert (codebook.entries.mean(1).diff() >= 0).all()
    assert codebook.symbols[:2] == ["c000", "c001"]


def test_a_decoded_sound_has_the_frequency_of_the_first(codebook, sounds):
    decoded = codebook.decode(codebook.encode(sounds[6]))
    assert strongest_frequency(decoded, SMALL.rate) == pytest.approx(440, rel=0.12)


def test_silence_is_silent(codebook):
    silent = Codebook(SMALL, torch.cat([torch.full((1, 24), math.log(1e-3)), codebook.entries]))
    assert silent.decode(["c000"] * 9).abs().max() < 1e-3
    assert silent.encode(torch.zeros(640)) == " ".join(["c000"] * 11)
    assert len(silent.decode("")) == 0


def test_means_are_those_of_their_points():
    torch.manual_seed(1)
    centres = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    points = centres.repeat(50, 1) + 0.1 * torch.randn(150, 2)
    means = k_means(points, 3)
    assert torch.cdist(means, centres).min(dim=1).values.max() < 0.1
    assert len(k_means(points[:2].repeat(9, 1), 8)) == 2  # no more entries than different frames


def test_a_codebook_travels_as_safe_data(codebook, tmp_path):
    model = tmp_path / "run" / "step-1"
    model.mkdir(parents=True)
    assert read_codebook(model) is None
    codebook.write(tmp_path / "run" / CODEBOOK_FILE)
    again = read_codebook(model)
    assert again.settings == codebook.settings
    assert torch.equal(again.entries, codebook.entries)


def test_what_is_no_codebook_is_refused(codebook, tmp_path):
    with pytest.raises(UserError, match="there is no codebook"):
        Codebook.read(tmp_path / "none")
    data = codebook.to_bytes()
    for damaged in (
        b"",
        b"\x80\x04pickle",
        data[:-4],
        data + b"0000",
        save({"entries": torch.ones(2, 24)}),
    ):
        with pytest.raises(UserError, match="is no codebook"):
            Codebook.from_bytes(damaged)
    numbers = {"rate": 8000, "window": 256, "hop": 64, "mels": 24, "top": 4000}
    entries = codebook.entries
    for setting, value in [
        ("rate", 0),
        ("window", 2**20),
        ("hop", 250),
        ("mels", 23),
        ("top", 5000),
    ]:
        settings = {name: torch.tensor([n]) for name, n in {**numbers, setting: value}.items()}
        with pytest.raises(UserError):
            Codebook.from_bytes(save({"entries": entries, **settings}))
    for wrong in (entries * torch.nan, entries + 1e30, entries[:0]):
        settings = {name: torch.tensor([n]) for name, n in numbers.items()}
        with pytest.raises(UserError):
            Codebook.from_bytes(save({"entries": wrong, **settings}))


@pytest.mark.parametrize("symbol", ["c999", "x", "c1", "<unk>", "c٣٣٣"])
def test_an_unknown_symbol_is_refused(codebook, symbol):
    with pytest.raises(UserError, match="none of the"):
        codebook.decode(["c000", symbol])


def test_wav_files_come_back(tmp_path):
    samples = sine(300)
    path = tmp_path / "sine.wav"
    path.write_bytes(to_wav_bytes(samples, 8000))
    torch.testing.assert_close(read_wav(path, rate=8000), samples, atol=2e-5, rtol=0)
    assert from_wav_bytes(to_wav_bytes(torch.tensor([3.0, -3.0]), 8000), rate=8000).tolist() == [
        1,
        -1,
    ]
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 8000)
        assert file.getnframes() == len(samples)


def test_channels_are_averaged(tmp_path):
    with wave.open(str(tmp_path / "two.wav"), "wb") as file:
        file.setparams((2, 2, 8000, 0, "NONE", ""))
        file.writeframes(torch.tensor([[100, 300], [-5, 5]], dtype=torch.int16).numpy().tobytes())
    mono = read_wav(tmp_path / "two.wav", rate=8000)
    torch.testing.assert_close(mono, torch.tensor([200.0, 0.0]) / 32767)


def test_other_sounds_are_refused_with_a_remedy():
    data = to_wav_bytes(sine(300), 8000)
    with pytest.raises(UserError, match=r"at 8000 Hz .*sox IN.wav -b 16 -r 16000"):
        from_wav_bytes(data, rate=16000)
    for damaged in (
        b"",
        b"RIFF",
        data[:20],
        b"\0" * 100,
        data.replace(b"\x01\x00", b"\x07\x00", 1),
    ):
        with pytest.raises(UserError, match="is no WAV file"):
            from_wav_bytes(damaged, rate=8000)


def test_an_envelope_encloses_its_sound():
    samples = sine(50)
    outline = envelope(samples, 40)
    assert outline.shape == (40, 2)
    assert outline[:, 0].min() == samples.min()
    assert outline[:, 1].max() == samples.max()
    assert (outline[:, 0] <= outline[:, 1]).all()
    assert envelope(samples[:3], 5).shape == (5, 2)


def test_a_waveform_is_what_its_symbols_sound_like(codebook, sounds):
    symbols = codebook.encode(sounds[0])
    shown = waveform(symbols, codebook, points=50)
    assert shown == waveform(symbols.split(), codebook, points=50)  # every time the same
    played = from_wav_bytes(shown.wav, rate=8000)
    assert len(played) == len(sounds[0]) // 64 * 64
    assert shown.seconds == len(played) / 8000
    assert shown.frame_seconds * (len(symbols.split()) - 1) == pytest.approx(shown.seconds)
    torch.testing.assert_close(torch.tensor(shown.outline), envelope(played, 50), atol=1e-4, rtol=0)
    assert waveform("", codebook).outline == [[0.0, 0.0]] * 400
