"""The source sentences and words a model was trained on, as a small file of hashes in its folder.

It answers two questions without the text itself: whether a sentence was seen in training, and
whether a word was. Two sentences are the same if they differ only in what normalisation removes, in
case, and in final punctuation; two words, if they differ only in case. Hashes have 28 bits: of n
stored ones, a share of n / 2**28 of all unseen sentences and words is wrongly taken for seen (0.1 %
of 268,000, 0.4 % of a million); a seen one is never taken for unseen. Sorted, as differences, and
compressed, they take about 1.7 bytes each.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from unicodedata import category

import numpy as np
import numpy.typing as npt

from dhyan.text.normalize import normalize

TRAINING_SENTENCES = "training-sentences.bin"
MAGIC = b"dhyan training sentences 2\n"
MAGIC_WITHOUT_WORDS = b"dhyan training sentences 1\n"
BITS = 28
MAX_SENTENCES = 1_000_000
MAX_WORDS = 500_000  # different ones; of a text with more, no words are kept
MAX_HASHES = MAX_SENTENCES + MAX_WORDS
GAP_BYTES = 4  # of a difference, before compression
MAX_FILE_BYTES = len(MAGIC) + GAP_BYTES * MAX_HASHES + 4096  # zlib adds a little to random bytes
WORD = "\0"  # before a word, so that its hash is not that of a sentence


@dataclass(frozen=True, eq=False)
class TrainingSentences:
    """Hashes of sentences, and of their words if `has_words`; sorted and distinct."""

    hashes: npt.NDArray[np.int64]
    has_words: bool = True

    @classmethod
    def of(cls, sentences: Iterable[str], *, words: bool = True) -> "TrainingSentences":
        """The hashes of sentences, and of their words unless it is said that those do not matter.

        A sentence of punctuation alone is left out.
        """
        hashes, different = set[int](), set[str]()
        for folded in filter(None, map(fold_sentence, sentences)):
            hashes.add(_hash(folded))
            different.update(split_words(folded) if words else ())
        has_words = words and len(different) <= MAX_WORDS
        if has_words:
            hashes.update(_hash(WORD + word) for word in different)
        return cls(np.array(sorted(hashes), dtype=np.int64), has_words)

    def __len__(self) -> int:
        return len(self.hashes)

    def __contains__(self, sentence: str) -> bool:
        folded = fold_sentence(sentence)
        return bool(folded) and self._holds(_hash(folded))

    def unseen_words(self, text: str) -> list[str]:
        """The words of a text that were never seen in training, in order; numbers do not count.

        Empty if the words of the training text are not known.
        """
        if not self.has_words:
            return []
        return [
            word
            for word in dict.fromkeys(split_words(normalize(text)))
            if any(category(character)[0] == "L" for character in word)
            and not all(self._holds(_hash(WORD + part)) for part in split_words(_fold_case(word)))
        ]

    def _holds(self, wanted: int) -> bool:
        if not len(self):
            return False
        position = min(int(np.searchsorted(self.hashes, wanted)), len(self) - 1)
        return bool(self.hashes[position] == wanted)

    @property
    def false_positive_rate(self) -> float:
        """The share of unseen sentences and words that are taken for seen."""
        return len(self) / 2**BITS

    def to_bytes(self) -> bytes:
        """The file: differences of neighbours, first all their low bytes, then the higher ones."""
        gaps = np.diff(self.hashes, prepend=0).astype("<u4")
        planes = gaps.view(np.uint8).reshape(-1, GAP_BYTES).T
        magic = MAGIC if self.has_words else MAGIC_WITHOUT_WORDS
        return magic + zlib.compress(planes.tobytes(), 9)

    @classmethod
    def from_bytes(cls, data: bytes) -> "TrainingSentences":
        """The sentences of a file of unknown origin; ValueError if it is not such a file."""
        if not data.startswith((MAGIC, MAGIC_WITHOUT_WORDS)):
            raise ValueError("is not a file of training sentences")
        planes = _decompress(data[len(MAGIC) :])
        if len(planes) % GAP_BYTES:
            raise ValueError("ends within a hash")
        columns = np.frombuffer(planes, dtype=np.uint8).reshape(GAP_BYTES, -1).T
        gaps = np.ascontiguousarray(columns).view("<u4").ravel()
        hashes = gaps.cumsum(dtype=np.int64)
        if (gaps[1:] == 0).any() or (hashes >= 2**BITS).any():
            raise ValueError(f"its hashes are not distinct numbers of {BITS} bits")
        return cls(hashes, data.startswith(MAGIC))


def merge(parts: Sequence[TrainingSentences | None]) -> TrainingSentences | None:
    """The sentences of all parts; None if one is not known, or if they are too many for a file."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not known:
        return None
    hashes = reduce(np.union1d, (part.hashes for part in known))
    has_words = all(part.has_words for part in known)
    return TrainingSentences(hashes, has_words) if len(hashes) <= MAX_HASHES else None


def fold_sentence(sentence: str) -> str:
    """A sentence without case, extra white space and final punctuation."""
    text = _fold_case(sentence)
    while text and (text[-1] == " " or category(text[-1]).startswith("P")):
        text = text[:-1]
    return text


def split_words(text: str) -> list[str]:
    """The runs of letters, digits and combining marks."""
    inside = (character if category(character)[0] in "LNM" else " " for character in text)
    return "".join(inside).split()


def _fold_case(text: str) -> str:
    return normalize(normalize(text).casefold())


def _hash(folded: str) -> int:
    digest = blake2b(folded.encode(), digest_size=GAP_BYTES).digest()
    return int.from_bytes(digest, "little") >> (8 * GAP_BYTES - BITS)


def _decompress(data: bytes) -> bytes:
    """The bytes of a complete zlib stream that is not too long."""
    inflater = zlib.decompressobj()
    try:
        planes = inflater.decompress(data, GAP_BYTES * MAX_HASHES + 1)
    except zlib.error:
        raise ValueError("cannot be decompressed") from None
    if len(planes) > GAP_BYTES * MAX_HASHES:
        raise ValueError(f"holds more than {MAX_HASHES:,} hashes")
    if not inflater.eof or inflater.unused_data:
        raise ValueError("is cut off, or longer than its data")
    return planes
