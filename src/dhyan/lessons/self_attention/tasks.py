"""General against task-specific: the same sentences as translating and as judging makes them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.blocks import Plane, Point, Table, Words, table
from dhyan.lessons.given import whole, words_of
from dhyan.lessons.keeping import kept
from dhyan.lessons.of_primer import known
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
from dhyan.lessons.shown import Say, Shown, Story

SENTENCE = "The boy did not help the king."
STEPS = 400
NAMES = {UNTRAINED: "अप्रशिक्षित", TRANSLATION: "अनुवाद", SENTIMENT: "भाव"}
FACTS = (("sentiment", "भाव"), ("tense", "काल"), ("verb's gender", "क्रिया का लिंग"))
CLEAR = 0.1  # a difference of two likenesses that counts


@dataclass(frozen=True)
class Tasks(Shown):
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

    def story(self, say: Say) -> Story:
        """The two tasks, what each keeps, how alike they are, one sentence's neighbours."""
        names = [say(one.task, NAMES[one.task]) for one in self.views]
        return Story(
            say("One sentence, two tasks, two vectors", "एक वाक्य, दो काम, दो सदिश"),
            (
                Words(self._trained(say)),
                self._probes(names, say),
                table(say("alike (CKA)", "समानता (CKA)"), self.alike, names, names, kind="weights"),
                Words(self._kept_facts(say)),
                *(self._plane(one, say) for one in self.views if one.task != UNTRAINED),
                Words(self._apart(say)),
                *(Words(self._near(one, say)) for one in self.views if one.task != UNTRAINED),
            ),
        )

    def _trained(self, say: Say) -> str:
        low, high = self.judged.interval
        return say(
            f"Two encoders begin with the same weights. One learns with a decoder to translate the "
            f"primer ({self.steps} updates, chrF++ {self.chrf:.0f}), the other with a linear layer "
            f"to say whether a sentence speaks well, ill or neither, by words such as “praise” and "
            f"“sad” that “not” turns round ({self.steps // 2} updates, {self.judged.share:.1%} "
            f"right, {low:.1%} to {high:.1%}). A sentence's vector is the mean of its states. What "
            "a linear probe reads off it, in new sentences:",
            "दो एनकोडर एक ही भारों से शुरू करते हैं। पहला, डिकोडर के साथ, प्राइमर का अनुवाद सीखता है "
            f"({self.steps} अद्यतन, chrF++ {self.chrf:.0f}); दूसरा, एक रैखिक परत के साथ, यह बताना कि "
            "वाक्य का भाव अच्छा है, बुरा है या कोई नहीं: “praise”, “sad” जैसे शब्दों से, जिन्हें “not” पलट "
            f"देता है ({self.steps // 2} अद्यतन, {self.judged.share:.1%} सही, {low:.1%} से "
            f"{high:.1%})। वाक्य का सदिश उसकी अवस्थाओं का माध्य है। नए वाक्यों में रैखिक probe उससे यह पढ़ "
            "पाता है:",
        )

    def _probes(self, names: Sequence[str], say: Say) -> Table:
        shares = [[probed.share for probed in one.probed] for one in self.views]
        columns = [say(*fact) for fact in FACTS]
        guess = say("commonest", "सबसे आम उत्तर")
        return table(
            say("share right", "सही उत्तरों का अनुपात"),
            [list(self.chances), *shares],
            [guess, *names],
            columns,
            kind="weights",
        )

    def _kept_facts(self, say: Say) -> str:
        """For each fact, which of the two encoders holds it better, where that is clear."""
        told = []
        translating, judging = (self._view(task) for task in (TRANSLATION, SENTIMENT))
        for place, fact in enumerate(FACTS):
            one, other = translating.probed[place], judging.probed[place]
            if one.interval[0] > other.interval[1]:
                better = say("clearer after translation", "अनुवाद के बाद अधिक स्पष्ट")
            elif other.interval[0] > one.interval[1]:
                better = say("clearer after sentiment", "भाव के बाद अधिक स्पष्ट")
            else:
                better = say("no clear difference", "कोई स्पष्ट अंतर नहीं")
            told.append(f"{say(*fact)} {one.share:.1%} / {other.share:.1%} ({better})")
        return say(
            f"Translation / sentiment: {'; '.join(told)}.", f"अनुवाद / भाव: {'; '.join(told)}।"
        )

    def _apart(self, say: Say) -> str:
        """Whether the two tasks end in different spaces."""
        names = [one.task for one in self.views]
        one, other = names.index(TRANSLATION), names.index(SENTIMENT)
        both, common = float(self.alike[one, other]), float(self.shared[one, other])
        again = " / ".join(f"{one:.2f}" for one in self.again)
        same = " / ".join(f"{one:.0%}" for one in self.shared_again)
        told = say(
            f"Across the two tasks the spaces are alike by {both:.2f} (1: one is the other turned) "
            f"and of a sentence's {SHARED} nearest {common:.0%} are the same; across two trainings "
            f"for one task, from other first weights, by {again} and {same} (translation / "
            "sentiment). ",
            f"दो कामों के बीच सदिश-समष्टियों की समानता {both:.2f} है (1: एक दूसरी का घुमाया हुआ रूप है), "
            f"और वाक्य के {SHARED} निकटतम वाक्यों में से {common:.0%} दोनों में वही हैं; एक ही काम के दो "
            f"प्रशिक्षणों के बीच, जो अलग-अलग भारों से शुरू हुए, {again} और {same} (अनुवाद / भाव)। ",
        )
        if both < min(self.again) - CLEAR:
            return told + say(
                "So the same sentence gets different vectors, more so than by training anew for "
                f"one task. Beside the task the updates differ too ({self.steps} against "
                f"{self.steps // 2}), the rate and the batches: they may have a part in it.",
                "यानी एक ही वाक्य को अलग सदिश मिलते हैं, एक ही काम के लिए दोबारा प्रशिक्षण से भी अधिक अलग। "
                f"काम के अलावा अद्यतनों की संख्या ({self.steps} और {self.steps // 2}), सीखने की दर और बैच "
                "भी अलग हैं: इसमें उनका भी हाथ हो सकता है।",
            )
        return told + say(
            "So they differ no more than two trainings for one task do.",
            "यानी उनमें अंतर उससे अधिक नहीं जितना एक ही काम के दो प्रशिक्षणों में है।",
        )

    def _near(self, view: View, say: Say) -> str:
        found = "; ".join(f"{one.sentence} ({_kind(one.kind, say)})" for one in view.near)
        name = say(view.task, NAMES[view.task])
        return say(
            f"Nearest to “{self.sentence}” ({_kind(self.kind, say)}) for {name}: {found}",
            f"{name} के लिए “{self.sentence}” ({_kind(self.kind, say)}) के निकटतम वाक्य: {found}",
        )

    def _plane(self, view: View, say: Say) -> Plane:
        across, up = (round(100 * float(one)) for one in view.explained)
        points = tuple(
            Point("", x, y, kind=kind)
            for (x, y), kind in zip(view.places.tolist(), self.kinds.tolist(), strict=True)
        )
        name = say(view.task, NAMES[view.task])
        kinds = tuple(_kind(kind, say) for kind in range(KINDS))
        return Plane(f"{name}, {across} % + {up} %", points, kinds=kinds)

    def _view(self, task: str) -> View:
        return next(one for one in self.views if one.task == task)


def tasks(
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
    said = " ".join(words_of(sentence))
    steps, seed = whole("steps", steps, least=10), whole("seed", seed, least=0)
    if train:
        heard = hear or (lambda line: None)
        both, anew = (train_both(steps=steps, seed=one, hear=heard) for one in (seed, seed + 1))
        return measure_tasks(both, anew, said, steps)
    if (said, steps, seed) != (SENTENCE, STEPS, 1):
        raise UserError("what is kept was not made with that: give train=true to train here")
    found = kept("tasks")
    assert isinstance(found, Tasks)
    return found


def measure_tasks(both: TwoTasks, anew: TwoTasks, sentence: str, steps: int) -> Tasks:
    """Probe the encoders, and hold their spaces against one another and against those anew."""
    translator = both.translator
    if strange := [one for one in sentence.split() if not known(translator, one)]:
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


def _kind(kind: int, say: Say) -> str:
    return say(("ill", "neither", "well")[kind], ("बुरा", "कोई नहीं", "अच्छा")[kind])
