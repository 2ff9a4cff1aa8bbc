"""Heads side by side: what two can hold and one cannot, and what a trained encoder's look at."""

import pytest
import torch

from dhyan import config
from dhyan.attention import MultiHeadAttention
from dhyan.data.primer import generate_sentences
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.head_statistics import distance, entropy, previous_share, target_share
from dhyan.insight.lesson_blocks import Table
from dhyan.lessons.transformer_blocks.multi_head import multi_head
from dhyan.models.build import build_model
from dhyan.text.tokenizer import Tokenizer

CHICKEN = "The chicken is ready to eat"
WIDTH = 6


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def untrained(tokenizer_kind="words", encoder=None):
    """A translator that has learned its words and nothing else."""
    sentences = [
        pair.english for pair, _ in zip(generate_sentences("random"), range(60), strict=False)
    ]
    tokenizer = Tokenizer.train(sentences, kind=tokenizer_kind, size=400)
    sizes = {"width": 16, "heads": 2, "feed_forward_width": 32, "layers": 3}
    recipe = config.Recipe(
        encoder=encoder or config.TransformerEncoder(**sizes),
        decoder=config.TransformerDecoder(**sizes),
    )
    return Translator(build_model(recipe, len(tokenizer), 20), tokenizer, tokenizer)


def test_two_heads_hold_two_readings_and_a_single_head_splits_its_weight():
    result = multi_head()
    telescope, saw, astronomer = 7, 2, 4
    assert result.single_head_weights[telescope, [saw, astronomer]].tolist() == pytest.approx(
        [0.484] * 2, abs=1e-3
    )
    assert result.weights[0, telescope, saw] > 0.98
    assert result.weights[1, telescope, astronomer] > 0.98
    assert result.outputs[telescope].tolist() == pytest.approx([0, 0.988, 0.988, 0], abs=2e-3)
    assert "each represents one reading" in result.text().replace("\n", " ")


def test_every_row_sums_to_1():
    result = multi_head("a b c", vectors=draw(3, WIDTH) * 10, count=3)
    for table in (result.single_head_weights, *result.weights):
        assert torch.allclose(table.sum(-1), torch.ones(3, dtype=torch.float64))


