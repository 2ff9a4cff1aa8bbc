"""Self-attention as gravity: the notes' figures, and a word's states in a trained model."""

import pytest
import torch

from dhyan.decoding.translator import LengthLimits, Translator
from dhyan.errors import UserError
from dhyan.lessons.self_attention.gravity import MODEL_OTHER, MODEL_SENTENCE, gravity
from dhyan.lessons.tiny_models import tiny_transformer
from dhyan.special_tokens import NAMES
from dhyan.text.tokenizer import Tokenizer


def flat(result):
    """Its text without line breaks."""
    return " ".join(result.text().split())


@pytest.fixture
def translator():
    words = Tokenizer.train([MODEL_SENTENCE, MODEL_OTHER], kind="words", size=100)
    size = len(words) - len(NAMES)
    model = tiny_transformer(size, size, seed=1, width=16, heads=2, layers=1)
    return Translator(model, words, words, language="hi", limits=LengthLimits(source=40))


def test_bank_moves_and_comes_nearer_to_money():
    pull = gravity().first
    assert pull.before.tolist() == [9, 3]
    assert pull.after.tolist() == pytest.approx([7.6, 3.8])
    assert pull.far_before.tolist() == pytest.approx([8.06], abs=5e-3)
    assert pull.far_after.tolist() == pytest.approx([6.45], abs=5e-3)


def test_in_the_other_sentence_bank_comes_nearer_to_river():
    pull = gravity().second
    assert pull.others == ("river",)
    assert pull.far_after < pull.far_before


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_of_two_words_the_distance_shrinks_by_the_others_weight(share):
    pull = gravity(weights=[share, 1 - share]).first
    assert torch.allclose(pull.far_after, (1 - share) * pull.far_before)


def test_the_scores_of_the_notes_would_saturate():
    result = gravity()
    assert result.scaled.tolist() == pytest.approx([7.07, 22.63], abs=5e-3)
    assert result.softmaxed.tolist() == pytest.approx([0, 1], abs=1e-6)
    assert "not the [0.2, 0.8] used here" in flat(result)


def test_scores_that_give_the_weights_are_reported():
    scores = (torch.tensor([0.2, 0.8]).double().log() * 2**0.5).tolist()
    assert "the weights used here" in flat(gravity(scores=scores))


def test_only_the_notes_weights_are_attributed_to_their_drawing():
    remark = "chosen for the drawing"
    assert remark in flat(gravity())
    assert remark not in flat(gravity(scores=[1, 2]))
    assert remark not in flat(gravity(weights=[0.5, 0.5], scores=[10, 32]))
    assert "not the [0.5, 0.5] used here." in flat(gravity(weights=[0.5, 0.5], scores=[10, 32]))
    assert gravity(weights=[0.5, 0.5]).scores is None


def test_with_three_words_another_may_end_farther():
    result = gravity(
        "money bank far",
        weights=[0.5, 0.5, 0],
        vectors={"money": [0, 0], "bank": [4, 0], "far": [9, 0], "river": [4, -4]},
    )
    assert result.first.far_after.tolist() == pytest.approx([2, 7])
    assert "not nearer to every other word" in flat(result)
    assert result.scores is None


def test_the_plane_shows_both_moves():
    from dhyan.insight.lesson_blocks import ScatterPlot

    (plane,) = (part for part in gravity().render().blocks if isinstance(part, ScatterPlot))
    assert [arrow[:2] for arrow in plane.arrows] == [(9, 3), (9, 3)]


