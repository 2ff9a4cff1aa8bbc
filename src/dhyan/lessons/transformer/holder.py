"""Which head tells who holds the telescope, and whether the translation hangs on it."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from dhyan.attention import MultiHeadAttention
from dhyan.data.primer import Twin
from dhyan.decoding.forced_decoding import force_decode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.ablation import multihead_attentions, without_head
from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.of_primer import CORE
from dhyan.lessons.shown import Say
from dhyan.lessons.transformer.cued import Cued, cued
from dhyan.lessons.transformer.seen import head_weights
from dhyan.special_tokens import BOS, EOS

WITH = "with"
FEWEST = 4  # pairs, half of which choose
TINY, STEADY = 0.05, 0.75  # a shift of weight that is hardly one, a share of pairs that is most
SEEN, LITTLE = 0.05, 0.2  # a head that costs less accuracy, and less of the odds, decides nothing
CEILING = 0.995  # an accuracy above which nothing can be seen to be lost
AT_ONCE = 100  # sentences


@dataclass(frozen=True)
class Holder:
    """What every head of the encoder does in the second of two sentences after either first one.

    `swings` are, for *with* and for the thing, how much more weight the doer gets than the other
    when it was the doer's rather than the other's: 0 for a head that looks at all places alike.
    `chosen` (asking word, layer, head) swings the most in as many other pairs; `given` is what it
    gives: a row for whose it was, a column for the doer and the other, and `agree` in what share of
    the pairs it swings the same way. `accuracy` is the whole model's, and `odds` its mean log-odds
    of the right reading, in which a leaning toward either one cancels; `accuracies` and `all_odds`
    are those without each head.
    """

    example: tuple[str, str]
    pairs: int
    chosen: tuple[int, int, int]
    swings: Float64[Tensor, "2 L H"]
    given: Float64[Tensor, "2 2"]
    agree: float
    accuracy: float
    accuracies: Float64[Tensor, "L H"]
    odds: float
    all_odds: Float64[Tensor, "L H"]

    def parts(self, say: Say) -> tuple[Part, ...]:
        """The head that was chosen, what it gives to whom, and what is lost without it."""
        asking, layer, head = self.chosen
        asks = say(*((WITH, WITH) if asking == 0 else ("the thing", "वस्तु")))
        swing = float(self.swings[self.chosen])
        small = abs(swing) < TINY and self.agree > STEADY
        first, second = self.example
        return (
            Words(
                say(
                    f"“{first}” or “{second}”: the second sentence is the same, but not who has "
                    f"the thing. Of all heads, layer {layer + 1}, head {head + 1} minds this most, "
                    f"where “{asks}” asks: whoever has the thing gets {abs(swing):.2f} "
                    f"{'more' if swing > 0 else 'less'} of its weight, in {self.agree:.0%} of the "
                    f"pairs{', a shift that is steady but tiny' if small else ''}. It was chosen "
                    f"on {self.pairs} such pairs and measured on {self.pairs} others; training has "
                    "none of them.",
                    f"“{first}” या “{second}”: दूसरा वाक्य दोनों में एक ही है, पर वस्तु अलग व्यक्ति के "
                    f"पास है। सब हेडों में यह अंतर सबसे अधिक परत {layer + 1}, हेड {head + 1} में, "
                    f"“{asks}” के प्रश्न पर दिखता है: वस्तु जिसके पास है, उसे {abs(swing):.2f} "
                    f"{'अधिक' if swing > 0 else 'कम'} भार मिलता है, {self.agree:.0%} युग्मों में"
                    f"{'; बदलाव एक-सा है, पर बहुत छोटा' if small else ''}। हेड "
                    f"ऐसे {self.pairs} युग्मों पर चुना गया और दूसरे {self.pairs} युग्मों पर मापा गया; "
                    "प्रशिक्षण में इनमें से कोई नहीं था।",
                )
            ),
            table(
                say(
                    f"weight from “{asks}”: layer {layer + 1}, head {head + 1}",
                    f"“{asks}” का दिया हुआ भार: परत {layer + 1}, हेड {head + 1}",
                ),
                self.given,
                (
                    say("the doer had it", "वस्तु कर्ता के पास थी"),
                    say("the other had it", "वस्तु दूसरे के पास थी"),
                ),
                (say("to the doer", "कर्ता को"), say("to the other", "दूसरे को")),
                kind="weights",
            ),
            Words(self._without(say)),
        )

    def _without(self, say: Say) -> str:
        """What switching it off costs, beside switching off any other."""
        _, layer, head = self.chosen
        right, rest = _apart(self.accuracies, layer, head)
        odds, others = _apart(self.all_odds, layer, head)
        told = say(
            f"With every head {self.accuracy:.0%} of these sentences are understood, without this "
            f"one {right:.0%}. The cue favours the right reading by {self.odds:.2f} nats of "
            f"log-odds, without this head by {odds:.2f}.",
            f"सब हेडों के साथ इनमें से {self.accuracy:.0%} वाक्य ठीक समझे जाते हैं, इस हेड के बिना "
            f"{right:.0%}। संकेत सही अर्थ को {self.odds:.2f} नैट (log-odds) की बढ़त देता है, इस हेड के "
            f"बिना {odds:.2f} की।",
        )
        if not len(others):
            return told
        told += say(
            f" Without one of the other heads it is {float(rest.mean()):.0%} and "
            f"{float(others.mean()):.2f} on average, {float(rest.min()):.0%} and "
            f"{float(others.min()):.2f} at worst. ",
            f" किसी और एक हेड के बिना माध्य {float(rest.mean()):.0%} और {float(others.mean()):.2f} है, "
            f"सबसे कम {float(rest.min()):.0%} और {float(others.min()):.2f}। ",
        )
        seen = self.accuracy - float(self.accuracies.min()) >= SEEN
        if not seen and self.odds - float(self.all_odds.min()) < LITTLE * self.odds:
            return told + self._none_decides(say)
        more = int((rest <= right).sum() if seen else (others <= odds).sum())
        if not more:
            return told + say(
                "No other head is missed as much.",
                "किसी और हेड की कमी इतनी नहीं खलती।",
            )
        return told + say(
            f"{more} of the {len(others)} others {'is' if more == 1 else 'are'} missed as much or "
            "more: what a head looks at is not yet what the answer hangs on.",
            f"बाक़ी {len(others)} में से {more} की कमी उतनी ही या अधिक खलती है: हेड क्या देखता है, इससे यह "
            "तय नहीं होता कि उत्तर किस पर टिका है।",
        )

    def _none_decides(self, say: Say) -> str:
        """No more than was tried: the encoder's heads, one at a time."""
        full = self.accuracy >= CEILING
        return say(
            "None of the encoder's heads, switched off alone, changes the answers much"
            f"{', but these are at the ceiling' if full else ''}. Several heads at once, and the "
            "decoder's, were not switched off: what the answer hangs on is not shown.",
            "एनकोडर का कोई भी हेड अकेले बंद करने पर उत्तर अधिक नहीं बदलते"
            f"{', पर वे ऊपरी सीमा पर हैं' if full else ''}। कई हेड एक साथ, या डिकोडर के हेड, बंद नहीं किए "
            "गए: उत्तर किस पर टिका है, यह इससे नहीं दिखता।",
        )


