"""Additive attention by hand: e_ij = vᵀ tanh(W [s_{i-1}; h_j] + b), a small network that scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import AdditiveScore, SingleHeadAttention
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, heatmap, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.encoder_decoder.attention_step import (
    AttentionStep,
    Model,
    parse_states,
    trace_attention_step,
)
from dhyan.lessons.encoder_decoder.context_vector import SENTENCE, TARGET
from dhyan.lessons.lesson import LessonResult, lesson, parse_words

W = (  # fitted to the weights of the lesson context_vector, then rounded to halves
    (0, -1.5, -0.5),
    (0, 1, 0.5),
    (0.5, 0.5, 0.5),
    (2, 0.5, 2.5),
    (1.5, 0.5, -0.5),
    (1, -1, -1),
    (-0.5, 1, 1),
    (-0.5, 0, 0.5),
)
B, V = (-1, 1, -2.5), (2.5, -2, 3)
Vector = Sequence[float | int] | Tensor


@dataclass(frozen=True)
class AdditiveNetwork:
    """e = vᵀ tanh(W [s; h] + b): `w` has a row for each number of s, then for each of h."""

    w: Float64[Tensor, "I A"]
    b: Float64[Tensor, " A"]
    v: Float64[Tensor, " A"]
    query_width: int

    @classmethod
    def of(
        cls,
        w: Matrix | None,
        b: Vector | None,
        v: Vector | None,
        *,
        query_width: int,
        key_width: int,
    ) -> "AdditiveNetwork":
        """Weights for an s of `query_width` numbers and an h of `key_width`; None takes the default.

        >>> AdditiveNetwork.of(None, None, None, query_width=4, key_width=4).parameters()
        (24, 3, 3)
        """
        maps = parse_matrix(
            "w",
            W if w is None else w,
            rows=query_width + key_width,
            of=f"the {query_width} numbers of s and the {key_width} of h",
        )
        size = maps.shape[1]
        return cls(
            maps,
            _vector("b", B if b is None else b, size),
            _vector("v", V if v is None else v, size),
            query_width,
        )

    def inner(self, rows: Float64[Tensor, "*S I"]) -> Float64[Tensor, "*S A"]:
        """tanh(W [s; h] + b) of every row."""
        return torch.tanh(rows @ self.w + self.b)

    def module(self) -> AdditiveScore:
        """The toolkit's `AdditiveScore` with these weights."""
        module = AdditiveScore(
            self.query_width, len(self.w) - self.query_width, len(self.v)
        ).double()
        with torch.no_grad():
            module.query.weight.copy_(self.w[: self.query_width].T)
            module.query.bias.copy_(self.b)
            module.key.weight.copy_(self.w[self.query_width :].T)
            module.energy.copy_(self.v)
        return module

    def parameters(self) -> tuple[int, int, int]:
        """Parameter counts of W, b and v, counted in the module."""
        module = self.module()
        maps = module.query.weight.numel() + module.key.weight.numel()
        return maps, module.query.bias.numel(), module.energy.numel()


def _vector(name: str, values: Vector, size: int) -> Float64[Tensor, " A"]:
    """A vector of `size` finite numbers."""
    try:
        vector = torch.as_tensor(values, dtype=torch.float64)
    except (TypeError, ValueError):
        vector = torch.empty(0)
    if vector.shape != (size,) or not vector.isfinite().all():
        example = [1, *([0] * (size - 1))]
        raise UserError(f"{name}: w has {size} columns, so give {size} numbers, such as {example}")
    return vector


DECODER = ((0.3, 0.2, 0.9, 0.8), (0.8, 0.1, 0.2, 0.6), (0.1, 0.7, 0.3, 0.2), (0.5, 0.5, 0.1, 0.9))
CLOSE = 1e-12


