"""Several heads side by side: each has a table of weights of its own, and may hold a reading."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from dhyan.data.primer import Bounds, SentencePair, generate_sentences
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Table, Words, table
from dhyan.insight.head_statistics import distance, entropy, previous_share, target_share
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import load_translator
from dhyan.lessons.transformer_blocks.phrase_heads import (
    PhraseHeads,
    head_weights,
    measure_phrase_heads,
)
from dhyan.special_tokens import EOS, NAMES
from dhyan.text.normalize import normalize

if TYPE_CHECKING:
    pass

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Reading:
    """What the sentence then says, and the place of the word that the asking word looks at."""

    key: str
    sees: int


@dataclass(frozen=True)
class Example:
    """A word at a place that asks in two ways, the words' vectors, and a head for each reading.

    `written` has the keys of the names of the output's numbers.
    """

    sentence: str
    asks: int
    readings: tuple[Reading, Reading]
    vectors: Rows
    w_query: tuple[Rows, Rows]
    w_key: tuple[Rows, Rows]
    w_value: tuple[Rows, Rows]
    written: tuple[str, ...]


NOTHING = (0.0, 0.0, 0.0, 0.0)
LOOK, SKIP = (3.0, 0.0), (0.0, 0.0)  # a row of W_q or W_k: asked for by a head, or of no concern
FIRST, SECOND = (1.0, 0.0), (0.0, 1.0)  # where a head's value writes it

# Axes: who does it, what is done, to whom, with what. Nouns ask the first head for the deed; the
# tool asks the second for the one it was done to.
TELESCOPE = Example(
    "The man saw the astronomer with a telescope",
    7,
    (Reading("telescope_1", 2), Reading("telescope_2", 4)),
    (
        NOTHING,
        (1.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 0.0),
        NOTHING,
        (0.0, 0.0, 1.0, 0.0),
        NOTHING,
        NOTHING,
        (0.0, 0.0, 0.0, 1.0),
    ),
    ((LOOK, SKIP, LOOK, LOOK), (SKIP, SKIP, SKIP, LOOK)),
    ((SKIP, LOOK, SKIP, SKIP), (SKIP, SKIP, LOOK, SKIP)),
    ((FIRST, SECOND, SKIP, SKIP), (SKIP, SKIP, FIRST, SECOND)),
    ("who", "deed", "whom", "tool"),
)
# Axes: the animal, its state, the deed, none. The deed asks both heads for the animal; the first
# writes down who eats, the second what is eaten.
CHICKEN = Example(
    "The chicken is ready to eat",
    5,
    (Reading("chicken_1", 1), Reading("chicken_2", 1)),
    (NOTHING, (1.0, 0.0, 0.0, 0.0), NOTHING, (0.0, 1.0, 0.0, 0.0), NOTHING, (0.0, 0.0, 1.0, 0.0)),
    ((SKIP, SKIP, LOOK, SKIP), (SKIP, SKIP, LOOK, SKIP)),
    ((LOOK, SKIP, SKIP, SKIP), (LOOK, SKIP, SKIP, SKIP)),
    ((FIRST, SKIP, SKIP, SKIP), (FIRST, SKIP, SKIP, SKIP)),
    ("eats", "", "is_eaten", ""),
)
EXAMPLES = (TELESCOPE, CHICKEN)


MOST_TABLES = 4  # heads with their numbers; more are drawn small,
ABREAST = 4  # in lines of so many
SPLIT, SEED = "random", 1
SMALL = Bounds(longest=10, core=0.15)  # sentences of the primer, as its recipe has them
NO_WORD = -1


@dataclass(frozen=True)
class EncoderHeads(LessonResult):
    """The weights of every head of every layer for one sentence, and measures of them.

    The measures are means over `sentences`, of the primer if they are several; `even` has those of
    a head that looks at all places alike. `dependency` is the weight that a word gives the one it
    depends on, where that is known; `depends` has its place for each word of the sentence drawn.
    """

    words: tuple[str, ...]
    weights: Float[Tensor, "L H T T"]
    depends: tuple[int, ...] | None
    sentences: int
    entropy: Float[Tensor, "L H"]
    distance: Float[Tensor, "L H"]
    previous: Float[Tensor, "L H"]
    dependency: Float[Tensor, "L H"] | None
    even: tuple[float, ...]
    layer: int = 0
    holder: PhraseHeads | None = None

    def page(self, text: Text) -> Page:
        """The measures of all heads, then the tables."""
        layers, count = self.weights.shape[:2]
        return Page(
            text("multi_head.head_trained_encoder"),
            (
                Words(
                    text(
                        "multi_head.read",
                        sentence=" ".join(self.words[:-1]),
                        sentence_without_stop=" ".join(self.words[:-1]).rstrip("."),
                        layers=layers,
                        single_layers=layers == 1,
                        count=count,
                        single_count=count == 1,
                    )
                    + self._over(text)
                ),
                *self._measures(text),
                Words(self._verdict(text)),
                *(self.holder.parts(text) if self.holder else ()),
                *self._drawn(text),
            ),
        )

    def _drawn(self, text: Text) -> list[Table]:
        """The table of every head: with its numbers if they are few, else small."""
        layers, count = self.weights.shape[:2]
        chosen = [self.layer - 1] if self.layer else range(layers)
        heads = [(at, head) for at in chosen for head in range(count)]
        places = [str(place + 1) for place in range(len(self.words))]
        rows = [f"{place} {word}" for place, word in zip(places, self.words, strict=True)]
        bare = len(heads) > MOST_TABLES
        return [
            table(
                _name(at, head, text),
                self.weights[at, head],
                () if bare and number % ABREAST else self.words if bare else rows,
                (self.words if number < ABREAST else ()) if bare else places,
                kind="weights",
                bare=bare,
            )
            for number, (at, head) in enumerate(heads)
        ]

    def _over(self, text: Text) -> str:
        if self.sentences == 1:
            return ""
        return text("multi_head.measures_means_sentences_primer", sentences=self.sentences)

    def _measures(self, text: Text) -> tuple[Table, Table]:
        """How spread and how far each head looks, and what share it gives to two kinds of words."""
        layers, count = self.weights.shape[:2]
        rows = [_name(at, head, text) for at in range(layers) for head in range(count)]
        rows.append(text("multi_head.alike"))
        columns = [text("multi_head.entropy_bits"), text("multi_head.distance")]
        spread = [self.entropy, self.distance]
        names, shares = [text("multi_head.word_before")], [self.previous]
        if self.dependency is not None:
            names.append(text("multi_head.depends"))
            shares.append(self.dependency)
        title = text("multi_head.share_weight")
        return (
            table("", _columns(spread, self.even[:2]), rows, columns),
            table(title, _columns(shares, self.even[2:]), rows, names, kind="weights"),
        )

    def _verdict(self, text: Text) -> str:
        """Which heads stand out, if any do."""
        told = [_most(self.previous, self.even[2], text, text("multi_head.most_word_before"))]
        if self.dependency is not None:
            name = text("multi_head.most_dependency")
            told.append(_most(self.dependency, self.even[3], text, name))
        return " ".join(told)


def encoder_heads(
    model: str | Path | Translator,
    sentence: str | Sequence[str],
    *,
    primer: int | None = None,
    sentences: int = 1,
    layer: int = 0,
    pairs: int = 0,
    bounds: Bounds = SMALL,
) -> EncoderHeads:
    """The heads of a trained Transformer's encoder for a sentence, or for some of the primer's."""
    translator = load_translator(model)
    sentences, layer = parse_int("sentences", sentences), parse_int("layer", layer, least=0)
    pairs, side = parse_int("pairs", pairs, least=0), int(translator.source_language == "hi")
    text, twins = " ".join(parse_words(sentence)), list[SentencePair]()
    if primer is not None or sentences > 1:
        first = parse_int("primer", primer or 0, least=0)
        stream = generate_sentences(SPLIT, seed=SEED, longest=bounds.longest, core=bounds.core)
        twins = list(islice(stream, first, first + sentences))
    texts = [twin.hindi if side else twin.english for twin in twins] or [text]
    depends = [_depends(twin, side) for twin in twins] or None
    tables = [head_weights(translator, one) for one in texts]
    drawn = tables[0] if primer is not None else head_weights(translator, text)
    layers = len(drawn)
    if not 0 <= layer <= layers:
        raise UserError(f"layer: {layer} is none of the encoder's {layers}; give 1 to {layers}")
    even = [
        torch.full_like(weights_table[:1, :1], 1 / weights_table.shape[-1])
        for weights_table in tables
    ]
    ways: list[Callable[[list[Tensor]], Tensor]] = [_mean(entropy), _mean(distance)]
    ways.append(_mean(previous_share))
    if depends is not None:
        ways.append(lambda given: _dependency(given, depends))
    measures = [way(tables) for way in ways]
    return EncoderHeads(
        words=(*normalize(texts[0] if primer is not None else text).split(), NAMES[EOS]),
        weights=drawn,
        depends=depends[0] if depends and primer is not None else None,
        sentences=len(texts),
        entropy=measures[0],
        distance=measures[1],
        previous=measures[2],
        dependency=measures[3] if depends else None,
        even=tuple(float(way(even)) for way in ways),
        layer=layer,
        holder=measure_phrase_heads(translator, pairs, core=bounds.core) if pairs else None,
    )


def _depends(twin: SentencePair, side: int) -> tuple[int, ...]:
    """The place that each word depends on; the end of the sentence depends on none."""
    return (*twin.heads(side), NO_WORD)


def _mean(measure: Callable[[Tensor], Tensor]) -> Callable[[list[Tensor]], Tensor]:
    """A measure's mean over several sentences."""
    return lambda tables: torch.stack([measure(weights_table) for weights_table in tables]).mean(
        dim=0
    )