def test_in_more_dimensions_there_is_no_plane_but_there_are_distances():
    vectors = {"money": [1, 0, 0], "bank": [0, 1, 0], "river": [0, 0, 1]}
    assert gravity(vectors=vectors).first.far_after.tolist() == pytest.approx([0.8 * 2**0.5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"word": "tree"}, "word: 'tree' does not stand in 'money bank'"),
        ({"weights": [0.5, 0.4]}, "are not shares of 0 or more that sum to 1"),
        ({"weights": [1]}, "weights: the numbers are 1; give 2"),
        ({"weights": []}, r"weights: not numbers in one row, such as \[1, 0\]"),
        ({"scores": []}, r"scores: not numbers in one row, such as \[1, 0\]"),
        ({"sentences": 5}, "sentences: only a model can read them; give model=RUN too"),
        (
            {"model": "snapshot", "sentence": "my bank"},
            "the snapshot is of its own sentences and word",
        ),
        ({"model": "snapshot", "other": "my bank"}, "for others give model=RUN"),
        ({"model": "snapshot", "word": "river"}, "for others give model=RUN"),
        ({"model": "snapshot", "sentences": 5}, "for others give model=RUN"),
        ({"sentence": "gold bank"}, "vectors: 'gold' has none"),
        ({"sentence": ""}, "the sentence is empty"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        gravity(**arguments)


def test_a_word_has_a_state_per_sentence(translator):
    result = gravity(model=translator)
    assert result.words[3] == result.other_words[3] == "bank"
    far = float((result.states[3] - result.other_states[3]).norm())
    assert far > 0
    assert float(result.distances[result.shared.index("bank")]) == pytest.approx(far)


def test_the_axes_explain_no_more_than_all_and_the_first_the_most(translator):
    result = gravity(model=translator)
    first, second = result.explained.tolist()
    assert 0 < second <= first
    assert first + second <= 1 + 1e-12
    both = torch.cat([result.states, result.other_states])
    total = (both - both.mean(0)).square().sum()
    assert float(result.coordinates.square().sum() / total) == pytest.approx(first + second)


def test_the_same_sentence_twice_moves_nothing(translator):
    result = gravity(MODEL_SENTENCE, MODEL_SENTENCE, model=translator)
    assert result.distances.max() < 1e-12


def test_a_word_that_the_model_does_not_know_is_an_error(translator):
    with pytest.raises(UserError, match="this model does not know 'tiger'"):
        gravity("Ajay saw the tiger", "the tiger saw Ajay", word="tiger", model=translator)
    with pytest.raises(UserError, match="'bank' does not stand in 'Ajay saw money'"):
        gravity("Ajay saw money", model=translator)


def test_a_model_takes_no_weights_of_the_readers(translator):
    for arguments in ({"weights": [0.5, 0.5]}, {"scores": [1, 2]}, {"vectors": {"bank": [1, 0]}}):
        with pytest.raises(UserError, match="a model has vectors, weights and scores of its own"):
            gravity(model=translator, **arguments)
        with pytest.raises(UserError, match="a model has vectors, weights and scores of its own"):
            gravity(model="snapshot", **arguments)


@pytest.mark.parametrize("lang", ["en", "hi"])
def test_the_page_of_a_model_is_rendered(translator, lang):
    assert "bank 1" in gravity(model=translator).text(lang)


def test_cue_distances_are_mean_distances_to_the_words_of_one_sentence(translator):
    result = gravity(model=translator)
    bank, other = result.states[3], result.other_states[3]
    cues = result.states[[result.words.index(cue) for cue in ("withdrew", "money")]]
    assert float(result.cue_distances[0, 0]) == pytest.approx(
        float((cues - bank).norm(dim=1).mean())
    )
    assert float(result.cue_distances[1, 0]) == pytest.approx(
        float((cues - other).norm(dim=1).mean())
    )
    assert gravity(MODEL_SENTENCE, MODEL_SENTENCE, model=translator).cue_distances is None


def test_the_snapshot_has_the_layers():
    result = gravity(model="snapshot")
    assert result.word == "bank"
    assert result.by_layer.sentences >= 100
    assert result.provenance is not None
    for lang, word in (("en", "by layer; the axes explain"), ("hi", "परत-दर-परत")):
        assert word in result.text(lang)
