"""Recipes are read strictly, and every error is named with its place."""

import tomllib
from dataclasses import replace

import pytest

from dhyan.config import (
    Data,
    differences,
    dump_recipe,
    load_recipe,
    parse_recipe,
    parse_setting,
    shipped_recipes,
)
from dhyan.config.toml import RENAMED
from dhyan.errors import UserError

PAPERS = ["sutskever2014", "bahdanau2015", "luong2015", "transformer2017"]
SMALL = """
[encoder]
kind = "rnn"
[decoder]
kind = "luong"
"""


def test_every_paper_has_a_recipe_in_full_size_and_small():
    assert {*PAPERS, *(f"{name}-small" for name in PAPERS)} <= set(shipped_recipes())


@pytest.mark.parametrize("name", shipped_recipes())
def test_writing_a_recipe_and_reading_it_back_changes_nothing(name):
    recipe = load_recipe(name)
    assert parse_recipe(tomllib.loads(dump_recipe(recipe)), place="copy") == recipe
    assert recipe.about


def test_odd_text_survives_the_round_trip():
    recipe = load_recipe(
        "numbers", {"training.clip_norm": float("inf"), "training.learning_rate": 1e-9}
    )
    recipe = replace(recipe, about='a "quoted" \\ back\nslash\t\x01 ध्यान')
    assert parse_recipe(tomllib.loads(dump_recipe(recipe)), place="copy") == recipe


@pytest.mark.parametrize(("section", "old"), RENAMED)
def test_a_recipe_with_an_old_name_of_a_setting_is_read(tmp_path, section, old):
    recipe = load_recipe("numbers")
    name = RENAMED[section, old]
    written = dump_recipe(recipe)
    path = tmp_path / "old.toml"
    path.write_text(written.replace(f"\n{name} =", f"\n{old} ="), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != written
    assert load_recipe(path) == recipe
    assert parse_recipe(tomllib.loads(path.read_text(encoding="utf-8")), place="old") == recipe


def test_papers_have_their_sizes():
    bahdanau, luong = load_recipe("bahdanau2015"), load_recipe("luong2015")
    assert (bahdanau.encoder.width, bahdanau.decoder.embedding_width) == (1000, 620)
    assert bahdanau.decoder.attention.score == "additive"
    assert (luong.encoder.layers, luong.encoder.width, luong.encoder.cell) == (4, 1000, "lstm")
    sutskever, vaswani = load_recipe("sutskever2014"), load_recipe("transformer2017")
    assert sutskever.encoder.reverse_source
    assert (sutskever.decoder.kind, sutskever.decoder.bridge) == ("rnn", "direct")
    assert load_recipe("cho2014").decoder.attention.score == "bottleneck"
    assert (vaswani.encoder.heads, vaswani.encoder.feed_forward_width, vaswani.encoder.layers) == (
        8,
        2048,
        6,
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"training.lerning_rate": 1.0}, "'lerning_rate'; did you mean 'learning_rate'"),
        ({"trainig.steps": 1}, "unknown key 'trainig'; did you mean 'training'"),
        ({"training.steps": "many"}, "training.steps: expected a whole number, found 'many'"),
        ({"training.steps": True}, "training.steps: expected a whole number, found True"),
        ({"training.steps": 0}, "training.steps: 0 is too small; give at least 1"),
        ({"steps": 5}, "no setting is called 'steps'; did you mean 'training.steps'"),
        ({"encoder.bidirectional": "yes"}, "expected true or false, found 'yes'"),
        ({"about": "\udcff"}, "is not UTF-8"),
        ({"training.optimizer": "adm"}, "'adm' is not one of .*; did you mean 'adam'"),
        ({"encoder.kind": [1]}, r"encoder.kind: \[1\] is not one of"),
        ({"encoder.kind": "rn"}, "encoder.kind: 'rn' is not one of 'rnn', 'transformer'"),
        ({"decoder.attention.window": "monotone"}, "did you mean 'monotonic'"),
        ({"decoder.attention": "dot"}, "decoder.attention: expected a table of settings"),
        ({"training.clip_norm": 0.0}, "training.clip_norm: 0.0 is not between"),
        ({"training.clip_norm": float("nan")}, "training.clip_norm: nan is not between"),
        ({"training.learning_rate": -1.0}, "learning_rate: -1.0 is not between"),
        ({"training.label_smoothing": 2.0}, "label_smoothing: 2.0 is not between"),
        ({"training.betas": [0.9, 2.0]}, "betas: 2.0 is not between"),
        ({"data.columns": ["a"]}, "columns: expected 0 or 2 values, found 1"),
        (
            {"data.valid_target": "a.hi"},
            "data.valid_target: 'a.hi' has no source side; name data.valid_source",
        ),
        ({"encoder.dropout": 1.5}, "encoder.dropout: 1.5 is not between"),
        ({"training.tokens_per_batch": 10}, "cannot hold one sentence"),
        ({"training.schedule": "halving"}, "halve_every: the schedule 'halving' needs it"),
        ({"training.betas": [0.9]}, "betas: expected 2 values, found 1"),
        ({"training.steps.more": 1}, "expected a whole number, found"),
        ({"about.more": 1}, "expected a text in quotes, found"),
        (
            {"training.early_stopping_metric": "bleu", "training.valid_sentences": 0},
            "needs valid_sentences",
        ),
    ],
)
def test_an_error_names_its_place(tmp_path, settings, message):
    (tmp_path / "mine.toml").write_text(SMALL)
    with pytest.raises(UserError, match=message) as caught:
        load_recipe(str(tmp_path / "mine.toml"), settings)
    assert "\n" not in str(caught.value)


