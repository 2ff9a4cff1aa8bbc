"""Two tasks, two vectors for one sentence."""

from dataclasses import replace

import pytest
import torch

from dhyan.errors import UserError
from dhyan.insight.probes import ProbeResult, linear_cka
from dhyan.lessons.self_attention.task_specific_vectors import (
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    SENTIMENT,
    TRANSLATION,
    UNTRAINED,
    gender_of,
    majority_accuracy,
    measure_tasks,
    polarities,
    sentiment,
    shared_neighbours,
    task_specific_vectors,
    train_two_tasks,
)

MODULE = "dhyan.lessons.self_attention.task_specific_vectors"


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The boy helped the king.", POSITIVE),
        ("The boy did not help the king.", NEGATIVE),
        ("Ravi was sad.", NEGATIVE),
        ("Ravi is not sad.", POSITIVE),
        ("Ravi bought a mango.", NEUTRAL),
        ("Ravi was sad and praised the king.", NEUTRAL),
    ],
)
def test_sentiment_is_the_sum_of_polarities_and_negation_flips_it(sentence, expected):
    assert sentiment(sentence.split()) == expected


def test_every_form_of_a_verb_has_its_polarity():
    forms = ("steal", "steals", "stole", "stolen", "stealing")
    assert {polarities()[form] for form in forms} == {-1}
    assert {polarities()[form] for form in ("praise", "praised", "praising")} == {1}


def test_the_last_verb_shows_its_gender():
    assert gender_of("रवि सोता है।") == 0
    assert gender_of("सीता सोती है।") == 1
    assert gender_of("लड़कियाँ गई थीं।") == 1
    assert gender_of("क्या वह आएगा?") == 0
    assert gender_of("यहाँ आओ।") is None


def test_similarity_ignores_rotation_and_scale_and_is_low_for_noise():
    torch.manual_seed(0)
    x, noise = torch.randn(400, 8).double(), torch.randn(400, 8).double()
    turn = torch.linalg.qr(torch.randn(8, 8).double()).Q
    assert linear_cka(x, 3 * x @ turn + 5) == pytest.approx(1)
    assert linear_cka(x, noise) < 0.1
    assert shared_neighbours(x, 3 * x @ turn + 5) == pytest.approx(1)
    assert shared_neighbours(x, noise) < 0.1


def test_the_majority_class_is_that_of_the_training_labels_without_blanks():
    assert (
        majority_accuracy(torch.tensor([1, 1, 0, -1, -1, -1]), torch.tensor([1, 0, 0, -1])) == 1 / 3
    )


def test_the_snapshot_has_different_vectors_for_two_tasks():
    result = task_specific_vectors()
    views = {view.task: view for view in result.views}
    assert list(views) == [UNTRAINED, TRANSLATION, SENTIMENT]
    classifying, translating = views[SENTIMENT].probes, views[TRANSLATION].probes
    assert classifying[0].interval[0] > translating[0].interval[1]
    assert translating[1].interval[0] > classifying[1].interval[1]
    assert float(result.cka[1, 2]) < min(result.cka_across_seeds) - 0.1
    assert "depend on the task more than on the seed" in flat_text(result)
    assert "The number of updates (1500 and 750)" in flat_text(result)
    assert "अद्यतनों की संख्या (1500 और 750)" in flat_text(result, "hi")


def test_the_verdict_follows_the_numbers():
    result = task_specific_vectors()
    same = replace(result, cka_across_seeds=(float(result.cka[1, 2]), 0.9))
    assert "differ between tasks no more than between two seeds" in flat_text(same)
    equal = tuple(replace(view, probes=(ProbeResult(5, 10),) * 3) for view in result.views)
    assert flat_text(replace(result, views=equal)).count("no significant difference") == 3


@pytest.mark.slow
def test_both_tasks_start_from_the_same_weights(monkeypatch):
    monkeypatch.setattr(f"{MODULE}.PAIRS", 600)
    monkeypatch.setattr(f"{MODULE}.PER_CLASS", 12)
    encoders = train_two_tasks(steps=10, seed=1)
    first, translating, classifying = (
        view.token_embedding.weight for view in encoders.encoders.values()
    )
    assert first.shape == translating.shape == classifying.shape
    assert not torch.equal(first, translating)
    assert not torch.equal(first, classifying)
    again = train_two_tasks(steps=10, seed=1)
    assert torch.equal(again.initial.token_embedding.weight, first)
    assert torch.equal(again.classifier.token_embedding.weight, classifying)
    with monkeypatch.context() as patch:
        patch.setattr(f"{MODULE}.knows_every_word", lambda model, text: True)
        result = measure_tasks(encoders, again, "Ravi helped the king.", 10)
    assert result.cka_across_seeds == pytest.approx((1, 1))
    assert result.sentiment == POSITIVE
    assert torch.allclose(result.cka.diagonal(), torch.ones(3).double())
    assert all(len(view.coordinates) == len(result.sentiments) == 36 for view in result.views)
    with pytest.raises(UserError, match="these encoders never met xyzzy; choose other words"):
        measure_tasks(encoders, again, "xyzzy", 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sentence": "Ravi is sad."}, "give train=true"),
        ({"steps": 20}, "give train=true"),
        ({"steps": 2}, "steps is 2: give a whole number of at least 10"),
        ({"sentence": ""}, "the sentence is empty"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        task_specific_vectors(**arguments)