def _dependency(tables: list[Tensor], depends: Sequence[Sequence[int]]) -> Tensor:
    each = [
        target_share(weights_table, own) for weights_table, own in zip(tables, depends, strict=True)
    ]
    return torch.stack(each).mean(dim=0)


def _columns(measures: Sequence[Tensor], even: Sequence[float]) -> list[list[float]]:
    """A row for every head, and the even one below."""
    return [*torch.stack([measure.flatten() for measure in measures], dim=1).tolist(), list(even)]


def _name(layer: int, head: int, text: Text) -> str:
    return text("multi_head.layer_head", layer_number=layer + 1, head_number=head + 1)


def _most(shares: Tensor, even: float, text: Text, what: str) -> str:
    """The head that gives most to something, beside one that looks at all places alike."""
    layer, head = divmod(int(shares.argmax()), shares.shape[1])
    most, who = float(shares.max()), _name(layer, head, text)
    if more := int((shares > even).sum()):
        return text(
            "multi_head.gets_most_alike_would",
            what=what,
            who=who,
            most=most,
            even=even,
            more=more,
            heads_in_all=shares.numel(),
        )
    return text("multi_head.gets_more_head_alike", what=what, most=most, even=even)


SENTENCE = EXAMPLES[0].sentence
Matrices = Sequence[Matrix] | Tensor


