"""Probes of a deep encoder's layers."""

from dataclasses import replace

import pytest
import torch

from dhyan import config
from dhyan.batch import Tokens
from dhyan.config import DecodingOptions
from dhyan.data.primer import generate_sentences
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.probes import (
    FUTURE,
    PAST,
    PRESENT,
    ProbedFact,
    linear_probe,
    read_probe_sentences,
    tense_of,
)
from dhyan.lessons.lesson import LessonResult, Provenance
from dhyan.lessons.sequences.rnn_layer_probes import (
    LayerProbes,
    TrainedLayerProbes,
    layer_states,
    probe_layers,
    rnn_layer_probes,
)
from dhyan.lessons.snapshots import read_snapshot, write_snapshot
from dhyan.models.build import build_model
from dhyan.text.tokenizer import Tokenizer
from tests.lessons.untrained_models import HINDI, untrained_translator


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


WORD = ProbedFact("word", "word", 0.1, 1000, ((1.0, 0.9, 0.5),))
TENSE = ProbedFact("tense", "sentence", 0.4, 1000, ((0.4, 0.5, 0.7),))


def result_of(*facts, seeds=(1,)):
    return TrainedLayerProbes(facts, 2, 10, seeds, (1.0,) * len(seeds), (30.0,) * len(seeds))


def test_a_probe_finds_what_a_linear_map_can_and_nothing_in_noise():
    torch.manual_seed(0)
    states, answers = torch.randn(600, 8), torch.randint(3, (600,)) + 5
    separable = states.clone()
    separable[:, :3] += 6 * torch.nn.functional.one_hot(answers - 5)
    assert linear_probe((separable[:300], answers[:300]), (separable[300:], answers[300:])) > 0.99
    assert linear_probe((states[:300], answers[:300]), (states[300:], answers[300:])) < 0.5


def test_the_last_word_determines_the_tense():
    assert tense_of("वह खाना खाता है।") == PRESENT
    assert tense_of("वह घर गया था।") == PAST
    assert tense_of("राम ने सेब खाया।") == PAST
    assert tense_of("क्या वह कल आएगी?") == FUTURE
    assert tense_of("अंदर आओ।") is None


def test_the_verdict_follows_the_numbers():
    result = result_of(WORD, TENSE)
    assert "encode words holds;" in flat_text(result)
    assert "encode the sentence holds." in flat_text(result)
    flat = replace(TENSE, runs=((0.4, 0.5, 0.51),))
    assert "no significant change" in flat_text(result_of(WORD, flat))
    risen = replace(WORD, runs=((1.0, 0.5, 0.9),))
    reversed_result = result_of(risen, TENSE)
    assert "encode words does not hold for every word fact" in flat_text(reversed_result)
    assert "“निचली परतों में शब्द” का दावा शब्द के हर गुण के लिए सही नहीं है" in flat_text(
        reversed_result, "hi"
    )


def test_a_single_training_is_reported():
    assert "another seed may give another result" in flat_text(result_of(WORD))
    assert "दूसरे सीड" in flat_text(result_of(WORD), "hi")
    several = replace(WORD, runs=WORD.runs * 3)
    assert "another seed" not in flat_text(result_of(several, seeds=(1, 2, 3)))
    assert "with 3 seeds. Its loss is 1.00 and its chrF++ 30.0 on 30" in flat_text(
        result_of(several, seeds=(1, 2, 3))
    )


def test_models_that_learned_little_are_described_as_such():
    assert "learned the primer" not in flat_text(result_of(WORD))
    assert "hardly translate" not in flat_text(result_of(WORD))
    little = replace(result_of(WORD), chrfs=(9.0,))
    assert "it can hardly translate yet" in flat_text(little)
    assert "These encoders are barely trained" in flat_text(little)
    assert "वह अभी लगभग अनुवाद नहीं कर पाता" in flat_text(little, "hi")


def test_a_change_is_clear_only_if_the_trainings_agree_on_it():
    agreed = replace(TENSE, runs=((0.4, 0.50, 0.6), (0.4, 0.52, 0.63), (0.4, 0.48, 0.57)))
    assert agreed.shares == pytest.approx((0.4, 0.5, 0.6))
    assert agreed.change == pytest.approx(0.1)
    assert agreed.margin == pytest.approx(4.30 * 0.01 / 3**0.5)
    assert agreed.clear
    assert (agreed.lows[2], agreed.highs[2]) == (0.57, 0.63)
    torn = replace(TENSE, runs=((0.4, 0.5, 0.8), (0.4, 0.5, 0.45), (0.4, 0.5, 0.55)))
    assert torn.change == pytest.approx(0.1)
    assert not torn.clear
    assert not torn.as_claimed


