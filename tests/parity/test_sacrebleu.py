"""Our figures and signatures are those of sacreBLEU's own command line, digit for digit."""

import json
import os
import random
import subprocess
import sys

import pytest
from sacrebleu.significance import PairedTest

from dhyan.evaluation.metrics import bleu_tokenizer, count
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


def made_up(language, sentences=25):
    """References and two systems that say some of their words."""
    chance, words = random.Random(4), WORDS[language]
    wanted = [" ".join(chance.choices(words, k=chance.randint(1, 12))) for _ in range(sentences)]
    systems = []
    for share in (0.4, 0.3):
        said = [_spoiled(text.split(), words, share, chance) for text in wanted]
        systems.append([*said[:-1], ""])
    return wanted, *systems


def _spoiled(text, words, share, chance):
    kept = [chance.choice(words) if chance.random() < share else word for word in text]
    turn = chance.randrange(len(kept))
    return " ".join(kept[turn:] + kept[:turn])


def plain(texts):
    """Without what dhyan's normal form would change, so that both read the same."""
    return [text.replace("“", '"').replace("”", '"') for text in texts]


def command_line(folder, language, references, *systems, options=(), seed=12345):
    """What `sacrebleu` prints, as JSON."""
    names = []
    for place, texts in enumerate((references, *systems)):
        names.append(folder / f"{place}.txt")
        names[-1].write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    line = [sys.executable, "-m", "sacrebleu", names[0], "-i", *names[1:], "-m", "bleu", "chrf",
            "ter", "--chrf-word-order", 2, *OPTIONS[language], "-w", DIGITS, "-f", "json",
            *options]  # fmt: skip
    done = subprocess.run(
        list(map(str, line)),
        capture_output=True,
        env={**os.environ, "SACREBLEU_SEED": str(seed), "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("language", WORDS)
def test_scores_intervals_and_signatures_equal_the_command_line(language, tmp_path):
    wanted, said, _ = map(plain, made_up(language))
    assert bleu_tokenizer(language, wanted) == OPTIONS[language][1]
    ours = score_system(count(said, wanted, language=language), resampling=Resampling(100, seed=9))
    options = ["--confidence", "--confidence-n", 100]
    theirs = command_line(tmp_path, language, wanted, said, options=options, seed=9)
    assert len(theirs) == 3
    for found in theirs:
        [key] = [key for key, score in ours.scores.items() if score.name == _name(found)]
        assert round(ours.scores[key].value, DIGITS) == found["score"]
        assert ours.scores[key].signature == found["signature"]
        assert ours.intervals[key].mean == pytest.approx(found["confidence_mean"], rel=1e-5)
        assert ours.intervals[key].margin == pytest.approx(found["confidence_var"], rel=1e-4)


def _name(found):
    return {"chrF2++": "chrF++"}.get(found["name"], found["name"])


@pytest.mark.parametrize(
    ("test", "kind", "draws"), [("bootstrap", "bs", 100), ("randomisation", "ar", 1000)]
)
def test_p_values_equal_sacrebleu(test, kind, draws, monkeypatch):
    """For BLEU and chrF++; TER's whole numbers make ties, which we count and sacreBLEU does not."""
    wanted, one, other = map(plain, made_up("hi"))
    baseline, system = (count(said, wanted, language="hi") for said in (one, other))
    ours = score_system(system, baseline=baseline, resampling=Resampling(100, seed=9, test=test))
    monkeypatch.setenv("SACREBLEU_SEED", "9")
    metrics = {name.upper(): counts.metric for name, counts in system.items()}
    test = PairedTest([("one", one), ("other", other)], metrics, [wanted], kind, draws, 100)
    signatures, theirs = test()
    for key, name in (("bleu", "BLEU"), ("chrf", "chrF2++")):
        assert ours.differences[key].p == theirs[name][1].p_value
        assert sorted(ours.scores[key].signature.split("|")) == sorted(
            str(signatures[name]).split("|")
        )
    assert ours.differences["ter"].p >= theirs["TER"][1].p_value


def test_the_same_words_are_read_where_the_normal_form_changes_nothing():
    wanted, said, _ = map(plain, made_up("hi"))
    assert not any(one.normalized for one in count(said, wanted, language="hi").values())
