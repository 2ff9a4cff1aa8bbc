"""Our figures and signatures are those of sacreBLEU's own command line, digit for digit."""

import json
import os
import random
import subprocess
import sys

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest
from typer.testing import CliRunner

from dhyan.cli import app
from dhyan.evaluation.metrics import count
from dhyan.evaluation.sacrebleu_metrics import bleu_tokenizer
from dhyan.evaluation.significance import Resampling, score_system

WORDS = {
    "hi": "घर, पानी लड़की किताब जाता है। मैं तुम! “सुंदर” नदी आज कल १२.५ 3,000 (राम) क्यों?".split(),
    "en": "house, water girl's book goes. I you! “fair” river today 12.5 3,000 (Ram) why?".split(),
}
OPTIONS = {
    "hi": ["--tokenize", "intl", "--ter-normalized"],
    "en": ["--tokenize", "13a"],
}
DIGITS = 12


def random_systems(language, sentences=25):
    """References and two systems that say some of their words."""
    references, _, *systems = random_references(language, sentences)
    return references, *systems


def random_references(language, sentences=25):
    """References, three further references of each sentence, and two systems."""
    rng, words = random.Random(4), WORDS[language]
    references = [" ".join(rng.choices(words, k=rng.randint(1, 12))) for _ in range(sentences)]
    systems = []
    for share in (0.4, 0.3):
        hypotheses = [_with_errors(text.split(), words, share, rng) for text in references]
        systems.append([*hypotheses[:-1], ""])
    others = [
        [_with_errors(text.split(), words, share, rng) for text in references]
        for share in (0.2, 0.5, 0.8)
    ]
    return references, others, *systems


def _with_errors(text, words, share, rng):
    words_with_errors = [rng.choice(words) if rng.random() < share else word for word in text]
    turn = rng.randrange(len(words_with_errors))
    return " ".join(words_with_errors[turn:] + words_with_errors[:turn])


def plain(texts):
    """Without what dhyan's normal form would change, so that both read the same."""
    return [text.replace("“", '"').replace("”", '"') for text in texts]


def command_line(folder, language, references, *systems, others=(), options=(), seed=12345):
    """What `sacrebleu` prints, as JSON; `others` are further references."""
    names = []
    for index, texts in enumerate((references, *others, *systems)):
        names.append(folder / f"{index}.txt")
        names[-1].write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    count = 1 + len(others)
    line = [sys.executable, "-m", "sacrebleu", *names[:count], "-i", *names[count:], "-m", "bleu",
            "chrf", "ter", "--chrf-word-order", 2, *OPTIONS[language], "-w", DIGITS, "-f", "json",
            *options]  # fmt: skip
    process = subprocess.run(
        list(map(str, line)),
        capture_output=True,
        env={**os.environ, "SACREBLEU_SEED": str(seed), "PYTHONIOENCODING": "utf-8"},
    )
    assert process.returncode == 0, process.stderr.decode()
    return json.loads(process.stdout)


@pytest.mark.parametrize("language", WORDS)
def test_scores_intervals_and_signatures_equal_the_command_line(language, tmp_path):
    references, hypotheses, _ = map(plain, random_systems(language))
    assert bleu_tokenizer(language, references) == OPTIONS[language][1]
    ours = score_system(
        count(hypotheses, references, language=language), resampling=Resampling(100, seed=9)
    )
    options = ["--confidence", "--confidence-n", 100]
    theirs = command_line(tmp_path, language, references, hypotheses, options=options, seed=9)
    assert len(theirs) == 3
    for result in theirs:
        [key] = [key for key, score in ours.scores.items() if score.name == _name(result)]
        assert round(ours.scores[key].value, DIGITS) == result["score"]
        assert ours.scores[key].signature == result["signature"]
        assert ours.intervals[key].mean == pytest.approx(result["confidence_mean"], rel=1e-5)
        assert ours.intervals[key].margin == pytest.approx(result["confidence_var"], rel=1e-4)


def _name(result):
    return {"chrF2++": "chrF++"}.get(result["name"], result["name"])


