"""Corpora of a recipe: mixed, filtered, masked, and prepared as ids in files."""

import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dhyan.atomic_folder import file_checksum, write_manifest
from dhyan.checkpoint import find_checkpoint, read_checkpoint
from dhyan.cli.data import prepare as command
from dhyan.cli.train import train as train_command
from dhyan.config import load_recipe, parse_setting
from dhyan.data import corpus as corpus_module
from dhyan.data import corpus_files, encode, encode_shards
from dhyan.data.batches import Batches
from dhyan.data.corpus import load_corpus, read_corpus, with_languages
from dhyan.data.prepare import prepare
from dhyan.errors import UserError
from dhyan.run import train
from dhyan.run.fine_tune import first_codecs
from tests.tiny_models import dhyan, tiny_recipe, write_corpus

EVERY_FILE = (
    *("source-00000.ids", "source-00000.offsets", "target-00000.ids", "target-00000.offsets"),
    *("source.json", "target.json", "validation.jsonl"),
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def more(tmp_path_factory):
    """A second corpus, some of whose sources the first has too."""
    folder = tmp_path_factory.mktemp("more")
    source, target = write_corpus(folder, pairs=120)
    source.write_text("".join(f"{line} too\n" for line in source.read_text().splitlines()[:60])
                      + "\n".join(source.read_text().splitlines()[60:]) + "\n")  # fmt: skip
    return source, target


def mixed(files, more, weight=1.5, **settings):
    mix = f'data.mix=[{{source="{more[0]}",target="{more[1]}",weight={weight}}}]'
    return tiny_recipe("rnn", *files, **dict([parse_setting(mix)]), **settings)


def prepared(recipe, out):
    """The same recipe, with its pairs prepared."""
    prepare(recipe, out)
    data = {"source": "", "target": "", "mix": (), "prepared": str(out)}
    return replaced(recipe, **data)


def replaced(recipe, **data):
    return replace(recipe, data=replace(recipe.data, **data))


def examples_of(recipe):
    corpus = load_corpus(with_languages(recipe))
    return corpus.encode(*corpus.make_codecs(recipe), recipe.data.max_tokens)


def batches_of(recipe, count=40):
    """The first batches, each with the next position."""
    stream, position = Batches(examples_of(recipe), tokens_per_batch=200, seed=1), 0
    for _ in range(count):
        batch, position = stream.at(position)
        yield batch.source.ids.tolist(), batch.target.ids.tolist(), position


SETTINGS = {
    "plain": {},
    "shared": {"text.shared_vocabulary": True},
    "bounded": {"data.max_words": 5, "data.max_length_ratio": 2.0},
    "placeholders": {"text.placeholders": ["number", "url"]},
    "dropout": {"text.tokenizer": "bpe", "text.bpe_dropout": 0.3},
    "few vocabulary pairs": {"text.vocabulary_pairs": 50},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_prepared_pairs_make_the_same_batches_as_the_text(files, more, tmp_path, name):
    recipe = mixed(files, more, **SETTINGS[name])
    ready = prepared(recipe, tmp_path / "ready")
    first_result, second_result = load_corpus(recipe), load_corpus(with_languages(ready))
    assert first_result.validation == second_result.validation
    assert first_result.fingerprint == second_result.fingerprint
    assert first_result.sample == second_result.sample
    assert list(batches_of(recipe)) == list(batches_of(ready))


def test_a_run_on_text_resumes_on_prepared_pairs_bit_for_bit(files, tmp_path):
    recipe = tiny_recipe("rnn", *files, **{"training.keep_checkpoints": 99, "training.steps": 6})
    uninterrupted = tmp_path / "whole"
    list(train(recipe, uninterrupted, threads=1))
    shutil.copytree(uninterrupted / "step-2", tmp_path / "half" / "step-2")
    ready = prepared(recipe, tmp_path / "ready")
    list(train(ready, tmp_path / "half", resume=True, threads=1))
    first_result, second_result = (
        read_checkpoint(tmp_path / run / "step-6") for run in ("half", "whole")
    )
    for name in ("model.safetensors", "training.safetensors", "source.json"):
        assert first_result[name] == second_result[name]


def resumes_identically(recipe, then, folder, **more):
    """Whether a run that resumes with another recipe ends with the same weights."""
    list(train(recipe, folder / "whole", threads=1))
    shutil.copytree(folder / "whole" / "step-2", folder / "half" / "step-2")
    list(train(then, folder / "half", resume=True, threads=1))
    first_result, second_result = (
        read_checkpoint(folder / run / "step-4") for run in ("half", "whole")
    )
    return all(
        first_result[name] == second_result[name]
        for name in ("model.safetensors", "training.safetensors")
    )


KEEP_ALL = {"training.keep_checkpoints": 99, "training.steps": 4}


@pytest.mark.parametrize("first", ["text", "ids"])
def test_a_mixed_run_resumes_with_text_or_ids(files, more, tmp_path, first):
    text = mixed(files, more, **KEEP_ALL)
    ids = prepared(text, tmp_path / "ready")
    assert resumes_identically(*((text, ids) if first == "text" else (ids, text)), tmp_path)


@pytest.mark.parametrize("first", ["text", "ids"])
def test_a_run_on_named_columns_resumes_with_text_or_ids(files, tmp_path, first):
    sides = zip(*(file.read_text(encoding="utf-8").splitlines() for file in files), strict=True)
    rows = "".join(f"{english}\t{hindi}\n" for english, hindi in sides)
    (tmp_path / "a.tsv").write_text(f"english\thindi\n{rows}", encoding="utf-8")
    languages = {"data.source_language": "en", "data.target_language": "hi"}
    columns = {"data.columns": ["english", "hindi"], **languages, **KEEP_ALL}
    text = tiny_recipe("rnn", tmp_path / "a.tsv", "", **columns)
    ids = replaced(prepared(text, tmp_path / "ready"), columns=())
    assert resumes_identically(*((text, ids) if first == "text" else (ids, text)), tmp_path)
    plain = tiny_recipe("rnn", *files, **{**KEEP_ALL, "training.steps": 5})
    list(train(plain, tmp_path / "half", resume=True, threads=1))


def test_resuming_with_other_weights_is_refused(files, more, tmp_path):
    list(train(mixed(files, more, 1.5, **KEEP_ALL), tmp_path / "run", threads=1))
    longer = mixed(files, more, 2.5, **{**KEEP_ALL, "training.steps": 6})
    for recipe in (longer, prepared(longer, tmp_path / "ready")):
        with pytest.raises(
            UserError, match="other pairs, or other weights of data.mix: give those"
        ):
            train(recipe, tmp_path / "run", resume=True, threads=1)
    with pytest.raises(UserError, match="was prepared from other pairs, or other weights"):
        prepare(mixed(files, more, 1.5, **KEEP_ALL), tmp_path / "ready")


def beginning(files, model, vocabulary, **more):
    settings = {
        "training.init_from": str(model),
        "training.init_vocabulary": vocabulary,
        **KEEP_ALL,
        **more,
    }
    return tiny_recipe("rnn", *files, **settings)


@pytest.mark.parametrize("vocabulary", ["keep", "extend", "new"])
def test_pairs_are_prepared_for_fine_tuning(files, more, tmp_path, vocabulary):
    list(train(tiny_recipe("rnn", *more, **KEEP_ALL), tmp_path / "model", threads=1))
    sizes = {"text.source_vocabulary_size": 400, "text.target_vocabulary_size": 420}
    recipe = beginning(files, tmp_path / "model", vocabulary, **sizes)
    prepare(recipe, tmp_path / "ready", choose_codecs=first_codecs)
    ready = replaced(recipe, source="", target="", prepared=str(tmp_path / "ready"))
    if vocabulary == "extend":
        with pytest.raises(
            UserError, match="prepare it with the same training.init_from and .*: 'extend'}"
        ):
            train(ready, tmp_path / "refused", threads=1)
        ready = replace(ready, training=replace(ready.training, init_vocabulary="new"))
    list(train(recipe, tmp_path / "text", threads=1))
    list(train(ready, tmp_path / "ids", threads=1))
    first_result, second_result = (
        read_checkpoint(tmp_path / run / "step-4") for run in ("ids", "text")
    )
    for name in ("model.safetensors", "source.json", "target.json"):
        assert first_result[name] == second_result[name]
    again = prepare(recipe, tmp_path / "ready", choose_codecs=first_codecs)
    assert again.training > 300
    learned = tiny_recipe("rnn", *files, **sizes)
    with pytest.raises(UserError, match="was prepared with other vocabularies"):
        prepare(learned, tmp_path / "ready")
    with pytest.raises(
        UserError, match="training.init_from: .* has its own vocabularies; pass `choose_codecs`"
    ):
        prepare(recipe, tmp_path / "other")


def test_preparing_again_reuses_the_folder(log, files, tmp_path):
    recipe, out = tiny_recipe("rnn", *files), tmp_path / "ready"
    first = prepare(recipe, out)
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    assert prepare(recipe, out) == first
    assert any("already prepared" in line for line in log.messages)
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == before
    assert set(before) == {*EVERY_FILE, "manifest.json"}


def test_other_settings_or_pairs_are_not_prepared_over(files, more, tmp_path):
    out = tmp_path / "ready"
    prepare(tiny_recipe("rnn", *files), out)
    for recipe, message in (
        (tiny_recipe("rnn", *more), "was prepared from other pairs"),
        (mixed(files, more), "was prepared from other pairs"),
        (
            tiny_recipe("rnn", *files, **{"text.source_vocabulary_size": 300}),
            "text.source_vocabulary_size = 320, .* 300",
        ),
        (tiny_recipe("rnn", *files, **{"data.max_tokens": 50}), "data.max_tokens = 60, .* 50"),
    ):
        with pytest.raises(UserError, match=message):
            prepare(recipe, out)
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="holds something else already"):
        prepare(tiny_recipe("rnn", *files), tmp_path / "used")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"text.tokenizer": "words"}, "text.tokenizer"),
        ({"text.target_vocabulary_size": 300}, "text.target_vocabulary_size"),
        ({"text.placeholders": ["url"]}, "text.placeholders"),
        ({"data.max_tokens": 50}, "data.max_tokens"),
        ({"data.max_words": 9}, "data.max_words"),
        ({"data.source": "other.en"}, "data.source"),
        ({"data.target_language": "mr"}, "data.target_language"),
    ],
)
def test_a_different_setting_is_refused_by_its_key(files, tmp_path, settings, named):
    out = tmp_path / "ready"
    prepare(tiny_recipe("rnn", *files), out)
    recipe = tiny_recipe("rnn", "", "", **{"data.prepared": str(out), **settings})
    with pytest.raises(UserError, match=f"was prepared with {named} = "):
        load_corpus(with_languages(recipe))


