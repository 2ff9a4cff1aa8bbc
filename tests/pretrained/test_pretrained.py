"""Pretrained models are found by name wherever a command or function takes a model."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dhyan
from dhyan.checkpoint import find_checkpoint
from dhyan.cli.demo import show_pretrained
from dhyan.config import dump_recipe, load_recipe, with_absolute_paths
from dhyan.errors import UserError
from dhyan.model_check import read_training_sentences
from dhyan.pretrained import (
    ALIASES,
    MODELS,
    NAMES,
    VARIABLE,
    all_names,
    card_of,
    find_pretrained,
    model_folder,
    model_names,
    size_of,
)
from dhyan.pretrained.card import Card, parse_card, read_card
from dhyan.pretrained.everyday_sentences import EVERYDAY_SENTENCES
from dhyan.studio.examples import DEFAULT
from experiments.pretrained.corpus import Primer, primer_pairs, without_everyday
from experiments.pretrained.key_words import has_key_words
from tests.pretrained.packed_models import CARD, WORD_CARD, write_packed
from tests.serving.running_server import start_and_stop
from tests.studio.running_server import running
from tests.tiny_models import environment, here, write_corpus

SHIPPED = sorted(path.parent.name for path in MODELS.glob("*/card.json"))
MAX_SHIPPED_BYTES = 40_000_000  # of sentences, on disk; the wheel's share has a test of its own
MAX_WORD_MODEL_BYTES = 5_000_000
WORD_MODELS = {"hi-transliteration": "dilli", "en-pronunciation": "attention"}


def test_ten_names_are_known_and_those_of_words_come_last():
    assert NAMES[-2:] == tuple(WORD_MODELS)
    assert {*NAMES, *ALIASES} == {
        *WORD_MODELS,
        *("en-hi", "en-hi-no-attention", "en-hi-bahdanau", "en-hi-luong", "en-hi-transformer"),
        *("en-fr", "en-fr-bahdanau", "en-fr-transformer"),
    }
    assert set(ALIASES.values()) <= set(NAMES)


def test_the_package_holds_known_models_of_bounded_size(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert set(SHIPPED) <= set(NAMES)
    assert sorted(model_names()) == SHIPPED
    sizes = {name: size_of(name) for name in SHIPPED}
    assert all(size <= MAX_WORD_MODEL_BYTES for name, size in sizes.items() if name in WORD_MODELS)
    sentences = (size for name, size in sizes.items() if name not in WORD_MODELS)
    assert sum(sentences) <= MAX_SHIPPED_BYTES


def shipped(*, words):
    return [name for name in model_names() if (name in WORD_MODELS) == words]


def check_shipped(name, translator):
    card = card_of(name)
    assert card.task == translator.task
    assert card.parameters == sum(weight.numel() for weight in translator.model.parameters())
    assert card.limits
    assert all(text.licence and text.attribution for text in card.data)
    assert all(score.signature for score in card.scores.values())
    return card


def test_every_shipped_model_is_whole_and_translates(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    for name in shipped(words=False):
        translator = dhyan.load(name, device="cpu")
        card = check_shipped(name, translator)
        languages = tuple(name.split("-")[:2])
        assert (card.source_language, card.target_language) == languages
        assert (translator.source_language, translator.language) == languages
        assert card.scores["bleu"].value > 5
        assert all(translation.text for translation in translator(list(EVERYDAY_SENTENCES[:5])))


def test_every_shipped_model_for_words_is_whole_and_writes_one(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    for name in shipped(words=True):
        translator = dhyan.load(name, device="cpu")
        card = check_shipped(name, translator)
        assert card.scores["exact"].value > 40
        assert translator(WORD_MODELS[name])[0].text


def test_no_shipped_model_was_trained_on_an_everyday_sentence(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    for name in shipped(words=False):
        seen = read_training_sentences(name)
        assert seen.has_words
        assert 50_000 < len(seen) < 1.2 * sum(text.pairs for text in card_of(name).data)
        assert seen.false_positive_rate < 0.001
        assert not [sentence for sentence in EVERYDAY_SENTENCES if sentence in seen]


def test_the_default_examples_of_the_studio_are_new_to_the_english_hindi_models(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    for name in model_names():
        if name.startswith("en-hi"):
            seen = read_training_sentences(name)
            assert not [example.text for example in DEFAULT if example.text in seen]


def test_sentences_of_the_training_text_are_seen(monkeypatch):
    """Most of the primer's first sentences: others are near a test sentence, or newer than a model."""
    monkeypatch.delenv(VARIABLE, raising=False)
    sentences = [english for english, _ in without_everyday(primer_pairs(Primer(pairs=200)))]
    for name in model_names():
        if name.startswith("en-hi"):
            seen = read_training_sentences(name)
            assert sum(sentence in seen for sentence in sentences) >= 0.75 * len(sentences)


