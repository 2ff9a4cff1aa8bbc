"""The mixer experiment: arms differ only in what they learn, and test sets are held out."""

import pytest
import torch
from torch import nn

from benchmarks.predictions import PREDICTIONS
from dhyan import attend
from experiments.ambiguous_readings import IDIOMATIC, LITERAL, context_trial, idiom_trial
from experiments.fixed_word_vectors import PADDING, pmi_vectors, random_vectors
from experiments.mixer import Reader, Setting, Sizes, make_setting, mixer, number_words, train_arm
from experiments.mixer_arms import ARMS, learned, parameter_free

WIDTH = 8
SIZES = Sizes(
    width=WIDTH,
    sentences=60,
    train=40,
    test=10,
    batch=8,
    steps=2,
    rates=(0.01,),
    choosing=(0,),
    seeds=(1, 2),
)


@pytest.fixture(scope="module")
def contexts():
    return context_trial(600, 60)


@pytest.fixture(scope="module")
def idioms():
    return idiom_trial(200, 60)


@pytest.fixture(scope="module")
def setting(contexts) -> Setting:
    parts = (contexts.train, contexts.valid, *contexts.tests.values())
    numbers = number_words(reading.words for part in parts for reading in part)
    vectors = random_vectors(len(numbers) + 1, WIDTH, seed=0)
    return make_setting(contexts, vectors, numbers, SIZES)


def sentences(rows, vectors):
    return vectors[rows.words], rows.real, rows.position


def parts(trial):
    return (trial.train, trial.valid, *trial.tests.values())


def test_parameter_counts_of_the_arms():
    projection = WIDTH * WIDTH + WIDTH
    learns = {arm: sum(p.numel() for p in make(WIDTH).parameters()) for arm, make in ARMS.items()}
    assert {arm: count for arm, count in learns.items() if count} == {
        "mean, mapped": 3 * projection,
        "learned V": projection,
        "learned Q, K": 2 * projection,
        "learned Q, K, V": 3 * projection,
    }


def test_parameter_free_is_softmax_of_x_xt_by_root_d_times_x(setting):
    states, real, position = sentences(setting.valid, setting.vectors)
    contexts = attend(states, states, states, mask=real[:, None]).context
    mixed = parameter_free(WIDTH)(states, real, position)
    torch.testing.assert_close(mixed, contexts[torch.arange(len(position)), position])


def test_the_mean_is_parameter_free_without_sharpness(setting):
    states, real, position = sentences(setting.valid, setting.vectors)
    mean = states.sum(1) / real.sum(1, keepdim=True)
    torch.testing.assert_close(ARMS["mean"](WIDTH)(states, real, position), mean)


def test_identity_projections_equal_the_parameter_free_mixer(setting):
    states, real, position = sentences(setting.valid, setting.vectors)
    mixer = learned(WIDTH, "query", "key", "value")
    for part in (mixer.attention.query, mixer.attention.key, mixer.attention.value):
        nn.init.eye_(part.weight)
        nn.init.zeros_(part.bias)
    torch.testing.assert_close(
        mixer(states, real, position), parameter_free(WIDTH)(states, real, position)
    )


@pytest.mark.parametrize("arm", ARMS)
def test_padding_changes_nothing(setting, arm):
    states, real, position = sentences(setting.valid, setting.vectors)
    mixer = ARMS[arm](WIDTH)
    longer = torch.cat([states, torch.ones_like(states)], 1)
    padded = mixer(longer, torch.cat([real, torch.zeros_like(real)], 1), position)
    torch.testing.assert_close(padded, mixer(states, real, position))


def test_classifiers_start_with_the_same_weights(setting):
    def first(arm):
        torch.manual_seed(1)
        return Reader(setting.vectors, arm, 5).read_out.weight

    assert all(first(arm).equal(first("none")) for arm in ARMS)


def test_without_a_mixer_a_word_has_one_reading(setting, contexts):
    reader = train_arm("none", setting, rate=0.01, seed=0)
    labels = reader(setting.valid).argmax(-1).tolist()
    by_word = {
        (reading.words[reading.position], label)
        for reading, label in zip(contexts.valid, labels, strict=True)
    }
    assert len(by_word) == len({word for word, _ in by_word})


def test_word_vectors_are_not_trained(setting):
    before = setting.vectors.clone()
    reader = train_arm("learned Q, K, V", setting, rate=0.1, seed=0)
    assert setting.vectors.equal(before)
    assert not any(parameter is reader.vectors for parameter in reader.parameters())


def test_impossible_labels_are_masked(setting):
    scores = Reader(setting.vectors, "mean", setting.valid.may.shape[1])(setting.valid)
    assert (scores.isfinite() == setting.valid.may).all()
    assert setting.valid.may.gather(1, setting.valid.label[:, None]).all()


def test_no_sentence_is_in_two_parts(contexts, idioms):
    for trial in (contexts, idioms):
        every = [reading.words for part in parts(trial) for reading in part]
        assert len(every) == len({*every})


def test_held_out_pairs_of_frame_and_cue_are_not_in_training(contexts):
    def pairings(readings):
        """The frame before the word and the cue after it, where "and" joins them."""
        for reading in readings:
            frame, after = (
                " ".join(reading.words[1 : reading.position + 1]),
                reading.words[reading.position + 1 :],
            )
            if after[0] == "and":
                yield frame, " ".join(after[1 + (after[1] == "then") :])

    train_pairings = {*pairings(contexts.train)}
    assert train_pairings & {*pairings(contexts.tests["seen"])}
    assert not train_pairings & {*pairings(contexts.tests["held_out"])}


def test_new_nouns_never_occur_with_their_word_in_training(contexts):
    def pair(reading):
        return reading.words[reading.position], reading.words[-1]

    train_pairs = {pair(reading) for reading in (*contexts.train, *contexts.valid)}
    assert train_pairs & {pair(reading) for reading in contexts.tests["held_out"]}
    assert not train_pairs & {pair(reading) for reading in contexts.tests["new_nouns"]}


def test_an_idiom_is_probed_at_a_word_of_both_readings(idioms):
    labels: dict[str, set[int]] = {}
    for reading in idioms.train:
        labels.setdefault(reading.words[reading.position], set()).add(reading.label)
    assert all(uses == {LITERAL, IDIOMATIC} for uses in labels.values())


def test_words_with_the_same_neighbours_have_similar_vectors():
    tea, coffee, drank, hot, book, novel, read, long = range(1, 9)
    sentences = [[drank, hot, tea], [drank, hot, coffee], [read, long, book], [read, long, novel]]
    vectors = pmi_vectors(sentences * 3, 9, 2)
    assert vectors[tea] @ vectors[coffee] > vectors[tea] @ vectors[book]
    assert vectors[novel] @ vectors[book] > vectors[novel] @ vectors[coffee]


def test_random_vectors_have_length_root_d_and_depend_on_the_seed():
    vectors = random_vectors(20, WIDTH, seed=3)
    torch.testing.assert_close(vectors[1:].norm(dim=1), torch.full((19,), WIDTH**0.5))
    assert not vectors[PADDING].any()
    assert vectors.equal(random_vectors(20, WIDTH, seed=3))
    assert not vectors.equal(random_vectors(20, WIDTH, seed=4))


def test_the_experiment_is_complete_and_reproducible():
    figures = mixer(SIZES)
    assert all([*trial["arms"]] == [*ARMS] for trial in figures["found"].values())
    assert [outcome["statement"] for outcome in figures["predictions"]] == [
        prediction.statement for prediction in PREDICTIONS
    ]
    assert mixer(SIZES) == figures
