"""Each mechanism against its paper's equation, written out; and what does not go together."""

import math

import pytest
import torch

from dhyan import config
from dhyan.attention import (
    AdditiveScore,
    AlibiBias,
    BiasedScore,
    CoverageScore,
    DotScore,
    GeneralScore,
    LocalWindow,
    LocationScore,
    Memory,
    MultiHeadAttention,
    PredictedWindow,
    RotaryScore,
    Score,
    SingleHeadAttention,
    causal,
    register,
)
from dhyan.attention import registry as registry_of
from dhyan.batch import Tokens
from dhyan.config import load_recipe
from dhyan.errors import UserError
from dhyan.kernels.backend import reference_kernels
from dhyan.models.build import build_model
from dhyan.models.embedding import OneHot
from dhyan.models.feed_forward import FeedForward
from dhyan.special_tokens import PAD

MASK = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
close = torch.testing.assert_close


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def own_names():
    before = dict(registry_of._registered)
    yield
    registry_of._registered.clear()
    registry_of._registered.update(before)


def weights(attention, query, states):
    with reference_kernels(), torch.no_grad():
        return attention(query, attention.remember(states, MASK)).weights


def test_the_location_score_ignores_the_states():
    score = LocationScore(5, max_length=9)
    query, states = torch.randn(2, 3, 5), torch.randn(2, 6, 7)
    result = weights(SingleHeadAttention(score), query, states)
    close(result, weights(SingleHeadAttention(score), query, torch.randn(2, 6, 7)))
    by_hand = torch.softmax((score.positions.weight @ query[0, 1])[:6], dim=0)
    close(result[0, 0, 1], by_hand)


def test_the_location_score_ignores_positions_past_its_last():
    result = weights(
        SingleHeadAttention(LocationScore(5, max_length=3)),
        torch.randn(2, 2, 5),
        torch.randn(2, 6, 7),
    )
    assert (result[..., 3:] == 0).all()
    close(result.sum(-1), torch.ones(2, 1, 2))


def test_a_window_past_the_last_position_gets_zero_weights():
    for window in (LocalWindow(1), PredictedWindow(5, 1)):
        attention = SingleHeadAttention(LocationScore(5, max_length=2), mask=window)
        result = weights(attention, torch.randn(2, 6, 5), torch.randn(2, 6, 7))
        assert result.isfinite().all()
        assert (result[..., 2:] == 0).all()


def test_coverage_with_a_causal_mask_is_causal():
    score = CoverageScore(8, 8, 6, filters=2, radius=1)
    attention = MultiHeadAttention(16, 2, score=score, mask=causal)
    x = torch.randn(2, 6, 16)
    result = weights(attention, x, x)
    assert (result.triu(1) == 0).all()
    close(result.sum(-1)[0], torch.ones(2, 6))


def test_local_m_attends_around_the_step():
    attention = SingleHeadAttention(DotScore(), mask=LocalWindow(1))
    states = torch.randn(2, 6, 5)
    attended = weights(attention, torch.randn(2, 8, 5), states) > 0
    for row, length in ((0, 6), (1, 4)):
        for step in range(8):
            centre = min(step, length - 1)
            expected = [abs(position - centre) <= 1 and position < length for position in range(6)]
            assert attended[row, 0, step].tolist() == expected


def test_local_p_equals_the_papers_equation():
    reach = 3
    score, window = GeneralScore(5, 7), PredictedWindow(5, reach)
    query, states = torch.randn(2, 3, 5), torch.randn(2, 6, 7)
    result = weights(SingleHeadAttention(score, mask=window), query, states)
    for row, length in ((0, 6), (1, 4)):
        for step in range(3):
            s = query[row, step]
            place = length * torch.sigmoid(
                window.position.weight[0] @ torch.tanh(window.hidden.weight @ s)
            )
            near = [j for j in range(length) if abs(j - place) <= reach]
            align = torch.softmax(
                torch.stack([s @ score.key.weight @ states[row, j] for j in near]), 0
            )
            by_hand = torch.zeros(6)
            for j, weight in zip(near, align, strict=True):
                by_hand[j] = weight * torch.exp(-((j - place) ** 2) / (2 * (reach / 2) ** 2))
            close(result[row, 0, step], by_hand)


