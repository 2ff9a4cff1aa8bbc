"""The metrics of the package; each is registered by its name."""

from collections.abc import Sequence

from dhyan.evaluation import classification, comet, edit_distance, rouge, sacrebleu_metrics
from dhyan.evaluation.metric import (
    Metric,
    Totals,
    ratio,
    register_metric,
    signature_of,
    single_spaces,
)

for metric in (sacrebleu_metrics.bleu(), sacrebleu_metrics.chrf(), sacrebleu_metrics.ter()):
    register_metric(metric)

ACCURACY = register_metric(
    Metric(
        name="accuracy",
        label="accuracy",
        about="Share of the labels that are right.",
        counts=classification.label_counts,
        score=classification.accuracy,
        sign=signature_of(unit="label", refs="any"),
        normalize=single_spaces,
        classes=classification.confusion_counts,
    )
)
MACRO_F1 = register_metric(
    Metric(
        name="macro_f1",
        label="macro-F1",
        about="Mean of the F1 of all labels that occur.",
        counts=classification.label_counts,
        score=classification.macro_f1,
        sign=signature_of(unit="label", refs="any", average="macro"),
        normalize=single_spaces,
        classes=classification.confusion_counts,
    )
)
SPAN_F1 = register_metric(
    Metric(
        name="span_f1",
        label="span F1",
        about="F1 of the spans of IOB2 tags, read strictly; a span is right with type and ends.",
        counts=classification.span_counts,
        score=classification.span_f1,
        sign=signature_of(scheme="IOB2-strict", refs="best", average="micro"),
        normalize=single_spaces,
        classes=classification.span_classes,
    )
)
TAG_ACCURACY = register_metric(
    Metric(
        name="tag_accuracy",
        label="tag accuracy",
        about="Share of the words whose tag is right.",
        counts=classification.tag_counts,
        score=classification.accuracy,
        sign=signature_of(unit="tag", refs="best"),
        normalize=single_spaces,
        classes=classification.confusion_counts,
    )
)


def _rouge(name: str, label: str, about: str, overlap: rouge.Overlap) -> Metric:
    return Metric(
        name=name,
        label=label,
        about=f"ROUGE (Lin, 2004): mean F1 of {about}.",
        counts=rouge.rouge_counts(overlap),
        score=rouge.mean_f1,
        sign=signature_of(case="lc", tok="unicode-words", stem="none", refs="best", average="mean"),
    )


ROUGE_1 = register_metric(_rouge("rouge1", "ROUGE-1", "words", rouge.shared_words))
ROUGE_2 = register_metric(
    _rouge("rouge2", "ROUGE-2", "pairs of neighbouring words", rouge.shared_bigrams)
)
ROUGE_L = register_metric(
    _rouge("rougeL", "ROUGE-L", "the longest common subsequence", rouge.shared_subsequence)
)


def _exact_counts(hypothesis: str, references: Sequence[str]) -> Totals:
    return {"correct": int(hypothesis in references), "sentences": 1}


def _exact_share(totals: Totals) -> float:
    return ratio(totals["correct"], totals["sentences"])


EXACT = register_metric(
    Metric(
        name="exact",
        label="exact match",
        about="Share of the outputs that equal a reference.",
        counts=_exact_counts,
        score=_exact_share,
        sign=signature_of(case="mixed", refs="any"),
    )
)
CER = register_metric(
    Metric(
        name="cer",
        label="CER",
        about="Character error rate: edits per character of the closest reference.",
        counts=edit_distance.error_counts(list),
        score=edit_distance.error_rate,
        sign=signature_of(case="mixed", unit="code-point", space="yes", refs="closest"),
        lower_is_better=True,
    )
)
WER = register_metric(
    Metric(
        name="wer",
        label="WER",
        about="Word error rate: edits per word of the closest reference.",
        counts=edit_distance.error_counts(str.split),
        score=edit_distance.error_rate,
        sign=signature_of(case="mixed", tok="spaces", punct="yes", refs="closest"),
        lower_is_better=True,
    )
)
COMET = register_metric(comet.COMET)
