"""A Transformer written out: every intermediate value of a pass, and ablations of its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from dhyan.insight.blocks import Part, Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.models.seq2seq import Seq2Seq

WITHOUT = ("positions", "residuals", "normalisation", "feed_forward")
TINY = 1e-5  # what is added to a variance before its root is divided by

Own = Mapping[str, Tensor]
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
    """An attention's numbers from queries to its answer, a table for each head."""

    queries: Float64[Tensor, "H T K"]
    keys: Float64[Tensor, "H S K"]
    values: Float64[Tensor, "H S K"]
    scores: Float64[Tensor, "H T S"]
    weights: Float64[Tensor, "H T S"]
    contexts: Float64[Tensor, "H T K"]
    joined: Float64[Tensor, "T D"]


@dataclass(frozen=True)
class SublayerTrace:
    """A sub-layer: the road before it, what it reads and finds, and the road after it.

    `look` are the numbers of an attention, `hidden` the widened vectors of a feed-forward.
    """

    part: str
    layer: int
    before: Float64[Tensor, "T D"]
    read: Float64[Tensor, "T D"]
    found: Float64[Tensor, "T D"]
    after: Float64[Tensor, "T D"]
    look: AttentionTrace | None = None
    hidden: Float64[Tensor, "T F"] | None = None


@dataclass(frozen=True)
class StackTrace:
    """An encoder's or a decoder's way: words, their places, both together, steps, states."""

    embedded: Float64[Tensor, "T D"]
    positions: Float64[Tensor, "T D"]
    entered: Float64[Tensor, "T D"]
    steps: tuple[SublayerTrace, ...]
    states: Float64[Tensor, "T D"]

    def step(self, part: str, layer: int = 1) -> SublayerTrace | None:
        """One of the steps, if the walk has it."""
        return next((step for step in self.steps if (step.part, step.layer) == (part, layer)), None)


@dataclass(frozen=True)
class TransformerTrace:
    """Both sides, and the chance of every word after each place of the output."""

    encoder: StackTrace
    decoder: StackTrace
    logits: Float64[Tensor, "T V"]
    chances: Float64[Tensor, "T V"]


@dataclass(frozen=True)
class ReferenceTransformer:
    """A Transformer as its weights, its number of heads, and where it normalises.

    `without` leaves a part out: the positions added, the residual sums, every normalisation, or
    every feed-forward.
    """

    own: Own
    layers: int
    heads: int
    pre_norm: bool
    without: str = ""

    def walk(self, source: Int64[Tensor, " S"], said: Int64[Tensor, " T"]) -> TransformerTrace:
        """From ids to chances; `said` are the words of the output so far, from its start on."""
        read = self.encoded(source)
        written = self._side("decoder", said, read.states)
        logits = self._linear("decoder.output", written.states)
        return TransformerTrace(read, written, logits, logits.softmax(-1))

    def encoded(self, source: Int64[Tensor, " S"]) -> StackTrace:
        """The encoder's side alone."""
        return self._side("encoder", source, None)

    def _side(self, name: str, ids: Int64[Tensor, " T"], source: Rows | None) -> StackTrace:
        """Embed, then every layer: look at oneself, at the source if there is one, and think."""
        words = self.own[f"{name}.embedding.token_embedding.weight"]
        width = words.shape[1]
        embedded = words[ids] * width**0.5
        positions = sinusoids(len(ids), width)
        if self.without == "positions":
            positions = torch.zeros_like(positions)
        x = entered = embedded + positions
        steps: list[SublayerTrace] = []
        for layer in range(1, self.layers + 1):
            for part, norm in PARTS[name].items():
                if part != self.without:
                    steps.append(self._step(f"{name}.layers.{layer - 1}", part, norm, x, source))
                    x = steps[-1].after
        states = self._normal(f"{name}.final_norm", x) if self.pre_norm else x
        return StackTrace(embedded, positions, entered, tuple(steps), states)

    def _step(self, at: str, part: str, norm: str, x: Rows, source: Rows | None) -> SublayerTrace:
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
        return SublayerTrace(
            part, int(at.rpartition(".")[2]) + 1, x, read, found, after, look, hidden
        )

    def _attend(
        self, at: str, asks: Rows, answers: Rows, *, masked: bool = False
    ) -> tuple[AttentionTrace, Rows]:
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
        look = AttentionTrace(queries, keys, values, scores, weights, contexts, joined)
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


def read_weights(
    model: Seq2Seq, *, layers: int, heads: int, pre_norm: bool, without: str = ""
) -> ReferenceTransformer:
    """A model's weights in double precision, ready to be walked by hand."""
    own = {name: one.detach().double().cpu() for name, one in model.state_dict().items()}
    return ReferenceTransformer(own, layers, heads, pre_norm, without)