def test_the_predicted_position_gets_gradients():
    window = PredictedWindow(5, 2)
    attention = SingleHeadAttention(DotScore(), mask=window)
    states = torch.randn(2, 6, 5)
    attention(torch.randn(2, 1, 5), attention.remember(states, MASK)).context.sum().backward()
    assert window.position.weight.grad.abs().sum() > 0
    assert window.hidden.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("last_weights", [False, True])
def test_coverage_equals_the_papers_equation(last_weights):
    score = CoverageScore(5, 7, 4, filters=3, radius=1, last_weights=last_weights)
    query, states = torch.randn(1, 3, 5), torch.randn(1, 6, 7)
    attention = SingleHeadAttention(score)
    with torch.no_grad():
        result = attention(query, attention.remember(states, MASK[:1])).weights[0, 0]
        last, coverage = torch.zeros(8), torch.zeros(8)  # a zero on either side
        for step in range(3):
            scores = []
            for j in range(6):
                window = torch.cat([last[j : j + 3]] * last_weights + [coverage[j : j + 3]])
                features = score.filters.weight @ window
                inner = score.score
                hidden = (
                    inner.query(query[0, step]) + inner.key(states[0, j]) + score.coverage(features)
                )
                scores.append(inner.energy @ torch.tanh(hidden))
            by_hand = torch.softmax(torch.stack(scores), 0)
            close(result[step], by_hand)
            coverage[1:7] += by_hand
            last[1:7] = by_hand


def test_alibi_subtracts_slope_times_distance():
    heads, score = 4, BiasedScore(AlibiBias(4))
    query, keys = torch.randn(1, heads, 3, 8), torch.randn(1, heads, 5, 8)
    memory = Memory(keys, keys, torch.ones(1, 5, dtype=torch.bool))
    result = score(query, memory)
    for h in range(heads):
        slope = 2 ** (-8 * (h + 1) / heads)
        for t in range(3):
            for s in range(5):
                by_hand = query[0, h, t] @ keys[0, h, s] / math.sqrt(8) - slope * abs(t + 2 - s)
                assert float(result[0, h, t, s]) == pytest.approx(float(by_hand), abs=1e-5)


def test_rotary_scores_depend_on_the_distance_only():
    score, vector, other = RotaryScore(8), torch.randn(8), torch.randn(8)
    keys = vector.expand(1, 1, 9, 8)
    memory = Memory(keys, keys, torch.ones(1, 9, dtype=torch.bool))
    table = score(other.expand(1, 1, 9, 8), memory)[0, 0]
    for distance in range(-8, 9):
        along = table.diagonal(distance)
        close(along, along[:1].expand_as(along), atol=1e-5, rtol=1e-4)
    assert not torch.allclose(table[0], table[0, 0].expand(9))
    close(table.diagonal(), (other @ vector / math.sqrt(8)).expand(9), atol=1e-5, rtol=1e-4)


def test_grouped_heads_equal_heads_with_repeated_keys():
    grouped, full = MultiHeadAttention(8, 4, kv_heads=2), MultiHeadAttention(8, 4)
    with torch.no_grad():
        for name in ("query", "output"):
            getattr(full, name).load_state_dict(getattr(grouped, name).state_dict())
        for name in ("key", "value"):
            few, many = getattr(grouped, name), getattr(full, name)
            many.weight.copy_(few.weight.unflatten(0, (2, 2)).repeat_interleave(2, 0).flatten(0, 1))
            many.bias.copy_(few.bias.unflatten(0, (2, 2)).repeat_interleave(2, 0).flatten(0, 1))
    x = torch.randn(2, 6, 8)
    close(grouped(x, grouped.remember(x, MASK)).context, full(x, full.remember(x, MASK)).context)
    assert grouped.remember(x, MASK).keys.shape[1] == 2
    with pytest.raises(ValueError, match="4 heads cannot share 3"):
        MultiHeadAttention(8, 4, kv_heads=3)


