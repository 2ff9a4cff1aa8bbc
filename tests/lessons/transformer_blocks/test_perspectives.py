"""Two readers, two summaries: what is measured, and that the verdict follows from it."""

from dataclasses import replace
from itertools import islice

import pytest
import torch

import dhyan
from dhyan import config
from dhyan.config import DecodingOptions
from dhyan.data.perspectives import READERS, is_held_out_paragraph, perspective_pairs
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.perspectives import (
    SummaryScores,
    held_out_texts,
    perspectives,
)
from dhyan.models.build import build_model
from dhyan.text.tokenizer import Tokenizer


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


def untrained_summarizer(**decoder):
    """A model that knows the words and has learned nothing."""
    torch.manual_seed(0)
    sizes = {"width": 8, "heads": 2, "feed_forward_width": 8, "layers": 1}
    recipe = config.Recipe(
        encoder=config.TransformerEncoder(**sizes),
        decoder=decoder.get("decoder") or config.TransformerDecoder(**sizes),
    )
    pairs = list(islice(perspective_pairs(seed=1), 400))
    source = Tokenizer.train([pair.source for pair in pairs], kind="words", size=300)
    target = Tokenizer.train([pair.target for pair in pairs], kind="words", size=50)
    model = build_model(recipe, len(source), len(target)).eval()
    return Translator(model, source, target, options=DecodingOptions(beam=1, max_length=8))


@pytest.fixture(scope="module")
def result():
    return perspectives()


def test_one_paragraph_has_two_summaries_and_two_attentions(result):
    engineer, shopper = result.views
    assert (engineer.reader, shopper.reader) == ("engineer", "shopper")
    assert tuple(view.summary for view in result.views) == result.references
    assert engineer.summary != shopper.summary
    for view in result.views:
        assert view.weights.shape == (len(view.summary_words), len(result.words))
        assert float(view.by_sentence.sum()) == pytest.approx(1, abs=1e-3)
        assert len(view.by_sentence) == len(result.sentences) + 1
    for lang in ("en", "hi"):
        assert all(view.summary in flat_text(result, lang) for view in result.views)


def test_the_verdict_follows_the_numbers(result):
    def scores(heads, share):
        return SummaryScores(heads, (share, share), (share, share), ((0.5, 0.2), (0.6, 0.1)))

    apart = replace(result, scores=(scores(4, 0.9), scores(4, 0.8), scores(1, 0.5)))
    assert "Every training with more heads is better" in flat_text(apart)
    assert "अधिक हेडों वाला हर प्रशिक्षण" in flat_text(apart, "hi")
    assert "do not attend to different sentences" in flat_text(apart)
    overlapping = replace(result, scores=(scores(4, 0.9), scores(4, 0.4), scores(1, 0.5)))
    assert "nothing is claimed about one head against many" in flat_text(overlapping)
    single = replace(result, scores=(scores(4, 0.9),))
    assert "against many" not in flat_text(single)
    assert "the 1 training summarises 90.0% exactly" in flat_text(single)


def test_test_paragraphs_are_held_out():
    trained = {pair.source for pair in islice(perspective_pairs(seed=1), 16_000)}
    for new in (False, True):
        for facts, sentences in held_out_texts(new=new):
            assert {facts.new_for(reader) for reader in READERS} == {new}
            assert f"engineer: {' '.join(sentences)}" not in trained
            assert new or is_held_out_paragraph(" ".join(sentences))


def test_a_model_and_a_paragraph_of_ones_own_are_measured(monkeypatch):
    monkeypatch.setattr("dhyan.lessons.transformer_blocks.perspectives.TESTED", 3)
    monkeypatch.setattr("dhyan.lessons.transformer_blocks.perspectives.WATCHED", 2)
    paragraph = "It hums like a plane. It costs less than a lamp."
    result = perspectives(paragraph, model=untrained_summarizer())
    assert result.sentences == ("It hums like a plane.", "It costs less than a lamp.")
    assert result.words[:5] == ("It", "hums", "like", "a", "plane")
    assert len(result.views[0].by_sentence) == 3
    assert result.heads == 2
    assert result.novel == 1
    assert result.references == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"paragraph": "It hums."}, "the snapshot has its own; give model=RUN too"),
        ({"paragraph": "A zebra hums.", "model": untrained_summarizer()}, "does not know all"),
        (
            {"model": untrained_summarizer(decoder=config.RNNDecoder(width=8, embedding_width=8))},
            "no attention to the source",
        ),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        dhyan.lessons.perspectives(**arguments)
