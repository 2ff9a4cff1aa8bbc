"""Query, key and value: a dictionary asked softly, three roles for a word, and why a matrix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.given import Matrix, matrix, row, whole
from dhyan.lessons.self_attention.fetching import Fetched, fetch
from dhyan.lessons.shown import Say, Shown, Story

DICTIONARY: Mapping[str, float | int] = {"a": 2, "b": 3, "c": 4}
SHARPNESS = (1, 2, 5, 10, 20)
VECTOR = (9, 3)
W_QUERY, W_KEY, W_VALUE = ((2, 1), (1, 2)), ((3, 4), (5, 1)), ((4, 1), (2, 1))
MADE = ("x", "2 x", "x W_q", "x W_k", "x W_v")


@dataclass(frozen=True)
class Roles(Shown):
    """A dictionary's answers at each sharpness; what is made of a vector; who learned to fetch."""

    keys: tuple[str, ...]
    values: Float64[Tensor, " N"]
    ask: str
    sharpness: tuple[float, ...]
    weights: Float64[Tensor, "M N"]
    answers: Float64[Tensor, " M"]
    made: Float64[Tensor, "5 D"]
    lengths: Float64[Tensor, " 5"]
    degrees: Float64[Tensor, " 5"]
    fetched: tuple[Fetched, ...]

    def story(self, say: Say) -> Story:
        """The dictionary, the vector, the three roles."""
        asked, last = self.ask, float(self.answers[-1])
        sharp = [f"{one:g}" for one in self.sharpness]
        return Story(
            say("Query, key and value", "प्रश्न, कुंजी और मान"),
            (
                Words(
                    say(
                        "A dictionary gives the value of the key that equals the query. Attention "
                        "gives a mixture of all values, the sharper it looks the less of the "
                        f"others: d[{asked}] = {self._wanted():g}, and here {last:.4f} at "
                        f"sharpness {sharp[-1]}.",
                        "डिक्शनरी उस कुंजी का मान देती है जो प्रश्न के बराबर हो। अवधान सब मानों का "
                        "मिश्रण देता है; नज़र जितनी पैनी, दूसरों का हिस्सा उतना ही कम: "
                        f"d[{asked}] = {self._wanted():g}, और यहाँ पैनापन {sharp[-1]} पर "
                        f"{last:.4f}।",
                    )
                ),
                table(
                    say("weights by sharpness", "पैनेपन के अनुसार भार"),
                    self.weights,
                    sharp,
                    self.keys,
                    kind="weights",
                    digits=4,
                    after="→",
                ),
                table(f"d[{asked}]", self.answers.unsqueeze(1), digits=4),
                Words(self._turned(say)),
                table(say("vectors", "सदिश"), self.made, MADE, after="→"),
                table(say("length", "लंबाई"), self.lengths.unsqueeze(1)),
                table(say("degrees from x", "x से कोण (अंश)"), self.degrees.unsqueeze(1)),
                *self._learned(say),
            ),
        )

    def _learned(self, say: Say) -> tuple[Part, ...]:
        if not self.fetched:
            return ()
        names = [one.kind for one in self.fetched]
        right = [[100 * one.share] for one in self.fetched]
        return (
            Words(self._separated(say)),
            table(say("% right", "% सही"), right, names, digits=1),
            table(say("loss", "हानि"), [[one.loss] for one in self.fetched], digits=3),
        )

    def _wanted(self) -> float:
        return float(self.values[self.keys.index(self.ask)])

    def _turned(self, say: Say) -> str:
        turning = [name for name, one in zip(MADE, self.degrees, strict=True) if one > 1e-4]
        if turning:
            names = ", ".join(turning)
            return say(
                f"How does one vector become three? A number stretches x and keeps its direction; "
                f"a matrix may turn it, as here {names}. The three matrices are the same for "
                "every word, random at first, and learned.",
                f"एक सदिश से तीन कैसे बनते हैं? संख्या x की लंबाई बदलती है, दिशा नहीं; आव्यूह उसे "
                f"घुमा भी सकता है, जैसे यहाँ {names}। तीनों आव्यूह हर शब्द के लिए एक ही हैं, शुरू में "
                "यादृच्छिक, फिर सीखे हुए।",
            )
        return say(
            "How does one vector become three? None of these matrices turns x: they stretch it "
            "as a number would.",
            "एक सदिश से तीन कैसे बनते हैं? इनमें से कोई आव्यूह x को नहीं घुमाता: संख्या की तरह वे केवल "
            "उसकी लंबाई बदलते हैं।",
        )

    def _separated(self, say: Say) -> str:
        *shared, three = self.fetched
        best = max(shared, key=lambda one: one.share)
        found = say(
            f"Does the separation matter? Each way learns to fetch the word before. With three "
            f"vectors ({three.parameters} parameters) {three.share:.0%} is right, with one in all "
            f"roles ({best.parameters}) {best.share:.0%} at best",
            f"क्या भूमिकाएँ अलग करने से लाभ होता है? हर तरीक़ा पिछला शब्द लाना सीखता है। तीन सदिशों "
            f"से ({three.parameters} प्राचल) {three.share:.0%} उत्तर सही हैं, सब भूमिकाओं में एक ही "
            f"सदिश से ({best.parameters}) अधिक से अधिक {best.share:.0%}",
        )
        if three.share > best.share + 0.02:
            why = say(
                ": its scores are symmetric, so before and after look alike.",
                ": उसके अंक सममित हैं, इसलिए पहले और बाद का शब्द एक-से दिखते हैं।",
            )
        else:
            why = say("; here it does not show.", "; यहाँ लाभ नहीं दिखता।")
        return found + why