@pytest.mark.parametrize("name", EVERY_FILE)
def test_a_damaged_or_missing_file_is_named(files, tmp_path, name):
    ready = prepared(tiny_recipe("rnn", *files), tmp_path / "ready")
    path = tmp_path / "ready" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"{name}: is not what manifest.json says"):
        load_corpus(ready)
    path.unlink()
    with pytest.raises(UserError, match=f"{name}: is missing"):
        load_corpus(ready)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"format": 1}'])
def test_an_empty_manifest_is_refused(files, tmp_path, content):
    ready = prepared(tiny_recipe("rnn", *files), tmp_path / "ready")
    (tmp_path / "ready" / "manifest.json").write_bytes(content)
    with pytest.raises(UserError, match="manifest.json: cannot be understood"):
        load_corpus(ready)
    (tmp_path / "ready" / "manifest.json").unlink()
    with pytest.raises(UserError, match="is no prepared corpus"):
        load_corpus(ready)


def test_a_failed_prepare_leaves_only_what_the_next_one_continues(files, tmp_path, monkeypatch):
    recipe, out = tiny_recipe("rnn", *files), tmp_path / "ready"
    half, mine = tmp_path / ".ready.dhyan-half", tmp_path / "tmp-ready" / "thesis.txt"
    for folder in (half, mine.parent):
        folder.mkdir()
    (half / "ids").write_text("left by a process that was killed")
    mine.write_text("mine")
    with monkeypatch.context() as patch:
        patch.setattr("dhyan.data.prepare.file_checksum", lambda path: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            prepare(recipe, out)
    assert {path.name for path in tmp_path.iterdir()} == {half.name, "tmp-ready"}
    prepare(recipe, out)
    assert {path.name for path in tmp_path.iterdir()} == {"ready", "tmp-ready"}
    assert {path.name for path in out.iterdir()} == {*EVERY_FILE, "manifest.json"}
    assert mine.read_text() == "mine", "a folder beside it is somebody's own"


@pytest.mark.parametrize("out", ["used", "file", "file/below", "."])
def test_an_unusable_folder_is_refused_before_reading(tmp_path, monkeypatch, out):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "thesis.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty" if out == "." else tmp_path)
    recipe = tiny_recipe("rnn", "nowhere.en", "nowhere.hi")
    with pytest.raises(UserError, match="name (another|a new one as) out"):
        prepare(recipe, Path(out))
    with pytest.raises(UserError, match=r"nowhere\.en"):
        prepare(recipe, Path("new"))