def test_a_name_is_a_model_and_a_path_is_a_folder(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en-hi").mkdir()
    assert (
        model_folder("en-hi") == model_folder("en-hi-transformer") == models / "en-hi-transformer"
    )
    assert model_folder("./en-hi") == model_folder(Path("en-hi")) == Path("en-hi")
    assert find_pretrained("runs/en-hi") is None


def test_only_models_that_are_there_have_names(models):
    assert model_names() == ["en-hi-transformer", "en-hi-bahdanau", "mine"]
    assert all_names() == ["en-hi", *model_names()]
    assert find_pretrained("en-fr") is None


def test_models_of_sentences_come_first_so_that_the_studio_opens_with_one(tmp_path, monkeypatch):
    for name in ("en-pronunciation", "a-model", "hi-transliteration", "en-fr-bahdanau"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "card.json").write_text("{}")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert model_names() == ["en-fr-bahdanau", "hi-transliteration", "en-pronunciation", "a-model"]


def test_an_unknown_name_is_an_error_that_lists_the_models(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"en-hj: no such model folder.*en-hi-bahdanau.*'en-hi'\?"):
        find_checkpoint("en-hj")
    with pytest.raises(UserError, match=r"no pretrained model 'en-hj'; there are en-hi, .*'en-hi'"):
        card_of("en-hj")


def test_a_card_is_read_as_it_was_written(models):
    assert card_of("en-hi") == CARD
    assert parse_card(json.loads(json.dumps(CARD.to_json()))) == CARD


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1}, {"data": 3}, {"scores": [1]}, {"limits": None},
        {"scores": {"bleu": {"name": "BLEU", "value": "30", "signature": ""}}},
    ],
)  # fmt: skip
def test_a_wrong_card_is_one_line_of_error(change, tmp_path):
    (tmp_path / "card.json").write_text(json.dumps({**CARD.to_json(), **change}))
    with pytest.raises(UserError, match="card.json: is not a model card") as caught:
        read_card(tmp_path)
    assert "\n" not in str(caught.value)


def test_models_lists_names_sizes_and_scores(models):
    done = here("models")
    assert done.returncode == 0, done.stderr
    head, first, *rest = done.stdout.decode().splitlines()
    assert head.split() == [
        *("name", "task", "languages", "architecture", "parameters", "size", "scores"),
    ]
    assert first.startswith("en-hi-transformer (en-hi)")
    assert first.endswith("BLEU 30.9, chrF++ 48.2")
    assert len(rest) == 2


def test_a_model_for_words_has_the_scores_of_its_task(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "models"))
    write_packed(tmp_path / "models", tmp_path / "run", "en-pronunciation", card=WORD_CARD)
    _, line = here("models").stdout.decode().splitlines()
    assert line.split()[:3] == ["en-pronunciation", "pronounce", "en"]
    assert line.endswith("exact match 61.5")
    card = here("models", "en-pronunciation").stdout.decode()
    assert "exact match  61.5   sentences:20" in card
    assert "BLEU" not in card


def test_a_card_without_a_task_is_of_translation():
    table = CARD.to_json()
    del table["task"]
    assert parse_card(table).task == "translate"


def test_models_prints_a_card(models):
    text = here("models", "en-hi-bahdanau").stdout.decode()
    for part in ("en→hi", "30,000, stored as int8", "weight 0.3", "tok:intl", "numbers only"):
        assert part in text
    [facts] = [own for own in json.loads(here("models", "--json").stdout) if own["aliases"]]
    assert facts["name"] == "en-hi-transformer"
    assert facts["bytes"] > 1000
    assert json.loads(here("models", "en-hi", "--json").stdout) == facts


def test_without_models_the_list_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert "no pretrained model" in here("models").stdout.decode()


def test_models_needs_no_torch(models):
    program = "import sys; sys.modules['torch'] = None; from dhyan.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "models"], env=environment(), capture_output=True
    )
    assert done.returncode == 0, done.stderr


