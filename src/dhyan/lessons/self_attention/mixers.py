"""Is it learned queries, keys and values that read an idiom? What was measured, and what it says.

The figures are those of `python -m benchmarks mixer` and of the ladder, as in `docs/ladder.md`.
"""

from dataclasses import dataclass

from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.shown import Say

CLEAR = 0.05  # a difference between two shares that counts
MEAN, LEARNED = "mean", "learned Q, K, V"
RAW, COSINE = "parameter-free", "parameter-free, cosine"
HINDI = {
    "commonest reading": "सबसे आम अर्थ",
    "none": "कोई नहीं",
    MEAN: "माध्य",
    RAW: "बिना प्राचल",
    COSINE: "बिना प्राचल, कोज्या",
    "learned V": "सीखा हुआ V",
    "learned Q, K": "सीखे हुए Q, K",
    LEARNED: "सीखे हुए Q, K, V",
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

    def parts(self, say: Say) -> tuple[Part, ...]:
        """Both tables, and what they say of the notes' claim."""
        shares = [[one.seen, one.new, one.senses] for one in self.mixers]
        columns = (
            say("seen idioms", "परिचित मुहावरे"),
            say("new idioms", "नए मुहावरे"),
            say("new senses", "नए अर्थ"),
        )
        understood = [[100 * one.idiom, 100 * one.context] for one in self.ladder]
        return (
            Words(
                say(
                    "Is it the learned Q, K, V? One mixer over fixed word vectors and one linear "
                    "read-out, all else the same: the share read rightly, in sentences like "
                    "training's and in new ones. Beside it whole Transformers of the ladder.",
                    "क्या यह सीखे हुए Q, K, V का काम है? स्थिर शब्द-सदिशों पर एक मिश्रक (mixer), और "
                    "उससे अर्थ पढ़ने वाली एक रैखिक परत; बाक़ी सब समान। सही पढ़े गए वाक्यों का अनुपात, "
                    "प्रशिक्षण जैसे वाक्यों में और नए वाक्यों में। साथ में ladder के पूरे Transformer।",
                )
            ),
            table(
                "",
                shares,
                [say(one.name, HINDI.get(one.name, one.name)) for one in self.mixers],
                columns,
                kind="weights",
                digits=3,
            ),
            table(
                say("% understood", "% समझे गए"),
                understood,
                [one.name for one in self.ladder],
                (say("idioms", "मुहावरे"), say("senses", "अर्थ")),
                digits=1,
            ),
            Words(self.verdict(say)),
        )

    def verdict(self, say: Say) -> str:
        """What the figures say of the notes' claim, case by case."""
        by_name = {one.name: one for one in self.mixers}
        learned = by_name[LEARNED]
        low, high = learned.spread
        formula = "softmax(X Xᵀ/√d) X"
        forms = {
            RAW: (
                f"the parameter-free form scaled by √d, {formula}",
                f"√d से भाग देकर बने बिना प्राचलों के रूप {formula}",
            ),
            COSINE: ("the one with cosines as scores", "कोज्या को अंक मानने वाले रूप"),
            MEAN: ("the mean, which learns nothing in the mixer", "मिश्रक में कुछ न सीखने वाले माध्य"),
        }
        least = min(one.idiom for one in self.ladder)
        return " ".join(
            (
                say(
                    "The notes say that attention without parameters cannot learn this.",
                    "नोट्स कहते हैं कि बिना प्राचलों का अवधान यह नहीं सीख सकता।",
                ),
                *(against(learned, by_name[one], say, name) for one, name in forms.items()),
                say(
                    "On new idioms the five seeds of learned Q, K, V range from "
                    f"{low:.2f} to {high:.2f}.",
                    "नए मुहावरों पर सीखे हुए Q, K, V का परिणाम पाँच बीजों (seed) में "
                    f"{low:.2f} से {high:.2f} तक रहता है।",
                ),
                say(
                    f"In whole Transformers the decoder looks too: with the weakest of these "
                    f"encoders {least:.1%} of idioms are understood.",
                    f"पूरे Transformer में डिकोडर भी देखता है: इनमें सबसे कमज़ोर एनकोडर के साथ भी "
                    f"{least:.1%} मुहावरे समझे जाते हैं।",
                ),
            )
        )


def against(learned: Mixed, other: Mixed, say: Say, name: tuple[str, str]) -> str:
    """Where learned queries, keys and values read more than another mixer, and where less."""
    kinds = (
        (say("seen idioms", "परिचित मुहावरों"), learned.seen - other.seen),
        (say("new idioms", "नए मुहावरों"), learned.new - other.new),
        (say("new senses", "नए अर्थों"), learned.senses - other.senses),
    )
    at = say("", " में")
    told = ", ".join(f"{kind}{at} {100 * gain:+.1f}" for kind, gain in kinds).replace("-", "−")
    gained, lost, even = (
        ", ".join(kind for kind, gain in kinds if way == (gain > CLEAR) - (gain < -CLEAR))
        for way in (1, -1, 0)
    )
    if not (lost or even):
        held = say("against it the claim holds", "इसकी तुलना में दावा सही है")
    elif not gained:
        held = say("against it the claim does not hold", "इसकी तुलना में दावा सही नहीं है")
    else:
        held = say(f"they gain for {gained}", f"लाभ {gained} में है")
    if lost:
        held += say(f", they lose for {lost}", f", घाटा {lost} में")
    if even:
        held += say(f", a tie for {even}", f", {even} में बराबरी")
    return say(
        f"Against {name[0]}, learned Q, K, V in points: {told}; {held}.",
        f"{name[1]} की तुलना में सीखे हुए Q, K, V, प्रतिशत अंकों में: {told}; {held}।",
    )