def sinusoids(places: int, width: int) -> Float64[Tensor, "T D"]:
    """sin(p / 10000^(i/d)) in the even columns i, the cosine of the same in the next ones."""
    rates = 10_000.0 ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(places, dtype=torch.float64).unsqueeze(1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]


MOST_COLUMNS, MOST_HEADS = 8, 2  # that are drawn


def encoder_blocks(
    side: StackTrace, words: Sequence[str], text: Text, *, pre_norm: bool, without: str = ""
) -> list[Part]:
    """Words and places, the heads' weights, and the vectors after each sub-layer."""
    names, width = _numbered(words), side.entered.shape[1]
    looked, thought = side.step("self_attention"), side.step("feed_forward")
    assert looked is not None
    return [
        Words(f"{_embedding(width, text)} {_positions(without, text)}"),
        _rows(text("transformer.words", width=width), side.embedded, names, after="+"),
        _rows(text("transformer.places"), side.positions, names),
        Words(text("transformer.self_attention_word_mixes")),
        _rows(text("transformer.x_words_places"), side.entered, names),
        *_weights(looked, text),
        Words(
            f"{_residual_text(without, text, pre_norm=pre_norm)} {_feed_forward_text(thought, text)}"
        ),
        *_after(looked, thought, names, text),
    ]


def decoder_blocks(
    walk: TransformerTrace, words: Sequence[str], vocabulary: Sequence[str], text: Text
) -> list[Part]:
    """What has been said, both kinds of weights, the last vectors, and the next word."""
    side, names = walk.decoder, _numbered(words)
    recalled, looked = side.step("self_attention"), side.step("cross_attention")
    assert recalled is not None
    assert looked is not None
    return [
        Words(text("transformer.decoder_begins_alike_been")),
        _rows(text("transformer.y_words_places"), side.entered, names),
        *_weights(recalled, text),
        Words(text("transformer.cross_attention_output_asks")),
        _rows(text("transformer.after_self_attention"), recalled.after, names),
        *_weights(looked, text),
        Words(text("transformer.output_last_vector_place")),
        _rows(text("transformer.last_vectors"), side.states, names, after="→"),
        table(
            text("transformer.next_word"), walk.chances, names, tuple(vocabulary), kind="weights"
        ),
    ]


def omitted_blocks(width: int, heads: int, layers: int, text: Text) -> str:
    """What of a large one is not drawn."""
    told = []
    if width > MOST_COLUMNS:
        told.append(text("transformer.vector_first_numbers_drawn", most_columns=MOST_COLUMNS))
    if heads > MOST_HEADS:
        told.append(text("transformer.heads_first_drawn", most_heads=MOST_HEADS))
    if layers > 1:
        told.append(text("transformer.stations_first_layer"))
    return " ".join(told)


def _embedding(width: int, text: Text) -> str:
    return text("transformer.embedding_word_row_table", width=width)


def _positions(without: str, text: Text) -> str:
    if without == "positions":
        return text("transformer.positions_none_added_nothing")
    return text("transformer.positions_vector_place_added")


def _residual_text(without: str, text: Text, *, pre_norm: bool) -> str:
    """What is done with what a sub-layer finds, and where the size of vectors is set right."""
    added = text("transformer.residual_found_added_vector")
    if without == "residuals":
        added = text("transformer.without_residual_found_takes")
    if without == "normalisation":
        return added
    first = text("transformer.part_reads"), text("transformer.result")
    return f"{added} " + text("transformer.normalisation_brought_size", order=first[not pre_norm])


def _feed_forward_text(thought: SublayerTrace | None, text: Text) -> str:
    if thought is None or thought.hidden is None:
        return text("transformer.feed_forward_2")
    width, hidden = thought.read.shape[1], thought.hidden.shape[1]
    return text("transformer.feed_forward_word_worked", width=width, hidden=hidden)


def _after(
    looked: SublayerTrace, thought: SublayerTrace | None, names: Sequence[str], text: Text
) -> list[Table]:
    """The vectors after either sub-layer, if there are two."""
    first = text("transformer.after_attention")
    if thought is None:
        return [_rows(first, looked.after, names)]
    second = text("transformer.after_feed_forward")
    return [_rows(first, looked.after, names, after="→"), _rows(second, thought.after, names)]


def _rows(title: str, x: Tensor, names: Sequence[str], *, after: str = "") -> Table:
    """The first numbers of every vector, none of them −0."""
    shown = x[:, :MOST_COLUMNS].round(decimals=1) + 0.0
    return table(title, shown, names, digits=1, after=after)


