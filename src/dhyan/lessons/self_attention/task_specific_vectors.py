"""General against task-specific: the same sentences as translating and as judging makes them."""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from jaxtyping import Float64, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from dhyan.batch import Tokens
from dhyan.config import Recipe, load_recipe
from dhyan.data.primer import SentencePair, generate_sentences
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Plane, Point, Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.probes import (
    ProbeResult,
    linear_cka,
    logistic,
    principal_plane,
    sentence_vectors,
    tense_of,
    transformer_encoder,
)
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.snapshots import read_snapshot
from dhyan.lessons.tiny_models import ProgressCallback
from dhyan.lessons.trained_model import knows_every_word
from dhyan.models.transformer import TransformerEncoder

ILL, NEITHER, WELL = range(3)
GOOD = (
    "good excellent honest kind brave intelligent hardworking generous polite happy calm healthy "
    "beautiful handsome cute tasty fresh interesting funny useful easy precious true nice "
    "help praise encourage thank trust welcome forgive console greet congratulate hug smile laugh "
    "succeed win celebrate enjoy donate defend hope like care happily calmly politely bravely"
).split()
BAD = (
    "bad terrible cruel cowardly foolish lazy greedy arrogant rude ugly sad angry worried tired "
    "sick lonely dangerous poisonous fake false wrong boring faulty dirty broken torn stale "
    "difficult hard deceive insult scold tease punish attack rob steal fight quarrel argue "
    "complain cry scream tremble shiver fall slip stumble fail lose break tear spill hurt kick hit "
    "arrest reject suspect scared fun hungry thirsty fever headache sadly angrily rudely lazily"
).split()
TURNING = frozenset(("not", "cannot", "never"))


def sentiment(words: Iterable[str]) -> int:
    """ILL, NEITHER or WELL: the sum of the words' signs, turned round if it is denied."""
    said = [word.lower().strip('.,?!"') for word in words]
    total = sum(signs().get(word, 0) for word in said)
    if not TURNING.isdisjoint(said):
        total = -total
    return NEITHER + (total > 0) - (total < 0)


def sentiment_of(twin: SentencePair) -> int:
    """Whether the English sentence speaks well or ill."""
    return sentiment(word for word, _, _ in twin.words[0])


@cache
def signs() -> dict[str, int]:
    """+1 or −1 for every form of the words that speak well or ill."""
    forms: dict[str, tuple[str, ...]] = {}
    for verb in read_lexicon().verbs:
        own = verb.english
        every = (own.base, own.past, own.participle, own.ing, own.third)
        if len(own.base) == 1:
            forms[own.base[0]] = tuple(form[0] for form in every)
    return {
        form: sign
        for words, sign in ((GOOD, 1), (BAD, -1))
        for word in words
        for form in (word, *forms.get(word, ()))
    }


CORE, SHORTEST, LONGEST = 0.15, 3, 8  # of the primer: the share of its words, words a sentence
PAIRS, BATCH, KINDS = 8000, 64, 3
RATE = 1e-3
UNTRAINED, TRANSLATION, SENTIMENT = "untrained", "translation", "sentiment"


@dataclass(frozen=True)
class TrainedEncoders:
    """The first weights and what each task made of them; how well each is done on other sentences.

    `chrf` is of translations, `loss` of the judge's last steps.
    """

    translator: Translator
    first: TransformerEncoder
    judge: TransformerEncoder
    head: nn.Linear
    chrf: float
    loss: float

    @property
    def encoders(self) -> dict[str, TransformerEncoder]:
        """All three by what they were trained for."""
        return {
            UNTRAINED: self.first,
            TRANSLATION: transformer_encoder(self.translator),
            SENTIMENT: self.judge,
        }


def train_two_tasks(
    *, steps: int, seed: int, on_progress: ProgressCallback = lambda line: None, device: str = "cpu"
) -> TrainedEncoders:
    """Train a small Transformer to translate the primer, and its encoder anew to judge it."""
    from dhyan.run import train
    from dhyan.training.events import Stepped, Validated

    scores: dict[str, float] = {}
    with torch.random.fork_rng(), TemporaryDirectory() as folder:
        run = train(two_task_recipe(steps=steps, seed=seed), Path(folder) / "run", device=device)
        translator = run.folder.translator
        first = deepcopy(transformer_encoder(translator)).eval()
        for event in run:
            if isinstance(event, Validated):
                scores = dict(event.scores)
            if isinstance(event, Stepped) and event.step % 100 == 0:
                on_progress(f"translation: step {event.step}, loss {event.loss:.3f}")
        judge, head, loss = _train_sentiment(
            translator, deepcopy(first), steps=steps // 2, seed=seed, on_progress=on_progress
        )
    return TrainedEncoders(translator, first, judge.eval(), head, scores["chrf"], loss)


