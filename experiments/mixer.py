"""Is it learned queries, keys and values that let a word be read in its context?

Every word has one fixed vector, in which its meanings lie together. One mixer lets the word asked
about look at its sentence, and one linear layer reads its meaning from what the mixer gives. The
arms differ in the mixer alone: it has nothing to learn, or learns queries, keys, values or all.
There is no residual around it, and no position. Sentences, vectors, batches, steps, the read-out's
first weights and the learning rates to choose from are the same for all; an arm's rate is the one
that reads validation sentences best, as other seeds than those reported find.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.predictions import CHANGES, PREDICTIONS
from experiments.ambiguous_readings import (
    Reading,
    Trial,
    context_trial,
    idiom_trial,
    plain_sentences,
)
from experiments.fixed_word_vectors import PADDING, pmi_vectors, random_vectors
from experiments.mixer_arms import ARMS


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    width: int = 64
    sentences: int = 30_000
    train: int = 6000
    test: int = 1500
    batch: int = 128
    steps: int = 500
    rates: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03)
    choosing: tuple[int, ...] = (11, 12)
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Rows:
    """Readings as numbers; `real` where there is a word, `may` where a class is a choice."""

    words: Int[Tensor, "N S"]
    real: Bool[Tensor, "N S"]
    place: Int[Tensor, " N"]
    label: Int[Tensor, " N"]
    may: Bool[Tensor, "N C"]

    def pick(self, chosen: Int[Tensor, " B"]) -> "Rows":
        """Some of them."""
        return Rows(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True)
class Setting:
    """All that the arms have in common."""

    vectors: Float[Tensor, "V D"]
    train: Rows
    valid: Rows
    tests: dict[str, Rows]
    sizes: Sizes


class Reader(nn.Module):
    """A mixer over fixed vectors, and a linear read-out that decides between the choices."""

    def __init__(self, vectors: Float[Tensor, "V D"], arm: str, classes: int) -> None:
        super().__init__()
        self.vectors = vectors
        self.read_out = nn.Linear(vectors.shape[1], classes)
        self.mixer = ARMS[arm](vectors.shape[1])

    def forward(self, rows: Rows) -> Float[Tensor, "B C"]:
        """A score for each class, −∞ where it is no choice."""
        mixed = self.mixer(self.vectors[rows.words], rows.real, rows.place)
        return self.read_out(mixed).masked_fill(~rows.may, -torch.inf)


def mixer(
    sizes: Sizes | None = None, *, each: Callable[..., Iterable[object]] = map
) -> dict[str, object]:
    """The whole experiment, and which predictions held; `each` is map, or that of a pool."""
    sizes = sizes or Sizes()
    sentences = plain_sentences(sizes.sentences)
    contexts = context_trial(sizes.train, sizes.test)
    idioms = idiom_trial(sizes.train // 2, sizes.test // 2)
    numbers = number_words(chain(sentences, *(_sentences(trial) for trial in (contexts, idioms))))
    counted = [[numbers[word] for word in sentence] for sentence in sentences]
    company = pmi_vectors(counted, len(numbers) + 1, sizes.width)
    chance = random_vectors(len(numbers) + 1, sizes.width, seed=0)
    trials = {
        "senses": (contexts, company),
        "senses, random vectors": (contexts, chance),
        "idioms": (idioms, company),
    }
    settings = {
        name: setting(trial, vectors, numbers, sizes) for name, (trial, vectors) in trials.items()
    }
    jobs = [(name, arm) for name in trials for arm in ARMS]
    figures = each(measured, [arm for _, arm in jobs], [settings[name] for name, _ in jobs])
    shares = dict(zip(jobs, figures, strict=True))
    found = {
        name: {"commonest": commonest(trial), "arms": {arm: shares[name, arm] for arm in ARMS}}
        for name, (trial, _) in trials.items()
    }
    return {
        "command": "python -m experiments mixer",
        "sizes": asdict(sizes),
        "predictions": [
            {"says": prediction.statement, "held": prediction.holds(found)}
            for prediction in PREDICTIONS
        ],
        "changes": CHANGES,
        "found": found,
    }


def number_words(sentences: Iterable[Sequence[str]]) -> dict[str, int]:
    """A number for every word, from one on."""
    words = sorted({word for sentence in sentences for word in sentence})
    return {word: number for number, word in enumerate(words, PADDING + 1)}


def setting(
    trial: Trial, vectors: Float[Tensor, "V D"], numbers: dict[str, int], sizes: Sizes
) -> Setting:
    """A trial in numbers."""
    parts = (trial.train, trial.valid, *trial.tests.values())
    train, valid, *tests = (as_rows(part, numbers, trial.classes) for part in parts)
    return Setting(vectors, train, valid, dict(zip(trial.tests, tests, strict=True)), sizes)


def as_rows(readings: tuple[Reading, ...], numbers: dict[str, int], classes: int) -> Rows:
    """Sentences padded to the longest."""
    words = torch.full((len(readings), max(len(reading.words) for reading in readings)), PADDING)
    may = torch.zeros(len(readings), classes, dtype=torch.bool)
    for row, reading in enumerate(readings):
        words[row, : len(reading.words)] = torch.tensor([numbers[word] for word in reading.words])
        may[row, list(reading.choices)] = True
    place = torch.tensor([reading.place for reading in readings])
    label = torch.tensor([reading.label for reading in readings])
    return Rows(words, words != PADDING, place, label, may)


def measured(arm: str, given: Setting) -> dict[str, object]:
    """What an arm reads rightly at the rate that validation prefers, over several seeds."""

    def readers(rate: float, seeds: tuple[int, ...]) -> list[Reader]:
        return [train_arm(arm, given, rate=rate, seed=seed) for seed in seeds]

    valid = {
        rate: statistics.mean(
            accuracy(reader, given.valid) for reader in readers(rate, given.sizes.choosing)
        )
        for rate in given.sizes.rates
    }
    rate = max(valid, key=lambda one: valid[one])
    found = readers(rate, given.sizes.seeds)
    return {
        "parameters": sum(parameter.numel() for parameter in found[0].mixer.parameters()),
        "rate": rate,
        "validation": {str(one): round(share, 4) for one, share in valid.items()},
        "weight_on_itself": weight_on_itself(found, given.tests["seen"]),
        "accuracy": {
            name: _summary([accuracy(one, rows) for one in found])
            for name, rows in given.tests.items()
        },
    }


def train_arm(arm: str, given: Setting, *, rate: float, seed: int) -> Reader:
    """Learn for so many steps; the batches follow from the seed, whatever the arm."""
    torch.manual_seed(seed)
    rows = given.train
    reader = Reader(given.vectors, arm, rows.may.shape[1])
    chances = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(reader.parameters(), lr=rate, fused=True)
    for _ in range(given.sizes.steps):
        chosen = torch.randint(len(rows.label), (given.sizes.batch,), generator=chances)
        batch = rows.pick(chosen)
        optimizer.zero_grad()
        cross_entropy(reader(batch), batch.label).backward()
        optimizer.step()
    return reader.eval()


@torch.no_grad()
def accuracy(reader: Reader, rows: Rows) -> float:
    """The share of sentences read rightly."""
    return (reader(rows).argmax(-1) == rows.label).double().mean().item()


@torch.no_grad()
def weight_on_itself(readers: list[Reader], rows: Rows) -> float:
    """How much the word asked about looks at itself, on average."""
    given = [
        reader.mixer.weight_on_itself(reader.vectors[rows.words], rows.real, rows.place)
        for reader in readers
    ]
    return round(statistics.mean(given), 4)


def commonest(trial: Trial) -> dict[str, float]:
    """The share of each test that is right if every word is read as it mostly is in training."""
    counts: dict[str, Counter[int]] = {}
    for one in trial.train:
        counts.setdefault(one.words[one.place], Counter())[one.label] += 1
    said = {word: labels.most_common(1)[0][0] for word, labels in counts.items()}
    return {
        name: round(statistics.mean(said.get(one.words[one.place]) == one.label for one in part), 4)
        for name, part in trial.tests.items()
    }


def _sentences(trial: Trial) -> Iterable[Sequence[str]]:
    parts = (trial.train, trial.valid, *trial.tests.values())
    return (one.words for part in parts for one in part)


def _summary(shares: list[float]) -> dict[str, float]:
    mean, least, most = statistics.mean(shares), min(shares), max(shares)
    return {"mean": round(mean, 4), "least": round(least, 4), "most": round(most, 4)}
