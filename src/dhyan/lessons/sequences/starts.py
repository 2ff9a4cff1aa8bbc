"""Embeddings that start in different ways: what each start is worth, by model and by pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.sequences.gains import Gain, signed
from dhyan.lessons.shown import Say

Embedding = Literal["learned", "skip-gram", "random"]
KINDS: tuple[Embedding, ...] = ("learned", "skip-gram", "random")


@dataclass(frozen=True)
class Start:
    """A model trained on so many pairs with embeddings of some kind: the BLEU of every seed.

    "learned" ones begin at random and are trained, "skip-gram" ones begin from vectors that were
    learned from single sentences, "random" ones stay as they were drawn. `gain` is what the mean
    over the seeds has more than with learned ones; its interval holds those of every seed, drawn
    over the test sentences, so that what is sure is so for each of them.
    """

    model: str
    pairs: int
    kind: Embedding
    bleu: tuple[float, ...]
    gain: Gain | None = None

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return sum(self.bleu) / len(self.bleu)


def told_starts(starts: Sequence[Start], say: Say) -> tuple[Part, ...]:
    """A row for every model and number of pairs: the scores, the gains, and where they are sure."""
    by = {(one.model, one.pairs, one.kind): one for one in starts}
    tried = list(dict.fromkeys((one.model, one.pairs) for one in starts))
    rows = [say(f"{m}, {n:,} pairs", f"{m}, {n:,} युग्म") for m, n in tried]
    found = [[by[*one, kind] for kind in KINDS] for one in tried]
    gains = [[_wide(one.gain) for one in own[1:]] for own in found]
    columns = (
        say("learned", "सीखी हुई"),
        say("from skip-gram", "skip-gram से"),
        say("random, fixed", "यादृच्छिक, स्थिर"),
    )
    ends = (say("gain", "लाभ"), say("from", "से"), say("to", "तक"))
    seeds = len(starts[0].bleu)
    return (
        Words(
            say(
                f"Embeddings, by the mean BLEU of {seeds} {'seeds' if seeds > 1 else 'seed'}: "
                "learned with the rest, begun "
                "from vectors that skip-gram learned from single sentences, or drawn at "
                "random and left so, which is one-hot words times a fixed W.",
                f"एम्बेडिंग, BLEU का माध्य ({seeds} बीज, seed): बाक़ी प्राचलों के साथ सीखी हुई; या उन सदिशों "
                "से आरंभ की हुई जो skip-gram ने अकेले (बिना अनुवाद के) वाक्यों से सीखे; या यादृच्छिक और "
                "वैसी ही छोड़ी हुई, यानी one-hot शब्द गुणा एक स्थिर W।",
            )
        ),
        table("BLEU", [[one.mean for one in own] for own in found], rows, columns, digits=1),
        table(columns[1], [own[0] for own in gains], rows, ends, digits=1),
        table(columns[2], [own[1] for own in gains], rows, ends, digits=1),
        Words(_judged(starts, say)),
    )


def _judged(starts: Sequence[Start], say: Say) -> str:
    told = []
    for kind, name in (
        ("skip-gram", say("Vectors of skip-gram", "skip-gram के सदिश")),
        ("random", say("Fixed random vectors", "स्थिर यादृच्छिक सदिश")),
    ):
        own = [one for one in starts if one.kind == kind and one.gain is not None]
        better, worse = (
            _listed([one for one in own if one.gain and one.gain.sign == sign], say)
            for sign in (1, -1)
        )
        told.append(
            say(
                f"{name} are better than learned ones {better or 'nowhere'}, worse "
                f"{worse or 'nowhere'}, elsewhere they are not told apart.",
                f"{name}, सीखे हुए सदिशों की तुलना में बेहतर: {better or 'कहीं नहीं'}; बदतर: "
                f"{worse or 'कहीं नहीं'}; बाक़ी जगह अंतर स्पष्ट नहीं।",
            )
        )
    return " ".join(told)


def _wide(gain: Gain | None) -> tuple[float, float, float]:
    assert gain is not None
    low, high = (gain.value if end is None else end for end in (gain.low, gain.high))
    return gain.value, low, high


def _listed(starts: Sequence[Start], say: Say) -> str:
    return ", ".join(
        say(
            f"for {one.model} with {one.pairs:,} pairs ({signed(one.gain.value)})",
            f"{one.pairs:,} युग्मों पर {one.model} में ({signed(one.gain.value)})",
        )
        for one in starts
        if one.gain is not None
    )
