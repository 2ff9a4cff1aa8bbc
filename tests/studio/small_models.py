"""Models for the page that train in seconds: one of every kind, on the sentences of the notes."""

import shutil
from itertools import islice, product
from pathlib import Path

import pytest
from filelock import FileLock

from dhyan.config import load_recipe
from dhyan.data.primer import generate_sentences
from dhyan.run import train

RNN = {
    "encoder.embedding_width": 24, "encoder.width": 32, "decoder.embedding_width": 24,
    "decoder.width": 32,
}  # fmt: skip
SMALL = {
    "cho2014-small": {**RNN, "decoder.readout_width": 24},
    "bahdanau2015-small": {**RNN, "decoder.readout_width": 24, "decoder.attention.score_width": 20},
    "luong2015-small": {**RNN, "encoder.layers": 1, "decoder.layers": 1},
    "transformer2017-small": {
        "encoder.width": 32, "encoder.heads": 2, "encoder.feed_forward_width": 32, "encoder.layers": 2,
        "decoder.width": 32, "decoder.heads": 2, "decoder.feed_forward_width": 32, "decoder.layers": 2,
        "training.schedule": "cosine",
    },
    "sutskever2014-small": {**RNN, "encoder.layers": 1, "decoder.layers": 1},
}  # fmt: skip
ALL = {
    "data.max_words": 12, "data.source_language": "en", "data.target_language": "hi",
    "data.allow_leakage": True,
    "text.tokenizer": "words", "text.source_vocabulary_size": 1200, "text.target_vocabulary_size": 1200,
    "training.steps": 160, "training.tokens_per_batch": 400, "training.learning_rate": 1e-2,
    "training.warmup_steps": 20, "training.validate_every": 160, "training.save_every": 40,
    "training.keep_checkpoints": 5, "training.valid_sentences": 8, "training.report_every": 5,
}  # fmt: skip
NAMES = {"cho2014-small": "bottleneck"} | {
    name: name.partition("20")[0] for name in list(SMALL)[1:]
}
NOTES = Path(__file__).with_name("note_sentences.txt")
OTHERS = 150  # sentences of the primer, for more words to say


def train_small(root):
    """All of them, each in a folder of its name; the whole appears at once."""
    making = root.with_suffix(".making")
    corpus = write_small(making.with_suffix(".corpus"))
    for recipe, sizes in SMALL.items():
        folder = making / NAMES[recipe]
        for _ in train(load_recipe(recipe, {**ALL, **corpus, **sizes}), folder, threads=1):
            pass
    shutil.move(making, root)


def write_small(folder):
    """The texts, as settings of a recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    notes = list(note_pairs())
    primer = islice(generate_sentences("train", max_words=8, core_share=0.15), OTHERS)
    pairs = notes + [(pair.english, pair.hindi) for pair in primer]
    settings = {}
    for key, side, side_pairs in (
        ("source", 0, pairs), ("target", 1, pairs),
        ("valid_source", 0, pairs[-8:]), ("valid_target", 1, pairs[-8:]),
    ):  # fmt: skip
        settings[f"data.{key}"] = str(folder / key)
        (folder / key).write_text("".join(f"{pair[side]}\n" for pair in side_pairs))
    return settings


def note_pairs():
    """The pairs of the notes' templates: every combination of the words of their slots."""
    for line in NOTES.read_text().splitlines():
        if line.startswith("#"):
            continue
        pair, *slots = line.split(" | ")
        names = [slot.partition(": ")[0] for slot in slots]
        words = [[word.split("/") for word in slot.partition(": ")[2].split()] for slot in slots]
        for choice in product(*words):
            yield tuple(
                text.format(**{name: word[side] for name, word in zip(names, choice, strict=True)})
                .replace("~", " ")
                for side, text in enumerate(pair.split(" = "))
            )  # fmt: skip


@pytest.fixture(scope="session")
def models(tmp_path_factory, worker_id):
    """The folders of the models; trained once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    root = (base if worker_id == "master" else base.parent) / "studio-models"
    with FileLock(f"{root}.lock"):
        if not root.exists():
            train_small(root)
    return [root / name for name in NAMES.values()]
