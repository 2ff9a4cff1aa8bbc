"""Multi-head attention: each head has its own projections and can attend to a different word."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from dhyan.insight.head_statistics import distance, entropy, previous_share, target_share
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, SeededVectors, lesson, parse_int, parse_words
from dhyan.lessons.seeded_vectors import seeded_vectors
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
    """A reading of the sentence, and the position that the query word attends to."""

    key: str
    key_position: int


@dataclass(frozen=True)
class Example:
    """An ambiguous sentence: query position, word vectors, and a head for each reading.

    `output_keys` are the catalogue keys of the output components' names.
    """

    sentence: str
    query_position: int
    readings: tuple[Reading, Reading]
    vectors: Rows
    w_query: tuple[Rows, Rows]
    w_key: tuple[Rows, Rows]
    w_value: tuple[Rows, Rows]
    output_keys: tuple[str, ...]


NOTHING = (0.0, 0.0, 0.0, 0.0)
LOOK, SKIP = (3.0, 0.0), (0.0, 0.0)  # a row of W_q or W_k: used by a head, or not
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
SMALL = Bounds(max_words=10, core_share=0.15)  # sentences of the primer, as its recipe has them
NO_WORD = -1


@dataclass(frozen=True)
class EncoderHeads(LessonResult, title="title_trained"):
    """Attention weights of every head of every layer for one sentence, and their statistics.

    The statistics are means over `sentences`, of the primer if they are several; `uniform` has
    those of a uniform head. `dependency` is the weight of a word on its syntactic head, where that
    is known; `dependency_heads` has the head's position for each word of the sentence shown.
    """

    words: tuple[str, ...]
    weights: Float[Tensor, "L H T T"]
    dependency_heads: tuple[int, ...] | None
    sentences: int
    entropy: Float[Tensor, "L H"]
    distance: Float[Tensor, "L H"]
    previous: Float[Tensor, "L H"]
    dependency: Float[Tensor, "L H"] | None
    uniform: tuple[float, ...]
    layer: int = 0
    phrase_heads: PhraseHeads | None = None

    def blocks(self, text: Text) -> Iterator[Block]:
        """The statistics of all heads, then the tables."""
        layers, count = self.weights.shape[:2]
        yield Paragraph(
            text(
                "setup_trained",
                sentence=" ".join(self.words[:-1]),
                sentence_without_stop=" ".join(self.words[:-1]).rstrip("."),
                layers=layers,
                single_layers=layers == 1,
                count=count,
                single_count=count == 1,
            )
            + self._over(text)
        )
        yield from self._measures(text)
        yield Paragraph(self._verdict(text))
        if self.phrase_heads:
            yield from self.phrase_heads.blocks(text)
        yield from self._tables(text)

    def _tables(self, text: Text) -> Iterator[Block]:
        """The table of every head: with its numbers if they are few, else small."""
        layers, count = self.weights.shape[:2]
        chosen = [self.layer - 1] if self.layer else range(layers)
        heads = [(layer, head) for layer in chosen for head in range(count)]
        numbers = [str(index + 1) for index in range(len(self.words))]
        rows = [f"{index} {word}" for index, word in zip(numbers, self.words, strict=True)]
        bare = len(heads) > MOST_TABLES
        for number, (layer, head) in enumerate(heads):
            yield heatmap(
                _name(layer, head, text),
                self.weights[layer, head],
                () if bare and number % ABREAST else self.words if bare else rows,
                (self.words if number < ABREAST else ()) if bare else numbers,
                compact=bare,
            )

    def _over(self, text: Text) -> str:
        if self.sentences == 1:
            return ""
        return text("measured_sentences")

    def _measures(self, text: Text) -> Iterator[Block]:
        """Entropy and distance of each head, and its weight on the previous word and on the head."""
        layers, count = self.weights.shape[:2]
        rows = [_name(at, head, text) for at in range(layers) for head in range(count)]
        rows.append(text("uniform_attention"))
        columns = [text("entropy_bits"), text("mean_distance")]
        spread = [self.entropy, self.distance]
        names, shares = [text("column_previous_word")], [self.previous]
        if self.dependency is not None:
            names.append(text("column_syntactic_head"))
            shares.append(self.dependency)
        title = text("share_of_weight")
        yield table("", _columns(spread, self.uniform[:2]), rows, columns)
        yield heatmap(title, _columns(shares, self.uniform[2:]), rows, names)

    def _verdict(self, text: Text) -> str:
        """Which heads stand out, if any do."""
        sentences = [_most(self.previous, self.uniform[2], text, text("most_previous_word"))]
        if self.dependency is not None:
            name = text("most_syntactic_head")
            sentences.append(_most(self.dependency, self.uniform[3], text, name))
        return " ".join(sentences)


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
    text, sentence_pairs = " ".join(parse_words(sentence)), list[SentencePair]()
    if primer is not None or sentences > 1:
        first = parse_int("primer", primer or 0, least=0)
        stream = generate_sentences(
            SPLIT, seed=SEED, max_words=bounds.max_words, core_share=bounds.core_share
        )
        sentence_pairs = list(islice(stream, first, first + sentences))
    texts = [pair.hindi if side else pair.english for pair in sentence_pairs] or [text]
    dependency_heads = [_dependency_heads(pair, side) for pair in sentence_pairs] or None
    tables = [head_weights(translator, sentence_text) for sentence_text in texts]
    shown_weights = tables[0] if primer is not None else head_weights(translator, text)
    layers = len(shown_weights)
    if not 0 <= layer <= layers:
        raise UserError(f"layer: {layer} is none of the encoder's {layers}; give 1 to {layers}")
    uniform_tables = [
        torch.full_like(weights_table[:1, :1], 1 / weights_table.shape[-1])
        for weights_table in tables
    ]
    measures: list[Callable[[list[Tensor]], Tensor]] = [_mean(entropy), _mean(distance)]
    measures.append(_mean(previous_share))
    if dependency_heads is not None:
        measures.append(lambda weight_tables: _dependency(weight_tables, dependency_heads))
    values = [measure(tables) for measure in measures]
    return EncoderHeads(
        words=(*normalize(texts[0] if primer is not None else text).split(), NAMES[EOS]),
        weights=shown_weights,
        dependency_heads=dependency_heads[0] if dependency_heads and primer is not None else None,
        sentences=len(texts),
        entropy=values[0],
        distance=values[1],
        previous=values[2],
        dependency=values[3] if dependency_heads else None,
        uniform=tuple(float(measure(uniform_tables)) for measure in measures),
        layer=layer,
        phrase_heads=measure_phrase_heads(translator, pairs, core=bounds.core_share)
        if pairs
        else None,
    )


def _dependency_heads(pair: SentencePair, side: int) -> tuple[int, ...]:
    """Position of each word's syntactic head; none for the end of the sentence."""
    return (*pair.heads(side), NO_WORD)