@dataclass(frozen=True)
class MultiHead(LessonResult):
    """Every head from its queries to its context, joined and projected; and one as wide as all.

    The one head has all their queries, keys and values end to end: the same weights, one softmax.
    """

    words: tuple[str, ...]
    vectors: Float64[Tensor, "T D"]
    queries: Float64[Tensor, "H T K"]
    keys: Float64[Tensor, "H T K"]
    values: Float64[Tensor, "H T V"]
    scores: Float64[Tensor, "H T T"]
    weights: Float64[Tensor, "H T T"]
    contexts: Float64[Tensor, "H T V"]
    joined: Float64[Tensor, "T W"]
    outputs: Float64[Tensor, "T O"]
    one_weights: Float64[Tensor, "T T"]
    one_outputs: Float64[Tensor, "T O"]
    example: Example | None = None

    def page(self, text: Text) -> Page:
        """The two readings, if there are two; then every head."""
        count, _, narrow = self.queries.shape
        return Page(
            text("multi_head.title", count=count, narrow=narrow),
            (
                *(self._readings(self.example, text) if self.example else ()),
                Words(
                    text(
                        "multi_head.head_w_q_w",
                        count=count,
                        narrow=narrow,
                        total_width=count * narrow,
                    )
                ),
                *(
                    table(_head(number, text), weight, self.words, self.words, kind="weights")
                    for number, weight in enumerate(self.weights, 1)
                ),
            ),
        )

    def _readings(self, example: Example, text: Text) -> tuple[Part, ...]:
        """The row of the word that asks, in one head and in each; and what that shows."""
        first, second = example.readings
        asks = example.asks
        single = text("multi_head.wide_head")
        names = (single, *(_head(number, text) for number in range(1, len(self.weights) + 1)))
        rows = torch.stack([self.one_weights[asks], *self.weights[:, asks]])
        found = torch.stack([self.one_outputs[asks], self.outputs[asks]])
        both = text("multi_head.both_heads_joined")
        word = self.words[asks]
        return (
            Words(
                text(
                    "multi_head.sentence_read_two_ways",
                    first=text(f"multi_head.reading_{first.key}"),
                    second=text(f"multi_head.reading_{second.key}"),
                )
            ),
            table(text("multi_head.looks", word=word), rows, names, self.words, kind="weights"),
            table(
                text("multi_head.becomes", word=word),
                found,
                (single, both),
                [text(f"multi_head.output_{key}") if key else "" for key in example.written],
            ),
            Words(self._verdict(example, text)),
        )

    def _verdict(self, example: Example, text: Text) -> str:
        asks, (one, two) = example.asks, (reading.sees for reading in example.readings)
        word, first, second = (self.words[place] for place in (asks, one, two))
        if one == two:
            return text("multi_head.both_readings_look_table", word=word, first=first)
        shared = self.one_weights[asks, [one, two]].tolist()
        whole = [float(self.weights[0, asks, one]), float(self.weights[1, asks, two])]
        told = text(
            "multi_head.table_gives_row_sums",
            first=first,
            first_shared=shared[0],
            second=second,
            second_shared=shared[1],
        )
        if sum(whole) > 1:
            return told + text(
                "multi_head.two_heads_give_holds", first_whole=whole[0], second_whole=whole[1]
            )
        return told + text(
            "multi_head.two_heads_give_more", first_whole=whole[0], second_whole=whole[1]
        )


