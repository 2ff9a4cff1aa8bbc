"""Evaluate translation systems on a test set; a system is a model or a file of its translations."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from pathlib import Path
from typing import Literal, TypeVar

from dhyan.attention_maps import attends_to_source
from dhyan.config.sections import Delimiter, Header
from dhyan.data.filters import split_words
from dhyan.data.pairs import Pair
from dhyan.data.read_pairs import read_pairs
from dhyan.data.read_report import ReadReport
from dhyan.data.text_lines import (
    TABLE_SUFFIXES,
    file_error,
    format_suffix,
    printable,
    read_lines,
)
from dhyan.decoding.translator import TooLong, Translation, Translator
from dhyan.errors import UserError, spell_option
from dhyan.evaluation.alignment_error_rate import (
    AlignmentScore,
    Gold,
    alignment_score,
    check_gold,
    read_gold,
)
from dhyan.evaluation.attention_statistics import AttentionStatistics, attention_statistics
from dhyan.evaluation.class_report import ClassReport, class_report
from dhyan.evaluation.metrics import TRANSLATION_METRICS, Counts, count
from dhyan.evaluation.significance import Resampling, SystemScores, score_system
from dhyan.evaluation.slices import Slice, by_length, by_rarity
from dhyan.text.normalize import normalize
from dhyan.text.placeholders import mask_pair

Entry = TypeVar("Entry")
MIN_ORDERED_LINES = 20  # sentences; with fewer, the check of their order is unreliable
ORDER_MARGIN = 1.2  # aligned lines share at least this many times as many words


@dataclass(frozen=True)
class ReferenceSet:
    """Source sentences with references, and gold alignments if there are any.

    `lines` counts the lines of the file before unusable pairs were dropped; `numbered` says that
    the line numbers of the pairs refer to them. Without a source text the sources are empty.
    """

    file: Path
    pairs: list[Pair]
    lines: int
    numbered: bool = True
    gold: list[Gold] = field(default_factory=list)
    others: list[tuple[str, ...]] = field(default_factory=list)  # further references per sentence
    reference_file: Path | None = None  # if it is not the same file
    has_source: bool = True

    @property
    def reference_count(self) -> int:
        """The most references of a sentence."""
        return 1 + max(map(len, self.others), default=0)

    @property
    def blank_references(self) -> int:
        """The number of further references that are blank."""
        return sum(not text.strip() for texts in self.others for text in texts)

    @property
    def sources(self) -> list[str]:
        """The source sentences."""
        return [pair.source for pair in self.pairs]

    @property
    def references(self) -> list[str]:
        """The first reference of each sentence."""
        return [pair.target for pair in self.pairs]

    def select_lines(self, entries: Sequence[Entry], file: Path, what: str) -> list[Entry]:
        """The entries of the usable pairs, from a file with one entry per source line."""
        if len(entries) != self.lines:
            counts = (
                f"{len(entries):,} {what} for {self.lines:,} sentences of {printable(self.file)}"
            )
            raise file_error(file, 0, f"{counts}; give one for each, line by line")
        if len(self.pairs) == self.lines:
            return list(entries)
        if not self.numbered:
            reason = (
                f"cannot be matched: rows of {printable(self.file)} were dropped; fix them first"
            )
            raise file_error(file, 0, reason)
        return [entries[pair.line - 1] for pair in self.pairs]


@dataclass(frozen=True)
class SystemOutput:
    """The translations of a system, and for a model its task, beam size and attention statistics.

    `lacks_attention` says that the model has none, though its alignment or statistics were wanted.
    """

    name: str
    texts: list[str]
    language: str = ""
    task: str = ""
    beam: int = 0
    cut_off: int = 0
    unknown_words: int = 0  # of the source: not in the vocabulary or the training text
    source_words: int = 0
    alignment: AlignmentScore | None = None
    attention: AttentionStatistics | None = None
    lacks_attention: bool = False

    @property
    def empty(self) -> int:
        """The number of empty translations."""
        return sum(not text.strip() for text in self.texts)


@dataclass(frozen=True)
class SystemResult:
    """A system with its scores: overall, by source length and by its rarest source word."""

    system: SystemOutput
    scores: SystemScores
    by_length: list[Slice]
    by_rarity: list[Slice]
    counts: dict[str, Counts] = field(default_factory=dict)

    @property
    def class_report(self) -> ClassReport | None:
        """The report of the first metric that counts classes and finds any."""
        reports = (class_report(counts) for counts in self.counts.values())
        return next(filter(None, reports), None)


def read_test_set(
    source: Path | None,
    target: Path | None = None,
    *,
    other_targets: Sequence[Path] = (),
    columns: tuple[str, str] | None = None,
    header: Header = "auto",
    delimiter: Delimiter = "",
    gold: Path | None = None,
    report: ReadReport | None = None,
) -> ReferenceSet:
    """Read the usable pairs of a test set, and gold alignments line by line.

    `columns`, `header` and `delimiter` are about the source text, as for a training set.
    `other_targets` are files of further references, line by line; a blank line is an empty
    reference, as for sacreBLEU.
    Without a source only translations from files can be scored.
    """
    report = ReadReport() if report is None else report
    if source is None:
        reference_set = _read_references(target, report)
    else:
        read = read_pairs(
            source, target, columns=columns, header=header, delimiter=delimiter, report=report
        )
        pairs = list(read)
        headers = int(target is not None and header == "yes")
        lines = headers + report.kept_count + sum(at.count for at in report.dropped.values())
        reference_set = ReferenceSet(
            source, pairs, lines, numbered=target is not None, reference_file=target
        )
    if other_targets:
        columns_of_references = [
            reference_set.select_lines(_reference_lines(file), file, "references")
            for file in other_targets
        ]
        reference_set = replace(
            reference_set, others=list(zip(*columns_of_references, strict=True))
        )
    if gold is None:
        return reference_set
    links = reference_set.select_lines(read_gold(gold), gold, "alignments")
    for alignment, pair in zip(links, reference_set.pairs, strict=True):
        check_gold(alignment, pair.source, pair.target, gold)
    return replace(reference_set, gold=links)


def _read_references(file: Path | None, report: ReadReport) -> ReferenceSet:
    """A test set without sources; lines without a reference are dropped."""
    if file is None:
        raise UserError(
            f"no references to score against: name a file of them with {spell_option('target')}"
        )
    lines, pairs = _reference_lines(file), list[Pair]()
    report.files = {"source": printable(file), "target": printable(file)}
    for number, text in enumerate(lines, start=1):
        if text.strip():
            pairs.append(Pair("", text, number))
            report.keep(pairs[-1])
        else:
            report.drop("empty target", "target", number)
    if not pairs:
        raise file_error(file, 0, "is empty; give one reference on each line")
    return ReferenceSet(file, pairs, len(lines), has_source=False)


def _reference_lines(file: Path) -> list[str]:
    """The lines of a file of references."""
    if format_suffix(file) in TABLE_SUFFIXES:
        raise file_error(file, 0, "is a table; give a text file with one reference on each line")
    return list(read_lines(file))


def read_translations(file: Path, reference_set: ReferenceSet) -> SystemOutput:
    """Read the translations of a system, one per line."""
    lines = list(read_lines(file))
    if not any(line.strip() for line in lines):
        raise file_error(file, 0, "is empty; give one translation on each line")
    return SystemOutput(str(file), reference_set.select_lines(lines, file, "translations"))


def is_out_of_order(hypotheses: Sequence[str], references: Sequence[str]) -> bool:
    """Whether translations share hardly more words with their references than with the next lines.

    Rare words count more: a word of n references counts 1/n.
    """
    if len(hypotheses) < MIN_ORDERED_LINES:
        return False
    outputs, targets = (
        [frozenset(split_words(normalize(text))) for text in side]
        for side in (hypotheses, references)
    )
    frequency = Counter(word for target in targets for word in target)
    aligned, *shifted = (_shared_words(outputs, targets, step, frequency) for step in (0, 1, -1))
    return aligned <= ORDER_MARGIN * max(shifted)


def _shared_words(
    outputs: Sequence[frozenset[str]],
    targets: Sequence[frozenset[str]],
    step: int,
    frequency: Counter[str],
) -> float:
    """Weighted count of words shared with the references `step` lines later, cyclically."""
    total = len(targets)
    return fsum(
        1 / frequency[word]
        for row, output in enumerate(outputs)
        for word in output & targets[(row + step) % total]
    )


def translate_test_set(
    translator: Translator,
    name: str,
    reference_set: ReferenceSet,
    *,
    beam: int = 0,
    attention: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> SystemOutput:
    """Translate a test set; with `attention`, compute statistics of the attention weights.

    `on_progress` is called with the number of sentences translated so far.
    """
    _check_references(translator, name, reference_set)
    translations = _translate(translator, reference_set, beam, on_progress)
    texts = [translation.text for translation in translations]
    attends, gold = attends_to_source(translator.ensemble), bool(reference_set.gold)
    return SystemOutput(
        name,
        texts,
        language=translator.language,
        task=translator.task,
        beam=beam or translator.beam,
        cut_off=sum(not translation.finished for translation in translations),
        unknown_words=sum(len(translation.unknown_words) for translation in translations),
        source_words=sum(len(source.split()) for source in reference_set.sources),
        alignment=_alignment_score(translator, reference_set) if gold and attends else None,
        attention=_attention_statistics(translator, reference_set.sources, texts)
        if attention and attends
        else None,
        lacks_attention=(gold or attention) and not attends,
    )


def score_systems(
    systems: Sequence[SystemOutput],
    reference_set: ReferenceSet,
    *,
    language: str = "",
    metrics: Sequence[str] = TRANSLATION_METRICS,
    resampling: Resampling | None = None,
    training_counts: Mapping[str, int] | None = None,
    against: Literal["first", "best"] = "first",
    raw: bool = False,
    on_progress: Callable[[str], None] = lambda line: None,
) -> list[SystemResult]:
    """Score every system, and compare it with the first, or the best by the first metric.

    `training_counts` are the frequencies of words in the training set. `raw` texts are not
    normalised. `on_progress` is called with a line after each metric.
    """
    counts = []
    for system in systems:
        counts.append(dict[str, Counts]())
        for metric in metrics:
            counts[-1] |= count(
                system.texts,
                reference_set.references,
                others=reference_set.others,
                sources=reference_set.sources,
                language=language,
                metrics=(metric,),
                raw=raw,
            )
            on_progress(f"{system.name}: counted for {metric}")
    results, baseline = [], _best(counts) if against == "best" else 0
    for index, (system, metric_counts) in enumerate(zip(systems, counts, strict=True)):
        scores = score_system(
            metric_counts,
            baseline=counts[baseline] if index != baseline else None,
            resampling=resampling,
            on_progress=on_progress,
        )
        lengths = (
            by_length(metric_counts, reference_set.sources) if reference_set.has_source else []
        )
        rarities = (
            []
            if training_counts is None
            else by_rarity(metric_counts, reference_set.sources, training_counts)
        )
        results.append(SystemResult(system, scores, lengths, rarities, metric_counts))
    return results


def _best(counts: Sequence[Mapping[str, Counts]]) -> int:
    """The index of the best system by the first metric."""
    first = [next(iter(by_metric.values())) for by_metric in counts]
    sign = -1 if first[0].metric.lower_is_better else 1
    return max(range(len(first)), key=lambda index: sign * first[index].value())


def _check_references(translator: Translator, name: str, reference_set: ReferenceSet) -> None:
    """Refuse references with gold alignments that are longer than the model has positions."""
    max_length = translator.limits.target
    if max_length is None or not reference_set.gold:
        return
    for pair, gold in zip(reference_set.pairs, reference_set.gold, strict=True):
        target = mask_pair(pair.source, pair.target, translator.placeholders)[1]
        tokens = len(translator.target.encode(target)) + 1
        if gold.possible and tokens > max_length:
            reason = f"{tokens} tokens with EOS, but {name} has {max_length} positions"
            remedy = "leave the pair out, or its line of the gold alignments empty"
            raise file_error(
                reference_set.reference_file or reference_set.file, pair.line, f"{reason}; {remedy}"
            )


def _translate(
    translator: Translator,
    reference_set: ReferenceSet,
    beam: int,
    on_progress: Callable[[int], None] | None,
) -> list[Translation]:
    try:
        return translator(reference_set.sources, beam=beam or None, on_progress=on_progress)
    except TooLong as error:
        line = reference_set.pairs[error.index].line
        raise file_error(reference_set.file, line, str(error)) from None


def _alignment_score(translator: Translator, reference_set: ReferenceSet) -> AlignmentScore:
    """Alignment error rate of the attention, in forced decoding of the references."""
    from dhyan.insight.word_alignment import align_pair

    links = [
        align_pair(translator, pair.source, pair.target) if gold.possible else []
        for pair, gold in zip(reference_set.pairs, reference_set.gold, strict=True)
    ]
    return alignment_score(links, reference_set.gold)


def _attention_statistics(
    translator: Translator, sources: Sequence[str], texts: Sequence[str]
) -> AttentionStatistics:
    from dhyan.insight.word_alignment import pair_weights

    pairs = [(source, text) for source, text in zip(sources, texts, strict=True) if text.strip()]
    return attention_statistics([pair_weights(translator, *pair) for pair in pairs])
