"""Parallel text, with every fault named by file and line."""

import os
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from dhyan.data.length_filters import Bounds
from dhyan.data.misalignment import first_parted
from dhyan.data.pairs import Pair, Tally
from dhyan.data.read_jsonl import read_objects
from dhyan.data.read_table import Sides, line_text, read_table
from dhyan.data.read_text import TABLES, fault, kind_of, raw_lines, said

NO_BOUNDS = Bounds()


def read_pairs(
    source: Path,
    target: Path | None = None,
    *,
    columns: tuple[str, str] | None = None,
    bounds: Bounds = NO_BOUNDS,
    tally: Tally | None = None,
) -> Iterator[Pair]:
    """The usable pairs of two text files, or of one .tsv, .csv or .jsonl; each may be packed.

    `columns` names two columns of a header, or two keys. Pairs with an empty or over-long side, or
    out of bounds, are dropped into the tally; whatever would shift or spoil the others is a UserError.
    """
    tally = Tally() if tally is None else tally
    tally.names = {"source": said(source), "target": said(target or source)}
    usable = False
    for line, one, other in _sides(source, target, columns, tally):
        if unfit := bounds.unfit(one, other):
            tally.drop(*unfit, line)
            continue
        usable = True
        pair = Pair(one, other, line)
        tally.keep(pair)
        yield pair
    if not usable:
        counts = ", ".join(f"{n.count:,} × {reason}" for reason, n in tally.drops.items())
        raise fault(source, 0, f"no usable pair ({counts or 'no line'}); see that it is a corpus")


def _sides(
    source: Path, target: Path | None, columns: tuple[str, str] | None, tally: Tally
) -> Iterator[Sides]:
    kind = kind_of(source)
    if target is None:
        if kind == ".json":
            raise fault(
                source, 0, "is a .json; if it holds one object on each line, rename it to .jsonl"
            )
        if kind not in TABLES:
            remedy = "give the target file too, or one .tsv, .csv or .jsonl"
            raise fault(source, 0, f"has one side; {remedy}")
        return (read_objects if kind == ".jsonl" else read_table)(source, columns, tally)
    if columns or TABLES & {kind, kind_of(target)}:
        remedy = "give one .tsv, .csv or .jsonl, or two text files and no columns"
        raise fault(target, 0, f"is a second file; {remedy}")
    return _two_files(source, target, tally)


def _two_files(source: Path, target: Path, tally: Tally) -> Iterator[Sides]:
    if os.path.exists(source) and os.path.exists(target) and os.path.samefile(source, target):
        raise fault(target, 0, "is the source file again; give the file of translations")
    ours, theirs = raw_lines(source), raw_lines(target)
    for number, (one, other) in enumerate(zip_longest(ours, theirs), 1):
        if one is None or other is None:
            shorter, longer = (source, target) if one is None else (target, source)
            total = number + sum(1 for _ in (theirs if one is None else ours))
            reason = f"the number of lines is {number - 1:,}, but {said(longer)} has {total:,}"
            parted = first_parted(source, target)
            remedy = f"line N must translate line N, and they seem to part at line {parted:,}"
            tally.report(fault(shorter, number - 1, f"{reason}; {remedy}"))
            return
        text = line_text(one, source, number, tally)
        translation = line_text(other, target, number, tally)
        if text is not None and translation is not None:
            yield number, text, translation
