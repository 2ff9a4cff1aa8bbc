"""BPE dropout: a different random segmentation of each sentence in every epoch."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from math import ceil

import numpy as np
from jaxtyping import Int32, Int64, UInt64

from dhyan.errors import UserError
from dhyan.seeds import SplitMix64
from dhyan.special_tokens import EOS, NAMES
from dhyan.text.compiled_bpe_dropout import CompiledDropout, has_library
from dhyan.text.pretokenization import FIXED_TOKENS, WORD_MARK
from dhyan.text.tokenizer import Tokenizer

MAX_CACHED = 2**17  # words and segmentations whose merges are cached
DRAW_BITS = 53  # of a random number: as many as a float has, so that both sides round alike

Segmentation = tuple[int, ...]


class MergeDropout:
    """BPE dropout (Provilkov, Emelianenko and Voita, 2020): merges are skipped at random.

    The library has it too, but its random numbers cannot be seeded. Calling it is the definition;
    `resegment` gives the same ids for many sequences, by compiled code if there is any.
    """

    def __init__(self, tokenizer: Tokenizer, prob: float, *, compiled: bool = True) -> None:
        if tokenizer.kind != "bpe":
            raise UserError(
                f"BPE dropout needs a bpe tokenizer; this one is of kind {tokenizer.kind}"
            )
        if not 0 <= prob <= 1:
            raise UserError(f"BPE dropout {prob}: give a probability from 0 to 1, such as 0.1")
        ids, merges = tokenizer.piece_ids(), tokenizer.merges()
        self.prob = prob
        self._tokenizer = tokenizer
        self._dropped = ceil(prob * 2**DRAW_BITS)  # a merge is dropped if a number is below this
        self._ranks = {(left, right): rank for rank, (left, right, _) in enumerate(merges)}
        self._merged_ids = [merged for *_, merged in merges]
        self._first = {id for piece, id in ids.items() if piece[0] == WORD_MARK or id < len(NAMES)}
        self._characters = {
            id: [ids[character] for character in piece] if id >= len(FIXED_TOKENS) else [id]
            for piece, id in ids.items()
        }
        self._word_characters: dict[Segmentation, list[Segmentation]] = {}
        self._merges: dict[Segmentation, list[tuple[int, int]]] = {}
        self._compiled: CompiledDropout | None = None
        if compiled and has_library():
            begins_word = np.zeros(len(tokenizer), np.uint8)
            begins_word[list(self._first)] = 1
            self._compiled = CompiledDropout(merges, begins_word, self._spell, self._dropped)

    def __call__(self, ids: Sequence[int], seed: int) -> list[int]:
        """A random segmentation of the same text; special tokens and bytes stay."""
        if not self.prob:
            return list(ids)
        draw = SplitMix64(seed)
        segmentation: list[int] = []
        for word in self._spaced(ids):
            for characters in self._word_characters.get(word) or self._spell_cached([word])[0]:
                segmentation += self._merged(characters, draw)
        return segmentation

    def resegment(
        self,
        ids: Int32[np.ndarray, " W"],
        starts: Int64[np.ndarray, " N"],
        ends: Int64[np.ndarray, " N"],
        seeds: UInt64[np.ndarray, " N"],
        *,
        max_length: int,
    ) -> tuple[Int32[np.ndarray, " V"], Int64[np.ndarray, " M"]]:
        """Segmentations of the sequences ids[start : end] end to end, and where each begins.

        Each follows from its seed. One that would be longer than `max_length` stays as it is.
        """
        if self._compiled and self.prob:
            return self._compiled.resegment(ids, starts, ends, seeds, max_length)
        sequences = [
            ids[start:end].tolist()
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
        words = {word: None for sequence in sequences for word in self._spaced(sequence)}
        self._spell_cached([word for word in words if word not in self._word_characters])
        segmentations, offsets = array("i"), array("q", [0])
        for sequence, seed in zip(sequences, seeds.tolist(), strict=True):
            segmentation = self(sequence, seed)
            segmentations.extend(segmentation if len(segmentation) <= max_length else sequence)
            offsets.append(len(segmentations))
        return np.frombuffer(segmentations, np.int32), np.frombuffer(offsets, np.int64)

    def _spaced(self, ids: Sequence[int]) -> Iterator[Segmentation]:
        """The ids of each space-separated word."""
        begins = [at for at, id in enumerate(ids) if id in self._first or not at]
        for start, stop in pairwise([*begins, len(ids)]):
            yield tuple(ids[start:stop])

    def _spell(self, words: Sequence[Segmentation]) -> list[list[Segmentation]]:
        """The characters of the words and symbols in each of these; no merge crosses their borders.

        They are separated by a token that no word spans.
        """
        ids = [id for word in words for id in (*word, EOS)]
        ends = accumulate(len(word) + 1 for word in words)
        spelled, end = list[list[Segmentation]](), 0
        for part in self._tokenizer.words(ids):
            if part.first == end:
                spelled.append([])
                end = next(ends)
            if part.last < end:
                characters = (self._characters[id] for id in ids[part.first : part.last])
                spelled[-1].append(tuple(chain.from_iterable(characters)))
        return spelled

    def _spell_cached(self, words: Sequence[Segmentation]) -> list[list[Segmentation]]:
        spelled = self._spell(words)
        if len(self._word_characters) + len(words) <= MAX_CACHED:
            self._word_characters.update(zip(words, spelled, strict=True))
        return spelled

    def _merged(self, segmentation: Segmentation, draw: Callable[[], int]) -> Segmentation:
        """Apply merges until none is left: each time the first that is not dropped.

        Every merge is dropped anew at each step, so merges after the applied one need no sample.
        """
        while True:
            merges = self._merges.get(segmentation)
            for index, merged in self._find(segmentation) if merges is None else merges:
                if draw() >> 64 - DRAW_BITS >= self._dropped:
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
