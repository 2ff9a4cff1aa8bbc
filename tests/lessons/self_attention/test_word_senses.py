"""The meanings of a word in an encoder's vectors."""

from dataclasses import replace
from itertools import islice

import pytest
import torch

from dhyan import config
from dhyan.batch import Tokens
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.probes import (
    ProbeResult,
    between_group_variance,
    logistic,
    principal_plane,
    reinitialised_encoder,
    wilson,
    word_vectors,
)
from dhyan.lessons.self_attention.word_senses import (
    STATIC,
    UNTRAINED,
    WITH_POSITION,
    WORDS,
    contexts,
    sense_of,
    word_senses,
)
from dhyan.models.build import build_model
from dhyan.text.tokenizer import Tokenizer
from tests.laws.family import DECODERS, ENCODERS
from tests.lessons.untrained_models import untrained_translator


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


@pytest.fixture(scope="module")
def translator():
    """An untrained Transformer whose vocabulary covers the primer's sentences with bank."""
    torch.manual_seed(0)
    texts = [
        pair.english
        for novel in (False, True)
        for pair in islice(contexts("bank", novel=novel, seed=1), 300)
    ]
    encoder, decoder = ENCODERS["transformer"], DECODERS["transformer"]
    recipe = config.Recipe(encoder=encoder, decoder=decoder, data=config.Data(max_tokens=40))
    source, target = (Tokenizer.train(texts, kind="words", size=400) for _ in range(2))
    return Translator(build_model(recipe, len(source), len(target)).eval(), source, target)


@pytest.fixture(scope="module")
def probes(translator):
    """Probes of one word in that model."""
    return word_senses(translator, words="bank", sentences=100)


def test_a_linear_probe_learns_only_separable_classes():
    torch.manual_seed(0)
    noise, labels = torch.randn(400, 6), torch.arange(400) % 2
    parted = noise.clone()
    parted[:, 0] += 8 * labels
    assert logistic((parted[:200], labels[:200]), (parted[200:], labels[200:])).share > 0.99
    assert logistic((noise[:200], labels[:200]), (noise[200:], labels[200:])).share < 0.6


def test_on_equal_vectors_a_probe_predicts_the_majority_class():
    same, labels = torch.ones(10, 3), torch.tensor([1, 1, 1, 1, 1, 1, 1, 0, 0, 0])
    assert logistic((same, labels), (same, labels)) == ProbeResult(7, 10)


def test_wilsons_interval_is_that_of_the_books():
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


def test_between_group_variance_is_1_for_equal_vectors_and_0_for_equal_means():
    labels = torch.tensor([0, 0, 1, 1])
    assert between_group_variance(
        torch.tensor([[1.0], [1.0], [3.0], [3.0]]), labels
    ) == pytest.approx(1)
    assert between_group_variance(
        torch.tensor([[1.0], [3.0], [1.0], [3.0]]), labels
    ) == pytest.approx(0)
    assert between_group_variance(torch.ones(4, 2), labels) == 0


def test_the_plane_keeps_the_distances_of_points_in_a_plane():
    points = torch.tensor([[1.0, 2.0, 0.0], [4.0, 6.0, 0.0], [0.0, 0.0, 0.0]])
    coordinates, explained = principal_plane(points)
    assert torch.allclose(
        torch.cdist(coordinates, coordinates), torch.cdist(points, points).double()
    )
    assert float(explained.sum()) == pytest.approx(1)


def test_training_and_test_sentences_pair_words_differently():
    first, other = (
        {pair.english for pair in islice(contexts("bank", novel=novel, seed=1), 200)}
        for novel in (False, True)
    )
    assert first.isdisjoint(other)
    assert {sense_of(pair) for pair in islice(contexts("court", novel=True, seed=1), 60)} == {
        0,
        1,
        2,
    }


def test_a_static_vector_gives_no_more_than_chance(probes):
    [word] = probes.words
    static = word.level(STATIC)
    assert static.probe.share == static.few == word.chance_level == 0.5
    assert static.between_variance == 0
    assert (
        word.level(WITH_POSITION).between_variance
        < word.last.between_variance + word.level(UNTRAINED).between_variance
    )