@pytest.mark.parametrize(
    ("test", "sacrebleu_test", "draws"), [("bootstrap", "bs", 100), ("randomisation", "ar", 1000)]
)
@pytest.mark.parametrize("reference_count", [1, 4])
def test_p_values_equal_sacrebleu(test, sacrebleu_test, draws, reference_count, monkeypatch):
    """For BLEU and chrF++; TER's whole numbers make ties, which we count and sacreBLEU does not."""
    references, others, baseline_texts, system_texts = random_references("hi")
    others = [plain(texts) for texts in others[: reference_count - 1]]
    references, baseline_texts, system_texts = map(
        plain, (references, baseline_texts, system_texts)
    )
    baseline, system = (
        count(hypotheses, references, others=list(zip(*others, strict=True)), language="hi")
        for hypotheses in (baseline_texts, system_texts)
    )
    ours = score_system(system, baseline=baseline, resampling=Resampling(100, seed=9, test=test))
    monkeypatch.setenv("SACREBLEU_SEED", "9")
    metrics = {
        "BLEU": BLEU(tokenize="intl"),
        "CHRF": CHRF(word_order=2),
        "TER": TER(normalized=True),
    }
    test = PairedTest(
        [("one", baseline_texts), ("other", system_texts)],
        metrics,
        [references, *others],
        sacrebleu_test,
        draws,
        100,
    )
    signatures, theirs = test()
    for key, name in (("bleu", "BLEU"), ("chrf", "chrF2++")):
        assert ours.differences[key].p == theirs[name][1].p_value
        assert sorted(ours.scores[key].signature.split("|")) == sorted(
            str(signatures[name]).split("|")
        )
    assert ours.differences["ter"].p >= theirs["TER"][1].p_value


@pytest.mark.parametrize("language", WORDS)
def test_several_references_equal_the_command_line(language, tmp_path):
    """`evaluate --json` with three references against sacreBLEU's with the same files."""
    references, others, hypotheses, _ = random_references(language)
    references, hypotheses, *others = map(plain, (references, hypotheses, *others[:2]))
    others[1][3] = ""  # a blank line counts, as an empty reference
    options = ["--confidence", "--confidence-n", 100]
    theirs = command_line(
        tmp_path, language, references, hypotheses, others=others, options=options, seed=9
    )
    targets = [part for name in "012" for part in ("--target", tmp_path / f"{name}.txt")]
    line = ["evaluate", tmp_path / "3.txt", *targets, "--language", language, "--json",
            "--bootstrap", 100, "--seed", 9]  # fmt: skip
    invocation = CliRunner().invoke(app, list(map(str, line)))
    assert invocation.exit_code == 0, invocation.output
    ours = json.loads(invocation.stdout)
    assert ours["references"] == 3
    for result in theirs:
        [score] = [score for score in ours["scores"].values() if score["name"] == _name(result)]
        assert round(score["value"], DIGITS) == result["score"]
        assert score["signature"] == result["signature"]
        assert score["signature"].startswith("nrefs:3|")
        assert score["interval"]["mean"] == pytest.approx(result["confidence_mean"], rel=1e-5)
        assert score["interval"]["margin"] == pytest.approx(result["confidence_var"], rel=1e-4)


def test_the_same_words_are_read_where_the_normal_form_changes_nothing():
    references, hypotheses, _ = map(plain, random_systems("hi"))
    assert not any(
        counts.normalized for counts in count(hypotheses, references, language="hi").values()
    )


def test_raw_text_scores_as_on_the_command_line(tmp_path):
    """`evaluate --raw` with curly quotes, which the normal form would change."""
    references, hypotheses, _ = random_systems("en")
    references = [f"“{text}”" for text in references]
    theirs = command_line(tmp_path, "en", references, hypotheses)
    line = ["evaluate", tmp_path / "1.txt", "--target", tmp_path / "0.txt", "--language", "en"]
    line += ["--json", "--bootstrap", 0]
    values = []
    for options in ([], ["--raw"]):
        invocation = CliRunner().invoke(app, list(map(str, [*line, *options])))
        assert invocation.exit_code == 0, invocation.output
        values.append(json.loads(invocation.stdout)["scores"])
    for result in theirs:
        [normal], [raw] = (
            [score for score in scores.values() if score["name"] == _name(result)]
            for scores in values
        )
        assert round(raw["value"], DIGITS) == result["score"]
        assert raw["signature"] == result["signature"]
        assert normal["signature"].endswith("|text:dhyan-normal")
