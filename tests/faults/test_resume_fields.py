"""A run resumes with the settings it started with; what has changed is reported by name."""

import json
from dataclasses import fields, is_dataclass, replace

import pytest

from dhyan.atomic_folder import write_manifest
from dhyan.checkpoint import read_checkpoint
from dhyan.config import load_recipe
from dhyan.data.corpus import load_corpus
from dhyan.errors import UserError
from dhyan.run.load import load_saved_recipe
from dhyan.run.resume_checks import MAY_CHANGE, check_same
from tests.faults.fork_client import newest_step


def leaves(value, *path):
    """Every setting of a recipe, by its path."""
    for field in fields(value):
        inner = getattr(value, field.name)
        if is_dataclass(inner):
            yield from leaves(inner, *path, field.name)
        else:
            yield (*path, field.name), inner


def with_value(recipe, path, value):
    name, *rest = path
    inner = with_value(getattr(recipe, name), rest, value) if rest else value
    return replace(recipe, **{name: inner})


def another_value(value):
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
        case tuple():
            return (*value, *value[-1:]) if value else ("x",)
    return "something"


@pytest.mark.parametrize("family", ["rnn", "transformer"])
def test_every_changed_setting_is_refused_by_name_or_allowed(training_of, family):
    training = training_of(family)
    folder = training.undisturbed / f"step-{newest_step(training.undisturbed)}"
    recipe = load_saved_recipe(read_checkpoint(folder))
    corpus = load_corpus(recipe)
    check_same(folder, recipe, recipe, corpus)
    refused = set()
    for path, value in leaves(recipe):
        key, now = ".".join(path), with_value(recipe, path, another_value(value))
        if key in MAY_CHANGE:
            check_same(folder, recipe, now, corpus)
            continue
        with pytest.raises(UserError, match=f"was trained with {key} = "):
            check_same(folder, recipe, now, corpus)
        refused.add(key)
    expected = {
        "training.seed",
        "text.source_vocabulary_size",
        "encoder.width",
        "training.learning_rate",
    }
    assert refused >= expected
    assert len(refused) > 50


def test_only_settings_that_change_no_bit_may_change():
    shape = {key for key in MAY_CHANGE if key.startswith(("encoder.", "decoder.", "text."))}
    assert shape == set()
    assert "training.seed" not in MAY_CHANGE
    settings = {".".join(path) for name in ("numbers",) for path, _ in leaves(load_recipe(name))}
    assert settings >= MAY_CHANGE, "a name that no setting has"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "before", "now"),
    [("training.seed", 1, 9), ("text.source_vocabulary_size", 320, 330), ("decoder.width", 24, 32)],
)
def test_the_command_line_refuses_in_one_line(server, copy_of, key, before, now):
    training, run = copy_of("rnn")
    code, output = server.run(*training.arguments(run, **{key: now}))
    assert code == 2
    (line,) = [line for line in output.splitlines() if line.startswith("dhyan: ")]
    assert f"was trained with {key} = {before}, now it is {now}: " in line


@pytest.mark.slow
def test_other_threads_are_logged(server, copy_of):
    training, run = copy_of("rnn")
    arguments = list(map(str, training.arguments(run, 4)))
    arguments[arguments.index("--threads") + 1] = "2"
    code, output = server.run(*arguments)
    assert code == 0, output
    assert "was trained with threads 1, now 2: the last digits may differ" in output


@pytest.mark.slow
def test_another_environment_is_logged_and_other_data_are_refused(server, copy_of):
    training, run = copy_of("rnn")
    folder = run / f"step-{newest_step(run)}"
    manifest = json.loads((folder / "manifest.json").read_text())
    checksums, facts = manifest.pop("files"), {k: manifest[k] for k in manifest if k != "checksum"}
    facts["versions"]["torch"], facts["device"] = "1.0", "cuda"
    write_manifest(folder, facts, checksums)
    code, output = server.run(*training.arguments(run, 4))
    assert code == 0, output
    assert "was trained with torch 1.0, now " in output
    assert "was trained with device cuda, now cpu: the last digits may differ" in output
    lines = training.files[1].read_text().splitlines()
    moved = training.files[1].with_name("moved.hi")
    moved.write_text("\n".join([*lines[1:], lines[0]]) + "\n")
    arguments = [
        str(w).replace(str(training.files[1]), str(moved)) for w in training.arguments(run, 5)
    ]
    code, output = server.run(*arguments)
    assert code == 2
    assert "was trained on other pairs" in output
