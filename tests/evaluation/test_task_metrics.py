"""Metrics of labels, tags, summaries and strings equal the field's packages, and obey laws."""

import random

import jiwer
import pytest
from rouge_score.rouge_scorer import RougeScorer
from seqeval.metrics import f1_score as seqeval_f1
from seqeval.scheme import IOB2
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

from dhyan.errors import UserError
from dhyan.evaluation.class_report import class_report
from dhyan.evaluation.edit_distance import common_subsequence, edit_distance
from dhyan.evaluation.metric import find_metric, metric_names
from dhyan.evaluation.metrics import count, score
from dhyan.evaluation.significance import interval, paired_bootstrap, randomisation

TAGS = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
LABELS = ["good", "bad", "so so"]
WORDS = "the cat sat on a mat , The Cat's 2 $5 self-made".split()
HINDI = "वह घर जाता है ज़मीन हिंदी क्षत्रिय पढ़ती लड़की २०२६".split()
VALUES = {
    "accuracy": LABELS, "macro_f1": LABELS, "span_f1": TAGS, "tag_accuracy": TAGS,
    **dict.fromkeys(("rouge1", "rouge2", "rougeL", "exact", "cer", "wer"), HINDI),
    **dict.fromkeys(("bleu", "chrf", "ter"), HINDI),
}  # fmt: skip
METRICS = list(VALUES)
OF_ALL_REFERENCES = ("bleu", "chrf", "ter")  # n-grams, or the mean length, of several together
ONE_UNIT = ("accuracy", "macro_f1")  # of which a sentence has one


def texts(seed, vocabulary, sentences=60, most=9, least=1):
    generator = random.Random(seed)
    return [
        " ".join(generator.choices(vocabulary, k=generator.randint(least, most)))
        for _ in range(sentences)
    ]


def sides(metric, seed=0, sentences=60):
    """Outputs and references; every output shares some parts with its reference."""
    generator = random.Random(seed)
    values = VALUES[metric]
    if metric in ONE_UNIT:
        return generator.choices(values, k=sentences), generator.choices(values, k=sentences)
    references = texts(seed, values, sentences, least=4)
    outputs = [
        " ".join(w if generator.random() < 0.6 else generator.choice(values) for w in text.split())
        for text in references
    ]
    return [references[0], *outputs[1:]], references


def value(metric, hypotheses, references, others=()):
    return count(hypotheses, references, others=others, metrics=[metric])[metric].value()


def test_every_registered_metric_of_the_package_is_tested_here():
    assert set(METRICS) <= set(metric_names())
    assert {find_metric(name).name for name in METRICS} == set(METRICS)


@pytest.mark.parametrize("seed", range(5))
def test_span_f1_equals_seqeval_strict_iob2(seed):
    generator = random.Random(seed)
    gold = [generator.choices(TAGS, k=generator.randint(1, 12)) for _ in range(80)]
    predicted = [
        [tag if generator.random() < 0.5 else generator.choice(TAGS) for tag in tags]
        for tags in gold
    ]
    theirs = seqeval_f1(gold, predicted, mode="strict", scheme=IOB2)
    ours = value("span_f1", [" ".join(tags) for tags in predicted], [" ".join(t) for t in gold])
    assert ours == pytest.approx(100 * theirs, abs=1e-12)
    assert 0 < ours < 100


def test_an_inside_tag_without_its_beginning_is_no_span():
    assert value("span_f1", ["I-PER O"], ["B-PER O"]) == 0
    assert value("span_f1", ["B-PER I-LOC B-LOC"], ["B-PER O B-LOC"]) == 100
    assert value("span_f1", ["B-PER I-PER O"], ["B-PER O O"]) == 0


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_macro_f1_and_confusion_equal_scikit_learn(seed):
    generator = random.Random(seed)
    gold = generator.choices(LABELS[:2], k=40)
    predicted = generator.choices(LABELS, k=40)  # one class is in no reference
    names = sorted(LABELS)
    precision, recall, f1, support = precision_recall_fscore_support(
        gold, predicted, labels=names, zero_division=0
    )
    counts = count(predicted, gold, metrics=["accuracy", "macro_f1"])
    assert counts["accuracy"].value() == pytest.approx(100 * accuracy_score(gold, predicted))
    assert counts["macro_f1"].value() == pytest.approx(100 * f1.mean(), abs=1e-12)
    report = class_report(counts["macro_f1"])
    for score_ in report.classes:
        at = names.index(score_.name)
        expected = [100 * precision[at], 100 * recall[at], 100 * f1[at], support[at]]
        found = [score_.precision, score_.recall, score_.f1, score_.references]
        assert found == pytest.approx(expected, abs=1e-12)
    order = [score_.name for score_ in report.classes]
    assert report.confusion == tuple(
        map(tuple, confusion_matrix(gold, predicted, labels=order).tolist())
    )


