"""Is it learned queries, keys and values that read an idiom? What was measured, and what it says.

The figures are those of `python -m benchmarks mixer` and of the ladder, as in `docs/ladder.md`.
"""

from dataclasses import dataclass

from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.catalogue import Text

CLEAR = 0.05  # a difference between two shares that counts
MEAN, LEARNED = "mean", "learned Q, K, V"
RAW, COSINE = "parameter-free", "parameter-free, cosine"
MIXER_KEYS = {
    "commonest reading": "commonest_reading",
    "none": "no_mixer",
    "mean": "mean",
    "parameter-free": "parameter_free",
    "parameter-free, cosine": "cosine",
    "learned V": "learned_v",
    "learned Q, K": "learned_q_k",
    "learned Q, K, V": "learned_q_k_v",
}


@dataclass(frozen=True)
class Mixed:
    """A mixer: what it learns, and the shares it reads rightly, means of five seeds.

    `seen` are idioms in sentences like those of training, `new` in sentences it never shows, whose
    seeds lie in `spread`; `senses` are words of several meanings in contexts it never shows.
    """

    name: str
    parameters: int
    seen: float
    new: float
    senses: float
    spread: tuple[float, float]


@dataclass(frozen=True)
class Climbed:
    """A Transformer of the measured ladder: the shares of idioms and contexts it understood."""

    name: str
    idiom: float
    context: float


@dataclass(frozen=True)
class Needed:
    """Mixers with all else held fixed, and whole models that differ in their encoder's looking."""

    mixers: tuple[Mixed, ...]
    ladder: tuple[Climbed, ...]

    def parts(self, text: Text) -> tuple[Part, ...]:
        """Both tables, and what they say of the notes' claim."""
        shares = [[one.seen, one.new, one.senses] for one in self.mixers]
        columns = (text("idioms.seen_idioms"), text("idioms.new_idioms"), text("idioms.new_senses"))
        understood = [[100 * one.idiom, 100 * one.context] for one in self.ladder]
        return (
            Words(text("idioms.learned_q_k_v")),
            table(
                "",
                shares,
                [text(f"idioms.mixer_{MIXER_KEYS[one.name]}") for one in self.mixers],
                columns,
                kind="weights",
                digits=3,
            ),
            table(
                text("idioms.understood_3"),
                understood,
                [one.name for one in self.ladder],
                (text("idioms.idioms"), text("idioms.senses")),
                digits=1,
            ),
            Words(self.verdict(text)),
        )

    def verdict(self, text: Text) -> str:
        """What the figures say of the notes' claim, case by case."""
        by_name = {one.name: one for one in self.mixers}
        learned = by_name[LEARNED]
        low, high = learned.spread
        least = min(one.idiom for one in self.ladder)
        return " ".join(
            (
                text("idioms.notes_say_attention_without"),
                *(against(learned, by_name[name], text) for name in (RAW, COSINE, MEAN)),
                text("idioms.new_idioms_five_seeds", low=low, high=high),
                text("idioms.whole_transformers_decoder_looks", least=least),
            )
        )


def against(learned: Mixed, other: Mixed, text: Text) -> str:
    """Where learned queries, keys and values read more than another mixer, and where less."""
    kinds = (
        (text("idioms.seen_idioms_2"), learned.seen - other.seen),
        (text("idioms.new_idioms_2"), learned.new - other.new),
        (text("idioms.new_senses_2"), learned.senses - other.senses),
    )
    at = text("idioms.in_suffix")
    told = ", ".join(f"{kind}{at} {100 * gain:+.1f}" for kind, gain in kinds).replace("-", "−")
    gained, lost, even = (
        ", ".join(kind for kind, gain in kinds if way == (gain > CLEAR) - (gain < -CLEAR))
        for way in (1, -1, 0)
    )
    if not (lost or even):
        held = text("idioms.against_claim_holds")
    elif not gained:
        held = text("idioms.against_claim_hold")
    else:
        held = text("idioms.gain", gained=gained)
    if lost:
        held += text("idioms.lose", lost=lost)
    if even:
        held += text("idioms.tie", even=even)
    return text(
        "idioms.against_learned_q_k",
        name=text(f"idioms.form_{MIXER_KEYS[other.name]}"),
        told=told,
        held=held,
    )
