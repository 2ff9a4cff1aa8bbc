"""`dhyan evaluate`: metrics of one system, or of several with significance tests; class reports."""

import json
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dhyan.cli.messages import ProgressLines, log_to_stderr, warn
from dhyan.cli.options import (
    AsJson,
    Beam,
    Columns,
    Delimiter,
    Device,
    Header,
    Threads,
    check_models,
    is_model,
    load_model,
    split_columns,
    table_settings,
)
from dhyan.cli.progress import interruptible, throttled
from dhyan.errors import NO_ATTENTION, UNKNOWN_TO_MODEL, UserError
from dhyan.pretrained import suggest_name

if TYPE_CHECKING:
    from collections import Counter

    from dhyan.decoding.translator import Translator
    from dhyan.evaluation.significance import Resampling, SystemScores
    from dhyan.evaluation.slices import Slice
    from dhyan.run.evaluate import ReferenceSet, SystemOutput, SystemResult

logger = logging.getLogger(__name__)

SEED = 12345  # sacreBLEU's own


class SignificanceTest(StrEnum):
    """How the difference of two systems is tested."""

    bootstrap = "bootstrap"
    randomisation = "randomisation"


Systems = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM",
        help="Run folders, pretrained models (see dhyan models), or text files of translations, one "
        "per line; the first is the baseline.",
    ),
]
Source = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default="none",
        help="Source text, a sentence per line, or a .tsv, .csv, .jsonl or .tmx of pairs; "
        "not needed for files of translations.",
    ),
]
Targets = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        show_default="the second column of the source",
        help="References, a sentence per line; repeat it for several references per sentence.",
    ),
]
Language = Annotated[
    str,
    typer.Option(
        metavar="CODE",
        help="Target language as an ISO 639 code such as hi; sets BLEU's and TER's tokenizer.",
        show_default="the recipe's, else by file name or script",
    ),
]
Metrics = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Metrics, comma-separated: bleu, chrf (chrF++), ter (slow), accuracy, macro_f1, span_f1, "
        "tag_accuracy, rouge1, rouge2, rougeL, exact, cer, wer, comet (with unbabel-comet).",
        show_default="those of the model's task; of translations bleu,chrf,ter",
    ),
]
Resamples = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Number of bootstrap resamples for 95 % confidence intervals (Koehn, 2004); 0 is none.",
    ),
]
Paired = Annotated[
    SignificanceTest | None,
    typer.Option(
        help="Significance test against the first system; randomisation makes 10 trials "
        "per resample.",
        show_default="bootstrap",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, help="Random seed of the resampling.", show_default=str(SEED)),
]
TrainSource = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default="none",
        help="Training text, source side: adds scores by training frequency of the rarest word.",
    ),
]
Gold = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default="none",
        help="Gold word alignments, a line per pair as 0-0 1?2: adds the alignment error rate "
        "(Och and Ney, 2003).",
    ),
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw",
        help="Raw text: score without Unicode normalisation, as sacreBLEU's command line does.",
    ),
]
AttentionStatistics = Annotated[
    bool,
    typer.Option(
        "--attention-statistics", help="Attention statistics: adds entropy, in bits, and coverage."
    ),
]

TESTS = {
    "bootstrap": "paired bootstrap resampling (Koehn, 2004), {resamples:,} resamples",
    "randomisation": "approximate randomisation (Riezler and Maxwell, 2005), {trials:,} trials",
}
OUT_OF_ORDER = (
    "shares no more words with its references than with the lines beside them; see that line N "
    "translates line N"
)


