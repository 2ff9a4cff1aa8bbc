"""The project's Transformer, small enough for a lesson: a word is an id, and nothing is dropped."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch

from dhyan import config
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import NAMES


def numbered(sentences: Iterable[Sequence[str]]) -> dict[str, int]:
    """An id for every word, in the order in which they come, after the special ones."""
    words = dict.fromkeys(word for sentence in sentences for word in sentence)
    return {word: len(NAMES) + place for place, word in enumerate(words)}


def transformer(
    source: int, target: int, *, seed: int, width: int = 32, heads: int = 4, layers: int = 2
) -> Seq2Seq:
    """A fresh one over so many words a side, in double precision."""
    sizes = {"width": width, "heads": heads, "feed_forward_width": 2 * width, "layers": layers}
    recipe = config.Recipe(
        encoder=config.TransformerEncoder(**sizes, dropout=0.0),  # type: ignore[arg-type]
        decoder=config.TransformerDecoder(**sizes, dropout=0.0),  # type: ignore[arg-type]
    )
    with drawn_by(seed):
        return build_model(recipe, len(NAMES) + source, len(NAMES) + target).double()


@contextmanager
def drawn_by(seed: int) -> Iterator[None]:
    """Inside, chance follows from the seed; outside, nothing of it is felt."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
