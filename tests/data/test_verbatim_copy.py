"""Words with joiners go through a trained model, the command line and the page as they are."""

import random
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from dhyan.config import load_recipe
from dhyan.run import train
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.server import make_app
from tests.text.test_joiners import SCRIPTS, ZWJ, ZWNJ, random_word
from tests.tiny_models import here

COUNT, MORE = 1000, 9000  # words that are tried, and others to learn copying from
SETTINGS = {
    "text.tokenizer": "characters", "text.shared_vocabulary": True,
    "text.source_vocabulary_size": 300, "data.max_tokens": 40,
    "encoder.embedding_width": 64, "encoder.width": 64, "encoder.dropout": 0.0,
    "decoder.embedding_width": 64, "decoder.width": 96, "decoder.readout_width": 64,
    "decoder.dropout": 0.0,
    "training.steps": 1200, "training.learning_rate": 4e-3, "training.warmup_steps": 60,
    "training.schedule": "halving", "training.halve_from": 600, "training.halve_every": 100,
    "training.tokens_per_batch": 1200, "training.label_smoothing": 0.0,
    "training.early_stopping_metric": "loss",
    "training.validate_every": 400, "training.save_every": 400, "training.valid_sentences": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def words():
    """A thousand different words of six scripts, each with a joiner."""
    rng, distinct_words = random.Random(4), dict[str, None]()
    while len(distinct_words) < COUNT + MORE:
        distinct_words[random_word(list(SCRIPTS)[len(distinct_words) % len(SCRIPTS)], rng)] = None
    return list(distinct_words)


@pytest.fixture(scope="module")
def copy_model(words, tmp_path_factory):
    """A model that has learned to copy its source."""
    folder = tmp_path_factory.mktemp("copies")
    files = {"data.source": str(folder / "source"), "data.target": str(folder / "target")}
    for file in files.values():
        Path(file).write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    recipe = load_recipe("bahdanau2015-small", {**SETTINGS, **files})
    for _ in train(recipe, folder / "run", threads=1):
        pass
    return folder / "run"


@pytest.mark.soak
def test_words_with_joiners_are_copied_exactly(copy_model, words):
    tried = words[:COUNT]
    assert all(ZWJ in word or ZWNJ in word for word in tried)
    text = "".join(f"{word}\n" for word in tried).encode()
    process = here("translate", copy_model, "--beam", 1, "--threads", 1, stdin=text)
    assert process.returncode == 0, process.stderr.decode()
    outputs = process.stdout.decode().removesuffix("\n").split("\n")
    wrong = [
        (word, output_word)
        for word, output_word in zip(tried, outputs, strict=True)
        if word != output_word
    ]
    assert not wrong, (len(wrong), wrong[:3])
    page = TestClient(make_app(ModelRegistry([copy_model])), base_url="http://127.0.0.1")
    for word in tried:
        answer = page.post("/api/translate", json={"text": word})
        assert answer.json()["translation"] == word
    print(f"{COUNT} of {COUNT} words with joiners, by the command line and by the page")
