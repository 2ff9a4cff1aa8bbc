"""Training sentences: what counts as the same, how often a new one is taken for seen, broken files."""

import random
import zlib

import numpy as np
import pytest

from dhyan.config import load_recipe
from dhyan.data import corpus, training_sentences
from dhyan.data.corpus import read_corpus
from dhyan.data.training_sentences import (
    BITS,
    GAP_BYTES,
    MAGIC,
    MAX_FILE_BYTES,
    MAX_HASHES,
    TrainingSentences,
    fold_sentence,
    merge,
)
from tests.tiny_models import write_corpus

SENTENCES = ["How are you?", "I don't know.", "दरवाज़ा बंद करो।", "Où est-il ?"]
SEEN = TrainingSentences.of(SENTENCES)


@pytest.mark.parametrize(
    "sentence",
    [
        "how are  you", "HOW ARE YOU!", "How are you?!", "I don’t know", " I don't know. ",
        "दरवाज़ा बंद करो", "दरवा\u091c\u093cा बंद करो |", "Ou\u0300 est-il?", "où est-il…",
    ],
)  # fmt: skip
def test_case_spaces_and_final_punctuation_do_not_matter(sentence):
    assert sentence in SEEN


@pytest.mark.parametrize("sentence", ["How are they?", "How, are you?", "", "?", " … "])
def test_another_sentence_is_new(sentence):
    assert sentence not in SEEN


def test_no_sentence_is_seen_by_a_model_without_any():
    assert "How are you?" not in TrainingSentences.of(["?", " "])


def test_a_file_holds_the_same_sentences():
    again = TrainingSentences.from_bytes(SEEN.to_bytes())
    assert np.array_equal(again.hashes, SEEN.hashes)
    assert again.has_words
    assert again.unseen_words("We don't know.") == SEEN.unseen_words("We don't know.") == ["We"]
    none = TrainingSentences.of([])
    assert len(TrainingSentences.from_bytes(none.to_bytes())) == 0


def test_every_trained_sentence_is_seen_and_few_others_are():
    """The measured rate of false positives agrees with the stated one."""
    draw = random.Random(1)
    numbers = draw.sample(range(10**9), 260_000)
    trained = [f"sentence {number}" for number in numbers[:200_000]]
    new = [f"sentence {number}" for number in numbers[200_000:]]
    seen = TrainingSentences.of(trained)
    assert len(seen) >= 0.999 * 2 * len(trained)  # each sentence has a number of its own
    assert all(sentence in seen for sentence in trained[::100])
    assert seen.false_positive_rate == len(seen) / 2**BITS < 0.002
    expected = seen.false_positive_rate * len(new)  # about 90
    assert 0.5 * expected < sum(sentence in seen for sentence in new) < 1.5 * expected


def test_a_file_takes_two_bytes_a_sentence_at_most():
    for count in (60_000, 200_000):
        seen = TrainingSentences.of(f"sentence {number}" for number in range(count))
        assert len(seen.to_bytes()) < 2 * len(seen)


def test_the_largest_file_is_within_its_bound():
    hashes = np.arange(MAX_HASHES, dtype=np.int64) * (2**BITS // MAX_HASHES)
    noise = np.random.default_rng(1).integers(0, 2**BITS // MAX_HASHES, MAX_HASHES)
    data = TrainingSentences(hashes + noise).to_bytes()
    assert len(data) <= MAX_FILE_BYTES
    assert len(TrainingSentences.from_bytes(data)) == MAX_HASHES


def file_of(planes):
    return MAGIC + zlib.compress(planes)


def planes_of(*gaps):
    return np.array(gaps, "<u4").view(np.uint8).reshape(-1, GAP_BYTES).T.tobytes()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is not a file of training sentences"),
        (b"\x80\x04" + SEEN.to_bytes(), "is not a file of training sentences"),
        (MAGIC, "cut off"),
        (MAGIC + b"nothing", "cannot be decompressed"),
        (SEEN.to_bytes()[:-1], "cut off"),
        (SEEN.to_bytes() + b"more", "longer than its data"),
        (file_of(b"abcde"), "ends within a hash"),
        (file_of(planes_of(5, 0)), "not distinct"),
        (file_of(planes_of(2**BITS)), "not distinct numbers of 28 bits"),
        (file_of(planes_of(2**31, 2**31, 2**31)), "not distinct numbers of 28 bits"),
        (file_of(bytes(GAP_BYTES * MAX_HASHES + 4)), "more than 1,500,000 hashes"),
        (file_of(bytes(10**8)), "more than 1,500,000 hashes"),
    ],
)
def test_a_broken_file_is_refused(data, problem):
    with pytest.raises(ValueError, match=problem):
        TrainingSentences.from_bytes(data)


