"""Two tasks, two vectors for one sentence."""

from dataclasses import replace

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.probes import ProbeResult, linear_cka
from dhyan.lessons.self_attention.task_specific_vectors import (
    ILL,
    NEITHER,
    SENTIMENT,
    TRANSLATION,
    UNTRAINED,
    WELL,
    commonest,
    gender_of,
    measure_tasks,
    sentiment,
    share_of_nearest,
    signs,
    task_specific_vectors,
    train_two_tasks,
)

MODULE = "dhyan.lessons.self_attention.task_specific_vectors"


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("The boy helped the king.", WELL),
        ("The boy did not help the king.", ILL),
        ("Ravi was sad.", ILL),
        ("Ravi is not sad.", WELL),
        ("Ravi bought a mango.", NEITHER),
        ("Ravi was sad and praised the king.", NEITHER),
    ],
)
def test_a_sentence_speaks_well_or_ill_by_its_words_which_not_turns_round(said, kind):
    assert sentiment(said.split()) == kind


def test_every_form_of_a_verb_has_its_sign():
    forms = ("steal", "steals", "stole", "stolen", "stealing")
    assert {signs()[form] for form in forms} == {-1}
    assert {signs()[form] for form in ("praise", "praised", "praising")} == {1}


def test_the_last_verb_shows_its_gender():
    assert gender_of("रवि सोता है।") == 0
    assert gender_of("सीता सोती है।") == 1
    assert gender_of("लड़कियाँ गई थीं।") == 1
    assert gender_of("क्या वह आएगा?") == 0
    assert gender_of("यहाँ आओ।") is None


def test_a_space_is_alike_itself_turned_and_stretched_and_unlike_noise():
    torch.manual_seed(0)
    x, noise = torch.randn(400, 8).double(), torch.randn(400, 8).double()
    turn = torch.linalg.qr(torch.randn(8, 8).double()).Q
    assert linear_cka(x, 3 * x @ turn + 5) == pytest.approx(1)
    assert linear_cka(x, noise) < 0.1
    assert share_of_nearest(x, 3 * x @ turn + 5) == pytest.approx(1)
    assert share_of_nearest(x, noise) < 0.1


def test_the_commonest_answer_is_that_of_the_fitting_and_blanks_do_not_count():
    assert commonest(torch.tensor([1, 1, 0, -1, -1, -1]), torch.tensor([1, 0, 0, -1])) == 1 / 3


def test_the_snapshot_has_different_vectors_for_two_tasks():
    shown = task_specific_vectors()
    views = {one.task: one for one in shown.views}
    assert list(views) == [UNTRAINED, TRANSLATION, SENTIMENT]
    judging, translating = views[SENTIMENT].probed, views[TRANSLATION].probed
    assert judging[0].interval[0] > translating[0].interval[1]
    assert translating[1].interval[0] > judging[1].interval[1]
    assert float(shown.alike[1, 2]) < min(shown.again) - 0.1
    assert "more so than by training anew for one task" in flat_text(shown)
    assert "the updates differ too (1500 against 750)" in flat_text(shown)
    assert "अद्यतनों की संख्या (1500 और 750)" in flat_text(shown, "hi")


def test_the_verdict_follows_the_numbers():
    shown = task_specific_vectors()
    same = replace(shown, again=(float(shown.alike[1, 2]), 0.9))
    assert "no more than two trainings for one task" in flat_text(same)
    equal = tuple(replace(one, probed=(ProbeResult(5, 10),) * 3) for one in shown.views)
    assert flat_text(replace(shown, views=equal)).count("no clear difference") == 3


@pytest.mark.slow
def test_both_begin_with_the_same_weights_and_every_view_is_of_the_same_sentences(monkeypatch):
    monkeypatch.setattr(f"{MODULE}.PAIRS", 600)
    monkeypatch.setattr(f"{MODULE}.EACH", 12)
    both = train_two_tasks(steps=10, seed=1)
    first, translating, judging = (one.token_embedding.weight for one in both.encoders.values())
    assert first.shape == translating.shape == judging.shape
    assert not torch.equal(first, translating)
    assert not torch.equal(first, judging)
    again = train_two_tasks(steps=10, seed=1)
    assert torch.equal(again.first.token_embedding.weight, first)
    assert torch.equal(again.judge.token_embedding.weight, judging)
    with monkeypatch.context() as patch:
        patch.setattr(f"{MODULE}.knows_every_word", lambda model, text: True)
        shown = measure_tasks(both, again, "Ravi helped the king.", 10)
    assert shown.again == pytest.approx((1, 1))
    assert shown.kind == WELL
    assert torch.allclose(shown.alike.diagonal(), torch.ones(3).double())
    assert all(len(one.places) == len(shown.kinds) == 36 for one in shown.views)
    with pytest.raises(UserError, match="these encoders never met xyzzy; choose other words"):
        measure_tasks(both, again, "xyzzy", 10)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sentence": "Ravi is sad."}, "give train=true"),
        ({"steps": 20}, "give train=true"),
        ({"steps": 2}, "steps is 2: give a whole number of at least 10"),
        ({"sentence": ""}, "the sentence is empty"),
    ],
)
def test_wrong_arguments_are_errors(given, message):
    with pytest.raises(UserError, match=message):
        task_specific_vectors(**given)
