"""One head against several that are as wide together: to which word does a phrase belong?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from dhyan.errors import UserError
from dhyan.insight.blocks import Curve, Lines, Part, Words, table
from dhyan.lessons.given import whole
from dhyan.lessons.keeping import KEPT, kept
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.lessons.transformer.attached import Trained, judged_runs, sign_flips

SENTENCES = 320
SURE = 0.05
CEILING = 0.995


@dataclass(frozen=True)
class Attachment(Shown):
    """The runs by steps, heads and seed, and how many sentences of each test they were asked.

    Runs of one seed and length begin with the same weights and see the same batches: they are
    compared in pairs.
    """

    runs: tuple[Trained, ...]
    example: str
    held_out: int
    new_persons: int
    general: int
    signature: str

    @property
    def lengths(self) -> tuple[int, ...]:
        """The steps of the trainings, the fewest first."""
        return tuple(sorted({one.steps for one in self.runs}))

    def heads(self, steps: int) -> tuple[int, ...]:
        """The numbers of heads at a length, the fewest first."""
        return tuple(sorted({one.heads for one in self.runs if one.steps == steps}))

    def of(self, steps: int, heads: int) -> dict[int, Trained]:
        """The runs of a length and a number of heads, by seed."""
        return {one.seed: one for one in self.runs if (one.steps, one.heads) == (steps, heads)}

    def lead(self, steps: int, heads: Sequence[int], measure: str) -> tuple[float, ...]:
        """For every seed, by how much the mean of these numbers of heads is above the fewest."""
        least = self.of(steps, self.heads(steps)[0])
        others = [self.of(steps, one) for one in heads]
        seeds = [seed for seed in least if others and all(seed in some for some in others)]
        return tuple(
            fmean(getattr(some[seed], measure) for some in others) - getattr(least[seed], measure)
            for seed in seeds
        )

    def story(self, say: Say) -> Story:
        """What is asked, every run, the means, and what the seeds allow to be said."""
        parts: list[Part] = [Words(self._asked(say))]
        for steps in self.lengths:
            parts += [*self._tables(steps, say), Words(self._claim(steps, say))]
        if len(self.lengths) > 1:
            parts.append(self._lines(say))
        parts.append(Words(self._ceiling(say)))
        return Story(
            say("One head or several, equally wide", "एक हेड या कई, कुल चौड़ाई वही"), tuple(parts)
        )

    def _asked(self, say: Say) -> str:
        return say(
            f"“{self.example}” Is the thing the tool, in Hindi से, or does it tell who is meant, "
            f"वाले? The first sentence decides. {self.new_persons} such are asked, with persons of "
            "whom training says no such thing. Runs of one seed begin with the same weights and "
            "see the same batches: they differ in nothing but into how many heads the width is "
            "cut.",
            f"“{self.example}” वस्तु साधन है (“से”), या उससे पता चलता है कि किसकी बात है (“वाले”)? यह पहला "
            f"वाक्य तय करता है। ऐसे {self.new_persons} वाक्य पूछे जाते हैं, जिनमें वे व्यक्ति हैं जिनके बारे "
            "में प्रशिक्षण में ऐसा कुछ नहीं कहा गया। एक ही बीज (seed) के मॉडल एक ही भारों से शुरू होते हैं और एक "
            "ही बैच देखते हैं: अंतर केवल इतना है कि चौड़ाई कितने हेडों में बँटी है।",
        )

    def _tables(self, steps: int, say: Say) -> tuple[Part, ...]:
        """Every run that has its pairs, and the mean of all of each number of heads."""
        counts = self.heads(steps)
        groups = [self.of(steps, one) for one in counts]
        seeds = sorted(seed for seed in groups[0] if all(seed in some for some in groups))
        rows = [_heads(one, say) for one in counts]
        means = [
            [fmean(one), min(one), max(one), fmean(_all(some, "held_out"))]
            for some in groups
            for one in [_all(some, "new_persons")]
        ]
        title = say(f"understood after {steps:,} steps", f"{steps:,} चरणों के बाद समझे गए")
        each = table(
            title + say(", by seed", ", हर बीज के लिए"),
            [[some[seed].new_persons for seed in seeds] for some in groups],
            rows,
            [str(seed) for seed in seeds],
            kind="weights",
        )
        columns = (
            say("mean", "माध्य"),
            say("lowest", "न्यूनतम"),
            say("highest", "अधिकतम"),
            say("known", "परिचित"),
        )
        again, names = ("", ()) if len(seeds) > 1 else (title, rows)
        return (
            *((each,) if len(seeds) > 1 else ()),
            table(again, means, names, columns, kind="weights"),
            table("", [[fmean(_all(some, "bleu"))] for some in groups], (), ("BLEU",), digits=1),
        )

    def _claim(self, steps: int, say: Say) -> str:
        """Whether the seeds allow to say that several heads do better than the fewest."""
        least, *more = self.heads(steps)
        if not more:
            return say("There is nothing to compare with.", "तुलना के लिए कुछ और नहीं है।")
        lead, bleu = (self.lead(steps, more, one) for one in ("new_persons", "bleu"))
        if not lead:
            return say(
                "No seed has runs of every number of heads: nothing is compared.",
                "किसी भी बीज के लिए हर हेड-संख्या का मॉडल नहीं है: कोई तुलना नहीं की गई।",
            )
        many, above = ", ".join(map(str, more)), sum(one > 0 for one in lead)
        told = say(
            f"The mean of {many} heads lies {_signed(lead)} from that of {least}, above it in "
            f"{above} of {_some(len(lead), 'seed')}; in BLEU {_signed(bleu, 1)}. ",
            f"{many} हेडों के माध्य और {least} हेड के माध्य का अंतर {_signed(lead)} है; {len(lead)} में "
            f"से {above} बीज में पहला ऊपर है; BLEU में अंतर {_signed(bleu, 1)} है। ",
        )
        chance, best = sign_flips(lead), 2 / 2 ** len(lead)
        if best > SURE:
            return told + say(
                f"With {_some(len(lead), 'seed')} even the clearest difference has p = {best:.2f}: "
                "nothing can be claimed.",
                f"बीजों की संख्या {len(lead)} हो तो सबसे स्पष्ट अंतर का भी p = {best:.2f} है: कोई दावा नहीं "
                "किया जा सकता।",
            )
        return told + say(
            f"If each difference could as well have the other sign, {chance:.1%} of the "
            f"{2 ** len(lead)} ways would bring as much: {self._verdict(steps, chance, lead, say)} "
            f"{self._each(steps, say)}",
            f"यदि हर अंतर का चिह्न उलटा भी हो सकता, तो {2 ** len(lead)} तरीक़ों में से {chance:.1%} में "
            f"कम से कम इतना अंतर आता: {self._verdict(steps, chance, lead, say)} "
            f"{self._each(steps, say)}",
        )

    def _verdict(self, steps: int, chance: float, lead: Sequence[float], say: Say) -> str:
        least = self.heads(steps)[0]
        if chance > SURE:
            return say(
                "that the number of heads matters cannot be claimed.",
                "यह दावा नहीं किया जा सकता कि हेडों की संख्या से फ़र्क़ पड़ता है।",
            )
        if fmean(lead) > 0:
            return say(
                "in these runs several heads, taken together, do better than "
                f"{least} of the same width (pooled p = {chance:.3f}).",
                f"इन मॉडलों में, सब हेड-संख्याओं को मिलाकर, उतनी ही चौड़ाई के {least} हेड से अधिक हेड बेहतर हैं "
                f"(p = {chance:.3f})।",
            )
        return say(
            "in these runs several heads, taken together, do worse than "
            f"{least} of the same width (pooled p = {chance:.3f}).",
            f"इन मॉडलों में, सब हेड-संख्याओं को मिलाकर, उतनी ही चौड़ाई के {least} हेड से अधिक हेड कमतर हैं "
            f"(p = {chance:.3f})।",
        )

    def _each(self, steps: int, say: Say) -> str:
        """The same for every number of heads by itself."""
        least, *more = self.heads(steps)
        leads = {one: self.lead(steps, [one], "new_persons") for one in more}
        told = "; ".join(
            say(f"{one} heads ", f"{one} हेड ") + f"{_signed(lead)} (p = {sign_flips(lead):.3f})"
            for one, lead in leads.items()
        )
        found = say(
            f"By themselves, against {least}: {told}.", f"अलग-अलग, {least} के मुक़ाबले: {told}।"
        )
        alike = [str(one) for one, lead in leads.items() if sign_flips(lead) > SURE]
        if not alike:
            return found
        return found + say(
            f" Alone, {' and '.join(alike)} heads are not told apart from {least}.",
            f" अकेले {' और '.join(alike)} हेड को {least} हेड से अलग नहीं कहा जा सकता।",
        )

    def _lines(self, say: Say) -> Part:
        counts = sorted({one.heads for one in self.runs})
        curves = [
            Curve(
                say(f"{steps:,} steps", f"{steps:,} चरण"),
                [
                    fmean(_all(some, "new_persons")) if (some := self.of(steps, one)) else None
                    for one in counts
                ],
            )
            for steps in self.lengths
        ]
        return Lines(
            say("understood, mean of the seeds", "समझे गए, सब बीजों का माध्य"),
            tuple(curves),
            tuple(map(str, counts)),
            say("heads", "हेड"),
            say("share", "हिस्सा"),
        )

    def _ceiling(self, say: Say) -> str:
        """Where nothing is left to be better in."""
        held_out, new = (
            sum(getattr(one, name) >= CEILING for one in self.runs)
            for name in ("held_out", "new_persons")
        )
        total = len(self.runs)
        told = say(
            f"Known are persons of whom training does say it ({self.held_out} sentences): of these "
            f"{held_out} of {total} runs understand all, of the others {new}.",
            f"परिचित वे व्यक्ति हैं जिनके बारे में प्रशिक्षण में ऐसा कहा गया है ({self.held_out} वाक्य)। इन "
            f"सबको समझने वाले मॉडल: {total} में से {held_out}; बाक़ी सब वाक्यों को समझने वाले: {new}।",
        )
        if max(held_out, new):
            told += say(
                " Runs at this ceiling may differ, but not here.",
                " इस ऊपरी सीमा पर पहुँचे मॉडलों में अंतर हो भी, तो यहाँ नहीं दिखता।",
            )
        return told + say(
            f" BLEU of {self.general} sentences of all kinds: {self.signature}.",
            f" BLEU सब तरह के {self.general} वाक्यों का है: {self.signature}।",
        )


def attachment(
    models: str | Path | Sequence[str | Path] | None = None,
    *,
    sentences: int | None = None,
    hear: Callable[[str], None] = lambda line: None,
) -> Shown:
    """Runs with one head and with several, equally wide, asked to which word a phrase belongs.

    `models` are folders of runs that differ in heads, seed and steps alone, or the folder in which
    they stand, and `sentences` how many each is asked, 320 if not given; without them runs are
    shown that were trained before. Each run takes a few seconds.
    """
    if models is None or models == KEPT:
        if sentences is not None:
            raise UserError(
                "sentences: the runs kept were asked their own; give models=[RUN, …] too"
            )
        return kept("attachment")
    runs, asked, signature = judged_runs(
        _folders(models),
        whole("sentences", SENTENCES if sentences is None else sentences, least=2),
        hear,
    )
    return Attachment(
        runs=runs,
        example=asked.new_persons[0].english,
        held_out=len(asked.held_out),
        new_persons=len(asked.new_persons),
        general=len(asked.general),
        signature=signature,
    )


def _folders(models: str | Path | Sequence[str | Path]) -> list[Path]:
    """The runs named, or those in a folder."""
    if not isinstance(models, str | Path):
        if not models:
            raise UserError("models: give at least one run's folder")
        return [Path(one) for one in models]
    inside = sorted(one.parent for one in Path(models).glob("*/last.json"))
    return inside or [Path(models)]


def _heads(count: int, say: Say) -> str:
    return say(_some(count, "head"), f"{count} हेड")


def _some(count: int, what: str) -> str:
    """So many of them, in English."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _signed(differences: Sequence[float], digits: int = 3) -> str:
    """The mean of differences, with its sign."""
    return f"{fmean(differences):+.{digits}f}".replace("-", "−")


def _all(group: Mapping[int, Trained], measure: str) -> list[float]:
    """A measure of every run of a group."""
    return [getattr(one, measure) for one in group.values()]
