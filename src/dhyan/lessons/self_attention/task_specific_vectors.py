"""General against task-specific: the same sentences as translating and as judging makes them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.blocks import Plane, Point, Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.self_attention.probing import Probed, alike
from dhyan.lessons.self_attention.sentiment import sentiment
from dhyan.lessons.self_attention.task_views import (
    DRAWN,
    SHARED,
    View,
    answers_of,
    balanced,
    commonest,
    every,
    share_of_nearest,
    vectors,
    views_of,
)
from dhyan.lessons.self_attention.two_tasks import (
    KINDS,
    SENTIMENT,
    TRANSLATION,
    UNTRAINED,
    TwoTasks,
    train_both,
)
from dhyan.lessons.snapshots import read_snapshot
from dhyan.lessons.trained_model import knows_every_word

SENTENCE = "The boy did not help the king."
STEPS = 400
FACTS = ("sentiment", "tense", "gender")
SENTIMENTS = ("ill", "neither", "well")
CLEAR = 0.1  # a difference of two likenesses that counts


@dataclass(frozen=True)
class Tasks(LessonResult):
    """The views before training and after each task, and how alike they are.

    `chances` is the share of each fact's commonest answer, `alike` the linear CKA of two encoders,
    and `shared` the share of a sentence's ten nearest that they have in common; `again` has both
    for two trainings of one task from other first weights, of translation and of sentiment. `chrf`
    is of the translations, `judged` the sentences that the judge's own head gets right.
    """

    sentence: str
    kind: int
    views: tuple[View, ...]
    chances: tuple[float, ...]
    alike: Float64[Tensor, "3 3"]
    shared: Float64[Tensor, "3 3"]
    again: tuple[float, float]
    shared_again: tuple[float, float]
    kinds: Int[Tensor, " N"]
    steps: int
    chrf: float
    judged: Probed

    def page(self, text: Text) -> Page:
        """The two tasks, what each keeps, how alike they are, one sentence's neighbours."""
        names = [text(f"task_specific_vectors.task_{one.task}") for one in self.views]
        return Page(
            text("task_specific_vectors.title"),
            (
                Words(self._trained(text)),
                self._probes(names, text),
                table(
                    text("task_specific_vectors.alike_cka"),
                    self.alike,
                    names,
                    names,
                    kind="weights",
                ),
                Words(self._kept_facts(text)),
                *(self._plane(one, text) for one in self.views if one.task != UNTRAINED),
                Words(self._apart(text)),
                *(Words(self._near(one, text)) for one in self.views if one.task != UNTRAINED),
            ),
        )

    def _trained(self, text: Text) -> str:
        low, high = self.judged.interval
        return text(
            "task_specific_vectors.two_encoders_begin_same",
            steps=self.steps,
            chrf=self.chrf,
            half_steps=self.steps // 2,
            share=self.judged.share,
            low=low,
            high=high,
        )

    def _probes(self, names: Sequence[str], text: Text) -> Table:
        shares = [[probed.share for probed in one.probed] for one in self.views]
        columns = [text(f"task_specific_vectors.fact_{fact}") for fact in FACTS]
        guess = text("task_specific_vectors.commonest")
        return table(
            text("task_specific_vectors.share_right"),
            [list(self.chances), *shares],
            [guess, *names],
            columns,
            kind="weights",
        )

    def _kept_facts(self, text: Text) -> str:
        """For each fact, which of the two encoders holds it better, where that is clear."""
        told = []
        translating, judging = (self._view(task) for task in (TRANSLATION, SENTIMENT))
        for place, fact in enumerate(FACTS):
            one, other = translating.probed[place], judging.probed[place]
            if one.interval[0] > other.interval[1]:
                better = text("task_specific_vectors.clearer_after_translation")
            elif other.interval[0] > one.interval[1]:
                better = text("task_specific_vectors.clearer_after_sentiment")
            else:
                better = text("task_specific_vectors.clear_difference")
            name = text(f"task_specific_vectors.fact_{fact}")
            told.append(f"{name} {one.share:.1%} / {other.share:.1%} ({better})")
        return text("task_specific_vectors.translation_sentiment", told="; ".join(told))

    def _apart(self, text: Text) -> str:
        """Whether the two tasks end in different spaces."""
        names = [one.task for one in self.views]
        one, other = names.index(TRANSLATION), names.index(SENTIMENT)
        both, common = float(self.alike[one, other]), float(self.shared[one, other])
        again = " / ".join(f"{one:.2f}" for one in self.again)
        same = " / ".join(f"{one:.0%}" for one in self.shared_again)
        told = text(
            "task_specific_vectors.across_two_tasks_spaces",
            both=both,
            shared=SHARED,
            common=common,
            again=again,
            same=same,
        )
        if both < min(self.again) - CLEAR:
            return told + text(
                "task_specific_vectors.same_sentence_gets_different",
                steps=self.steps,
                half_steps=self.steps // 2,
            )
        return told + text("task_specific_vectors.differ_more_two_trainings")

    def _near(self, view: View, text: Text) -> str:
        found = "; ".join(f"{one.sentence} ({_kind(one.kind, text)})" for one in view.near)
        name = text(f"task_specific_vectors.task_{view.task}")
        return text(
            "task_specific_vectors.nearest",
            sentence=self.sentence,
            kind=_kind(self.kind, text),
            name=name,
            found=found,
        )

    def _plane(self, view: View, text: Text) -> Plane:
        across, up = (round(100 * float(one)) for one in view.explained)
        points = tuple(
            Point("", x, y, kind=kind)
            for (x, y), kind in zip(view.places.tolist(), self.kinds.tolist(), strict=True)
        )
        name = text(f"task_specific_vectors.task_{view.task}")
        kinds = tuple(_kind(kind, text) for kind in range(KINDS))
        return Plane(f"{name}, {across} % + {up} %", points, kinds=kinds)

    def _view(self, task: str) -> View:
        return next(one for one in self.views if one.task == task)


