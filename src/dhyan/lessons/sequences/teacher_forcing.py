"""Teacher forcing against free running: decoder inputs from the reference or its own output."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from dhyan.config import Recipe, load_recipe
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_int

TASKS = ("numbers", "reverse")
RATIOS = (1.0, 0.0)
LEVEL = 1.0  # nats per word: most words are predicted correctly


@dataclass(frozen=True)
class TrainingCurve:
    """One training: the held-out loss and chrF++ at each validation.

    The loss is with teacher forcing for every ratio, so that it is comparable; chrF++ is of the
    model's own translations. `updates` are the seconds spent in updates alone.
    """

    ratio: float
    steps: tuple[int, ...]
    losses: tuple[float, ...]
    scores: tuple[float, ...]
    updates: float

    @property
    def reached(self) -> int | None:
        """The step at which the loss falls below the level, interpolated between validations."""
        checks = list(zip(self.steps, self.losses, strict=True))
        before, high = checks[0]
        for step, loss in checks:
            if loss < LEVEL:
                share = (high - LEVEL) / (high - loss) if step > before else 1.0
                return round(before + share * (step - before))
            before, high = step, loss
        return None

    @property
    def name(self) -> str:
        """The name of the teacher-forcing ratio."""
        return {1.0: "teacher forcing", 0.0: "free running"}.get(self.ratio, f"{self.ratio:g}")


@dataclass(frozen=True)
class TeacherForcing(LessonResult):
    """The same model, data and seed, trained once for each teacher-forcing ratio."""

    task: str
    seed: int
    runs: tuple[TrainingCurve, ...]

    @property
    def faster(self) -> bool:
        """Whether the run of the highest ratio had a lower mean loss and reached the level earlier.

        It is compared with the run of the lowest ratio.
        """
        most, least = self.extremes
        early = (most.reached or 10**9) < (least.reached or 10**9)
        return early and sum(most.losses) < sum(least.losses)

    @property
    def at_once(self) -> bool:
        """Whether both reached the level at the same update, or neither did."""
        most, least = self.extremes
        return most.reached == least.reached

    @property
    def extremes(self) -> tuple[TrainingCurve, TrainingCurve]:
        """The runs of the highest and the lowest ratio."""
        ordered = sorted(self.runs, key=lambda run: run.ratio)
        return ordered[-1], ordered[0]

    def blocks(self, text: Text) -> Iterator[Block]:
        """What differs, the curves, the verdict."""
        step_labels = tuple(map(str, self.runs[0].steps))
        names = [run.name for run in self.runs]
        ends = [[run.losses[-1], run.scores[-1]] for run in self.runs]
        columns = (text("loss"), "chrF++")
        across = text("updates")
        yield text.paragraph("setup")
        yield LineChart(
            text("held_out_loss"),
            tuple(Curve(n, run.losses) for n, run in zip(names, self.runs, strict=True)),
            step_labels,
            across,
            text("nats_per_word"),
        )
        yield LineChart(
            text("chrf_without_teacher_forcing"),
            tuple(Curve(n, run.scores) for n, run in zip(names, self.runs, strict=True)),
            step_labels,
            across,
            "chrF++",
        )
        yield table(text("after_training"), ends, names, columns, digits=3)
        yield Paragraph(self._verdict(text))

    def _verdict(self, text: Text) -> str:
        reached = "; ".join(_reached_sentence(run, text) for run in self.runs)
        most, least = self.extremes
        gap = (sum(least.losses) - sum(most.losses)) / len(most.losses)
        if most is least:
            return reached + text("full_stop")
        verdict = text(
            "convergence",
            level=LEVEL,
            reached=reached,
            name=most.name,
            gap=abs(gap),
            positive_gap=gap > 0,
            least_name=least.name,
        )
        if self.at_once:
            return verdict + self._undecided(text)
        return verdict + text("converges_faster")

    def _undecided(self, text: Text) -> str:
        if self.extremes[0].reached is None:
            return text("undecided_neither")
        return text("undecided_both")


def _reached_sentence(run: TrainingCurve, text: Text) -> str:
    if run.reached is None:
        return text("not_reached", name=run.name, last_steps=run.steps[-1])
    return text("reached_at", name=run.name, reached=run.reached)


@lesson
def teacher_forcing(
    ratios: Sequence[int | float] = RATIOS,
    *,
    task: str = "numbers",
    steps: int = 240,
    checks: int = 10,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
) -> TeacherForcing:
    """Train a small GRU with attention once per teacher-forcing ratio; two take 40 seconds.

    Each is validated `checks` times. The task is generated: `numbers` in words, English to Hindi,
    or `reverse`, which reverses characters.
    """
    if task not in TASKS:
        raise UserError(f"task is {task!r}: give one of {', '.join(TASKS)}")
    parse_int("steps", steps, least=parse_int("checks", checks))
    if not isinstance(ratios, list | tuple) or not ratios or not all(map(_is_share, ratios)):
        raise UserError(f"ratios are {ratios!r}: give one or more numbers from 0 to 1 in a list")
    runs = [
        _train(_recipe(task, float(ratio), steps, checks, seed), on_progress) for ratio in ratios
    ]
    return TeacherForcing(task, seed, tuple(runs))


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _train(recipe: Recipe, on_progress: ProgressCallback | None) -> TrainingCurve:
    from dhyan.run import train
    from dhyan.training.events import Stepped, Validated

    ratio = recipe.training.teacher_forcing
    at, losses, scores, updates = list[int](), list[float](), list[float](), 0.0
    with torch.random.fork_rng(devices=[]), TemporaryDirectory() as folder:
        for event in train(recipe, Path(folder) / "run", device="cpu"):
            if isinstance(event, Stepped):
                updates += event.seconds
            if isinstance(event, Validated):
                at.append(event.step)
                losses.append(event.scores["loss"])
                scores.append(event.scores["chrf"])
                if on_progress:
                    on_progress(f"ratio {ratio:g}, step {event.step}: loss {losses[-1]:.3f}")
    return TrainingCurve(ratio, tuple(at), tuple(losses), tuple(scores), updates)


def _recipe(task: str, ratio: float, steps: int, checks: int, seed: int) -> Recipe:
    """A small version of the recipe `numbers`."""
    return load_recipe(
        "numbers",
        {
            "data.synthetic": task,
            "data.pairs": 4000,
            "encoder.embedding_width": 32,
            "encoder.width": 48,
            "encoder.dropout": 0.0,
            "decoder.embedding_width": 32,
            "decoder.width": 64,
            "decoder.readout_width": 48,
            "decoder.dropout": 0.0,
            "decoder.attention.score_width": 48,
            "training.steps": steps,
            "training.tokens_per_batch": 512,
            "training.teacher_forcing": ratio,
            "training.validate_every": steps // checks,
            "training.valid_sentences": 30,
            "training.save_every": steps,
            "training.seed": seed,
        },
    )
