"""A word of several meanings layer by layer: its states, its cues, and what is said of them."""

from dataclasses import replace
from itertools import islice

import pytest
import torch

from dhyan import config
from dhyan.batch import Tokens
from dhyan.data.primer import generate_sentences
from dhyan.insight.lesson_blocks import ScatterPlot
from dhyan.lessons.catalogue import Text
from dhyan.lessons.self_attention.gravity import MODEL_OTHER, MODEL_SENTENCE, gravity
from dhyan.lessons.self_attention.gravity_layers import (
    context_states,
    meaning_in,
    meanings,
    measure_layers,
    opposite_pairs,
    states_by_layer,
)
from tests.lessons.untrained_models import primer_translator


@pytest.fixture(scope="module")
def translator():
    return primer_translator()


@pytest.fixture(scope="module")
def measured(translator):
    return measure_layers(translator, "bank", [MODEL_SENTENCE, MODEL_OTHER], 40)


def verdict(distances, lang="en"):
    return list(distances.blocks("bank", Text(lang)))[-1].text


def test_the_last_layer_is_what_the_encoder_hands_on(translator):
    read = states_by_layer(translator, MODEL_SENTENCE, "bank", 0)
    source = Tokens.pad([translator.encode(MODEL_SENTENCE)])
    with torch.no_grad():
        states = translator.model.encoder(source).states[0].double()
        first = translator.model.encoder.final_norm(translator.model.encoder.embedding(source.ids))[
            0
        ]
    assert read.words[read.at] == "bank"
    assert torch.allclose(read.states[-1, read.at], states[3], atol=1e-6)
    assert torch.allclose(read.states[0, read.at], first[3].double(), atol=1e-6)
    assert len(read.states) == 3


def test_the_cues_are_what_stands_after_the_link(translator):
    read = states_by_layer(translator, MODEL_SENTENCE, "bank", 0)
    assert [read.words[at] for at in read.cues] == ["withdrew", "money"]
    assert [read.words[at] for at in read.rest] == ["Ajay", "saw"]
    because = "Ajay went to the bank because he wanted to wash the elephant."
    read = states_by_layer(translator, because, "bank", 1)
    assert [read.words[at] for at in read.cues] == ["wash", "elephant"]
    assert states_by_layer(translator, MODEL_SENTENCE, "bat", 0) is None


def test_a_meaning_is_identified_by_its_hindi():
    assert [forms[0] for forms in meanings("bank")] == ["बैंक", "किनारा"]
    assert meaning_in("bank", "अजय ने किनारा देखा।") == 1
    assert meaning_in("bank", "अजय बैंक गया।") == 0
    assert meaning_in("bank", "अजय गया।") == 2
    assert meanings("money") == ()


def test_pairs_share_word_and_position_and_differ_in_meaning(translator):
    sentence_pairs = islice(generate_sentences("context", max_words=20, core_share=0.3), 60)
    contexts = [
        sentence for pair in sentence_pairs if (sentence := context_states(translator, pair))
    ]
    pairs = list(opposite_pairs(contexts))
    assert len(pairs) > 20
    for sentence, other in pairs:
        assert (sentence.word, sentence.at) == (other.word, other.at)
        assert sentence.sense != other.sense


def test_both_paths_start_at_the_same_point(measured):
    assert torch.allclose(measured.paths[0, 0], measured.paths[1, 0])
    assert not torch.allclose(measured.paths[0, -1], measured.paths[1, -1])
    assert len(measured.word_coordinates) == len(measured.word_senses) > 0
    assert [name for name, _ in measured.cues] == ["withdrew", "money", "photographed", "crocodile"]
    plane = next(measured.blocks("bank", Text("en")))
    assert isinstance(plane, ScatterPlot)
    assert len(plane.arrows) == 4
    assert plane.arrows[0][:2] == pytest.approx(plane.arrows[2][:2])
    assert plane.groups == ("बैंक", "किनारा", "embedding")


def test_shares_are_counted_and_before_the_first_layer_nothing_is_nearer(measured):
    assert measured.sentences == 40
    assert float(measured.nearer_than_other_sense[0]) == 0
    for shares in (measured.nearer, measured.rest_nearer, measured.nearer_than_other_sense):
        assert ((shares >= 0) & (shares <= 1)).all()
    assert len(measured.nearer_than_other_sense) == len(measured.nearer) + 1 == 3


@pytest.mark.parametrize(
    ("cues", "rest", "nearer_than_other", "phrase"),
    [
        ((0.9, 0.8), (0.5, 0.5), 0.9, "more often than to the other words"),
        ((0.9, 0.8), (0.9, 0.9), 0.9, "all vectors move together"),
        (
            (0.9, 0.4),
            (0.9, 0.9),
            0.9,
            "In layer 2 most words do not move nearer to the cues",
        ),
        (
            (0.9, 0.8),
            (0.9, 0.9),
            0.9,
            "does: compared with the other sense it moves towards its cues.",
        ),
        (
            (0.9, 0.4),
            (0.9, 0.9),
            0.9,
            "it moves towards its cues only in comparison with the other sense.",
        ),
        ((0.9, 0.8), (0.9, 0.9), 0.5, "even compared with the other sense it hardly moves"),
    ],
)
def test_the_verdict_follows_from_the_shares(measured, cues, rest, nearer_than_other, phrase):
    shares = [
        torch.tensor(values).double() for values in (cues, rest, (0.0, 0.9, nearer_than_other))
    ]
    changed = replace(
        measured, nearer=shares[0], rest_nearer=shares[1], nearer_than_other_sense=shares[2]
    )
    assert phrase in verdict(changed)
    assert ("only 40% do" in verdict(changed)) == (min(cues) < 0.5)
    assert verdict(changed, "hi")


def test_an_encoder_without_self_attention_has_no_layer_distances(translator):
    other = primer_translator(encoder=config.RNNEncoder(width=16))
    assert measure_layers(other, "bank", [MODEL_SENTENCE, MODEL_OTHER], 10) is None
    assert gravity(model=other, sentences=10).by_layer is None
    assert measure_layers(translator, "bank", [MODEL_SENTENCE, "Ajay saw the bank."], 10) is None


def test_layer_distances_are_measured_on_request(translator):
    result = gravity(model=translator, sentences=20)
    assert result.by_layer.sentences == 20
    assert "by layer; the axes explain" in result.text()
    assert "distance between the sentences" in gravity(model=translator).text()
