"""Transformer computed step by step: every intermediate value of a pass, ablations of its parts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from dhyan.insight.lesson_blocks import Block, Paragraph, Table, heatmap, table
from dhyan.lessons.catalogue import Text
from dhyan.models.seq2seq import Seq2Seq

WITHOUT = ("positions", "residuals", "normalisation", "feed_forward")
TINY = 1e-5  # ε of layer normalisation

Weights = Mapping[str, Tensor]
Rows = Float64[Tensor, "_ D"]
PARTS = {  # the sub-layers of either side, with the name of the normalisation each has
    "encoder": {"self_attention": "self_attention_norm", "feed_forward": "feed_forward_norm"},
    "decoder": {
        "self_attention": "self_attention_norm",
        "cross_attention": "cross_attention_norm",
        "feed_forward": "feed_forward_norm",
    },
}


@dataclass(frozen=True)
class AttentionTrace:
    """An attention's tensors from queries to concatenated contexts, for each head."""

    queries: Float64[Tensor, "H T K"]
    keys: Float64[Tensor, "H S K"]
    values: Float64[Tensor, "H S K"]
    scores: Float64[Tensor, "H T S"]
    weights: Float64[Tensor, "H T S"]
    contexts: Float64[Tensor, "H T K"]
    joined: Float64[Tensor, "T D"]


@dataclass(frozen=True)
class SublayerTrace:
    """A sub-layer: the residual stream before it, its input and output, and the stream after it.

    `attention` is the trace of an attention, `hidden` the hidden layer of a feed-forward.
    """

    part: str
    layer: int
    before: Float64[Tensor, "T D"]
    sublayer_input: Float64[Tensor, "T D"]
    output: Float64[Tensor, "T D"]
    after: Float64[Tensor, "T D"]
    attention: AttentionTrace | None = None
    hidden: Float64[Tensor, "T F"] | None = None


@dataclass(frozen=True)
class StackTrace:
    """Trace of an encoder or decoder: embeddings, positions, their sum, sub-layers, states."""

    embedded: Float64[Tensor, "T D"]
    positions: Float64[Tensor, "T D"]
    embedding_sum: Float64[Tensor, "T D"]
    steps: tuple[SublayerTrace, ...]
    states: Float64[Tensor, "T D"]

    def step(self, part: str, layer: int = 1) -> SublayerTrace | None:
        """A sub-layer, if the trace has it."""
        return next((step for step in self.steps if (step.part, step.layer) == (part, layer)), None)


@dataclass(frozen=True)
class TransformerTrace:
    """Both sides, and the next-word probabilities at each position of the output."""

    encoder: StackTrace
    decoder: StackTrace
    logits: Float64[Tensor, "T V"]
    probabilities: Float64[Tensor, "T V"]


