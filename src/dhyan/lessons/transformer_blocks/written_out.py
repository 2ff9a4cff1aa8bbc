"""A Transformer's forward pass written out: every sub-layer a formula over the model's weights."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from dhyan.models.seq2seq import Seq2Seq

WITHOUT = ("positions", "residuals", "normalisation", "feed_forward")
TINY = 1e-5  # what is added to a variance before its root is divided by

Own = Mapping[str, Tensor]
Rows = Float64[Tensor, "_ D"]
PARTS = {  # the sub-layers of either side, with the name of the normalisation each has
    "encoder": {
        "self_attention": "self_attention_norm",
        "feed_forward": "feed_forward_norm",
    },
    "decoder": {
        "self_attention": "self_attention_norm",
        "cross_attention": "cross_attention_norm",
        "feed_forward": "feed_forward_norm",
    },
}


@dataclass(frozen=True)
class Look:
    """An attention's numbers from queries to its answer, a table for each head."""

    queries: Float64[Tensor, "H T K"]
    keys: Float64[Tensor, "H S K"]
    values: Float64[Tensor, "H S K"]
    scores: Float64[Tensor, "H T S"]
    weights: Float64[Tensor, "H T S"]
    contexts: Float64[Tensor, "H T K"]
    joined: Float64[Tensor, "T D"]


@dataclass(frozen=True)
class Step:
    """A sub-layer: the road before it, what it reads and finds, and the road after it.

    `look` are the numbers of an attention, `hidden` the widened vectors of a feed-forward.
    """

    part: str
    layer: int
    before: Float64[Tensor, "T D"]
    read: Float64[Tensor, "T D"]
    found: Float64[Tensor, "T D"]
    after: Float64[Tensor, "T D"]
    look: Look | None = None
    hidden: Float64[Tensor, "T F"] | None = None


@dataclass(frozen=True)
class Side:
    """An encoder's or a decoder's way: words, their places, both together, steps, states."""

    embedded: Float64[Tensor, "T D"]
    positions: Float64[Tensor, "T D"]
    entered: Float64[Tensor, "T D"]
    steps: tuple[Step, ...]
    states: Float64[Tensor, "T D"]

    def step(self, part: str, layer: int = 1) -> Step | None:
        """One of the steps, if the walk has it."""
        return next((one for one in self.steps if (one.part, one.layer) == (part, layer)), None)


@dataclass(frozen=True)
class Walk:
    """Both sides, and the chance of every word after each place of the output."""

    encoder: Side
    decoder: Side
    logits: Float64[Tensor, "T V"]
    chances: Float64[Tensor, "T V"]


@dataclass(frozen=True)
class Written:
    """A Transformer as its weights, its number of heads, and where it normalises.

    `without` leaves a part out: the positions added, the residual sums, every normalisation, or
    every feed-forward.
    """

    own: Own
    layers: int
    heads: int
    pre_norm: bool
    without: str = ""

    def walk(self, source: Int64[Tensor, " S"], said: Int64[Tensor, " T"]) -> Walk:
        """From ids to chances; `said` are the words of the output so far, from its start on."""
        read = self.encoded(source)
        written = self._side("decoder", said, read.states)
        logits = self._linear("decoder.output", written.states)
        return Walk(read, written, logits, logits.softmax(-1))

    def encoded(self, source: Int64[Tensor, " S"]) -> Side:
        """The encoder's side alone."""
        return self._side("encoder", source, None)

    def _side(self, name: str, ids: Int64[Tensor, " T"], source: Rows | None) -> Side:
        """Embed, then every layer: look at oneself, at the source if there is one, and think."""
        words = self.own[f"{name}.embedding.token_embedding.weight"]
        width = words.shape[1]
        embedded = words[ids] * width**0.5
        positions = sinusoids(len(ids), width)
        if self.without == "positions":
            positions = torch.zeros_like(positions)
        x = entered = embedded + positions
        steps: list[Step] = []
        for layer in range(1, self.layers + 1):
            for part, norm in PARTS[name].items():
                if part != self.without:
                    steps.append(self._step(f"{name}.layers.{layer - 1}", part, norm, x, source))
                    x = steps[-1].after
        states = self._normal(f"{name}.final_norm", x) if self.pre_norm else x
        return Side(embedded, positions, entered, tuple(steps), states)

    def _step(self, at: str, part: str, norm: str, x: Rows, source: Rows | None) -> Step:
        """What the sub-layer finds is added to the road, which is normalised before or after."""
        norm = f"{at}.{norm}"
        read = self._normal(norm, x) if self.pre_norm else x
        look, hidden = None, None
        if part == "feed_forward":
            hidden, found = self._think(f"{at}.{part}", read)
        elif part == "cross_attention" and source is not None:
            look, found = self._attend(f"{at}.{part}", read, source)
        else:
            look, found = self._attend(f"{at}.{part}", read, read, masked=source is not None)
        after = found if self.without == "residuals" else x + found
        if not self.pre_norm:
            after = self._normal(norm, after)
        return Step(part, int(at.rpartition(".")[2]) + 1, x, read, found, after, look, hidden)

    def _attend(
        self, at: str, asks: Rows, answers: Rows, *, masked: bool = False
    ) -> tuple[Look, Rows]:
        """softmax(Q Kᵀ / √dk) V in every head; the mask puts −∞ on what comes later."""
        queries = self._split(self._linear(f"{at}.query", asks))
        keys, values = (
            self._split(self._linear(f"{at}.{one}", answers)) for one in ("key", "value")
        )
        scores = queries @ keys.mT / queries.shape[-1] ** 0.5
        if masked:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        weights = scores.softmax(-1)
        contexts = weights @ values
        joined = contexts.transpose(0, 1).flatten(1)
        look = Look(queries, keys, values, scores, weights, contexts, joined)
        return look, self._linear(f"{at}.output", joined)

    def _think(self, at: str, x: Rows) -> tuple[Float64[Tensor, "T F"], Rows]:
        """max(0, x W + b) V + c, for every word alike."""
        hidden = self._linear(f"{at}.up", x).clamp(min=0)
        return hidden, self._linear(f"{at}.down", hidden)

    def _normal(self, at: str, x: Rows) -> Rows:
        """Every vector with mean 0 and variance 1, then stretched and shifted as learned."""
        if self.without == "normalisation":
            return x
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + TINY).sqrt()
        return centred / spread * self.own[f"{at}.weight"] + self.own[f"{at}.bias"]

    def _linear(self, at: str, x: Float64[Tensor, "T _"]) -> Float64[Tensor, "T _"]:
        return x @ self.own[f"{at}.weight"].T + self.own[f"{at}.bias"]

    def _split(self, x: Rows) -> Float64[Tensor, "H T K"]:
        return x.unflatten(-1, (self.heads, -1)).transpose(0, 1)


def written_out(
    model: Seq2Seq, *, layers: int, heads: int, pre_norm: bool, without: str = ""
) -> Written:
    """A model's weights in double precision, ready to be walked by hand."""
    own = {name: one.detach().double().cpu() for name, one in model.state_dict().items()}
    return Written(own, layers, heads, pre_norm, without)


def sinusoids(places: int, width: int) -> Float64[Tensor, "T D"]:
    """sin(p / 10000^(i/d)) in the even columns i, the cosine of the same in the next ones."""
    rates = 10_000.0 ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(places, dtype=torch.float64).unsqueeze(1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]
