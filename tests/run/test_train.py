"""From files to a run folder and back: training, loading, resuming."""

import importlib
import inspect
import json
import os
import shutil
from dataclasses import replace

import pytest
import torch

import dhyan
from dhyan import checkpoint
from dhyan.checkpoint import read_checkpoint, steps_in
from dhyan.config import dump_recipe, load_recipe
from dhyan.data.corpus import load_corpus, with_languages
from dhyan.errors import UserError
from dhyan.run import train
from dhyan.run.load import choose_device
from dhyan.run.train import parse_arguments
from dhyan.text.languages import language_of
from dhyan.training.events import Saved, SaveFailed, Stepped, Validated
from tests.tiny_models import OFTEN, RECIPES, SIZES, tiny_recipe, write_corpus

train_module = importlib.import_module("dhyan.run.train")  # dhyan.run.train is its function


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module", params=["rnn", "transformer"])
def family(request):
    return request.param


@pytest.fixture(scope="module")
def finished(family, files, tmp_path_factory):
    """One uninterrupted run, with every checkpoint kept."""
    out = tmp_path_factory.mktemp(family) / "run"
    recipe = tiny_recipe(family, *files, **{"training.keep_checkpoints": 99})
    events = list(train(recipe, out, threads=1))
    return recipe, out, events


def test_events_describe_the_whole_run(finished):
    recipe, out, events = finished
    assert [e.step for e in events if isinstance(e, Stepped)] == list(range(1, 13))
    assert [e.step for e in events if isinstance(e, Validated)] == [4, 8, 12]
    assert [e.step for e in events if isinstance(e, Saved)] == list(range(0, 13, 2))
    assert {"loss", "bleu", "chrf"} == set(events[-2].scores)


def test_metrics_are_the_events_as_json_lines(finished):
    recipe, out, events = finished
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == [type(e).__name__.lower() for e in events]
    assert [line["step"] for line in lines] == [e.step for e in events]


def test_a_checkpoint_is_self_contained(finished):
    recipe, out, events = finished
    assert set(read_checkpoint(out / "step-12")) == {
        "recipe.toml",
        "model.safetensors",
        "source.json",
        "target.json",
        "training.safetensors",
        "training.json",
        "training-sentences.bin",
    }


def test_saving_and_loading_changes_nothing(finished, files):
    recipe, out, events = finished
    best = max((e for e in events if isinstance(e, Saved) and e.best), key=lambda e: e.step)
    sentences = files[0].read_text().splitlines()[:20]
    by_run, by_step = dhyan.load(out), dhyan.load(best.folder)
    assert by_run(sentences) == by_step(sentences)
    run = train(recipe, out, resume=True, threads=1)
    last = dhyan.load(out / "step-12")
    for name, weight in run.trainer.model.named_parameters():
        assert torch.equal(weight, dict(last.model.named_parameters())[name])


def test_a_run_resumed_from_any_checkpoint_ends_in_the_same_bits(finished, tmp_path):
    recipe, out, events = finished
    expected = read_checkpoint(out / "step-12")
    for step in (0, 6):
        again = tmp_path / f"from-{step}"
        again.mkdir()
        shutil.copytree(out / f"step-{step}", again / f"step-{step}")
        shutil.copy(out / "metrics.jsonl", again)
        list(train(recipe, again, resume=True, threads=1))
        assert read_checkpoint(again / "step-12") == expected
        ours = [json.loads(x) for x in (again / "metrics.jsonl").read_text().splitlines()]
        assert [x["step"] for x in ours if x["event"] == "stepped"] == list(range(1, 13))


EVERYTHING = {
    "training.schedule": "plateau",
    "training.plateau_patience": 1,
    "training.ema_decay": 0.8,
    "training.r_drop": 1.0,
    "training.teacher_forcing_schedule": "linear",
    "training.teacher_forcing_slope": 0.1,
    "training.teacher_forcing_min": 0.2,
    "training.gradient_accumulation": 2,
    "training.validate_every": 2,
    "training.early_stopping_metric": "bleu",
    "training.steps": 6,
    "training.tokens_per_batch": 62,
    "training.valid_sentences": 1,
}