def test_every_command_takes_a_name(models, tmp_path):
    source, target = write_corpus(tmp_path, pairs=20)
    for words in (
        ("translate", "en-hi", source),
        ("translate", "en-hi-bahdanau", source, "--with", "mine"),
        ("show", "en-hi-bahdanau", "one two"),
        ("evaluate", "en-hi", "mine", "--source", source, "--target", target, "--bootstrap", 100),
        ("info", "en-hi"),
        ("recipe", "en-hi"),
        ("average", "en-hi-bahdanau", "mine", "--out", tmp_path / "average"),
    ):
        done = here(*words, cwd=tmp_path)
        assert done.returncode == 0, (words, done.stderr.decode())
    assert "en-hi" in done.stdout.decode()


def test_python_takes_a_name(models):
    translator = dhyan.load("en-hi", device="cpu")
    assert translator.translate("one two", max_length=5).source == "one two"
    scores = dhyan.evaluate("mine", [("one", "एक"), ("two", "दो")], device="cpu", beam=1)
    assert set(scores) == {"bleu", "chrf"}


def test_a_run_is_fine_tuned_from_a_name_and_keeps_it(models, tmp_path):
    source, target = write_corpus(tmp_path, pairs=60)
    few = ("--set", "training.steps=2", "--set", "training.valid_sentences=2")
    files = ("--source", source, "--target", target)
    words = ("train", "--init", "en-hi", *files, *few, "--threads", 1)
    done = here(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    recipe = load_recipe(find_checkpoint(tmp_path / "runs" / "en-hi") / "recipe.toml")
    assert recipe.training.init_from == "en-hi"
    done = here("train", "runs/en-hi", "--resume", "--set", "training.steps=3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()


def test_the_folder_of_a_run_becomes_absolute_and_a_name_does_not(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = load_recipe("numbers", {"training.init_from": "en-hi"})
    assert with_absolute_paths(recipe).training.init_from == "en-hi"
    recipe = load_recipe("numbers", {"training.init_from": "./en-hi"})
    assert with_absolute_paths(recipe).training.init_from == str(tmp_path / "en-hi")
    assert "init_from" in dump_recipe(recipe)


def test_info_has_the_scores_of_the_card(models):
    done = here("info", "en-hi", "--json")
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)["scores"]
    assert scores == {key: score.value for key, score in CARD.scores.items()}


def test_the_server_serves_a_name(models, tmp_path):
    code, output = start_and_stop("en-hi", "--port", "0", cwd=tmp_path)
    assert code == 0, output


def get_models(address):
    from tests.studio.test_studio_command import get

    return [card["name"] for card in json.loads(get(address, "api/models"))]


def test_the_studio_lists_pretrained_models_then_runs(packed, tmp_path):
    shutil.copytree(packed.parent / "runs" / "mine", tmp_path / "runs" / "own")
    places = {VARIABLE: str(packed)}
    with running(cwd=tmp_path, **places) as (_, address):
        assert get_models(address) == ["en-hi-transformer", "en-hi-bahdanau", "mine", "own"]
    with running("en-hi", cwd=tmp_path, **places) as (_, address):
        assert get_models(address) == ["en-hi-transformer"]


def test_the_card_has_every_field_in_its_text():
    text = "\n".join(CARD.lines())
    for value in (CARD.about, CARD.architecture, CARD.commit, CARD.command, CARD.date, CARD.test):
        assert value in text
    assert isinstance(CARD, Card)


def test_the_demo_translates_everyday_sentences_and_draws_one(models, tmp_path, capsys):
    show_pretrained(tmp_path / "demo")
    output = capsys.readouterr().out
    assert all(sentence in output for sentence in EVERYDAY_SENTENCES[:5])
    assert "attention of en-hi-bahdanau" in output
    assert (tmp_path / "demo" / "first.png").stat().st_size > 1000


def test_the_demo_without_a_pretrained_model_says_so(tmp_path, monkeypatch, log):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    show_pretrained(tmp_path / "demo")
    assert "no pretrained model en-hi" in log.text
    assert not (tmp_path / "demo").exists()


def test_everyday_sentences_are_left_out_of_the_training_text():
    pairs = [("my sister works in a hospital", "a"), ("My sister sings.", "b")]
    assert list(without_everyday(pairs)) == [("My sister sings.", "b")]


def test_key_words_may_be_spelled_without_nukta_and_chandrabindu():
    assert has_key_words("मेरी मां ने बाजार से फल खरीदे।", "माँ/माता बाज़ार ख़रीद")
    assert not has_key_words("मेरी बहन ने बाज़ार से फल ख़रीदे।", "माँ/माता बाज़ार ख़रीद")
