"""A word of several meanings in a trained encoder: do its vectors part by what it means?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Float64, Int
from torch import Tensor

from dhyan.data.primer.core_vocabulary import ambiguous
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Plane, Point, Table, Words, table
from dhyan.lessons.given import whole
from dhyan.lessons.keeping import KEPT, kept
from dhyan.lessons.of_primer import SEED
from dhyan.lessons.self_attention.probing import plane
from dhyan.lessons.self_attention.sense_probes import (
    ALONE,
    FEW,
    PLACED,
    STATIC,
    Level,
    WordSenses,
    probe_senses,
)
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.lessons.trained import translator_of

# Those of the small world that the trained runs live in.
WORDS = ("bank", "bat", "chest", "court", "date", "file", "letter", "trunk")
DRAWN = 120  # sentences in the plane
HINDI = {STATIC: "अपना सदिश", PLACED: "स्थान के साथ", ALONE: "अप्रशिक्षित एनकोडर"}


@dataclass(frozen=True)
class Senses(Shown):
    """Each word's levels, and the first word's vectors in the plane, before and after training."""

    words: tuple[WordSenses, ...]
    kinds: Int[Tensor, " N"]
    before: Float64[Tensor, "N 2"]
    before_explained: Float64[Tensor, " 2"]
    after: Float64[Tensor, "N 2"]
    after_explained: Float64[Tensor, " 2"]

    def story(self, say: Say) -> Story:
        """The first word level by level and in the plane, then all words."""
        first = self.words[0]
        return Story(
            say(
                f"Do the vectors of “{first.word}” part by meaning?",
                f"क्या “{first.word}” के सदिश अर्थ के अनुसार अलग होते हैं?",
            ),
            (
                Words(self._asked(say)),
                _levels(first, say),
                Words(_gained(first, say)),
                self._plane(
                    say("untrained encoder", "अप्रशिक्षित एनकोडर"), self.before, self.before_explained
                ),
                self._plane(
                    say("trained, last layer", "प्रशिक्षित, अंतिम परत"),
                    self.after,
                    self.after_explained,
                ),
                Words(self._taught(say)),
                self._every(say),
                *((Words(told),) if (told := self._below(say)) else ()),
            ),
        )

    def _asked(self, say: Say) -> str:
        first = self.words[0]
        senses, asked = ", ".join(first.senses), first.levels[0].probed.asked
        return say(
            f"A trained encoder reads sentences with {first.word} ({senses}). On its vectors "
            f"a logistic probe is fitted to tell the meaning, and asked in {asked} sentences that "
            "pair the word with others as training never did, as many of each meaning. The word's "
            f"own vector is the same in all: nothing can be read off it. “Few”: probes fitted on "
            f"{FEW} sentences of a meaning. “Apart”: the share of variance between the meanings.",
            f"प्रशिक्षित एनकोडर {first.word} ({senses}) वाले वाक्य पढ़ता है। शब्द के सदिशों पर अर्थ बताने "
            f"वाला एक लॉजिस्टिक probe बिठाया जाता है, और उससे {asked} ऐसे वाक्यों में पूछा जाता है जिनके "
            "शब्द-मेल प्रशिक्षण में कभी नहीं आए, हर अर्थ के बराबर-बराबर। शब्द का अपना सदिश सबमें एक ही है: उससे "
            f"कुछ नहीं पढ़ा जा सकता। “कम वाक्य”: हर अर्थ के {FEW} वाक्यों पर बिठाए गए probe। “अलगाव”: "
            "प्रसरण का वह हिस्सा जो अर्थों के बीच है।",
        )

    def _plane(
        self, title: str, places: Float64[Tensor, "N 2"], explained: Float64[Tensor, " 2"]
    ) -> Plane:
        across, up = (round(100 * float(one)) for one in explained)
        points = tuple(
            Point("", x, y, kind=kind)
            for (x, y), kind in zip(places.tolist(), self.kinds.tolist(), strict=True)
        )
        return Plane(f"{title}, {across} % + {up} %", points, kinds=self.words[0].senses)

    def _taught(self, say: Say) -> str:
        """In how many words training lays the meanings apart."""
        more = sum(one.last.more_of_few(one.level(ALONE)) for one in self.words)
        less = sum(one.level(ALONE).more_of_few(one.last) for one in self.words)
        wider = sum(one.last.apart > one.level(ALONE).apart for one in self.words)
        count = len(self.words)
        if count == 1:
            return _taught_one(more, less, say)
        return say(
            f"Is that learned? Of {count} words, {FEW} sentences of a meaning teach a probe "
            f"clearly more after training in {more}, clearly less in {less}; the meanings take a "
            f"larger share of the variance in {wider}. {self._therefore(more, say)}",
            f"क्या यह सीखा हुआ है? {count} शब्दों में से {more} में हर अर्थ के {FEW} वाक्यों से probe प्रशिक्षण के "
            f"बाद स्पष्ट रूप से अधिक सीखता है, {less} में स्पष्ट रूप से कम; {wider} में अर्थों के बीच के प्रसरण "
            f"का हिस्सा बढ़ता है। {self._therefore(more, say)}",
        )

    def _therefore(self, more: int, say: Say) -> str:
        if more == len(self.words):
            return say(
                "Training lays the meanings of every word apart.",
                "प्रशिक्षण हर शब्द के अर्थ अलग-अलग कर देता है।",
            )
        if 2 * more > len(self.words):
            return say(
                "Training lays most of them apart, not all.",
                "प्रशिक्षण अधिकतर शब्दों के अर्थ अलग करता है, सबके नहीं।",
            )
        return say(
            "That training lays meanings apart does not show in most words: mixing the sentence "
            "in is enough for a probe.",
            "प्रशिक्षण से अर्थों का अलग होना अधिकतर शब्दों में नहीं दिखता: probe के लिए इतना ही काफ़ी है कि "
            "वाक्य के शब्द मिला दिए जाएँ।",
        )

    def _below(self, say: Say) -> str:
        """That a position may tell less than chance, where it does."""
        below = [
            f"{one.word} {one.level(PLACED).probed.share:.2f}"
            for one in self.words
            if one.level(PLACED).probed.interval[1] < one.chance
        ]
        if not below:
            return ""
        return say(
            f"Position falls below chance ({', '.join(below)}): the sentences asked put the word "
            "at other places, meaning by meaning, than those fitted on. So it is no neutral "
            "baseline; chance is.",
            f"स्थान का परिणाम संयोग से भी नीचे है ({', '.join(below)}): जिन वाक्यों में पूछा जाता है, उनमें "
            "शब्द, अर्थ के अनुसार, उन वाक्यों से अलग स्थानों पर आता है जिन पर probe बिठाया गया। इसलिए यह "
            "तटस्थ आधार नहीं है; संयोग है।",
        )

    def _every(self, say: Say) -> Table:
        rows = []
        for one in self.words:
            last, alone, placed = one.last, one.level(ALONE), one.level(PLACED)
            shares = (one.chance, placed.probed.share, alone.probed.share, last.probed.share)
            rows.append((*shares, alone.few, last.few, alone.apart, last.apart))
        columns = (
            say("chance", "संयोग"),
            say("position", "स्थान"),
            say("untrained", "अप्रशिक्षित"),
            say("last", "अंतिम"),
            say("few, untr.", "कम, अप्र."),
            say("few, last", "कम, अंतिम"),
            say("apart, untr.", "अलग, अप्र."),
            say("apart, last", "अलग, अंतिम"),
        )
        return table("", rows, [one.word for one in self.words], columns, kind="weights")


def senses(
    model: str | Path | Translator | None = None,
    *,
    words: str | Sequence[str] = WORDS,
    sentences: int = 300,
    seed: int = SEED,
    hear: Callable[[str], None] | None = None,
) -> Senses:
    """Probe a trained encoder for the meanings of words: what was kept of one, or a run's own.

    A run takes about 4 seconds a word.
    """
    asked = (words,) if isinstance(words, str) else tuple(words)
    if model is None or model == KEPT:
        if asked != WORDS:
            raise UserError(
                f"words: what is kept is of {', '.join(WORDS)}; for others give model=RUN, a "
                "folder of `dhyan train`"
            )
        found = kept("senses")
        assert isinstance(found, Senses)
        return found
    sentences, seed = whole("sentences", sentences, least=100), whole("seed", seed, least=0)
    for one in asked or ("",):
        if one not in ambiguous():
            raise UserError(
                f"words: {one!r} has no several meanings in the primer; there are "
                f"{', '.join(ambiguous())}"
            )
    translator = translator_of(model)
    probed: list[WordSenses] = []
    for one in asked:
        own, kinds, vectors = probe_senses(translator, one, sentences, seed)
        if not probed:
            shown, before, after = kinds[:DRAWN], vectors[-1][:DRAWN], vectors[-2][:DRAWN]
        probed.append(own)
        if hear:
            hear(f"{one}: {own.last.probed.share:.1%} of its meanings are read off the last layer")
    return Senses(tuple(probed), shown, *plane(before), *plane(after))


def _levels(one: WordSenses, say: Say) -> Table:
    rows = [
        (level.probed.share, *level.probed.interval, level.few, level.apart) for level in one.levels
    ]
    columns = (
        say("right", "सही"),
        say("from", "से"),
        say("to", "तक"),
        say("few", "कम वाक्य"),
        say("apart", "अलगाव"),
    )
    names = [_name(level, say) for level in one.levels]
    return table(one.word, rows, names, columns, kind="weights", digits=3)


def _name(level: Level, say: Say) -> str:
    if level.layer:
        return say(f"layer {level.layer}", f"परत {level.layer}")
    return say(level.name, HINDI[level.name])


def _gained(one: WordSenses, say: Say) -> str:
    """What the last layer has beyond the word and its place, and what weights by chance have."""
    last, placed, chance = one.last.probed, one.level(PLACED).probed, one.level(ALONE).probed
    low, high = last.interval
    told = say(
        f"The last layer is right in {last.share:.1%} ({low:.1%} to {high:.1%}), the word with its "
        f"position in {placed.share:.1%}, chance in {one.chance:.1%}: ",
        f"अंतिम परत {last.share:.1%} वाक्यों में सही है ({low:.1%} से {high:.1%}), स्थान के साथ शब्द "
        f"{placed.share:.1%} में, संयोग {one.chance:.1%} में: ",
    )
    told += (
        say("what is gained is the context's. ", "यह बढ़त संदर्भ से आई है। ")
        if low > max(placed.interval[1], one.chance)
        else say("no clear gain from the context. ", "संदर्भ से कोई स्पष्ट बढ़त नहीं। ")
    )
    if chance.interval[0] > placed.interval[1]:
        return told + say(
            f"But an untrained encoder mixes in the sentence too, and gives {chance.share:.1%}: a "
            "probe with many sentences cannot tell learned from mixed.",
            f"पर अप्रशिक्षित एनकोडर भी वाक्य के शब्द मिलाता है और {chance.share:.1%} देता है: बहुत-से "
            "वाक्यों पर बिठाया probe यह नहीं बता सकता कि अर्थ सीखा गया है या शब्द केवल मिलाए गए हैं।",
        )
    return told + say(
        f"An untrained encoder gives {chance.share:.1%}.",
        f"अप्रशिक्षित एनकोडर {chance.share:.1%} देता है।",
    )


def _taught_one(more: int, less: int, say: Say) -> str:
    """What training did for a single word."""
    if more:
        way = say("clearly more", "स्पष्ट रूप से अधिक")
    else:
        way = say("clearly less", "स्पष्ट रूप से कम") if less else say("no more", "अधिक नहीं")
    return say(
        f"Is that learned? {FEW} sentences of a meaning teach a probe {way} after training.",
        f"क्या यह सीखा हुआ है? हर अर्थ के {FEW} वाक्यों से probe प्रशिक्षण के बाद {way} सीखता है।",
    )