@pytest.mark.parametrize(
    ("metric", "name"), [("rouge1", "rouge1"), ("rouge2", "rouge2"), ("rougeL", "rougeL")]
)
@pytest.mark.parametrize("seed", range(3))
def test_rouge_equals_rouge_score_on_ascii(metric, name, seed):
    scorer = RougeScorer([name], use_stemmer=False)
    hypotheses, references, others = (texts(3 * seed + n, WORDS) for n in range(3))
    theirs = [
        scorer.score(reference, hypothesis)[name].fmeasure
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]
    ours = value(metric, hypotheses, references)
    assert ours == pytest.approx(100 * sum(theirs) / len(theirs), abs=1e-10)
    several = [
        scorer.score_multi([reference, other], hypothesis)[name].fmeasure
        for hypothesis, reference, other in zip(hypotheses, references, others, strict=True)
    ]
    with_others = value(metric, hypotheses, references, [(other,) for other in others])
    assert with_others == pytest.approx(100 * sum(several) / len(several), abs=1e-10)


def test_rouge_finds_words_of_devanagari_with_their_signs():
    assert value("rouge1", ["हिंदी की पढ़ाई।"], ["हिंदी की पढ़ाई ।"]) == 100
    assert value("rouge1", ["हिंदी"], ["हिदी"]) == 0, "a word without its sign is another word"
    assert RougeScorer(["rouge1"]).score("हिंदी", "हिंदी")["rouge1"].fmeasure == 0


@pytest.mark.parametrize("vocabulary", [WORDS, HINDI])
@pytest.mark.parametrize("seed", range(3))
def test_error_rates_equal_jiwer(vocabulary, seed):
    hypotheses, references = texts(seed, vocabulary), texts(100 + seed, vocabulary)
    assert value("wer", hypotheses, references) == pytest.approx(
        100 * jiwer.wer(references, hypotheses), abs=1e-10
    )
    assert value("cer", hypotheses, references) == pytest.approx(
        100 * jiwer.cer(references, hypotheses), abs=1e-10
    )


def plain_distance(first, second):
    """The table of the textbook, row by row."""
    row = list(range(len(second) + 1))
    for n, a in enumerate(first, 1):
        before, row = row, [n]
        for m, b in enumerate(second, 1):
            row.append(min(before[m] + 1, row[-1] + 1, before[m - 1] + (a != b)))
    return row[-1]


