"""A reader's own sentence: every lesson takes it, or says in one line what it needs instead."""

from inspect import signature

import pytest
import torch

import dhyan
from dhyan.errors import UserError
from dhyan.lessons.catalogue import LESSONS
from dhyan.lessons.seeded_vectors import seeded_vectors
from tests.docs.test_guides import in_process

SENTENCE = "I drink hot tea in the morning"
NEEDS = {
    "cross_entropy": "probabilities: 3 of them for the 7 words",
    "long_output": "give model=RUN too",
    "greedy_decoding": "the corpus has no word 'I'; give a sentence of its words: think, about",
    "seq2seq_training": "give pairs with it",
    "static_vectors": "add it, or give about=WORD",
    "idioms": "give model=en-hi",
    "task_specific_vectors": "give train=true to train here",
    "gravity": "give word=WORD, one that both sentences have, with vectors and weights",
    "cross_attention": "Give its translation",
    "transformer": "Give its translation",
}
NOT_SHOWN = ("parallel_training",)  # the losses are those of the target's words
QUICK = {  # arguments with which a lesson that trains or measures times is short
    "variable_length": {"steps": 2},
    "unrolled_rnn": {"steps": 2},
    "parallel_training": {"lengths": [3], "repeats": 1},
    "training_without_mask": {"steps": 8},
    "parameter_free": {"lengths": [3]},
}
WITH_SENTENCE = [
    lesson.name for lesson in LESSONS if "sentence" in signature(lesson.load()).parameters
]
SEEDED = (
    "context_vector",
    "bahdanau",
    "luong",
    "weighted_sum",
    "parameter_free",
    "multi_head",
    "self_attention_by_hand",
    "self_vs_cross_attention",
    "word_order",
    "causal_mask",
)


@pytest.mark.parametrize("name", WITH_SENTENCE)
def test_a_lesson_shows_the_sentence_or_names_what_it_needs(name):
    lesson, arguments = getattr(dhyan.lessons, name), QUICK.get(name, {})
    if name not in NEEDS:
        result = lesson(sentence=SENTENCE, **arguments)
        assert "morning" in result.text() or name in NOT_SHOWN
        return
    with pytest.raises(UserError) as error:
        lesson(sentence=SENTENCE, **arguments)
    assert NEEDS[name] in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "name", [lesson.name for lesson in LESSONS if lesson.name not in WITH_SENTENCE]
)
def test_a_lesson_about_no_sentence_names_its_arguments(name, tmp_path):
    code, output = in_process(("lesson", name, "--sentence", SENTENCE), tmp_path)
    assert code == 2
    assert output.count("\n") == 1
    for argument in signature(getattr(dhyan.lessons, name)).parameters:
        assert argument in output or argument == "on_progress"


@pytest.mark.parametrize("name", SEEDED)
def test_random_vectors_are_named_as_such(name):
    lesson, arguments = getattr(dhyan.lessons, name), QUICK.get(name, {})
    result = lesson(sentence=SENTENCE, seed=7, **arguments)
    english, hindi = (" ".join(result.text(lang).split()) for lang in ("en", "hi"))
    argument = result.seeded.argument
    assert f"The {argument} are random, drawn from each word and the seed 7" in english
    assert "not what the words mean" in english
    assert f"({argument}) यादृच्छिक" in hindi
    assert ("model=RUN" in english) == ("model" in signature(lesson).parameters)


@pytest.mark.parametrize("name", [name for name in SEEDED if name != "word_order"])
def test_the_numbers_of_the_lessons_own_sentence_are_not_random(name):
    result = getattr(dhyan.lessons, name)(**QUICK.get(name, {}))
    assert result.seeded is None
    assert "are random" not in " ".join(result.text().split())


def test_a_word_has_one_vector_in_every_sentence():
    tea, hot, again = seeded_vectors(["tea", "hot", "tea"], seed=1)
    assert torch.equal(tea, again)
    assert not torch.equal(tea, hot)
    assert torch.equal(seeded_vectors(["green", "tea"], seed=1)[1], tea)
    assert not torch.equal(seeded_vectors(["tea"], seed=2)[0], tea)


def test_drawing_vectors_leaves_other_random_numbers_as_they_were():
    before = torch.random.get_rng_state()
    seeded_vectors(["tea"], seed=1)
    assert torch.equal(before, torch.random.get_rng_state())


def test_random_vectors_are_standard_normal():
    x = seeded_vectors([f"w{number}" for number in range(500)], seed=1, width=8)
    assert abs(float(x.mean())) < 0.1
    assert abs(float(x.std()) - 1) < 0.1


def test_random_states_are_as_wide_as_the_decoders():
    assert dhyan.lessons.luong("hot tea", decoder=[[1, 0]], general=[[1, 0], [0, 1]], w=[[1]] * 4,
                               b=[0], v=[1]).states.shape == (2, 2)  # fmt: skip


def test_three_heads_have_random_vectors_that_divide_among_them():
    result = dhyan.lessons.multi_head("hot tea", count=3)
    assert result.queries.shape == (3, 2, 2)


def test_the_target_of_another_sentence_has_nameless_words():
    result = dhyan.lessons.context_vector("hot tea")
    assert result.target == ("y_1", "y_2")
    torch.testing.assert_close(result.weights, (result.queries @ result.states.T).softmax(-1))
    assert dhyan.lessons.context_vector("hot tea", target="गरम चाय").target == ("गरम", "चाय")
