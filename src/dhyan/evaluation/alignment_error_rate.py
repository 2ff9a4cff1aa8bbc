"""Alignment error rate: word alignments against gold links (Och and Ney, 2003)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dhyan.data.text_lines import file_error, printable, read_lines
from dhyan.errors import UserError
from dhyan.text.normalize import normalize

Link = tuple[int, int]
_LINK = re.compile(r"([0-9]+)([-?])([0-9]+)")


@dataclass(frozen=True)
class Gold:
    """Gold links of a sentence pair, sure and possible, as (source word, target word).

    A sure link is possible too. `line` is the line of the file; a line without links is not scored.
    """

    sure: frozenset[Link]
    possible: frozenset[Link]
    line: int = 0


@dataclass(frozen=True)
class AlignmentScore:
    """Alignment error rate, precision and recall over all sentences that have gold links."""

    error_rate: float
    precision: float
    recall: float
    sentences: int


def read_gold(file: Path) -> list[Gold]:
    """Gold links line by line in Pharaoh's form, counted from 0: `0-0` is sure, `1?2` possible."""
    links = [parse_gold(text, file, line) for line, text in enumerate(read_lines(file), 1)]
    if not any(gold.sure for gold in links):
        raise file_error(
            file, 0, "no sure link on any line; write sure links as 0-0, possible ones as 0?1"
        )
    return links


def parse_gold(text: str, file: Path, line: int) -> Gold:
    """The links of one line."""
    kinds: dict[str, set[Link]] = {"-": set(), "?": set()}
    for word in text.split():
        link = _LINK.fullmatch(word)
        if not link:
            reason = (
                f"{printable(word[:40])} is no link; write 0-0 for a sure one, 0?1 for a possible"
            )
            raise file_error(file, line, reason)
        kinds[link[2]].add((int(link[1]), int(link[3])))
    return Gold(frozenset(kinds["-"]), frozenset(kinds["-"] | kinds["?"]), line)


def check_gold(gold: Gold, source: str, target: str, file: Path) -> None:
    """Refuse links to words that a pair does not have."""
    texts = {"source": source, "target": target}
    sides = {side: len(normalize(text).split()) for side, text in texts.items()}
    for number, (side, count) in enumerate(sides.items()):
        last = max((link[number] for link in gold.possible), default=0)
        if last >= count:
            reason = f"links {side} word {last}, but the sentence has {count}, counted from 0"
            raise file_error(file, gold.line, f"{reason}; align the words of the files given")


def alignment_score(alignments: Sequence[Iterable[Link]], gold: Sequence[Gold]) -> AlignmentScore:
    """The alignment error rate (Och and Ney, 2003), with precision and recall.

    AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), precision = |A ∩ P| / |A|, recall = |A ∩ S| / |S|.
    """
    if len(alignments) != len(gold):
        raise UserError(
            f"{len(alignments)} alignments for {len(gold)} gold ones: give one for each"
        )
    pairs = [(set(alignment), links) for alignment, links in zip(alignments, gold, strict=True)]
    pairs = [(alignment, links) for alignment, links in pairs if links.possible]
    total, sure = (
        sum(len(alignment) for alignment, _ in pairs),
        sum(len(links.sure) for _, links in pairs),
    )
    if not sure:
        raise UserError("the gold alignments have no sure links: there is nothing to score")
    right = sum(len(alignment & links.sure) for alignment, links in pairs)
    allowed = sum(len(alignment & links.possible) for alignment, links in pairs)
    return AlignmentScore(
        error_rate=1 - (right + allowed) / (total + sure),
        precision=allowed / total if total else 0.0,
        recall=right / sure,
        sentences=len(pairs),
    )