def multi_head(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    vectors: Matrix | None = None,
    count: int | None = None,
    w_query: Matrices | None = None,
    w_key: Matrices | None = None,
    w_value: Matrices | None = None,
    w_output: Matrix | None = None,
    model: str | Path | Translator | None = None,
    primer: int | None = None,
    sentences: int = 1,
    layer: int = 0,
    pairs: int = 0,
) -> LessonResult:
    """Every head of a sentence: by hand, from a vector for each word, or of a trained `model`.

    By hand, `w_query`, `w_key` and `w_value` have a matrix for each head; without them each of
    `count` heads, 2 if not given, takes its own share of the vectors' numbers. With a model, a
    run's folder or a translator, the heads of its encoder are shown and measured, the measures
    means over so many `sentences` of the primer, of which it is known which word each depends on;
    `primer` draws one of these by its number instead, and `layer` one layer only. Over so many
    `pairs` of sentences that a cue decides it is measured which head tells who holds the telescope.
    The model "snapshot" is one that was trained before, of which `layer` alone can be chosen.
    """
    by_hand = {"vectors": vectors, "count": count, "w_query": w_query, "w_key": w_key}
    by_hand |= {"w_value": w_value, "w_output": w_output}
    if model is not None:
        _refuse(by_hand, "is for heads by hand; leave out {} or the model")
    measured = {"primer": primer, "sentences": sentences if sentences != 1 else None}
    measured["pairs"] = pairs or None
    if model == SNAPSHOT:
        _refuse(measured, "the snapshot has its own; for others give model=RUN")
        return _snapshot_heads(sentence, layer)
    if model is not None:
        return encoder_heads(
            model, sentence, primer=primer, sentences=sentences, layer=layer, pairs=pairs
        )
    _refuse({**measured, "layer": layer or None}, "is for a trained model; give model=RUN too")
    words = parse_words(sentence)
    given: list[Matrices | None] = [w_query, w_key, w_value]
    found = next((one for one in EXAMPLES if one.sentence == " ".join(words)), None)
    if vectors is None:
        if found is None:
            raise UserError(
                "vectors: give a row of numbers for each word, or model=RUN for a trained one"
            )
        x = parse_matrix("vectors", found.vectors)
        if count is not None and count != len(found.w_query):
            raise UserError(
                f"count: this sentence's {len(found.w_query)} heads are written by hand; give "
                "vectors of your own to choose how many"
            )
        count, own = len(found.w_query), (found.w_query, found.w_key, found.w_value)
        if not all(one is None for one in (*given, w_output)):
            found = None  # what its words then ask is the reader's own
        given = [other if one is None else one for one, other in zip(given, own, strict=True)]
    else:
        found = None
        x = parse_matrix(
            "vectors", vectors, rows=len(words), of=f"the words of {' '.join(words)!r}"
        )
    names = ("w_query", "w_key", "w_value")
    parts = 2 if count is None else count
    maps = [_each(name, one, x.shape[1], parts) for name, one in zip(names, given, strict=True)]
    if vectors is not None and count not in (None, len(maps[0])):
        raise UserError(f"count: is {count}, and w_query has matrices for {len(maps[0])} heads")
    return _computed(words, x, maps, w_output, found)


