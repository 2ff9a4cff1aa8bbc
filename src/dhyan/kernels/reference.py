"""PyTorch reference of the fused operations: attention, RNNs, embedding, loss, beam extension."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dhyan.batch import reversed_positions

Mask = Bool[Tensor, "*#H T S"] | Float[Tensor, "*#H T S"]
"""True where a query may attend; a number from 0 to 1 scales the weight instead."""

# Attention


def masked_softmax(scores: Float[Tensor, "*H T S"], mask: Mask) -> Float[Tensor, "*H T S"]:
    """Softmax over the unmasked scores, in single precision at least.

    A score of −∞ is masked too. A query that may attend to nothing gets zeros, never NaN. A mask
    of numbers multiplies the weights.
    """
    masked = (mask == 0) | scores.isneginf()
    weights = at_least_float32(scores).masked_fill(masked, -torch.inf).softmax(dim=-1)
    weights = weights.masked_fill(masked, 0.0)
    return weights * mask if mask.is_floating_point() else weights


def attend(
    scores: Float[Tensor, "*H T S"],
    values: Float[Tensor, "*H S E"],
    mask: Mask,
    *,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*H T E"], Float[Tensor, "*H T S"]]:
    """The context, which is the average of the values weighted by the scores, and the weights.

    Dropout acts on the weights that average, not on those returned.
    """
    weights = masked_softmax(scores, mask).to(values.dtype)
    return functional.dropout(weights, dropout) @ values, weights


def at_least_float32(x: Float[Tensor, "*A"]) -> Float[Tensor, "*A"]:
    """x in single precision or better, as long sums need it."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def dot_scores(
    query: Float[Tensor, "*H T E"], keys: Float[Tensor, "*H S E"]
) -> Float[Tensor, "*H T S"]:
    """score(q, k) = q · k  (Luong, Pham and Manning, 2015)."""
    return query @ keys.transpose(-2, -1)


def scaled_dot_scores(
    query: Float[Tensor, "*H T E"], keys: Float[Tensor, "*H S E"]
) -> Float[Tensor, "*H T S"]:
    """score(q, k) = q · k / √E  (Vaswani et al., 2017)."""
    return dot_scores(query * query.shape[-1] ** -0.5, keys)


def additive_scores(
    query: Float[Tensor, "*H T A"],
    keys: Float[Tensor, "*H S A"],
    energy: Float[Tensor, " A"],
) -> Float[Tensor, "*H T S"]:
    """score(q, k) = energy · tanh(q + k)  (Bahdanau, Cho and Bengio, 2015)."""
    return torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3)) @ energy


