"""The largest batch that fits, with memories that are made up."""

from dataclasses import replace

import pytest
import torch

from dhyan.checkpoint import read_checkpoint
from dhyan.errors import UserError
from dhyan.run import auto_batch_size as fit
from dhyan.run import train
from dhyan.run.auto_batch_size import PeakMemory, available, full_batch, largest, longest_of
from dhyan.run.load import load_saved_recipe
from dhyan.training.loss import Objective
from tests.laws.family import build
from tests.tiny_models import tiny_recipe, write_corpus


def line(a_token, fixed=0):
    """A device on which a batch takes so many bytes."""
    return lambda rows, length: fixed + a_token * rows * length


@pytest.mark.parametrize("memory", [10_000, 100_000, 999_999])
def test_the_largest_batch_fits_and_the_next_would_not(memory):
    trial = line(20, fixed=500)
    tokens = largest(trial, memory, min_tokens=100, longest=50)
    assert tokens % 256 == 0
    assert 20 * tokens + 500 <= memory < 20 * (tokens + 256) + 500


def test_the_batch_size_is_bounded_on_both_sides():
    assert largest(line(1), 120, min_tokens=100, longest=50) == 100
    assert largest(line(1), 10**12, min_tokens=100, longest=50) == fit.MAX_TOKENS


def test_memory_too_small_for_a_sentence_is_an_error():
    with pytest.raises(UserError, match="least for data.max_tokens, needs 100 MiB and 50 are free"):
        largest(line(2**20), 50 * 2**20, min_tokens=100, longest=50)


def test_the_costlier_of_short_and_long_sentences_counts():
    quadratic = largest(lambda rows, n: rows * n * n, 10**6, min_tokens=52, longest=50)
    assert quadratic * 50 <= 10**6
    by_row = largest(lambda rows, n: rows * (1000 + n), 10**6, min_tokens=52, longest=50)
    assert by_row / fit.SHORT * (1000 + fit.SHORT) <= 10**6


def test_the_batch_size_is_lowered_when_memory_runs_out():
    def trial(rows, length):
        if rows * length > 3000:
            raise torch.OutOfMemoryError("no")
        return rows * length

    assert 2048 <= largest(trial, 10_000, min_tokens=100, longest=50) <= 3000
    assert not fit.fits(trial, 100, 50)


@pytest.mark.parametrize(
    "parts", [("gru", "bahdanau-additive"), ("transformer", "transformer")], ids="+".join
)
def test_memory_is_linear_in_the_rows(parts):
    trial = PeakMemory(build(*parts), Objective(), 1, torch.device("cpu"))
    two, four, six = (trial(rows, 10) for rows in (2, 4, 6))
    assert six - four == pytest.approx(four - two, rel=0.02)
    assert six > two > 0


def test_r_drop_takes_more_memory():
    model, cpu = build("transformer", "transformer"), torch.device("cpu")
    once, twice = Objective(), Objective(r_drop=1.0)
    assert PeakMemory(model, twice, 1, cpu)(4, 10) > 1.5 * PeakMemory(model, once, 1, cpu)(4, 10)


def test_available_memory_is_positive():
    assert available(torch.device("cpu")) > 2**20
    assert full_batch(3, 7).labels.count == 18


def grouped(folder, limits, path="/a/b"):
    """Control groups as the kernel shows them, each with its most, its use and its files."""
    for name, (most, used, files) in limits.items():
        group = folder / "groups" / name
        group.mkdir(parents=True, exist_ok=True)
        (group / "memory.max").write_text(f"{most}\n")
        (group / "memory.current").write_text(f"{used}\n")
        (group / "memory.stat").write_text(f"anon 7\ninactive_file {files}\nslab 3\n")
    (folder / "own").write_text(f"1:name=old:/x\n0::{path}\n")
    return fit.group_limits(folder / "groups", folder / "own")