@dataclass(frozen=True)
class ReferenceTransformer:
    """Reference Transformer: weights, number of heads, and pre- or post-norm.

    `without` leaves a part out: the positions added, the residual sums, every normalisation, or
    every feed-forward.
    """

    weights: Weights
    layers: int
    heads: int
    pre_norm: bool
    without: str = ""

    def trace(self, source: Int64[Tensor, " S"], prefix: Int64[Tensor, " T"]) -> TransformerTrace:
        """Forward pass from token ids to probabilities; `prefix` is the output so far, with BOS."""
        encoder = self.encode(source)
        decoder = self._stack("decoder", prefix, encoder.states)
        logits = self._linear("decoder.output", decoder.states)
        return TransformerTrace(encoder, decoder, logits, logits.softmax(-1))

    def encode(self, source: Int64[Tensor, " S"]) -> StackTrace:
        """Trace of the encoder."""
        return self._stack("encoder", source, None)

    def _stack(self, name: str, ids: Int64[Tensor, " T"], source: Rows | None) -> StackTrace:
        """Embed, then every layer: self-attention, cross-attention in the decoder, feed-forward."""
        embedding = self.weights[f"{name}.embedding.token_embedding.weight"]
        width = embedding.shape[1]
        embedded = embedding[ids] * width**0.5
        positions = sinusoids(len(ids), width)
        if self.without == "positions":
            positions = torch.zeros_like(positions)
        x = embedding_sum = embedded + positions
        steps: list[SublayerTrace] = []
        for layer in range(1, self.layers + 1):
            for part, norm in PARTS[name].items():
                if part != self.without:
                    steps.append(self._step(f"{name}.layers.{layer - 1}", part, norm, x, source))
                    x = steps[-1].after
        states = self._layer_norm(f"{name}.final_norm", x) if self.pre_norm else x
        return StackTrace(embedded, positions, embedding_sum, tuple(steps), states)

    def _step(self, at: str, part: str, norm: str, x: Rows, source: Rows | None) -> SublayerTrace:
        """Residual sum of the sub-layer's output, normalised before or after."""
        norm = f"{at}.{norm}"
        normed = self._layer_norm(norm, x) if self.pre_norm else x
        attention, hidden = None, None
        if part == "feed_forward":
            hidden, output = self._feed_forward(f"{at}.{part}", normed)
        elif part == "cross_attention" and source is not None:
            attention, output = self._attend(f"{at}.{part}", normed, source)
        else:
            attention, output = self._attend(
                f"{at}.{part}", normed, normed, causal=source is not None
            )
        after = output if self.without == "residuals" else x + output
        if not self.pre_norm:
            after = self._layer_norm(norm, after)
        return SublayerTrace(
            part, int(at.rpartition(".")[2]) + 1, x, normed, output, after, attention, hidden
        )

    def _attend(
        self, at: str, query_states: Rows, key_states: Rows, *, causal: bool = False
    ) -> tuple[AttentionTrace, Rows]:
        """softmax(Q Kᵀ / √dk) V in every head; the causal mask sets later scores to −∞."""
        queries = self._split(self._linear(f"{at}.query", query_states))
        keys, values = (
            self._split(self._linear(f"{at}.{name}", key_states)) for name in ("key", "value")
        )
        scores = queries @ keys.mT / queries.shape[-1] ** 0.5
        if causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        attention_weights = scores.softmax(-1)
        contexts = attention_weights @ values
        joined = contexts.transpose(0, 1).flatten(1)
        trace = AttentionTrace(queries, keys, values, scores, attention_weights, contexts, joined)
        return trace, self._linear(f"{at}.output", joined)

    def _feed_forward(self, at: str, x: Rows) -> tuple[Float64[Tensor, "T F"], Rows]:
        """max(0, x W + b) V + c, position-wise."""
        hidden = self._linear(f"{at}.up", x).clamp(min=0)
        return hidden, self._linear(f"{at}.down", hidden)

    def _layer_norm(self, at: str, x: Rows) -> Rows:
        """Layer normalisation: mean 0, variance 1, then the learned scale and shift."""
        if self.without == "normalisation":
            return x
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + TINY).sqrt()
        return centred / spread * self.weights[f"{at}.weight"] + self.weights[f"{at}.bias"]

    def _linear(self, at: str, x: Float64[Tensor, "T _"]) -> Float64[Tensor, "T _"]:
        return x @ self.weights[f"{at}.weight"].T + self.weights[f"{at}.bias"]

    def _split(self, x: Rows) -> Float64[Tensor, "H T K"]:
        return x.unflatten(-1, (self.heads, -1)).transpose(0, 1)


def read_weights(
    model: Seq2Seq, *, layers: int, heads: int, pre_norm: bool, without: str = ""
) -> ReferenceTransformer:
    """Reference Transformer with a model's weights in double precision."""
    weights = {name: tensor.detach().double().cpu() for name, tensor in model.state_dict().items()}
    return ReferenceTransformer(weights, layers, heads, pre_norm, without)


def sinusoids(positions: int, width: int) -> Float64[Tensor, "T D"]:
    """sin(p / 10000^(i/d)) in the even columns i, the cosine of the same in the next ones."""
    rates = 10_000.0 ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(positions, dtype=torch.float64).unsqueeze(1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]


MOST_COLUMNS, MOST_HEADS = 8, 2  # that are drawn


