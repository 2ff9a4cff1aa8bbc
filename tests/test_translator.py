"""From text to text: nothing lost, nothing cut in silence."""

from dataclasses import replace

import pytest

from dhyan.decoding.translator import Limits, TooLong
from tests.test_explain import ENGLISH, translator_of


@pytest.fixture(scope="module")
def translator():
    return translator_of(("transformer", "transformer"))


def test_as_many_come_out_as_go_in_and_empty_stays_empty(translator):
    said = translator(["", "a dog", "   ", "cats see mats", "\t"])
    assert [bool(one.ids) for one in said] == [False, True, False, True, False]
    assert said[0].text == said[2].text == said[4].text == ""
    assert all(one.finished for one in (said[0], said[2], said[4]))
    assert translator([]) == []


def test_one_sentence_may_be_given_alone(translator):
    assert translator(ENGLISH[0]) == translator([ENGLISH[0]])


@pytest.mark.parametrize("kind", [("bi-lstm", "bahdanau-additive"), ("transformer", "transformer")])
@pytest.mark.parametrize("beam", [1, 4])
def test_a_sentence_is_translated_alike_in_any_company(kind, beam):
    translator = translator_of(kind)
    words = sorted({word for line in ENGLISH for word in line.split()})
    lines = [" ".join(words[i : i + n]) for n in range(1, 8) for i in range(len(words) - n)]
    together = [one.text for one in translator(lines, beam=beam)]
    assert together == [translator(line, beam=beam)[0].text for line in lines]
    assert together[::-1] == [one.text for one in translator(lines[::-1], beam=beam)]


def test_runners_up_are_worse_or_equal_and_different(translator):
    [best] = translator(ENGLISH[0], nbest=4, beam=2)
    everyone = [best, *best.others]
    assert len(everyone) == 4
    assert len({one.ids for one in everyone}) == 4
    finished = [one.score for one in everyone if one.finished]
    assert finished == sorted(finished, reverse=True)


def test_what_is_too_long_is_refused_by_its_place(translator):
    narrow = replace(translator, limits=Limits(source=5))
    with pytest.raises(TooLong, match=r"\d+ tokens, but this model takes at most 5") as caught:
        narrow(["a", "cats see mats " * 3])
    assert caught.value.index == 1


def test_limits_follow_the_source_unless_they_are_set():
    assert Limits().of(10) == 80
    assert Limits(output=600).of(6) == 600
    assert Limits(highest=42).of(100) == 42


def test_a_model_with_learned_places_does_not_run_out_of_them():
    kind = ("transformer-post-learned", "transformer-post-learned")
    translator = replace(
        translator_of(kind, pieces="words"), limits=Limits(source=40, highest=42), beam=1
    )
    [said] = translator(" ".join(["cats"] * 40))
    assert 0 < len(said.ids) <= 42
    assert said.finished or len(said.ids) == 42


def test_a_model_in_training_stays_in_training(translator):
    translator.model.train()
    translator("a dog")
    assert translator.model.training
    translator.model.eval()
