"""The source sentences a model was trained on, as a small file of hashes in its folder.

It answers one question, whether a sentence was seen in training, without the text itself. Two
sentences are the same if they differ only in what normalisation removes, in case, and in final
punctuation. Hashes have 28 bits: of n stored sentences, a share of n / 2**28 of all unseen sentences
is wrongly taken for seen (0.1 % of 268,000, 0.4 % of a million); a seen one is never taken for
unseen. Sorted, as differences, and compressed, they take about 1.7 bytes a sentence.
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
MAGIC = b"dhyan training sentences 1\n"
BITS = 28
MAX_SENTENCES = 1_000_000
GAP_BYTES = 4  # of a difference, before compression
MAX_FILE_BYTES = len(MAGIC) + GAP_BYTES * MAX_SENTENCES + 4096  # zlib adds a little to random bytes


@dataclass(frozen=True, eq=False)
class TrainingSentences:
    """Hashes of sentences, sorted and distinct."""

    hashes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Iterable[str]) -> "TrainingSentences":
        """The hashes of sentences; those of punctuation alone are left out."""
        folded = filter(None, map(fold_sentence, sentences))
        return cls(np.unique(np.fromiter(map(_hash, folded), dtype=np.int64)))

    def __len__(self) -> int:
        return len(self.hashes)

    def __contains__(self, sentence: str) -> bool:
        folded = fold_sentence(sentence)
        if not folded or not len(self):
            return False
        wanted = _hash(folded)
        position = min(int(np.searchsorted(self.hashes, wanted)), len(self) - 1)
        return bool(self.hashes[position] == wanted)

    @property
    def false_positive_rate(self) -> float:
        """The share of unseen sentences that are taken for seen."""
        return len(self) / 2**BITS

    def to_bytes(self) -> bytes:
        """The file: differences of neighbours, first all their low bytes, then the higher ones."""
        gaps = np.diff(self.hashes, prepend=0).astype("<u4")
        planes = gaps.view(np.uint8).reshape(-1, GAP_BYTES).T
        return MAGIC + zlib.compress(planes.tobytes(), 9)

    @classmethod
    def from_bytes(cls, data: bytes) -> "TrainingSentences":
        """The sentences of a file of unknown origin; ValueError if it is not such a file."""
        if not data.startswith(MAGIC):
            raise ValueError("is not a file of training sentences")
        planes = _decompress(data[len(MAGIC) :])
        if len(planes) % GAP_BYTES:
            raise ValueError("ends within a hash")
        columns = np.frombuffer(planes, dtype=np.uint8).reshape(GAP_BYTES, -1).T
        gaps = np.ascontiguousarray(columns).view("<u4").ravel()
        hashes = gaps.cumsum(dtype=np.int64)
        if (gaps[1:] == 0).any() or (hashes >= 2**BITS).any():
            raise ValueError(f"its hashes are not distinct numbers of {BITS} bits")
        return cls(hashes)


def merge(parts: Sequence[TrainingSentences | None]) -> TrainingSentences | None:
    """The sentences of all parts; None if one is not known, or if they are too many for a file."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not known:
        return None
    hashes = reduce(np.union1d, (part.hashes for part in known))
    return TrainingSentences(hashes) if len(hashes) <= MAX_SENTENCES else None


def fold_sentence(sentence: str) -> str:
    """A sentence without case, extra white space and final punctuation."""
    text = normalize(normalize(sentence).casefold())
    while text and (text[-1] == " " or category(text[-1]).startswith("P")):
        text = text[:-1]
    return text


def _hash(folded: str) -> int:
    digest = blake2b(folded.encode(), digest_size=GAP_BYTES).digest()
    return int.from_bytes(digest, "little") >> (8 * GAP_BYTES - BITS)


def _decompress(data: bytes) -> bytes:
    """The bytes of a complete zlib stream that is not too long."""
    inflater = zlib.decompressobj()
    try:
        planes = inflater.decompress(data, GAP_BYTES * MAX_SENTENCES + 1)
    except zlib.error:
        raise ValueError("cannot be decompressed") from None
    if len(planes) > GAP_BYTES * MAX_SENTENCES:
        raise ValueError(f"holds more than {MAX_SENTENCES:,} sentences")
    if not inflater.eof or inflater.unused_data:
        raise ValueError("is cut off, or longer than its data")
    return planes