def roles(
    dictionary: Mapping[str, float | int] = DICTIONARY,
    *,
    ask: str = "a",
    sharpness: Sequence[float | int] = SHARPNESS,
    vector: Sequence[float | int] = VECTOR,
    w_query: Matrix = W_QUERY,
    w_key: Matrix = W_KEY,
    w_value: Matrix = W_VALUE,
    steps: int = 300,
    seed: int = 1,
) -> Roles:
    """Ask a dictionary softly, turn a vector by matrices, and train three ways to share the roles.

    Training takes about two seconds; with `steps` 0 it is left out.
    """
    keys, values = _entries(dictionary)
    if ask not in keys:
        raise UserError(f"ask: {ask!r} is no key of the dictionary; it has {', '.join(keys)}")
    sharp = row("sharpness", sharpness)
    steps, seed = whole("steps", steps, least=0), whole("seed", seed, least=0)
    known = torch.eye(len(keys), dtype=torch.float64)
    asked = sharp.unsqueeze(1) * known[keys.index(ask)]
    answers, weights = attend(asked, known, values.unsqueeze(1), score="dot")
    made = _made(vector, {"w_query": w_query, "w_key": w_key, "w_value": w_value})
    lengths = made.norm(dim=1)
    if lengths.min() == 0:
        raise UserError("vector: it, or what a matrix makes of it, is 0 and has no direction")
    cosines = (made @ made[0]) / (lengths * lengths[0])
    return Roles(
        keys=keys,
        values=values,
        ask=ask,
        sharpness=tuple(sharp.tolist()),
        weights=weights,
        answers=answers.squeeze(1),
        made=made,
        lengths=lengths,
        degrees=cosines.clamp(-1, 1).acos().rad2deg(),
        fetched=fetch(steps=steps, seed=seed) if steps else (),
    )


def _entries(dictionary: Mapping[str, float | int]) -> tuple[tuple[str, ...], Tensor]:
    if not isinstance(dictionary, Mapping) or not dictionary:
        raise UserError('dictionary: give keys with numbers, such as {"a": 2, "b": 3}')
    rows = matrix("dictionary", [[value] for value in dictionary.values()])
    return tuple(map(str, dictionary)), rows.squeeze(1)


def _made(vector: Sequence[float | int], maps: Mapping[str, Matrix]) -> Float64[Tensor, "5 D"]:
    x = row("vector", vector).unsqueeze(0)
    width = x.shape[1]
    turned = [
        x @ matrix(name, one, rows=width, columns=width, of="the numbers of the vector")
        for name, one in maps.items()
    ]
    return torch.cat([x, 2 * x, *turned])
