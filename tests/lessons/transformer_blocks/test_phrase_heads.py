"""Who holds the telescope: sentences that a cue decides, and heads switched off one by one."""

from dataclasses import replace

import pytest
import torch

from dhyan.data.primer.templates import templates
from dhyan.errors import UserError
from dhyan.insight.ablation import without_head
from dhyan.lessons.catalogue import Text
from dhyan.lessons.transformer_blocks.phrase_heads import (
    PhraseHeads,
    cued_pairs,
    log_odds,
    measure_phrase_heads,
)
from tests.lessons.untrained_models import primer_translator


@pytest.fixture(scope="module")
def translator():
    return primer_translator()


def text_of(result, lang="en"):
    return " ".join(getattr(part, "text", "") for part in result.blocks(Text(lang)))


def phrase_heads(**changes):
    """A result of three heads, of which the first was chosen."""
    defaults = {
        "example": ("A had it. A saw B.", "B had it. A saw B."),
        "pairs": 10,
        "best_head": (0, 0, 0),
        "swings": torch.full((2, 1, 3), 0.1).double(),
        "weights": torch.full((2, 2), 0.2).double(),
        "agreement": 0.9,
        "accuracy": 1.0,
        "ablated_accuracies": torch.ones(1, 3).double(),
        "log_odds": 3.0,
        "ablated_log_odds": torch.full((1, 3), 3.0).double(),
    }
    return PhraseHeads(**{**defaults, **changes})


def test_the_second_sentence_is_the_same_and_the_reading_is_not(translator):
    for pair in cued_pairs(translator, 40):
        doer_sentences, other_sentences = (
            sentence_pair.english.split(". ") for sentence_pair in pair.both
        )
        assert doer_sentences[1] == other_sentences[1]
        assert doer_sentences[0] != other_sentences[0]
        doer, object_word = doer_sentences[1].split()[0], doer_sentences[1].split()[-1].rstrip(".")
        assert doer_sentences[0].startswith(f"{doer} had a")
        assert f" {object_word}" in doer_sentences[0]
        assert f" {object_word}" in other_sentences[0]
        assert pair.doer.checks[0].right == pair.other.checks[0].wrong
        assert pair.doer.checks[0].passes(pair.doer.hindi)
        assert not pair.doer.checks[0].passes(pair.other.hindi)


def test_pairs_use_persons_not_paired_with_the_object_in_training(translator):
    persons = {
        template.about: dict(template.slots)["B"].replace("=", "").split("+")
        for template in templates("attachment")
        if template.right
    }
    pairs = cued_pairs(translator, 40)
    assert len({template.doer.english for template in pairs}) == 40
    for pair in pairs:
        person = pair.other.english.split()[1]
        assert person not in persons[pair.doer.checks[0].about]
        assert any(person in group for group in persons.values())


def test_ablating_a_head_zeroes_its_part_of_the_output(translator):
    attention = translator.model.encoder.layers[0].self_attention
    states = torch.randn(1, 4, 16)
    memory = attention.remember(states, torch.ones(1, 4, dtype=torch.bool))
    with torch.no_grad():
        full = attention(states, memory).context
        with without_head(attention, 1):
            without = attention(states, memory).context
        weight = attention.output.weight.clone()
        attention.output.weight[:, 8:] = 0
        by_hand = attention(states, memory).context
        attention.output.weight.copy_(weight)
        assert torch.allclose(without, by_hand, atol=1e-6)
        assert not torch.allclose(without, full, atol=1e-3)
        assert torch.equal(attention(states, memory).context, full)


def test_log_odds_of_the_other_reading_have_the_opposite_sign(translator):
    sentence_pairs = [
        sentence_pair for pair in cued_pairs(translator, 3) for sentence_pair in pair.both
    ]
    odds = log_odds(translator, sentence_pairs)
    swapped = [
        replace(
            sentence_pair,
            words=(
                sentence_pair.words[0],
                tuple((_other(word), *rest) for word, *rest in sentence_pair.words[1]),
            ),
            checks=(
                replace(
                    sentence_pair.checks[0],
                    right=sentence_pair.checks[0].wrong,
                    wrong=sentence_pair.checks[0].right,
                ),
            ),
        )
        for sentence_pair in sentence_pairs
    ]
    assert torch.allclose(log_odds(translator, swapped), -odds)
    assert odds.abs().min() > 0


def _other(word):
    return {"से": "वाले", "वाले": "से"}.get(word, word)


def test_uniform_heads_do_not_swing(translator):
    even = primer_translator(seed=3)
    with torch.no_grad():
        for layer in even.model.encoder.layers:
            layer.self_attention.query.weight.zero_()
            layer.self_attention.query.bias.zero_()
    assert measure_phrase_heads(even, 8).swings.abs().max() < 1e-9
    assert measure_phrase_heads(translator, 8).swings.abs().max() > 1e-4


def test_half_of_the_pairs_choose_and_the_others_are_measured(translator):
    measured = measure_phrase_heads(translator, 20)
    assert measured.pairs == 10
    query, layer, head = measured.best_head
    assert measured.swings.shape == (2, 2, 2)
    doer_shift, other_shift = measured.weights[:, 0] - measured.weights[:, 1]
    assert float(doer_shift - other_shift) / 2 == pytest.approx(
        float(measured.swings[query, layer, head])
    )
    assert measured.ablated_accuracies.shape == measured.ablated_log_odds.shape == (2, 2)
    pairs = cued_pairs(translator, 20)
    assert measured.example[0] == pairs[1].doer.english
    odds = log_odds(
        translator, [sentence_pair for pair in pairs[1::2] for sentence_pair in pair.both]
    )
    assert measured.log_odds == pytest.approx(float(odds.mean()), abs=1e-5)


def test_the_verdict_on_the_head_follows_from_the_numbers():
    alone = text_of(phrase_heads())
    assert "No single encoder head changes the outputs much" in alone
    assert "and decoder heads were not ablated" in alone
    assert "what one does not tell, the others do" not in alone
    assert "the accuracy is at the ceiling" in text_of(phrase_heads(accuracy=1.0))
    lower = {"accuracy": 0.9, "ablated_accuracies": torch.full((1, 3), 0.9).double()}
    assert "at the ceiling" not in text_of(phrase_heads(**lower))
    slight = torch.full((2, 1, 3), 0.02).double()
    assert "the shift is consistent but tiny" in text_of(phrase_heads(swings=slight, agreement=0.9))
    assert "steady but tiny" not in alone
    assert "बहुत छोटा" in text_of(phrase_heads(swings=slight, agreement=0.9), "hi")
    accuracies = torch.tensor([[0.5, 0.9, 1.0]]).double()
    assert "No other head has as large an effect" in text_of(
        phrase_heads(ablated_accuracies=accuracies)
    )
    assert "1 of the 2 other heads has an equal" in text_of(
        phrase_heads(ablated_accuracies=accuracies[:, [1, 0, 2]])
    )
    odds = torch.tensor([[2.0, 1.0, 1.5]]).double()
    assert "2 of the 2 other heads have an equal" in text_of(phrase_heads(ablated_log_odds=odds))
    assert "0.10 less weight" in text_of(phrase_heads(swings=-torch.full((2, 1, 3), 0.1).double()))
    for lang in ("en", "hi"):
        assert "0.10" in text_of(phrase_heads(), lang)


def test_a_model_that_does_not_know_the_words_is_an_error(translator):
    strange = replace(
        translator, source=primer_translator().source.train(["a b"], kind="words", size=9)
    )
    with pytest.raises(UserError, match="knows the words of 0 pairs .* data.synthetic=primer"):
        measure_phrase_heads(strange, 4)