WITHOUT_EFFECT = {
    "training.halve_from": 5, "training.halve_every": 5, "training.min_learning_rate_ratio": 0.1,
    "training.plateau_factor": 0.3, "training.plateau_patience": 7,
    "training.teacher_forcing_slope": 0.1,
    "training.teacher_forcing_min": 0.1, "training.teacher_forcing_k": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("key", WITHOUT_EFFECT)
def test_a_setting_without_effect_is_refused(key):
    with pytest.raises(UserError, match=f"{key}: .* has no effect with .*; leave it out"):
        load_recipe("bahdanau2015-small", {key: WITHOUT_EFFECT[key]})


@pytest.mark.parametrize("forcing", ["exponential", "inverse_sigmoid"])
def test_a_decay_without_first_ratio_refuses_one(forcing):
    settings = {"training.teacher_forcing_schedule": forcing, "training.teacher_forcing": 0.5}
    with pytest.raises(
        UserError, match="teacher_forcing: 0.5 has no effect with teacher_forcing_schedule = "
    ):
        load_recipe("bahdanau2015-small", settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"training.schedule": "halving", "training.halve_from": 5, "training.halve_every": 5},
        {"training.schedule": "cosine", "training.min_learning_rate_ratio": 0.1},
        {"training.schedule": "plateau", "training.min_learning_rate_ratio": 0.1,
         "training.plateau_patience": 7},
        {"training.teacher_forcing_schedule": "linear", "training.teacher_forcing_slope": 0.1,
         "training.teacher_forcing_min": 0.1,
         "training.teacher_forcing": 0.9},
        {"training.teacher_forcing_schedule": "exponential", "training.teacher_forcing_k": 0.5},
        {"training.teacher_forcing_schedule": "inverse_sigmoid", "training.teacher_forcing_k": 9.0},
        {"training.teacher_forcing": 0.9},
    ],
)  # fmt: skip
def test_a_setting_of_the_chosen_schedule_is_used(settings):
    training = load_recipe("bahdanau2015-small", settings).training
    for key, value in settings.items():
        assert getattr(training, key.removeprefix("training.")) == value


def test_another_schedule_drops_the_settings_of_the_last():
    for schedule in ("constant", "cosine"):
        training = load_recipe("luong2015", {"training.schedule": schedule}).training
        assert (training.halve_from, training.halve_every) == (0, 0)
    same = load_recipe("luong2015", {"training.schedule": "halving"}).training
    assert (same.halve_from, same.halve_every) == (280_000, 35_000)
    with pytest.raises(UserError, match="training.halve_from: 9 has no effect"):
        load_recipe("luong2015", {"training.schedule": "constant", "training.halve_from": 9})