def _snapshot_heads(sentence: str | Sequence[str], layer: int) -> "EncoderHeads":
    """The heads that were kept, if no other sentence is asked for; of one layer if it is chosen."""

    shown = read_snapshot("multi_head")
    assert isinstance(shown, EncoderHeads)
    own = " ".join(shown.words[:-1])
    if " ".join(parse_words(sentence)) not in (SENTENCE, own):
        raise UserError(
            f"model: kept is {own!r}; for other sentences give model=RUN, a folder of "
            "`dhyan train transformer2017-small`"
        )
    if parse_int("layer", layer, least=0) > (layers := len(shown.weights)):
        raise UserError(f"layer: {layer} is none of the encoder's {layers}; give 1 to {layers}")
    return replace(shown, layer=layer)


def _refuse(given: Mapping[str, object], why: str) -> None:
    """What would not be used is not taken."""
    for name, one in given.items():
        if one is not None:
            raise UserError(f"{name}: {why.format(name)}")


def _computed(
    words: tuple[str, ...],
    x: Float64[Tensor, "T D"],
    maps: Sequence[Float64[Tensor, "H D _"]],
    w_output: Matrix | None,
    found: Example | None,
) -> MultiHead:
    """From vectors to outputs, once for every head and once for one as wide as all."""
    queries, keys, values = (x @ projection for projection in maps)
    if queries.shape != keys.shape:
        raise UserError(
            "w_query and w_key must be as many and equally wide: a query meets its keys"
        )
    scores = queries @ keys.mT / queries.shape[-1] ** 0.5
    weights = scores.softmax(-1)
    contexts = weights @ values
    joined = _joined(contexts)
    wide = joined.shape[1]
    project = torch.eye(wide, dtype=torch.float64)
    if w_output is not None:
        project = parse_matrix("w_output", w_output, rows=wide, of="the numbers of all heads")
    asked, known = _joined(queries), _joined(keys)
    one = (asked @ known.T / asked.shape[1] ** 0.5).softmax(-1)
    return MultiHead(
        words,
        x,
        queries,
        keys,
        values,
        scores,
        weights,
        contexts,
        joined,
        outputs=joined @ project,
        one_weights=one,
        one_outputs=one @ _joined(values) @ project,
        example=found,
    )


def _each(name: str, given: Matrices | None, width: int, count: int) -> Float64[Tensor, "H D E"]:
    """A matrix for each head, or each head's share of the unit matrix."""
    if given is None:
        if width % parse_int("count", count):
            raise UserError(f"count: {width} numbers do not part evenly into {count} heads")
        return torch.eye(width, dtype=torch.float64).unflatten(1, (count, -1)).transpose(0, 1)
    if isinstance(given, str) or not isinstance(given, Sequence | Tensor) or not len(given):
        raise UserError(f"{name}: give a list with a matrix for each head")
    of = "the numbers of a vector"
    own = [
        parse_matrix(f"{name} of head {at}", one, rows=width, of=of)
        for at, one in enumerate(given, 1)
    ]
    if len({one.shape for one in own}) != 1:
        raise UserError(f"{name}: give each head a matrix, all of one width")
    return torch.stack(own)


def _joined(parts: Float64[Tensor, "H T E"]) -> Float64[Tensor, "T W"]:
    """All heads end to end."""
    return parts.transpose(0, 1).flatten(1)


def _head(number: int, text: Text) -> str:
    return text("multi_head.head", number=number)
