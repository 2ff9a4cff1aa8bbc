"""Test sentences that stand in a training text are found, and training on them is refused."""

import json
import random

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dhyan.cli.data import app as data_app
from dhyan.cli.train import train as train_command
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
app = typer.Typer()
app.add_typer(data_app, name="data")
app.command("train")(train_command)


def sentences(chance, count, shortest=5, longest=30):
    """Pairs of words by chance, with capitals and marks."""
    for line in range(1, count + 1):
        own = [
            " ".join(chance.choices(words, k=chance.randint(shortest, longest)))
            for words in (ENGLISH, HINDI)
        ]
        yield Pair(f"{own[0].capitalize()}.", f"{own[1]}।", line)


def other_spaces(text):
    words = text.split()
    return "\u00a0 ".join(words[:2]) + "\u200b\t" + "  ".join(["", *words[2:]])


def other_marks(text):
    return "“" + text.rstrip(".।").replace(" ", ", ", 1) + "!”"


def another_word(text, chance):
    words = text.split()
    words[chance.randrange(len(words))] = "zzz"
    return " ".join(words)


def cut_short(text, chance):
    words = text.split()
    return " ".join(words[: 3 * len(words) // 4])


PLANTS = {
    "the same": ("exact", lambda text, chance: text),
    "other case": ("folded", lambda text, chance: text.upper() + "?"),
    "other spaces": ("exact", lambda text, chance: other_spaces(text)),
    "other marks": ("folded", lambda text, chance: other_marks(text)),
    "another word": ("near", another_word),
    "cut short": ("near", cut_short),
}


def planted(kind, where, tests, chance):
    """A training text, a hundredth of it copies of tests on some side."""
    change, train = PLANTS[kind][1], list(sentences(chance, 100 * len(tests)))
    for pair, place in zip(tests, chance.sample(range(len(train)), len(tests)), strict=True):
        old = train[place]
        train[place] = Pair(
            change(pair.source, chance) if where != "target" else old.source,
            change(pair.target, chance) if where != "source" else old.target,
            old.line,
        )
    return train


@pytest.mark.parametrize("count", [15, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.parametrize("where", ["source", "target", "pair"])
@pytest.mark.parametrize("kind", PLANTS)
def test_every_planted_copy_is_detected_at_its_location(kind, where, count):
    chance = random.Random(f"{kind} {where}")
    longer = {"another word": 8, "cut short": 11}.get(kind, 5)
    tests = list(sentences(chance, count, shortest=longer))
    clean = list(sentences(chance, 9 * count))
    detector = LeakageDetector()
    detector.add_test(tests, "test")
    detector.add_test(clean, "clean")
    detector.scan(planted(kind, where, tests, chance), "train")
    leaks = detector.report()
    sides = {"source", "target"} if where == "pair" else {where}
    for side in ("source", "target", "pair"):
        wanted = count if side in sides or side == where else 0
        assert len(leaks.matches[side]) == wanted, side
        assert leaks.count(side, PLANTS[kind][0]) == wanted
    assert set(leaks.all) == set(range(count)), "not one of the clean ones"
    assert leaks.significant
    print(f"{kind}, {where}: {count} of {count} found, 0 of {9 * count} clean ones")


def test_a_clean_pair_has_no_leak():
    chance, detector = random.Random(5), LeakageDetector()
    detector.add_test(sentences(chance, 500), "test")
    detector.scan(sentences(chance, 4000), "train")
    assert not detector.report().all
    assert not detector.report().significant


def found(tests, train):
    detector = LeakageDetector()
    detector.add_test([Pair(*pair, line) for line, pair in enumerate(tests, 1)], "test")
    detector.scan([Pair(*pair, line) for line, pair in enumerate(train, 1)], "train")
    return detector.report()


def test_a_few_short_sentences_in_both_are_allowed():
    rest = [(f"long sentence number {n} of all", f"लंबा वाक्य क्रमांक {n} यहाँ") for n in range(19)]
    few = found([("Thank you!", "धन्यवाद।"), *rest], [("thank you", "धन्यवाद")])
    assert (len(few.all), few.significant) == (1, False)
    many = found([("Yes.", "हाँ।"), ("No.", "नहीं।"), ("Ok.", "ठीक"), *rest[:17]],
                 [("yes", "हाँ"), ("no", "नहीं"), ("ok", "ठीक")])  # fmt: skip
    assert many.significant
    long = found([(" ".join("abcd"), "क"), *rest], [("A B, C d", "ख")])
    assert len("abcd") >= MIN_WORDS
    assert long.significant


def test_a_pair_matches_only_if_both_sides_are_in_one_pair():
    apart = found([("a b c d e", "क ख ग घ च")], [("a b c d e", "x"), ("y", "क ख ग घ च")])
    assert [len(apart.matches[where]) for where in ("source", "target", "pair")] == [1, 1, 0]


def test_a_sentence_counts_once_as_its_strongest_match():
    leaks = found(
        [("A b c d e.", "x")], [("a b c d e", "1"), ("A b c d e.", "2"), ("a b c d e", "3")]
    )
    assert leaks.count("source", "exact") == 1
    assert leaks.count("source", "folded") == 0
    assert str(leaks).endswith("first test:1 = train:2)")


@pytest.mark.parametrize("size", [8, 9, 12, 15, 16, 17, 30])
def test_one_substitution_insertion_or_deletion_is_a_near_match(size):
    said = [f"w{at}" for at in range(size)]
    for at in range(size):
        for new in ([*said[:at], "x", *said[at + 1 :]], [*said[:at], "x", *said[at:]],
                    said[:at] + said[at + 1 :]):  # fmt: skip
            leaks = found([(" ".join(said), "x")], [(" ".join(new), "y")])
            assert leaks.count("source", "near") == 1, (at, new)


def test_two_words_changed_in_a_short_sentence_make_another():
    said = "the old man gave his daughter a small red book".split()
    other = "the old man sold his daughter a small red car".split()
    assert not found([(" ".join(said), "x")], [(" ".join(other), "y")]).all
    assert not found([("we go to school today", "x")], [("we go to town today", "y")]).all


def test_characters_are_words_in_scripts_without_spaces():
    assert fold_words("我喜欢read书") == ["我", "喜", "欢", "read", "书"]
    text = "这是一个很长的句子用来测试是否会被找到"
    assert found([(text, "x")], [(text[:-3], "y")]).count("source", "near") == 1


AWKWARD = "aBéE\u0301कक़\u0958\u093c\u094d।|“▁ \t\u2028\u00a0\u200d\u200b\ufeff\u202e\x07ßİﬁ中"


@settings(deadline=None, derandomize=True, database=None)
@given(st.text() | st.text(alphabet=AWKWARD))
def test_words_are_those_of_the_normal_form(text):
    assert fold_words(text) == fold_words(normalize(text))


def test_marks_alone_are_compared_as_they_are():
    assert not found([("?!", "—")], [("…", "।")]).all
    assert len(found([("?!", "—")], [("?!", "।")]).all) == 1


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Files: a training text, a clean test, and one of which every tenth stands in it."""
    folder, chance = tmp_path_factory.mktemp("leaks"), random.Random(1)
    train, clean = list(sentences(chance, 400, 4, 12)), list(sentences(chance, 40, 4, 12))
    leaky = [train[7 * at + 3] if at % 10 == 0 else pair for at, pair in enumerate(clean)]
    for name, pairs in (("train", train), ("clean", clean), ("leaky", leaky)):
        for side, end in (("source", "en"), ("target", "hi")):
            lines = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
            (folder / f"{name}.{end}").write_text(lines, encoding="utf-8")
    return folder


def set_over(place, use, name, **more):
    own = {f"data.{use}_source": str(place / f"{name}.en")}
    own[f"data.{use}_target"] = str(place / f"{name}.hi")
    return tiny_settings("rnn", place / "train.en", place / "train.hi", **own, **more)


def recipe_of(*arguments, **more):
    return load_recipe("bahdanau2015-small", set_over(*arguments, **more))


@pytest.mark.parametrize("use", ["valid", "test"])
def test_training_refuses_leakage_unless_allowed(log, use, place, tmp_path):
    assert len(load_corpus(recipe_of(place, use, "clean")).training) > 380
    assert not [line for line in log.messages if "training text" in line]
    sentence = (
        r"^4 of 40 test sentences occur in the training text \(4 word for word; first "
        r".*leaky\.en:1 = .*train\.en:4\); take them out .* --allow-leakage$"
    )
    with pytest.raises(UserError, match=sentence):
        load_corpus(recipe_of(place, use, "leaky"))
    with pytest.raises(UserError, match=sentence):
        prepare(recipe_of(place, use, "leaky"), tmp_path / "out")
    load_corpus(recipe_of(place, use, "leaky", **{"data.allow_leakage": True}))
    assert log.messages[-1].endswith(": allowed")


def test_leakage_in_a_mixed_corpus_is_detected(place):
    mix = [{"source": str(place / "leaky.en"), "target": str(place / "leaky.hi")}]
    with pytest.raises(UserError, match=r"^40 of 40 "):
        load_corpus(recipe_of(place, "test", "leaky", **{"data.mix": mix}))


def test_a_test_that_is_named_is_not_used(place):
    named, bare = (load_corpus(recipe_of(place, use, "clean")) for use in ("test", "valid"))
    alone = tiny_settings("rnn", place / "train.en", place / "train.hi")
    plain = load_corpus(load_recipe("bahdanau2015-small", alone))
    assert named.fingerprint == plain.fingerprint != bare.fingerprint


@pytest.mark.parametrize("side", ["test_target", "valid_target"])
def test_a_target_without_its_source_is_refused(place, side):
    with pytest.raises(UserError, match=f"data.{side}: .* has no source side"):
        load_recipe("bahdanau2015-small", {f"data.{side}": "a.hi"})


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_the_check_counts_leakage_by_side_and_kind(place):
    files = place / "train.en", place / "train.hi", "--test-source"
    clean = run("data", "check", *files, place / "clean.en", "--test-target", place / "clean.hi")
    assert clean.exit_code == 0, clean.output
    assert "test in the corpus   exact  folded    near\nsources                  0 " in clean.stdout
    leaky = run("data", "check", *files, place / "leaky.en", "--test-target", place / "leaky.hi")
    assert leaky.exit_code == 2
    for where in ("sources", "targets", "pairs"):
        assert f"\n{where:<18}       4       0       0  {place}/leaky.en:1 = " in leaky.stdout
    refused = run("data", "check", *files[:2], "--test-target", place / "clean.hi")
    assert "clean.hi: has no source side; add --test-source FILE" in str(refused.exception)


def test_the_check_has_the_same_counts_as_json(place):
    files = place / "train.en", place / "train.hi", "--test-source", place / "leaky.en"
    done = run("data", "check", *files, "--test-target", place / "leaky.hi", "--json")
    assert done.exit_code == 2
    found = json.loads(done.stdout)
    assert found["pairs"] == 400
    assert found["leakage"]["pair"] == {"exact": 4, "folded": 0, "near": 0}
    assert found["refused_for_leakage"]
    (place / "some.tsv").write_text("en\thi\na b\tक ख\n\tग\nd e\tnot Hindi\n", encoding="utf-8")
    done = run("data", "check", place / "some.tsv", "--columns", "en,hi", "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert found["dropped"]["empty source"] == {"count": 1, "locations": [f"{place}/some.tsv:3"]}
    assert found["wrong_script"]["target"]["locations"] == [f"{place}/some.tsv:4"]
    assert "leaks" not in found


def test_the_command_refuses_leakage_unless_allowed(place, tmp_path):
    few = {"training.steps": 1, "training.validate_every": 1, "text.tokenizer": "words"}
    own = set_over(place, "valid", "leaky", **few, **{"decoding.max_length": 3})
    words = ("train", "bahdanau2015-small", "--threads", 1, "--quiet", *as_arguments(own))
    refused = run(*words, "--out", tmp_path / "no")
    assert isinstance(refused.exception, UserError)
    assert "--allow-leakage" in str(refused.exception)
    assert not (tmp_path / "no").exists()
    went = run(*words, "--out", tmp_path / "yes", "--allow-leakage")
    assert went.exit_code == 0, went.output


def test_a_set_phrase_of_many_tests_hides_no_match():
    said = "we hereby certify that all of the following"
    tests = [Pair(f"{said} {number}", f"{number}", number) for number in range(1, 4 * MAX_SHARED)]
    detector = LeakageDetector()
    detector.add_test(tests, "test")
    detector.scan([*tests[: 2 * MAX_SHARED], *tests[: 3 * MAX_SHARED]], "train")
    found = detector.report()
    assert found.count("pair", "exact") == 3 * MAX_SHARED
    assert found.matches["pair"][0].location == "train:1"