def test_a_file_named_like_the_temporary_folder_is_reported(files, tmp_path):
    (tmp_path / ".ready.dhyan-half").write_text("a file")
    with pytest.raises(UserError, match=r"\.ready\.dhyan-half: cannot be written: .*another out"):
        prepare(tiny_recipe("rnn", *files), tmp_path / "ready")


def test_two_concurrent_prepares_do_not_collide(files, tmp_path):
    from dhyan.atomic_folder import atomic_folder

    recipe, out = tiny_recipe("rnn", *files), tmp_path / "ready"
    with atomic_folder(out), pytest.raises(UserError, match="another process is writing it"):
        prepare(recipe, out)
    assert (tmp_path / "ready").is_dir()


def test_files_that_change_between_two_passes_are_refused(files, tmp_path):
    source, target = (shutil.copy(file, tmp_path) for file in files)
    corpus = read_corpus(tiny_recipe("rnn", source, target), stream=True)
    with open(source, "a") as source_file, open(target, "a") as target_file:
        source_file.write("nine\n")
        target_file.write("नौ\n")
    with pytest.raises(UserError, match="changed while it was in use"):
        list(corpus.parts[0].pairs)


def test_vocabularies_other_than_the_prepared_are_refused(files, tmp_path):
    corpus = load_corpus(prepared(tiny_recipe("rnn", *files), tmp_path / "ready"))
    source, target = corpus.tokenizers
    with pytest.raises(UserError, match="encoded by other vocabularies; .*init_vocabulary': 'new'"):
        corpus.encode(target, source, 60)
    with pytest.raises(UserError, match="not sentences to learn from; prepare it with .*'extend'"):
        corpus.vocabulary_pairs(tiny_recipe("rnn", *files))


