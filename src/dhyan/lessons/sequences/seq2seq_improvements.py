"""Three improvements of the plain encoder-decoder, measured: embeddings, depth, reversal."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dhyan.errors import UserError
from dhyan.insight.blocks import Curve, Lines, Part, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.reports import HOW, Facts, read_report
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.sequences.gains import Change, Gain, change_of
from dhyan.lessons.sequences.starts import Start, told_starts
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot

FORWARD, REVERSED, DEEP = "bottleneck-forward", "bottleneck-reversed", "bottleneck-deep"
LANGUAGES = ("en", "hi")


@dataclass(frozen=True)
class Improvements(LessonResult):
    """What reversal and depth change, by a report; and what the embeddings do, if it was tried."""

    report: str
    changes: tuple[Change, ...]
    starts: tuple[Start, ...] = ()

    def page(self, text: Text) -> Page:
        """Reversal and depth by place and by length, then the embeddings."""
        return Page(
            text("seq2seq_improvements.title"),
            (*self._changed(text), *(told_starts(self.starts, text) if self.starts else ())),
        )

    def _changed(self, text: Text) -> tuple[Part, ...]:
        names = [_named(one, text) for one in self.changes]
        millions = [f"{count / 1e6:.1f}" for one in self.changes for count in one.parameters]
        sizes = "–".join(sorted({min(millions, key=float), max(millions, key=float)}, key=float))
        steps = f"{max(one.steps for one in self.changes):,}"
        columns = (
            text("seq2seq_improvements.without"),
            text("seq2seq_improvements.with"),
            text("seq2seq_improvements.gain"),
        )
        return (
            Words(
                text(
                    "seq2seq_improvements.models_without_attention_read",
                    sizes=sizes,
                    steps=steps,
                    report=self.report,
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
                text("seq2seq_improvements.more_words_right_place"),
                tuple(
                    _curve(name, one.by_place)
                    for name, one in zip(names, self.changes, strict=True)
                ),
                (
                    text("seq2seq_improvements.first_fifth"),
                    text("seq2seq_improvements.second"),
                    text("seq2seq_improvements.third"),
                    text("seq2seq_improvements.fourth"),
                    text("seq2seq_improvements.last"),
                ),
                text("seq2seq_improvements.told_words_before"),
                text("seq2seq_improvements.hundredths"),
            ),
            Lines(
                text("seq2seq_improvements.gain_bleu_length_source"),
                tuple(
                    _curve(name, one.by_length)
                    for name, one in zip(names, self.changes, strict=True)
                ),
                self.changes[0].lengths,
                text("seq2seq_improvements.words"),
                "BLEU",
            ),
            *(Words(_judged(one, text)) for one in self.changes),
            *self._pairs(text),
        )

    def _pairs(self, text: Text) -> tuple[Part, ...]:
        """Whether reversal helps one direction of a pair of languages and not the other."""
        signs = [one.gain.sign for one in self.changes if one.what == "reversal"]
        if len(signs) < 2:
            return ()
        holds = max(signs) > 0 and min(signs) <= 0
        told = text("seq2seq_improvements.reversal_helps_direction_show", holds=holds)
        return (Words(told),)


def seq2seq_improvements(report: str | Path = SNAPSHOT) -> Improvements:
    """What reversal and depth change by a report of `dhyan compare`, and what embeddings do.

    `report` is its folder or its report.json, or a result file that holds one under `figures`; not
    given, the kept figures of the full ladder are shown, with those of trainings that differ in
    their embeddings. A report that holds another of the way back as `backwards` shows that too.
    """
    if report == SNAPSHOT:
        shown = read_snapshot("seq2seq_improvements")
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


def _named(one: Change, text: Text) -> str:
    what = (
        text("seq2seq_improvements.reversal")
        if one.what == "reversal"
        else text("seq2seq_improvements.depth")
    )
    return text("seq2seq_improvements.into", what=what, language=_language(one, text))


def _language(one: Change, text: Text) -> str:
    if one.into not in LANGUAGES:
        return one.into
    return text(f"seq2seq_improvements.language_{one.into}")


def _judged(one: Change, text: Text) -> str:
    """What the gains say of the claim."""
    language = _language(one, text)
    sign = one.gain.sign
    if sign == 0:
        found = text("seq2seq_improvements.told_apart_change")
    elif sign > 0:
        found = text("seq2seq_improvements.helps_training")
    else:
        found = text("seq2seq_improvements.costs_training")
    if one.what == "depth":
        better = [
            where
            for where, gain in zip(one.lengths, one.by_length, strict=True)
            if gain is not None and gain.sign > 0
        ]
        at = (
            text("seq2seq_improvements.better_words", better=", ".join(better))
            if better
            else text("seq2seq_improvements.better_length")
        )
        verdict = _holds(one.as_claimed, text)
        return text(
            "seq2seq_improvements.depth_bleu_more_layers",
            language=language,
            gain=one.gain,
            found=found,
            at=at,
            verdict=verdict,
        )
    first, last = one.by_place[0], one.by_place[-1]
    verdict = _holds(one.as_claimed, text)
    return text(
        "seq2seq_improvements.reversal_first_fifth_last",
        language=language,
        first=first,
        last=last,
        verdict=verdict,
        gain=one.gain,
        found=found,
    )


def _holds(it: bool, text: Text) -> str:
    return text("seq2seq_improvements.holds") if it else text("seq2seq_improvements.hold")
