"""Leakage: test sentences in the training text are detected, and training is refused."""

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dhyan.cli import app
from dhyan.config import load_recipe
from dhyan.data.corpus import load_corpus
from dhyan.data.leakage import MAX_SHARED, MIN_WORDS, LeakageDetector, fold_words
from dhyan.data.pairs import Pair
from dhyan.data.prepare import prepare
from dhyan.errors import UserError
from dhyan.text.normalize import normalize
from tests.tiny_models import as_arguments, tiny_settings

ENGLISH = [f"w{a}{b}" for a in "abcdefghijklmnopqrst" for b in "abcdefghijklmnopqrst"]
HINDI = [
    f"{a}{b}" for a in "कखगघचछजझटठडढणतथदधनपफ" for b in ("ा", "ि", "ी", "ु", "ू", "े", "ै", "ो", "ौ", "ं")
]


def sentences(rng, count, min_words=5, max_words=30):
    """Pairs of random words, with capitals and punctuation."""
    for line in range(1, count + 1):
        sides = [
            " ".join(rng.choices(words, k=rng.randint(min_words, max_words)))
            for words in (ENGLISH, HINDI)
        ]
        yield Pair(f"{sides[0].capitalize()}.", f"{sides[1]}।", line)


def other_spaces(text):
    words = text.split()
    return "\u00a0 ".join(words[:2]) + "\u200b\t" + "  ".join(["", *words[2:]])


def other_marks(text):
    return "“" + text.rstrip(".।").replace(" ", ", ", 1) + "!”"


def another_word(text, rng):
    words = text.split()
    words[rng.randrange(len(words))] = "zzz"
    return " ".join(words)


