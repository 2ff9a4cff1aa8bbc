"""`dhyan.evaluate`: scores of a model, or of finished translations, on sentence pairs."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from dhyan.api.pairs import Columns, PairData, TableOptions, to_pairs
from dhyan.api.train import TrainingResult
from dhyan.config import DecodingChanges
from dhyan.config.sections import Delimiter, Header
from dhyan.decoding.source_language_check import LanguageCheck
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.evaluation.class_report import ClassReport, class_report
from dhyan.evaluation.metrics import Score, check_metrics, count, scores_of
from dhyan.notebook_display import html_table, make_frame
from dhyan.run import load
from dhyan.tasks import find_task

logger = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Evaluation(Mapping[str, float]):
    """Scores by metric, with their signatures, and the translations that were scored.

    It is a mapping from metrics to numbers. `class_report` has precision, recall and F1 by class,
    and the confusion matrix, of metrics that count classes, such as accuracy.

    >>> scores = dhyan.evaluate(run_folder, [("seven", "सात"), ("nine", "नौ")])
    >>> list(scores), scores["bleu"] == scores.scores["bleu"].value
    (['bleu', 'chrf'], True)
    >>> len(scores.translations)
    2
    """

    scores: Mapping[str, Score]
    sources: Sequence[str]
    references: Sequence[str]
    translations: Sequence[str]
    class_report: ClassReport | None = None

    def __getitem__(self, metric: str) -> float:
        return self.scores[metric].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def to_frame(self) -> Any:
        """The scores as a pandas DataFrame: a row for each metric."""
        scores = list(self.scores.values())
        columns: dict[str, Sequence[object]] = {
            "name": [score.name for score in scores],
            "score": [score.value for score in scores],
            "signature": [score.signature for score in scores],
        }
        return make_frame(columns, index=list(self.scores))

    def sentences_to_frame(self) -> Any:
        """The sentences as a pandas DataFrame: source, reference, translation."""
        columns = {"source": self.sources, "reference": self.references}
        return make_frame({**columns, "translation": self.translations})

    def __repr__(self) -> str:
        scores = ", ".join(f"{score.name} {score.value:.2f}" for score in self.scores.values())
        return f"Evaluation({scores}; sentences: {len(self.translations):,})"

    def _repr_html_(self) -> str:
        rows = [
            (score.name, f"{score.value:.2f}", score.signature) for score in self.scores.values()
        ]
        return html_table(("metric", f"{len(self.translations):,} sentences", "signature"), rows)


def evaluate(
    model: Translator | TrainingResult | str | Path | Sequence[str],
    data: PairData,
    metrics: Sequence[str] | None = None,
    *,
    columns: Columns | None = None,
    header: Header = "auto",
    delimiter: Delimiter = "",
    language: str = "",
    device: str = "auto",
    **changes: Unpack[DecodingChanges],
) -> Evaluation:
    """Translate the sources of `data` and score the translations against the targets.

    `model` is a translator, the result of `dhyan.train`, a model folder, the name of a pretrained
    model, or a list of finished translations. `data` has any form that `dhyan.train` takes, with
    the same `columns`, `header` and `delimiter`. `metrics` are by default those of the model's
    task, of translations `bleu` and `chrf`; `dhyan evaluate --help` lists all. The figures of
    `bleu`, `chrf` and `ter` are sacreBLEU's, and `language` chooses its tokenizer, by default that of
    the model. Further keywords are decoding options, such as `beam=1`.

    >>> dhyan.evaluate(["सात"], [("seven", "सात")], metrics=["chrf"])
    Evaluation(chrF++ 100.00; sentences: 1)
    """
    if _are_pairs(model):
        raise UserError("model: is a list of pairs; the order is dhyan.evaluate(model, data)")
    named = [metrics] if isinstance(metrics, str) else metrics
    chosen = None if named is None else check_metrics(named)
    stream = to_pairs(data, TableOptions(columns, header, delimiter))
    pairs = list(stream.pairs)
    sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    translator = _translator(model, device)
    if translator is None:
        if changes:
            raise UserError(
                f"{next(iter(changes))}: finished translations are not searched; leave it out"
            )
        translations = _finished(model, len(pairs))
    else:
        _warn_of_language(translator, sources)
        translations = [translation.text for translation in translator(sources, **changes)]
    language = language or (translator.language if translator else "") or stream.languages[1]
    if chosen is None:
        chosen = list(find_task(translator.task if translator else "translate").metrics)
    counts = count(translations, references, sources=sources, language=language, metrics=chosen)
    reports = filter(None, map(class_report, counts.values()))
    return Evaluation(scores_of(counts), sources, references, translations, next(reports, None))


def _are_pairs(model: object) -> bool:
    """Whether the data was given in the place of the model."""
    if not isinstance(model, list | tuple) or not model:
        return False
    return isinstance(model[0], list | tuple) and len(model[0]) == 2


def _translator(model: object, device: str) -> Translator | None:
    """The translator of a model; None for finished translations."""
    match model:
        case Translator():
            return model
        case TrainingResult():
            return model.translator
        case str() | Path():
            return load(model, device=device)
    return None


def _warn_of_language(translator: Translator, sources: Sequence[str]) -> None:
    """Log a warning if the sources look unlike the model's source language."""
    check = LanguageCheck.of(translator)
    check.add(sources)
    if warning := check.warning():
        logger.warning(f"data: {warning}")


def _finished(texts: Any, sentences: int) -> list[str]:
    """Finished translations, one for each source."""
    try:
        translations = list(texts)
    except TypeError:
        raise UserError(
            f"model: {type(texts).__name__} is not a model; give a translator, a model folder or a "
            f"list of translations"
        ) from None
    for number, text in enumerate(translations, 1):
        if not isinstance(text, str):
            raise UserError(f"model: translation {number} is {text!r:.60}, not a text")
    if len(translations) != sentences:
        raise UserError(
            f"model: {len(translations):,} translations for {sentences:,} pairs; give one for each"
        )
    return translations