def _weights(step: SublayerTrace, text: Text) -> list[Table]:
    """The weights of the first heads; rows and columns are numbered as the words are."""
    assert step.look is not None
    rows, columns = (
        [str(place) for place in range(1, count + 1)] for count in step.look.weights.shape[1:]
    )
    return [
        table(text("transformer.head", number=number), weight, rows, columns, kind="weights")
        for number, weight in enumerate(step.look.weights[:MOST_HEADS], 1)
    ]


def _numbered(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{place} {word}" for place, word in enumerate(words, 1))


NOTHING = 1e-9


@dataclass(frozen=True)
class AblationMeasures:
    """A row for the whole walk and one without each part; fresh weights, all the same.

    `order` is the largest |Δ| of a word's state in the encoder when the words come backwards;
    `alike` the mean cosine of the states of two different places; `longest` the length of the
    longest vector after any sub-layer; `moved` the largest |Δ| of a word's chance to the whole's.
    """

    order: Float64[Tensor, " P"]
    alike: Float64[Tensor, " P"]
    longest: Float64[Tensor, " P"]
    moved: Float64[Tensor, " P"]
    same_backwards: bool

    def parts(self, text: Text, without: str) -> tuple[Words, Table, Words]:
        """All measures of all walks, and a sentence on the one that was asked for."""
        rows = [text("transformer.whole"), *(ablation_name(one, text) for one in WITHOUT)]
        columns = [
            text("transformer.order"),
            text("transformer.alike"),
            text("transformer.longest"),
            text("transformer.chances"),
        ]
        values = torch.stack([self.order, self.alike, self.longest, self.moved], dim=1)
        chosen = [without] if without else WITHOUT
        return (
            Words(text("transformer.changes_without_part_order")),
            table(text("transformer.measures"), values, rows, columns),
            Words(" ".join(self._told(chosen_one, text) for chosen_one in chosen)),
        )

    def _told(self, without: str, text: Text) -> str:
        at = 1 + WITHOUT.index(without)
        match without:
            case "positions":
                return self._ordered(float(self.order[at]), text)
            case "residuals":
                was, now = float(self.alike[0]), float(self.alike[at])
                return text(
                    "transformer.without_residuals_two_words", now=now, was=was, larger=now > was
                )
            case "normalisation":
                was, now = float(self.longest[0]), float(self.longest[at])
                return text("transformer.without_normalisation_longest_vector", now=now, was=was)
            case _:
                gone = float(self.moved[at])
                return text("transformer.without_feed_forward_word", gone=gone)

    def _ordered(self, now: float, text: Text) -> str:
        if self.same_backwards:
            return text("transformer.sentence_reads_same_backwards")
        if now < NOTHING:
            return text("transformer.without_positions_encoder_states")
        return text("transformer.without_positions_states_still", now=now)


def measure_ablations(
    full: ReferenceTransformer, source: Int64[Tensor, " S"], said: Int64[Tensor, " T"]
) -> AblationMeasures:
    """The whole walk and one without each part; the source's end stays at the end."""
    backwards = torch.tensor([*reversed(range(len(source) - 1)), len(source) - 1])
    whole = full.walk(source, said)
    found = []
    for without in ("", *WITHOUT):
        written = replace(full, without=without)
        walk = written.walk(source, said)
        turned = written.encoded(source[backwards]).states
        order = (turned - walk.encoder.states[backwards]).abs().max()
        moved = (walk.chances - whole.chances).abs().max()
        found.append(torch.stack([order, _alike(walk.encoder.states), _longest(walk), moved]))
    order, alike, longest, moved = torch.stack(found).unbind(1)
    return AblationMeasures(
        order, alike, longest, moved, same_backwards=torch.equal(source, source[backwards])
    )


def _alike(states: Float64[Tensor, "T D"]) -> Float64[Tensor, ""]:
    """The mean cosine of two different rows."""
    ways = states / states.norm(dim=1, keepdim=True)
    count = len(ways)
    return ((ways @ ways.T).sum() - count) / (count * (count - 1))


def _longest(walk: TransformerTrace) -> Float64[Tensor, ""]:
    steps = (*walk.encoder.steps, *walk.decoder.steps)
    return torch.stack([step.after.norm(dim=1).max() for step in steps]).max()


def ablation_name(without: str, text: Text) -> str:
    """The name of a walk that a part is taken out of."""
    names = {
        "positions": text("transformer.without_positions"),
        "residuals": text("transformer.without_residuals"),
        "normalisation": text("transformer.without_normalisation"),
        "feed_forward": text("transformer.without_feed_forward"),
    }
    return names[without]
