"""Three improvements of the plain encoder-decoder, measured: embeddings, depth, reversal."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dhyan.errors import UserError
from dhyan.insight.blocks import Curve, Lines, Part, Words, table
from dhyan.lessons.keeping import KEPT, kept
from dhyan.lessons.reports import HOW, Facts, read_report
from dhyan.lessons.sequences.gains import Change, Gain, change_of
from dhyan.lessons.sequences.starts import Start, told_starts
from dhyan.lessons.shown import Say, Shown, Story

FORWARD, REVERSED, DEEP = "bottleneck-forward", "bottleneck-reversed", "bottleneck-deep"
LANGUAGES = {"en": ("English", "अंग्रेज़ी"), "hi": ("Hindi", "हिंदी")}


@dataclass(frozen=True)
class Improvements(Shown):
    """What reversal and depth change, by a report; and what the embeddings do, if it was tried."""

    report: str
    changes: tuple[Change, ...]
    starts: tuple[Start, ...] = ()

    def story(self, say: Say) -> Story:
        """Reversal and depth by place and by length, then the embeddings."""
        return Story(
            say("Three improvements, measured", "तीन सुधार, मापे हुए"),
            (*self._changed(say), *(told_starts(self.starts, say) if self.starts else ())),
        )

    def _changed(self, say: Say) -> tuple[Part, ...]:
        names = [_named(one, say) for one in self.changes]
        millions = [f"{count / 1e6:.1f}" for one in self.changes for count in one.parameters]
        sizes = "–".join(sorted({min(millions, key=float), max(millions, key=float)}, key=float))
        steps = f"{max(one.steps for one in self.changes):,}"
        columns = (say("without", "बिना"), say("with", "सहित"), say("gain", "लाभ"))
        return (
            Words(
                say(
                    "Models without attention that read the sentence into one state. Reversal "
                    "reads it backwards; depth has twice as many layers, both times backwards. "
                    f"Every model has about as many parameters ({sizes} million, so a deeper one "
                    f"is narrower), {steps} updates and one training; the bands are 95 % intervals "
                    "of the test sentences and say nothing of another training. All by "
                    f"{self.report}.",
                    "बिना अवधान के मॉडल, जो वाक्य को पढ़कर एक ही अवस्था में समेटते हैं। “उलटा” में वाक्य "
                    "अंत से आरंभ की ओर पढ़ा जाता है; “गहराई” में परतें दुगुनी हैं, दोनों बार उलटा पढ़कर। "
                    f"सब मॉडलों में प्राचल लगभग बराबर हैं (दस लाख की इकाई में {sizes}, इसलिए गहरा मॉडल "
                    f"सँकरा है), हर एक के {steps} अद्यतन और एक ही प्रशिक्षण; पट्टियाँ परीक्षा के वाक्यों के "
                    "95 % अंतराल हैं और किसी दूसरे प्रशिक्षण के बारे में कुछ नहीं कहतीं। सब "
                    f"आँकड़े {self.report} से हैं।",
                )
            ),
            table(
                "BLEU",
                [(*one.bleu, one.gain.value) for one in self.changes],
                names,
                columns,
                digits=1,
            ),
            Lines(
                say(
                    "more words right, by their place in the target",
                    "लक्ष्य वाक्य में स्थान के अनुसार सही शब्दों में बढ़त",
                ),
                tuple(
                    _curve(name, one.by_place)
                    for name, one in zip(names, self.changes, strict=True)
                ),
                (
                    say("first fifth", "पहला 1/5 भाग"),
                    say("second", "दूसरा"),
                    say("third", "तीसरा"),
                    say("fourth", "चौथा"),
                    say("last", "अंतिम"),
                ),
                say("told all words before", "पिछले सब शब्द बताकर"),
                say("hundredths", "प्रतिशत अंक"),
            ),
            Lines(
                say("gain of BLEU by the length of the source", "स्रोत की लंबाई के अनुसार BLEU में लाभ"),
                tuple(
                    _curve(name, one.by_length)
                    for name, one in zip(names, self.changes, strict=True)
                ),
                self.changes[0].lengths,
                say("words", "शब्द"),
                "BLEU",
            ),
            *(Words(_judged(one, say)) for one in self.changes),
            *self._pairs(say),
        )

    def _pairs(self, say: Say) -> tuple[Part, ...]:
        """Whether reversal helps one direction of a pair of languages and not the other."""
        signs = [one.gain.sign for one in self.changes if one.what == "reversal"]
        if len(signs) < 2:
            return ()
        holds = max(signs) > 0 and min(signs) <= 0
        told = say(
            "That reversal helps one direction and does not show a gain in another "
            f"{'holds' if holds else 'is not seen'} in one training of each model.",
            "“उलटा पढ़ने से एक दिशा में लाभ है, दूसरी में लाभ नहीं दिखता”: हर मॉडल के एक प्रशिक्षण में यह "
            f"{'सही है' if holds else 'नहीं दिखता'}।",
        )
        return (Words(told),)


def improvements(report: str | Path = KEPT) -> Improvements:
    """What reversal and depth change by a report of `dhyan compare`, and what embeddings do.

    `report` is its folder or its report.json, or a result file that holds one under `figures`; not
    given, the kept figures of the full ladder are shown, with those of trainings that differ in
    their embeddings. A report that holds another of the way back as `backwards` shows that too.
    """
    if report == KEPT:
        shown = kept("improvements")
        assert isinstance(shown, Improvements)
        return shown
    path, found = read_report(report)
    return Improvements(str(path), changes_of(path, found))


def changes_of(path: Path, found: Facts) -> tuple[Change, ...]:
    """Every improvement that a report has both models of, in both directions if it has them."""
    directions = [found, *([found["backwards"]] if "backwards" in found else [])]
    try:
        changes = [
            *(_tried(one, "reversal", FORWARD, REVERSED) for one in directions),
            *(_tried(one, "depth", REVERSED, DEEP) for one in directions),
        ]
    except (KeyError, TypeError, IndexError):
        raise UserError(f"report: {path} has no right words by place; {HOW}") from None
    if known := tuple(one for one in changes if one):
        return known
    raise UserError(
        f"report: {path} must have {REVERSED} beside {FORWARD} or {DEEP}; it has "
        f"{', '.join(found['models']) or 'none'}; {HOW}"
    )


def _tried(found: Facts, what: Literal["reversal", "depth"], *names: str) -> Change | None:
    before, after = names
    if all(name in found["models"] for name in names):
        return change_of(found, what, before, after)
    return None


def _curve(name: str, gains: Sequence[Gain | None]) -> Curve:
    return Curve(
        name,
        [one.value if one else None for one in gains],
        [one.low if one else None for one in gains],
        [one.high if one else None for one in gains],
    )


def _named(one: Change, say: Say) -> str:
    what = say("reversal", "उलटा") if one.what == "reversal" else say("depth", "गहराई")
    return say(f"{what}, into {_language(one, say)}", f"{what}, {_language(one, say)} में")


def _language(one: Change, say: Say) -> str:
    return say(*LANGUAGES.get(one.into, (one.into, one.into)))


def _judged(one: Change, say: Say) -> str:
    """What the gains say of the claim."""
    language = _language(one, say)
    sign = one.gain.sign
    if sign == 0:
        found = say("that is not told apart from no change", "इसे शून्य से अलग नहीं कहा जा सकता")
    elif sign > 0:
        found = say("it helps in one training each", "एक-एक प्रशिक्षण में यह लाभ है")
    else:
        found = say("it costs in one training each", "एक-एक प्रशिक्षण में यह हानि है")
    if one.what == "depth":
        better = [
            where
            for where, gain in zip(one.lengths, one.by_length, strict=True)
            if gain is not None and gain.sign > 0
        ]
        at = say(
            f"it is better at {', '.join(better)} words" if better else "it is better at no length",
            f"{', '.join(better)} शब्दों पर बेहतर" if better else "किसी लंबाई पर बेहतर नहीं",
        )
        verdict = _holds(one.as_claimed, say)
        return say(
            f"Depth, into {language}: BLEU {one.gain}, {found}; {at}. That more layers do better "
            f"{verdict} in one training each, with as many parameters and updates.",
            f"गहराई, {language} में: BLEU {one.gain}, {found}; {at}। “अधिक परतें बेहतर हैं”, एक-एक "
            f"प्रशिक्षण में, उतने ही प्राचलों और अद्यतनों पर, {verdict}।",
        )
    first, last = one.by_place[0], one.by_place[-1]
    verdict = _holds(one.as_claimed, say)
    return say(
        f"Reversal, into {language}: first fifth {first}, last fifth {last}; that the first words "
        f"gain and the last lose {verdict} in one training each. BLEU {one.gain}, {found}.",
        f"उलटा, {language} में: पहला 1/5 भाग {first}, अंतिम {last}; “पहले शब्दों को लाभ, अंतिम को हानि” "
        f"एक-एक प्रशिक्षण में {verdict}। BLEU {one.gain}, {found}।",
    )


def _holds(it: bool, say: Say) -> str:
    return say("holds", "सही है") if it else say("does not hold", "सही नहीं है")