def test_concat_and_additive_are_one_class():
    recipe = load_recipe("luong2015-small", {"decoder.attention.score": "concat"})
    model = build_model(recipe, 20, 20)
    assert type(model.decoder.attention.score) is AdditiveScore


def test_one_hot_times_a_matrix_is_a_row():
    words, matrix = OneHot(9), torch.randn(9, 4)
    ids = torch.tensor([[4, 8, 5, PAD]])
    embedding = torch.nn.Embedding.from_pretrained(matrix, padding_idx=PAD)
    matrix[PAD] = 0.0
    close(words(ids) @ matrix, embedding(ids))
    assert (words(ids)[0, 3] == 0).all()


def test_one_hot_input_equals_an_identity_embedding():
    """The cell's input matrix W on a one-hot vector is W E on an embedded one, with E = 1."""
    one_hot = build_model(load_recipe("numbers", {"encoder.input": "one_hot"}), 9, 9).encoder
    dense = build_model(load_recipe("numbers", {"encoder.embedding_width": 9}), 9, 9).encoder
    dense.rnn.load_state_dict(one_hot.rnn.state_dict())
    with torch.no_grad():
        dense.token_embedding.weight.copy_(torch.eye(9))
        dense.token_embedding.weight[PAD] = 0.0
        source = Tokens.pad([[4, 5, 6, 2], [7, 2]])
        close(dense.eval()(source).states, one_hot.eval()(source).states)


def test_swiglu_and_gelu_equal_their_equations():
    layer, x = FeedForward(4, 6, activation="swiglu"), torch.randn(1, 2, 4)
    gate = layer.gate(x)
    close(layer(x), layer.down(gate * torch.sigmoid(gate) * layer.up(x)))
    gelu = FeedForward(4, 6, activation="gelu")
    wide = gelu.up(x)
    bent = wide * 0.5 * (1 + torch.erf(wide / math.sqrt(2)))
    close(gelu(x), gelu.down(bent))


def test_copying_equals_the_papers_equation():
    settings = {"text.shared_vocabulary": True, "decoder.copy_mechanism": True}
    model = build_model(load_recipe("numbers", settings), 12, 12).eval()
    decoder, source = model.decoder, Tokens.pad([[4, 7, 4, 2]])
    ids = torch.tensor([[1, 5]])
    with torch.no_grad():
        result, _ = decoder(ids, model.start(source))
        state = model.start(source)
        vectors, _ = decoder.decoder.hidden(ids, state.decoder)
        generated = decoder.decoder.output(vectors).softmax(-1)[0, 1]
        context, weights, _ = decoder.copy_attention(vectors, state.memory)
        gate = torch.sigmoid(decoder.gate(torch.cat([vectors, context], -1)))[0, 1, 0]
        by_hand = gate * generated
        for place, word in enumerate([4, 7, 4, 2]):
            by_hand[word] += (1 - gate) * weights[0, 0, 1, place]
    close(result[0, 1].exp(), by_hand, atol=1e-6, rtol=1e-4)
    close(result.exp().sum(-1), torch.ones(1, 2), atol=1e-5, rtol=1e-4)


def test_a_shared_embedding_is_one_module():
    recipe = load_recipe(
        "transformer2017-small",
        {"text.shared_vocabulary": True, "decoder.share_source_embedding": True},
    )
    model = build_model(recipe, 30, 30)
    assert model.decoder.token_embedding is model.encoder.token_embedding
    assert model.decoder.output.weight is model.encoder.token_embedding.weight


def test_an_encoder_may_be_deep_and_a_decoder_shallow():
    model = build_model(load_recipe("deep-shallow-small"), 30, 30)
    assert len(model.encoder.layers) > 3 * len(model.decoder.layers)


def test_a_frozen_embedding_does_not_learn():
    settings = {"encoder.pretrained_embedding": "glove.txt", "encoder.freeze_embedding": True}
    model = build_model(load_recipe("numbers", settings), 20, 20)
    assert not model.encoder.token_embedding.weight.requires_grad
    assert model.decoder.token_embedding.weight.requires_grad