def _mean(measure: Callable[[Tensor], Tensor]) -> Callable[[list[Tensor]], Tensor]:
    """A measure's mean over several sentences."""
    return lambda tables: torch.stack([measure(weights_table) for weights_table in tables]).mean(
        dim=0
    )


def _dependency(tables: list[Tensor], dependency_heads: Sequence[Sequence[int]]) -> Tensor:
    each = [
        target_share(weights_table, heads)
        for weights_table, heads in zip(tables, dependency_heads, strict=True)
    ]
    return torch.stack(each).mean(dim=0)


def _columns(measures: Sequence[Tensor], uniform: Sequence[float]) -> list[list[float]]:
    """A row for every head, and the uniform one below."""
    return [
        *torch.stack([measure.flatten() for measure in measures], dim=1).tolist(),
        list(uniform),
    ]


def _name(layer: int, head: int, text: Text) -> str:
    return text("layer_head", layer_number=layer + 1, head_number=head + 1)


def _most(shares: Tensor, uniform: float, text: Text, what: str) -> str:
    """The head with the largest share, compared with a uniform head."""
    layer, head = divmod(int(shares.argmax()), shares.shape[1])
    most, who = float(shares.max()), _name(layer, head, text)
    if more := int((shares > uniform).sum()):
        return text(
            "head_with_most_weight",
            what=what,
            who=who,
            most=most,
            even=uniform,
            more=more,
            heads_in_all=shares.numel(),
        )
    return text("no_head_above_uniform", what=what, most=most, even=uniform)


