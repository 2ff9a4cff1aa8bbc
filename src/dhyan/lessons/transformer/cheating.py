"""A model trained without the mask reads the answer off its own input, and has none when alone."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

from dhyan.errors import UserError
from dhyan.insight.ablation import remove_causal_mask
from dhyan.insight.blocks import Curve, Lines, Words, table
from dhyan.lessons.given import whole
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.lessons.transformer.tiny import drawn_by

TASKS = {"reverse": "d h y a n", "numbers": "three hundred twenty one"}
PAIRS, UNSEEN = 8000, 200  # to learn from, and to say by itself
PLACES = 8  # of the curve
NEAR_ZERO = 0.1  # nats a word
LITTLE = 0.5  # of what the masked model gets right; of what is said at all


@dataclass(frozen=True)
class Trained:
    """One model: its losses on the way, the last of them, and what it is worth when it is alone.

    `unseen_loss` is that of pairs never trained on, the right words told; `right` is the share of
    these that it says exactly when it goes on from its own words, `bleu` their score, and `silent`
    the share of which it says nothing at all.
    """

    steps: tuple[int, ...]
    losses: tuple[float, ...]
    loss: float
    unseen_loss: float
    right: float
    bleu: float
    silent: float
    said: str


@dataclass(frozen=True)
class Cheating(Shown):
    """Two models alike but for the mask."""

    task: str
    sentence: str
    wanted: str
    unseen: int
    masked: Trained
    unmasked: Trained

    @property
    def cheated(self) -> bool:
        """Whether the one without a mask learned its task by heart and cannot do it."""
        alone = self.unmasked.right <= LITTLE * self.masked.right
        return self.unmasked.unseen_loss < NEAR_ZERO and alone and self.masked.right > 0

    def story(self, say: Say) -> Story:
        """The losses, what each is worth alone, and one sentence."""
        masked, free = say("with the mask", "मास्क सहित"), say("without it", "मास्क के बिना")
        both = ((masked, self.masked), (free, self.unmasked))
        losses = [[one.loss, one.unseen_loss] for _, one in both]
        alone = [[one.bleu, 100 * one.right] for _, one in both]
        return Story(
            say("Training without the mask", "मास्क के बिना प्रशिक्षण"),
            (
                Words(
                    say(
                        f"Two Transformers learn the task '{self.task}' from the same pairs in the "
                        "same order. In one the words of the decoder may see those after them. "
                        f"Both then say {self.unseen} pairs they have never seen, each word after "
                        "their own.",
                        f"दो Transformer एक ही क्रम में, उन्हीं युग्मों से, कार्य “{self.task}” सीखते "
                        "हैं। एक में डिकोडर के शब्द अपने बाद के शब्द भी देख सकते हैं। फिर दोनों ऐसे "
                        f"{self.unseen} युग्म स्वयं बोलते हैं जो उन्होंने कभी नहीं देखे, हर शब्द अपने ही कहे "
                        "शब्दों के बाद।",
                    )
                ),
                table(
                    say("loss, nats a word", "हानि, नैट प्रति शब्द"),
                    losses,
                    (masked, free),
                    (say("in training", "प्रशिक्षण में"), say("unseen pairs", "अनदेखे युग्म")),
                    digits=3,
                ),
                table(
                    say("alone, on unseen pairs", "अकेले, अनदेखे युग्मों पर"),
                    alone,
                    (masked, free),
                    ("BLEU", say("right, %", "सही, %")),
                    digits=1,
                ),
                Lines(
                    say("loss in training", "प्रशिक्षण में हानि"),
                    tuple(Curve(name, one.losses) for name, one in both),
                    tuple(str(step) for step in self.masked.steps),
                    say("steps", "चरण"),
                    say("nats a word", "नैट प्रति शब्द"),
                ),
                Words(self._verdict(say)),
                Words(
                    f"{self.sentence} → {self.wanted}; "
                    + "; ".join(f"{name}: {one.said or '∅'}" for name, one in both)
                    + say(".", "।")
                ),
            ),
        )

    def _verdict(self, say: Say) -> str:
        told, alone = self.unmasked.unseen_loss, self.unmasked.right
        if self.cheated:
            lost = say(
                f" Of {self.unmasked.silent:.0%} of them it says nothing: it sees no next word and "
                "takes that for the end.",
                f" {self.unmasked.silent:.0%} पर वह कुछ नहीं कहता: उसे आगे कोई शब्द नहीं दिखता, और वह इसे "
                "ही वाक्य का अंत समझ लेता है।",
            )
            return say(
                f"Without the mask the loss is {told:.3f}, near 0, even on unseen pairs, for the "
                f"word to be said stands in the input. Alone it is not there: {alone:.0%} right, "
                f"against {self.masked.right:.0%} with the mask.",
                f"मास्क के बिना हानि अनदेखे युग्मों पर भी {told:.3f} है, लगभग 0, क्योंकि जो शब्द कहना है "
                f"वह इनपुट में ही मौजूद है। अकेले बोलते समय वह वहाँ नहीं होता: {alone:.0%} सही, जबकि "
                f"मास्क के साथ {self.masked.right:.0%}।",
            ) + (lost if self.unmasked.silent > LITTLE else "")
        return say(
            f"Here it does not show: without the mask the loss of unseen pairs is {told:.3f} and "
            f"{alone:.0%} are right, with it {self.masked.right:.0%}. More steps may show it.",
            f"यहाँ यह नहीं दिखता: मास्क के बिना अनदेखे युग्मों की हानि {told:.3f} है और {alone:.0%} सही, "
            f"मास्क के साथ {self.masked.right:.0%}। शायद और चरणों में दिखे।",
        )


def cheating(
    sentence: str = "",
    *,
    task: str = "reverse",
    steps: int = 600,
    seed: int = 1,
    hear: Callable[[str], None] = lambda line: None,
) -> Cheating:
    """Train the recipe `reverse` with its mask and without, and let both models speak.

    The task is "reverse" or "numbers"; the defaults take less than a minute on two cores.
    """
    if task not in TASKS:
        raise UserError(f"task: {task!r} is none of {', '.join(TASKS)}")
    steps, seed = whole("steps", steps, least=PLACES), whole("seed", seed, least=0)
    sentence = sentence.strip() or TASKS[task]
    ways = []
    for masked in (True, False):
        with TemporaryDirectory() as folder, drawn_by(seed):
            place = Path(folder)
            ways.append(
                _trained(
                    place, sentence, task=task, steps=steps, seed=seed, masked=masked, hear=hear
                )
            )
    return Cheating(task, sentence, _wanted(task, sentence), UNSEEN, *ways)


def _trained(
    folder: Path,
    sentence: str,
    *,
    task: str,
    steps: int,
    seed: int,
    masked: bool,
    hear: Callable[[str], None],
) -> Trained:
    """A model trained in a folder that is then forgotten, and what it says."""
    from dhyan.config import load_recipe
    from dhyan.run import train
    from dhyan.run.build_trainer import Validation
    from dhyan.training.events import Stepped, Validated

    changes = {
        "data.task": task,
        "data.pairs": PAIRS,
        "encoder.layers": 1,
        "decoder.layers": 1,
        "training.steps": steps,
        "training.seed": seed,
        "training.warmup_steps": min(60, steps // 4),
        "training.halve_from": max(1, steps // 2),
        "training.halve_every": max(1, steps // 12),
        "training.report_every": ceil(steps / PLACES),
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
                hear(f"{name}: step {event.step}, loss {event.loss:.3f}")
            case Validated():
                scores = dict(event.scores)
    validation = run.trainer.validate
    assert isinstance(validation, Validation)
    translate, pairs = validation.translator, validation.pairs
    said = [one.text for one in translate([*(pair.source for pair in pairs), sentence])]
    right = sum(one == pair.target for one, pair in zip(said, pairs, strict=False)) / len(pairs)
    return Trained(
        tuple(losses),
        tuple(losses.values()),
        [*losses.values()][-1],
        scores["loss"],
        right,
        scores["bleu"],
        sum(not one for one in said[:-1]) / len(pairs),
        said[-1],
    )


def _wanted(task: str, sentence: str) -> str:
    """The right answer, where one follows from the words."""
    from dhyan.data.synthetic import english_number, hindi_number

    if task == "reverse":
        return " ".join(reversed(sentence.split()))
    known = (number for number in range(10**5) if english_number(number) == sentence)
    number = next(known, None)
    return "?" if number is None else hindi_number(number)