def test_with_every_option_on_a_resumed_run_ends_in_the_same_bits(family, files, tmp_path):
    recipe = tiny_recipe(family, *files, **{**EVERYTHING, "training.keep_checkpoints": 99})
    events = list(train(recipe, tmp_path / "whole", threads=1))
    rates = [event.learning_rate for event in events if isinstance(event, Stepped)]
    assert rates[-1] < max(rates)
    expected = read_checkpoint(tmp_path / "whole" / "step-6")
    assert b'"rate_reductions": 0' not in expected["training.json"]
    for step in (2, 4):
        again = tmp_path / f"from-{step}"
        shutil.copytree(tmp_path / "whole" / f"step-{step}", again / f"step-{step}")
        list(train(recipe, again, resume=True, threads=1))
        assert read_checkpoint(again / "step-6") == expected


def test_what_is_saved_and_validated_is_the_average(family, files, tmp_path):
    settings = {"training.ema_decay": 0.9, "training.steps": 4}
    run = train(tiny_recipe(family, *files, **settings), tmp_path / "run", threads=1)
    last = [event for event in run if isinstance(event, Validated)][-1]
    averaged = dict(dhyan.load(tmp_path / "run" / "step-4").model.named_parameters())
    raw = dict(run.trainer.model.named_parameters())
    assert any(not torch.equal(averaged[name], raw[name]) for name in raw)
    for name, weight in run.trainer.weights().items():
        assert torch.equal(averaged[name], weight)
    settings_of_other = {
        "training.init_from": str(tmp_path / "run" / "step-4"),
        "training.steps": 1,
    }
    other = train(tiny_recipe(family, *files, **settings_of_other), tmp_path / "other", threads=1)
    with other.lock:
        other.trainer.model.eval()
        assert other.trainer.validate() == last.scores


def test_decoding_options_may_change_when_resumed(finished, files, tmp_path):
    recipe, out, _ = finished
    copy = tmp_path / "run"
    shutil.copytree(out / "step-8", copy / "step-8")
    changed = {"beam": 2, "no_repeat_ngram": 2, "min_length": 3, "sample": True, "temperature": 0.5}
    sampling = replace(recipe, decoding=replace(recipe.decoding, **changed))
    list(train(sampling, copy, resume=True, threads=1))
    ours, theirs = read_checkpoint(copy / "step-12"), read_checkpoint(out / "step-12")
    assert ours.pop("recipe.toml") != theirs.pop("recipe.toml")
    assert ours == theirs


