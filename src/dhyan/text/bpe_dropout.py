"""Cutting a sentence anew at every look: BPE dropout."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from random import Random

from dhyan.errors import UserError
from dhyan.special_tokens import NAMES
from dhyan.text.tokenizer import Tokenizer
from dhyan.text.vocabulary import GIVEN, MARK

MOST_KNOWN = 2**17  # words whose letters, and cuts whose merges, are remembered

Cut = tuple[int, ...]


class MergeDropout:
    """BPE dropout (Provilkov, Emelianenko and Voita, 2020): merges are left out by chance.

    The library has it too, but draws from a source of chance that nobody can seed.
    """

    def __init__(self, tokenizer: Tokenizer, chance: float) -> None:
        if tokenizer.kind != "bpe":
            raise UserError(
                f"BPE dropout needs a bpe tokenizer; this one cuts into {tokenizer.kind}"
            )
        if not 0 <= chance <= 1:
            raise UserError(f"BPE dropout {chance}: give a chance from 0 to 1, such as 0.1")
        ids, merges = tokenizer.piece_ids(), tokenizer.merges()
        self.chance = chance
        self._tokenizer = tokenizer
        self._ranks = {(left, right): rank for rank, (left, right, _) in enumerate(merges)}
        self._wholes = [whole for *_, whole in merges]
        self._first = {id for piece, id in ids.items() if piece[0] == MARK or id < len(NAMES)}
        self._letters = {
            id: [ids[letter] for letter in piece] if id >= len(GIVEN) else [id]
            for piece, id in ids.items()
        }
        self._spelt: dict[Cut, list[Cut]] = {}
        self._merges: dict[Cut, list[tuple[int, int]]] = {}

    def __call__(self, ids: Sequence[int], seed: int) -> list[int]:
        """The same text, cut anew; special ids and bytes stay where they are."""
        if not self.chance:
            return list(ids)
        draw = Random(seed).random
        cut: list[int] = []
        for word in self._spaced(ids):
            for letters in self._spelt.get(word) or self._spell(word):
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
        if len(self._spelt) < MOST_KNOWN:
            self._spelt[ids] = words
        return words

    def _merged(self, cut: Cut, draw: Callable[[], float]) -> Cut:
        """Merge by merge, the first of those that are not left out this time.

        Every merge is drawn for anew at each step, so those behind the one taken need no drawing.
        """
        while True:
            merges = self._merges.get(cut)
            for place, whole in self._find(cut) if merges is None else merges:
                if draw() >= self.chance:
                    cut = (*cut[:place], whole, *cut[place + 2 :])
                    break
            else:
                return cut

    def _find(self, cut: Cut) -> list[tuple[int, int]]:
        """Where a merge is possible and what it gives: the one learned first, then leftmost."""
        ranks = [self._ranks.get(pair) for pair in pairwise(cut)]
        ordered = sorted((rank, place) for place, rank in enumerate(ranks) if rank is not None)
        merges = [(place, self._wholes[rank]) for rank, place in ordered]
        if len(self._merges) < MOST_KNOWN:
            self._merges[cut] = merges
        return merges
