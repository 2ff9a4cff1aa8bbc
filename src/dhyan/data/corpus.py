"""What a trainer asks of its pairs, wherever they lie."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from dhyan.config import Recipe
from dhyan.data.examples import Examples
from dhyan.data.pairs import Pair
from dhyan.text.tokenizer import Tokenizer


@runtime_checkable
class Corpus(Protocol):
    """Pairs to train on and pairs to validate on, as text or prepared as ids."""

    @property
    def validation(self) -> list[Pair]:
        """The pairs that are not trained on, as they were written; perhaps none."""
        ...

    @property
    def fingerprint(self) -> str:
        """What tells these pairs from any others."""
        ...

    @property
    def sample(self) -> str:
        """A source sentence to try the model on."""
        ...

    def lessons(self, recipe: Recipe) -> Iterator[Pair]:
        """The pairs that vocabularies are learned from, with their placeholders in place."""
        ...

    def learn(self, recipe: Recipe) -> tuple[Tokenizer, Tokenizer]:
        """The vocabularies of both sides."""
        ...

    def encode(self, source: Tokenizer, target: Tokenizer, longest: int) -> Examples:
        """The training pairs as ids, ready for Batches; the over-long are left out and said."""
        ...


def sample_of(pairs: list[Pair]) -> str:
    """Of the first pairs, the source whose length is best to look at."""
    return min(pairs[:50], key=lambda pair: abs(len(pair.source) - 30)).source