def test_sentences_of_several_models_are_merged_if_all_are_known(monkeypatch):
    other = TrainingSentences.of(["How are you?", "Come in."])
    both = merge([SEEN, other])
    assert len(both) == len(SEEN) + len(["come in", "come", "in"])
    assert "come in" in both
    assert both.unseen_words("Come out.") == ["out"]
    assert merge([SEEN, None]) is None
    monkeypatch.setattr(training_sentences, "MAX_HASHES", len(both) - 1)
    assert merge([SEEN, other]) is None


def test_words_are_seen_in_any_case_and_numbers_are_no_words():
    assert SEEN.unseen_words("HOW do YOU open 42 दरवाज़ा, Ou\u0300?") == ["do", "open"]
    assert SEEN.unseen_words("?! … 42") == []


def test_a_word_is_no_sentence_and_a_sentence_no_word():
    seen = TrainingSentences.of(["Go away", "Stop"])
    assert "away" not in seen
    assert TrainingSentences.of(["Stop now"]).unseen_words("stop") == []
    assert "stop" not in TrainingSentences.of(["Stop now"])


def test_a_file_without_words_does_not_call_any_unseen(monkeypatch):
    monkeypatch.setattr(training_sentences, "MAX_WORDS", 2)
    seen = TrainingSentences.of(SENTENCES)
    again = TrainingSentences.from_bytes(seen.to_bytes())
    assert not again.has_words
    assert again.unseen_words("zorblat") == []
    assert len(again) == len(SENTENCES)
    assert merge([SEEN, again]).unseen_words("zorblat") == []


def test_a_corpus_read_as_characters_keeps_sentences_without_words(tmp_path):
    source, target = write_corpus(tmp_path)
    settings = {"data.source": str(source), "data.target": str(target)}
    codec = {"text.source_codec": "characters", "text.target_codec": "characters"}
    text = read_corpus(load_recipe("numbers", {**settings, **codec}))
    seen = text.training_sentences()
    assert all(pair.source in seen for pair in text.training)
    assert seen.unseen_words("zorblat") == []


def test_folding_is_idempotent():
    for sentence in (*SENTENCES, "İstanbul", "ẞ.", "ǰ", "a . . ."):
        assert fold_sentence(fold_sentence(sentence)) == fold_sentence(sentence)


def test_a_corpus_knows_what_is_trained_on_and_not_what_is_held_out(tmp_path, monkeypatch):
    source, target = write_corpus(tmp_path)
    files = {"data.source": str(source), "data.target": str(target)}
    text = read_corpus(load_recipe("numbers", files))
    seen = text.training_sentences()
    assert all(pair.source in seen for pair in text.training)
    trained = {fold_sentence(pair.source) for pair in text.training}
    held_out = [
        pair.source for pair in text.validation if fold_sentence(pair.source) not in trained
    ]
    assert held_out
    assert not any(sentence in seen for sentence in held_out)
    monkeypatch.setattr(corpus, "MAX_SENTENCES", 10)
    assert text.training_sentences() is None