def test_contradictions_are_refused_before_any_data_are_read(tmp_path):
    nowhere = (tmp_path / "no.en", tmp_path / "no.hi")
    for settings, message in (
        ({"encoder.heads": 3}, "width 16 does not divide into 3 heads"),
        ({"training.schedule": "cosine", "training.warmup_steps": 50}, "training.warmup_steps"),
        (
            {
                "training.teacher_forcing_schedule": "inverse_sigmoid",
                "training.teacher_forcing_k": 0.2,
            },
            "teacher_forcing_k",
        ),
        ({"decoding.min_length": 9, "decoding.max_length": 9}, "min_length 9"),
    ):
        with pytest.raises(UserError, match=message):
            train(tiny_recipe("transformer", *nowhere, **settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("key", "value"), [("training.schedule", "plateau"), ("training.patience", 3)]
)
def test_plateau_and_patience_need_validation_pairs(tmp_path, key, value):
    few = write_corpus(tmp_path, pairs=50)
    with pytest.raises(UserError, match=f"{key} = {value!r} follows .* nothing to validate on"):
        train(tiny_recipe("rnn", *few, **{key: value}), tmp_path / "run")


@pytest.mark.parametrize("validated", [True, False])
def test_two_checkpoints_are_kept_at_least_and_the_best(files, tmp_path, validated):
    few = files if validated else write_corpus(tmp_path, pairs=50)
    run = train(
        tiny_recipe("rnn", *few, **{"training.keep_checkpoints": 1}), tmp_path / "run", threads=1
    )
    list(run)
    best = run.trainer.state.best_step
    assert (best is not None) == validated
    assert set(steps_in(tmp_path / "run")) == {12, 10, best} - {None}


def test_extending_a_cosine_schedule_warns(log, files, tmp_path):
    settings = {"training.schedule": "cosine", "training.warmup_steps": 0, "training.steps": 2}
    list(train(tiny_recipe("rnn", *files, **settings), tmp_path / "run", threads=1))
    longer = tiny_recipe("rnn", *files, **{**settings, "training.steps": 4})
    list(train(longer, tmp_path / "run", resume=True, threads=1))
    assert any("the cosine schedule ended at step 2, now at 4" in line for line in log.messages)


def test_a_second_run_from_the_same_seed_is_the_same(finished, tmp_path):
    recipe, out, events = finished
    list(train(recipe, tmp_path / "again", threads=1))
    assert read_checkpoint(tmp_path / "again" / "step-12") == read_checkpoint(out / "step-12")


def test_another_seed_is_another_run(family, files, tmp_path, finished):
    recipe = tiny_recipe(family, *files, **{"training.seed": 2, "training.steps": 2})
    list(train(recipe, tmp_path / "run", threads=1))
    name = "model.safetensors"
    ours = read_checkpoint(tmp_path / "run" / "step-2")[name]
    assert ours != read_checkpoint(finished[1] / "step-2")[name]


def test_only_the_newest_and_the_best_are_kept(files, tmp_path):
    events = list(train(tiny_recipe("rnn", *files), tmp_path / "run", threads=1))
    best = [e.step for e in events if isinstance(e, Saved) and e.best][-1]
    assert set(steps_in(tmp_path / "run")) == {12, 10, best}


def test_a_run_is_not_started_over_another(finished):
    recipe, out, _ = finished
    with pytest.raises(UserError, match="holds a run already: add resume=True"):
        train(recipe, out)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"training.seed": 9}, "training.seed = 1, now it is 9"),
        ({"encoder.dropout": 0.5}, "encoder.dropout"),
        (
            {"training.keep_checkpoints": 3, "text.source_vocabulary_size": 300},
            "text.source_vocabulary_size",
        ),
        ({"data.max_tokens": 50}, "data.max_tokens"),
    ],
)
def test_resuming_with_other_settings_is_refused_by_name(
    family, finished, files, settings, message
):
    with pytest.raises(UserError, match=message):
        train(tiny_recipe(family, *files, **settings), finished[1], resume=True)


def test_resuming_on_other_data_is_refused(family, finished, files, tmp_path):
    recipe, out, _ = finished
    copy = tmp_path / "run"
    shutil.copytree(out / "step-12", copy / "step-12")
    original = files[1].read_text()
    files[1].write_text(original.replace("सौ", "सो", 1))
    try:
        with pytest.raises(UserError, match="trained on other pairs"):
            train(recipe, copy, resume=True)
    finally:
        files[1].write_text(original)


