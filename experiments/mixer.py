"""Mixer experiment: do learned queries, keys and values help to read a word in its context?

Every word has one fixed vector for all its senses. A mixer lets the ambiguous word attend to its
sentence, and a linear layer classifies its reading from the output of the mixer. The arms differ in
the mixer alone: it has no parameters, or learns query, key and value projections, some or all.
There is no residual connection and no position encoding. Sentences, vectors, batches, steps, the
initial weights of the classifier and the candidate learning rates are the same for all arms; the
learning rate of an arm is chosen on validation data, with other seeds than those reported.
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
    """Sizes of the experiment."""

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
    """Readings as tensors; `real` is true at words, `may` at the possible labels."""

    words: Int[Tensor, "N S"]
    real: Bool[Tensor, "N S"]
    position: Int[Tensor, " N"]
    label: Int[Tensor, " N"]
    may: Bool[Tensor, "N C"]

    def select(self, rows: Int[Tensor, " B"]) -> "Rows":
        """Some of the rows."""
        return Rows(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True)
class Setting:
    """Vectors, data and sizes, the same for all arms."""

    vectors: Float[Tensor, "V D"]
    train: Rows
    valid: Rows
    tests: dict[str, Rows]
    sizes: Sizes


class Reader(nn.Module):
    """A mixer over fixed vectors, and a linear classifier over the possible labels."""

    def __init__(self, vectors: Float[Tensor, "V D"], arm: str, classes: int) -> None:
        super().__init__()
        self.vectors = vectors
        self.read_out = nn.Linear(vectors.shape[1], classes)
        self.mixer = ARMS[arm](vectors.shape[1])

    def forward(self, rows: Rows) -> Float[Tensor, "B C"]:
        """Logits of the labels, −inf where a label is not possible."""
        mixed = self.mixer(self.vectors[rows.words], rows.real, rows.position)
        return self.read_out(mixed).masked_fill(~rows.may, -torch.inf)


def mixer(
    sizes: Sizes | None = None, *, each: Callable[..., Iterable[object]] = map
) -> dict[str, object]:
    """The whole experiment, and which predictions held; `each` is `map` or that of a pool."""
    sizes = sizes or Sizes()
    sentences = plain_sentences(sizes.sentences)
    contexts = context_trial(sizes.train, sizes.test)
    idioms = idiom_trial(sizes.train // 2, sizes.test // 2)
    numbers = number_words(chain(sentences, *(_sentences(trial) for trial in (contexts, idioms))))
    counted = [[numbers[word] for word in sentence] for sentence in sentences]
    pmi = pmi_vectors(counted, len(numbers) + 1, sizes.width)
    random = random_vectors(len(numbers) + 1, sizes.width, seed=0)
    trials = {
        "senses": (contexts, pmi),
        "senses, random vectors": (contexts, random),
        "idioms": (idioms, pmi),
    }
    settings = {
        name: make_setting(trial, vectors, numbers, sizes)
        for name, (trial, vectors) in trials.items()
    }
    jobs = [(name, arm) for name in trials for arm in ARMS]
    figures = each(measure_arm, [arm for _, arm in jobs], [settings[name] for name, _ in jobs])
    shares = dict(zip(jobs, figures, strict=True))
    results = {
        name: {"commonest": commonest(trial), "arms": {arm: shares[name, arm] for arm in ARMS}}
        for name, (trial, _) in trials.items()
    }
    return {
        "command": "python -m experiments mixer",
        "sizes": asdict(sizes),
        "predictions": [
            {"statement": prediction.statement, "held": prediction.holds(results)}
            for prediction in PREDICTIONS
        ],
        "changes": CHANGES,
        "found": results,
    }


def number_words(sentences: Iterable[Sequence[str]]) -> dict[str, int]:
    """A token id for every word, from one on."""
    words = sorted({word for sentence in sentences for word in sentence})
    return {word: number for number, word in enumerate(words, PADDING + 1)}


def make_setting(
    trial: Trial, vectors: Float[Tensor, "V D"], numbers: dict[str, int], sizes: Sizes
) -> Setting:
    """A trial as tensors."""
    parts = (trial.train, trial.valid, *trial.tests.values())
    train, valid, *tests = (as_rows(part, numbers, trial.classes) for part in parts)
    return Setting(vectors, train, valid, dict(zip(trial.tests, tests, strict=True)), sizes)


def as_rows(readings: tuple[Reading, ...], numbers: dict[str, int], classes: int) -> Rows:
    """Readings as tensors, padded to the longest sentence."""
    words = torch.full((len(readings), max(len(reading.words) for reading in readings)), PADDING)
    may = torch.zeros(len(readings), classes, dtype=torch.bool)
    for row, reading in enumerate(readings):
        words[row, : len(reading.words)] = torch.tensor([numbers[word] for word in reading.words])
        may[row, list(reading.choices)] = True
    position = torch.tensor([reading.position for reading in readings])
    label = torch.tensor([reading.label for reading in readings])
    return Rows(words, words != PADDING, position, label, may)


def measure_arm(arm: str, setting: Setting) -> dict[str, object]:
    """Accuracy of an arm over several seeds, at the learning rate chosen on validation data."""

    def readers(rate: float, seeds: tuple[int, ...]) -> list[Reader]:
        return [train_arm(arm, setting, rate=rate, seed=seed) for seed in seeds]

    valid = {
        rate: statistics.mean(
            accuracy(reader, setting.valid) for reader in readers(rate, setting.sizes.choosing)
        )
        for rate in setting.sizes.rates
    }
    rate = max(valid, key=lambda rate: valid[rate])
    trained = readers(rate, setting.sizes.seeds)
    return {
        "parameters": sum(parameter.numel() for parameter in trained[0].mixer.parameters()),
        "rate": rate,
        "validation": {str(rate): round(share, 4) for rate, share in valid.items()},
        "weight_on_itself": weight_on_itself(trained, setting.tests["seen"]),
        "accuracy": {
            name: _summary([accuracy(reader, rows) for reader in trained])
            for name, rows in setting.tests.items()
        },
    }


def train_arm(arm: str, setting: Setting, *, rate: float, seed: int) -> Reader:
    """Train an arm; the batches depend on the seed alone."""
    torch.manual_seed(seed)
    rows = setting.train
    reader = Reader(setting.vectors, arm, rows.may.shape[1])
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(reader.parameters(), lr=rate, fused=True)
    for _ in range(setting.sizes.steps):
        chosen = torch.randint(len(rows.label), (setting.sizes.batch,), generator=generator)
        batch = rows.select(chosen)
        optimizer.zero_grad()
        cross_entropy(reader(batch), batch.label).backward()
        optimizer.step()
    return reader.eval()


@torch.no_grad()
def accuracy(reader: Reader, rows: Rows) -> float:
    """Share of sentences classified correctly."""
    return (reader(rows).argmax(-1) == rows.label).double().mean().item()


@torch.no_grad()
def weight_on_itself(readers: list[Reader], rows: Rows) -> float:
    """Mean attention weight of the ambiguous word on itself."""
    weights = [
        reader.mixer.weight_on_itself(reader.vectors[rows.words], rows.real, rows.position)
        for reader in readers
    ]
    return round(statistics.mean(weights), 4)


def commonest(trial: Trial) -> dict[str, float]:
    """Baseline accuracy: every word has its most frequent reading in training."""
    counts: dict[str, Counter[int]] = {}
    for reading in trial.train:
        counts.setdefault(reading.words[reading.position], Counter())[reading.label] += 1
    most_frequent = {word: labels.most_common(1)[0][0] for word, labels in counts.items()}
    return {
        name: round(
            statistics.mean(
                most_frequent.get(reading.words[reading.position]) == reading.label
                for reading in part
            ),
            4,
        )
        for name, part in trial.tests.items()
    }


def _sentences(trial: Trial) -> Iterable[Sequence[str]]:
    parts = (trial.train, trial.valid, *trial.tests.values())
    return (reading.words for part in parts for reading in part)


def _summary(shares: list[float]) -> dict[str, float]:
    mean, least, most = statistics.mean(shares), min(shares), max(shares)
    return {"mean": round(mean, 4), "least": round(least, 4), "most": round(most, 4)}