@pytest.mark.slow
def test_every_layer_is_probed_and_the_embedding_identifies_its_word():
    result = rnn_layer_probes(layers=2, steps=2, width=24, pairs=200, sentences=150, seeds=[1, 2])
    assert [fact.name for fact in result.facts] == ["word", "word_before", "tense", "question"]
    assert all(len(fact.shares) == 3 for fact in result.facts)
    assert result.facts[0].shares[0] > 0.95
    assert all(len(fact.runs) == 2 for fact in result.facts)
    assert all(0 <= share <= 1 for fact in result.facts for share in fact.shares)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": 1}, "layers is 1: give a whole number of at least 2"),
        ({"sentences": 5}, "sentences is 5: give a whole number of at least 100"),
        ({"steps": 0}, "steps is 0"),
        ({"seeds": []}, "seeds: give at least one whole number in a list"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        rnn_layer_probes(**arguments)


def reader_of(**settings):
    """An encoder-decoder that knows the primer's words and has learned nothing."""
    torch.manual_seed(0)
    english = [
        pair.english
        for split in ("valid", "random")
        for pair, _ in zip(
            generate_sentences(split, seed=1, min_words=4, max_words=7, core_share=0.15),
            range(200),
            strict=False,
        )
    ]
    encoder = config.RNNEncoder(embedding_width=8, width=6, **settings)
    recipe = config.Recipe(
        encoder=encoder, decoder=config.BahdanauDecoder(embedding_width=4, width=6)
    )
    source = Tokenizer.train(english, kind="words", size=3000)
    target = Tokenizer.train(HINDI, kind="words", size=30)
    model = build_model(recipe, len(source), len(target)).eval()
    return Translator(model, source, target, options=DecodingOptions(max_length=3, beam=1))


@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
@pytest.mark.parametrize("both", [True, False])
def test_states_layer_by_layer_end_in_the_encoders_output(cell, both):
    reader = reader_of(cell=cell, layers=3, bidirectional=both)
    tokens = Tokens.pad([reader.encode("The boy sleeps."), reader.encode("Is the old boy here?")])
    states = layer_states(reader, tokens)
    assert len(states) == 4
    torch.testing.assert_close(states[-1], reader.model.encoder(tokens).states)
    assert not torch.allclose(states[1], states[2])


def test_every_layer_of_a_trained_encoder_is_probed_once_a_draw(tmp_path):
    result = rnn_layer_probes(
        model=reader_of(layers=2, bidirectional=True), sentences=200, seeds=[1, 2]
    )
    assert [fact.name for fact in result.facts] == ["word", "word_before", "tense", "question"]
    [training_facts] = result.trainings
    assert all(len(fact.runs) == 2 and len(fact.runs[0]) == 3 for fact in training_facts)
    assert training_facts[0].shares[0] > 0.95
    assert "A trained encoder with 2 GRU layers, bidirectional" in flat_text(result)
    assert "with a single training" in flat_text(result)
    write_snapshot(result, "depth", Provenance("a", "b", "c", "d", "e"), tmp_path)
    assert (
        read_snapshot("depth", LessonResult, tmp_path).trainings[0][0].count
        == training_facts[0].count
    )


def test_the_sentences_that_judge_a_probe_are_none_of_those_it_was_fitted_to():
    reader = reader_of()
    fit = read_probe_sentences(reader, "valid", 200, seed=1)
    test = read_probe_sentences(reader, "random", 200, seed=1, exclude=fit.pairs)
    assert len({pair.english for pair in fit.pairs}) == len(fit.pairs)
    assert not {pair.english for pair in fit.pairs} & {pair.english for pair in test.pairs}


def test_a_claim_holds_for_a_question_only_if_it_does_in_every_training():
    draws = ((0.4, 0.50, 0.6), (0.4, 0.52, 0.63), (0.4, 0.48, 0.57))
    rises = replace(TENSE, runs=draws)
    flat = replace(TENSE, runs=tuple((a, b, b) for a, b, _ in draws))
    falls = replace(WORD, runs=tuple((a, c, b) for a, b, c in draws))
    full = replace(WORD, runs=((1.0, 1.0, 1.0),) * 3)

    def of(*trainings):
        return LayerProbes(trainings, 2, "gru", True, 200, (98.0, 99.0)[: len(trainings)])

    both = of((falls, rises), (falls, rises))
    assert (
        "encode words holds; the claim that higher layers encode the sentence holds."
        in flat_text(both)
    )
    assert "2 trained encoders with 2 GRU layers each" in flat_text(both)
    assert "chrF++ 98.0–99.0" in flat_text(both)
    torn = of((full, rises), (full, flat))
    assert "encode words holds for 0 of 1 facts" in flat_text(torn)
    assert "encode the sentence holds for 0 of 1 facts" in flat_text(torn)
    assert "current word +0.000 ± 0.000, +0.000 ± 0.000, at the ceiling" in flat_text(torn)
    slight = replace(WORD, runs=((1.0, 0.99, 0.985), (1.0, 0.99, 0.984), (1.0, 0.99, 0.986)))
    assert "current word −0.005 ± 0.002, significant but tiny" in flat_text(of((slight, rises)))
    assert "significant but tiny" not in flat_text(both) + flat_text(torn)
    assert "1 गुणों में से 0 पर सही है" in flat_text(torn, "hi")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": 4}, "layers: the model brings its own; leave out layers or the model"),
        ({"pairs": 100}, "pairs: the model brings its own"),
        ({"model": "snapshot", "seeds": [4]}, "the snapshot has its own sentences and seeds"),
        ({"sentences": 100}, "of 100 sentences of the primer it knows the words of 0, and 50"),
    ],
)
def test_arguments_that_a_trained_model_determines_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        rnn_layer_probes(
            **{"model": untrained_translator("gru", "bahdanau-plain-rnn-one-hot"), **arguments}
        )


def test_an_encoder_of_no_recurrent_layers_is_an_error():
    with pytest.raises(UserError, match="give one of recurrent layers"):
        rnn_layer_probes(model=untrained_translator("transformer", "transformer"))
    with pytest.raises(UserError, match="reads backwards"):
        rnn_layer_probes(model=reader_of(reverse_source=True))
    with pytest.raises(UserError, match="differ in layers or cell"):
        probe_layers([reader_of(), reader_of(layers=2)], sentences=200, seeds=[1])