def test_a_run_can_be_extended(family, finished, files, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(finished[1], copy)
    longer = tiny_recipe(family, *files, **{"training.steps": 14, "training.keep_checkpoints": 99})
    list(train(longer, copy, resume=True, threads=1))
    assert steps_in(copy)[0] == 14


def test_a_damaged_checkpoint_is_skipped_and_the_end_is_the_same(log, finished, tmp_path):
    recipe, out, _ = finished
    copy = tmp_path / "run"
    for step in (8, 10):
        shutil.copytree(out / f"step-{step}", copy / f"step-{step}")
    model = copy / "step-10" / "model.safetensors"
    data = bytearray(model.read_bytes())
    data[len(data) // 2] ^= 4
    model.write_bytes(data)
    list(train(recipe, copy, resume=True, threads=1))
    assert any("step-10" in line and "damaged" in line for line in log.messages)
    assert read_checkpoint(copy / "step-12") == read_checkpoint(out / "step-12")


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("failing", ["a file", "the run"])
def test_a_failed_last_save_is_retried(files, tmp_path, monkeypatch, stopped, failing):
    steps = {"training.steps": 3 if stopped else 2, "training.save_every": 100}
    recipe, fsync, out = tiny_recipe("rnn", *files, **steps), os.fsync, tmp_path / "run"
    run, alone = (train(recipe, tmp_path / name, threads=1) for name in ("run", "alone"))
    refused = []

    def failing_once(descriptor):
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        hit = out / "tmp-step-2" / "recipe.toml" if failing == "a file" else out
        there = failing == "a file" or (out / "step-2").exists()
        if there and not refused and path == str(hit):
            refused.append(path)
            raise OSError(5, "Input/output error")
        fsync(descriptor)

    def events_of(run):
        for event in run:
            if stopped and event.step == 1 and not run.trainer.stop_reason:
                run.trainer.interrupt("asked to")
            yield event

    expected = list(events_of(alone))
    monkeypatch.setattr(os, "fsync", failing_once)
    events = list(events_of(run))
    assert refused
    assert [type(e) for e in events if not isinstance(e, SaveFailed)] == [type(e) for e in expected]
    (unsaved,) = [event for event in events if isinstance(event, SaveFailed)]
    assert "Input/output error" in unsaved.reason
    for name in ("step-2", "step-0"):
        assert read_checkpoint(out / name) == read_checkpoint(tmp_path / "alone" / name)
    left = [sorted(path.name for path in folder.iterdir()) for folder in (out, tmp_path / "alone")]
    assert left[0] == left[1]


@pytest.mark.parametrize("failures", [1, 2])
def test_failed_pointers_are_retried(log, files, tmp_path, monkeypatch, failures):
    recipe, left = tiny_recipe("rnn", *files, **{"training.steps": 1}), [failures]
    run = train(recipe, tmp_path / "run", threads=1)

    def failing(folder, name, step, **facts):
        if step == 1 and left[0]:
            left[0] -= 1
            raise OSError(5, "Input/output error", str(folder / name))
        checkpoint.write_pointer(folder, name, step, **facts)

    monkeypatch.setattr("dhyan.run.run_folder.write_pointer", failing)
    list(run)
    lines = [line for line in log.messages if "is whole, but " in line]
    assert len(lines) == failures
    assert all("last.json: Input/output error; " in line for line in lines)
    assert (tmp_path / "run" / "best.json").exists() == (failures == 1)
    train(recipe, tmp_path / "run", resume=True, threads=1).lock.close()
    assert checkpoint.find_checkpoint(tmp_path / "run").name == "step-1"


def test_nothing_to_resume_is_an_error(files, tmp_path):
    recipe = tiny_recipe("rnn", *files)
    with pytest.raises(UserError, match="nothing to resume: .*run does not exist; name the run's"):
        train(recipe, tmp_path / "run", resume=True)
    (tmp_path / "run").mkdir()
    with pytest.raises(UserError, match="nothing to resume: .*run is not a run folder"):
        train(recipe, tmp_path / "run", resume=True)
    assert not list((tmp_path / "run").iterdir())


def test_a_started_run_without_checkpoint_resumes_from_the_beginning(log, files, tmp_path):
    recipe = tiny_recipe("rnn", *files, **{"training.steps": 1})
    train(recipe, tmp_path / "run", threads=1).lock.close()
    list(train(recipe, tmp_path / "run", resume=True, threads=1))
    list(train(recipe, tmp_path / "alone", threads=1))
    assert any("its run starts from the beginning" in line for line in log.messages)
    ours, theirs = (tmp_path / name / "step-1" for name in ("run", "alone"))
    assert read_checkpoint(ours) == read_checkpoint(theirs)


def test_the_names_of_a_recipe_and_of_a_folder_are_texts_or_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = load_recipe("numbers", {"data.pairs": 60, "training.steps": 1, "decoder.width": 8})
    (tmp_path / "mine.toml").write_text(dump_recipe(recipe), encoding="utf-8")
    for number, name in enumerate(("mine.toml", tmp_path / "mine.toml")):
        list(train(name, f"runs/{number}", threads=1))
        assert steps_in(tmp_path / "runs" / str(number))[0] == 1
    train("numbers", "runs/shipped", threads=1).lock.close()


@pytest.mark.parametrize(
    ("recipe", "out", "message"),
    [
        ({"training": {}}, "run", "recipe: expected a Recipe, a .toml file or .*, found dict"),
        (None, "run", "recipe: expected a Recipe, .* found NoneType; dhyan.load_recipe reads one"),
        ("nubmers", "run", "no recipe 'nubmers'; did you mean 'numbers'"),
        ("numbers", None, "out: expected the path of the run folder, found None"),
        ("numbers", "", "out: expected the path of the run folder, found ''"),
        ("numbers", 3, "out: expected the path of the run folder, found 3"),
    ],
)
def test_wrong_arguments_are_named(recipe, out, message):
    unchecked = inspect.unwrap(parse_arguments)  # users have no type checker at run time
    with pytest.raises(UserError, match=message):
        unchecked(recipe, out)


def test_saved_paths_are_absolute(files, tmp_path, monkeypatch):
    monkeypatch.chdir(files[0].parent)
    more = {"data.valid_source": "a.en", "data.valid_target": "a.hi", "data.allow_leakage": True}
    mixed = {"data.mix": [{"source": "a.en", "target": "a.hi"}], "training.steps": 1}
    list(train(tiny_recipe("rnn", "a.en", "a.hi", **more, **mixed), tmp_path / "run", threads=1))
    data = load_recipe(tmp_path / "run/step-1/recipe.toml").data
    source, target = map(str, files)
    assert (data.source, data.target) == (data.valid_source, data.valid_target) == (source, target)
    assert (data.mix[0].source, data.mix[0].target) == (source, target)


def test_epochs_count_batches_exactly(files, tmp_path):
    for accumulation in (1, 2):
        more = {"training.epochs": 2, "training.gradient_accumulation": accumulation}
        settings = {key: value for key, value in {**OFTEN, **more}.items() if "steps" not in key}
        run = train(recipe_with(files, settings), tmp_path / f"run-{accumulation}", threads=1)
        list(run)
        batches, position, count = run.trainer.batches, 0, 0
        while batches.epoch(position) < 2:
            position, count = batches.at(position)[1], count + 1
        assert run.trainer.state.step == -(-count // accumulation)


def recipe_with(files, settings):
    corpus = {"data.source": str(files[0]), "data.target": str(files[1])}
    return load_recipe(RECIPES["rnn"], {**SIZES["rnn"], **settings, **corpus})


def test_a_cosine_over_epochs_needs_more_steps_than_its_warmup(files, tmp_path):
    more = {"training.epochs": 1, "training.schedule": "cosine", "training.warmup_steps": 10_000}
    settings = {key: value for key, value in {**OFTEN, **more}.items() if key != "training.steps"}
    with pytest.raises(UserError, match="training.warmup_steps: 10,000 steps leave nothing of"):
        train(recipe_with(files, settings), tmp_path / "run", threads=1)


def test_a_run_without_its_checkpoints_is_not_restarted(files, tmp_path):
    recipe = tiny_recipe("rnn", *files, **{"training.steps": 2})
    list(train(recipe, tmp_path / "run", threads=1))
    for step in steps_in(tmp_path / "run"):
        shutil.rmtree(tmp_path / "run" / f"step-{step}")
    for resume in (True, False):
        with pytest.raises(UserError, match="checkpoints are gone, last.json is left"):
            train(recipe, tmp_path / "run", resume=resume)


def test_validation_pairs_are_not_trained_on(files):
    corpus = load_corpus(tiny_recipe("rnn", *files))
    assert corpus.validation
    sources = {pair.source for pair in corpus.training}
    assert not sources & {pair.source for pair in corpus.validation}


def test_named_validation_files_are_used(files, tmp_path):
    held = write_corpus(tmp_path, pairs=7)
    more = {"data.valid_source": str(held[0]), "data.valid_target": str(held[1])}
    more["data.allow_leakage"] = True
    corpus = load_corpus(tiny_recipe("rnn", *files, **more))
    assert (len(corpus.training), len(corpus.validation)) == (400, 7)


def test_a_task_needs_no_files():
    recipe = dhyan.config.load_recipe("numbers", {"data.pairs": 50})
    corpus = load_corpus(recipe)
    assert (len(corpus.training), len(corpus.validation)) == (50, 5)
    assert with_languages(recipe).data.target_language == "hi"


def test_languages_are_read_off_file_names():
    names = {"train.hi": "hi", "a/b.en.xz": "en", "x.tsv": "", "x.txt": "", "x.hin": "hi",
             "deu": "", "x.csv.gz": "", "x.src": "", "x.tok": "", "x.hi.gz": "hi"}  # fmt: skip
    assert {name: language_of(name) for name in names} == names


def test_a_run_resumes_when_its_data_files_moved(family, finished, files, tmp_path):
    recipe, out, _ = finished
    copy, moved = tmp_path / "run", [tmp_path / file.name for file in files]
    shutil.copytree(out / "step-10", copy / "step-10")
    for file, path in zip(files, moved, strict=True):
        shutil.copy(file, path)
    list(
        train(
            tiny_recipe(family, *moved, **{"training.keep_checkpoints": 99}),
            copy,
            resume=True,
            threads=1,
        )
    )
    ours, theirs = (read_checkpoint(run / "step-12") for run in (copy, out))
    for name in ("model.safetensors", "training.safetensors", "training.json"):
        assert ours[name] == theirs[name]


def test_a_run_can_be_resumed_in_the_same_process(files, tmp_path):
    recipe = tiny_recipe("rnn", *files, **{"training.steps": 2})
    run = train(recipe, tmp_path / "run", threads=1)
    list(run)
    assert list(train(recipe, tmp_path / "run", resume=True, threads=1)) == []


def test_without_validation_only_the_newest_checkpoints_stay(files, tmp_path):
    few = write_corpus(tmp_path, pairs=50)
    list(train(tiny_recipe("rnn", *few), tmp_path / "run", threads=1))
    assert steps_in(tmp_path / "run") == [12, 10]
    assert not (tmp_path / "run" / "best.json").exists()


def test_held_out_and_dropped_pairs_are_logged(log, tmp_path):
    source, target = write_corpus(tmp_path, pairs=300)
    source.write_text(source.read_text() * 2)
    target.write_text(target.read_text() * 2)
    corpus = load_corpus(tiny_recipe("rnn", source, target))
    assert len(corpus.training) + len(corpus.validation) < 600
    left = 600 - len(corpus.training) - len(corpus.validation)
    assert any(f"left out {left} more that share a source" in line for line in log.messages)
    source.write_text("same\n" * 600)
    log.clear()
    assert len(load_corpus(tiny_recipe("rnn", source, target)).training) == 600
    assert any("there is no validation" in line for line in log.messages)


def test_a_missing_best_checkpoint_is_not_named(finished, tmp_path):
    recipe, out, _ = finished
    copy = tmp_path / "run"
    shutil.copytree(out / "step-10", copy / "step-10")
    checkpoint.write_pointer(copy, "best.json", 4)
    train(recipe, copy, resume=True, threads=1).lock.close()
    assert not (copy / "best.json").exists()
    dhyan.load(copy)


def test_a_failed_start_releases_the_lock(finished, files, family, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(finished[1] / "step-10", copy / "step-10")
    with pytest.raises(UserError) as error:
        train(tiny_recipe(family, *files, **{"training.seed": 5}), copy, resume=True)
    train(finished[0], copy, resume=True, threads=1).lock.close()
    assert error


def test_max_source_length_may_be_below_max_tokens(files, tmp_path):
    short = {"decoding.max_source_length": 3, "training.steps": 4}
    list(train(tiny_recipe("rnn", *files, **short), tmp_path / "run", threads=1))


@pytest.mark.parametrize("out", ["run", "run/below"])
def test_an_out_that_is_a_file_is_refused_before_reading_pairs(tmp_path, out):
    (tmp_path / "run").write_text("")
    with pytest.raises(UserError, match="cannot be written to: .*run is a file"):
        train(tiny_recipe("rnn", "nowhere.en", "nowhere.hi"), tmp_path / out)


def test_without_data_the_error_names_the_options(tmp_path):
    with pytest.raises(UserError, match="no training data: name it with data.source"):
        train(dhyan.config.load_recipe("bahdanau2015-small"), tmp_path / "run")


def test_weights_of_another_shape_are_named(finished, tmp_path):
    from dhyan.models.build import build_model
    from dhyan.run.load import load_weights

    recipe, out, _ = finished
    translator = dhyan.load(out)
    other = build_model(recipe, len(translator.source), len(translator.target) + 1)
    with pytest.raises(UserError, match="do not fit the recipe"):
        load_weights(other, dict(translator.model.named_parameters()))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"data.mix": [{"source": "none.en", "target": "none.hi"}]}, "none.en: there is no such"),
        ({"data.valid_source": "none.en", "data.valid_target": "none.hi"}, "none.en: there is no"),
        ({"data.valid_source": "README.md"}, "README.md: has one side; give the target file too"),
    ],
)
def test_missing_files_are_refused_before_any_is_read(files, tmp_path, monkeypatch, more, message):
    monkeypatch.setattr("dhyan.data.corpus.read_files", lambda *args, **kw: pytest.fail("read"))
    with pytest.raises(UserError, match=message):
        train(tiny_recipe("rnn", *files, **more), tmp_path / "run")