def test_a_task_is_not_prepared(tmp_path):
    with pytest.raises(UserError, match="generates its own pairs; name .*data.source"):
        prepare(load_recipe("numbers"), tmp_path / "ready")


def test_preparing_needs_constant_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(encode, "CHUNK_PAIRS", 64)
    monkeypatch.setattr(encode_shards, "CHUNK_PAIRS", 64)
    monkeypatch.setattr(corpus_module, "MAX_HELD_OUT", 10)

    def peak(pairs):
        rng = random.Random(1)
        words = ["".join(rng.choices("abcdefgh", k=4)) for _ in range(200)]
        for name in ("a.en", "a.hi"):
            lines = (" ".join(rng.choices(words, k=12)) for _ in range(pairs))
            (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        settings = {"text.tokenizer": "words", "text.vocabulary_pairs": 200, "data.max_tokens": 20}
        recipe = tiny_recipe("rnn", tmp_path / "a.en", tmp_path / "a.hi", **settings)
        tracemalloc.start()
        try:
            ready = examples_of(prepared(recipe, tmp_path / f"ready-{pairs}"))
            Batches(ready, tokens_per_batch=200, seed=1, window=64).at(0)
            return len(ready), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(250)  # what is imported and remembered once
    (fewer_pairs, before), (more_pairs, after) = peak(250), peak(1000)
    assert more_pairs > 3.5 * fewer_pairs
    bytes_per_pair = (after - before) / (more_pairs - fewer_pairs)
    assert bytes_per_pair < 100, (
        f"{bytes_per_pair:.0f} bytes a pair; its ids alone would be lists of 400"
    )


def small_shards(monkeypatch):
    """Shards of 64 pairs, encoded in chunks of 16."""
    monkeypatch.setattr(encode, "CHUNK_PAIRS", 16)
    monkeypatch.setattr(encode_shards, "CHUNK_PAIRS", 16)
    monkeypatch.setattr(encode_shards, "SHARD_PAIRS", 64)
    monkeypatch.setattr("dhyan.data.prepare.SHARD_PAIRS", 64)


@pytest.mark.parametrize("name", ["plain", "bounded", "dropout"])
def test_many_shards_make_the_same_batches_as_the_text(files, more, tmp_path, monkeypatch, name):
    recipe = mixed(files, more, **SETTINGS[name])
    small_shards(monkeypatch)
    ready = prepared(recipe, tmp_path / "ready")
    assert len(list((tmp_path / "ready").glob("source-*.ids"))) > 6
    assert list(batches_of(recipe)) == list(batches_of(ready))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_interrupted_prepare_encodes_only_what_is_missing(log, files, tmp_path, monkeypatch):
    recipe = tiny_recipe("rnn", *files)
    small_shards(monkeypatch)
    prepare(recipe, tmp_path / "whole")
    real, calls = encode_shards.encode_chunk, []

    def counting(*arguments):
        calls.append(arguments)
        if len(calls) == 11:  # in the middle of the third shard
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(encode_shards, "encode_chunk", counting)
    with pytest.raises(KeyboardInterrupt):
        prepare(recipe, tmp_path / "again", workers=1)
    half = tmp_path / ".again.dhyan-half"
    assert not (tmp_path / "again").exists()
    damaged = half / "source-00001.ids"
    damaged.write_bytes(damaged.read_bytes()[::-1])
    prepare(recipe, tmp_path / "again", workers=1)
    chunks = -(-(356 + 8) // 16)
    assert len(calls) <= 11 + chunks - 4, "the first of two finished shards was kept"
    assert "1 shards were there, from an interrupted run" in log.text
    assert contents(tmp_path / "again") == contents(tmp_path / "whole")


def test_what_was_interrupted_with_other_settings_is_not_continued(files, tmp_path, monkeypatch):
    small_shards(monkeypatch)
    prepare(tiny_recipe("rnn", *files), tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(encode_shards.ShardEncoder, "remove_records", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            prepare(tiny_recipe("rnn", *files, **{"data.max_tokens": 6}), tmp_path / "again")
    prepare(tiny_recipe("rnn", *files), tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "whole")


def test_processes_that_encode_end_with_a_killed_parent():
    code = """
import os, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from dhyan.data.encode_shards import start_worker
if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=start_worker)
    print(pool.submit(os.getpid).result(), flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        worker = int(parent.stdout.readline())
        assert is_running(worker)
        parent.kill()
    while is_running(worker):
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Whether a process is there and not just waiting to be reaped."""
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_processes_encode_the_same_and_a_killed_one_is_an_error(files, tmp_path, monkeypatch):
    recipe = tiny_recipe("rnn", *files)
    small_shards(monkeypatch)
    monkeypatch.setattr(encode_shards, "ALONE_CHUNKS", 0)
    prepare(recipe, tmp_path / "one", workers=1)
    started = []

    def killing(pairs):
        for number, pair in enumerate(pairs):
            if number == 200:
                started.extend(multiprocessing.active_children())
                for process in started:
                    os.kill(process.pid, signal.SIGKILL)
            yield pair

    original = encode_shards.ShardEncoder.add
    with monkeypatch.context() as patch:
        patch.setattr(
            encode_shards.ShardEncoder, "add", lambda self, pairs: original(self, killing(pairs))
        )
        with pytest.raises(UserError, match="that encodes has been killed; .* command continues"):
            prepare(recipe, tmp_path / "two", workers=2)
    assert started
    prepare(recipe, tmp_path / "two", workers=2)
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


def test_a_folder_of_the_first_format_is_still_read(files, tmp_path):
    recipe = tiny_recipe("rnn", *files)
    ready, out = prepared(recipe, tmp_path / "ready"), tmp_path / "ready"
    manifest = json.loads((out / "manifest.json").read_text())
    for side in ("source", "target"):
        for part, new, old in (("ids", "<u2", "<i4"), ("offsets", "<u4", "<i8")):
            path = out / f"{side}-00000.{part}"
            np.fromfile(path, new).astype(old).tofile(out / f"{side}.{part}")
            path.unlink()
    (out / "manifest.json").unlink()
    names = sorted(path.name for path in out.iterdir())
    left_out = ("files", "shards", "types", "manifest_version", "checksum")
    facts = {key: value for key, value in manifest.items() if key not in left_out}
    checksums = {name: file_checksum(out / name) for name in names}
    write_manifest(out, {**facts, "format": 1}, checksums)
    assert list(batches_of(ready)) == list(batches_of(recipe))


@pytest.mark.parametrize(
    "change",
    [{"shards": [1]}, {"shards": "x"}, {"types": {"ids": "O", "offsets": "<u4"}}, {"types": None}],
)
def test_a_manifest_with_impossible_shards_is_refused(files, tmp_path, change):
    ready, out = prepared(tiny_recipe("rnn", *files), tmp_path / "ready"), tmp_path / "ready"
    manifest = json.loads((out / "manifest.json").read_text())
    listed = manifest.pop("files")
    for key in ("manifest_version", "checksum"):
        del manifest[key]
    write_manifest(out, manifest | change, listed)
    with pytest.raises(UserError, match="does not say what its shards hold; prepare it again"):
        load_corpus(ready)


def test_progress_is_logged(log, files, tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_files, "LOG_EVERY", 100)
    prepare(tiny_recipe("rnn", *files), tmp_path / "ready")
    assert [line for line in log.messages if "read 300 pairs" in line]
    assert [line for line in log.messages if "encoded 300 pairs" in line]


def test_held_out_sources_are_in_no_mixed_corpus(log, files, more):
    corpus = read_corpus(mixed(files, more))
    held_out = {pair.source for pair in corpus.validation}
    assert held_out
    for part in corpus.parts:
        assert not held_out & {pair.source for pair in part.pairs}
    assert held_out & set(more[0].read_text().splitlines()), "the test should have some to remove"
    left = 120 - len(corpus.parts[1].pairs)
    assert any(f"{left} left out that share a source" in line for line in log.messages)


def test_the_fingerprint_covers_every_corpus(files, more):
    alone = load_corpus(tiny_recipe("rnn", *files)).fingerprint
    both = load_corpus(mixed(files, more)).fingerprint
    assert both.startswith(alone)
    assert len(both.split()) == 2
    assert load_corpus(mixed(files, more, 1.5)).fingerprint == both
    assert load_corpus(mixed(files, more, 1.25)).fingerprint != both


def test_columns_without_a_table_are_refused(files):
    with pytest.raises(UserError, match=r"data.columns: a,b are columns .* none of the files is"):
        load_corpus(tiny_recipe("rnn", *files, **{"data.columns": ["a", "b"]}))


def test_columns_of_a_table_among_text_files_are_used(files, tmp_path):
    (tmp_path / "own.tsv").write_text("english\thindi\n" + "one\tएक\n" * 5, encoding="utf-8")
    named = {"data.columns": ["english", "hindi"], "data.valid_source": str(tmp_path / "own.tsv")}
    named["data.allow_leakage"] = True
    assert len(load_corpus(tiny_recipe("rnn", *files, **named)).validation) == 5


@pytest.mark.parametrize("weight", [0.0, -1.0, float("inf"), float("nan"), 1e6])
def test_an_invalid_weight_is_refused(files, more, weight):
    with pytest.raises(UserError, match=r"data\.mix\.weight: .* is not between 1e-06 and 1000"):
        mixed(files, more, weight)


def test_a_shared_vocabulary_is_learned_from_both_sides(files):
    recipe = tiny_recipe(
        "rnn", *files, **{"text.shared_vocabulary": True, "text.tokenizer": "words"}
    )
    source, target = load_corpus(recipe).make_codecs(recipe)
    assert source.to_json() == target.to_json()
    words = files[0].read_text().splitlines()[3], files[1].read_text().splitlines()[3]
    assert [source.decode(source.encode(text)) for text in words] == list(words)


def test_placeholders_reach_the_vocabulary_and_leave_the_references_alone(tmp_path):
    source, target = tmp_path / "a.en", tmp_path / "a.hi"
    source.write_text("".join(f"see {n * 37} there {n}a\n" for n in range(300)))
    target.write_text("".join(f"वहाँ {n * 37} देखो\n" for n in range(300)))
    settings = {"text.placeholders": ["number"], "text.tokenizer": "words"}
    recipe = tiny_recipe("rnn", source, target, **settings)
    corpus = load_corpus(recipe)
    assert any("37" in pair.target for pair in corpus.validation)
    _, vocabulary = corpus.make_codecs(recipe)
    assert len(vocabulary) < 20, "numbers are no words any more"
    targets = corpus.encode(*corpus.make_codecs(recipe), 60).target
    rows = targets.padded(np.arange(9)).ids.tolist()
    assert rows == [rows[0]] * 9


def test_vocabularies_are_learned_from_the_first_pairs_only(files):
    few = tiny_recipe("rnn", *files, **{"text.tokenizer": "words", "text.vocabulary_pairs": 3})
    assert len(load_corpus(few).make_codecs(few)[0]) < 20
    assert len(list(load_corpus(few).vocabulary_pairs(few))) == 3


def test_named_validation_pairs_are_not_filtered(files, more, tmp_path):
    settings = {"data.valid_source": str(more[0]), "data.valid_target": str(more[1])}
    settings["data.allow_leakage"] = True
    recipe = tiny_recipe("rnn", *files, **settings, **{"data.max_words": 4})
    ready = replaced(prepared(recipe, tmp_path / "ready"), valid_source="", valid_target="")
    assert len(load_corpus(with_languages(ready)).validation) == 120


def test_the_manifest_records_what_was_prepared(files, more, tmp_path):
    prepare(mixed(files, more, 2.0), tmp_path / "ready")
    manifest = json.loads((tmp_path / "ready" / "manifest.json").read_text())
    assert manifest["weights"] == [1.0, 2.0]
    assert manifest["data"]["source"] == str(files[0])
    assert manifest["data"]["target_language"] == "hi"
    assert manifest["text"]["source_vocabulary_size"] == 320
    first, second = (f"source-0000{number}.ids" for number in range(2))  # of each corpus
    size = sum((tmp_path / "ready" / name).stat().st_size for name in (first, second))
    files = manifest["files"]
    assert manifest["tokens"]["source"] * 2 == size
    assert size == files[first]["bytes"] + files[second]["bytes"]
    assert sum(manifest["shards"]) == sum(manifest["sizes"])
    assert manifest["types"] == {"ids": "<u2", "offsets": "<u4"}


def test_the_command_uses_the_recipe_and_vocabulary_of_a_model(files, tmp_path, capsys):
    model, out = tmp_path / "model", tmp_path / "ready"
    list(train(tiny_recipe("rnn", *files, **KEEP_ALL), model, threads=1))
    command(str(model), out, init_from=str(model), init_vocabulary="keep")
    output = capsys.readouterr()
    assert output.out == f"{out}  356 pairs, 8 to validate on\n"
    assert (
        f"next: dhyan train {model} --set data.prepared={out} --init-from {model}\n" in output.err
    )
    for name in ("source.json", "target.json"):
        assert (out / name).read_bytes() == read_checkpoint(model / "step-4")[name]


def test_files_can_be_named_by_settings(files, tmp_path, capsys):
    named = [f"data.source={files[0]}", f"data.target={files[1]}"]
    command("numbers", tmp_path / "ready", overrides=named, quiet=True)
    assert "356 pairs" in capsys.readouterr().out
    train_command("numbers", out=str(tmp_path / "run"), overrides=[*named, "training.steps=1"])
    assert "kept 400 pairs" in capsys.readouterr().err


@pytest.mark.slow
def test_the_commands_prepare_and_train(files, tmp_path):
    source, target = (shutil.copy(file, tmp_path) for file in files)
    words = ("data", "prepare", "numbers", "--source", source, "--target", target, "--out", "ready")
    preparation = dhyan(*words, cwd=tmp_path)
    assert preparation.returncode == 0, preparation.stderr.decode()
    assert preparation.stdout.decode() == "ready  356 pairs, 8 to validate on\n"
    assert "next: dhyan train numbers --set data.prepared=ready" in preparation.stderr.decode()
    training = dhyan("train", "numbers", "--set", "data.prepared=ready", "--set", "training.steps=1",
                  "--threads", 1, cwd=tmp_path)  # fmt: skip
    assert training.returncode == 0, training.stderr.decode()
    assert "8 to validate on" in training.stderr.decode()


def test_a_prepared_corpus_is_not_a_model(files, tmp_path):
    recipe, out = tiny_recipe("rnn", *files), tmp_path / "ready"
    ready = prepared(recipe, out)
    with pytest.raises(
        UserError, match="ready: is a prepared corpus, not a model; train with settings={"
    ):
        find_checkpoint(out)
    elsewhere = replace(ready, data=replace(ready.data, prepared=str(tmp_path / "raedy")))
    with pytest.raises(UserError, match=r"raedy: there is no such folder; did you mean ready\?"):
        train(elsewhere, tmp_path / "run")