class HalfScore(torch.nn.Module, Score):
    def __init__(self, query_width, memory_width):
        super().__init__()
        self.map = torch.nn.Linear(query_width, memory_width)

    def keys(self, states):
        return states

    def forward(self, query, memory):
        return self.map(query) @ memory.keys.transpose(-2, -1) / 2


def own_attention(query_width, memory_width):
    return SingleHeadAttention(HalfScore(query_width, memory_width))


@pytest.mark.parametrize("heads", [1, 4])
def test_a_registered_score_gets_heads_and_windows(heads, own_names):
    register("half")(HalfScore)
    settings = {
        "decoder.attention.score": "half",
        "decoder.attention.heads": heads,
        "decoder.attention.window": "predicted",
    }
    model = build_model(load_recipe("numbers", settings), 20, 20)
    assert type(model.decoder.attention.score) is HalfScore
    assert type(model.decoder.attention.mask) is PredictedWindow
    model = build_model(load_recipe("transformer2017-small", {"decoder.score": "half"}), 20, 20)
    assert type(model.decoder.layers[0].cross_attention.score) is HalfScore


def test_a_registered_attention_is_used_unchanged(own_names):
    register("whole")(own_attention)
    model = build_model(load_recipe("numbers", {"decoder.attention.score": "whole"}), 20, 20)
    assert type(model.decoder.attention) is SingleHeadAttention
    settings = {"decoder.attention.score": "whole", "decoder.attention.heads": 2}
    with pytest.raises(UserError, match=r"attention\.heads has no effect"):
        build_model(load_recipe("numbers", settings), 20, 20)


def test_a_faulty_registered_score_fails_before_training(own_names):
    class Wrong(HalfScore):
        def forward(self, query, memory):
            return self.map(query) * memory.keys

    class Narrow(HalfScore):
        def forward(self, query, memory):
            return (self.map(query) @ memory.keys.transpose(-2, -1))[..., :1]

    for kind, message in ((Wrong, "fails with 2 queries and 3"), (Narrow, "2 queries")):
        register("mistaken")(kind)
        with pytest.raises(UserError, match=message):
            build_model(load_recipe("numbers", {"decoder.attention.score": "mistaken"}), 20, 20)


def test_a_built_in_name_cannot_be_registered(own_names):
    with pytest.raises(ValueError, match="choose another name"):
        register("additive")
    register("nonsense")(lambda query_width, memory_width: "no score")
    with pytest.raises(UserError, match="neither a Score"):
        build_model(load_recipe("numbers", {"decoder.attention.score": "nonsense"}), 20, 20)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("numbers", {"decoder.attention.score": "additve"}, "did you mean 'additive'"),
        ("numbers", {"decoder.attention.score": "mine"}, "dhyan.register"),
    ],
)
def test_an_unknown_score_is_named(name, settings, message):
    with pytest.raises(UserError, match=message):
        build_model(load_recipe(name, settings), 20, 20)


def test_every_kind_of_position_changes_the_output():
    """The same words in another order are another sentence, but not without any positions."""
    differs = {}
    for positions in ("sinusoidal", "learned", "rotary", "alibi", "none"):
        torch.manual_seed(1)
        encoder = config.TransformerEncoder(
            width=16, heads=4, feed_forward_width=24, layers=2, positions=positions
        )
        recipe = config.Recipe(encoder=encoder, decoder=config.BahdanauDecoder())
        model = build_model(recipe, 12, 12).eval()
        with torch.no_grad():
            forward = model.encoder(Tokens.pad([[4, 5, 6, 7]])).states[0]
            backward = model.encoder(Tokens.pad([[7, 6, 5, 4]])).states[0].flip(0)
        differs[positions] = float((forward - backward).abs().max()) > 1e-4
    assert differs == {
        "sinusoidal": True, "learned": True, "rotary": True, "alibi": False, "none": False
    }  # fmt: skip
