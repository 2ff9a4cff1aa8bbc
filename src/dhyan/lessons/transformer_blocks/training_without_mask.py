"""Training without the causal mask: the loss goes to 0, and free-running decoding fails."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

from dhyan.errors import UserError
from dhyan.insight.ablation import remove_causal_mask
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson, parse_int
from dhyan.lessons.tiny_models import seeded

TASKS = {"reverse": "d h y a n", "numbers": "three hundred twenty one"}
PAIRS, UNSEEN = 8000, 200  # for training, and for testing
CURVE_POINTS = 8  # of the curve
NEAR_ZERO = 0.1  # nats a word
LITTLE = 0.5  # of the masked model's accuracy; of the translations that are not empty


@dataclass(frozen=True)
class TrainingResult:
    """One model: its loss curve, its last loss, and its free-running accuracy.

    `unseen_loss` is the teacher-forced loss on unseen pairs; `right` is the share of them that is
    translated exactly in free-running decoding, `bleu` their score, and `silent` the share of empty
    translations.
    """

    steps: tuple[int, ...]
    losses: tuple[float, ...]
    loss: float
    unseen_loss: float
    right: float
    bleu: float
    silent: float
    translation: str


@dataclass(frozen=True)
class TrainingWithoutMask(LessonResult):
    """Two models that differ only in the mask."""

    task: str
    sentence: str
    expected: str
    unseen: int
    masked: TrainingResult
    unmasked: TrainingResult

    @property
    def cheated(self) -> bool:
        """Whether the unmasked model has a loss near 0 and fails in free-running decoding."""
        alone = self.unmasked.right <= LITTLE * self.masked.right
        return self.unmasked.unseen_loss < NEAR_ZERO and alone and self.masked.right > 0

    def blocks(self, text: Text) -> Iterator[Block]:
        """The losses, free-running accuracy, and one sentence."""
        masked, free = (
            text("with_mask"),
            text("without_mask"),
        )
        both = ((masked, self.masked), (free, self.unmasked))
        losses = [[result.loss, result.unseen_loss] for _, result in both]
        alone = [[result.bleu, 100 * result.right] for _, result in both]
        yield text.paragraph("setup")
        yield table(
            text("loss_title"),
            losses,
            (masked, free),
            (
                text("column_training"),
                text("column_unseen"),
            ),
            digits=3,
        )
        yield table(
            text("decoding_title"),
            alone,
            (masked, free),
            ("BLEU", text("column_accuracy")),
            digits=1,
        )
        yield LineChart(
            text("training_loss"),
            tuple(Curve(name, result.losses) for name, result in both),
            tuple(str(step) for step in self.masked.steps),
            text("axis_steps"),
            text("axis_nats_per_word"),
        )
        yield Paragraph(self._verdict(text))
        yield Paragraph(
            f"{self.sentence} → {self.expected}; "
            + "; ".join(f"{name}: {result.translation or '∅'}" for name, result in both)
            + text("full_stop")
        )

    def _verdict(self, text: Text) -> str:
        loss, alone = self.unmasked.unseen_loss, self.unmasked.right
        if self.cheated:
            silence = text("empty_outputs", silent=self.unmasked.silent)
            return text("leak_shown", loss=loss, alone=alone, right=self.masked.right) + (
                silence if self.unmasked.silent > LITTLE else ""
            )
        return text("leak_not_shown", loss=loss, alone=alone, right=self.masked.right)


@lesson
def training_without_mask(
    sentence: str = "",
    *,
    task: str = "reverse",
    steps: int = 600,
    seed: int = 1,
    on_progress: Callable[[str], None] = lambda line: None,
) -> TrainingWithoutMask:
    """Train the recipe `reverse` with the causal mask and without, and translate with both.

    The task is "reverse" or "numbers"; the defaults take less than a minute on two cores.
    """
    if task not in TASKS:
        raise UserError(f"task: {task!r} is none of {', '.join(TASKS)}")
    steps, seed = parse_int("steps", steps, least=CURVE_POINTS), parse_int("seed", seed, least=0)
    sentence = sentence.strip() or TASKS[task]
    results = []
    for masked in (True, False):
        with TemporaryDirectory() as folder, seeded(seed):
            run_folder = Path(folder)
            results.append(
                _train(
                    run_folder,
                    sentence,
                    task=task,
                    steps=steps,
                    seed=seed,
                    masked=masked,
                    on_progress=on_progress,
                )
            )
    return TrainingWithoutMask(task, sentence, _expected(task, sentence), UNSEEN, *results)


def _train(
    folder: Path,
    sentence: str,
    *,
    task: str,
    steps: int,
    seed: int,
    masked: bool,
    on_progress: Callable[[str], None],
) -> TrainingResult:
    """Train a model in a temporary folder, and evaluate it."""
    from dhyan.config import load_recipe
    from dhyan.run import train
    from dhyan.run.validation import Validation
    from dhyan.training.events import Stepped, Validated

    changes = {
        "data.synthetic": task,
        "data.pairs": PAIRS,
        "encoder.layers": 1,
        "decoder.layers": 1,
        "training.steps": steps,
        "training.seed": seed,
        "training.warmup_steps": min(60, steps // 4),
        "training.halve_from": max(1, steps // 2),
        "training.halve_every": max(1, steps // 12),
        "training.report_every": ceil(steps / CURVE_POINTS),
        "training.validate_every": steps,
        "training.save_every": steps,
        "training.valid_sentences": UNSEEN,
    }
    run = train(load_recipe("reverse", changes), folder / "run", device="cpu")
    if not masked:
        remove_causal_mask(run.trainer.model)
    losses: dict[int, float] = {}
    scores: dict[str, float] = {}
    for event in run:
        match event:
            case Stepped():
                losses[event.step] = event.loss
                name = "with the mask" if masked else "without the mask"
                on_progress(f"{name}: step {event.step}, loss {event.loss:.3f}")
            case Validated():
                scores = dict(event.scores)
    validation = run.trainer.validate
    assert isinstance(validation, Validation)
    translate, pairs = validation.translator, validation.pairs
    translations = [
        translation.text for translation in translate([*(pair.source for pair in pairs), sentence])
    ]
    right = sum(
        translation == pair.target for translation, pair in zip(translations, pairs, strict=False)
    ) / len(pairs)
    return TrainingResult(
        tuple(losses),
        tuple(losses.values()),
        [*losses.values()][-1],
        scores["loss"],
        right,
        scores["bleu"],
        sum(not translation for translation in translations[:-1]) / len(pairs),
        translations[-1],
    )


def _expected(task: str, sentence: str) -> str:
    """The expected output; "?" if the sentence is no number."""
    from dhyan.data.synthetic import english_number, hindi_number

    if task == "reverse":
        return " ".join(reversed(sentence.split()))
    matches = (number for number in range(10**5) if english_number(number) == sentence)
    number = next(matches, None)
    return "?" if number is None else hindi_number(number)