SENTENCE = EXAMPLES[0].sentence
Matrices = Sequence[Matrix] | Tensor
DEFAULT_HEADS, HEAD_WIDTH = 2, 2  # of a sentence whose vectors are random


@dataclass(frozen=True)
class MultiHead(LessonResult):
    """Every head from queries to context, concatenated and projected; and a single wide head.

    The single head concatenates their queries, keys and values: the same matrices, one softmax.
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
    single_head_weights: Float64[Tensor, "T T"]
    single_head_outputs: Float64[Tensor, "T O"]
    example: Example | None = None

    def title(self, text: Text) -> str:
        """The title, with its numbers."""
        count, _, narrow = self.queries.shape
        return text("title", count=count, narrow=narrow)

    def blocks(self, text: Text) -> Iterator[Block]:
        """The two readings, if there are two; then every head."""
        count, _, narrow = self.queries.shape
        if self.example:
            yield from self._readings(self.example, text)
        yield text.paragraph("definition", count=count, narrow=narrow, total_width=count * narrow)
        for number, weight in enumerate(self.weights, 1):
            yield heatmap(_head(number, text), weight, self.words, self.words)

    def _readings(self, example: Example, text: Text) -> Iterator[Block]:
        """The query word's row in the single head and in each head, and the verdict."""
        first, second = example.readings
        query = example.query_position
        single = text("single_wide_head")
        names = (single, *(_head(number, text) for number in range(1, len(self.weights) + 1)))
        rows = torch.stack([self.single_head_weights[query], *self.weights[:, query]])
        outputs = torch.stack([self.single_head_outputs[query], self.outputs[query]])
        both = text("concatenated_heads")
        word = self.words[query]
        yield text.paragraph(
            "two_readings", first=text(f"reading_{first.key}"), second=text(f"reading_{second.key}")
        )
        yield heatmap(text("weights_of_word", word=word), rows, names, self.words)
        yield table(
            text("output_of_word", word=word),
            outputs,
            (single, both),
            [text(f"output_{key}") if key else "" for key in example.output_keys],
        )
        yield Paragraph(self._verdict(example, text))

    def _verdict(self, example: Example, text: Text) -> str:
        query, (first_key, second_key) = (
            example.query_position,
            (reading.key_position for reading in example.readings),
        )
        word, first, second = (self.words[position] for position in (query, first_key, second_key))
        if first_key == second_key:
            return text("same_weights", word=word, first=first)
        single_head_weights = self.single_head_weights[query, [first_key, second_key]].tolist()
        own_head_weights = [
            float(self.weights[0, query, first_key]),
            float(self.weights[1, query, second_key]),
        ]
        verdict = text(
            "single_head_weights",
            first=first,
            first_single=single_head_weights[0],
            second=second,
            second_single=single_head_weights[1],
        )
        if sum(own_head_weights) > 1:
            return verdict + text(
                "two_heads_keep_both", first_own=own_head_weights[0], second_own=own_head_weights[1]
            )
        return verdict + text(
            "two_heads_gain_nothing", first_own=own_head_weights[0], second_own=own_head_weights[1]
        )