def task_specific_vectors(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    train: bool = False,
    steps: int = STEPS,
    seed: int = 1,
    hear: Callable[[str], None] | None = None,
) -> Tasks:
    """What two tasks make of the same encoder: what was kept, or trained here and now.

    Training takes about a minute on one core.
    """
    said = " ".join(parse_words(sentence))
    steps, seed = parse_int("steps", steps, least=10), parse_int("seed", seed, least=0)
    if train:
        heard = hear or (lambda line: None)
        both, anew = (train_both(steps=steps, seed=one, hear=heard) for one in (seed, seed + 1))
        return measure_tasks(both, anew, said, steps)
    if (said, steps, seed) != (SENTENCE, STEPS, 1):
        raise UserError("the snapshot was not made with that: give train=true to train here")
    found = read_snapshot("task_specific_vectors")
    assert isinstance(found, Tasks)
    return found


def measure_tasks(both: TwoTasks, anew: TwoTasks, sentence: str, steps: int) -> Tasks:
    """Probe the encoders, and hold their spaces against one another and against those anew."""
    translator = both.translator
    if strange := [one for one in sentence.split() if not knows_every_word(translator, one)]:
        raise UserError(
            f"sentence: these encoders never met {', '.join(strange)}; choose other words"
        )
    fit, test = (balanced(translator, split) for split in ("valid", "random"))
    answers = answers_of(fit), answers_of(test)
    views, spaces = views_of(both, fit, test, sentence)
    texts = [one.english for one in test]
    others = [vectors(anew, encoder, texts) for encoder in anew.encoders.values()]
    _, translating, judging = zip(spaces, others, strict=True)
    with torch.no_grad():
        judged = both.head.cpu().double()(spaces[-1]).argmax(-1) == answers[1][0]
    return Tasks(
        sentence=sentence,
        kind=sentiment(sentence.split()),
        views=views,
        chances=tuple(commonest(a, b) for a, b in zip(*answers, strict=True)),
        alike=every(alike, spaces),
        shared=every(share_of_nearest, spaces),
        again=(alike(*translating), alike(*judging)),
        shared_again=(share_of_nearest(*translating), share_of_nearest(*judging)),
        kinds=answers[1][0][:DRAWN],
        steps=steps,
        chrf=both.chrf,
        judged=Probed(int(judged.sum()), len(judged)),
    )


def _kind(kind: int, text: Text) -> str:
    return text(f"task_specific_vectors.sentiment_{SENTIMENTS[kind]}")