def encoder_blocks(
    side: StackTrace, words: Sequence[str], text: Text, *, pre_norm: bool, without: str = ""
) -> Iterator[Block]:
    """Embeddings and positions, the heads' weights, and the vectors after each sub-layer."""
    names, width = _numbered(words), side.embedding_sum.shape[1]
    attention, feed_forward = side.step("self_attention"), side.step("feed_forward")
    assert attention is not None
    yield Paragraph(f"{_embedding(width, text)} {_positions(without, text)}")
    yield _rows(text("transformer.scaled_embeddings", width=width), side.embedded, names, after="+")
    yield _rows(text("transformer.positional_encodings"), side.positions, names)
    yield text.paragraph("transformer.step_self_attention")
    yield _rows(text("transformer.encoder_input"), side.embedding_sum, names)
    yield from _weights(attention, text)
    yield Paragraph(
        f"{_residual_text(without, text, pre_norm=pre_norm)} "
        f"{_feed_forward_text(feed_forward, text)}"
    )
    yield from _after(attention, feed_forward, names, text)


def decoder_blocks(
    trace: TransformerTrace, words: Sequence[str], vocabulary: Sequence[str], text: Text
) -> Iterator[Block]:
    """The prefix, self- and cross-attention weights, the last states, and the next word."""
    side, names = trace.decoder, _numbered(words)
    self_attention, cross_attention = side.step("self_attention"), side.step("cross_attention")
    assert self_attention is not None
    assert cross_attention is not None
    yield text.paragraph("transformer.step_masked_self_attention")
    yield _rows(text("transformer.decoder_input"), side.embedding_sum, names)
    yield from _weights(self_attention, text)
    yield text.paragraph("transformer.step_cross_attention")
    yield _rows(text("transformer.after_self_attention"), self_attention.after, names)
    yield from _weights(cross_attention, text)
    yield text.paragraph("transformer.step_output")
    yield _rows(text("transformer.final_vectors"), side.states, names, after="→")
    yield heatmap(
        text("transformer.next_word_probabilities"), trace.probabilities, names, tuple(vocabulary)
    )


def omitted_blocks(width: int, heads: int, layers: int, text: Text) -> str:
    """What is not drawn of a large model."""
    remarks = []
    if width > MOST_COLUMNS:
        remarks.append(text("transformer.first_numbers_shown", most_columns=MOST_COLUMNS))
    if heads > MOST_HEADS:
        remarks.append(text("transformer.first_heads_shown", most_heads=MOST_HEADS))
    if layers > 1:
        remarks.append(text("transformer.first_layer_shown"))
    return " ".join(remarks)


def _embedding(width: int, text: Text) -> str:
    return text("transformer.step_embedding", width=width)


def _positions(without: str, text: Text) -> str:
    if without == "positions":
        return text("transformer.no_positional_encodings")
    return text("transformer.step_positional_encodings")


def _residual_text(without: str, text: Text, *, pre_norm: bool) -> str:
    """The residual sum, and where the normalisation is."""
    added = text("transformer.step_residual")
    if without == "residuals":
        added = text("transformer.step_without_residual")
    if without == "normalisation":
        return added
    first = text("transformer.sub_layer_input"), text("transformer.sub_layer_result")
    return f"{added} " + text("transformer.step_normalisation", order=first[not pre_norm])


def _feed_forward_text(feed_forward: SublayerTrace | None, text: Text) -> str:
    if feed_forward is None or feed_forward.hidden is None:
        return text("transformer.no_feed_forward")
    width, hidden = feed_forward.sublayer_input.shape[1], feed_forward.hidden.shape[1]
    return text("transformer.step_feed_forward", width=width, hidden=hidden)


def _after(
    attention: SublayerTrace, feed_forward: SublayerTrace | None, names: Sequence[str], text: Text
) -> Iterator[Block]:
    """The vectors after either sub-layer, if there are two."""
    first = text("transformer.after_attention")
    if feed_forward is None:
        yield _rows(first, attention.after, names)
        return
    second = text("transformer.after_feed_forward")
    yield _rows(first, attention.after, names, after="→")
    yield _rows(second, feed_forward.after, names)


def _rows(title: str, x: Tensor, names: Sequence[str], *, after: str = "") -> Table:
    """The first components of every vector, without −0."""
    rounded = x[:, :MOST_COLUMNS].round(decimals=1) + 0.0
    return table(title, rounded, names, digits=1, operator=after)


def _weights(step: SublayerTrace, text: Text) -> Iterator[Block]:
    """Weights of the first heads; rows and columns have the numbers of the words."""
    assert step.attention is not None
    rows, columns = (
        [str(number) for number in range(1, count + 1)]
        for count in step.attention.weights.shape[1:]
    )
    for number, weight in enumerate(step.attention.weights[:MOST_HEADS], 1):
        yield heatmap(text("transformer.head", number=number), weight, rows, columns)


