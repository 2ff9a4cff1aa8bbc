"""One paragraph, several perspectives: a head for each, one for all, and what is not claimed."""

import subprocess
import sys

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.summarization import summarization
from dhyan.text.bag_of_words import tf_idf, word_counts, words_in

CATS = "The cat sleeps. The dog barks at the cat. Rain falls. The dog eats."


def said(shown, lang="en"):
    return " ".join(shown.text(lang).split())


def both():
    shown = summarization()
    return [shown, shown.hindi]


@pytest.mark.parametrize("shown", both(), ids=["en", "hi"])
def test_two_heads_keep_different_sentences_and_one_head_cannot_keep_all_of_both(shown):
    own, other, one = (set(chosen) for chosen in shown.chosen)
    assert len(own) == len(other) == len(one) == 3
    assert own != other
    assert not own | other <= one
    assert shown.kept[:, 0].tolist() == pytest.approx([1 / 3, 2 / 3])


def test_the_engineers_and_the_households_choice_share_one_sentence():
    shown = summarization()
    assert shown.chosen == ((1, 3, 5), (3, 4, 6), (4, 5, 6))
    assert shown.shared.tolist() == [[3, 1, 1], [1, 3, 2], [1, 2, 3]]
    assert shown.hindi.chosen == ((0, 1, 5), (2, 4, 6), (4, 5, 6))
    assert shown.hindi.shared[0, 1] == 0


def test_with_room_for_all_that_was_chosen_one_head_finds_it_in_english_and_not_in_hindi():
    shown = summarization()
    assert set(shown.roomy) == {1, 3, 4, 5, 6}
    assert shown.kept[:, 1].tolist() == [1, 1]
    assert "does not say which is for whom" in said(shown)
    assert len(shown.hindi.roomy) == 6
    assert shown.hindi.kept[:, 1].tolist() == pytest.approx([2 / 3, 1])
    assert "कौन-सा किसके लिए" not in said(shown, "hi")


@pytest.mark.parametrize("shown", both(), ids=["en", "hi"])
def test_weights_are_the_softmax_of_the_scaled_dot_product_and_sum_to_one(shown):
    size = len(shown.vocabulary) ** 0.5
    scores = shown.queries @ shown.keys.T / size
    assert torch.allclose(shown.scores, scores)
    assert torch.allclose(shown.weights, scores.softmax(-1))
    assert torch.allclose(shown.weights.sum(-1), torch.ones(3, dtype=torch.float64))
    lengths = torch.cat([shown.keys, shown.queries[:-1]]).norm(dim=1)
    assert torch.allclose(lengths, torch.full_like(lengths, size))


@pytest.mark.parametrize("shown", both(), ids=["en", "hi"])
def test_one_heads_weights_are_the_geometric_mean_of_the_others(shown):
    mean = shown.weights[:-1].log().mean(0).softmax(-1)
    assert torch.allclose(shown.weights[-1], mean)


def test_sentences_are_the_projects_tf_idf():
    shown = summarization(CATS, perspectives=["cat", "dog"], keep=2)
    counts = word_counts([words_in(one) for one in shown.sentences], shown.vocabulary)
    assert torch.allclose(shown.keys, tf_idf(counts) * len(shown.vocabulary) ** 0.5)


def test_a_summary_holds_its_best_sentences_in_their_order_and_none_without_a_word_in_common():
    shown = summarization(CATS, perspectives={"a": "rain", "b": "cat dog", "c": "dog"}, keep=3)
    assert shown.chosen[0] == (2,)
    assert shown.chosen[1] == (0, 1, 3)
    assert shown.chosen[2] == (1, 3)
    assert shown.summaries[2] == "The dog barks at the cat. The dog eats."
    for own, scores in zip(shown.chosen, shown.scores.tolist(), strict=True):
        left = [score for at, score in enumerate(scores) if at not in own]
        assert len(own) < 3 or min(scores[at] for at in own) >= max(left)


def test_perspectives_that_ask_the_same_are_served_by_one_head():
    shown = summarization(CATS, perspectives={"a": "dog", "b": "the dog"}, keep=2)
    assert shown.chosen == ((1, 3),) * 3
    assert torch.equal(shown.kept, torch.ones(2, 2, dtype=torch.float64))
    assert "keeps 2 of 2 of “a”, 2 of 2 of “b”. Nothing here is trained" in said(shown)


def test_each_heads_weight_on_its_own_choice_is_more_than_the_one_heads():
    for shown in both():
        assert (shown.given > shown.given_by_one).all()
        for at, own in enumerate(shown.chosen[:-1]):
            assert shown.given[at] == pytest.approx(float(shown.weights[at, list(own)].sum()))


@pytest.mark.parametrize(
    ("lang", "trained", "claimed"),
    [
        ("en", "Nothing here is trained", "is not claimed"),
        ("hi", "कुछ भी प्रशिक्षित नहीं है", "कोई दावा नहीं है"),
    ],
)
def test_the_story_says_what_it_is_not(lang, trained, claimed):
    told = said(summarization(), lang)
    assert trained in told
    assert claimed in told


def test_the_default_paragraph_is_in_the_language_of_the_page():
    shown = summarization()
    assert "[1] A transformer passes" in said(shown)
    assert "[1] ट्रांसफ़ॉर्मर एक कुंडली" in said(shown, "hi")
    assert len(shown.sentences) == len(shown.hindi.sentences) == 8
    assert "The cat sleeps." in said(summarization(CATS, perspectives=["cat", "dog"]), "hi")


def test_words_in_hindi_ask_the_hindi_paragraph():
    assert summarization(perspectives=["घर", "क्रोड"]).sentences == summarization().hindi.sentences
    assert summarization(perspectives=["home", "core"]).sentences == summarization().sentences


def test_sentences_may_come_as_a_list():
    shown = summarization(["the cat", "the dog", "a bird"], perspectives=["cat", "bird"], keep=1)
    assert shown.chosen[:2] == ((0,), (2,))


@pytest.mark.parametrize("lang", ["en", "hi"])
def test_the_figure_fits_a_page(lang):
    assert summarization().figure(lang=lang).get_size_inches()[0] < 9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: summarization("One only."), "paragraph: has 1 sentences; give at least 2"),
        (lambda: summarization(" "), "paragraph: has 0 sentences"),
        (lambda: summarization(keep=8), "keep: 8 of 8 sentences is no summary; keep at most 7"),
        (lambda: summarization(keep=0), "keep is 0: give a whole number of at least 1"),
        (lambda: summarization(perspectives=["core"]), "perspectives: 1 given; give at least 2"),
        (lambda: summarization(perspectives=["core", "core"]), "give at least 2 different ones"),
        (lambda: summarization(perspectives="core loss"), "perspectives: give words for each"),
        (lambda: summarization(perspectives=["core", "—"]), "'—' has no words"),
        (
            lambda: summarization(perspectives={"a": "core", "b": "homes"}),
            "'b': the word 'homes' is not among the 81 known ones; did you mean 'home'",
        ),
    ],
)
def test_a_wrong_argument_is_an_error_of_one_line(call, message):
    with pytest.raises(UserError, match=message) as found:
        call()
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("paragraph=7", "paragraph is 7: give a text or a list of words"),
        ('perspectives={"a": 1, "b": 2}', "perspectives: give words for each"),
    ],
)
def test_numbers_on_the_command_line_are_no_words(given, message):
    words = [sys.executable, "-m", "dhyan", "lesson", "summarization", "--give", given]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1
