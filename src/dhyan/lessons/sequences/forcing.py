"""Teacher forcing against free running: the same training twice, told the right word or its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from dhyan.config import Recipe, load_recipe
from dhyan.errors import UserError
from dhyan.insight.blocks import Curve, Lines, Words, table
from dhyan.lessons.given import whole
from dhyan.lessons.sequences.miniature import Hear
from dhyan.lessons.shown import Say, Shown, Story

TASKS = ("numbers", "reverse")
RATIOS = (1.0, 0.0)
LEVEL = 1.0  # nats a word: learned well enough to say most of them


@dataclass(frozen=True)
class Trained:
    """One training: at each step that was validated, the loss and chrF++ on sentences held out.

    The loss is with the right words given, so that it is the same measure for every ratio; chrF++
    is of what the model says by itself. `updates` are the seconds spent in updates alone.
    """

    ratio: float
    steps: tuple[int, ...]
    losses: tuple[float, ...]
    scores: tuple[float, ...]
    updates: float

    @property
    def reached(self) -> int | None:
        """Where the loss falls below the level, on the straight line between two checks."""
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
        """What the decoder was told."""
        return {1.0: "teacher forcing", 0.0: "free running"}.get(self.ratio, f"{self.ratio:g}")


@dataclass(frozen=True)
class Forcing(Shown):
    """The same model, data and seed, trained once for each ratio of right words told."""

    task: str
    seed: int
    runs: tuple[Trained, ...]

    @property
    def faster(self) -> bool:
        """Whether the run that was told most had the lower loss on average, and learned earlier.

        It is compared with the run that was told least.
        """
        most, least = self.extremes
        early = (most.reached or 10**9) < (least.reached or 10**9)
        return early and sum(most.losses) < sum(least.losses)

    @property
    def at_once(self) -> bool:
        """Whether both learned at the same update, or neither did: which is faster is not seen."""
        most, least = self.extremes
        return most.reached == least.reached

    @property
    def extremes(self) -> tuple[Trained, Trained]:
        """The runs that were told most and least."""
        ordered = sorted(self.runs, key=lambda one: one.ratio)
        return ordered[-1], ordered[0]

    def story(self, say: Say) -> Story:
        """What differs, the curves, the verdict."""
        places = tuple(map(str, self.runs[0].steps))
        names = [one.name for one in self.runs]
        ends = [[one.losses[-1], one.scores[-1]] for one in self.runs]
        columns = (say("loss", "हानि"), "chrF++")
        across = say("updates", "अद्यतन")
        return Story(
            say("Teacher forcing", "Teacher forcing: सही शब्द देकर सिखाना"),
            (
                Words(
                    say(
                        f"In training the decoder's next input is the right word (teacher forcing) "
                        f"or the word it said itself (free running). All else is the same: task "
                        f"“{self.task}”, seed {self.seed}, weights, batches. The loss below is of "
                        "sentences held out, for all with the right words fed; chrF++ is of what "
                        "each says by itself.",
                        f"प्रशिक्षण में डिकोडर को अगले चरण पर या तो सही शब्द दिया जाता है (teacher "
                        f"forcing) या वह शब्द जो उसने स्वयं बोला (free running)। बाक़ी सब समान "
                        f"है: कार्य “{self.task}”, बीज (seed) {self.seed}, आरंभिक भार और बैच। नीचे की "
                        "हानि अलग रखे गए वाक्यों की है और सब के लिए सही शब्द देकर मापी गई है; chrF++ उस "
                        "अनुवाद का है जो मॉडल स्वयं बोलता है।",
                    )
                ),
                Lines(
                    say("loss on sentences held out", "अलग रखे गए वाक्यों पर हानि"),
                    tuple(Curve(n, one.losses) for n, one in zip(names, self.runs, strict=True)),
                    places,
                    across,
                    say("nats a word", "नैट प्रति शब्द"),
                ),
                Lines(
                    say("translations it says by itself", "स्वयं बोले गए अनुवाद"),
                    tuple(Curve(n, one.scores) for n, one in zip(names, self.runs, strict=True)),
                    places,
                    across,
                    "chrF++",
                ),
                table(say("at the end", "अंत में"), ends, names, columns, digits=3),
                Words(self._judged(say)),
            ),
        )

    def _judged(self, say: Say) -> str:
        told = "; ".join(_when(one, say) for one in self.runs)
        most, least = self.extremes
        gap = (sum(least.losses) - sum(most.losses)) / len(most.losses)
        if most is least:
            return told + say(".", "।")
        found = say(
            f"Below {LEVEL:g} nat a word, by the lines: {told}. On average {most.name} has a loss "
            f"{abs(gap):.3f} {'lower' if gap > 0 else 'higher'} than {least.name}: ",
            f"रेखाओं के अनुसार प्रति शब्द {LEVEL:g} नैट से नीचे: {told}। औसतन {most.name} की हानि "
            f"{least.name} की हानि से {abs(gap):.3f} {'कम' if gap > 0 else 'अधिक'} है: ",
        )
        if self.at_once:
            return found + self._undecided(say)
        return found + say(
            f"that it converges faster {'holds' if self.faster else 'does not hold'} in this run.",
            f"तेज़ अभिसरण का दावा इस प्रयोग में {'सही' if self.faster else 'सही नहीं'} है।",
        )

    def _undecided(self, say: Say) -> str:
        if self.extremes[0].reached is None:
            return say(
                "which converges faster is not seen, neither came so far.",
                "कौन पहले पहुँचता है, यह नहीं दिखता: दोनों में से कोई वहाँ तक नहीं पहुँचा।",
            )
        return say(
            "which converges faster is not seen, both pass at the same update.",
            "कौन पहले पहुँचता है, यह नहीं दिखता: दोनों एक ही अद्यतन पर इससे नीचे आते हैं।",
        )


def _when(one: Trained, say: Say) -> str:
    if one.reached is None:
        return say(
            f"{one.name} not within {one.steps[-1]} updates",
            f"{one.name} {one.steps[-1]} अद्यतन तक नहीं",
        )
    return say(f"{one.name} at {one.reached}", f"{one.name} अद्यतन {one.reached} पर")


def forcing(
    ratios: Sequence[int | float] = RATIOS,
    *,
    task: str = "numbers",
    steps: int = 240,
    checks: int = 10,
    seed: int = 1,
    hear: Hear | None = None,
) -> Forcing:
    """Train a small GRU with attention once for each ratio of right words; two take 40 seconds.

    They are validated `checks` times. The task is made by code: `numbers` in words, English to
    Hindi, or letters to `reverse`.
    """
    if task not in TASKS:
        raise UserError(f"task is {task!r}: give one of {', '.join(TASKS)}")
    whole("steps", steps, least=whole("checks", checks))
    if not isinstance(ratios, list | tuple) or not ratios or not all(map(_is_share, ratios)):
        raise UserError(f"ratios are {ratios!r}: give one or more numbers from 0 to 1 in a list")
    runs = [_trained(_recipe(task, float(ratio), steps, checks, seed), hear) for ratio in ratios]
    return Forcing(task, seed, tuple(runs))


def _is_share(given: object) -> bool:
    return isinstance(given, int | float) and 0 <= given <= 1


def _trained(recipe: Recipe, hear: Hear | None) -> Trained:
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
                if hear:
                    hear(f"ratio {ratio:g}, step {event.step}: loss {losses[-1]:.3f}")
    return Trained(ratio, tuple(at), tuple(losses), tuple(scores), updates)


def _recipe(task: str, ratio: float, steps: int, checks: int, seed: int) -> Recipe:
    """The recipe of the numbers, made small."""
    return load_recipe(
        "numbers",
        {
            "data.task": task,
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