def holder(translator: Translator, pairs: int, *, core: float = CORE) -> Holder:
    """Measure every head on so many pairs, of which every second one chooses."""
    asked = cued(translator, pairs, core=core)
    if len(asked) < FEWEST:
        raise UserError(
            f"pairs: this model knows the words of {len(asked)} pairs of sentences, and {FEWEST} "
            "are needed; give one trained with data.task=primer"
        )
    choosing, measured = asked[::2], asked[1::2]
    chosen, seen = (
        torch.stack([_looks(translator, one) for one in some]) for some in (choosing, measured)
    )
    asking, layer, head = _place(_swings(chosen).mean(dim=0).abs())
    swings = _swings(seen)
    own = swings[:, asking, layer, head]
    twins = [twin for one in measured for twin in one.both]
    attentions = multihead_attentions(translator.model, "encoder_self")
    right, odds = _judged(translator, twins)
    without = [
        [_judged(translator, twins, (attention, at)) for at in range(attention.heads)]
        for attention in attentions
    ]
    accuracies, all_odds = torch.tensor(without, dtype=torch.float64).unbind(-1)
    return Holder(
        example=(measured[0].doer.english, measured[0].other.english),
        pairs=len(measured),
        chosen=(asking, layer, head),
        swings=swings.mean(dim=0),
        given=seen[:, :, asking, :, layer, head].mean(dim=0),
        agree=float((own.sign() == own.mean().sign()).double().mean()),
        accuracy=right,
        accuracies=accuracies,
        odds=odds,
        all_odds=all_odds,
    )


