"""Three improvements of the plain encoder-decoder, measured: embeddings, depth, reversed source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from pathlib import Path
from typing import Literal

from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.encoder_decoder.bottleneck import (
    HOW_TO_MAKE,
    Report,
    group_values,
    main_test_scores,
    read_report,
    rereads_state,
)
from dhyan.lessons.lesson import LessonResult, lesson
from dhyan.lessons.sequences.bleu_gain import Gain, with_sign
from dhyan.lessons.sequences.stacked_depth import StackedDepth, depth_blocks
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot

SURE = 1.96  # standard errors to either side that hold 95 % of a normal distribution
What = Literal["reversal", "depth"]


@dataclass(frozen=True)
class Improvement:
    """A measured improvement: the difference of the model `after` from the model `before`.

    `bleu` are the scores of both, `by_length` the gains of BLEU, and `by_position` the gains of
    token accuracy in percentage points in each fifth of the target. The intervals of BLEU treat the
    two test samples as independent, so they are too wide; those by position treat tokens as
    independent, so they are too narrow.
    """

    technique: What
    language: str
    before: str
    after: str
    parameters: tuple[int, int]
    steps: int
    bleu: tuple[float, float]
    gain: Gain
    lengths: tuple[str, ...]
    by_length: tuple[Gain | None, ...]
    by_position: tuple[Gain, ...]

    @property
    def as_claimed(self) -> bool:
        """Whether the first words gain and the last lose, as is claimed of reversal."""
        return self.by_position[0].sign > 0 > self.by_position[-1].sign


def read_improvement(report: Report, technique: What, before: str, after: str) -> Improvement:
    """Read the scores of both models from a report."""
    from dhyan.compare.report_page import length_label

    names, models = (before, after), report["models"]
    tests = [main_test_scores(report, name) for name in names]
    groups = [test["by_length"] for test in tests]
    return Improvement(
        technique=technique,
        language=models[after]["language"],
        before=before,
        after=after,
        parameters=(models[before]["parameters"], models[after]["parameters"]),
        steps=models[after]["steps"],
        bleu=(tests[0]["bleu"]["value"], tests[1]["bleu"]["value"]),
        gain=_difference(*(_score(test["bleu"]) for test in tests)),
        lengths=tuple(map(length_label, groups[0])),
        by_length=_by_length(*groups),
        by_position=_by_position(*(models[name]["positions"] for name in names)),
    )


def _score(bleu: Report) -> Gain:
    if not (interval := bleu.get("interval")):
        return Gain(float(bleu["value"]))
    return Gain(float(bleu["value"]), float(interval["low"]), float(interval["high"]))


def _by_length(before: Sequence[Report], after: Sequence[Report]) -> tuple[Gain | None, ...]:
    sides = []
    for groups in (before, after):
        keys = ("bleu", "bleu_low", "bleu_high")
        sides.append(list(zip(*(group_values(groups, key) for key in keys), strict=True)))
    return tuple(
        None
        if before_mean is None or after_mean is None
        else _difference(Gain(before_mean, *before_ends), Gain(after_mean, *after_ends))
        for (before_mean, *before_ends), (after_mean, *after_ends) in zip(*sides, strict=True)
    )


def _difference(before: Gain, after: Gain) -> Gain:
    """The difference of two measures; the errors of their intervals add in quadrature."""
    value = after.value - before.value
    match before.low, before.high, after.low, after.high:
        case float() as low, float() as high, float() as least, float() as most:
            below = hypot(after.value - least, high - before.value)
            above = hypot(most - after.value, before.value - low)
            return Gain(value, value - below, value + above)
    return Gain(value)


def _by_position(before: Report, after: Report) -> tuple[Gain, ...]:
    """Gains of token accuracy by position, with normal-approximation intervals."""
    gains = []
    for fifth, (p, q) in enumerate(zip(before["shares"], after["shares"], strict=True)):
        n, m = (max(side["tokens"][fifth], 1) for side in (before, after))
        margin = 100 * SURE * sqrt(p * (1 - p) / n + q * (1 - q) / m)
        value = 100 * (q - p)
        gains.append(Gain(value, value - margin, value + margin))
    return tuple(gains)


Embedding = Literal["learned", "skip-gram", "random"]
EMBEDDINGS: tuple[Embedding, ...] = ("learned", "skip-gram", "random")


@dataclass(frozen=True)
class EmbeddingScores:
    """BLEU of a model trained on `pairs` pairs with one type of embedding, one score per seed.

    "learned" embeddings are initialised at random and trained, "skip-gram" ones start from skip-gram
    vectors, "random" ones stay fixed. `gain` is the mean over the seeds minus that of learned
    embeddings; its interval covers the bootstrap intervals of every seed.
    """

    model: str
    pairs: int
    embedding: Embedding
    bleu: tuple[float, ...]
    gain: Gain | None = None

    @property
    def mean(self) -> float:
        """Mean BLEU over the seeds."""
        return sum(self.bleu) / len(self.bleu)


def embedding_blocks(starts: Sequence[EmbeddingScores], text: Text) -> Iterator[Block]:
    """BLEU and gains with their intervals, a row for every model and number of pairs."""
    by_setting = {(start.model, start.pairs, start.embedding): start for start in starts}
    settings = list(dict.fromkeys((start.model, start.pairs) for start in starts))
    rows = [text("row_model_and_pairs", m=m, n=n) for m, n in settings]
    scores = [[by_setting[*setting, embedding] for embedding in EMBEDDINGS] for setting in settings]
    gains = [[_interval(score.gain) for score in row[1:]] for row in scores]
    columns = (text("embedding_learned"), text("embedding_skip_gram"), text("embedding_random"))
    ends = (text("column_gain"), text("interval_low"), text("interval_high"))
    seeds = len(starts[0].bleu)
    yield text.paragraph("embeddings_setup", seeds=seeds, several_seeds=seeds > 1)
    yield table("BLEU", [[score.mean for score in row] for row in scores], rows, columns, digits=1)
    yield table(columns[1], [gain[0] for gain in gains], rows, ends, digits=1)
    yield table(columns[2], [gain[1] for gain in gains], rows, ends, digits=1)
    yield Paragraph(_embedding_verdict(starts, text))


def _embedding_verdict(starts: Sequence[EmbeddingScores], text: Text) -> str:
    sentences = []
    for embedding, name in (("skip-gram", text("name_skip_gram")), ("random", text("name_random"))):
        compared = [
            start for start in starts if start.embedding == embedding and start.gain is not None
        ]
        better, worse = (
            _join([scores for scores in compared if scores.gain and scores.gain.sign == sign], text)
            for sign in (1, -1)
        )
        sentences.append(
            text(
                "embedding_verdict",
                name=name,
                better=better or text("nowhere"),
                worse=worse or text("nowhere"),
            )
        )
    return " ".join(sentences)


def _interval(gain: Gain | None) -> tuple[float, float, float]:
    assert gain is not None
    return gain.value, *gain.ends


def _join(starts: Sequence[EmbeddingScores], text: Text) -> str:
    return ", ".join(
        text(
            "where_model_and_pairs",
            model=start.model,
            pairs=start.pairs,
            signed=with_sign(start.gain.value),
        )
        for start in starts
        if start.gain is not None
    )


FORWARD, REVERSED, DEEP = "bottleneck-forward", "bottleneck-reversed", "bottleneck-deep"
LANGUAGES = ("en", "hi")


@dataclass(frozen=True)
class Seq2SeqImprovements(LessonResult):
    """Effects of reversal and depth by a report, of depth alone and of embeddings if measured.

    `rereads` says that the decoders read the encoder's last state at every step.
    """

    report: str
    changes: tuple[Improvement, ...]
    embeddings: tuple[EmbeddingScores, ...] = ()
    rereads: bool = False
    depth: StackedDepth | None = None

    def blocks(self, text: Text) -> Iterator[Block]:
        """Reversal and depth by position and by length, depth at equal width, the embeddings."""
        yield from self._changed(text)
        if self.depth:
            yield from depth_blocks(self.depth, text)
        if self.embeddings:
            yield from embedding_blocks(self.embeddings, text)

    def _changed(self, text: Text) -> Iterator[Block]:
        names = [_improvement_name(change, text) for change in self.changes]
        millions = [f"{count / 1e6:.1f}" for change in self.changes for count in change.parameters]
        sizes = "–".join(sorted({min(millions, key=float), max(millions, key=float)}, key=float))
        steps = f"{max(change.steps for change in self.changes):,}"
        columns = (text("column_without"), text("column_with"), text("column_gain"))
        deeper = any(change.technique == "depth" for change in self.changes)
        yield text.paragraph("setup", sizes=sizes, steps=steps, deeper=deeper)
        if self.rereads:
            yield text.paragraph("rereads_state")
        yield table(
            "BLEU",
            [(*change.bleu, change.gain.value) for change in self.changes],
            names,
            columns,
            digits=1,
        )
        yield LineChart(
            text("accuracy_gain_by_position"),
            tuple(
                _curve(name, change.by_position)
                for name, change in zip(names, self.changes, strict=True)
            ),
            (
                text("position_first_fifth"),
                text("position_second_fifth"),
                text("position_third_fifth"),
                text("position_fourth_fifth"),
                text("position_last_fifth"),
            ),
            text("axis_teacher_forcing"),
            text("percentage_points"),
        )
        yield LineChart(
            text("bleu_gain_by_length"),
            tuple(
                _curve(name, change.by_length)
                for name, change in zip(names, self.changes, strict=True)
            ),
            self.changes[0].lengths,
            text("axis_words"),
            "BLEU",
        )
        for change in self.changes:
            yield Paragraph(_verdict(change, text))
        yield from self._pairs(text)

    def _pairs(self, text: Text) -> Iterator[Block]:
        """Whether reversal helps one direction of a pair of languages and not the other."""
        signs = [change.gain.sign for change in self.changes if change.technique == "reversal"]
        if len(signs) < 2:
            return
        holds = max(signs) > 0 and min(signs) <= 0
        verdict = text("reversal_one_direction", holds=holds)
        yield Paragraph(verdict)


@lesson
def seq2seq_improvements(report: str | Path = SNAPSHOT) -> Seq2SeqImprovements:
    """Effects of reversal, depth and embeddings, from a report of `dhyan compare`.

    `report` is its folder or its report.json, or a result file that holds one under `figures`; not
    given, the snapshot of the full ladder is shown, with trainings that differ in their embeddings.
    A report with one of the opposite direction under `backwards` shows that too.
    """
    if report == SNAPSHOT:
        return read_snapshot("seq2seq_improvements", Seq2SeqImprovements)
    path, content = read_report(report)
    changes = read_improvements(path, content)
    return Seq2SeqImprovements(str(path), changes, rereads=rereads_state(content))


def read_improvements(path: Path, report: Report) -> tuple[Improvement, ...]:
    """Every improvement whose two models the report has, in each of its directions."""
    directions = [report, *([report["backwards"]] if "backwards" in report else [])]
    try:
        changes = [
            *(_embeddings_of(direction, "reversal", FORWARD, REVERSED) for direction in directions),
            *(_embeddings_of(direction, "depth", REVERSED, DEEP) for direction in directions),
        ]
    except (KeyError, TypeError, IndexError):
        raise UserError(
            f"report: {path} has no token accuracy by position; {HOW_TO_MAKE}"
        ) from None
    if improvements := tuple(change for change in changes if change):
        return improvements
    raise UserError(
        f"report: {path} must have {REVERSED} beside {FORWARD} or {DEEP}; it has "
        f"{', '.join(report['models']) or 'none'}; {HOW_TO_MAKE}"
    )


def _embeddings_of(
    report: Report, technique: Literal["reversal", "depth"], *names: str
) -> Improvement | None:
    before, after = names
    if all(name in report["models"] for name in names):
        return read_improvement(report, technique, before, after)
    return None


def _curve(name: str, gains: Sequence[Gain | None]) -> Curve:
    return Curve(
        name,
        [gain.value if gain else None for gain in gains],
        [gain.low if gain else None for gain in gains],
        [gain.high if gain else None for gain in gains],
    )


def _improvement_name(improvement: Improvement, text: Text) -> str:
    what = (
        text("technique_reversal")
        if improvement.technique == "reversal"
        else text("technique_depth")
    )
    return text("technique_into_language", technique=what, language=_language(improvement, text))


def _language(improvement: Improvement, text: Text) -> str:
    if improvement.language not in LANGUAGES:
        return improvement.language
    return text(f"language_{improvement.language}")


def _verdict(improvement: Improvement, text: Text) -> str:
    """Whether the gains support the claim, in words."""
    language = _language(improvement, text)
    sign = improvement.gain.sign
    if sign == 0:
        effect = text("effect_not_significant")
    elif sign > 0:
        effect = text("effect_gain")
    else:
        effect = text("effect_loss")
    if improvement.technique == "depth":
        better = [
            where
            for where, gain in zip(improvement.lengths, improvement.by_length, strict=True)
            if gain is not None and gain.sign > 0
        ]
        at = (
            text("better_at_lengths", better=", ".join(better))
            if better
            else text("better_at_no_length")
        )
        return text("depth_verdict", language=language, gain=improvement.gain, effect=effect, at=at)
    first, last = improvement.by_position[0], improvement.by_position[-1]
    verdict = _holds(improvement.as_claimed, text)
    return text(
        "reversal_verdict",
        language=language,
        first=first,
        last=last,
        verdict=verdict,
        gain=improvement.gain,
        effect=effect,
    )


def _holds(it: bool, text: Text) -> str:
    return text("holds") if it else text("does_not_hold")
