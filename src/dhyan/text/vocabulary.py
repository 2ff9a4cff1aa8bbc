"""What every vocabulary begins with, and the order in which the rest of it is chosen."""

from collections import Counter
from collections.abc import Container, Mapping

from dhyan.special_tokens import NAMES

MARK = "▁"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
GIVEN = [*NAMES, *BYTES]


def by_count(counts: Mapping[str, int] | Mapping[str, float]) -> list[str]:
    """Most frequent first; ties in the order of their letters, so that the order is one."""
    return sorted(counts, key=lambda piece: (-counts[piece], piece))


def alphabet(counts: Mapping[str, int], limit: int) -> list[str]:
    """The most frequent characters, the word mark always first of them."""
    letters: Counter[str] = Counter()
    for word, count in counts.items():
        for letter in word:
            letters[letter] += count
    del letters[MARK]
    return [MARK, *by_count(letters)[: limit - 1]]


def new_letters(counts: Mapping[str, int], known: Container[str], limit: int) -> list[str]:
    """The most frequent characters that are not yet known."""
    letters = alphabet(counts, sum(map(len, counts)))
    return [letter for letter in letters if letter not in known][:limit]
