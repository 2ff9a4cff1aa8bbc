"""Word and character error rate: the edit distance (Levenshtein, 1966) per word or character.

Both distances are computed for all places of one text at once, as the bits of whole numbers.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

from dhyan.evaluation.metric import Totals, ratio


def error_counts(split: Callable[[str], Sequence[str]]) -> Callable[[str, Sequence[str]], Totals]:
    """Edits to the closest reference, the longest of equally close ones, and its length."""

    def counts(hypothesis: str, references: Sequence[str]) -> Totals:
        parts = split(hypothesis)
        options = [(edit_distance(parts, split(text)), -len(split(text))) for text in references]
        edits, length = min(options)
        return {"edits": edits, "length": -length}

    return counts


def error_rate(totals: Totals) -> float:
    """Edits per word or character of the references, in per cent; it may exceed 100.

    Against references without any, each insertion counts as one of one.
    """
    return ratio(totals["edits"], max(totals["length"], 1))


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The fewest insertions, deletions and substitutions that make one of the other (Hyyrö, 2003)."""
    if not first:
        return len(second)
    places, full = _places(first), (1 << len(first)) - 1
    last, distance = 1 << (len(first) - 1), len(first)
    rises, falls = full, 0  # places at which the distance to the text before is one more, one less
    for part in second:
        equal = places[part]
        diagonal = (((equal & rises) + rises) ^ rises) | equal | falls
        more, fewer = (falls | ~(diagonal | rises)) & full, rises & diagonal
        distance += bool(more & last) - bool(fewer & last)
        more, fewer = (more << 1) | 1, fewer << 1
        rises, falls = (fewer | ~(diagonal | more)) & full, more & diagonal & full
    return distance


def common_subsequence(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The length of the longest common subsequence (Hyyrö, 2004)."""
    places, full = _places(first), (1 << len(first)) - 1
    unused = full
    for part in second:
        match = unused & places[part]
        unused = ((unused + match) | (unused - match)) & full
    return len(first) - unused.bit_count()


def _places(parts: Sequence[Hashable]) -> defaultdict[Hashable, int]:
    """The places of each part, as bits."""
    places = defaultdict[Hashable, int](int)
    for place, part in enumerate(parts):
        places[part] |= 1 << place
    return places
