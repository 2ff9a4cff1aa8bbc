"""Probes of paragraphs: facts of the last sentence and of the whole, and the guess they must beat."""

from dataclasses import replace

import pytest
import torch

from dhyan import config
from dhyan.config import DecodingOptions, load_recipe
from dhyan.data.primer.paragraphs import paragraph_pair, person_of, person_sentences
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.paragraph_probes import (
    PARAGRAPH_FACTS,
    guess_from_last_sentence,
    probe_paragraph_facts,
    read_probe_paragraphs,
)
from dhyan.insight.probes import PAST, ProbedFact, tense_of
from dhyan.lessons.sequences.paragraph_probes import ParagraphProbes, paragraph_probes
from dhyan.models.build import build_model
from dhyan.text.tokenizer import Tokenizer
from experiments.paragraph_probes import LAYERS, WIDTH, runs, write_paragraphs
from tests.lessons.untrained_models import HINDI

SENTENCES = 110


@pytest.fixture(scope="module")
def reader():
    """An encoder-decoder that knows the words and has learned nothing."""
    return reader_of()


def reader_of(**settings):
    torch.manual_seed(0)
    english = [
        pair.english
        for split in ("valid", "random")
        for pair in person_sentences(split, SENTENCES, seed=1)
    ]
    recipe = config.Recipe(
        encoder=config.RNNEncoder(embedding_width=8, width=6, layers=2, **settings),
        decoder=config.BahdanauDecoder(embedding_width=4, width=6),
    )
    source = Tokenizer.train(english, kind="words", size=3000)
    target = Tokenizer.train(HINDI, kind="words", size=30)
    model = build_model(recipe, len(source), len(target)).eval()
    return Translator(model, source, target, options=DecodingOptions(max_length=3, beam=1))


def read(reader, split="valid", seed=1):
    return read_probe_paragraphs(reader, split, 300, sentences=SENTENCES, seed=seed)


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


def test_facts_are_those_of_the_paragraph(reader):
    part = read(reader)
    for at, paragraph in enumerate(part.paragraphs):
        tenses = [tense_of(pair.hindi) for pair in paragraph]
        first, *_, last = paragraph
        assert part.facts["tense"][at] == tenses[-1]
        assert part.facts["negation"][at] == (" not " in last.english)
        assert part.facts["mostly_past"][at] == (tenses.count(PAST) >= 2)
        assert part.facts["same_person"][at] == (person_of(first) == person_of(last))
    assert len({int(person) for person in part.facts["first_person"]}) > 4


def test_the_probed_state_is_that_of_the_last_word(reader):
    part = read(reader)
    words = paragraph_pair(part.paragraphs[0]).source.rstrip(".").split()
    last = int(part.tokens.lengths[0]) - 1
    assert reader.source.plain(int(part.tokens.ids[0, last])) == words[-1].rstrip(".").lower()


def test_probes_are_judged_on_sentences_they_were_not_fitted_to(reader):
    fit, test = (
        {pair.english for paragraph in read(reader, split).paragraphs for pair in paragraph}
        for split in ("valid", "random")
    )
    assert not fit & test


def test_the_guess_reads_the_last_sentence_and_nothing_before_it(reader):
    fit, test = read(reader, seed=1), read(reader, seed=2)
    assert guess_from_last_sentence(fit, test, "tense") == 1
    assert guess_from_last_sentence(fit, test, "negation") == 1
    majority = float(test.facts["mostly_past"].double().mean())
    assert 1 > guess_from_last_sentence(fit, test, "mostly_past") > max(majority, 1 - majority)
    assert guess_from_last_sentence(fit, test, "same_person") < 0.65


def test_a_fact_that_the_states_hold_is_found_and_one_that_they_lack_is_not(reader):
    fit, test = read(reader, "valid"), read(reader, "random")

    def states(part):
        torch.manual_seed(1)
        noise = torch.randn(*part.tokens.ids.shape, 12)
        noise[..., 0] += 8 * part.facts["same_person"][:, None]
        return [noise]

    facts = {
        fact.name: fact for fact in probe_paragraph_facts(fit, test, states(fit), states(test))
    }
    assert facts["same_person"].shares[0] > 0.98
    assert facts["tense"].shares[0] < 0.7
    assert [fact.level for fact in facts.values()] == ["word"] * 2 + ["sentence"] * 2 + [
        "paragraph"
    ] * 3


