"""BPE dropout: a different random segmentation of each sentence in every epoch."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from random import Random

from dhyan.errors import UserError
from dhyan.special_tokens import NAMES
from dhyan.text.pretokenization import FIXED_TOKENS, WORD_MARK
from dhyan.text.tokenizer import Tokenizer

MAX_CACHED = 2**17  # words and segmentations whose merges are cached

Segmentation = tuple[int, ...]


class MergeDropout:
    """BPE dropout (Provilkov, Emelianenko and Voita, 2020): merges are skipped at random.

    The library has it too, but its random numbers cannot be seeded.
    """

    def __init__(self, tokenizer: Tokenizer, prob: float) -> None:
        if tokenizer.kind != "bpe":
            raise UserError(
                f"BPE dropout needs a bpe tokenizer; this one is of kind {tokenizer.kind}"
            )
        if not 0 <= prob <= 1:
            raise UserError(f"BPE dropout {prob}: give a probability from 0 to 1, such as 0.1")
        ids, merges = tokenizer.piece_ids(), tokenizer.merges()
        self.prob = prob
        self._tokenizer = tokenizer
        self._ranks = {(left, right): rank for rank, (left, right, _) in enumerate(merges)}
        self._merged_ids = [merged for *_, merged in merges]
        self._first = {id for piece, id in ids.items() if piece[0] == WORD_MARK or id < len(NAMES)}
        self._characters = {
            id: [ids[character] for character in piece] if id >= len(FIXED_TOKENS) else [id]
            for piece, id in ids.items()
        }
        self._word_characters: dict[Segmentation, list[Segmentation]] = {}
        self._merges: dict[Segmentation, list[tuple[int, int]]] = {}

    def __call__(self, ids: Sequence[int], seed: int) -> list[int]:
        """A random segmentation of the same text; special tokens and bytes stay."""
        if not self.prob:
            return list(ids)
        draw = Random(seed).random
        segmentation: list[int] = []
        for word in self._spaced(ids):
            for characters in self._word_characters.get(word) or self._spell(word):
                segmentation += self._merged(characters, draw)
        return segmentation

    def _spaced(self, ids: Sequence[int]) -> Iterator[Segmentation]:
        """The ids of each space-separated word."""
        begins = [at for at, id in enumerate(ids) if id in self._first or not at]
        for start, stop in pairwise([*begins, len(ids)]):
            yield tuple(ids[start:stop])

    def _spell(self, ids: Segmentation) -> list[Segmentation]:
        """The characters of each word and symbol; no merge crosses their borders."""
        words = [
            tuple(
                character
                for id in ids[word.first : word.last]
                for character in self._characters[id]
            )
            for word in self._tokenizer.words(ids)
        ]
        if len(self._word_characters) < MAX_CACHED:
            self._word_characters[ids] = words
        return words

    def _merged(self, segmentation: Segmentation, draw: Callable[[], float]) -> Segmentation:
        """Apply merges until none is left: each time the first that is not dropped.

        Every merge is dropped anew at each step, so merges after the applied one need no sample.
        """
        while True:
            merges = self._merges.get(segmentation)
            for index, merged in self._find(segmentation) if merges is None else merges:
                if draw() >= self.prob:
                    segmentation = (*segmentation[:index], merged, *segmentation[index + 2 :])
                    break
            else:
                return segmentation

    def _find(self, segmentation: Segmentation) -> list[tuple[int, int]]:
        """The possible merges as (position, merged id), in the order of training, then leftmost."""
        ranks = [self._ranks.get(pair) for pair in pairwise(segmentation)]
        ordered = sorted((rank, index) for index, rank in enumerate(ranks) if rank is not None)
        merges = [(index, self._merged_ids[rank]) for rank, index in ordered]
        if len(self._merges) < MAX_CACHED:
            self._merges[segmentation] = merges
        return merges
