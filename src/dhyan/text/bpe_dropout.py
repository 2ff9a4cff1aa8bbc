"""BPE dropout: another random segmentation of a sentence at every epoch."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from random import Random

from dhyan.errors import UserError
from dhyan.special_tokens import NAMES
from dhyan.text.tokenizer import Tokenizer
from dhyan.text.vocabulary import FIXED_TOKENS, WORD_MARK

MAX_CACHED = 2**17  # words and segmentations whose merges are cached

Cut = tuple[int, ...]


class MergeDropout:
    """BPE dropout (Provilkov, Emelianenko and Voita, 2020): merges are skipped at random.

    The library has it too, but its random numbers cannot be seeded.
    """

    def __init__(self, tokenizer: Tokenizer, prob: float) -> None:
        if tokenizer.kind != "bpe":
            raise UserError(
                f"BPE dropout needs a bpe tokenizer; this one cuts into {tokenizer.kind}"
            )
        if not 0 <= prob <= 1:
            raise UserError(f"BPE dropout {prob}: give a probability from 0 to 1, such as 0.1")
        ids, merges = tokenizer.piece_ids(), tokenizer.merges()
        self.prob = prob
        self._tokenizer = tokenizer
        self._ranks = {(left, right): rank for rank, (left, right, _) in enumerate(merges)}
        self._merged_ids = [merged for *_, merged in merges]
        self._first = {id for piece, id in ids.items() if piece[0] == WORD_MARK or id < len(NAMES)}
        self._letters = {
            id: [ids[letter] for letter in piece] if id >= len(FIXED_TOKENS) else [id]
            for piece, id in ids.items()
        }
        self._characters_of_words: dict[Cut, list[Cut]] = {}
        self._merges: dict[Cut, list[tuple[int, int]]] = {}

    def __call__(self, ids: Sequence[int], seed: int) -> list[int]:
        """A random segmentation of the same text; special tokens and bytes stay."""
        if not self.prob:
            return list(ids)
        draw = Random(seed).random
        cut: list[int] = []
        for word in self._spaced(ids):
            for letters in self._characters_of_words.get(word) or self._spell(word):
                cut += self._merged(letters, draw)
        return cut

    def _spaced(self, ids: Sequence[int]) -> Iterator[Cut]:
        """The ids between one space and the next."""
        begins = [at for at, id in enumerate(ids) if id in self._first or not at]
        for start, stop in pairwise([*begins, len(ids)]):
            yield tuple(ids[start:stop])

    def _spell(self, ids: Cut) -> list[Cut]:
        """The letters of each word and sign, for no merge reaches from one into another."""
        words = [
            tuple(letter for id in ids[word.first : word.last] for letter in self._letters[id])
            for word in self._tokenizer.words(ids)
        ]
        if len(self._characters_of_words) < MAX_CACHED:
            self._characters_of_words[ids] = words
        return words

    def _merged(self, cut: Cut, draw: Callable[[], float]) -> Cut:
        """Merge by merge, the first of those that are not left out this time.

        Every merge is drawn for anew at each step, so those behind the one taken need no drawing.
        """
        while True:
            merges = self._merges.get(cut)
            for index, merged in self._find(cut) if merges is None else merges:
                if draw() >= self.prob:
                    cut = (*cut[:index], merged, *cut[index + 2 :])
                    break
            else:
                return cut

    def _find(self, cut: Cut) -> list[tuple[int, int]]:
        """Where a merge is possible and what it gives: the one learned first, then leftmost."""
        ranks = [self._ranks.get(pair) for pair in pairwise(cut)]
        ordered = sorted((rank, index) for index, rank in enumerate(ranks) if rank is not None)
        merges = [(index, self._merged_ids[rank]) for rank, index in ordered]
        if len(self._merges) < MAX_CACHED:
            self._merges[cut] = merges
        return merges
