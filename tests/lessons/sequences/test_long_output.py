"""Six words in, hundreds out: exactness, limits, and the heads that keep the place."""

import random
from dataclasses import replace

import pytest
import torch

import dhyan
from dhyan import config
from dhyan.attention_maps import AttentionMap
from dhyan.config import DecodingOptions
from dhyan.data.synthetic import COLOURS, HINDI, UNPAIRED, counting_pair, is_held_out_count
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.lessons.sequences.long_output import (
    VERSES,
    CountAccuracy,
    cross_place_head,
    default_limit,
    held_out_pair,
    long_output,
    self_place_head,
)
from dhyan.models.build import build_model
from dhyan.text.tokenizer import Tokenizer


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


@pytest.fixture(scope="module")
def result():
    return long_output()


def untrained_counter():
    """A Transformer that knows the words and has learned nothing."""
    torch.manual_seed(0)
    sizes = {"width": 8, "heads": 2, "feed_forward_width": 8, "layers": 1}
    recipe = config.Recipe(
        encoder=config.TransformerEncoder(**sizes), decoder=config.TransformerDecoder(**sizes)
    )
    words = " ".join([*COLOURS, "to", *map(str, range(1, 100))])
    source = Tokenizer.train([words], kind="words", size=300)
    target = Tokenizer.train([" ".join((*COLOURS.values(), *HINDI))], kind="words", size=300)
    model = build_model(recipe, len(source), len(target)).eval()
    return Translator(model, source, target, options=DecodingOptions(beam=1))


def test_six_words_give_hundreds_and_nothing_is_cut(result):
    assert result.source_length == 6
    cut, full = result.searches
    assert (cut.limit, cut.length, cut.finished) == (68, 68, False)
    assert (full.length, full.finished, full.exact) == (240, True, True)
    assert result.output == result.reference
    assert "equals the reference word by word" in flat_text(result)
    assert "मानक आउटपुट के बराबर है" in flat_text(result, "hi")


def test_the_verdict_follows_the_numbers(result):
    def changed(exact, tested, errors):
        accuracies = tuple(
            CountAccuracy(4 * verses, exact, tested, errors if 4 * verses > 240 else ())
            for verses in VERSES
        )
        counts = tuple(replace(counts, accuracies=accuracies) for counts in result.counts)
        return flat_text(replace(result, counts=counts))

    never = changed(0, 4, (250, 270, 290))
    assert "0 of 56 outputs are exact" in never
    assert "From 260 words on not one is" in never
    assert "the first wrong word comes after 270 words" in never
    always = changed(4, 4, ())
    assert "56 of 56 outputs are exact" in always
    assert "not one is" not in always
    assert "first wrong word" not in always


def test_test_sentences_are_held_out():
    rng = random.Random(1)
    for together in (True, False):
        pairs = [held_out_pair(rng, 20, seen_together=together) for _ in range(30)]
        assert all(is_held_out_count(pair.source) for pair in pairs)
        assert all(({*pair.source.split()} >= UNPAIRED) != together for pair in pairs)
        assert {len(pair.target.split()) for pair in pairs} == {80}


def test_the_head_that_keeps_the_place_is_found():
    pair = counting_pair(("red", "blue", "green"), 5, 8)
    source, target = (*pair.source.split(), "</s>"), (*pair.target.split(), "</s>")
    weights = torch.full((2, len(target), len(source)), 0.01)
    for row in range(16):
        weights[1, row, 3 if row % 4 == 0 else row % 4 - 1] = 1.0
    [best] = [
        cross_place_head([AttentionMap("a", "cross", 1, source, target, weights)], pair.source)
    ]
    assert (best.layer, best.head, best.hits, best.steps) == (1, 2, 12, 12)
    inputs = ("<s>", *pair.target.split())
    looks_back = torch.zeros(2, len(inputs), len(inputs))
    for row in range(len(inputs)):
        looks_back[0, row, row] = 1.0
        looks_back[1, row, max(0, row - 3)] = 1.0
    own = self_place_head([AttentionMap("b", "decoder_self", 2, inputs, inputs, looks_back)])
    assert (own.layer, own.head, own.distance, own.hits) == (2, 2, 4, own.steps)


def test_a_model_of_ones_own_is_measured(monkeypatch):
    monkeypatch.setattr("dhyan.lessons.sequences.long_output.VERSES", (1, 61))
    monkeypatch.setattr("dhyan.lessons.sequences.long_output.TESTED", 2)
    translator = untrained_counter()
    result = long_output("pink white black 3 to 4", model=translator)
    assert default_limit(translator, result.sentence) == 68
    assert result.reference == "तीन गुलाबी सफ़ेद काला चार गुलाबी सफ़ेद काला"
    assert not result.searches[1].exact
    assert "differs from the reference" in flat_text(result)
    assert [counts.seen_together for counts in result.counts] == [True, False]
    assert all(part.exact == 0 for counts in result.counts for part in counts.accuracies)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("red blue green 5 to 6", "the snapshot has its own"),
        ("I drink tea", "the snapshot has its own"),
    ],
)
def test_the_snapshot_has_its_own_sentence(sentence, message):
    with pytest.raises(UserError, match=message):
        dhyan.lessons.long_output(sentence)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("I drink hot tea", "give three colours and two numbers"),
        ("red red green 5 to 6", "give three colours and two numbers"),
        ("red blue green 9 to 6", "count upwards"),
        ("red blue green 5 to 600", "count upwards"),
    ],
)
def test_a_sentence_that_is_no_count_is_an_error(sentence, message):
    with pytest.raises(UserError, match=message):
        long_output(sentence, model=untrained_counter())