def test_even_an_untrained_encoder_mixes_its_sentence_in(probes):
    [word] = probes.words
    assert word.level(UNTRAINED).probe.interval[0] > word.level(WITH_POSITION).probe.share
    assert "An untrained encoder also mixes in the sentence" in flat_text(probes)


def test_the_last_vectors_are_the_encoder_states(translator):
    text = "Ravi saw the bank and then cashed the cheque."
    levels = word_vectors(translator.model.encoder, translator, [text], "bank")
    with torch.no_grad():
        states = translator.model.encoder(Tokens.pad([translator.encode(text)])).states[0]
    assert torch.allclose(levels[-1][0], states[3].double(), atol=1e-6)


def test_reinitialising_copies_the_encoder(translator):
    encoder = translator.model.encoder
    before = encoder.token_embedding.weight.clone()
    fresh = reinitialised_encoder(encoder, 1)
    assert not torch.equal(fresh.token_embedding.weight, before)
    assert torch.equal(encoder.token_embedding.weight, before)
    assert torch.equal(
        fresh.token_embedding.weight, reinitialised_encoder(encoder, 1).token_embedding.weight
    )


def test_the_snapshot_separates_bank_by_meaning():
    bank = word_senses().words[0]
    assert bank.word == "bank"
    assert bank.level(STATIC).probe.share == bank.chance_level
    assert bank.last.probe.interval[0] > bank.level(WITH_POSITION).probe.interval[1]
    assert "the gain comes from the context" in flat_text(word_senses())


def test_a_position_probe_below_chance_is_no_neutral_baseline(probes):
    assert "The position alone is below chance for bank 0.41" in flat_text(word_senses())
    assert "The neutral baseline is therefore chance, not position." in flat_text(word_senses())
    assert "तटस्थ आधार स्थिति नहीं, संयोग है" in flat_text(word_senses(), "hi")
    [word] = probes.words
    levels = tuple(
        replace(level, probe=ProbeResult(50, 100)) if level.name == WITH_POSITION else level
        for level in word.levels
    )
    even = replace(probes, words=(replace(word, levels=levels),))
    assert "below chance" not in flat_text(even)


def test_the_positions_of_date_differ_by_meaning_only_in_the_test_set():
    def early(sense, *, novel):
        pairs = islice(contexts("date", novel=novel, seed=1), 300)
        positions = [
            pair.english.split().index("date") for pair in pairs if sense_of(pair) == sense
        ]
        return sum(position < 4 for position in positions) / len(positions)

    assert abs(early(0, novel=False) - early(1, novel=False)) < 0.15
    assert abs(early(0, novel=True) - early(1, novel=True)) > 0.5


def test_the_verdict_follows_the_numbers(probes):
    [word] = probes.words
    last = next(level for level in word.levels if level.name == word.last.name)

    def with_few(*shares):
        words = []
        for share in shares:
            taught = replace(last, few=share, few_error=0.001)
            levels = tuple(taught if level == last else level for level in word.levels)
            words.append(replace(word, levels=levels))
        return flat_text(replace(probes, words=tuple(words)))

    assert "the probe is significantly better after" in with_few(1.0)
    assert "the probe is significantly worse after" in with_few(0.3)
    assert "separates the senses of every word" in with_few(1.0, 1.0)
    assert "separates the senses of most words, not of all" in with_few(1.0, 1.0, 0.3)
    assert "significantly worse for 1" in with_few(1.0, 1.0, 0.3)
    assert "For most words training does not separate the senses" in with_few(1.0, 0.3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"words": "bank"}, "the snapshot is of bank, bat"),
        ({"model": "untrained", "words": "house"}, "'house' has no several meanings"),
        ({"model": "untrained", "words": "bank"}, "this model does not know 'bank'"),
        ({"model": "untrained", "sentences": 3}, "sentences is 3: give a whole number of at least"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    if "model" in arguments:
        arguments = {**arguments, "model": untrained_translator("transformer", "transformer")}
    with pytest.raises(UserError, match=message):
        word_senses(**arguments)


def test_a_recurrent_encoder_is_an_error():
    recurrent = next(name for name in ENCODERS if "transformer" not in name)
    with pytest.raises(UserError, match="its encoder is not a Transformer's"):
        word_senses(untrained_translator(recurrent, "transformer"), words=WORDS[0])
