"""Task-specific vectors: one encoder trained for translation and for sentiment classification."""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
from dhyan.insight.lesson_blocks import Block, Paragraph, Point, ScatterPlot, Table, heatmap
from dhyan.insight.probes import (
    ProbeResult,
    linear_cka,
    logistic,
    principal_plane,
    sentence_vectors,
    tense_of,
    transformer_encoder,
)
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_int, parse_words
from dhyan.lessons.snapshots import read_snapshot
from dhyan.lessons.trained_model import knows_every_word
from dhyan.models.transformer import TransformerEncoder

NEGATIVE, NEUTRAL, POSITIVE = range(3)
POSITIVE_WORDS = (
    "good excellent honest kind brave intelligent hardworking generous polite happy calm healthy "
    "beautiful handsome cute tasty fresh interesting funny useful easy precious true nice "
    "help praise encourage thank trust welcome forgive console greet congratulate hug smile laugh "
    "succeed win celebrate enjoy donate defend hope like care happily calmly politely bravely"
).split()
NEGATIVE_WORDS = (
    "bad terrible cruel cowardly foolish lazy greedy arrogant rude ugly sad angry worried tired "
    "sick lonely dangerous poisonous fake false wrong boring faulty dirty broken torn stale "
    "difficult hard deceive insult scold tease punish attack rob steal fight quarrel argue "
    "complain cry scream tremble shiver fall slip stumble fail lose break tear spill hurt kick hit "
    "arrest reject suspect scared fun hungry thirsty fever headache sadly angrily rudely lazily"
).split()
NEGATIONS = frozenset(("not", "cannot", "never"))


def sentiment(words: Iterable[str]) -> int:
    """NEGATIVE, NEUTRAL or POSITIVE: the sum of the words' polarities, negated after a negation."""
    tokens = [word.lower().strip('.,?!"') for word in words]
    total = sum(polarities().get(word, 0) for word in tokens)
    if not NEGATIONS.isdisjoint(tokens):
        total = -total
    return NEUTRAL + (total > 0) - (total < 0)


def sentiment_of(pair: SentencePair) -> int:
    """Sentiment of the English sentence."""
    return sentiment(word for word, _, _ in pair.words[0])


@cache
def polarities() -> dict[str, int]:
    """+1 or −1 for every form of a positive or negative word."""
    forms: dict[str, tuple[str, ...]] = {}
    for verb in read_lexicon().verbs:
        english = verb.english
        verb_forms = (english.base, english.past, english.participle, english.ing, english.third)
        if len(english.base) == 1:
            forms[english.base[0]] = tuple(form[0] for form in verb_forms)
    return {
        form: polarity
        for words, polarity in ((POSITIVE_WORDS, 1), (NEGATIVE_WORDS, -1))
        for word in words
        for form in (word, *forms.get(word, ()))
    }


CORE, SHORTEST, LONGEST = 0.15, 3, 8  # of the primer: the share of its words, words a sentence
PAIRS, BATCH, CLASSES = 8000, 64, 3
RATE = 1e-3
UNTRAINED, TRANSLATION, SENTIMENT = "untrained", "translation", "sentiment"


@dataclass(frozen=True)
class TrainedEncoders:
    """The initial encoder, and the encoders trained for each task from the same weights.

    `chrf` is of translations, `loss` of the classifier's last steps.
    """

    translator: Translator
    initial: TransformerEncoder
    classifier: TransformerEncoder
    head: nn.Linear
    chrf: float
    loss: float

    @property
    def encoders(self) -> dict[str, TransformerEncoder]:
        """All three by task."""
        return {
            UNTRAINED: self.initial,
            TRANSLATION: transformer_encoder(self.translator),
            SENTIMENT: self.classifier,
        }


