"""A small valid model made without training, and functions to change its files."""

import json
from pathlib import Path

import numpy
from safetensors.numpy import save

from dhyan import atomic_folder
from dhyan.checkpoint import write_checkpoint, write_pointer
from dhyan.config import dump_recipe, load_recipe
from dhyan.model_check.checkpoint_contents import weight_shapes
from dhyan.text.tokenizer import Tokenizer
from tests.tiny_models import OFTEN, RECIPES, SIZES

STEP = 3
FACTS = {"data_fingerprint": "abc", "device": "cpu", "threads": 1, "versions": {"torch": "2"}}
SENTENCES = [
    "one two three four five six seven",
    "the girl reads a book in the house",
    "how are you today my friend",
]


def settings(family, **more):
    """A shipped recipe made tiny."""
    return load_recipe(RECIPES[family], {**SIZES[family], **OFTEN, **more})


def tokenizer(kind="bpe", size=300):
    """A tokenizer learned from a few sentences."""
    return Tokenizer.train(SENTENCES, kind=kind, size=size)


def random_weights(recipe, sizes):
    """Weights of the right shapes."""
    draw = numpy.random.default_rng(0)
    shapes = weight_shapes(recipe, sizes)
    return {name: draw.normal(0, 0.1, shape).astype("f4") for name, shape in shapes.items()}


def adam_state(name, size):
    """The optimizer state of a weight."""
    moments = {f"{name}:{what}": numpy.zeros(size, "f4") for what in ("exp_avg", "exp_avg_sq")}
    return {f"{name}:step": numpy.zeros((), "f4"), **moments}


def model_files(family="rnn", **more):
    """The files of a valid model."""
    return files_of(settings(family, **{"text.tokenizer": "bpe"}, **more))


def files_of(recipe):
    """The files of a valid model of this recipe, whose tokenizer is BPE."""
    source, target = tokenizer(size=300), tokenizer(size=310)
    return {
        "recipe.toml": dump_recipe(recipe).encode(),
        "model.safetensors": save(random_weights(recipe, (len(source), len(target)))),
        "source.json": source.to_json().encode(),
        "target.json": target.to_json().encode(),
        "training.safetensors": save(adam_state("decoder.output.bias", len(target))),
        "training.json": json.dumps({"step": STEP, "scores": {}}).encode(),
    }


def write_model(run: Path, files):
    """A run folder with one checkpoint; its last.json names it."""
    run.mkdir(parents=True, exist_ok=True)
    folder = write_checkpoint(run, STEP, files, **FACTS)
    write_pointer(run, "last.json", STEP)
    return folder


def rewrite_manifest(folder: Path, files=None, **facts):
    """Write the manifest anew, as an attacker would after changing files."""
    if files is None:
        paths = sorted(p for p in folder.iterdir() if p.is_file())
        files = {
            path.name: atomic_folder.file_checksum(path)
            for path in paths
            if path.name != atomic_folder.MANIFEST
        }
    atomic_folder.write_manifest(folder, {"step": STEP, **FACTS, **facts}, files)


def replace_file(folder: Path, name, data):
    """Replace a file, and its hash in the manifest."""
    path = folder / name
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    rewrite_manifest(folder)