@lesson
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
    seed: int = 1,
) -> LessonResult:
    """Every head of a sentence: by hand, from a vector for each word, or of a trained `model`.

    By hand, `w_query`, `w_key` and `w_value` have a matrix for each head; without them each of
    `count` heads, 2 if not given, takes its own share of the vectors' numbers. The words of a
    sentence other than the lesson's own have random vectors, from the seed, unless `vectors` are
    given. With a model, a run's folder or a translator, the heads of its encoder are shown and
    measured, the measures means over `sentences` of the primer, whose dependencies are known;
    `primer` shows one of these by its number instead, and `layer` one layer only. Over `pairs` of
    cued sentences it is measured which head links a prepositional phrase to its noun. The model
    "snapshot" is the stored result of a trained model, of which only `layer` can be chosen.
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
    projections: list[Matrices | None] = [w_query, w_key, w_value]
    example = next(
        (candidate for candidate in EXAMPLES if candidate.sentence == " ".join(words)), None
    )
    seeded = None
    if vectors is None and example is None:
        heads = DEFAULT_HEADS if count is None else parse_int("count", count)
        vectors = seeded_vectors(words, seed=seed, width=heads * HEAD_WIDTH)
        seeded = SeededVectors("vectors", seed, model=True)
    if vectors is None and example is not None:
        x = parse_matrix("vectors", example.vectors)
        if count is not None and count != len(example.w_query):
            raise UserError(
                f"count: this sentence's {len(example.w_query)} heads are written by hand; give "
                "vectors of your own to choose how many"
            )
        count, defaults = len(example.w_query), (example.w_query, example.w_key, example.w_value)
        if not all(argument is None for argument in (*projections, w_output)):
            example = None  # what its words then ask is the reader's defaults
        projections = [
            default if argument is None else argument
            for argument, default in zip(projections, defaults, strict=True)
        ]
    else:
        example = None
        x = parse_matrix(
            "vectors", vectors, rows=len(words), of=f"the words of {' '.join(words)!r}"
        )
    names = ("w_query", "w_key", "w_value")
    parts = DEFAULT_HEADS if count is None else count
    maps = [
        _each(name, argument, x.shape[1], parts)
        for name, argument in zip(names, projections, strict=True)
    ]
    if vectors is not None and count not in (None, len(maps[0])):
        raise UserError(f"count: is {count}, and w_query has matrices for {len(maps[0])} heads")
    return replace(_computed(words, x, maps, w_output, example), seeded=seeded)


def _snapshot_heads(sentence: str | Sequence[str], layer: int) -> "EncoderHeads":
    """The heads of the snapshot, for its own sentence; `layer` selects one layer."""
    heads = read_snapshot("multi_head", EncoderHeads)
    stored = " ".join(heads.words[:-1])
    if " ".join(parse_words(sentence)) not in (SENTENCE, stored):
        raise UserError(
            f"model: kept is {stored!r}; for other sentences give model=RUN, a folder of "
            "`dhyan train transformer2017-small`"
        )
    if parse_int("layer", layer, least=0) > (layers := len(heads.weights)):
        raise UserError(f"layer: {layer} is none of the encoder's {layers}; give 1 to {layers}")
    return replace(heads, layer=layer)


def _refuse(arguments: Mapping[str, object], why: str) -> None:
    """Reject arguments that would not be used."""
    for name, value in arguments.items():
        if value is not None:
            raise UserError(f"{name}: {why.format(name)}")


def _computed(
    words: tuple[str, ...],
    x: Float64[Tensor, "T D"],
    maps: Sequence[Float64[Tensor, "H D _"]],
    w_output: Matrix | None,
    example: Example | None,
) -> MultiHead:
    """From vectors to outputs, for every head and for a single wide head."""
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
    joined_queries, joined_keys = _joined(queries), _joined(keys)
    single_head_weights = (joined_queries @ joined_keys.T / joined_queries.shape[1] ** 0.5).softmax(
        -1
    )
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
        single_head_weights=single_head_weights,
        single_head_outputs=single_head_weights @ _joined(values) @ project,
        example=example,
    )


def _each(name: str, argument: Matrices | None, width: int, count: int) -> Float64[Tensor, "H D E"]:
    """A matrix for each head, or each head's share of the unit matrix."""
    if argument is None:
        if width % parse_int("count", count):
            raise UserError(f"count: {width} numbers do not part evenly into {count} heads")
        return torch.eye(width, dtype=torch.float64).unflatten(1, (count, -1)).transpose(0, 1)
    if (
        isinstance(argument, str)
        or not isinstance(argument, Sequence | Tensor)
        or not len(argument)
    ):
        raise UserError(f"{name}: give a list with a matrix for each head")
    of = "the numbers of a vector"
    matrices = [
        parse_matrix(f"{name} of head {at}", matrix, rows=width, of=of)
        for at, matrix in enumerate(argument, 1)
    ]
    if len({matrix.shape for matrix in matrices}) != 1:
        raise UserError(f"{name}: give each head a matrix, all of one width")
    return torch.stack(matrices)


def _joined(parts: Float64[Tensor, "H T E"]) -> Float64[Tensor, "T W"]:
    """All heads concatenated."""
    return parts.transpose(0, 1).flatten(1)


def _head(number: int, text: Text) -> str:
    return text("head", number=number)