def two_task_recipe(*, steps: int, seed: int) -> Recipe:
    """A Transformer of two layers and 64 numbers a word, over whole words."""
    both = {"width": 64, "feed_forward_width": 128, "heads": 4, "layers": 2, "dropout": 0.0}
    sides = {f"{side}.{key}": one for side in ("encoder", "decoder") for key, one in both.items()}
    return load_recipe(
        "transformer2017-small",
        {
            **sides,
            "data.task": "primer",
            "data.pairs": PAIRS,
            "data.core_share": CORE,
            "data.min_words": SHORTEST,
            "data.max_words": LONGEST,
            "text.tokenizer": "words",
            "text.source_vocabulary_size": 3000,
            "text.target_vocabulary_size": 4000,
            "training.steps": steps,
            "training.tokens_per_batch": 768,
            "training.learning_rate": 4e-3,
            "training.schedule": "cosine",
            "training.warmup_steps": max(1, steps // 10),
            "training.label_smoothing": 0.0,
            "training.validate_every": steps,
            "training.valid_sentences": 100,
            "training.save_every": steps,
            "training.seed": seed,
        },
    )


def _train_sentiment(
    translator: Translator,
    encoder: TransformerEncoder,
    *,
    steps: int,
    seed: int,
    on_progress: ProgressCallback,
) -> tuple[TransformerEncoder, nn.Linear, float]:
    """Learn which sentences speak well or ill from the mean of the states; each kind as often."""
    made = generate_sentences("train", seed=seed, shortest=SHORTEST, longest=LONGEST, core=CORE)
    kinds: list[list[list[int]]] = [[] for _ in range(KINDS)]
    for twin in islice(made, PAIRS):
        kinds[sentiment_of(twin)].append(translator.encode(twin.english))
    torch.manual_seed(seed)
    head = nn.Linear(encoder.width, KINDS).to(translator.device)
    chances = torch.Generator().manual_seed(seed)
    weights = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(weights, lr=RATE)
    encoder.train()
    recent: list[Tensor] = []
    for step in range(1, steps + 1):
        labels = torch.randint(KINDS, (BATCH,), generator=chances)
        rows = [
            kinds[kind][int(torch.randint(len(kinds[kind]), (), generator=chances))]
            for kind in labels.tolist()
        ]
        said = head(encoder(Tokens.pad(rows).to(translator.device)).summary)
        loss = cross_entropy(said, labels.to(translator.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent = [*recent[-49:], loss.detach()]
        if step % 100 == 0:
            on_progress(f"sentiment: step {step}, loss {float(torch.stack(recent).mean()):.3f}")
    return encoder, head, float(torch.stack(recent).mean())


SEED, EACH, DRAWN = 7, 150, 150  # sentences of a kind for probes, and all in the plane
NEAREST, SHARED = 3, 10  # neighbours told, and compared
FEMININE, MASCULINE = ("ी", "ीं", "ई", "ईं"), ("ा", "े", "ए")
AUXILIARIES = frozenset(("है", "हैं", "हूँ", "हो"))


@dataclass(frozen=True)
class Neighbour:
    """A sentence nearby, how near by the cosine, and whether it speaks well or ill."""

    sentence: str
    cosine: float
    kind: int


@dataclass(frozen=True)
class EncoderView:
    """How one encoder sees the sentences: what a probe reads, who is near, where they lie."""

    task: str
    probed: tuple[ProbeResult, ...]
    near: tuple[Neighbour, ...]
    places: Float64[Tensor, "N 2"]
    explained: Float64[Tensor, " 2"]


def view_encoders(
    both: TrainedEncoders, fit: Sequence[SentencePair], test: Sequence[SentencePair], sentence: str
) -> tuple[tuple[EncoderView, ...], list[Float64[Tensor, "N D"]]]:
    """Every encoder's view, and its vectors of the test."""
    answers = answers_of(fit), answers_of(test)
    known_texts, texts = ([one.english for one in part] for part in (fit, test))
    views, spaces = [], []
    for task, encoder in both.encoders.items():
        x, y, own = (
            encode_sentences(both, encoder, part) for part in (known_texts, texts, [sentence])
        )
        spaces.append(y)
        probed = tuple(
            logistic((x[a >= 0], a[a >= 0]), (y[b >= 0], b[b >= 0]))
            for a, b in zip(*answers, strict=True)
        )
        near = tuple(
            Neighbour(texts[place], cosine, int(answers[1][0][place]))
            for cosine, place in _nearest(y, own[0], texts, sentence)
        )
        views.append(EncoderView(task, probed, near, *principal_plane(y[:DRAWN])))
    return tuple(views), spaces


def encode_sentences(
    both: TrainedEncoders, encoder: TransformerEncoder, texts: Sequence[str]
) -> Float64[Tensor, "N D"]:
    """The vectors of sentences."""
    read = [both.translator.encode(text) for text in texts]
    return sentence_vectors(encoder, read, both.translator.device)


def balanced_sentences(translator: Translator, split: str) -> list[SentencePair]:
    """New sentences, as many of each kind, in turn; each ends in a full stop or question mark."""
    made = generate_sentences(split, seed=SEED, shortest=SHORTEST, longest=LONGEST, core=CORE)
    found: list[dict[str, SentencePair]] = [{} for _ in range(KINDS)]
    for twin in made:
        kind = found[sentiment_of(twin)]
        if (
            len(kind) < EACH
            and twin.english[-1] in ".?"
            and knows_every_word(translator, twin.english)
        ):
            kind[twin.english] = twin
        if all(len(one) == EACH for one in found):
            break
    return [one for turn in zip(*(one.values() for one in found), strict=True) for one in turn]


def answers_of(twins: Sequence[SentencePair]) -> list[Int[Tensor, " N"]]:
    """Sentiment, tense and the verb's gender of every sentence; −1 where it does not show."""
    facts: tuple[Callable[[SentencePair], int | None], ...] = (
        sentiment_of,
        lambda twin: tense_of(twin.hindi),
        lambda twin: gender_of(twin.hindi),
    )
    rows = [[fact(twin) for twin in twins] for fact in facts]
    return [torch.tensor([-1 if one is None else one for one in row]) for row in rows]


def gender_of(hindi: str) -> int | None:
    """Whether the last verb form is feminine (1) or masculine (0); none where it does not show."""
    words = [word for word in hindi.rstrip('।?! "').split() if word not in AUXILIARIES]
    if not words:
        return None
    if words[-1].endswith(FEMININE):
        return 1
    return 0 if words[-1].endswith(MASCULINE) else None


def commonest(fit: Int[Tensor, " N"], test: Int[Tensor, " M"]) -> float:
    """The share of a test that is right by always giving the commonest answer."""
    return float((test[test >= 0] == fit[fit >= 0].mode().values).double().mean())


def pairwise(measure: Callable[[Tensor, Tensor], float], spaces: Sequence[Tensor]) -> Tensor:
    """A measure of every two."""
    return torch.tensor([[measure(a, b) for b in spaces] for a in spaces], dtype=torch.float64)


def share_of_nearest(one: Float64[Tensor, "N D"], other: Float64[Tensor, "N E"]) -> float:
    """The share of each sentence's nearest that two spaces have in common, on average."""
    first, second = (_neighbours(space) for space in (one, other))
    return float((first.unsqueeze(2) == second.unsqueeze(1)).any(-1).double().mean())


def _neighbours(space: Float64[Tensor, "N D"]) -> Int[Tensor, "N K"]:
    centred = normalize(space - space.mean(0), dim=1)
    cosines = (centred @ centred.T).fill_diagonal_(-2)
    return cosines.topk(min(SHARED, len(space) - 1), dim=1).indices


def _nearest(
    space: Float64[Tensor, "N D"], own: Float64[Tensor, " D"], texts: Sequence[str], said: str
) -> list[tuple[float, int]]:
    """The nearest other sentences, by the cosine of what is not common to all."""
    middle = space.mean(0)
    cosines = normalize(space - middle, dim=1) @ normalize(own - middle, dim=0)
    order = cosines.argsort(descending=True).tolist()
    others = [place for place in order if texts[place] != said]
    return [(float(cosines[place]), place) for place in others[:NEAREST]]


SENTENCE = "The boy did not help the king."
STEPS = 400
FACTS = ("sentiment", "tense", "gender")
SENTIMENTS = ("ill", "neither", "well")
CLEAR = 0.1  # a difference of two likenesses that counts


@dataclass(frozen=True)
class TaskSpecificVectors(LessonResult):
    """The views before training and after each task, and how alike they are.

    `chances` is the share of each fact's commonest answer, `alike` the linear CKA of two encoders,
    and `shared` the share of a sentence's ten nearest that they have in common; `again` has both
    for two trainings of one task from other first weights, of translation and of sentiment. `chrf`
    is of the translations, `judged` the sentences that the judge's own head gets right.
    """

    sentence: str
    kind: int
    views: tuple[EncoderView, ...]
    chances: tuple[float, ...]
    alike: Float64[Tensor, "3 3"]
    shared: Float64[Tensor, "3 3"]
    again: tuple[float, float]
    shared_again: tuple[float, float]
    kinds: Int[Tensor, " N"]
    steps: int
    chrf: float
    judged: ProbeResult

    def page(self, text: Text) -> Page:
        """The two tasks, what each keeps, how alike they are, one sentence's neighbours."""
        names = [text(f"task_specific_vectors.task_{view.task}") for view in self.views]
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
                *(self._plane(view, text) for view in self.views if view.task != UNTRAINED),
                Words(self._apart(text)),
                *(Words(self._near(view, text)) for view in self.views if view.task != UNTRAINED),
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
        shares = [[probed.share for probed in view.probed] for view in self.views]
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
        names = [view.task for view in self.views]
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

    def _near(self, view: EncoderView, text: Text) -> str:
        found = "; ".join(
            f"{one.sentence} ({_sentiment_name(one.kind, text)})" for one in view.near
        )
        name = text(f"task_specific_vectors.task_{view.task}")
        return text(
            "task_specific_vectors.nearest",
            sentence=self.sentence,
            kind=_sentiment_name(self.kind, text),
            name=name,
            found=found,
        )

    def _plane(self, view: EncoderView, text: Text) -> Plane:
        across, up = (round(100 * float(one)) for one in view.explained)
        points = tuple(
            Point("", x, y, kind=kind)
            for (x, y), kind in zip(view.places.tolist(), self.kinds.tolist(), strict=True)
        )
        name = text(f"task_specific_vectors.task_{view.task}")
        kinds = tuple(_sentiment_name(kind, text) for kind in range(KINDS))
        return Plane(f"{name}, {across} % + {up} %", points, kinds=kinds)

    def _view(self, task: str) -> EncoderView:
        return next(view for view in self.views if view.task == task)


def task_specific_vectors(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    train: bool = False,
    steps: int = STEPS,
    seed: int = 1,
    on_progress: Callable[[str], None] | None = None,
) -> TaskSpecificVectors:
    """What two tasks make of the same encoder: what was kept, or trained here and now.

    Training takes about a minute on one core.
    """
    said = " ".join(parse_words(sentence))
    steps, seed = parse_int("steps", steps, least=10), parse_int("seed", seed, least=0)
    if train:
        heard = on_progress or (lambda line: None)
        both, anew = (
            train_two_tasks(steps=steps, seed=one, on_progress=heard) for one in (seed, seed + 1)
        )
        return measure_tasks(both, anew, said, steps)
    if (said, steps, seed) != (SENTENCE, STEPS, 1):
        raise UserError("the snapshot was not made with that: give train=true to train here")
    found = read_snapshot("task_specific_vectors")
    assert isinstance(found, TaskSpecificVectors)
    return found


def measure_tasks(
    both: TrainedEncoders, anew: TrainedEncoders, sentence: str, steps: int
) -> TaskSpecificVectors:
    """Probe the encoders, and hold their spaces against one another and against those anew."""
    translator = both.translator
    if strange := [word for word in sentence.split() if not knows_every_word(translator, word)]:
        raise UserError(
            f"sentence: these encoders never met {', '.join(strange)}; choose other words"
        )
    fit, test = (balanced_sentences(translator, split) for split in ("valid", "random"))
    answers = answers_of(fit), answers_of(test)
    views, spaces = view_encoders(both, fit, test, sentence)
    texts = [one.english for one in test]
    others = [encode_sentences(anew, encoder, texts) for encoder in anew.encoders.values()]
    _, translating, judging = zip(spaces, others, strict=True)
    with torch.no_grad():
        judged = both.head.cpu().double()(spaces[-1]).argmax(-1) == answers[1][0]
    return TaskSpecificVectors(
        sentence=sentence,
        kind=sentiment(sentence.split()),
        views=views,
        chances=tuple(commonest(a, b) for a, b in zip(*answers, strict=True)),
        alike=pairwise(linear_cka, spaces),
        shared=pairwise(share_of_nearest, spaces),
        again=(linear_cka(*translating), linear_cka(*judging)),
        shared_again=(share_of_nearest(*translating), share_of_nearest(*judging)),
        kinds=answers[1][0][:DRAWN],
        steps=steps,
        chrf=both.chrf,
        judged=ProbeResult(int(judged.sum()), len(judged)),
    )


def _sentiment_name(kind: int, text: Text) -> str:
    return text(f"task_specific_vectors.sentiment_{SENTIMENTS[kind]}")