def cut_short(text, rng):
    words = text.split()
    return " ".join(words[: 3 * len(words) // 4])


CHANGES = {
    "the same": ("exact", lambda text, rng: text),
    "other case": ("folded", lambda text, rng: text.upper() + "?"),
    "other spaces": ("exact", lambda text, rng: other_spaces(text)),
    "other marks": ("folded", lambda text, rng: other_marks(text)),
    "another word": ("near", another_word),
    "cut short": ("near", cut_short),
}


def plant_copies(change_name, side, tests, rng):
    """A training text in which one pair in a hundred is a changed test sentence, on some side."""
    change, train = CHANGES[change_name][1], list(sentences(rng, 100 * len(tests)))
    for pair, index in zip(tests, rng.sample(range(len(train)), len(tests)), strict=True):
        old = train[index]
        train[index] = Pair(
            change(pair.source, rng) if side != "target" else old.source,
            change(pair.target, rng) if side != "source" else old.target,
            old.line,
        )
    return train


@pytest.mark.parametrize("count", [15, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.parametrize("planted_side", ["source", "target", "pair"])
@pytest.mark.parametrize("change_name", CHANGES)
def test_every_planted_copy_is_detected(change_name, planted_side, count):
    rng = random.Random(f"{change_name} {planted_side}")
    longer = {"another word": 8, "cut short": 11}.get(change_name, 5)
    tests = list(sentences(rng, count, min_words=longer))
    clean = list(sentences(rng, 9 * count))
    detector = LeakageDetector()
    detector.add_test(tests, "test")
    detector.add_test(clean, "clean")
    detector.scan(plant_copies(change_name, planted_side, tests, rng), "train")
    leaks = detector.report()
    sides = {"source", "target"} if planted_side == "pair" else {planted_side}
    for side in ("source", "target", "pair"):
        expected = count if side in sides or side == planted_side else 0
        assert len(leaks.matches[side]) == expected, side
        assert leaks.count(side, CHANGES[change_name][0]) == expected
    assert set(leaks.all) == set(range(count)), "no clean sentence matches"
    assert leaks.significant
    print(f"{change_name}, {planted_side}: {count} of {count} found, 0 of {9 * count} clean ones")


def test_clean_pairs_have_no_leakage():
    rng, detector = random.Random(5), LeakageDetector()
    detector.add_test(sentences(rng, 500), "test")
    detector.scan(sentences(rng, 4000), "train")
    assert not detector.report().all
    assert not detector.report().significant


def scan(tests, train):
    detector = LeakageDetector()
    detector.add_test([Pair(*pair, line) for line, pair in enumerate(tests, 1)], "test")
    detector.scan([Pair(*pair, line) for line, pair in enumerate(train, 1)], "train")
    return detector.report()


def test_a_match_names_the_files_of_the_side_that_matched():
    detector = LeakageDetector()
    same = "one and the same sentence"
    detector.add_test([Pair("a b c d e", same, 7), Pair(same, "f g h i j", 8)], "t.en", "t.vi")
    detector.scan([Pair("k l m n o", same, 3), Pair(same, "p q r s t", 4)], "a.en", "a.vi")
    report = detector.report()
    assert str(report.occurrences("target")) == "t.vi:7 = a.vi:3"
    assert str(report.occurrences("source")) == "t.en:8 = a.en:4"
    assert "first t.vi:7 = a.vi:3" in str(report)


def test_a_few_short_sentences_in_both_are_allowed():
    rest = [(f"long sentence number {n} of all", f"लंबा वाक्य क्रमांक {n} यहाँ") for n in range(19)]
    few = scan([("Thank you!", "धन्यवाद।"), *rest], [("thank you", "धन्यवाद")])
    assert (len(few.all), few.significant) == (1, False)
    over_limit = scan([("Yes.", "हाँ।"), ("No.", "नहीं।"), ("Ok.", "ठीक"), *rest[:17]],
                 [("yes", "हाँ"), ("no", "नहीं"), ("ok", "ठीक")])  # fmt: skip
    assert over_limit.significant
    long = scan([(" ".join("abcd"), "क"), *rest], [("A B, C d", "ख")])
    assert len("abcd") >= MIN_WORDS
    assert long.significant


def test_a_pair_matches_if_both_sides_are_in_the_same_pair():
    apart = scan([("a b c d e", "क ख ग घ च")], [("a b c d e", "x"), ("y", "क ख ग घ च")])
    assert [len(apart.matches[side]) for side in ("source", "target", "pair")] == [1, 1, 0]


def test_a_sentence_counts_once_as_its_strongest_match():
    leaks = scan(
        [("A b c d e.", "x")], [("a b c d e", "1"), ("A b c d e.", "2"), ("a b c d e", "3")]
    )
    assert leaks.count("source", "exact") == 1
    assert leaks.count("source", "folded") == 0
    assert str(leaks).endswith("first test:1 = train:2)")


@pytest.mark.parametrize("size", [8, 9, 12, 15, 16, 17, 30])
def test_one_substitution_insertion_or_deletion_is_a_near_match(size):
    words = [f"w{at}" for at in range(size)]
    for at in range(size):
        for new in ([*words[:at], "x", *words[at + 1 :]], [*words[:at], "x", *words[at:]],
                    words[:at] + words[at + 1 :]):  # fmt: skip
            leaks = scan([(" ".join(words), "x")], [(" ".join(new), "y")])
            assert leaks.count("source", "near") == 1, (at, new)


def test_two_changed_words_in_a_short_sentence_are_no_match():
    words = "the old man gave his daughter a small red book".split()
    changed = "the old man sold his daughter a small red car".split()
    assert not scan([(" ".join(words), "x")], [(" ".join(changed), "y")]).all
    assert not scan([("we go to school today", "x")], [("we go to town today", "y")]).all


def test_characters_are_words_in_scripts_without_spaces():
    assert fold_words("我喜欢read书") == ["我", "喜", "欢", "read", "书"]
    text = "这是一个很长的句子用来测试是否会被找到"
    assert scan([(text, "x")], [(text[:-3], "y")]).count("source", "near") == 1


AWKWARD = "aBéE\u0301कक़\u0958\u093c\u094d।|“▁ \t\u2028\u00a0\u200d\u200b\ufeff\u202e\x07ßİﬁ中"


@settings(deadline=None, derandomize=True, database=None)
@given(st.text() | st.text(alphabet=AWKWARD))
def test_folded_words_are_those_of_the_normal_form(text):
    assert fold_words(text) == fold_words(normalize(text))


def test_punctuation_alone_is_compared_exactly():
    assert not scan([("?!", "—")], [("…", "।")]).all
    assert len(scan([("?!", "—")], [("?!", "।")]).all) == 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files: a training text, a clean test, and one with every tenth sentence from training."""
    folder, rng = tmp_path_factory.mktemp("leaks"), random.Random(1)
    train, clean = list(sentences(rng, 400, 4, 12)), list(sentences(rng, 40, 4, 12))
    leaky = [train[7 * at + 3] if at % 10 == 0 else pair for at, pair in enumerate(clean)]
    for name, pairs in (("train", train), ("clean", clean), ("leaky", leaky)):
        for side, end in (("source", "en"), ("target", "hi")):
            lines = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
            (folder / f"{name}.{end}").write_text(lines, encoding="utf-8")
    return folder


def settings_with(folder, split, name, **settings):
    files = {f"data.{split}_source": str(folder / f"{name}.en")}
    files[f"data.{split}_target"] = str(folder / f"{name}.hi")
    return tiny_settings("rnn", folder / "train.en", folder / "train.hi", **files, **settings)


def recipe_of(*arguments, **settings):
    return load_recipe("bahdanau2015-small", settings_with(*arguments, **settings))


@pytest.mark.parametrize("split", ["valid", "test"])
def test_training_refuses_leakage_unless_allowed(log, split, folder, tmp_path):
    assert len(load_corpus(recipe_of(folder, split, "clean")).training) > 380
    assert not [line for line in log.messages if "training text" in line]
    name = {"valid": "validation", "test": "test"}[split]
    sentence = (
        rf"^4 of 40 {name} sentences occur in the training text \(4 word for word; first "
        r".*leaky\.en:1 = .*train\.en:4\); take them out of training with .*drop_leaks': True}, or "
        r"train all the same with .*allow_leakage': True}$"
    )
    with pytest.raises(UserError, match=sentence):
        load_corpus(recipe_of(folder, split, "leaky"))
    with pytest.raises(UserError, match=sentence):
        prepare(recipe_of(folder, split, "leaky"), tmp_path / "out")
    load_corpus(recipe_of(folder, split, "leaky", **{"data.allow_leakage": True}))
    assert log.messages[-1].endswith(": allowed")


@pytest.mark.parametrize("split", ["valid", "test"])
def test_leaks_are_dropped_from_training(log, split, folder, tmp_path):
    recipe = recipe_of(folder, split, "leaky", **{"data.drop_leaks": True})
    with_leaks = recipe_of(folder, split, "leaky", **{"data.allow_leakage": True})
    corpus, everything = load_corpus(recipe), load_corpus(with_leaks)
    held_out = set((folder / "leaky.en").read_text(encoding="utf-8").splitlines())
    assert {pair.source for pair in everything.training} & held_out
    assert not {pair.source for pair in corpus.training} & held_out
    dropped = len(everything.training) - len(corpus.training)
    assert [line for line in log.messages if f"dropped {dropped} of " in line]
    assert corpus.fingerprint != everything.fingerprint
    assert prepare(recipe, tmp_path / "out").training == len(corpus.training)
    assert load_corpus(replace(recipe, data=replace(recipe.data, prepared=str(tmp_path / "out"))))


def test_near_copies_are_dropped_and_short_chance_matches_stay(tmp_path):
    rng = random.Random(3)
    train, valid = list(sentences(rng, 300, 8, 12)), list(sentences(rng, 40, 8, 12))
    near = [another_word(pair.source, rng) for pair in valid[:2]]
    rows = [*((pair.source, pair.target) for pair in train), *((text, "क") for text in near)]
    files = {
        "train": [*rows, ("Thank you.", "धन्यवाद।")],
        "valid": [*((pair.source, pair.target) for pair in valid), ("thank you", "धन्यवाद")],
    }
    for name, pairs in files.items():
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    settings = {"data.valid_source": str(tmp_path / "valid.tsv"), "data.drop_leaks": True}
    settings = tiny_settings("rnn", tmp_path / "train.tsv", "", **settings)
    sources = [p.source for p in load_corpus(load_recipe("bahdanau2015-small", settings)).training]
    assert len(sources) == 301
    assert "Thank you." in sources
    assert not set(near) & set(sources)


def test_validation_and_test_leaks_are_named_apart(folder):
    files = {
        "data.test_source": str(folder / "clean.en"),
        "data.test_target": str(folder / "clean.hi"),
    }
    mix = [{"source": str(folder / "clean.en"), "target": str(folder / "clean.hi")}]
    with pytest.raises(UserError) as caught:
        load_corpus(recipe_of(folder, "valid", "leaky", **files, **{"data.mix": mix}))
    assert "40 of 40 validation sentences occur" in str(caught.value)
    assert "; 40 of 40 test sentences occur" in str(caught.value)


def test_dropping_and_allowing_leaks_contradict_each_other(folder):
    both = {"data.drop_leaks": True, "data.allow_leakage": True}
    with pytest.raises(UserError, match="data.drop_leaks: .* set one of them to false"):
        load_corpus(recipe_of(folder, "valid", "leaky", **both))


def test_a_corpus_of_nothing_but_leaks_is_refused(folder):
    settings = {"data.drop_leaks": True, "data.source": str(folder / "leaky.en")}
    settings["data.target"] = str(folder / "leaky.hi")
    with pytest.raises(
        UserError, match=r"leaky\.en: every pair holds a validation or test sentence"
    ):
        load_corpus(recipe_of(folder, "test", "leaky", **settings))


def test_leakage_in_a_mixed_corpus_is_detected(folder):
    mix = [{"source": str(folder / "leaky.en"), "target": str(folder / "leaky.hi")}]
    with pytest.raises(UserError, match=r"^40 of 40 "):
        load_corpus(recipe_of(folder, "test", "leaky", **{"data.mix": mix}))


def test_a_named_test_set_is_not_trained_on(folder):
    with_test, with_validation = (
        load_corpus(recipe_of(folder, split, "clean")) for split in ("test", "valid")
    )
    alone = tiny_settings("rnn", folder / "train.en", folder / "train.hi")
    plain = load_corpus(load_recipe("bahdanau2015-small", alone))
    assert with_test.fingerprint == plain.fingerprint != with_validation.fingerprint


@pytest.mark.parametrize("side", ["test_target", "valid_target"])
def test_a_target_without_its_source_is_refused(folder, side):
    with pytest.raises(UserError, match=f"data.{side}: .* has no source side"):
        load_recipe("bahdanau2015-small", {f"data.{side}": "a.hi"})


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_the_check_counts_leakage_by_side_and_match(folder):
    files = folder / "train.en", folder / "train.hi", "--test-source"
    clean = run("data", "check", *files, folder / "clean.en", "--test-target", folder / "clean.hi")
    assert clean.exit_code == 0, clean.output
    assert "test in the corpus   exact  folded    near\nsources                  0 " in clean.stdout
    leaky = run("data", "check", *files, folder / "leaky.en", "--test-target", folder / "leaky.hi")
    assert leaky.exit_code == 2
    for side, file in (("sources", "leaky.en"), ("targets", "leaky.hi"), ("pairs", "leaky.en")):
        assert f"\n{side:<18}       4       0       0  {folder}/{file}:1 = " in leaky.stdout
    refused = run("data", "check", *files[:2], "--test-target", folder / "clean.hi")
    assert "clean.hi: has no source side; add --test-source FILE" in str(refused.exception)


def test_the_check_has_the_same_counts_as_json(folder):
    files = folder / "train.en", folder / "train.hi", "--test-source", folder / "leaky.en"
    process = run("data", "check", *files, "--test-target", folder / "leaky.hi", "--json")
    assert process.exit_code == 2
    report = json.loads(process.stdout)
    assert report["pairs"] == 400
    assert report["leakage"]["pair"] == {"exact": 4, "folded": 0, "near": 0}
    assert report["refused_for_leakage"]
    (folder / "some.tsv").write_text("en\thi\na b\tक ख\n\tग\nd e\tnot Hindi\n", encoding="utf-8")
    process = run("data", "check", folder / "some.tsv", "--columns", "en,hi", "--json")
    report = json.loads(process.stdout)
    assert process.exit_code == 0
    assert report["dropped"]["empty source"] == {"count": 1, "locations": [f"{folder}/some.tsv:3"]}
    assert report["wrong_script"]["target"]["locations"] == [f"{folder}/some.tsv:4"]
    assert "leakage" not in report


def test_the_command_refuses_leakage_unless_allowed(folder, tmp_path):
    few = {"training.steps": 1, "training.validate_every": 1, "text.tokenizer": "words"}
    settings = settings_with(folder, "valid", "leaky", **few, **{"decoding.max_length": 3})
    words = ("train", "bahdanau2015-small", "--threads", 1, "--quiet", *as_arguments(settings))
    refused = run(*words, "--out", tmp_path / "no")
    assert isinstance(refused.exception, UserError)
    assert "--allow-leakage" in str(refused.exception)
    assert not (tmp_path / "no").exists()
    dropped = run(*words, "--out", tmp_path / "dropped", "--drop-leaks")
    assert dropped.exit_code == 0, dropped.output
    allowed = run(*words, "--out", tmp_path / "yes", "--allow-leakage")
    assert allowed.exit_code == 0, allowed.output


def test_a_set_phrase_hides_no_match():
    phrase = "we hereby certify that all of the following"
    tests = [Pair(f"{phrase} {number}", f"{number}", number) for number in range(1, 4 * MAX_SHARED)]
    detector = LeakageDetector()
    detector.add_test(tests, "test")
    detector.scan([*tests[: 2 * MAX_SHARED], *tests[: 3 * MAX_SHARED]], "train")
    report = detector.report()
    assert report.count("pair", "exact") == 3 * MAX_SHARED
    assert report.matches["pair"][0].location == "train:1"
