"""Every head of a trained encoder over a sentence, drawn and measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dhyan.batch import Tokens
from dhyan.data.primer import Twin, primer_twins
from dhyan.decoding.look import evaluating
from dhyan.decoding.translator import Translator
from dhyan.faults import Fault
from dhyan.insight.align import words_of as owners_of
from dhyan.insight.measures import distance, entropy, previous_share, target_share
from dhyan.insight.parts import Table, Words, table
from dhyan.lessons.given import whole, words_of
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.special import EOS, NAMES
from dhyan.text.normalize import normalize
from dhyan.watch import watch

MOST_DRAWN = 4  # heads; of more, those of the last layer
SPLIT, SEED, LONGEST, CORE = (
    "random",
    1,
    10,
    0.15,
)  # sentences of the primer, as its recipe has them
NO_WORD = -1


@dataclass(frozen=True)
class Watched(Shown):
    """The weights of every head of every layer for one sentence, and measures of them.

    The measures are means over `sentences`, of which the first is drawn; `even` has those of a head
    that looks at all places alike. `dependency` is the weight that a word gives the one it depends
    on, where that is known; `depends` has its place for each word of the sentence drawn.
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

    def story(self, say: Say) -> Story:
        """The measures of all heads, then the tables."""
        layers, count = self.weights.shape[:2]
        chosen = [self.layer - 1] if self.layer else range(layers)
        if not self.layer and layers * count > MOST_DRAWN:
            chosen = [layers - 1]
        places = [str(place + 1) for place in range(len(self.words))]
        rows = [f"{place} {word}" for place, word in zip(places, self.words, strict=True)]
        drawn = [
            table(_name(at, head, say), self.weights[at, head], rows, places, kind="weights")
            for at in chosen
            for head in range(count)
        ]
        return Story(
            say("Every head of a trained encoder", "सीखे हुए encoder का हर हेड"),
            (
                Words(
                    say(
                        f"{layers} layers of {count} heads read “{' '.join(self.words[:-1])}”. ",
                        f"{layers} परतें, हर परत में {count} हेड, “{' '.join(self.words[:-1])}” पढ़ते हैं। ",
                    )
                    + self._over(say)
                ),
                *self._measures(say),
                Words(self._verdict(say)),
                *drawn,
            ),
        )

    def _over(self, say: Say) -> str:
        if self.sentences == 1:
            return ""
        return say(
            f"The measures are means over {self.sentences} sentences.",
            f"माप {self.sentences} वाक्यों के औसत हैं।",
        )

    def _measures(self, say: Say) -> tuple[Table, Table]:
        """How spread and how far each head looks, and what share it gives to two kinds of words."""
        layers, count = self.weights.shape[:2]
        rows = [_name(at, head, say) for at in range(layers) for head in range(count)]
        rows.append(say("all alike", "सब बराबर"))
        columns = [say("entropy, bits", "एंट्रॉपी, बिट"), say("distance", "दूरी")]
        spread = [self.entropy, self.distance]
        names, shares = [say("the word before", "पिछला शब्द")], [self.previous]
        if self.dependency is not None:
            names.append(say("what it depends on", "आश्रय-शब्द"))
            shares.append(self.dependency)
        title = say("share of the weight on", "भार का हिस्सा, किस पर")
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
) -> Watched:
    """The heads of a trained Transformer's encoder for a sentence, or for some of the primer's."""
    translator = model if isinstance(model, Translator) else _loaded(model)
    sentences, layer = whole("sentences", sentences), whole("layer", layer, least=0)
    if sentences > 1 and primer is None:
        raise Fault(f"sentences: {sentences} are for the primer's; give primer=0 as well")
    side = int(translator.source_language == "hi")
    texts, depends = [" ".join(words_of(sentence))], None
    if primer is not None:
        primer = whole("primer", primer, least=0)
        stream = primer_twins(SPLIT, seed=SEED, longest=LONGEST, core=CORE)
        twins = list(islice(stream, primer, primer + sentences))
        texts = [one.hindi if side else one.english for one in twins]
        depends = [_depends(one, side) for one in twins]
    tables = [head_weights(translator, text) for text in texts]
    layers = len(tables[0])
    if not 0 <= layer <= layers:
        raise Fault(f"layer: {layer} is none of the encoder's {layers}; give 1 to {layers}")
    even = [torch.full_like(one[:1, :1], 1 / one.shape[-1]) for one in tables]
    ways: list[Callable[[list[Tensor]], Tensor]] = [_mean(entropy), _mean(distance)]
    ways.append(_mean(previous_share))
    if depends is not None:
        ways.append(lambda given: _dependency(given, depends))
    measures = [way(tables) for way in ways]
    return Watched(
        (*normalize(texts[0]).split(), NAMES[EOS]),
        tables[0],
        depends[0] if depends else None,
        len(texts),
        measures[0],
        measures[1],
        measures[2],
        measures[3] if depends else None,
        tuple(float(way(even)) for way in ways),
        layer,
    )


def head_weights(translator: Translator, text: str) -> Float[Tensor, "L H T T"]:
    """The self-attention of every head of the encoder, by word; the last is the sentence's end.

    What a word is given is the sum over its pieces, what it gives their mean.
    """
    encoder, masked = translator.model.encoder, translator.hidden(text)[0]
    ids = translator.source.encode(masked)
    if not ids:
        raise Fault("the sentence is empty: give it at least one word")
    owners = owners_of(translator.source, ids, masked)
    read = Tokens.pad([[*ids, EOS]]).to(translator.device)
    assert isinstance(encoder, nn.Module)
    with evaluating(encoder), torch.inference_mode(), watch(encoder) as sightings:
        encoder(read)
    found = [one[0] for name, one in sightings.weights().items() if name.endswith("self_attention")]
    if not found:
        raise Fault("this model's encoder has no self-attention: give a trained Transformer")
    places = torch.tensor([*owners, owners[-1] + 1])
    gather = torch.zeros(len(places), owners[-1] + 2, dtype=torch.float64)
    gather[torch.arange(len(places)), places] = 1.0
    rows = gather / gather.sum(dim=0)
    return rows.T @ torch.stack(found).double().cpu() @ gather


def _loaded(folder: str | Path) -> Translator:
    from dhyan.run import load

    return load(folder)


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


def _name(layer: int, head: int, say: Say) -> str:
    return say(f"layer {layer + 1}, head {head + 1}", f"परत {layer + 1}, हेड {head + 1}")


def _most(shares: Tensor, even: float, say: Say, what: tuple[str, str]) -> str:
    """The head that gives most to something, beside one that looks at all places alike."""
    layer, head = divmod(int(shares.argmax()), shares.shape[1])
    most, who = float(shares.max()), _name(layer, head, say)
    if most > even:
        return say(
            f"{what[0]} gets most from {who}: {most:.2f}; all alike would give it {even:.2f}.",
            f"{what[1]} को सबसे अधिक {who} से मिलता है: {most:.2f}; सब बराबर हों तो {even:.2f}।",
        )
    return say(
        f"{what[0]} gets no more than {most:.2f} from any head; all alike would give it "
        f"{even:.2f}.",
        f"{what[1]} को किसी हेड से {most:.2f} से अधिक नहीं मिलता; सब बराबर हों तो {even:.2f}।",
    )
