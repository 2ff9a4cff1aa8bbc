"""Words said, how sure the model was of them, and where in the source they come from."""

import math
from dataclasses import replace

import pytest
import torch

from dhyan.batch import Batch, Tokens
from dhyan.decoding.translator import Translation
from dhyan.errors import UserError
from dhyan.insight.explain import cross_maps, explain_translation
from dhyan.insight.word_alignment import (
    WordAttention,
    align_pair,
    pair_weights,
    pharaoh,
    word_attention,
    word_indices,
)
from dhyan.special_tokens import BOS, EOS, UNK
from dhyan.text.tokenizer import KINDS
from tests.insight.test_explain import ENGLISH, HINDI, translator_of

MODELS = [("gru", "bahdanau-additive"), ("transformer", "transformer"), ("gru", "luong-bottleneck")]
TEXTS = ["the cat, (the mat).", "कुत्ता बिल्ली को देखता है ।", "naïve zebra's e-mail 😀"]


@pytest.mark.parametrize("pieces", KINDS)
def test_words_are_separated_by_spaces(pieces):
    translator = translator_of(MODELS[0], pieces)
    for text in TEXTS:
        ids = translator.source.encode(text)
        indices = word_indices(translator.source, ids, text)
        assert sorted(set(indices)) == list(range(len(text.split())))
        assert indices == sorted(indices)
        assert len(indices) == len(ids)
        ids = translator.target.encode(text)
        indices = word_indices(translator.target, ids)
        assert sorted(set(indices)) == list(range(len(translator.target.decode(ids).split())))
        assert indices == sorted(indices)


@pytest.mark.parametrize("pieces", KINDS)
def test_word_indices_are_the_same_with_and_without_the_text(pieces):
    tokenizer = translator_of(MODELS[0], pieces).target
    for text in (*HINDI, "की (यह) है।"):
        ids = tokenizer.encode(text)
        if UNK not in ids:
            assert word_indices(tokenizer, ids) == word_indices(tokenizer, ids, text)


def test_tokens_of_a_word_have_its_index():
    translator = translator_of(MODELS[0], "characters")
    ids = translator.source.encode("a cat,")
    assert word_indices(translator.source, ids, "a cat,") == [0, 0, 1, 1, 1, 1, 1]
    assert word_indices(translator.target, translator.target.encode("है ।")) == [0, 0, 0, 1, 1]


def test_a_space_belongs_to_the_word_after_it():
    translator = translator_of(MODELS[0], "characters")
    tokenizer = translator.target
    mark, letter = tokenizer.piece_ids()["▁"], tokenizer.piece_ids()["क"]
    assert word_indices(tokenizer, [mark, mark, letter, mark, mark, letter]) == [0, 0, 0, 1, 1, 1]
    assert word_indices(tokenizer, [letter, mark, letter, mark]) == [0, 1, 1, 1]
    assert word_indices(tokenizer, [mark]) == [0]
    assert word_indices(tokenizer, []) == []


@pytest.mark.parametrize("kind", MODELS, ids="+".join)
def test_confidence_is_the_geometric_mean_of_the_tokens_probabilities(kind):
    translator = translator_of(kind)
    ids = tuple(translator.target.encode(HINDI[1]))
    reading = word_attention(translator, ENGLISH[1], Translation("", 0.0, True, ids))
    assert [word.text for word in reading.words] == HINDI[1].split()
    batch = Batch(Tokens.pad([translator.encode(ENGLISH[1])]), Tokens.pad([[BOS, *ids, EOS]]))
    with torch.inference_mode():
        logprobs = translator.model(batch).log_softmax(-1)[0]
    owners = word_indices(translator.target, ids)
    for number, word in enumerate(reading.words):
        token_logprobs = [
            float(logprobs[at, id]) for at, id in enumerate(ids) if owners[at] == number
        ]
        assert word.confidence == pytest.approx(
            math.exp(sum(token_logprobs) / len(token_logprobs)), rel=1e-4
        )


@pytest.mark.parametrize("kind", MODELS, ids="+".join)
def test_weights_of_a_pair_are_those_of_its_maps(kind):
    translator = translator_of(kind)
    weights = pair_weights(translator, ENGLISH[1], HINDI[1])
    ids = tuple(translator.target.encode(HINDI[1]))
    maps = cross_maps(explain_translation(translator, ENGLISH[1], Translation("", 0.0, True, ids)))
    mean = torch.stack([attention_map.weights.mean(0) for attention_map in maps]).mean(0)
    torch.testing.assert_close(weights, mean[:-1])
    torch.testing.assert_close(weights.sum(-1), torch.ones(len(HINDI[1].split())))


def test_one_attention_can_be_chosen_by_its_name():
    translator = translator_of(MODELS[1])
    every = pair_weights(translator, ENGLISH[1], HINDI[1])
    layers = [
        pair_weights(translator, ENGLISH[1], HINDI[1], attention=f"layers.{n}") for n in (0, 1)
    ]
    torch.testing.assert_close(every, (layers[0] + layers[1]) / 2)
    assert not torch.allclose(layers[0], layers[1])
    with pytest.raises(UserError, match="'nose'; there are decoder.layers.0.cross_attention"):
        pair_weights(translator, ENGLISH[1], HINDI[1], attention="nose")


def test_a_word_is_aligned_to_the_largest_weight_except_eos():
    weights = torch.tensor([[0.1, 0.3, 0.6], [0.5, 0.2, 0.3], [0.2, 0.7, 0.1]])
    assert WordAttention((), weights).alignment == [(1, 0), (0, 1), (1, 2)]
    assert pharaoh([(1, 0), (0, 1), (1, 2)]) == "0-1 1-0 1-2"


def test_a_pair_is_aligned_by_forced_decoding():
    translator = translator_of(MODELS[0])
    [translation] = translator(ENGLISH[0], max_length=30)
    words = translation.text.split()
    pairs = align_pair(translator, ENGLISH[0], HINDI[0])
    assert [target for _, target in pairs] == list(range(len(HINDI[0].split())))
    assert all(0 <= source < len(ENGLISH[0].split()) for source, _ in pairs)
    reading = word_attention(translator, ENGLISH[0], translation)
    assert [word.text for word in reading.words] == words
    assert reading.weights.shape == (len(words), len(ENGLISH[0].split()) + 1)


def test_words_that_attend_only_to_eos_are_not_aligned():
    translator = translator_of(MODELS[2])
    weights = pair_weights(translator, ENGLISH[1], HINDI[1])
    assert (weights[:, -1] == 1).all()
    assert align_pair(translator, ENGLISH[1], HINDI[1]) == []
    weights = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.1, 0.9]])
    assert WordAttention((), weights).alignment == [(1, 1)]


@pytest.mark.parametrize(("source", "target"), [("", "है"), ("a dog", ""), (" ", " ")])
def test_an_empty_sentence_has_no_words(source, target):
    translator = translator_of(MODELS[0])
    assert align_pair(translator, source, target) == []
    assert pair_weights(translator, source, target).shape == (0, 1)


def test_a_placeholder_is_one_word():
    translator = replace(translator_of(MODELS[0]), placeholders=("tag", "number"))
    text = 'the cat <a href="x y"> 42'
    weights = pair_weights(translator, text, 'बिल्ली <a href="x y"> 42')
    assert weights.shape == (3, 5)
