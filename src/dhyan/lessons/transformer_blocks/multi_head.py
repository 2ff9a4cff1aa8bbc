"""Several heads side by side: each has a table of weights of its own, and may hold a reading."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Words, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.transformer_blocks.readings import EXAMPLES, Example

if TYPE_CHECKING:
    from dhyan.lessons.transformer_blocks.watched import Watched

SENTENCE = EXAMPLES[0].sentence
Matrices = Sequence[Matrix] | Tensor


@dataclass(frozen=True)
class Heads(LessonResult):
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
                    table(_head(number, text), one, self.words, self.words, kind="weights")
                    for number, one in enumerate(self.weights, 1)
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
        return _kept(sentence, layer)
    if model is not None:
        from dhyan.lessons.transformer_blocks.watched import watched

        return watched(
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


def _kept(sentence: str | Sequence[str], layer: int) -> "Watched":
    """The heads that were kept, if no other sentence is asked for; of one layer if it is chosen."""
    from dhyan.lessons.transformer_blocks.watched import Watched

    shown = read_snapshot("multi_head")
    assert isinstance(shown, Watched)
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
) -> Heads:
    """From vectors to outputs, once for every head and once for one as wide as all."""
    queries, keys, values = (x @ one for one in maps)
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
    return Heads(
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
