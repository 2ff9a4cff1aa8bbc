"""A hypothesis of a search, as every search returns it."""

from collections.abc import Sequence
from dataclasses import dataclass

from dhyan.special_tokens import EOS, PAD


@dataclass(frozen=True)
class Hypothesis:
    """A translation as token ids without BOS and EOS, its score, and whether it ended with EOS.

    The score is log-probability / length ** length_penalty, EOS counted; the coverage penalty is
    added to it afterwards.
    """

    ids: tuple[int, ...]
    score: float
    finished: bool


def make_hypothesis(row: Sequence[int], score: float) -> Hypothesis:
    """A hypothesis from a padded row of ids, BOS first."""
    ids = [id for id in row[1:] if id != PAD]
    finished = bool(ids) and ids[-1] == EOS
    return Hypothesis(tuple(ids[:-1] if finished else ids), score, finished)
