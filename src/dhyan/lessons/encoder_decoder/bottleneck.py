"""One state for a whole sentence: BLEU by length, without attention and with it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dhyan.errors import UserError
from dhyan.insight.blocks import Curve, Lines, Style, Words, table
from dhyan.lessons.keeping import KEPT, kept
from dhyan.lessons.reports import HOW, Facts, figures, main_test, read_report
from dhyan.lessons.shown import Say, Shown, Story

CLAIMED = 30  # words: past these, it is said, BLEU falls without attention
STABLE = 0.9  # what is kept at least of a BLEU that does not fall


@dataclass(frozen=True)
class Standing:
    """A model's BLEU by length; `attends` is None where the report does not tell.

    `short` and `long` are its BLEU of sentences of up to `Bottleneck.up_to` words and of more than
    `Bottleneck.over`.
    """

    name: str
    attends: bool | None
    style: Style
    bleu: tuple[float | None, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]
    short: float
    long: float

    @property
    def kept(self) -> float:
        """BLEU of the long sentences as a share of that of the short."""
        return self.long / self.short


@dataclass(frozen=True)
class Bottleneck(Shown):
    """BLEU by the length of the source, as a comparison measured it."""

    report: str
    places: tuple[str, ...]
    sentences: tuple[int, ...]
    up_to: int
    over: int
    standings: tuple[Standing, ...]

    def kept(self, *, attends: bool) -> tuple[float, ...]:
        """What the models with attention, or those without, keep of their BLEU."""
        return tuple(one.kept for one in self.standings if one.attends is attends)

    @property
    def holds(self) -> bool | None:
        """Whether all models with attention are stable and none without; None if a kind lacks."""
        without, attentive = self.kept(attends=False), self.kept(attends=True)
        return max(without) < STABLE <= min(attentive) if without and attentive else None

    def story(self, say: Say) -> Story:
        """The curves, what is kept of each, and what that says of the claim."""
        names = tuple(one.name for one in self.standings)
        lines = tuple(
            Curve(one.name, one.bleu, one.lows, one.highs, one.style) for one in self.standings
        )
        return Story(
            say("The bottleneck", "सँकरा रास्ता (bottleneck): पूरे वाक्य के लिए एक ही अवस्था"),
            (
                Words(
                    say(
                        "Without attention (dashed) the decoder gets one state, whatever the "
                        "length of the sentence; with it (solid, and dotted for a Transformer) a "
                        "context for every word. The bands are 95 % intervals. All by "
                        f"{self.report}.",
                        "अवधान के बिना (टूटी रेखा) वाक्य कितना भी लंबा हो, डिकोडर को एक ही अवस्था "
                        "मिलती है; अवधान के साथ (अखंड रेखा, और Transformer के लिए बिंदुदार) हर शब्द "
                        f"के लिए अलग संदर्भ। पट्टियाँ 95 % अंतराल हैं। सब आँकड़े {self.report} से हैं।",
                    )
                ),
                Lines(
                    say("BLEU by the length of the source", "स्रोत वाक्य की लंबाई के अनुसार BLEU"),
                    lines,
                    self.places,
                    say("words", "शब्द"),
                    "BLEU",
                ),
                table(
                    say("what is kept", "कितना बचता है"),
                    [(one.short, one.long, 100 * one.kept) for one in self.standings],
                    names,
                    (f"≤ {self.up_to}", f"> {self.over}", "%"),
                    digits=1,
                ),
                Words(self._verdict(say)),
            ),
        )

    def _verdict(self, say: Say) -> str:
        """What the shares say, and whether sentences were long enough for the claim at all."""
        if self.holds is None:
            return say(
                "The report does not have models of both kinds, with attention and without, so it "
                "says nothing of the claim.",
                "रिपोर्ट में दोनों तरह के मॉडल, अवधान वाले और बिना अवधान वाले, नहीं हैं, इसलिए वह इस दावे के "
                "बारे में कुछ नहीं कहती।",
            )
        without, attentive = (_span(self.kept(attends=side)) for side in (False, True))
        shares = say(
            f"Of their BLEU for up to {self.up_to} words the models without attention keep "
            f"{without} for more than {self.over}, those with it {attentive}.",
            f"{self.up_to} शब्द तक के वाक्यों पर जितना BLEU था, {self.over} से अधिक शब्दों के वाक्यों पर "
            f"बिना अवधान वाले मॉडल उसका {without} बचा पाते हैं, अवधान वाले {attentive}।",
        )
        claim = say(
            f"the claim that past {CLAIMED} words BLEU falls without attention and keeps at least "
            f"{100 * STABLE:.0f} % with it",
            f"यह दावा कि {CLAIMED} शब्दों के बाद BLEU अवधान के बिना गिरता है और अवधान के साथ कम से कम "
            f"{100 * STABLE:.0f} % बना रहता है,",
        )
        if self.over < CLAIMED:
            return shares + say(
                f" The report has no sentences long enough for {claim}.",
                f" {claim} जितने लंबे वाक्यों के बारे में है, उतने लंबे वाक्य इस रिपोर्ट में नहीं हैं।",
            )
        return shares + say(
            f" Here {claim} {'holds' if self.holds else 'does not hold'}.",
            f" {claim} यहाँ सही {'निकला' if self.holds else 'नहीं निकला'}।",
        )


def bottleneck(report: str | Path = KEPT, *, models: Sequence[str] | str = ()) -> Bottleneck:
    """Read off a report of `dhyan compare` what a longer sentence costs each model.

    `report` is its folder or its report.json, or a result file that holds one under `figures`; not
    given, the kept figures of the full ladder are shown. `models` are those to show, all of them
    if none is named.
    """
    several = isinstance(models, Sequence) and not isinstance(models, str)
    chosen = list(models) if several else [str(models)]
    if report == KEPT:
        shown = kept("bottleneck")
        assert isinstance(shown, Bottleneck)
        known = {one.name: one for one in shown.standings}
        _check_names(chosen, known, report)
        return replace(shown, standings=tuple(known[name] for name in chosen or known))
    path, found = read_report(report)
    _check_names(chosen, found["models"], path)
    try:
        return _shown(str(path), found, chosen or list(found["models"]))
    except (KeyError, TypeError, IndexError):
        raise UserError(f"report: {path} has no BLEU by length; {HOW}") from None


def _check_names(names: Sequence[str], known: Facts, where: str | Path) -> None:
    for name in names:
        if name not in known:
            raise UserError(f"models: {where} has no {name!r}; it has {', '.join(known)}")


def _shown(report: str, found: Facts, names: Sequence[str]) -> Bottleneck:
    from dhyan.compare.report_figures import spoken

    tests = {name: main_test(found, name) for name in names}
    groups, rest = tests[names[0]]["by_length"], tests[names[0]]["retained"]
    return Bottleneck(
        report=report,
        places=tuple(map(spoken, groups)),
        sentences=tuple(part["sentences"] for part in groups),
        up_to=rest["up_to"],
        over=rest["over"],
        standings=tuple(_standing(found["models"][name], name, tests[name]) for name in names),
    )


def _standing(model: Facts, name: str, test: Facts) -> Standing:
    groups, rest = test["by_length"], test["retained"]
    attends, style = _kind(name, model)
    return Standing(
        name=name,
        attends=attends,
        style=style,
        bleu=figures(groups, "bleu"),
        lows=figures(groups, "bleu_low"),
        highs=figures(groups, "bleu_high"),
        short=float(rest["bleu_short"]),
        long=float(rest["bleu_long"]),
    )


def _kind(name: str, model: Facts) -> tuple[bool | None, Style]:
    """Whether a model attends: by the rung or recipe of its name, or by its alignment."""
    from dhyan.compare.alignment_quality import attends
    from dhyan.compare.ladder import LADDER
    from dhyan.config import TransformerDecoder, load_recipe

    rungs = {rung.name: (rung.recipe, rung.settings) for rung in LADDER}
    try:
        recipe = load_recipe(*rungs.get(name, (name, {})))
    except UserError:
        return (True, "solid") if model.get("alignment") else (None, "solid")
    if not attends(recipe):
        return False, "dashed"
    return True, "dotted" if isinstance(recipe.decoder, TransformerDecoder) else "solid"


def _span(shares: Sequence[float]) -> str:
    low, high = (f"{100 * share:.0f}" for share in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low}–{high} %"