@interruptible()
def evaluate(
    systems: Systems,
    source: Source = None,
    target: Targets = None,
    columns: Columns = "",
    header: Header = "",
    delimiter: Delimiter = "",
    beam: Beam = None,
    language: Language = "",
    metrics: Metrics = "",
    bootstrap: Resamples = 1000,
    test: Paired = None,
    seed: Seed = None,
    train_source: TrainSource = None,
    gold_alignment: Gold = None,
    raw: Raw = False,
    attention_statistics: AttentionStatistics = False,
    as_json: AsJson = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Score a model or files of outputs, and test differences.

    Of several systems, each is tested against the first.

    Translations in files need references only: dhyan evaluate other.hi --target test.hi

    Example: dhyan evaluate runs/bahdanau2015-small --source test.en --target test.hi
    """
    log_to_stderr(quiet=False)
    _check_exist(systems)
    check_models(*filter(is_model, systems))
    from dhyan.data.read_report import ReadReport
    from dhyan.evaluation.metrics import check_metrics
    from dhyan.evaluation.significance import Resampling
    from dhyan.run.evaluate import (
        read_test_set,
        read_translations,
        score_systems,
    )
    from dhyan.text.languages import language_of, parse_language

    named_language = parse_language(language)
    chosen = check_metrics(metrics.split(",")) if metrics else []
    _check_options(systems, beam, bootstrap, test, seed)
    report, method = ReadReport(), test or SignificanceTest.bootstrap
    resampling = Resampling(bootstrap, SEED if seed is None else seed, method.value)
    _check_models_only(systems, attention=attention_statistics, gold=gold_alignment is not None)
    table = table_settings(columns, header, delimiter)
    if source is None:
        about_source = {
            "--train-source": train_source,
            "--columns": columns,
            "--header": header,
            "--delimiter": delimiter,
        }
        _check_source_unused(systems, about_source)
    targets = target or []
    first_target = targets[0] if targets else None
    reference_set = read_test_set(
        source,
        first_target,
        other_targets=targets[1:],
        columns=split_columns(columns),
        header=table.header,
        delimiter=table.delimiter,
        gold=gold_alignment,
        report=report,
    )
    resampling.check(len(reference_set.pairs))
    training_counts = _frequencies(train_source, reference_set.sources)
    from_files = {
        system: read_translations(Path(system), reference_set)
        for system in systems
        if _is_file(system)
    }
    outputs = [
        from_files.get(system)
        or _translate(
            load_model(system, device, threads),
            system,
            reference_set,
            beam=beam or 0,
            attention=attention_statistics,
        )
        for system in systems
    ]
    target_language = named_language or _language(outputs) or language_of(str(first_target or ""))
    results = score_systems(
        outputs,
        reference_set,
        language=target_language,
        metrics=chosen or _metrics(outputs),
        resampling=resampling,
        training_counts=training_counts,
        raw=raw,
        on_progress=throttled(logger.info),
    )
    for line in report.lines():
        print(line, file=sys.stderr)
    scored_by_class = any(result.class_report for result in results)
    for line in _warnings(outputs, reference_set, target_language, as_text=not scored_by_class):
        warn(line)
    if as_json:
        typer.echo(_results_json(results, reference_set, resampling))
    else:
        typer.echo(_results_table(results, resampling))


def _check_exist(systems: Iterable[str]) -> None:
    """Raise an error for a system that is neither a model nor a file."""
    from dhyan.data.text_lines import file_error, suggest_path

    for system in systems:
        path = Path(system)
        if not is_model(system) and not path.exists():
            reason = f"neither a model folder nor a file of translations{suggest_name(system)}"
            raise file_error(path, 0, f"{reason}; {suggest_path(path)}")


def _is_file(system: str) -> bool:
    """Whether a system is a file of translations."""
    return not is_model(system) and Path(system).is_file()


def _check_options(
    systems: Iterable[str],
    beam: int | None,
    bootstrap: int,
    test: SignificanceTest | None,
    seed: int | None,
) -> None:
    """Raise an error for an option that would have no effect."""
    if beam and all(map(_is_file, systems)):
        raise UserError(
            "--beam is for models, and only files of translations are named; leave it out"
        )
    for flag, value in (("--test", test), ("--seed", seed)):
        if value is not None and not bootstrap:
            raise UserError(f"{flag} has no effect with --bootstrap 0; leave one out")


def _check_models_only(systems: Iterable[str], *, attention: bool, gold: bool) -> None:
    """Raise an error for a file of translations where attention is needed."""
    flag = "--attention-statistics" if attention else "--gold-alignment" if gold else ""
    for system in systems:
        if flag and _is_file(system):
            raise UserError(f"{system}: a file of translations has no attention; leave out {flag}")


def _check_source_unused(systems: Iterable[str], options: Mapping[str, object]) -> None:
    """Raise an error for a model or an option that needs the source text."""
    for system in systems:
        if is_model(system):
            raise UserError(f"{system}: a model needs a text to translate; name it with --source")
    for flag, value in options.items():
        if value:
            raise UserError(f"{flag} is about the source text; name it with --source")


def _translate(
    translator: "Translator",
    name: str,
    reference_set: "ReferenceSet",
    *,
    beam: int,
    attention: bool,
) -> "SystemOutput":
    """The translations of a model, after a warning if the test set is not in its language."""
    from dhyan.data.text_lines import printable
    from dhyan.decoding.source_language_check import LanguageCheck
    from dhyan.run.evaluate import translate_test_set

    check = LanguageCheck.of(translator)
    check.add(reference_set.sources)
    if line := check.warning():
        warn(f"{printable(reference_set.file)}: {line}")
    return translate_test_set(
        translator,
        name,
        reference_set,
        beam=beam,
        attention=attention,
        on_progress=ProgressLines(lines=lambda: len(reference_set.pairs)).update,
    )


def _warnings(
    outputs: "Iterable[SystemOutput]",
    reference_set: "ReferenceSet",
    language: str,
    *,
    as_text: bool,
) -> Iterator[str]:
    """Texts that seem to be in another language or in another order; labels and tags are neither."""
    from dhyan.data.text_lines import printable
    from dhyan.decoding.source_language_check import script_warning
    from dhyan.run.evaluate import is_out_of_order

    references = printable(reference_set.reference_file or reference_set.file)
    if blank := reference_set.blank_references:
        yield f"{blank:,} further references are blank; each counts as an empty one, as in sacreBLEU"
    if not as_text:
        return
    if line := script_warning(reference_set.references, language):
        yield f"{references}: references: {line}"
    for output in outputs:
        if output.beam:
            continue
        if line := script_warning(output.texts, language):
            yield f"{output.name}: {line}"
        elif is_out_of_order(output.texts, reference_set.references):
            yield f"{output.name}: {OUT_OF_ORDER}"


def _frequencies(file: Path | None, sentences: list[str]) -> "Counter[str] | None":
    """How often each word of the sentences occurs in a training text."""
    from dhyan.data.text_lines import TABLE_SUFFIXES, file_error, format_suffix, read_lines
    from dhyan.evaluation.slices import frequencies

    if file is None:
        return None
    if format_suffix(file) in TABLE_SUFFIXES:
        raise file_error(file, 0, "is a table; give the source side alone, one sentence a line")
    return frequencies(read_lines(file), sentences)


def _language(systems: "Iterable[SystemOutput]") -> str:
    """The target language of the models, which must agree on it."""
    languages = {system.language: system.name for system in systems if system.language}
    if len(languages) > 1:
        (language, first), (other, second), *_ = languages.items()
        both = f"{first} translates into {language!r}, {second} into {other!r}"
        raise UserError(f"{both}: compare systems of one language, or name it with --language")
    return next(iter(languages), "")


def _metrics(systems: "Iterable[SystemOutput]") -> list[str]:
    """The metrics of the models' task; files without a model are taken for translations."""
    from dhyan.tasks import find_task

    names = {system.task: system.name for system in systems if system.task}
    if len(names) > 1:
        (one, first), (other, second), *_ = names.items()
        both = f"the task of {first} is {one!r}, that of {second} {other!r}"
        raise UserError(f"{both}: compare systems of one task, or name --metrics")
    task = find_task(next(iter(names), "translate"))
    return [*task.metrics, *task.slow_metrics]


def _results_json(
    results: "Sequence[SystemResult]", reference_set: "ReferenceSet", resampling: "Resampling"
) -> str:
    """Scores of one system, or the test and a list of all systems."""
    facts: dict[str, Any] = {
        "sentences": len(reference_set.pairs),
        "references": reference_set.reference_count,
    }
    if len(results) == 1:
        facts |= _facts(results[0])
    else:
        test = {"name": resampling.test, "resamples": resampling.resamples}
        trials = {"trials": resampling.trials} if resampling.test == "randomisation" else {}
        facts["test"] = {**test, **trials, "seed": resampling.seed}
        facts["systems"] = [_facts(result) for result in results]
    return json.dumps(facts, ensure_ascii=False)


def _results_table(results: "Sequence[SystemResult]", resampling: "Resampling") -> str:
    """All scores, then slices, then attention statistics."""
    lines = _one_system(results[0].scores) if len(results) == 1 else _systems(results, resampling)
    if results[0].by_length:
        lines += _slices("source words", [result.by_length for result in results])
    if results[0].by_rarity:
        lines += _slices("rarest seen", [result.by_rarity for result in results])
    names = [f"[{number}] " for number in range(1, len(results) + 1)] if results[1:] else [""]
    for name, result in zip(names, results, strict=True):
        if report := result.class_report:
            title = f"{name}{result.scores.scores[report.metric].name} by class"
            lines += ["", title, *report.lines()]
    for name, result in zip(names, results, strict=True):
        remarks = [f"{name}{line}" for line in _remarks(result.system)]
        lines += ["", *remarks] if remarks else []
    return "\n".join(lines)


def _facts(result: "SystemResult") -> dict[str, Any]:
    system, system_scores = result.system, result.scores
    scores = {key: asdict(score) for key, score in system_scores.scores.items()}
    for key, interval in system_scores.intervals.items():
        scores[key]["interval"] = asdict(interval)
    for key, difference in system_scores.differences.items():
        scores[key]["against_first"] = asdict(difference)
    facts: dict[str, Any] = {"system": system.name, "beam": system.beam}
    facts |= {"cut_off": system.cut_off, "empty": system.empty, "scores": scores}
    if system.source_words:
        count, share = system.unknown_words, system.unknown_words / system.source_words
        facts["unknown_words"] = {"count": count, "share": round(share, 6)}
    if result.class_report:
        facts["class_report"] = asdict(result.class_report)
    if result.by_length:
        facts["by_length"] = [asdict(part) for part in result.by_length]
    if result.by_rarity:
        facts["by_rarity"] = [asdict(part) for part in result.by_rarity]
    for key, statistics in (("alignment", system.alignment), ("attention", system.attention)):
        if statistics:
            facts[key] = asdict(statistics)
    if system.lacks_attention:
        facts["lacks_attention"] = True
    return facts


def _one_system(system_scores: "SystemScores") -> list[str]:
    width = max(len(_value(system_scores, key)) for key in system_scores.scores)
    wide = _width(system_scores)
    return [
        f"{score.name:<{wide}} {_value(system_scores, key):<{width}}   {score.signature}"
        f"{'   (lower is better)' if score.lower_is_better else ''}"
        for key, score in system_scores.scores.items()
    ]


def _systems(results: "Sequence[SystemResult]", resampling: "Resampling") -> list[str]:
    names = [f"[{number}] {result.system.name}" for number, result in enumerate(results, 1)]
    wide, scores = max(map(len, names)), results[-1].scores.scores
    titles = [
        f"{score.name}{' (lower is better)' * score.lower_is_better}" for score in scores.values()
    ]
    lines = [" " * wide + "".join(f"   {title:<24}" for title in titles).rstrip()]
    for name, result in zip(names, results, strict=True):
        cells = [_cell(result.scores, key) for key in scores]
        lines.append(f"{name:<{wide}}" + "".join(f"   {cell:<24}" for cell in cells).rstrip())
    name_width = _width(results[-1].scores)
    lines += ["", *(f"{score.name:<{name_width}} {score.signature}" for score in scores.values())]
    if resampling.resamples:
        how = TESTS[resampling.test].format(
            resamples=resampling.resamples, trials=resampling.trials
        )
        lines.append(f"p: probability of such a difference from [1] by chance; {how}")
    return lines


def _width(system_scores: "SystemScores") -> int:
    """The width of the names of the metrics."""
    return max(7, *(len(score.name) for score in system_scores.scores.values()))


def _cell(system_scores: "SystemScores", key: str) -> str:
    difference = system_scores.differences.get(key)
    return _value(system_scores, key) + (f"  p {difference.p:.4f}" if difference else "")


def _value(system_scores: "SystemScores", key: str) -> str:
    margin = system_scores.intervals.get(key)
    return f"{system_scores.scores[key].value:6.2f}" + (f" ± {margin.margin:.2f}" if margin else "")


def _slices(title: str, systems: "Sequence[Sequence[Slice]]") -> list[str]:
    """A row for each part: all scores of one system, or the first score of each of several."""
    heads = [score.name for score in systems[0][0].scores.values()]
    if len(systems) > 1:
        heads = [f"{heads[0]} [{number}]" for number in range(1, len(systems) + 1)]
    widths = [max(10, len(head)) for head in heads]
    columns = "".join(f" {head:>{width}}" for head, width in zip(heads, widths, strict=True))
    lines = ["", f"{title:>12} {'sentences':>10}{columns}"]
    for parts in zip(*systems, strict=True):
        scores = [list(part.scores.values()) for part in parts]
        cells = scores[0] if len(parts) == 1 else [own[0] for own in scores]
        row = f"{_range(parts[0]):>12} {parts[0].sentences:>10,}"
        values = zip(cells, widths, strict=True)
        lines.append(row + "".join(f" {score.value:>{width}.2f}" for score, width in values))
    return lines


def _range(part: "Slice") -> str:
    if part.most is None:
        return f"{part.least}+"
    return f"{part.least}–{part.most}" if part.most > part.least else f"{part.least}"


def _remarks(system: "SystemOutput") -> list[str]:
    """Alignment, attention, translations that were cut off or are empty."""
    lines = []
    if alignment := system.alignment:
        rates = f"precision {alignment.precision:.3f}, recall {alignment.recall:.3f}"
        lines.append(f"alignment error rate {alignment.error_rate:.3f}, {rates}")
    if attention := system.attention:
        share = f"{attention.entropy_bits:.2f} bits ({attention.relative_entropy:.0%} of the most)"
        lines.append(f"attention entropy {share}, coverage {attention.coverage:.3f}")
    if system.lacks_attention:
        lines.append(NO_ATTENTION)
    if system.cut_off:
        lines.append(f"{system.cut_off:,} translations were cut off at the length limit")
    if system.empty:
        lines.append(f"{system.empty:,} translations are empty")
    if system.unknown_words:
        share = f"{system.unknown_words / system.source_words:.1%} of {system.source_words:,}"
        count = f"{system.unknown_words:,} source words"
        lines.append(f"{count} are unknown, {UNKNOWN_TO_MODEL} ({share})")
    return lines