@pytest.mark.parametrize(
    "named", [{"data.source": "a.en"}, {"data.prepared": "x"}, {"data.mix": [{"source": "a.tsv"}]}]
)
def test_named_pairs_replace_a_task(named):
    assert load_recipe("numbers").data.synthetic == "numbers"
    assert load_recipe("numbers", named).data.synthetic == ""
    with pytest.raises(
        UserError, match=r"data.synthetic: 'numbers' makes its own pairs, and data\."
    ):
        load_recipe("numbers", {**named, "data.synthetic": "numbers"})


def test_named_pairs_replace_those_of_the_recipe(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text(f"{SMALL}[data]\nsource = 'a.en'\ntarget = 'a.hi'\nvalid_source = 'b.tsv'\n")
    data = load_recipe(str(mine), {"data.prepared": "ready"}).data
    assert (data.prepared, data.source, data.target, data.valid_source) == ("ready", "", "", "")
    data = load_recipe(str(mine), {"data.source": "c.tsv"}).data
    assert (data.source, data.target, data.valid_source) == ("c.tsv", "", "")
    both = load_recipe(str(mine), {"data.prepared": "ready", "data.source": "c.en"}).data
    assert (both.prepared, both.source) == ("ready", "c.en")
    mine.write_text(f"{SMALL}[data]\nprepared = 'ready'\n")
    assert load_recipe(str(mine), {"data.source": "c.tsv"}).data.prepared == ""


OLD_CORPUS = """
[data]
source = "a.tsv"
columns = ["english", "hindi"]
valid_source = "v.tsv"
test_source = "t.tsv"
allow_leakage = true
source_language = "en"
target_language = "hi"
max_words = 9
mix = [{ source = "m.tsv" }]
"""
RESET = ("columns", "valid_source", "test_source", "allow_leakage", "mix")


@pytest.mark.parametrize("new", [{"data.source": "b.en"}, {"data.prepared": "b"}])
def test_another_corpus_resets_what_belongs_to_the_old(log, tmp_path, new):
    (tmp_path / "mine.toml").write_text(f"{SMALL}{OLD_CORPUS}")
    data = load_recipe(tmp_path / "mine.toml", new).data
    for name in (*RESET, "source_language", "target_language"):
        assert getattr(data, name) == getattr(Data(), name)
    assert data.max_words == 9, "a filter is not part of the corpus"
    (line,) = log.messages
    assert line.startswith(f"{next(iter(new))} names another corpus than the recipe's: ")
    assert line.endswith(" reset")
    assert all(f"data.{name}" in line for name in RESET)


def test_what_is_given_with_another_corpus_is_kept(log, tmp_path):
    (tmp_path / "mine.toml").write_text(f"{SMALL}{OLD_CORPUS}")
    new = {"data.source": "b.en", "data.target": "b.hi", "data.valid_source": "w.tsv"}
    data = load_recipe(tmp_path / "mine.toml", {**new, "data.allow_leakage": True}).data
    assert (data.target, data.valid_source, data.allow_leakage) == ("b.hi", "w.tsv", True)
    assert "valid_source" not in log.messages[0]


def test_the_same_corpus_resets_nothing(log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(f"{SMALL}{OLD_CORPUS}")
    recipe = load_recipe("mine.toml")
    assert load_recipe("mine.toml", {"data.source": str(tmp_path / "a.tsv")}).data == replace(
        recipe.data, source=str(tmp_path / "a.tsv")
    )
    moved = load_recipe("mine.toml", {"data.source": "moved.tsv"}, same_corpus=True)
    assert moved.data == replace(recipe.data, source="moved.tsv")
    assert not log.messages


def test_a_recipe_without_corpus_keeps_its_validation_set(log, tmp_path):
    (tmp_path / "mine.toml").write_text(f"{SMALL}[data]\nvalid_source = 'v.tsv'\n")
    data = load_recipe(tmp_path / "mine.toml", {"data.source": "b.tsv"}).data
    assert data.valid_source == "v.tsv"
    assert not log.messages


def test_steps_and_epochs_exclude_each_other(tmp_path):
    both = {"training.steps": 5, "training.epochs": 2}
    with pytest.raises(UserError, match=r"training.steps = 5 and training.epochs = 2: give one of"):
        load_recipe("numbers", both)
    (tmp_path / "mine.toml").write_text(f"{SMALL}[training]\nepochs = 3\n")
    assert load_recipe(tmp_path / "mine.toml").training.epochs == 3
    training = load_recipe(tmp_path / "mine.toml", {"training.steps": 5}).training
    assert (training.steps, training.epochs) == (5, 0)


def test_a_task_replaces_named_pairs_but_not_in_one_file(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text(f"{SMALL}[data]\nsource = 'a.en'\ntarget = 'a.hi'\n")
    data = load_recipe(str(mine), {"data.synthetic": "reverse"}).data
    assert (data.synthetic, data.source, data.target) == ("reverse", "", "")
    mine.write_text(f"{SMALL}[data]\nsource = 'a.en'\ntask = 'numbers'\n")
    with pytest.raises(
        UserError, match="mine.data.synthetic: 'numbers' .* data.source names others"
    ):
        load_recipe(str(mine))


def test_a_number_in_a_list_of_tables_has_bounds():
    for weight in (0.0, -1.0, 1e9):
        with pytest.raises(UserError, match=r"data\.mix\.weight: .* is not between"):
            load_recipe("numbers", {"data.mix": [{"source": "a.tsv", "weight": weight}]})


def test_a_missing_part_is_named(tmp_path):
    (tmp_path / "mine.toml").write_text("[encoder]\nkind = 'rnn'\n")
    with pytest.raises(UserError, match=r"\[decoder\] is missing"):
        load_recipe(str(tmp_path / "mine.toml"))


def test_a_file_that_is_not_toml_is_named(tmp_path):
    (tmp_path / "mine.toml").write_text("[encoder\n")
    with pytest.raises(UserError, match="mine.toml: not a TOML recipe"):
        load_recipe(str(tmp_path / "mine.toml"))


def test_an_unknown_recipe_gets_a_suggestion():
    with pytest.raises(UserError, match="did you mean 'bahdanau2015'"):
        load_recipe("bahdanu2015")


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("training.steps=5", "training.steps", 5),
        ("training.learning_rate=1e-3", "training.learning_rate", 1e-3),
        ("encoder.bidirectional=true", "encoder.bidirectional", True),
        ("text.tokenizer=bpe", "text.tokenizer", "bpe"),
        ('text.tokenizer="bpe"', "text.tokenizer", "bpe"),
        ("data.source=a=b.txt", "data.source", "a=b.txt"),
        ("decoder.attention={score='dot'}", "decoder.attention", {"score": "dot"}),
    ],
)
def test_a_setting_is_a_toml_value_or_plain_text(text, key, value):
    assert parse_setting(text) == (key, value)


def test_a_setting_without_a_value_is_an_error():
    with pytest.raises(UserError, match="key=value"):
        parse_setting("training.steps")


def test_differences_name_the_key_and_both_values():
    recipe = load_recipe("bahdanau2015-small")
    other = load_recipe("bahdanau2015-small", {"training.seed": 7, "encoder.width": 64})
    assert differences(recipe, other) == {
        "encoder.width": (128, 64),
        "training.seed": (1, 7),
    }
    assert differences(recipe, recipe) == {}


def test_another_architecture_has_its_own_settings():
    recipe = load_recipe("bahdanau2015-small", {"encoder.width": 64, "encoder.kind": "transformer"})
    assert (recipe.encoder.kind, recipe.encoder.width) == ("transformer", 64)
    settings = {"decoder.attention.score": "dot", "decoder.kind": "luong"}
    recipe = load_recipe("bahdanau2015-small", settings)
    assert (recipe.decoder.kind, recipe.decoder.attention.score) == ("luong", "dot")


def test_an_override_keeps_the_other_settings_of_its_table():
    recipe = load_recipe("bahdanau2015-small", {"decoder.attention.score": "general"})
    assert recipe.decoder.attention.score_width == 128
    recipe = load_recipe("bahdanau2015-small", {"text.tokenizer": "bpe", "training": {"steps": 5}})
    assert recipe.text.source_vocabulary_size == 2000
    assert (recipe.training.steps, recipe.training.tokens_per_batch) == (5, 1024)
