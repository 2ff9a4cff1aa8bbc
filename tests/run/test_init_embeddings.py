"""Embeddings that start from a file of word vectors."""

import pytest
import torch
from torch import nn

from dhyan.checkpoint import read_checkpoint
from dhyan.errors import UserError
from dhyan.run import train
from dhyan.run.init_embeddings import fill_rows
from dhyan.text.tokenizer import Tokenizer
from tests.tiny_models import tiny_recipe, write_corpus


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def write_vectors(folder, words, width=16):
    """A GloVe file; every number of the i-th word's vector is i."""
    path = folder / "vectors.txt"
    lines = [f"{word} {' '.join([f'{i}.5'] * width)}\n" for i, word in enumerate(words)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_known_words_get_their_vectors_and_others_stay_random(tmp_path):
    tokenizer = Tokenizer.train(["five six Seven eight"], kind="words", size=20)
    words = nn.Embedding(len(tokenizer), 16)
    before = words.weight.detach().clone()
    path = write_vectors(tmp_path, ["five", "seven", "ninety"])
    assert fill_rows(words, path, tokenizer) == (
        "vectors.txt: 2 of 4 words found, 1 of them by lower case"
    )
    five, six, seven = (tokenizer.encode(word)[0] for word in ("five", "six", "Seven"))
    assert torch.equal(words.weight[five], torch.full((16,), 0.5))
    assert torch.equal(words.weight[seven], torch.full((16,), 1.5))
    assert torch.equal(words.weight[six], before[six])
    assert torch.equal(words.weight[:4], before[:4])


def test_vectors_of_another_width_are_an_error(tmp_path):
    tokenizer = Tokenizer.train(["five six"], kind="words", size=20)
    path = write_vectors(tmp_path, ["five"], width=9)
    with pytest.raises(UserError, match="vectors are 9 wide, the embedding 16"):
        fill_rows(nn.Embedding(len(tokenizer), 16), path, tokenizer)


@pytest.mark.parametrize("frozen", [True, False])
def test_a_resumed_run_does_not_need_the_word_vectors(log, files, tmp_path, frozen):
    path = write_vectors(tmp_path, ["five", "six", "hundred"])
    settings = {
        "text.tokenizer": "words",
        "encoder.pretrained_embedding": str(path),
        "encoder.freeze_embedding": frozen,
        "training.ema_decay": 0.5,
        "training.keep_checkpoints": 99,
    }
    recipe = tiny_recipe("rnn", *files, **settings)
    run = train(recipe, tmp_path / "run", threads=1)
    table = run.trainer.model.encoder.token_embedding.weight
    five = run.folder.translator.source.encode("five")[0]
    assert torch.equal(table[five], torch.full((16,), 0.5))
    assert any("vectors.txt: 3 of" in line for line in log.messages)
    for event in run:
        if event.step == 4:
            run.trainer.stop("enough")
    assert torch.equal(table[five], torch.full((16,), 0.5)) == frozen
    path.unlink()
    list(train(recipe, tmp_path / "run", resume=True, threads=1))
    path = write_vectors(tmp_path, ["five", "six", "hundred"])
    list(train(recipe, tmp_path / "whole", threads=1))
    ours, theirs = (read_checkpoint(tmp_path / name / "step-12") for name in ("run", "whole"))
    assert ours == theirs


def test_a_missing_file_is_refused_before_any_data_are_read(files, tmp_path):
    recipe = tiny_recipe("rnn", *files, **{"encoder.pretrained_embedding": "nowhere.txt"})
    with pytest.raises(UserError, match="encoder.pretrained_embedding: no file 'nowhere.txt'"):
        train(recipe, tmp_path / "run")


@pytest.mark.parametrize(
    ("family", "side", "key"),
    [
        ("rnn", "encoder", "embedding_width"),
        ("rnn", "decoder", "embedding_width"),
        ("transformer", "encoder", "width"),
    ],
)
def test_another_width_is_refused_before_any_data_are_read(tmp_path, family, side, key):
    path = write_vectors(tmp_path, ["five"], width=9)
    recipe = tiny_recipe(
        family, "nowhere.en", "nowhere.hi", **{f"{side}.pretrained_embedding": str(path)}
    )
    with pytest.raises(UserError, match=f"are 9 wide, the embedding 16; give --set {side}.{key}=9"):
        train(recipe, tmp_path / "run")
