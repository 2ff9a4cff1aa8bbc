"""Systems sit an exam: models translate it, files bring their answers, all are judged alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

from dhyan.data.pairs import Pair, ReadReport
from dhyan.data.read_pairs import read_pairs
from dhyan.data.read_text import file_error, printable, read_lines
from dhyan.decoding.translator import TooLong, Translation, Translator
from dhyan.evaluation.alignment_error_rate import (
    AlignmentScore,
    Gold,
    alignment_score,
    check_gold,
    read_gold,
)
from dhyan.evaluation.attention_statistics import AttentionStatistics, attention_statistics
from dhyan.evaluation.line_order import out_of_order
from dhyan.evaluation.metrics import LOWER_IS_BETTER, NAMES, Counts, count
from dhyan.evaluation.significance import Resampling, SystemScores, score_system
from dhyan.evaluation.slices import Slice, by_length, by_rarity
from dhyan.text.placeholders import mask_pair

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Exam:
    """Sentences and their references, with where they stand and gold alignments if there are any.

    `lines` is how many there were before unusable pairs were dropped, and `numbered` says that
    the line numbers of the pairs count them.
    """

    file: Path
    pairs: list[Pair]
    lines: int
    numbered: bool = True
    gold: list[Gold] = field(default_factory=list)
    others: list[tuple[str, ...]] = field(default_factory=list)  # further references of each
    beside: Path | None = None  # the file of the references, if it is another

    @property
    def sources(self) -> list[str]:
        """What is to be translated."""
        return [pair.source for pair in self.pairs]

    @property
    def references(self) -> list[str]:
        """What is compared with."""
        return [pair.target for pair in self.pairs]

    def match_pieces(self, entries: Sequence[Entry], file: Path, what: str) -> list[Entry]:
        """Of a file with an entry for every line of the source, those of the pairs kept."""
        if len(entries) != self.lines:
            counts = (
                f"{len(entries):,} {what} for {self.lines:,} sentences of {printable(self.file)}"
            )
            raise file_error(file, 0, f"{counts}; give one for each, line by line")
        if len(self.pairs) == self.lines:
            return list(entries)
        if not self.numbered:
            reason = (
                f"cannot be matched: rows of {printable(self.file)} were dropped; mend them first"
            )
            raise file_error(file, 0, reason)
        return [entries[pair.line - 1] for pair in self.pairs]


@dataclass(frozen=True)
class System:
    """What a system said in an exam, and for a model how it searched and what it looked at."""

    name: str
    said: list[str]
    language: str = ""
    beam: int = 0
    cut_off: int = 0
    alignment: AlignmentScore | None = None
    attention: AttentionStatistics | None = None

    @property
    def empty(self) -> int:
        """How many sentences it had no word for."""
        return sum(not text.strip() for text in self.said)


@dataclass(frozen=True)
class Result:
    """A system with its scores: over all, by the source's length and by its rarest word."""

    system: System
    judgement: SystemScores
    by_length: list[Slice]
    by_rarity: list[Slice]
    counts: dict[str, Counts] = field(default_factory=dict)


def read_exam(
    source: Path,
    target: Path | None = None,
    *,
    columns: tuple[str, str] | None = None,
    gold: Path | None = None,
    report: ReadReport | None = None,
) -> Exam:
    """The usable pairs of a test set; gold alignments are read line by line beside them."""
    report = ReadReport() if report is None else report
    pairs = list(read_pairs(source, target, columns=columns, report=report))
    lines = report.kept + sum(where.count for where in report.dropped.values())
    exam = Exam(source, pairs, lines, numbered=target is not None, beside=target)
    if gold is None:
        return exam
    links = exam.match_pieces(read_gold(gold), gold, "alignments")
    for one, pair in zip(links, pairs, strict=True):
        check_gold(one, pair.source, pair.target, gold)
    return replace(exam, gold=links)


def answers(file: Path, exam: Exam) -> System:
    """A system known by its finished translations, one a line."""
    lines = list(read_lines(file))
    if not any(line.strip() for line in lines):
        raise file_error(file, 0, "is empty; give one translation on each line")
    return System(str(file), exam.match_pieces(lines, file, "translations"))


