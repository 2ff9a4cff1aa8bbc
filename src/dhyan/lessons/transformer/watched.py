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
from dhyan.lessons.given import whole, words_of
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.lessons.trained import translator_of
from dhyan.lessons.transformer.holder import Holder, holder
from dhyan.lessons.transformer.seen import head_weights
from dhyan.special_tokens import EOS, NAMES
from dhyan.text.normalize import normalize

MOST_DRAWN = 4  # heads with their numbers; more are drawn small,
ABREAST = 4  # in lines of so many
SPLIT, SEED = "random", 1
SMALL = Bounds(longest=10, core=0.15)  # sentences of the primer, as its recipe has them
NO_WORD = -1


@dataclass(frozen=True)
class Watched(Shown):
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

    def story(self, say: Say) -> Story:
        """The measures of all heads, then the tables."""
        layers, count = self.weights.shape[:2]
        return Story(
            say("Every head of a trained encoder", "प्रशिक्षित एनकोडर का हर हेड"),
            (
                Words(
                    say(
                        f"{_some(layers, 'layer')} of {_some(count, 'head')} read "
                        f"“{' '.join(self.words[:-1]).rstrip('.')}”. ",
                        f"“{' '.join(self.words[:-1])}” को {layers} "
                        f"{'परत पढ़ती है' if layers == 1 else 'परतें पढ़ती हैं'}, हर परत में {count} हेड। ",
                    )
                    + self._over(say)
                ),
                *self._measures(say),
                Words(self._verdict(say)),
                *(self.holder.parts(say) if self.holder else ()),
                *self._drawn(say),
            ),
        )

    def _drawn(self, say: Say) -> list[Table]:
        """The table of every head: with its numbers if they are few, else small."""
        layers, count = self.weights.shape[:2]
        chosen = [self.layer - 1] if self.layer else range(layers)
        heads = [(at, head) for at in chosen for head in range(count)]
        places = [str(place + 1) for place in range(len(self.words))]
        rows = [f"{place} {word}" for place, word in zip(places, self.words, strict=True)]
        bare = len(heads) > MOST_DRAWN
        return [
            table(
                _name(at, head, say),
                self.weights[at, head],
                () if bare and number % ABREAST else self.words if bare else rows,
                (self.words if number < ABREAST else ()) if bare else places,
                kind="weights",
                bare=bare,
            )
            for number, (at, head) in enumerate(heads)
        ]

    def _over(self, say: Say) -> str:
        if self.sentences == 1:
            return ""
        return say(
            f"The measures are means over {self.sentences} sentences of the primer.",
            f"ये माप प्राइमर के {self.sentences} वाक्यों के माध्य हैं।",
        )

    def _measures(self, say: Say) -> tuple[Table, Table]:
        """How spread and how far each head looks, and what share it gives to two kinds of words."""
        layers, count = self.weights.shape[:2]
        rows = [_name(at, head, say) for at in range(layers) for head in range(count)]
        rows.append(say("all alike", "सबमें बराबर"))
        columns = [say("entropy, bits", "एंट्रॉपी, बिट"), say("distance", "दूरी")]
        spread = [self.entropy, self.distance]
        names, shares = [say("the word before", "पिछला शब्द")], [self.previous]
        if self.dependency is not None:
            names.append(say("what it depends on", "आश्रय-शब्द"))
            shares.append(self.dependency)
        title = say("share of the weight on", "इन पर भार का हिस्सा")
        return (
            table("", _columns(spread, self.even[:2]), rows, columns),
            table(title, _columns(shares, self.even[2:]), rows, names, kind="weights"),
        )

    def _verdict(self, say: Say) -> str:
        """Which heads stand out, if any do."""
        told = [_most(self.previous, self.even[2], say, ("The word before", "पिछले शब्द"))]
        if self.dependency is not None:
            names = ("The word that a word depends on", "आश्रय-शब्द")
            told.append(_most(self.dependency, self.even[3], say, names))
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
    translator = translator_of(model)
    sentences, layer = whole("sentences", sentences), whole("layer", layer, least=0)
    pairs, side = whole("pairs", pairs, least=0), int(translator.source_language == "hi")
    text, twins = " ".join(words_of(sentence)), list[Twin]()
    if primer is not None or sentences > 1:
        first = whole("primer", primer or 0, least=0)
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


def _some(count: int, what: str) -> str:
    """So many of them, in English."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _name(layer: int, head: int, say: Say) -> str:
    return say(f"layer {layer + 1}, head {head + 1}", f"परत {layer + 1}, हेड {head + 1}")


def _most(shares: Tensor, even: float, say: Say, what: tuple[str, str]) -> str:
    """The head that gives most to something, beside one that looks at all places alike."""
    layer, head = divmod(int(shares.argmax()), shares.shape[1])
    most, who = float(shares.max()), _name(layer, head, say)
    if more := int((shares > even).sum()):
        return say(
            f"{what[0]} gets most from {who}: {most:.2f}; all alike would give it {even:.2f}, and "
            f"{more} of {shares.numel()} heads give it more.",
            f"{what[1]} को सबसे अधिक भार {who} से मिलता है: {most:.2f}; सबमें बराबर बँटे तो {even:.2f}। "
            f"इससे अधिक देने वाले हेड: {shares.numel()} में से {more}।",
        )
    return say(
        f"{what[0]} gets no more than {most:.2f} from any head; all alike would give it "
        f"{even:.2f}.",
        f"{what[1]} को किसी हेड से {most:.2f} से अधिक भार नहीं मिलता; सबमें बराबर बँटे तो {even:.2f}।",
    )
