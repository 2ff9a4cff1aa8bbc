"""Model card of a pretrained model, `card.json`: data, licences, scores, limits, origin."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dhyan.errors import UserError
from dhyan.safe_io.bounded_files import read_file
from dhyan.safe_io.json_toml import read_json

CARD = "card.json"
MAX_CARD_BYTES = 2**16


@dataclass(frozen=True)
class TrainingText:
    """A corpus of the training text: its size, its weight in an epoch, its licence."""

    name: str
    pairs: int
    weight: float
    licence: str
    attribution: str


@dataclass(frozen=True)
class TestScore:
    """A score on the held-out test set, with its signature."""

    name: str
    value: float
    signature: str


@dataclass(frozen=True)
class Card:
    """What a model is, what it was trained on, how well it does its task, what it cannot do.

    `target_language` is empty if what it writes is in no language, such as phonemes.
    """

    about: str
    source_language: str
    target_language: str
    architecture: str
    parameters: int
    precision: str
    data: tuple[TrainingText, ...]
    test: str
    test_pairs: int
    beam: int
    scores: Mapping[str, TestScore]
    limits: tuple[str, ...]
    steps: int
    training_seconds: float
    machine: str
    commit: str
    command: str
    date: str
    task: str = "translate"

    @property
    def languages(self) -> str:
        """The language pair, as `en→hi`; one language, if the other side has none."""
        return "→".join(filter(None, (self.source_language, self.target_language)))

    @property
    def scores_line(self) -> str:
        """The scores in one line, as `BLEU 31.7, chrF++ 49.1`."""
        return ", ".join(f"{score.name} {score.value:.1f}" for score in self.scores.values())

    def to_json(self) -> dict[str, Any]:
        """The card as a table of JSON."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """The card as text."""
        rows = {
            "task": self.task,
            "languages": self.languages,
            "architecture": self.architecture,
            "parameters": f"{self.parameters:,}, stored as {self.precision}",
            "training": f"{self.steps:,} steps in {self.training_seconds:,.0f} s on {self.machine}",
            "made": f"{self.date}, commit {self.commit}",
            "command": self.command,
        }
        yield self.about
        yield ""
        yield from (f"{key:<13} {value}" for key, value in rows.items())
        yield ""
        widest = max((len(score.name) for score in self.scores.values()), default=0)
        yield f"Scores on {self.test} ({self.test_pairs:,} pairs, held out), beam {self.beam}:"
        yield from (
            f"  {score.name:<{widest}} {score.value:5.1f}   {score.signature}"
            for score in self.scores.values()
        )
        yield ""
        yield "Training text:"
        for text in self.data:
            weight = "" if text.weight == 1 else f", weight {text.weight:g}"
            yield f"  {text.name}: {text.pairs:,} pairs{weight}"
            yield f"    licence: {text.licence}"
            yield f"    attribution: {text.attribution}"
        yield ""
        yield "Limits:"
        yield from (f"  {limit}" for limit in self.limits)


def read_card(folder: Path) -> Card:
    """The card of a model folder."""
    path = folder / CARD
    try:
        return parse_card(read_json(read_file(path, max_bytes=MAX_CARD_BYTES)))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: is not a model card: {error}") from None


def parse_card(table: Mapping[str, Any]) -> Card:
    """The card of a table of JSON; ValueError, KeyError or TypeError if it is none."""
    if unknown := table.keys() - {field.name for field in fields(Card)}:
        raise ValueError(f"unknown key {min(unknown)!r}")
    data = tuple(TrainingText(**text) for text in table["data"])
    scores = {key: TestScore(**score) for key, score in table["scores"].items()}
    for score in scores.values():
        if not isinstance(score.name, str) or type(score.value) not in (int, float):
            raise ValueError(f"{score.value!r} is not a score")
    return Card(**{**table, "data": data, "scores": scores, "limits": tuple(table["limits"])})