def train_two_tasks(
    *, steps: int, seed: int, on_progress: ProgressCallback = lambda line: None, device: str = "cpu"
) -> TrainedEncoders:
    """Train a small Transformer to translate the primer, and its initial encoder on sentiment."""
    from dhyan.run import train
    from dhyan.training.events import Stepped, Validated

    scores: dict[str, float] = {}
    with torch.random.fork_rng(), TemporaryDirectory() as folder:
        run = train(two_task_recipe(steps=steps, seed=seed), Path(folder) / "run", device=device)
        translator = run.folder.translator
        initial = deepcopy(transformer_encoder(translator)).eval()
        for event in run:
            if isinstance(event, Validated):
                scores = dict(event.scores)
            if isinstance(event, Stepped) and event.step % 100 == 0:
                on_progress(f"translation: step {event.step}, loss {event.loss:.3f}")
        classifier, head, loss = _train_sentiment(
            translator, deepcopy(initial), steps=steps // 2, seed=seed, on_progress=on_progress
        )
    return TrainedEncoders(translator, initial, classifier.eval(), head, scores["chrf"], loss)


def two_task_recipe(*, steps: int, seed: int) -> Recipe:
    """A Transformer of two layers and width 64 with a word vocabulary."""
    sizes = {"width": 64, "feed_forward_width": 128, "heads": 4, "layers": 2, "dropout": 0.0}
    sides = {
        f"{side}.{key}": value for side in ("encoder", "decoder") for key, value in sizes.items()
    }
    return load_recipe(
        "transformer2017-small",
        {
            **sides,
            "data.synthetic": "primer",
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
    """Train a sentiment classifier on the mean of the states, with balanced classes."""
    pairs = generate_sentences(
        "train", seed=seed, min_words=SHORTEST, max_words=LONGEST, core_share=CORE
    )
    by_class: list[list[list[int]]] = [[] for _ in range(CLASSES)]
    for pair in islice(pairs, PAIRS):
        by_class[sentiment_of(pair)].append(translator.encode(pair.english))
    torch.manual_seed(seed)
    head = nn.Linear(encoder.width, CLASSES).to(translator.device)
    generator = torch.Generator().manual_seed(seed)
    parameters = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=RATE)
    encoder.train()
    recent: list[Tensor] = []
    for step in range(1, steps + 1):
        labels = torch.randint(CLASSES, (BATCH,), generator=generator)
        rows = [
            by_class[label][int(torch.randint(len(by_class[label]), (), generator=generator))]
            for label in labels.tolist()
        ]
        logits = head(encoder(Tokens.pad(rows).to(translator.device)).summary)
        loss = cross_entropy(logits, labels.to(translator.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent = [*recent[-49:], loss.detach()]
        if step % 100 == 0:
            on_progress(f"sentiment: step {step}, loss {float(torch.stack(recent).mean()):.3f}")
    return encoder, head, float(torch.stack(recent).mean())


SEED, PER_CLASS, PLOTTED = 7, 150, 150  # sentences per class for probes, and in the scatter plot
NEAREST, COMPARED_NEIGHBOURS = 3, 10  # neighbours listed, and compared
FEMININE, MASCULINE = ("ी", "ीं", "ई", "ईं"), ("ा", "े", "ए")
AUXILIARIES = frozenset(("है", "हैं", "हूँ", "हो"))


@dataclass(frozen=True)
class Neighbour:
    """A nearby sentence, its cosine similarity and its sentiment."""

    sentence: str
    cosine: float
    sentiment: int


@dataclass(frozen=True)
class EncoderView:
    """One encoder's vectors of the sentences: probes, neighbours, principal coordinates."""

    task: str
    probes: tuple[ProbeResult, ...]
    neighbours: tuple[Neighbour, ...]
    coordinates: Float64[Tensor, "N 2"]
    explained: Float64[Tensor, " 2"]


def view_encoders(
    both: TrainedEncoders, fit: Sequence[SentencePair], test: Sequence[SentencePair], sentence: str
) -> tuple[tuple[EncoderView, ...], list[Float64[Tensor, "N D"]]]:
    """Every encoder's view, and its vectors of the test sentences."""
    labels = labels_of(fit), labels_of(test)
    fit_texts, texts = ([pair.english for pair in part] for part in (fit, test))
    views, spaces = [], []
    for task, encoder in both.encoders.items():
        x, y, vector = (
            encode_sentences(both, encoder, part) for part in (fit_texts, texts, [sentence])
        )
        spaces.append(y)
        probes = tuple(
            logistic((x[a >= 0], a[a >= 0]), (y[b >= 0], b[b >= 0]))
            for a, b in zip(*labels, strict=True)
        )
        neighbours = tuple(
            Neighbour(texts[index], cosine, int(labels[1][0][index]))
            for cosine, index in _nearest(y, vector[0], texts, sentence)
        )
        views.append(EncoderView(task, probes, neighbours, *principal_plane(y[:PLOTTED])))
    return tuple(views), spaces


def encode_sentences(
    both: TrainedEncoders, encoder: TransformerEncoder, texts: Sequence[str]
) -> Float64[Tensor, "N D"]:
    """Sentence vectors: the mean of the states."""
    read = [both.translator.encode(text) for text in texts]
    return sentence_vectors(encoder, read, both.translator.device)


def balanced_sentences(translator: Translator, split: str) -> list[SentencePair]:
    """New sentences, balanced by sentiment, each ending in a full stop or question mark."""
    pairs = generate_sentences(
        split, seed=SEED, min_words=SHORTEST, max_words=LONGEST, core_share=CORE
    )
    by_class: list[dict[str, SentencePair]] = [{} for _ in range(CLASSES)]
    for pair in pairs:
        chosen = by_class[sentiment_of(pair)]
        if (
            len(chosen) < PER_CLASS
            and pair.english[-1] in ".?"
            and knows_every_word(translator, pair.english)
        ):
            chosen[pair.english] = pair
        if all(len(group) == PER_CLASS for group in by_class):
            break
    return [
        pair for turn in zip(*(group.values() for group in by_class), strict=True) for pair in turn
    ]


def labels_of(pairs: Sequence[SentencePair]) -> list[Int[Tensor, " N"]]:
    """Sentiment, tense and the verb's gender of every sentence; −1 where it is not marked."""
    facts: tuple[Callable[[SentencePair], int | None], ...] = (
        sentiment_of,
        lambda pair: tense_of(pair.hindi),
        lambda pair: gender_of(pair.hindi),
    )
    rows = [[fact(pair) for pair in pairs] for fact in facts]
    return [torch.tensor([-1 if value is None else value for value in row]) for row in rows]


def gender_of(hindi: str) -> int | None:
    """Gender of the last verb form, feminine (1) or masculine (0); None where it is not marked."""
    words = [word for word in hindi.rstrip('।?! "').split() if word not in AUXILIARIES]
    if not words:
        return None
    if words[-1].endswith(FEMININE):
        return 1
    return 0 if words[-1].endswith(MASCULINE) else None


def majority_accuracy(fit: Int[Tensor, " N"], test: Int[Tensor, " M"]) -> float:
    """Accuracy of the majority class of the training labels."""
    return float((test[test >= 0] == fit[fit >= 0].mode().values).double().mean())


def pairwise(measure: Callable[[Tensor, Tensor], float], spaces: Sequence[Tensor]) -> Tensor:
    """A measure of every pair of spaces."""
    return torch.tensor([[measure(a, b) for b in spaces] for a in spaces], dtype=torch.float64)


def shared_neighbours(
    first_space: Float64[Tensor, "N D"], second_space: Float64[Tensor, "N E"]
) -> float:
    """Mean share of each sentence's nearest neighbours that two spaces have in common."""
    first, second = (_neighbours(space) for space in (first_space, second_space))
    return float((first.unsqueeze(2) == second.unsqueeze(1)).any(-1).double().mean())


def _neighbours(space: Float64[Tensor, "N D"]) -> Int[Tensor, "N K"]:
    centred = normalize(space - space.mean(0), dim=1)
    cosines = (centred @ centred.T).fill_diagonal_(-2)
    return cosines.topk(min(COMPARED_NEIGHBOURS, len(space) - 1), dim=1).indices


def _nearest(
    space: Float64[Tensor, "N D"],
    vector: Float64[Tensor, " D"],
    texts: Sequence[str],
    sentence: str,
) -> list[tuple[float, int]]:
    """The nearest other sentences, by cosine similarity of centred vectors."""
    middle = space.mean(0)
    cosines = normalize(space - middle, dim=1) @ normalize(vector - middle, dim=0)
    ranking = cosines.argsort(descending=True).tolist()
    others = [index for index in ranking if texts[index] != sentence]
    return [(float(cosines[index]), index) for index in others[:NEAREST]]


SENTENCE = "The boy did not help the king."
STEPS = 400
FACTS = ("sentiment", "tense", "gender")
SENTIMENTS = ("negative", "neutral", "positive")
CLEAR = 0.1  # smallest difference of two CKA values that counts


@dataclass(frozen=True)
class TaskSpecificVectors(LessonResult):
    """The encoders' views before training and after each task, and their similarity.

    `majority_baselines` are the accuracies of each fact's majority class, `cka` the linear CKA of
    two encoders, and `shared_neighbours` the share of a sentence's ten nearest neighbours in common;
    `cka_across_seeds` and `neighbours_across_seeds` are those of two trainings of one task from
    other initial weights, for translation and for sentiment. `chrf` is of the translations,
    `classified` the result of the sentiment classifier's own head.
    """

    sentence: str
    sentiment: int
    views: tuple[EncoderView, ...]
    majority_baselines: tuple[float, ...]
    cka: Float64[Tensor, "3 3"]
    shared_neighbours: Float64[Tensor, "3 3"]
    cka_across_seeds: tuple[float, float]
    neighbours_across_seeds: tuple[float, float]
    sentiments: Int[Tensor, " N"]
    steps: int
    chrf: float
    classified: ProbeResult

    def blocks(self, text: Text) -> Iterator[Block]:
        """The two tasks, their probes, their similarity, one sentence's neighbours."""
        names = [text(f"task_{view.task}") for view in self.views]
        yield Paragraph(self._trained(text))
        yield self._probes(names, text)
        yield heatmap(text("similarity_cka"), self.cka, names, names)
        yield Paragraph(self._describe_facts(text))
        for view in self.views:
            if view.task != UNTRAINED:
                yield self._plane(view, text)
        yield Paragraph(self._apart(text))
        for view in self.views:
            if view.task != UNTRAINED:
                yield Paragraph(self._near(view, text))

    def _trained(self, text: Text) -> str:
        low, high = self.classified.interval
        return text(
            "setup", half_steps=self.steps // 2, share=self.classified.share, low=low, high=high
        )

    def _probes(self, names: Sequence[str], text: Text) -> Table:
        shares = [[probe.share for probe in view.probes] for view in self.views]
        columns = [text(f"fact_{fact}") for fact in FACTS]
        guess = text("majority_class")
        return heatmap(
            text("accuracy"), [list(self.majority_baselines), *shares], [guess, *names], columns
        )

    def _describe_facts(self, text: Text) -> str:
        """For each fact, the encoder whose probe is clearly better, if there is one."""
        comparisons = []
        translation, sentiment = (self._view(task) for task in (TRANSLATION, SENTIMENT))
        for index, fact in enumerate(FACTS):
            after_translation, after_sentiment = translation.probes[index], sentiment.probes[index]
            if after_translation.interval[0] > after_sentiment.interval[1]:
                better = text("better_after_translation")
            elif after_sentiment.interval[0] > after_translation.interval[1]:
                better = text("better_after_sentiment")
            else:
                better = text("no_difference")
            name = text(f"fact_{fact}")
            comparisons.append(
                f"{name} {after_translation.share:.1%} / {after_sentiment.share:.1%} ({better})"
            )
        return text("probe_comparison", comparisons="; ".join(comparisons))

    def _apart(self, text: Text) -> str:
        """Whether the two tasks end in different vector spaces."""
        names = [view.task for view in self.views]
        first, second = names.index(TRANSLATION), names.index(SENTIMENT)
        both, common = float(self.cka[first, second]), float(self.shared_neighbours[first, second])
        cka_across_seeds = " / ".join(f"{value:.2f}" for value in self.cka_across_seeds)
        same = " / ".join(f"{value:.0%}" for value in self.neighbours_across_seeds)
        verdict = text(
            "similarity_across_tasks",
            both=both,
            shared_neighbours=COMPARED_NEIGHBOURS,
            common=common,
            cka_across_seeds=cka_across_seeds,
            same=same,
        )
        if both < min(self.cka_across_seeds) - CLEAR:
            return verdict + text("vectors_depend_on_task", half_steps=self.steps // 2)
        return verdict + text("vectors_do_not_depend_on_task")

    def _near(self, view: EncoderView, text: Text) -> str:
        neighbours = "; ".join(
            f"{neighbour.sentence} ({_sentiment_name(neighbour.sentiment, text)})"
            for neighbour in view.neighbours
        )
        name = text(f"task_{view.task}")
        return text(
            "nearest_neighbours",
            sentiment=_sentiment_name(self.sentiment, text),
            name=name,
            neighbours=neighbours,
        )

    def _plane(self, view: EncoderView, text: Text) -> ScatterPlot:
        across, up = (round(100 * float(share)) for share in view.explained)
        points = tuple(
            Point("", x, y, group=sentiment)
            for (x, y), sentiment in zip(
                view.coordinates.tolist(), self.sentiments.tolist(), strict=True
            )
        )
        name = text(f"task_{view.task}")
        sentiments = tuple(_sentiment_name(sentiment, text) for sentiment in range(CLASSES))
        return ScatterPlot(f"{name}, {across} % + {up} %", points, groups=sentiments)

    def _view(self, task: str) -> EncoderView:
        return next(view for view in self.views if view.task == task)


@lesson
def task_specific_vectors(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    train: bool = False,
    steps: int = STEPS,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
) -> TaskSpecificVectors:
    """The same encoder trained for two tasks: the snapshot, or trained now.

    Training takes about a minute on one core.
    """
    text = " ".join(parse_words(sentence))
    steps, seed = parse_int("steps", steps, least=10), parse_int("seed", seed, least=0)
    if train:
        report = on_progress or (lambda line: None)
        encoders, reseeded = (
            train_two_tasks(steps=steps, seed=task_seed, on_progress=report)
            for task_seed in (seed, seed + 1)
        )
        return measure_tasks(encoders, reseeded, text, steps)
    if (text, steps, seed) != (SENTENCE, STEPS, 1):
        raise UserError(
            "the snapshot has its own sentence, steps and seed: give train=true to train here"
        )
    return read_snapshot("task_specific_vectors", TaskSpecificVectors)


def measure_tasks(
    encoders: TrainedEncoders, reseeded: TrainedEncoders, sentence: str, steps: int
) -> TaskSpecificVectors:
    """Probe the encoders, and compare their spaces with one another and across seeds."""
    translator = encoders.translator
    if unknown := [word for word in sentence.split() if not knows_every_word(translator, word)]:
        raise UserError(
            f"sentence: these encoders never met {', '.join(unknown)}; choose other words"
        )
    fit, test = (balanced_sentences(translator, split) for split in ("valid", "random"))
    labels = labels_of(fit), labels_of(test)
    views, spaces = view_encoders(encoders, fit, test, sentence)
    texts = [pair.english for pair in test]
    others = [encode_sentences(reseeded, encoder, texts) for encoder in reseeded.encoders.values()]
    _, translation_states, sentiment_states = zip(spaces, others, strict=True)
    with torch.no_grad():
        correct = encoders.head.cpu().double()(spaces[-1]).argmax(-1) == labels[1][0]
    return TaskSpecificVectors(
        sentence=sentence,
        sentiment=sentiment(sentence.split()),
        views=views,
        majority_baselines=tuple(majority_accuracy(a, b) for a, b in zip(*labels, strict=True)),
        cka=pairwise(linear_cka, spaces),
        shared_neighbours=pairwise(shared_neighbours, spaces),
        cka_across_seeds=(linear_cka(*translation_states), linear_cka(*sentiment_states)),
        neighbours_across_seeds=(
            shared_neighbours(*translation_states),
            shared_neighbours(*sentiment_states),
        ),
        sentiments=labels[1][0][:PLOTTED],
        steps=steps,
        chrf=encoders.chrf,
        classified=ProbeResult(int(correct.sum()), len(correct)),
    )


def _sentiment_name(label: int, text: Text) -> str:
    return text(f"sentiment_{SENTIMENTS[label]}")
