"""What is said of scores follows from the sentences."""

import pytest

from dhyan.compare.scores import best_model, score_models, score_retained, targeted_accuracy
from dhyan.compare.test_sets import (
    EvaluationExample,
    EvaluationSet,
    EvaluationSets,
    file_tests,
    read_tests,
    write_tests,
)
from dhyan.data.primer import TranslationCheck
from dhyan.errors import UserError
from dhyan.evaluation.metrics import count
from dhyan.evaluation.significance import Resampling
from dhyan.run.evaluate import read_test_set

BANK = TranslationCheck("context", "bank", ("किनारे",), ("बैंक",))


def results_of(**texts_by_model):
    return {
        name: {
            "translations": {"test": {"texts": texts, "cut_off": 0, "empty": 0}},
            "beam": 5,
            "language": "hi",
        }
        for name, texts in texts_by_model.items()
    }


def sentences(count, words):
    return [" ".join(f"w{place + number}" for place in range(words)) for number in range(count)]


def test_each_model_is_compared_with_the_best():
    references = sentences(20, 6)
    worse = [text.replace("w3", "x") for text in references]
    examples = tuple(EvaluationExample(text, text) for text in references)
    tests = EvaluationSets((EvaluationSet("test", "", examples),), EvaluationSet("valid", "", ()))
    scores = score_models(
        tests,
        results_of(worse=worse, best=references),
        metrics=("bleu", "chrf"),
        resampling=Resampling(50),
        on_progress=lambda line: None,
    )
    assert best_model(scores, "test", "bleu") == "best"
    assert "against_best" not in scores["best"]["test"]["bleu"]
    difference = scores["worse"]["test"]["bleu"]["against_best"]
    assert difference["value"] < 0
    assert scores["best"]["test"]["bleu"]["value"] == pytest.approx(100)
    [part] = scores["best"]["test"]["by_length"]
    assert (part["least"], part["most"], part["sentences"]) == (6, 10, 20)
    assert part["bleu_low"] <= part["bleu"] <= part["bleu_high"]


def test_of_an_error_rate_the_lowest_is_best_and_no_share_is_retained():
    references = [*sentences(5, 6), *sentences(5, 12)]
    worse = [text.replace("w3", "x") for text in references]
    examples = tuple(EvaluationExample(text, text) for text in references)
    tests = EvaluationSets((EvaluationSet("test", "", examples),), EvaluationSet("valid", "", ()))
    scores = score_models(
        tests,
        results_of(worse=worse, best=references),
        metrics=("wer", "exact"),
        resampling=Resampling(50),
        on_progress=lambda line: None,
    )
    assert best_model(scores, "test", "wer") == "best"
    assert scores["worse"]["test"]["wer"]["against_best"]["value"] > 0
    assert scores["worse"]["test"]["retained"] is None
    part = scores["worse"]["test"]["by_length"][0]
    assert part["wer_low"] <= part["wer"] <= part["wer_high"]


def test_retained_bleu_is_long_over_short():
    short, long = sentences(5, 8), sentences(5, 40)
    forgot = [" ".join(text.split()[:20]) for text in long]
    bleu = count([*short, *forgot], [*short, *long], tokenizer="none")["bleu"]
    lengths = [8] * 5 + [40] * 5
    retained = score_retained(bleu, lengths)
    assert (retained["up_to"], retained["over"]) == (10, 30)
    assert retained["share"] == pytest.approx(bleu.value(range(5, 10)) / bleu.value(range(5)))
    assert retained["share"] < 0.5


def test_without_long_sentences_the_last_slice_counts_as_long():
    texts = [*sentences(3, 4), *sentences(3, 14)]
    bleu = count(texts, texts, tokenizer="none")["bleu"]
    retained = score_retained(bleu, [4] * 3 + [14] * 3)
    assert (retained["up_to"], retained["over"], retained["share"]) == (10, 10, pytest.approx(1))
    assert score_retained(bleu, [4] * 6) is None


def test_targeted_accuracy_needs_the_right_word_and_no_wrong_one():
    examples = [EvaluationExample("the river bank", "नदी का किनारा", checks=(BANK,))] * 3 + [
        EvaluationExample("a", "b")
    ]
    texts = ["नदी के किनारे।", "नदी का बैंक", "बैंक के किनारे", "b"]
    accuracy = targeted_accuracy(examples, texts)
    assert (accuracy["right"], accuracy["sentences"]) == (1, 3)
    assert accuracy["by"] == {"context: bank": {"right": 1, "sentences": 3}}
    assert targeted_accuracy([EvaluationExample("a", "b")], ["b"]) is None


def test_other_references_count_and_empty_ones_too_as_in_sacrebleu():
    [text] = ["यह घर बहुत बड़ा है"]
    single = count([text], ["वह मकान छोटा था कल"], tokenizer="none")["bleu"].value()
    both = count([text], ["वह मकान छोटा था कल"], others=[(text, "")], tokenizer="none")
    none = count([text], ["वह मकान छोटा था कल"], others=[("", " ")], tokenizer="none")
    assert both["bleu"].value() == pytest.approx(100)
    assert none["bleu"].value() == single
    assert "nrefs:3" in both["bleu"].signature()
    assert "nrefs:3" in none["bleu"].signature()
    counts = count([text, text], [text, text], others=[(text,), ()], tokenizer="none")
    assert "nrefs:var" in counts["bleu"].signature()
    with pytest.raises(UserError, match="further references for 1 of 2"):
        count([text, text], [text, text], others=[()])


def test_the_signature_marks_normalised_references():
    plain = count(["a b"], ["a b"], others=[("c d",)], tokenizer="none")["bleu"]
    curly = count(["a b"], ["a b"], others=[("“c” d",)], tokenizer="none")["bleu"]
    assert "dhyan-normal" not in plain.signature()
    assert "dhyan-normal" in curly.signature()


def test_test_sets_survive_json(tmp_path):
    question = EvaluationExample("the bank", "किनारा", ("तट",), "0-0 1?0", (BANK,))
    tests = EvaluationSets(
        (EvaluationSet("test", "about", (question,)),), EvaluationSet("valid", "", (question,))
    )
    write_tests(tests, tmp_path)
    assert read_tests(tmp_path) == tests
    reference_set = tests.main.reference_set()
    assert reference_set.gold[0].sure == {(0, 0)}
    assert reference_set.gold[0].possible == {(0, 0), (1, 0)}
    assert reference_set.others == [("तट",)]


def test_half_of_the_gold_links_select_the_layer(tmp_path):
    lines = [f"a{n} b{n}\n" for n in range(6)]
    for name in ("t.en", "t.hi"):
        (tmp_path / name).write_text("".join(lines))
    (tmp_path / "t.gold").write_text("0-0 1?1\n" * 6)
    tests = file_tests(
        read_test_set(tmp_path / "t.en", tmp_path / "t.hi", gold=tmp_path / "t.gold")
    )
    assert len(tests.main.examples) == 6
    chosen = {example.source for example in tests.selection.examples}
    scored = {example.source for example in tests.main.linked.examples}
    assert len(chosen) == len(scored) == 3
    assert not chosen & scored
    assert tests.main.linked.examples[0].links == "0-0 1?1"
