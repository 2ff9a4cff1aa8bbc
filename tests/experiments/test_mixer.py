"""Mixers differ in what they learn and in nothing else; tests ask what training never showed."""

import pytest
import torch
from torch import nn

from benchmarks.predictions import PREDICTIONS
from dhyan import attend
from experiments.ambiguous_readings import IDIOMATIC, LITERAL, context_trial, idiom_trial
from experiments.fixed_word_vectors import PADDING, pmi_vectors, random_vectors
from experiments.mixer import Reader, Setting, Sizes, mixer, number_words, setting, train_arm
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
def given(contexts) -> Setting:
    parts = (contexts.train, contexts.valid, *contexts.tests.values())
    numbers = number_words(one.words for part in parts for one in part)
    vectors = random_vectors(len(numbers) + 1, WIDTH, seed=0)
    return setting(contexts, vectors, numbers, SIZES)


def sentences(rows, vectors):
    return vectors[rows.words], rows.real, rows.place


def parts(trial):
    return (trial.train, trial.valid, *trial.tests.values())


def test_what_each_arm_learns_is_counted():
    one = WIDTH * WIDTH + WIDTH
    learns = {arm: sum(p.numel() for p in make(WIDTH).parameters()) for arm, make in ARMS.items()}
    assert {arm: count for arm, count in learns.items() if count} == {
        "mean, mapped": 3 * one,
        "learned V": one,
        "learned Q, K": 2 * one,
        "learned Q, K, V": 3 * one,
    }


def test_parameter_free_is_softmax_of_x_xt_by_root_d_times_x(given):
    states, real, place = sentences(given.valid, given.vectors)
    whole = attend(states, states, states, mask=real[:, None]).context
    mixed = parameter_free(WIDTH)(states, real, place)
    torch.testing.assert_close(mixed, whole[torch.arange(len(place)), place])


def test_the_mean_is_parameter_free_without_sharpness(given):
    states, real, place = sentences(given.valid, given.vectors)
    mean = states.sum(1) / real.sum(1, keepdim=True)
    torch.testing.assert_close(ARMS["mean"](WIDTH)(states, real, place), mean)


def test_learned_maps_that_change_nothing_are_parameter_free(given):
    states, real, place = sentences(given.valid, given.vectors)
    mixer = learned(WIDTH, "query", "key", "value")
    for part in (mixer.attention.query, mixer.attention.key, mixer.attention.value):
        nn.init.eye_(part.weight)
        nn.init.zeros_(part.bias)
    torch.testing.assert_close(
        mixer(states, real, place), parameter_free(WIDTH)(states, real, place)
    )


@pytest.mark.parametrize("arm", ARMS)
def test_padding_changes_nothing(given, arm):
    states, real, place = sentences(given.valid, given.vectors)
    mixer = ARMS[arm](WIDTH)
    longer = torch.cat([states, torch.ones_like(states)], 1)
    padded = mixer(longer, torch.cat([real, torch.zeros_like(real)], 1), place)
    torch.testing.assert_close(padded, mixer(states, real, place))


def test_read_outs_begin_alike_whatever_the_arm(given):
    def first(arm):
        torch.manual_seed(1)
        return Reader(given.vectors, arm, 5).read_out.weight

    assert all(first(arm).equal(first("none")) for arm in ARMS)


def test_without_a_mixer_a_word_is_read_alike_everywhere(given, contexts):
    reader = train_arm("none", given, rate=0.01, seed=0)
    said = reader(given.valid).argmax(-1).tolist()
    by_word = {
        (one.words[one.place], label) for one, label in zip(contexts.valid, said, strict=True)
    }
    assert len(by_word) == len({word for word, _ in by_word})


def test_vectors_stay_as_they_are(given):
    before = given.vectors.clone()
    reader = train_arm("learned Q, K, V", given, rate=0.1, seed=0)
    assert given.vectors.equal(before)
    assert not any(parameter is reader.vectors for parameter in reader.parameters())


def test_a_word_is_only_read_as_what_it_can_mean(given):
    scores = Reader(given.vectors, "mean", given.valid.may.shape[1])(given.valid)
    assert (scores.isfinite() == given.valid.may).all()
    assert given.valid.may.gather(1, given.valid.label[:, None]).all()


def test_no_sentence_is_in_two_parts(contexts, idioms):
    for trial in (contexts, idioms):
        every = [one.words for part in parts(trial) for one in part]
        assert len(every) == len({*every})


def test_held_out_contexts_pair_frame_and_cue_as_training_never_does(contexts):
    def pairings(readings):
        """The frame before the word and the cue after it, where "and" joins them."""
        for one in readings:
            frame, after = " ".join(one.words[1 : one.place + 1]), one.words[one.place + 1 :]
            if after[0] == "and":
                yield frame, " ".join(after[1 + (after[1] == "then") :])

    met = {*pairings(contexts.train)}
    assert met & {*pairings(contexts.tests["seen"])}
    assert not met & {*pairings(contexts.tests["held_out"])}


def test_new_nouns_were_never_beside_their_word(contexts):
    def pair(one):
        return one.words[one.place], one.words[-1]

    met = {pair(one) for one in (*contexts.train, *contexts.valid)}
    assert met & {pair(one) for one in contexts.tests["held_out"]}
    assert not met & {pair(one) for one in contexts.tests["new_nouns"]}


def test_an_idiom_is_probed_at_a_word_of_both_readings(idioms):
    labels: dict[str, set[int]] = {}
    for one in idioms.train:
        labels.setdefault(one.words[one.place], set()).add(one.label)
    assert all(found == {LITERAL, IDIOMATIC} for found in labels.values())


def test_words_that_keep_the_same_company_have_like_vectors():
    tea, coffee, drank, hot, book, novel, read, long = range(1, 9)
    said = [[drank, hot, tea], [drank, hot, coffee], [read, long, book], [read, long, novel]]
    vectors = pmi_vectors(said * 3, 9, 2)
    assert vectors[tea] @ vectors[coffee] > vectors[tea] @ vectors[book]
    assert vectors[novel] @ vectors[book] > vectors[novel] @ vectors[coffee]


def test_vectors_are_as_long_as_the_root_of_their_width_and_follow_from_the_seed():
    vectors = random_vectors(20, WIDTH, seed=3)
    torch.testing.assert_close(vectors[1:].norm(dim=1), torch.full((19,), WIDTH**0.5))
    assert not vectors[PADDING].any()
    assert vectors.equal(random_vectors(20, WIDTH, seed=3))
    assert not vectors.equal(random_vectors(20, WIDTH, seed=4))


def test_every_arm_and_every_prediction_has_its_figure_and_twice_the_same():
    figures = mixer(SIZES)
    assert all([*one["arms"]] == [*ARMS] for one in figures["found"].values())
    assert [outcome["says"] for outcome in figures["predictions"]] == [
        prediction.statement for prediction in PREDICTIONS
    ]
    assert mixer(SIZES) == figures