def _numbered(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{number} {word}" for number, word in enumerate(words, 1))


NOTHING = 1e-9


@dataclass(frozen=True)
class AblationMeasures:
    """Ablations: a row for the full model and one without each part, with the same weights.

    `order` is the largest |Δ| of a word's encoder state when the words are reversed; `alike` the
    mean cosine of the states at two different positions; `longest` the largest norm of a vector
    after any sub-layer; `moved` the largest |Δ| of a word's probability from the full model's.
    """

    order: Float64[Tensor, " P"]
    alike: Float64[Tensor, " P"]
    longest: Float64[Tensor, " P"]
    moved: Float64[Tensor, " P"]
    same_backwards: bool

    def blocks(self, text: Text, without: str) -> Iterator[Block]:
        """All measures of all ablations, and a sentence on the chosen one."""
        rows = [
            text("transformer.complete_model"),
            *(ablation_name(part, text) for part in WITHOUT),
        ]
        columns = [
            text("transformer.column_order"),
            text("transformer.column_similarity"),
            text("transformer.column_largest_norm"),
            text("transformer.column_probability"),
        ]
        values = torch.stack([self.order, self.alike, self.longest, self.moved], dim=1)
        parts = [without] if without else WITHOUT
        yield text.paragraph("transformer.ablation_measures")
        yield table(text("transformer.measures"), values, rows, columns)
        yield Paragraph(" ".join(self._describe(part, text) for part in parts))

    def _describe(self, without: str, text: Text) -> str:
        at = 1 + WITHOUT.index(without)
        match without:
            case "positions":
                return self._ordered(float(self.order[at]), text)
            case "residuals":
                was, now = float(self.alike[0]), float(self.alike[at])
                return text("transformer.ablation_residuals", now=now, was=was, larger=now > was)
            case "normalisation":
                was, now = float(self.longest[0]), float(self.longest[at])
                return text("transformer.ablation_normalisation", now=now, was=was)
            case _:
                change = float(self.moved[at])
                return text("transformer.ablation_feed_forward", change=change)

    def _ordered(self, now: float, text: Text) -> str:
        if self.same_backwards:
            return text("transformer.palindrome")
        if now < NOTHING:
            return text("transformer.ablation_positions")
        return text("transformer.ablation_positions_change", now=now)


def measure_ablations(
    reference: ReferenceTransformer, source: Int64[Tensor, " S"], prefix: Int64[Tensor, " T"]
) -> AblationMeasures:
    """Measure the full model and one without each part; EOS of the source stays last."""
    backwards = torch.tensor([*reversed(range(len(source) - 1)), len(source) - 1])
    full_trace = reference.trace(source, prefix)
    rows = []
    for without in ("", *WITHOUT):
        ablated = replace(reference, without=without)
        trace = ablated.trace(source, prefix)
        reversed_states = ablated.encode(source[backwards]).states
        order = (reversed_states - trace.encoder.states[backwards]).abs().max()
        moved = (trace.probabilities - full_trace.probabilities).abs().max()
        rows.append(torch.stack([order, _alike(trace.encoder.states), _longest(trace), moved]))
    order, alike, longest, moved = torch.stack(rows).unbind(1)
    return AblationMeasures(
        order, alike, longest, moved, same_backwards=torch.equal(source, source[backwards])
    )


def _alike(states: Float64[Tensor, "T D"]) -> Float64[Tensor, ""]:
    """The mean cosine of two different rows."""
    directions = states / states.norm(dim=1, keepdim=True)
    count = len(directions)
    return ((directions @ directions.T).sum() - count) / (count * (count - 1))


def _longest(trace: TransformerTrace) -> Float64[Tensor, ""]:
    steps = (*trace.encoder.steps, *trace.decoder.steps)
    return torch.stack([step.after.norm(dim=1).max() for step in steps]).max()


def ablation_name(without: str, text: Text) -> str:
    """Displayed name of an ablation."""
    names = {
        "positions": text("transformer.without_positions"),
        "residuals": text("transformer.without_residuals"),
        "normalisation": text("transformer.without_normalisation"),
        "feed_forward": text("transformer.without_feed_forward"),
    }
    return names[without]
