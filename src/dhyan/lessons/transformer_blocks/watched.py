"""Every head of a trained encoder over a sentence, drawn and measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.data.primer import Bounds, Twin, primer_twins
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Table, Words, table
from dhyan.insight.head_statistics import distance, entropy, previous_share, target_share
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.trained_model import load_translator
from dhyan.lessons.transformer_blocks.holder import Holder, holder
from dhyan.lessons.transformer_blocks.seen import head_weights
from dhyan.special_tokens import EOS, NAMES
from dhyan.text.normalize import normalize

MOST_DRAWN = 4  # heads with their numbers; more are drawn small,
ABREAST = 4  # in lines of so many
SPLIT, SEED = "random", 1
SMALL = Bounds(longest=10, core=0.15)  # sentences of the primer, as its recipe has them
NO_WORD = -1


@dataclass(frozen=True)
class Watched(LessonResult):
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
    holder: Holder | None = None

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
        bare = len(heads) > MOST_DRAWN
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


def watched(
    model: str | Path | Translator,
    sentence: str | Sequence[str],
    *,
    primer: int | None = None,
    sentences: int = 1,
    layer: int = 0,
    pairs: int = 0,
    bounds: Bounds = SMALL,
) -> Watched:
    """The heads of a trained Transformer's encoder for a sentence, or for some of the primer's."""
    translator = load_translator(model)
    sentences, layer = parse_int("sentences", sentences), parse_int("layer", layer, least=0)
    pairs, side = parse_int("pairs", pairs, least=0), int(translator.source_language == "hi")
    text, twins = " ".join(parse_words(sentence)), list[Twin]()
    if primer is not None or sentences > 1:
        first = parse_int("primer", primer or 0, least=0)
        stream = primer_twins(SPLIT, seed=SEED, longest=bounds.longest, core=bounds.core)
        twins = list(islice(stream, first, first + sentences))
    texts = [one.hindi if side else one.english for one in twins] or [text]
    depends = [_depends(one, side) for one in twins] or None
    tables = [head_weights(translator, one) for one in texts]
    drawn = tables[0] if primer is not None else head_weights(translator, text)
    layers = len(drawn)
    if not 0 <= layer <= layers:
        raise UserError(f"layer: {layer} is none of the encoder's {layers}; give 1 to {layers}")
    even = [torch.full_like(one[:1, :1], 1 / one.shape[-1]) for one in tables]
    ways: list[Callable[[list[Tensor]], Tensor]] = [_mean(entropy), _mean(distance)]
    ways.append(_mean(previous_share))
    if depends is not None:
        ways.append(lambda given: _dependency(given, depends))
    measures = [way(tables) for way in ways]
    return Watched(
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
        holder=holder(translator, pairs, core=bounds.core) if pairs else None,
    )


def _depends(twin: Twin, side: int) -> tuple[int, ...]:
    """The place that each word depends on; the end of the sentence depends on none."""
    return (*twin.heads(side), NO_WORD)


def _mean(measure: Callable[[Tensor], Tensor]) -> Callable[[list[Tensor]], Tensor]:
    """A measure's mean over several sentences."""
    return lambda tables: torch.stack([measure(one) for one in tables]).mean(dim=0)


def _dependency(tables: list[Tensor], depends: Sequence[Sequence[int]]) -> Tensor:
    each = [target_share(one, own) for one, own in zip(tables, depends, strict=True)]
    return torch.stack(each).mean(dim=0)


def _columns(measures: Sequence[Tensor], even: Sequence[float]) -> list[list[float]]:
    """A row for every head, and the even one below."""
    return [*torch.stack([one.flatten() for one in measures], dim=1).tolist(), list(even)]


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
