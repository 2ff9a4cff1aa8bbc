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


def text_of(found, lang="en"):
    return " ".join(getattr(part, "text", "") for part in found.parts(Text(lang)))


def told(**changes):
    """What three heads did, of which the first was chosen."""
    usual = {
        "example": ("A had it. A saw B.", "B had it. A saw B."),
        "pairs": 10,
        "chosen": (0, 0, 0),
        "swings": torch.full((2, 1, 3), 0.1).double(),
        "given": torch.full((2, 2), 0.2).double(),
        "agree": 0.9,
        "accuracy": 1.0,
        "accuracies": torch.ones(1, 3).double(),
        "odds": 3.0,
        "all_odds": torch.full((1, 3), 3.0).double(),
    }
    return PhraseHeads(**{**usual, **changes})


def test_the_second_sentence_is_the_same_and_the_reading_is_not(translator):
    for pair in cued_pairs(translator, 40):
        one, other = (twin.english.split(". ") for twin in pair.both)
        assert one[1] == other[1]
        assert one[0] != other[0]
        doer, thing = one[1].split()[0], one[1].split()[-1].rstrip(".")
        assert one[0].startswith(f"{doer} had a")
        assert f" {thing}" in one[0]
        assert f" {thing}" in other[0]
        assert pair.doer.wanted[0].right == pair.other.wanted[0].wrong
        assert pair.doer.wanted[0].passes(pair.doer.hindi)
        assert not pair.doer.wanted[0].passes(pair.other.hindi)


def test_training_has_no_such_sentence_of_the_same_person_and_thing(translator):
    persons = {
        one.about: dict(one.slots)["B"].replace("=", "").split("+")
        for one in templates("attachment")
        if one.right
    }
    pairs = cued_pairs(translator, 40)
    assert len({one.doer.english for one in pairs}) == 40
    for pair in pairs:
        person = pair.other.english.split()[1]
        assert person not in persons[pair.doer.wanted[0].about]
        assert any(person in some for some in persons.values())


def test_a_head_without_head_is_one_whose_part_of_the_output_is_zero(translator):
    attention = translator.model.encoder.layers[0].self_attention
    states = torch.randn(1, 4, 16)
    memory = attention.remember(states, torch.ones(1, 4, dtype=torch.bool))
    with torch.no_grad():
        whole = attention(states, memory).context
        with without_head(attention, 1):
            without = attention(states, memory).context
        kept = attention.output.weight.clone()
        attention.output.weight[:, 8:] = 0
        by_hand = attention(states, memory).context
        attention.output.weight.copy_(kept)
        assert torch.allclose(without, by_hand, atol=1e-6)
        assert not torch.allclose(without, whole, atol=1e-3)
        assert torch.equal(attention(states, memory).context, whole)


def test_the_odds_of_the_other_reading_are_the_same_with_the_other_sign(translator):
    twins = [twin for pair in cued_pairs(translator, 3) for twin in pair.both]
    found = log_odds(translator, twins)
    turned = [
        replace(
            twin,
            words=(twin.words[0], tuple((_other(word), *rest) for word, *rest in twin.words[1])),
            wanted=(
                replace(twin.wanted[0], right=twin.wanted[0].wrong, wrong=twin.wanted[0].right),
            ),
        )
        for twin in twins
    ]
    assert torch.allclose(log_odds(translator, turned), -found)
    assert found.abs().min() > 0


def _other(word):
    return {"से": "वाले", "वाले": "से"}.get(word, word)


def test_heads_that_look_at_all_places_alike_do_not_swing(translator):
    even = primer_translator(seed=3)
    with torch.no_grad():
        for layer in even.model.encoder.layers:
            layer.self_attention.query.weight.zero_()
            layer.self_attention.query.bias.zero_()
    assert measure_phrase_heads(even, 8).swings.abs().max() < 1e-9
    assert measure_phrase_heads(translator, 8).swings.abs().max() > 1e-4


def test_half_of_the_pairs_choose_and_the_others_are_measured(translator):
    found = measure_phrase_heads(translator, 20)
    assert found.pairs == 10
    asking, layer, head = found.chosen
    assert found.swings.shape == (2, 2, 2)
    one, other = found.given[:, 0] - found.given[:, 1]
    assert float(one - other) / 2 == pytest.approx(float(found.swings[asking, layer, head]))
    assert found.accuracies.shape == found.all_odds.shape == (2, 2)
    pairs = cued_pairs(translator, 20)
    assert found.example[0] == pairs[1].doer.english
    odds = log_odds(translator, [twin for pair in pairs[1::2] for twin in pair.both])
    assert found.odds == pytest.approx(float(odds.mean()), abs=1e-5)


def test_the_verdict_on_the_head_follows_from_the_numbers():
    alone = text_of(told())
    assert "None of the encoder's heads, switched off alone, changes the answers much" in alone
    assert "and the decoder's, were not switched off" in alone
    assert "what one does not tell, the others do" not in alone
    assert "these are at the ceiling" in text_of(told(accuracy=1.0))
    lower = {"accuracy": 0.9, "accuracies": torch.full((1, 3), 0.9).double()}
    assert "at the ceiling" not in text_of(told(**lower))
    slight = torch.full((2, 1, 3), 0.02).double()
    assert "a shift that is steady but tiny" in text_of(told(swings=slight, agree=0.9))
    assert "steady but tiny" not in alone
    assert "बहुत छोटा" in text_of(told(swings=slight, agree=0.9), "hi")
    missed = torch.tensor([[0.5, 0.9, 1.0]]).double()
    assert "No other head is missed as much" in text_of(told(accuracies=missed))
    assert "1 of the 2 others is missed" in text_of(told(accuracies=missed[:, [1, 0, 2]]))
    odds = torch.tensor([[2.0, 1.0, 1.5]]).double()
    assert "2 of the 2 others are missed" in text_of(told(all_odds=odds))
    assert "0.10 less of its weight" in text_of(told(swings=-torch.full((2, 1, 3), 0.1).double()))
    for lang in ("en", "hi"):
        assert "0.10" in text_of(told(), lang)


def test_a_model_that_does_not_know_the_words_is_an_error(translator):
    strange = replace(
        translator, source=primer_translator().source.train(["a b"], kind="words", size=9)
    )
    with pytest.raises(UserError, match="knows the words of 0 pairs .* data.task=primer"):
        measure_phrase_heads(strange, 4)