def plain_subsequence(first, second):
    """The same for the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for a in first:
        before, row = row, [0]
        for m, b in enumerate(second, 1):
            row.append(before[m - 1] + 1 if a == b else max(before[m], row[-1]))
    return row[-1]


def test_distances_by_bits_equal_the_textbook():
    generator = random.Random(0)
    for _ in range(500):
        first, second = (
            "".join(generator.choices("abc", k=generator.randint(0, 70))) for _ in "12"
        )
        assert edit_distance(first, second) == plain_distance(first, second)
        assert common_subsequence(first, second) == plain_subsequence(first, second)


def test_the_closest_of_several_references_counts():
    assert value("exact", ["b"], ["a"], [("b",)]) == 100
    assert value("accuracy", ["b"], ["a"], [("b",)]) == 100
    assert value("cer", ["abcd"], ["x"], [("abce",)]) == 25
    assert value("wer", ["a b"], ["a c d"], [("a b",)]) == 0
    assert value("tag_accuracy", ["B-PER O"], ["O B-PER"], [("B-PER O",)]) == 100
    assert value("span_f1", ["B-PER O"], ["O B-PER"], [("B-PER O",)]) == 100


@pytest.mark.parametrize("metric", [name for name in METRICS if name not in OF_ALL_REFERENCES])
def test_another_reference_never_makes_a_sentence_worse(metric):
    hypotheses, references = sides(metric)
    sign = -1 if find_metric(metric).lower_is_better else 1
    for hypothesis, reference, other in zip(
        hypotheses, references, references[1:] + references[:1], strict=True
    ):
        one = value(metric, [hypothesis], [reference])
        two = value(metric, [hypothesis], [reference], [(other,)])
        assert sign * two >= sign * one - 1e-9


@pytest.mark.parametrize("metric", METRICS)
def test_identical_texts_score_the_best(metric):
    hypotheses, references = sides(metric)
    lower = find_metric(metric).lower_is_better
    best = value(metric, references, references)
    assert best == pytest.approx(0 if lower else 100)
    other = value(metric, hypotheses, references)
    assert other > best if lower else other < best


@pytest.mark.parametrize("metric", METRICS)
def test_the_counts_of_a_corpus_are_the_sum_of_those_of_its_parts(metric):
    hypotheses, references = sides(metric)
    whole = count(hypotheses, references, metrics=[metric])[metric]
    parts = [
        count(hypotheses[rows], references[rows], metrics=[metric])[metric]
        for rows in (slice(0, 25), slice(25, None))
    ]
    sums = {
        key: sum(part.totals().get(key, 0) for part in parts)
        for key in {key for part in parts for key in part.totals()}
    }
    assert dict(whole.totals()) == pytest.approx(sums)
    assert whole.value(range(25)) == pytest.approx(parts[0].value())
    joined = parts[0].joined(parts[1])
    assert joined.value() == pytest.approx(whole.value())


@pytest.mark.parametrize("metric", METRICS)
def test_the_bootstrap_interval_contains_the_score(metric):
    counts = count(*sides(metric, sentences=80), metrics=[metric])[metric]
    confidence = interval(counts, resamples=100)
    assert confidence.low < counts.value() < confidence.high


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("compare", [paired_bootstrap, randomisation])
def test_a_perfect_system_differs_from_a_poor_one_and_a_system_from_itself_does_not(
    metric, compare
):
    hypotheses, references = sides(metric)
    poor, perfect = (
        count(texts, references, metrics=[metric])[metric] for texts in (hypotheses, references)
    )
    options = {"trials": 200} if compare is randomisation else {"resamples": 200}
    assert compare(poor, poor, **options).p == 1
    assert compare(poor, perfect, **options).p < 0.05


@pytest.mark.parametrize("metric", METRICS)
def test_an_empty_output_is_scored_not_refused(metric):
    hypotheses, references = sides(metric)
    empty = value(metric, [""] * len(references), references)
    assert empty == pytest.approx(100 if find_metric(metric).lower_is_better else 0)


def test_signatures_say_how_a_score_was_computed():
    scores = score(["घर"], ["घर"], metrics=["rouge1", "cer", "span_f1", "macro_f1"])
    signatures = {key: result.signature for key, result in scores.items()}
    assert "tok:unicode-words|stem:none" in signatures["rouge1"]
    assert "unit:code-point" in signatures["cer"]
    assert "scheme:IOB2-strict" in signatures["span_f1"]
    assert all(text.startswith("nrefs:1|") for text in signatures.values())
    several = count(["a", "b"], ["a", "b"], others=[("c",), ()], metrics=["wer"])["wer"]
    assert several.signature({"bs": 9}).startswith("nrefs:var|bs:9|")


def test_labels_and_tags_are_compared_as_they_are():
    assert value("accuracy", ["“a”"], ['"a"']) == 0
    assert value("exact", ["“a”"], ['"a"']) == 100
    assert value("accuracy", ["so  so"], ["so so"]) == 100


def test_a_missing_or_an_extra_tag_is_wrong():
    assert value("tag_accuracy", ["O"], ["O O"]) == 50
    assert value("tag_accuracy", ["O O O"], ["O"]) == pytest.approx(100 / 3)


def test_metrics_of_classes_alone_have_a_class_report():
    hypotheses, references = sides("tag_accuracy")
    counts = count(hypotheses, references, metrics=["span_f1", "tag_accuracy", "wer"])
    spans, tags = (class_report(counts[key]) for key in ("span_f1", "tag_accuracy"))
    assert {entry.name for entry in spans.classes} == {"PER", "LOC"}
    assert spans.confusion is None
    assert sum(map(sum, tags.confusion)) == sum(len(text.split()) for text in references)
    assert class_report(counts["wer"]) is None
    assert class_report(count(["O"], ["O"], metrics=["span_f1"])["span_f1"]) is None


def test_the_class_report_is_a_table():
    counts = count(["good", "", "good"], ["good", "bad", "bad"], metrics=["accuracy"])["accuracy"]
    lines = class_report(counts).lines()
    assert lines[0].split() == ["class", "precision", "recall", "F1", "references", "predicted"]
    assert lines[1].split() == ["bad", "0.00", "0.00", "0.00", "2", "0"]
    assert lines[2].split() == ["good", "50.00", "100.00", "66.67", "1", "2"]
    assert "rows are references, columns predictions" in lines[5]
    assert lines[6].split() == ["bad", "good", "(none)"]
    assert lines[7].split() == ["bad", "0", "1", "1"]


def test_an_unknown_metric_is_an_error_that_names_all():
    with pytest.raises(UserError, match="metric 'meteor' is not known: give one or more of bleu"):
        count(["a"], ["a"], metrics=["meteor"])
    assert list(score(["a"], ["a"], metrics=["ROUGEl"])) == ["rougeL"]