def test_the_readings_of_the_chicken_look_at_the_same_word():
    result = multi_head(CHICKEN)
    eat, chicken = 5, 1
    assert torch.equal(result.weights[0], result.weights[1])
    assert result.weights[:, eat].argmax(-1).tolist() == [chicken, chicken]
    assert "attention weights alone cannot distinguish them" in result.text().replace("\n", " ")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_projects_multi_head_attention_with_the_same_weights_gives_the_same(count):
    x, output = draw(4, WIDTH), draw(WIDTH, WIDTH)
    maps = [draw(count, WIDTH, WIDTH // count) for _ in range(3)]
    result = multi_head(
        "a b c d",
        vectors=x,
        w_query=list(maps[0]),
        w_key=list(maps[1]),
        w_value=list(maps[2]),
        w_output=output,
    )
    module = MultiHeadAttention(WIDTH, heads=count).double()
    wide = [matrix.transpose(0, 1).flatten(1) for matrix in maps]
    with torch.no_grad():
        parts = (module.query, module.key, module.value, module.output)
        for part, weight in zip(parts, (*wide, output), strict=True):
            part.weight.copy_(weight.T)
            part.bias.zero_()
    memory = module.remember(x[None], torch.ones(1, 4, dtype=torch.bool))
    assert torch.allclose(module(x[None], memory).context[0], result.outputs)
    assert result.joined.shape == (4, WIDTH)


def test_eight_heads_of_width_64_are_as_wide_as_512():
    result = multi_head("a b", vectors=draw(2, 512), count=8)
    assert result.queries.shape == result.keys.shape == result.values.shape == (8, 2, 64)
    assert result.joined.shape == result.single_head_outputs.shape == (2, 512)


def test_with_count_1_the_head_is_the_single_head():
    result = multi_head("a b c", vectors=draw(3, WIDTH), count=1)
    assert torch.allclose(result.weights[0], result.single_head_weights)
    assert torch.allclose(result.outputs, result.single_head_outputs)


def test_permuting_words_permutes_weights_and_outputs():
    x, order = draw(4, WIDTH), [2, 0, 3, 1]
    first, second = multi_head("a b c d", vectors=x), multi_head("c a d b", vectors=x[order])
    assert torch.allclose(second.outputs, first.outputs[order])
    assert torch.allclose(second.weights, first.weights[:, order][:, :, order])


@pytest.mark.parametrize("tokenizer_kind", ["words", "unigram"])
def test_every_head_of_an_encoder_is_measured_by_word(tokenizer_kind):
    translator = untrained(tokenizer_kind)
    result = multi_head("The man saw a telescope.", model=translator)
    assert result.words == ("The", "man", "saw", "a", "telescope.", "</s>")
    assert result.weights.shape == (3, 2, 6, 6)
    assert torch.allclose(result.weights.sum(-1), torch.ones(3, 2, 6, dtype=torch.float64))
    assert torch.equal(result.entropy, entropy(result.weights))
    assert torch.equal(result.distance, distance(result.weights))
    assert torch.equal(result.previous, previous_share(result.weights))
    assert result.dependency is None
    assert result.uniform == pytest.approx((2.585, 35 / 18, 1 / 6), abs=1e-3)


def test_sentences_of_the_primer_know_what_each_word_depends_on():
    translator = untrained()
    result = multi_head(model=translator, primer=3)
    pair = [
        pair
        for pair, _ in zip(
            generate_sentences("random", max_words=10, core_share=0.15), range(4), strict=False
        )
    ][3]
    assert result.words[:-1] == tuple(pair.english.split())
    assert result.dependency_heads == (*pair.heads(0), -1)
    assert torch.equal(result.dependency, target_share(result.weights, result.dependency_heads))
    several = multi_head(model=translator, primer=3, sentences=4)
    each = [multi_head(model=translator, primer=3 + at).dependency for at in range(4)]
    assert torch.allclose(several.dependency, torch.stack(each).mean(0))
    for lang, word in (("en", "syntactic head of a word gets"), ("hi", "आश्रय-शब्द को")):
        assert word in several.text(lang).replace("\n", " ")


def test_measures_over_several_sentences_with_one_sentence_shown():
    translator = untrained()
    result = multi_head("The man saw", model=translator, sentences=3)
    several = multi_head(model=translator, primer=0, sentences=3)
    assert result.words == ("The", "man", "saw", "</s>")
    assert torch.equal(result.weights, multi_head("The man saw", model=translator).weights)
    assert (result.sentences, result.dependency_heads) == (3, None)
    assert torch.equal(result.dependency, several.dependency)
    assert torch.equal(result.entropy, several.entropy)
    assert result.uniform == several.uniform


def test_many_heads_are_drawn_small_and_a_chosen_layer_with_numbers():
    translator = untrained()
    for layer, count in ((0, 6), (2, 2)):
        page = multi_head("The man", model=translator, layer=layer).render()
        tables = [part for part in page.blocks if getattr(part, "title", "").startswith("layer")]
        assert len(tables) == count
        assert all(part.compact == (layer == 0) for part in tables)
        assert tables[-1].title == ("layer 3, head 2" if layer == 0 else "layer 2, head 2")


def test_the_snapshot_has_the_heads():
    result = multi_head(model="snapshot")
    assert result.words[:-1] == (
        "The",
        "man",
        "saw",
        "the",
        "astronomer",
        "with",
        "a",
        "telescope.",
    )
    layers, count = result.weights.shape[:2]
    assert result.entropy.shape == result.phrase_heads.ablated_log_odds.shape == (layers, count)
    assert result.sentences >= 100
    assert result.provenance is not None
    [chosen] = [multi_head(model="snapshot", layer=2)]
    tables = [part for part in chosen.render().blocks if isinstance(part, Table) and part.compact]
    assert [part.title for part in tables] == [f"layer 2, head {at}" for at in range(1, count + 1)]
    assert (
        multi_head("The man saw the astronomer with a telescope.", model="snapshot").words
        == result.words
    )
    for lang, word in (("en", "is the most sensitive to this"), ("hi", "सबसे संवेदनशील")):
        assert word in result.text(lang).replace("\n", " ")


MAPS = ("w_query", "w_key", "w_value")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: multi_head("a b c", model="snapshot"),
            "model: kept is 'The man saw .* give model=RUN",
        ),
        (lambda: multi_head(model="snapshot", layer=3), "layer: 3 is none of the encoder's 2"),
        (lambda: multi_head(model="snapshot", primer=3), "primer: the snapshot has its own"),
        (lambda: multi_head(model="snapshot", sentences=5), "sentences: the snapshot has its own"),
        (lambda: multi_head(model="snapshot", pairs=5), "pairs: the snapshot has its own"),
        (
            lambda: multi_head(model="snapshot", count=4),
            "count: is for heads by hand; leave out count or",
        ),
        (
            lambda: multi_head(count=4),
            "count: this sentence's 2 heads are written by hand; give vec",
        ),
        (lambda: multi_head(layer=1), "layer: is for a trained model; give model=RUN too"),
        (
            lambda: multi_head(
                "a b", vectors=draw(2, 4), count=3, **dict.fromkeys(MAPS, [draw(4, 1)])
            ),
            "count: is 3, and w_query has matrices for 1 heads",
        ),
        (lambda: multi_head("a b", vectors=draw(3, 4)), "vectors: has 3 rows"),
        (
            lambda: multi_head("a b", vectors=draw(2, 5)),
            "5 numbers do not part evenly into 2 heads",
        ),
        (
            lambda: multi_head("a b", vectors=draw(2, 4), w_query=[draw(4, 1)]),
            "as many and equally wide",
        ),
        (
            lambda: multi_head("a b", vectors=draw(2, 4), w_value=[draw(4, 1), draw(4, 2)]),
            "w_value: give each head a matrix, all of one width",
        ),
        (
            lambda: multi_head("a b", vectors=draw(2, 4), w_key=[draw(3, 2)] * 2),
            "w_key of head 1: has 3",
        ),
        (
            lambda: multi_head("a b", vectors=draw(2, 4), w_key=[]),
            "w_key: give a list with a matrix",
        ),
        (lambda: multi_head("a b", vectors=draw(2, 4), count=0), "count is 0: give a whole number"),
        (lambda: multi_head(model=untrained(), layer=4), "layer: 4 is none of the encoder's 3"),
        (
            lambda: multi_head(model=untrained(), pairs=4),
            r"knows the words of \d pairs of sentences, and 4 are needed",
        ),
        (
            lambda: multi_head(model=untrained(), primer=-1),
            "primer is -1: give a whole number of at least 0",
        ),
        (
            lambda: multi_head(model=untrained(encoder=config.RNNEncoder(width=16))),
            "no self-attention: give a trained Transformer",
        ),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(call, message):
    with pytest.raises(UserError, match=message):
        call()