def dot_product_attention(
    query: Float[Tensor, "*H T E"],
    keys: Float[Tensor, "*H S E"],
    values: Float[Tensor, "*H S V"],
    mask: Mask,
    *,
    scaled: bool,
    bias: Float[Tensor, "*#H T S"] | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*H T V"], Float[Tensor, "*H T S"]]:
    """softmax(q kᵀ / √E + bias) v  (Vaswani et al., 2017); unscaled, Luong's dot score."""
    scores = scaled_dot_scores(query, keys) if scaled else dot_scores(query, keys)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    return attend(scores, values, mask, dropout=dropout)


def position_mask(
    padding_mask: Bool[Tensor, "B S"], queries: int, *, causal: bool
) -> Bool[Tensor, "B 1 T S"]:
    """Real positions; if `causal`, none later than the query. The last query is at the last one."""
    mask = padding_mask[:, None, None, :].expand(-1, 1, queries, -1)
    if not causal:
        return mask
    positions = padding_mask.shape[1]
    past = torch.ones(queries, positions, dtype=torch.bool, device=padding_mask.device)
    return mask & past.tril(positions - queries)


# Transformer layers

Layer = Callable[[Tensor], Tensor]


def add(
    residual: Float[Tensor, "B T D"], update: Float[Tensor, "B T D"], dropout: Layer
) -> Float[Tensor, "B T D"]:
    """residual + dropout(update)  (He et al., 2016)."""
    return residual + dropout(update)


def add_norm(
    residual: Float[Tensor, "B T D"],
    update: Float[Tensor, "B T D"],
    norm: Layer,
    dropout: Layer,
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"]]:
    """residual + dropout(update), and its layer norm."""
    residual = residual + dropout(update)
    return residual, norm(residual)


def feed_forward(
    x: Float[Tensor, "B T D"],
    up: Layer,
    down: Layer,
    *,
    activation: Layer,
    gate: Layer | None,
    dropout: Layer,
) -> Float[Tensor, "B T D"]:
    """down(activation(up(x))), or with a gate down(activation(gate(x)) · up(x)) (Shazeer, 2020)."""
    hidden = activation(up(x)) if gate is None else activation(gate(x)) * up(x)
    return down(dropout(hidden))


def embedding(
    token_ids: Int[Tensor, "B T"],
    table: Layer,
    positions: Float[Tensor, "T D"],
    *,
    scale: float,
    dropout: Layer,
) -> Float[Tensor, "B T D"]:
    """dropout(scale · table[token_ids] + positions)."""
    vectors = table(token_ids) * scale
    return dropout(vectors + positions.to(vectors.dtype))


def linear_cross_entropy(
    hidden: Float[Tensor, "N D"],
    output: Layer,
    labels: Int[Tensor, " N"],
    *,
    smoothing: float,
    ignore_index: int,
) -> Float[Tensor, ""]:
    """Cross-entropy of output(hidden), summed over the labels that are not ignored.

    With smoothing, that share of the target's probability is spread over the whole vocabulary
    (Szegedy et al., 2016).
    """
    return functional.cross_entropy(
        output(hidden).float(),
        labels,
        ignore_index=ignore_index,
        label_smoothing=smoothing,
        reduction="sum",
    )


def symmetric_kl(
    first: Float[Tensor, "N V"], second: Float[Tensor, "N V"], real: Bool[Tensor, " N"]
) -> Float[Tensor, ""]:
    """KL(p‖q) + KL(q‖p) of two passes, summed over the real tokens: Σ (p − q) log(p/q)."""
    p, q = (logits.float().log_softmax(dim=-1) for logits in (first, second))
    divergence = ((p.exp() - q.exp()) * (p - q)).sum(dim=-1)
    return divergence.masked_fill(~real, 0.0).sum()


def r_drop_loss(
    logits: Float[Tensor, "R V"],
    labels: Int[Tensor, " N"],
    *,
    r_drop: float,
    smoothing: float,
    ignore_index: int,
) -> Float[Tensor, ""]:
    """R-Drop (Liang et al., 2021) of two passes with different dropout, one after the other.

    −log P₁ − log P₂ + α · ½ (KL₁₂ + KL₂₁), summed over the labels that are not ignored. Half of that
    is returned, so that the loss has the size it has without R-Drop.
    """
    cross_entropy = functional.cross_entropy(
        logits.float(),
        labels.repeat(2),
        ignore_index=ignore_index,
        label_smoothing=smoothing,
        reduction="sum",
    )
    first, second = logits.chunk(2)
    return (cross_entropy + r_drop * symmetric_kl(first, second, labels != ignore_index) / 2) / 2


# Recurrent layers


def maxout(pairs: Float[Tensor, "*B K"]) -> Float[Tensor, "*B R"]:
    """The larger of every two neighbours (Goodfellow et al., 2013)."""
    return pairs.unflatten(-1, (-1, 2)).amax(dim=-1)


def rnn(
    layers: nn.RNNBase, inputs: Float[Tensor, "B T I"], state: Float[Tensor, "B P L D"]
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B P L D"]]:
    """LSTM, GRU or Elman layers from a state: the top layer's outputs, and the state after."""
    dtype = next(layers.parameters()).dtype
    parts = [part.transpose(0, 1).contiguous() for part in state.to(dtype).unbind(dim=1)]
    with _without_autocast(inputs):
        outputs, last = layers(inputs.to(dtype), tuple(parts) if len(parts) > 1 else parts[0])
    return outputs, rnn_state(last)


def padded_rnn(
    layers: nn.RNNBase,
    inputs: Float[Tensor, "B S I"],
    mask: Bool[Tensor, "B S"],
    *,
    reverse: bool = False,
) -> tuple[Float[Tensor, "B S E"], Float[Tensor, "B P L D"]]:
    """The same from zeros over padded rows; with `reverse`, each from its last token to its first.

    The outputs keep the order of the inputs; the state is that after the token read last.
    """
    if reverse:
        order = reversed_positions(mask).unsqueeze(-1)
        inputs = inputs.take_along_dim(order, dim=1)
    packed = pack_padded_sequence(
        inputs.to(next(layers.parameters()).dtype),
        mask.sum(dim=1).cpu(),
        batch_first=True,
        enforce_sorted=False,
    )
    with _without_autocast(inputs):
        packed_outputs, last = layers(packed)
    outputs, _ = pad_packed_sequence(packed_outputs, batch_first=True, total_length=inputs.shape[1])
    if reverse:
        outputs = outputs.take_along_dim(order, dim=1)
    return outputs, rnn_state(last)


def rnn_state(
    last: Float[Tensor, "L B D"] | tuple[Float[Tensor, "L B D"], ...],
) -> Float[Tensor, "B P L D"]:
    """PyTorch's final state, (h, c) or h, as one tensor with the rows first."""
    parts = last if isinstance(last, tuple) else (last,)
    return torch.stack(parts).permute(2, 0, 1, 3)


def _without_autocast(inputs: Tensor) -> torch.autocast:
    """The weights' own precision: under bf16 autocast a GPU's RNN would run in fp16."""
    return torch.autocast(inputs.device.type, enabled=False)


def unroll(
    step: Callable[..., tuple[Any, ...]], inputs: Float[Tensor, "B T W"], *state: Any
) -> tuple[Any, ...]:
    """A decoder's step applied to one input after the other: all outputs, and the state after.

    `step(input, *state)` returns an output and the next state.
    """
    outputs = []
    for step_input in inputs.split(1, dim=1):
        output, *state = step(step_input, *state)  # type: ignore[assignment]
        outputs.append(output)
    return torch.cat(outputs, dim=1), *state


# Beam search


class Candidates(NamedTuple):
    """Extensions of hypotheses, best first: score, parent and token; −inf marks an empty slot."""

    score: Float[Tensor, "N K"]
    parent: Int[Tensor, "N K"]
    token: Int[Tensor, "N K"]

    def first(self, count: int) -> "Candidates":
        """The best few."""
        return Candidates(self.score[:, :count], self.parent[:, :count], self.token[:, :count])

    def only(self, mask: Bool[Tensor, "N K"]) -> "Candidates":
        """Those in the mask, in their order, then empty slots."""
        order = (~mask).byte().argsort(dim=1, stable=True)
        score = self.score.masked_fill(~mask, -torch.inf).gather(1, order)
        return Candidates(score, self.parent.gather(1, order), self.token.gather(1, order))


def extend_beam(
    score: Float[Tensor, "N W"],
    logprobs: Float[Tensor, "N W V"],
    *,
    end: int,
    penalty: Float[Tensor, "N V"] | None = None,
) -> tuple[Candidates, Candidates]:
    """The W best extensions that go on, and those among the W best of all that end.

    A token's penalty counts in the choice and not in the scores.
    """
    width, total = score.shape[1], score.unsqueeze(-1) + logprobs
    penalized = total if penalty is None else total - penalty.unsqueeze(1)
    best, choice = penalized.flatten(1).topk(2 * width, dim=1)
    best = best if penalty is None else total.flatten(1).gather(1, choice)
    candidates = Candidates(best, choice // total.shape[2], choice % total.shape[2])
    going = candidates.only(candidates.token != end).first(width)
    first = candidates.first(width)
    return going, first.only(first.token == end)


def best_finished(
    finished_score: Float[Tensor, "N W"], ending_score: Float[Tensor, "N K"]
) -> tuple[Float[Tensor, "N W"], Int[Tensor, "N W"]]:
    """The W best of the finished hypotheses and those that end now: scores, and their indices."""
    scores = torch.cat([finished_score, ending_score], dim=1)
    best, indices = scores.topk(finished_score.shape[1], dim=1)
    return best, indices
