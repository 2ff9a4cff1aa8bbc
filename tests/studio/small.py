"""Models for the page that train in seconds: one of every kind, on sentences of the primer."""

import shutil

from dhyan.config import load_recipe
from dhyan.run import train

RNN = {
    "encoder.embedding": 24, "encoder.width": 24, "decoder.embedding": 24, "decoder.width": 24,
}  # fmt: skip
SMALL = {
    "sutskever2014-small": {**RNN, "encoder.layers": 1, "decoder.layers": 1},
    "bahdanau2015-small": {**RNN, "decoder.readout": 24, "decoder.attention.hidden": 20},
    "luong2015-small": {**RNN, "encoder.layers": 1, "decoder.layers": 1},
    "transformer2017-small": {
        "encoder.width": 24, "encoder.heads": 2, "encoder.hidden": 32, "encoder.layers": 2,
        "decoder.width": 24, "decoder.heads": 2, "decoder.hidden": 32, "decoder.layers": 2,
    },
}  # fmt: skip
ALL = {
    "data.task": "primer", "data.pairs": 600, "data.most_words": 8, "data.core": 0.15,
    "text.kind": "words", "text.source_size": 800, "text.target_size": 900,
    "training.steps": 60, "training.tokens_per_batch": 400, "training.validate_every": 30,
    "training.save_every": 30, "training.valid_sentences": 8, "training.report_every": 5,
}  # fmt: skip
NAMES = {"sutskever2014-small": "bottleneck"} | {
    name: name.partition("20")[0] for name in list(SMALL)[1:]
}


def train_small(root):
    """All of them, each in a folder of its name; the whole appears at once."""
    making = root.with_suffix(".making")
    for recipe, sizes in SMALL.items():
        folder = making / NAMES[recipe]
        for _ in train(load_recipe(recipe, {**ALL, **sizes}), folder, threads=1):
            pass
    shutil.move(making, root)