def _looks(translator: Translator, pair: Cued) -> Float64[Tensor, "2 2 2 L H"]:
    """Whose it was; which word asks, *with* or the thing; the weight on the doer, on the other."""
    found = []
    for twin in pair.both:
        words = twin.english.split()
        at = words.index(WITH)
        doer = next(place for place, word in enumerate(words) if word.endswith(".")) + 1
        weights = head_weights(translator, twin.english)
        rows = [
            torch.stack([weights[:, :, asks, whom] for whom in (doer, at - 1)])
            for asks in (at, len(words) - 1)
        ]
        found.append(torch.stack(rows))
    return torch.stack(found)


def _swings(seen: Float64[Tensor, "N 2 2 2 L H"]) -> Float64[Tensor, "N 2 L H"]:
    """By how much the doer is preferred more when it was the doer's, half of it for each side."""
    prefers = seen[:, :, :, 0] - seen[:, :, :, 1]
    return (prefers[:, 0] - prefers[:, 1]) / 2


def _place(values: Float64[Tensor, "2 L H"]) -> tuple[int, int, int]:
    """Where the largest stands."""
    asking, layer, head = torch.unravel_index(values.argmax(), values.shape)
    return int(asking), int(layer), int(head)


def _judged(
    translator: Translator, twins: Sequence[Twin], off: tuple[MultiHeadAttention, int] | None = None
) -> tuple[float, float]:
    """The share understood and the mean log-odds of the right reading, perhaps without a head."""
    with without_head(*off) if off else nullcontext():
        said = translator([one.english for one in twins], beam=1)
        odds = log_odds(translator, twins)
    met = [one.wanted[0].met(own.text) for one, own in zip(twins, said, strict=True)]
    return sum(met) / len(met), float(odds.mean())


def log_odds(translator: Translator, twins: Sequence[Twin]) -> Float[Tensor, " N"]:
    """How much likelier the right translation is than the same in the wrong reading, in nats."""
    sources = [translator.encode(one.english) for one in twins]
    wanted = [one.wanted[0] for one in twins]
    right = [one.hindi for one in twins]
    wrong = [
        text.replace(one.right[0], one.wrong[0]) for text, one in zip(right, wanted, strict=True)
    ]
    chances = [_log_chance(translator, sources, texts) for texts in (right, wrong)]
    return chances[0] - chances[1]


def _log_chance(
    translator: Translator, sources: Sequence[list[int]], texts: Sequence[str]
) -> Float[Tensor, " N"]:
    """The log-probability of each translation."""
    targets = [[BOS, *translator.target.encode(text), EOS] for text in texts]
    sums = []
    for first in range(0, len(targets), AT_ONCE):
        own = targets[first : first + AT_ONCE]
        look = force_decode(
            translator.model, sources[first : first + AT_ONCE], own, translator.device
        )
        for row, ids in zip(look.logprobs.double().cpu(), own, strict=True):
            sums.append(row[: len(ids) - 1].sum())
    return torch.stack(sums)


def _apart(values: Float64[Tensor, "L H"], layer: int, head: int) -> tuple[float, Tensor]:
    """That of one head, and those of all others."""
    at = layer * values.shape[1] + head
    flat = values.flatten()
    return float(flat[at]), torch.cat([flat[:at], flat[at + 1 :]])