def test_the_memory_limit_of_a_container_counts(tmp_path, monkeypatch):
    assert fit.group_limits(tmp_path / "none", tmp_path / "none") == []
    assert grouped(tmp_path, {".": ("max", 5, 1)}) == []
    assert grouped(tmp_path, {"a": (1000, 300, 100)}) == [800]
    assert grouped(tmp_path, {"a/b": (400, 500, 0)}) == [0, 800]
    assert grouped(tmp_path, {"c": (1, 0, 0)}, path="/") == []
    free = available(torch.device("cpu"))
    monkeypatch.setattr(fit, "group_limits", lambda root, own: [2**20, 2**21])
    assert available(torch.device("cpu")) == 2**19 < free


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def test_the_batch_size_is_logged_saved_and_used_when_resumed(log, files, tmp_path, monkeypatch):
    recipe = tiny_recipe("rnn", *files, **{"training.tokens_per_batch": 0, "training.steps": 2})
    monkeypatch.setattr(fit, "available", lambda device: 12 * 2**20)
    run = train(recipe, tmp_path / "run", threads=1)
    tokens = run.folder.recipe.training.tokens_per_batch
    assert tokens % 256 == 0
    assert run.trainer.batches.tokens_per_batch == tokens
    assert any(f"tokens_per_batch = {tokens:,}" in line for line in log.messages)
    assert longest_of(run.trainer.batches.examples) <= recipe.data.max_tokens + 2
    list(run)
    monkeypatch.setattr(fit, "available", lambda device: 40 * 2**20)
    longer = replace(recipe, training=replace(recipe.training, steps=4))
    list(train(longer, tmp_path / "run", resume=True, threads=1))
    saved = load_saved_recipe(read_checkpoint(tmp_path / "run" / "step-4"))
    assert saved.training.tokens_per_batch == tokens


def test_with_bpe_dropout_the_longest_allowed_sentence_is_measured(files, tmp_path, monkeypatch):
    monkeypatch.setattr(fit, "available", lambda device: 12 * 2**20)
    lengths = []
    monkeypatch.setattr(
        fit, "largest", lambda *args, longest, min_tokens: lengths.append(longest) or 256
    )
    for dropout in (0.0, 0.1):
        cut = {"text.tokenizer": "bpe", "text.bpe_dropout": dropout, "training.tokens_per_batch": 0}
        train(tiny_recipe("rnn", *files, **cut), tmp_path / str(dropout), threads=1).lock.close()
    assert lengths[0] < lengths[1] == 62


def test_choosing_a_batch_size_does_not_change_the_run(files, tmp_path, monkeypatch):
    monkeypatch.setattr(fit, "available", lambda device: 12 * 2**20)
    automatic = tiny_recipe("rnn", *files, **{"training.tokens_per_batch": 0, "training.steps": 2})
    run = train(automatic, tmp_path / "automatic", threads=1)
    number = run.folder.recipe.training.tokens_per_batch
    fixed = replace(automatic, training=replace(automatic.training, tokens_per_batch=number))
    list(run), list(train(fixed, tmp_path / "fixed", threads=1))
    chosen, expected = (
        read_checkpoint(tmp_path / name / "step-2") for name in ("automatic", "fixed")
    )
    assert chosen == expected


def test_on_cuda_optimizer_state_is_reserved_while_batches_are_tried(files, tmp_path, monkeypatch):
    model, calls = build("gru", "bahdanau-additive"), []
    run = train(tiny_recipe("rnn", *files), tmp_path / "run", threads=1)
    run.lock.close()
    examples = run.trainer.batches.examples
    recipe = tiny_recipe("rnn", *files, **{"training.tokens_per_batch": 0})
    monkeypatch.setattr(fit, "available", lambda device: 2**30)
    monkeypatch.setattr(fit.torch, "empty", lambda size, **more: calls.append((size, more)))
    monkeypatch.setattr(fit, "largest", lambda *args, **more: calls.append(args[1]) or 256)
    for name in ("cuda", "cpu"):
        device, calls[:] = torch.device(name), []
        fit.choose_batch_size(recipe, model, Objective(), examples, device=device)
        reserved = fit.state_bytes(model, device)
        options = {"dtype": torch.uint8, "device": device}
        assert calls == [(reserved if name == "cuda" else 0, options), 2**30 - reserved]
