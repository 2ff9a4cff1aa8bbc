"""One paragraph, several perspectives: a head for each, one for all, and what is not claimed."""

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.summarization import summarization
from dhyan.text.bag_of_words import tf_idf, word_counts, words_in
from tests.tiny_models import dhyan

CATS = "The cat sleeps. The dog barks at the cat. Rain falls. The dog eats."


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


def both():
    result = summarization()
    return [result, result.hindi]


@pytest.mark.parametrize("result", both(), ids=["en", "hi"])
def test_a_single_head_cannot_keep_the_choices_of_two(result):
    first, second, single = (set(selection) for selection in result.selections)
    assert len(first) == len(second) == len(single) == 3
    assert first != second
    assert not first | second <= single
    assert result.kept_shares[:, 0].tolist() == pytest.approx([1 / 3, 2 / 3])


def test_chosen_and_shared_sentences():
    result = summarization()
    assert result.selections == ((1, 3, 5), (3, 4, 6), (4, 5, 6))
    assert result.shared.tolist() == [[3, 1, 1], [1, 3, 2], [1, 2, 3]]
    assert result.hindi.selections == ((0, 1, 5), (2, 4, 6), (4, 5, 6))
    assert result.hindi.shared[0, 1] == 0


def test_with_more_room_the_single_head_keeps_all_in_english_only():
    result = summarization()
    assert set(result.extended_selection) == {1, 3, 4, 5, 6}
    assert result.kept_shares[:, 1].tolist() == [1, 1]
    assert "without telling which perspective" in flat_text(result)
    assert len(result.hindi.extended_selection) == 6
    assert result.hindi.kept_shares[:, 1].tolist() == pytest.approx([2 / 3, 1])
    assert "किस दृष्टिकोण का" not in flat_text(result, "hi")


@pytest.mark.parametrize("result", both(), ids=["en", "hi"])
def test_weights_are_the_softmax_of_the_scaled_dot_product(result):
    size = len(result.vocabulary) ** 0.5
    scores = result.queries @ result.keys.T / size
    assert torch.allclose(result.scores, scores)
    assert torch.allclose(result.weights, scores.softmax(-1))
    assert torch.allclose(result.weights.sum(-1), torch.ones(3, dtype=torch.float64))
    lengths = torch.cat([result.keys, result.queries[:-1]]).norm(dim=1)
    assert torch.allclose(lengths, torch.full_like(lengths, size))


@pytest.mark.parametrize("result", both(), ids=["en", "hi"])
def test_the_single_heads_weights_are_the_geometric_mean(result):
    mean = result.weights[:-1].log().mean(0).softmax(-1)
    assert torch.allclose(result.weights[-1], mean)


def test_sentences_are_the_projects_tf_idf():
    result = summarization(CATS, perspectives=["cat", "dog"], keep=2)
    counts = word_counts([words_in(sentence) for sentence in result.sentences], result.vocabulary)
    assert torch.allclose(result.keys, tf_idf(counts) * len(result.vocabulary) ** 0.5)


def test_a_summary_holds_its_best_sentences_in_their_order_and_none_without_a_word_in_common():
    result = summarization(CATS, perspectives={"a": "rain", "b": "cat dog", "c": "dog"}, keep=3)
    assert result.selections[0] == (2,)
    assert result.selections[1] == (0, 1, 3)
    assert result.selections[2] == (1, 3)
    assert result.summaries[2] == "The dog barks at the cat. The dog eats."
    for selection, scores in zip(result.selections, result.scores.tolist(), strict=True):
        left = [score for at, score in enumerate(scores) if at not in selection]
        assert len(selection) < 3 or min(scores[at] for at in selection) >= max(left)


def test_equal_perspectives_need_only_a_single_head():
    result = summarization(CATS, perspectives={"a": "dog", "b": "the dog"}, keep=2)
    assert result.selections == ((1, 3),) * 3
    assert torch.equal(result.kept_shares, torch.ones(2, 2, dtype=torch.float64))
    assert "selects 2 of 2 of “a”, 2 of 2 of “b”. Nothing here is trained" in flat_text(result)


def test_each_head_weights_its_own_choice_more_than_the_single_head():
    for result in both():
        assert (result.own_weights > result.single_head_weights).all()
        for at, selection in enumerate(result.selections[:-1]):
            assert result.own_weights[at] == pytest.approx(
                float(result.weights[at, list(selection)].sum())
            )


@pytest.mark.parametrize(
    ("lang", "trained", "claimed"),
    [
        ("en", "Nothing here is trained", "It is not claimed"),
        ("hi", "कुछ भी प्रशिक्षित नहीं है", "यह दावा नहीं किया जाता"),
    ],
)
def test_the_page_states_what_is_not_claimed(lang, trained, claimed):
    text = flat_text(summarization(), lang)
    assert trained in text
    assert claimed in text


def test_the_default_paragraph_is_in_the_language_of_the_page():
    result = summarization()
    assert "[1] A transformer passes" in flat_text(result)
    assert "[1] ट्रांसफ़ॉर्मर एक कुंडली" in flat_text(result, "hi")
    assert len(result.sentences) == len(result.hindi.sentences) == 8
    assert "The cat sleeps." in flat_text(summarization(CATS, perspectives=["cat", "dog"]), "hi")


def test_words_in_hindi_ask_the_hindi_paragraph():
    assert summarization(perspectives=["घर", "क्रोड"]).sentences == summarization().hindi.sentences
    assert summarization(perspectives=["home", "core"]).sentences == summarization().sentences


def test_sentences_may_come_as_a_list():
    result = summarization(["the cat", "the dog", "a bird"], perspectives=["cat", "bird"], keep=1)
    assert result.selections[:2] == ((0,), (2,))


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
        (lambda: summarization(perspectives="core loss"), "perspectives is 'core loss': give"),
        (lambda: summarization(perspectives=["core", "—"]), "'—' has no words"),
        (
            lambda: summarization(perspectives={"a": "core", "b": "homes"}),
            "'b': the word 'homes' is not among the 81 known ones; did you mean 'home'",
        ),
    ],
)
def test_a_wrong_argument_is_a_single_line_error(call, message):
    with pytest.raises(UserError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("paragraph=7", "paragraph is 7: give a text or a list of words"),
        ('perspectives={"a": 1, "b": 2}', "perspectives: give words for each"),
    ],
)
def test_numbers_on_the_command_line_are_no_words(argument, message):
    process = dhyan("lesson", "summarization", argument)
    assert process.returncode == 2
    assert message in process.stderr.decode()
    assert process.stderr.count(b"\n") == 1