@dataclass(frozen=True)
class Bahdanau(LessonResult):
    """One step of additive attention, computed in four ways, and the weights of all steps.

    `rows` are [s; h_j]; `inner` is tanh(rows W + b). The scores are computed for all rows at once
    (`scores`), row by row (`scores_by_row`), from W_s s + b and W_h h_j (`split`, of `queries` and
    `keys`), and by the toolkit's `AdditiveScore` (`module`). `target` are the words of the lesson's
    own example, none for other states.
    """

    words: tuple[str, ...]
    target: tuple[str, ...]
    step: int
    decoder: Float64[Tensor, "T Q"]
    states: Float64[Tensor, "S D"]
    w: Float64[Tensor, "Q+D A"]
    b: Float64[Tensor, " A"]
    v: Float64[Tensor, " A"]
    rows: Float64[Tensor, "S Q+D"]
    inner: Float64[Tensor, "S A"]
    scores: Float64[Tensor, " S"]
    weights: Float64[Tensor, " S"]
    context: Float64[Tensor, " D"]
    scores_by_row: Float64[Tensor, " S"]
    queries: Float64[Tensor, "T A"]
    keys: Float64[Tensor, "S A"]
    split: Float64[Tensor, " S"]
    module: Float64[Tensor, " S"]
    all_weights: Float64[Tensor, "T S"]
    all_contexts: Float64[Tensor, "T D"]
    parameters: tuple[int, int, int]

    @property
    def max_difference(self) -> float:
        """The largest difference between the four ways."""
        others = torch.stack([self.scores_by_row, self.split, self.module])
        return float((others - self.scores).abs().max())

    def blocks(self, text: Text) -> Iterator[Block]:
        """The network from left to right, then the same in two halves, then all steps."""
        (count, wide), size = self.rows.shape, self.w.shape[1]
        w, b, v = self.parameters
        steps = [f"s_{step}" for step in range(len(self.decoder))]
        same = self.max_difference <= CLOSE
        yield text.paragraph(
            "network",
            previous_step=self.step - 1,
            count=count,
            wide=wide,
            size=size,
            w=w,
            b=b,
            v=v,
            total=w + b + v,
        )
        yield table(f"[s_{self.step - 1}; h_j]", self.rows, self.words, operator="·")
        yield table("W", self.w, operator="+")
        yield table("b", self.b)
        yield table("tanh", self.inner, self.words, digits=3, operator="·")
        yield table("v", self.v.unsqueeze(1), operator="=")
        yield table("e", self.scores.unsqueeze(1), digits=3, operator="→")
        yield heatmap("α", self.weights.unsqueeze(1), digits=3)
        yield table(f"c_{self.step} = Σ_j α_j h_j", self.context, digits=3)
        yield text.paragraph("split_projection", same=same)
        yield table("W_s s + b", self.queries, steps)
        yield table("W_h h_j", self.keys, self.words)
        if self.target:
            steps = [f"{step} → {word}" for step, word in zip(steps, self.target, strict=True)]
            yield text.paragraph("example_weights")
        yield heatmap(text("weights_by_step"), self.all_weights, steps, self.words)


@lesson
def bahdanau(
    sentence: str = SENTENCE,
    *,
    step: int | None = None,
    model: Model | None = None,
    states: Matrix | None = None,
    decoder: Matrix | None = None,
    w: Matrix | None = None,
    b: Vector | None = None,
    v: Vector | None = None,
    seed: int = 1,
) -> Bahdanau | AttentionStep:
    """Additive attention: a small network scores each state h_j with the decoder's state s.

    `decoder` has the state before each step, s_0 first; `w` has a row for each number of s, then
    for each of h. The words of a sentence other than the lesson's have random states, from the
    seed, unless `states` are given. With a `model`, a run's folder or a translator with additive
    attention, its own numbers for a step of the sentence's translation are shown instead;
    "snapshot" shows those of one that was trained on the primer.

    >>> bahdanau().parameters
    (24, 3, 3)
    """
    if model is not None:
        numbers = {"states": states, "decoder": decoder, "w": w, "b": b, "v": v}
        return trace_attention_step("bahdanau", model, sentence, step, **numbers)
    words, h, s, step, seeded = parse_states(
        sentence, states, decoder, usual=DECODER, step=step, seed=seed
    )
    network = AdditiveNetwork.of(w, b, v, query_width=s.shape[1], key_width=h.shape[1])
    rows = torch.cat([s[step - 1].expand(len(h), -1), h], dim=1)
    inner = network.inner(rows)
    scores = inner @ network.v
    weights = scores.softmax(-1)
    queries, keys = s @ network.w[: s.shape[1]] + network.b, h @ network.w[s.shape[1] :]
    attention = SingleHeadAttention(network.module(), need_weights=True)
    with torch.no_grad():
        memory = attention.remember(h.unsqueeze(0), torch.ones(1, len(h), dtype=torch.bool))
        module = attention.score(s[None, None], memory)[0, 0]
    all_weights = module.softmax(-1)
    own = all(value is None for value in (states, decoder, w, b, v)) and sentence == SENTENCE
    return Bahdanau(
        words=words,
        target=parse_words(TARGET) if own else (),
        step=step,
        decoder=s,
        states=h,
        w=network.w,
        b=network.b,
        v=network.v,
        rows=rows,
        inner=inner,
        scores=scores,
        weights=weights,
        context=weights @ h,
        scores_by_row=torch.stack([network.inner(row) @ network.v for row in rows]),
        queries=queries,
        keys=keys,
        split=torch.tanh(queries[step - 1] + keys) @ network.v,
        module=module[step - 1],
        all_weights=all_weights,
        all_contexts=all_weights @ h,
        parameters=network.parameters(),
        seeded=seeded,
    )