def test_a_loss_worse_than_guessing_is_logged(log, files, tmp_path):
    steps = {
        "training.steps": 4,
        "training.valid_sentences": 0,
        "training.early_stopping_metric": "loss",
    }
    wild = {"training.learning_rate": 30.0, "training.schedule": "constant", **steps}
    list(train(tiny_recipe("rnn", *files, **wild), tmp_path / "wild", threads=1))
    assert any(
        "worse than guessing, 5." in line and "lower training" in line for line in log.messages
    )
    log.clear()
    list(train(tiny_recipe("rnn", *files, **steps), tmp_path / "run", threads=1))
    assert not any("guessing" in line for line in log.messages)


def test_a_missing_device_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in ("cuda", "cuda:1"):
        with pytest.raises(UserError, match=f"device '{name}': no GPU was found; give cpu"):
            choose_device(name)
    with pytest.raises(UserError, match="'moon' cannot be used here"):
        choose_device("moon")


def test_a_run_that_is_being_trained_is_refused_before_any_data_are_read(
    files, tmp_path, monkeypatch
):
    recipe = tiny_recipe("rnn", *files, **{"training.steps": 1})
    with train(recipe, tmp_path / "run", threads=1).lock:
        monkeypatch.setattr(train_module, "load_corpus", None)
        with pytest.raises(UserError, match=f"process {os.getpid()} is training .*wait=True"):
            train(recipe, tmp_path / "run", resume=True)


def test_a_run_of_unknown_languages_resumes_with_those_of_its_columns(files, tmp_path, monkeypatch):
    lines = (path.read_text().splitlines() for path in files)
    rows = ["English\tVietnamese", *map("\t".join, zip(*lines, strict=True))]
    (tmp_path / "a.tsv").write_text("\n".join(rows))
    recipe = tiny_recipe("rnn", tmp_path / "a.tsv", "", **{"training.steps": 2})
    with monkeypatch.context() as without:
        without.setattr(train_module, "with_languages", lambda recipe: recipe)
        list(train(replace(recipe, training=replace(recipe.training, steps=1)), tmp_path / "run"))
    list(train(recipe, tmp_path / "run", resume=True))
    saved = load_recipe(tmp_path / "run" / "step-2" / "recipe.toml").data
    assert (saved.source_language, saved.target_language) == ("en", "vi")
