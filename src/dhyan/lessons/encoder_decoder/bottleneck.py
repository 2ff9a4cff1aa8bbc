"""The fixed-size bottleneck: BLEU by sentence length, without attention and with it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, Style, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot

HOW_TO_MAKE = "`dhyan compare --ladder --quick --data primer --out ladder` makes ladder/report.json"
Report = Mapping[str, Any]


def read_report(report: str | Path) -> tuple[Path, Report]:
    """The path and content of a report: a file of its own, or part of a result file."""
    path = Path(str(report))
    file = path / "report.json" if path.is_dir() else path
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"report: {file} cannot be read ({error.strerror}); {HOW_TO_MAKE}"
        ) from None
    except ValueError:
        raise UserError(f"report: {file} is not JSON; {HOW_TO_MAKE}") from None
    for inside in ("figures", "report"):
        content = content.get(inside, content) if isinstance(content, dict) else {}
    if not isinstance(content, dict) or not isinstance(content.get("models"), dict):
        raise UserError(f"report: {file} compares no models; {HOW_TO_MAKE}")
    return path, content


def main_test_scores(report: Report, model: str) -> Report:
    """A model's scores on the report's main test."""
    scores: Report = report["models"][model]["tests"][report["main_test"]]
    return scores


def group_values(groups: Sequence[Report], key: str) -> tuple[float | None, ...]:
    """One value of every length group; None where it is missing."""
    return tuple(None if part.get(key) is None else float(part[key]) for part in groups)


def rereads_state(report: Report) -> bool:
    """Whether a report's models without attention read the encoder's last state at every step.

    Those of the first reports did; later ones say of each model whether it attends.
    """
    return not any("attends" in model for model in report["models"].values())


CLAIMED = 30  # words; the claim: on longer sentences BLEU falls without attention
STABLE = 0.9  # smallest retained share of a BLEU that counts as stable


@dataclass(frozen=True)
class ModelScores:
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
    def retained(self) -> float:
        """BLEU of the long sentences as a share of that of the short."""
        return self.long / self.short


@dataclass(frozen=True)
class Bottleneck(LessonResult):
    """BLEU by the length of the source, as a comparison measured it.

    `rereads` says that the models without attention read the encoder's last state at every step,
    as in Cho et al. (2014), instead of at the start alone.
    """

    report: str
    length_labels: tuple[str, ...]
    sentences: tuple[int, ...]
    up_to: int
    over: int
    model_scores: tuple[ModelScores, ...]
    rereads: bool = False

    def retained(self, *, attends: bool) -> tuple[float, ...]:
        """The retained share of BLEU of the models with attention, or of those without."""
        return tuple(scores.retained for scores in self.model_scores if scores.attends is attends)

    @property
    def holds(self) -> bool | None:
        """Whether all models with attention are stable and none without; None if either is missing."""
        without, attentive = self.retained(attends=False), self.retained(attends=True)
        return max(without) < STABLE <= min(attentive) if without and attentive else None

    def blocks(self, text: Text) -> Iterator[Block]:
        """The curves, the retained shares, and whether the claim holds."""
        names = tuple(scores.name for scores in self.model_scores)
        lines = tuple(
            Curve(scores.name, scores.bleu, scores.lows, scores.highs, scores.style)
            for scores in self.model_scores
        )
        yield text.paragraph("setup")
        if self.rereads:
            yield text.paragraph("rereads_state")
        yield LineChart(
            text("bleu_by_length"), lines, self.length_labels, text("axis_words"), "BLEU"
        )
        yield table(
            text("retained_bleu"),
            [(scores.short, scores.long, 100 * scores.retained) for scores in self.model_scores],
            names,
            (f"≤ {self.up_to}", f"> {self.over}", "%"),
            digits=1,
        )
        yield Paragraph(self._verdict(text))

    def _verdict(self, text: Text) -> str:
        """Whether the claim holds, and whether the sentences were long enough to test it."""
        if self.holds is None:
            return text("models_missing")
        without, attentive = (_span(self.retained(attends=side)) for side in (False, True))
        shares = text("retained_shares", without=without, attentive=attentive)
        claim = text("claim", claimed=CLAIMED, stable_percent=100 * STABLE)
        if self.over < CLAIMED:
            return shares + text("sentences_too_short", claim=claim)
        return shares + text("claim_verdict", claim=claim)


@lesson
def bottleneck(report: str | Path = SNAPSHOT, *, models: Sequence[str] | str = ()) -> Bottleneck:
    """BLEU by sentence length for each model of a `dhyan compare` report.

    `report` is its folder or its report.json, or a result file that holds one under `figures`; not
    given, the snapshot of the full ladder is shown. `models` are those to show, by default all.
    """
    several = isinstance(models, Sequence) and not isinstance(models, str)
    chosen = list(models) if several else [str(models)]
    if report == SNAPSHOT:
        result = read_snapshot("bottleneck", Bottleneck)
        by_name = {scores.name: scores for scores in result.model_scores}
        _check_names(chosen, by_name, report)
        return replace(result, model_scores=tuple(by_name[name] for name in chosen or by_name))
    path, content = read_report(report)
    _check_names(chosen, content["models"], path)
    try:
        return _from_report(str(path), content, chosen or list(content["models"]))
    except (KeyError, TypeError, IndexError):
        raise UserError(f"report: {path} has no BLEU by length; {HOW_TO_MAKE}") from None


def _check_names(names: Sequence[str], available: Report, where: str | Path) -> None:
    for name in names:
        if name not in available:
            raise UserError(f"models: {where} has no {name!r}; it has {', '.join(available)}")


def _from_report(path: str, content: Report, names: Sequence[str]) -> Bottleneck:
    from dhyan.compare.report_page import length_label

    tests = {name: main_test_scores(content, name) for name in names}
    groups, rest = tests[names[0]]["by_length"], tests[names[0]]["retained"]
    return Bottleneck(
        report=path,
        length_labels=tuple(map(length_label, groups)),
        sentences=tuple(part["sentences"] for part in groups),
        up_to=rest["up_to"],
        over=rest["over"],
        model_scores=tuple(
            _model_scores(content["models"][name], name, tests[name]) for name in names
        ),
        rereads=rereads_state(content),
    )


def _model_scores(model: Report, name: str, test: Report) -> ModelScores:
    groups, rest = test["by_length"], test["retained"]
    attends, style = _attends(name, model)
    return ModelScores(
        name=name,
        attends=attends,
        style=style,
        bleu=group_values(groups, "bleu"),
        lows=group_values(groups, "bleu_low"),
        highs=group_values(groups, "bleu_high"),
        short=float(rest["bleu_short"]),
        long=float(rest["bleu_long"]),
    )


def _attends(name: str, model: Report) -> tuple[bool | None, Style]:
    """Whether a model attends: by the rung or recipe of its name, else as the report says."""
    from dhyan.compare.ladder import LADDER
    from dhyan.config import TransformerDecoder, load_recipe

    rungs = {rung.name: (rung.recipe, rung.settings) for rung in LADDER}
    try:
        recipe = load_recipe(*rungs.get(name, (name, {})))
    except UserError:
        attends = model.get("attends", True if model.get("alignment") else None)
        return attends, "dashed" if attends is False else "solid"
    if not recipe.decoder.attends:
        return False, "dashed"
    return True, "dotted" if isinstance(recipe.decoder, TransformerDecoder) else "solid"


def _span(shares: Sequence[float]) -> str:
    low, high = (f"{100 * share:.0f}" for share in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low}–{high} %"
