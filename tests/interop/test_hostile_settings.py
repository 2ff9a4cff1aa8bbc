"""Folders of Hugging Face whose JSON was changed anywhere: imported, or refused in one line."""

import json
import random
import shutil

import pytest
from safetensors.torch import load_file, save_file

from dhyan.errors import UserError
from dhyan.interop.import_model import import_model
from tests.interop.multilingual_models import MULTILINGUAL, multilingual_folder
from tests.interop.t5_models import T5, t5_folder

ODD = [None, True, -1, 0, 10**400, 0.5, "", "x" * 300, [], {}, [[]], [1, 2], {"a": []}, "__hi__"]
FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of each kind whose tokenizer is in tokenizer.json alone."""
    root = tmp_path_factory.mktemp("valid")
    for name in ("nllb-tokenizer-json", "mbart50-tokenizer-json"):
        multilingual_folder(root / name, **MULTILINGUAL[name])
    t5_folder(root / "t5", **T5["few-buckets-tokenizer-json"])
    return sorted(root.iterdir())


def places(value, path=()):
    """The path of every value in a JSON text; of long lists and tables, a few."""
    yield path
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in list(entries)[:40]:
            yield from places(inner, (*path, key))


def changed(value, path, new):
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def import_error(folder):
    """The sentence of a refusal; empty if the folder is imported."""
    try:
        import_model(folder, folder.with_name("ours"), languages=("en", "hi"))
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("seed", range(3))
def test_any_value_may_be_anything(folders, seed, tmp_path):
    draw, refused = random.Random(seed), 0
    for number in range(30):
        folder = shutil.copytree(draw.choice(folders), tmp_path / str(number) / "theirs")
        file = folder / draw.choice([name for name in FILES if (folder / name).exists()])
        table = json.loads(file.read_text(encoding="utf-8"))
        path = draw.choice(list(places(table)))
        file.write_text(json.dumps(changed(table, path, draw.choice(ODD))), encoding="utf-8")
        error = import_error(folder)
        if error:
            refused += 1
            assert "\n" not in error
            assert not folder.with_name("ours").exists()
        shutil.rmtree(folder.parent)
    assert refused >= 3


@pytest.mark.parametrize(
    ("index", "match"),
    [
        ({"weight_map": {"a": "../model.safetensors"}}, r"'\.\./model\.safetensors' is no file of"),
        ({"weight_map": {"a": 1}}, "has no weight_map from tensors to files"),
        ({}, "has no weight_map"),
    ],
)
def test_an_index_names_files_of_its_folder(folders, tmp_path, index, match):
    folder = shutil.copytree(folders[0], tmp_path / "theirs")
    (folder / "model.safetensors").rename(folder / "other.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UserError, match=match):
        import_model(folder, tmp_path / "ours", languages=("en", "hi"))


def test_weights_in_several_files_are_read(folders, tmp_path):
    folder = shutil.copytree(folders[1], tmp_path / "theirs")
    weights = load_file(folder / "model.safetensors")
    names = sorted(weights)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, part in parts.items():
        save_file({name: weights[name] for name in part}, folder / file)
    (folder / "model.safetensors").unlink()
    index = {name: file for file, part in parts.items() for name in part}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    whole = import_model(folders[1], tmp_path / "whole", languages=("en", "hi"))
    split = import_model(folder, tmp_path / "split", languages=("en", "hi"))
    assert split.weights.keys() == whole.weights.keys()
    assert all((split.weights[name] == whole.weights[name]).all() for name in whole.weights)


@pytest.mark.parametrize(
    ("name", "values", "match"),
    [
        ("tokenizer_config.json", {"legacy_behaviour": True}, "sources that end in their language"),
        ("tokenizer_config.json", {"tokenizer_class": "MBartTokenizer"}, "is of the first mBART"),
        ("config.json", {"vocab_size": 9}, r"vocab_size is 9; there are \d+ tokens"),
        ("config.json", {"eos_token_id": 1}, "eos_token_id is 1; it must differ from padding"),
    ],
)
def test_what_cannot_be_imported_is_named(folders, tmp_path, name, values, match):
    folder = shutil.copytree(folders[1], tmp_path / "theirs")
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    if name == "config.json" and "eos_token_id" in values:
        settings = json.loads(path.read_text())
        path.write_text(json.dumps(settings | {"decoder_start_token_id": 1}))
    with pytest.raises(UserError, match=match):
        import_model(folder, tmp_path / "ours", languages=("en", "hi"))
