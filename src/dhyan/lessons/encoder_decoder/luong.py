"""Luong's attention by hand: dot, general and concat scores, then s̃ = tanh(W_c [c; s])."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

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
from dhyan.lessons.encoder_decoder.bahdanau import AdditiveNetwork, Vector
from dhyan.lessons.encoder_decoder.context_vector import SENTENCE
from dhyan.lessons.lesson import LessonResult, lesson

DECODER = ((0, 0, 1.5, 1.5), (-0.5, 3, -1, 0.5), (3, 0, 0.5, -1), (0, 0, 0.5, 1))
GENERAL = ((1, 0, 0, 0.5), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0.5, 0, 1))
SCORES = ("dot", "general", "concat")


@dataclass(frozen=True)
class Luong(LessonResult):
    """One step of multiplicative attention: a row for each of the scores dot, general, concat.

    `mapped` are the W h_j of the general score, `joined` the [c; s] of each, `attentional` the s̃
    that predicts the word.
    """

    words: tuple[str, ...]
    step: int
    decoder: Float64[Tensor, "T Q"]
    states: Float64[Tensor, "S D"]
    general: Float64[Tensor, "Q D"]
    mapped: Float64[Tensor, "S Q"]
    network: AdditiveNetwork
    inner: Float64[Tensor, "S A"]
    combine: Float64[Tensor, "D+Q Q"]
    scores: Float64[Tensor, "N S"]
    weights: Float64[Tensor, "N S"]
    contexts: Float64[Tensor, "N D"]
    joined: Float64[Tensor, "N D+Q"]
    attentional: Float64[Tensor, "N Q"]
    all_weights: Float64[Tensor, "T S"]

    def blocks(self, text: Text) -> Iterator[Block]:
        """The three scores side by side, their contexts, and the attentional states."""
        i, steps = self.step, [f"s_{step + 1}" for step in range(len(self.decoder))]
        wide, joint = self.combine.shape[1], self.combine.shape[0]
        yield text.paragraph(
            "scores",
            i=i,
            general_parameters=self.general.numel(),
            network_parameters=sum(self.network.parameters()),
        )
        yield table(f"s_{i}", self.decoder[i - 1])
        yield table("h_j", self.states, self.words)
        yield table(text("general_keys"), self.mapped, self.words)
        yield table("e", self.scores, SCORES, self.words, digits=3, operator="→")
        yield heatmap("α", self.weights, SCORES, self.words, digits=3)
        yield text.paragraph("attentional_state", i=i, wide=wide, joint=joint)
        yield table(f"[c_{i}; s_{i}]", self.joined, SCORES, operator="→")
        yield table(f"s̃_{i}", self.attentional, SCORES, digits=3)
        yield heatmap(text("dot_weights_by_step"), self.all_weights, steps, self.words)


@lesson
def luong(
    sentence: str = SENTENCE,
    *,
    step: int | None = None,
    model: Model | None = None,
    states: Matrix | None = None,
    decoder: Matrix | None = None,
    general: Matrix | None = None,
    w: Matrix | None = None,
    b: Vector | None = None,
    v: Vector | None = None,
    combine: Matrix | None = None,
    seed: int = 1,
) -> Luong | AttentionStep:
    """Multiplicative attention: dot, general and concat scores of the states h_j and the state s.

    `decoder` has the state after each step, s_1 first; `general` is the W between s and h, `w`,
    `b` and `v` are the network of the concat score, and `combine` has a row for each number of c,
    then of s; not given, it takes the mean of the two. The words of a sentence other than the
    lesson's have random states, from the seed, unless `states` are given. With a `model`, a run's
    folder or a translator that looks after it steps, its own numbers for a step are shown instead;
    "snapshot" shows those of one that was trained on the primer.

    >>> [round(number, 2) for number in luong().scores[0].tolist()]
    [1.35, 0.75, 0.45, 2.55]
    """
    if model is not None:
        numbers = {"states": states, "decoder": decoder, "general": general, "combine": combine}
        return trace_attention_step("luong", model, sentence, step, **numbers, w=w, b=b, v=v)
    words, h, s, step, seeded = parse_states(
        sentence, states, decoder, usual=DECODER, step=step, seed=seed
    )
    (count, key_width), query_width = h.shape, s.shape[1]
    if key_width != query_width:
        raise UserError(
            f"decoder: its states have {query_width} numbers and those of the sentence {key_width}; "
            "the dot product needs as many on either side"
        )
    general_weights = parse_matrix(
        "general",
        GENERAL if general is None else general,
        rows=query_width,
        columns=key_width,
        of="the numbers of s",
    )
    network = AdditiveNetwork.of(w, b, v, query_width=query_width, key_width=key_width)
    usual = torch.eye(query_width, dtype=torch.float64).repeat(2, 1) / 2
    to_word = parse_matrix(
        "combine",
        usual if combine is None else combine,
        rows=key_width + query_width,
        columns=query_width,
        of="the numbers of [c; s]",
    )
    query, mapped = s[step - 1], h @ general_weights.T
    inner = network.inner(torch.cat([query.expand(count, -1), h], dim=1))
    scores = torch.stack([h @ query, mapped @ query, inner @ network.v])
    weights = scores.softmax(-1)
    contexts = weights @ h
    joined = torch.cat([contexts, query.expand(len(scores), -1)], dim=1)
    return Luong(
        words=words,
        step=step,
        decoder=s,
        states=h,
        general=general_weights,
        mapped=mapped,
        network=network,
        inner=inner,
        combine=to_word,
        scores=scores,
        weights=weights,
        contexts=contexts,
        joined=joined,
        attentional=torch.tanh(joined @ to_word),
        all_weights=(s @ h.T).softmax(-1),
        seeded=seeded,
    )
