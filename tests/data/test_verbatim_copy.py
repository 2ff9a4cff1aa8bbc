"""Words with joiners go through a trained model, the command line and the page as they are."""

import random
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from dhyan.config import load_recipe
from dhyan.run import train
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.server import make_app
from tests.data.test_spelling import SCRIPTS, ZWJ, ZWNJ, word
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
    chance, found = random.Random(4), dict[str, None]()
    while len(found) < COUNT + MORE:
        found[word(list(SCRIPTS)[len(found) % len(SCRIPTS)], chance)] = None
    return list(found)


@pytest.fixture(scope="module")
def copies(words, tmp_path_factory):
    """A model that has learned to say what it reads."""
    folder = tmp_path_factory.mktemp("copies")
    files = {"data.source": str(folder / "read"), "data.target": str(folder / "said")}
    for file in files.values():
        Path(file).write_text("".join(f"{one}\n" for one in words), encoding="utf-8")
    recipe = load_recipe("bahdanau2015-small", {**SETTINGS, **files})
    for _ in train(recipe, folder / "run", threads=1):
        pass
    return folder / "run"


@pytest.mark.soak
def test_a_thousand_words_with_joiners_are_translated_code_point_by_code_point(copies, words):
    tried = words[:COUNT]
    assert all(ZWJ in one or ZWNJ in one for one in tried)
    text = "".join(f"{one}\n" for one in tried).encode()
    done = here("translate", copies, "--beam", 1, "--threads", 1, stdin=text)
    assert done.returncode == 0, done.stderr.decode()
    said = done.stdout.decode().removesuffix("\n").split("\n")
    wrong = [(one, other) for one, other in zip(tried, said, strict=True) if one != other]
    assert not wrong, (len(wrong), wrong[:3])
    page = TestClient(make_app(ModelRegistry([copies])), base_url="http://127.0.0.1")
    for one in tried:
        answer = page.post("/api/translate", json={"text": one})
        assert answer.json()["translation"] == one
    print(f"{COUNT} of {COUNT} words with joiners, by the command line and by the page")