WORD = ProbedFact("word", "word", 0.1, 1000, ((1.0, 0.9, 0.7, 0.50), (1.0, 0.9, 0.7, 0.51)))
TENSE = ProbedFact("tense", "sentence", 0.4, 1000, ((0.4, 0.5, 0.7, 0.5), (0.4, 0.5, 0.71, 0.5)))
SAME = ProbedFact(
    "same_person", "paragraph", 0.5, 1000, ((0.5, 0.6, 0.5, 0.50), (0.5, 0.6, 0.5, 0.51))
)


def result_of(*facts, **values):
    return ParagraphProbes((facts, facts), {"same_person": 0.52}, 3, "LSTM", 6, 200, (50.0, 60.0),
                           **values)  # fmt: skip


def test_the_verdict_follows_the_layer_in_which_a_fact_is_read_best():
    text = flat_text(result_of(WORD, TENSE, SAME, trained_on=1000))
    assert "2 encoders of 3 LSTM layers of width 6, trained without attention on 1,000" in text
    assert "lowest layer for words holds; a middle layer for the last sentence holds" in text
    assert "the highest layer for the paragraph holds for 0 of 1 facts" in text
    assert "same person 0.520, 0.600 (layer 1)" in text
    assert "“अनुच्छेद सबसे ऊपरी परत में” 1 गुणों में से 0 पर सही है" in flat_text(
        result_of(WORD, TENSE, SAME), "hi"
    )
    risen = replace(SAME, runs=((0.5, 0.5, 0.6, 0.8),) * 2)
    swapped = result_of(replace(WORD, runs=risen.runs), replace(TENSE, runs=risen.runs), risen)
    assert [swapped.claimed(level) for level in ("word", "sentence", "paragraph")] == [
        (0, 1),
        (0, 1),
        (1, 1),
    ]


def test_a_claim_must_hold_in_every_training():
    other = replace(TENSE, runs=((0.4, 0.8, 0.5, 0.5),) * 2)
    torn = replace(result_of(TENSE), trainings=((TENSE,), (other,)))
    assert result_of(TENSE).claimed("sentence") == (1, 1)
    assert torn.claimed("sentence") == (0, 1)


def test_a_model_of_ones_own_is_probed(reader):
    result = paragraph_probes(reader, paragraphs=120, sentences=SENTENCES, seeds=[1])
    assert [fact.name for fact in result.facts][4:] == list(PARAGRAPH_FACTS)
    assert all(len(fact.shares) == 3 for fact in result.facts)
    assert "An encoder of 2 GRU layers of width 6: chrF++" in flat_text(result)


def test_wrong_models_are_errors():
    with pytest.raises(UserError, match="its encoder is bidirectional"):
        paragraph_probes(reader_of(bidirectional=True))
    with pytest.raises(UserError, match="the snapshot has its own paragraphs and seeds"):
        paragraph_probes(seeds=[1])


def test_the_trainings_differ_in_their_seed_alone(tmp_path):
    recipes = [load_recipe(*run) for run in runs(tmp_path).values()]
    assert {recipe.encoder.layers for recipe in recipes} == {LAYERS}
    assert {recipe.decoder.width for recipe in recipes} == {WIDTH}
    assert not any(recipe.decoder.attends for recipe in recipes)
    assert len({recipe.training.seed for recipe in recipes}) == len(recipes)
    assert all(recipe.training == replace(recipes[0].training, seed=recipe.training.seed)
               for recipe in recipes)  # fmt: skip


def test_training_paragraphs_are_distinct_and_both_sides_have_as_many_lines(tmp_path, monkeypatch):
    sizes = {"train": (60, 200), "valid": (20, 20)}
    monkeypatch.setattr("experiments.paragraph_probes.SPLITS", sizes)
    write_paragraphs(tmp_path)
    english, hindi = (
        (tmp_path / f"train.{language}").read_text(encoding="utf-8").splitlines()
        for language in ("en", "hi")
    )
    assert len(english) == len(hindi) == len(set(english)) == 200
    assert {line.count(".") for line in english} == {1, 2, 3}