def disordered(system: System, exam: Exam) -> bool:
    """Whether what a system said fits the lines beside its references as well as its own."""
    return out_of_order(system.said, exam.references)


def examine(
    translator: Translator,
    name: str,
    exam: Exam,
    *,
    beam: int = 0,
    attention: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> System:
    """A model's own translations; if asked, the figures of its attention while it made them.

    `on_progress` is told how many sentences have been translated, every now and then.
    """
    _check_references(translator, name, exam)
    found = _translated(translator, exam, beam, on_progress)
    texts = [one.text for one in found]
    return System(
        name,
        texts,
        language=translator.language,
        beam=beam or translator.beam,
        cut_off=sum(not one.finished for one in found),
        alignment=_aligned(translator, exam) if exam.gold else None,
        attention=_attended(translator, exam.sources, texts) if attention else None,
    )


def compare(
    systems: Sequence[System],
    exam: Exam,
    *,
    language: str = "",
    metrics: Sequence[str] = tuple(NAMES),
    resampling: Resampling | None = None,
    seen: Mapping[str, int] | None = None,
    against: Literal["first", "best"] = "first",
    on_progress: Callable[[str], None] = lambda line: None,
) -> list[Result]:
    """Judge every system against the first, or the best by the first metric, and that alone.

    `seen` counts training words.

    `on_progress` is told what has been done, metric by metric.
    """
    counts = []
    for one in systems:
        counts.append(dict[str, Counts]())
        for metric in metrics:
            counts[-1] |= count(
                one.said,
                exam.references,
                others=exam.others,
                language=language,
                metrics=(metric,),
            )
            on_progress(f"{one.name}: counted for {metric}")
    results, chosen = [], _best(counts) if against == "best" else 0
    for place, (system, found) in enumerate(zip(systems, counts, strict=True)):
        baseline = counts[chosen] if place != chosen else None
        verdict = score_system(
            found, baseline=baseline, resampling=resampling, on_progress=on_progress
        )
        lengths = by_length(found, exam.sources)
        rarities = [] if seen is None else by_rarity(found, exam.sources, seen)
        results.append(Result(system, verdict, lengths, rarities, found))
    return results


def _best(counts: Sequence[Mapping[str, Counts]]) -> int:
    """The place of the best by the first metric."""
    first = [next(iter(one.values())) for one in counts]
    sign = -1 if first[0].key in LOWER_IS_BETTER else 1
    return max(range(len(first)), key=lambda place: sign * first[place].value())


def _check_references(translator: Translator, name: str, exam: Exam) -> None:
    """Refuse references to be aligned that a model has not learned enough positions to say."""
    highest = translator.limits.target
    if highest is None or not exam.gold:
        return
    for pair, gold in zip(exam.pairs, exam.gold, strict=True):
        said = mask_pair(pair.source, pair.target, translator.placeholders)[1]
        tokens = len(translator.target.encode(said)) + 1
        if gold.possible and tokens > highest:
            reason = f"{tokens} tokens with its end, but {name} has learned {highest} positions"
            remedy = "leave the pair out, or its line of the gold alignments empty"
            raise file_error(exam.beside or exam.file, pair.line, f"{reason}; {remedy}")


def _translated(
    translator: Translator, exam: Exam, beam: int, on_progress: Callable[[int], None] | None
) -> list[Translation]:
    try:
        return translator(exam.sources, beam=beam or None, on_progress=on_progress)
    except TooLong as error:
        line = exam.pairs[error.index].line
        raise file_error(exam.file, line, str(error)) from None


def _aligned(translator: Translator, exam: Exam) -> AlignmentScore:
    """How well the attention aligns sentences to their references, which it is made to say."""
    from dhyan.insight.word_alignment import align_pair

    links = [
        align_pair(translator, pair.source, pair.target) if gold.possible else []
        for pair, gold in zip(exam.pairs, exam.gold, strict=True)
    ]
    return alignment_score(links, exam.gold)


def _attended(
    translator: Translator, sources: Sequence[str], said: Sequence[str]
) -> AttentionStatistics:
    from dhyan.insight.word_alignment import pair_weights

    pairs = [(source, text) for source, text in zip(sources, said, strict=True) if text.strip()]
    return attention_statistics([pair_weights(translator, *pair) for pair in pairs])
