"""Laws of stems: one vector per frame, padding changes nothing, neither do the other sequences."""

import numpy as np
import pytest
import torch

from dhyan.batch import Frames, pad_source
from dhyan.config import load_recipe
from dhyan.decoding.search import greedy_search
from dhyan.models.build import build_model
from dhyan.models.stems import ConvolutionStem, LinearStem, StripStem, WordCharacterStem
from dhyan.special_tokens import NAMES
from tests.tiny_models import RECIPES, SIZES

WIDTH, FRAME = 16, 24
STEMS = {
    "linear": lambda: LinearStem(FRAME, WIDTH),
    "convolution": lambda: ConvolutionStem(FRAME, WIDTH, kernel=5),
    "strips": lambda: StripStem(FRAME, WIDTH, height=8, channels=4),
    "word_characters": lambda: WordCharacterStem(30, 12, width=8, character_width=6, filters=8),
}


@pytest.fixture(params=STEMS)
def stem(request):
    torch.manual_seed(0)
    return STEMS[request.param]().eval()


def sequences(stem, lengths=(3, 7, 1, 5)):
    """Random frames of the sort a stem reads."""
    random = np.random.default_rng(1)
    if isinstance(stem, WordCharacterStem):
        ids = [random.integers(len(NAMES), 12, (length, 6)) for length in lengths]
        return [rows.astype(np.int32) for rows in ids]
    return [random.integers(0, 256, (length, FRAME)).astype(np.uint8) for length in lengths]


def test_there_is_one_vector_for_each_frame(stem):
    frames = Frames.pad(sequences(stem))
    assert stem(frames).shape == (4, 7, stem.embedding_dim)


def test_other_sequences_and_padding_change_nothing(stem):
    rows = sequences(stem)
    together = stem(Frames.pad(rows))
    for row, output in zip(rows, together, strict=True):
        alone = stem(Frames.pad([row]))
        torch.testing.assert_close(output[: len(row)], alone[0], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["linear", "convolution"])
def test_a_frame_of_padding_is_not_read(name):
    stem = STEMS[name]().eval()
    frames = Frames.pad(sequences(stem))
    noise = frames.values.clone()
    noise[~frames.mask] = 7
    real, noisy = stem(frames), stem(Frames(noise, frames.mask))
    torch.testing.assert_close(real[frames.mask], noisy[frames.mask], atol=1e-5, rtol=1e-4)


def test_characters_beyond_the_word_are_no_characters():
    stem = STEMS["word_characters"]().eval()
    short = np.array([[5, 6, 7, 0, 0]], np.int32)
    long = np.array([[5, 6, 7, 0, 0, 0, 0, 0]], np.int32)
    torch.testing.assert_close(stem(Frames.pad([short])), stem(Frames.pad([long])))


def test_a_word_is_dropped_in_training_only():
    stem = WordCharacterStem(30, 12, width=8, character_width=6, filters=8, word_dropout=1.0)
    first, second = (np.array([[word, 6, 7]], np.int32) for word in (5, 9))
    stem.train()
    assert torch.equal(stem(Frames.pad([first])), stem(Frames.pad([second])))
    stem.eval()
    assert not torch.equal(stem(Frames.pad([first])), stem(Frames.pad([second])))


def test_a_convolution_has_a_centre():
    with pytest.raises(ValueError, match="odd"):
        ConvolutionStem(FRAME, WIDTH, kernel=4)


def test_strips_are_of_whole_columns():
    with pytest.raises(ValueError, match="multiple of 8"):
        StripStem(25, WIDTH, height=8)


@pytest.mark.parametrize("family", SIZES)
def test_sources_of_frames_do_not_depend_on_their_batch(family):
    """Each sequence alone is searched, and scored, as it is among others."""
    torch.manual_seed(3)
    settings = {**SIZES[family], "task": "ocr", "frames.height": 8, "frames.columns": 3}
    settings |= {"text.source_codec": "image_columns", "frames.stem": "convolution"}
    model = build_model(load_recipe(RECIPES[family], settings), FRAME, 12).eval()
    rows = sequences(STEMS["convolution"]())
    together = greedy_search(model, pad_source(rows), max_length=6)
    assert any(len(hypothesis.ids) for hypothesis in together)
    for row, hypothesis in zip(rows, together, strict=True):
        [alone] = greedy_search(model, pad_source([row]), max_length=6)
        assert alone.ids == hypothesis.ids
        assert alone.score == pytest.approx(hypothesis.score, abs=1e-4)
