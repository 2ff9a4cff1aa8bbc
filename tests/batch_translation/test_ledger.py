"""The ledger of shards: what is refused, what is done again, what a record says."""

import gzip
import json
import os
import shutil

import pytest

from dhyan.batch_translation import Ledger, make_job
from dhyan.batch_translation.ledger import MAX_ATTEMPTS
from dhyan.batch_translation.shard import Outcome, Status, translate_shard
from dhyan.errors import UserError
from tests.tiny_models import here

MODEL = "en-hi-transformer"


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("The boy is here.\n\nHe is happy.\n")
    (folder / "b.txt").write_text("She sings.\n")
    return folder


def begin(source, **options):
    options = {"beam": 1, **options}
    return Ledger.create(source, source.parent / "out", make_job(MODEL, **options))


def finish(ledger):
    """Translate what remains, in this process."""
    outcomes = {
        shard.name: translate_shard(str(ledger.out), shard.name) for shard in ledger.remaining()
    }
    ledger.manifest()
    return outcomes


def test_each_line_has_its_translation_and_each_shard_its_record(source):
    ledger = begin(source)
    assert finish(ledger) == {name: Outcome(Status.DONE) for name in ("a.txt", "b.txt")}
    lines = (ledger.out / "a.txt").read_text().split("\n")
    assert len(lines) == 4
    assert [bool(line) for line in lines] == [True, False, True, False]
    record = ledger.record("a.txt")
    assert (record.lines, record.left_empty) == (3, 0)
    manifest = json.loads((ledger.out / "manifest.json").read_text())
    assert manifest["job"]["model_sha256"] == ledger.job.model_sha256
    assert manifest["files"]["a.txt"] == record.output
    assert finish(begin(source)) == {}


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({"beam": 2}, "beam 1, not 2"),
        ({"paragraphs": True}, "paragraphs false, not true"),
        ({"forbidden": ["x"]}, r"forbidden \[\], not \[\"x\"\]"),
    ],
)
def test_other_options_are_refused(source, options, difference):
    begin(source)
    with pytest.raises(UserError, match=f"was begun with {difference}; give the same model"):
        begin(source, **options)


def test_another_model_is_refused(source):
    begin(source)
    with pytest.raises(UserError, match=f"was begun with another model, {MODEL}; give the same"):
        Ledger.create(source, source.parent / "out", make_job("en-fr-transformer", beam=1))


def test_a_model_that_changed_under_a_job_stops_it(source, tmp_path):
    ledger = begin(source)
    path = ledger.out / ".ledger" / "job.json"
    path.write_text(path.read_text().replace(ledger.job.model_sha256, "0" * 64))
    outcome = translate_shard(str(tmp_path / "in" / ".." / "out"), "a.txt")
    assert outcome.status == Status.STOP
    assert "is not the model the job was begun with" in outcome.reason
    assert ledger.record("a.txt") is None


def test_shards_of_another_folder_are_refused(source, tmp_path):
    begin(source)
    shutil.copytree(source, tmp_path / "other")
    with pytest.raises(UserError, match=r"has translations of .*/in; name another"):
        Ledger.create(tmp_path / "other", tmp_path / "out", make_job(MODEL, beam=1))


def test_a_folder_with_other_files_is_not_written_into(source, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine\n")
    with pytest.raises(UserError, match="holds something else already"):
        begin(source)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a.tsv", "is a table; shards are plain text"),
        ("a.txt.gz", "would have the same output as a.txt; rename one"),
        ("manifest.json", "has the name of the manifest; rename it"),
    ],
)
def test_files_that_are_no_shards_are_refused(source, name, reason):
    (source / name).write_bytes(b"x\n")
    with pytest.raises(UserError, match=f"{name}: {reason}"):
        begin(source)


def test_folders_in_each_other_are_refused(source):
    for out in (source, source / "out", source.parent):
        with pytest.raises(UserError, match="one of input and output lies in the other"):
            Ledger.create(source, out, make_job(MODEL))


def test_a_shard_that_changed_since_is_refused_until_its_output_is_removed(source):
    ledger = begin(source)
    finish(ledger)
    os.utime(source / "a.txt")
    assert finish(begin(source)) == {}, "the time alone is no change"
    (source / "a.txt").write_text("She is happy.\n")
    with pytest.raises(UserError, match=r"a.txt: changed since it was translated; remove .*a.txt"):
        begin(source).remaining()
    (ledger.out / "a.txt").unlink()
    assert list(finish(begin(source))) == ["a.txt"]
    assert ledger.record("a.txt").lines == 1


@pytest.mark.parametrize("damage", ["{", '{"lines": 3}', "[]"])
def test_a_shard_with_a_damaged_record_is_translated_again(source, damage):
    ledger = begin(source)
    finish(ledger)
    (ledger.out / ".ledger" / "records" / "a.txt.json").write_text(damage)
    assert list(finish(begin(source))) == ["a.txt"]


def test_a_claimed_shard_is_left_to_its_process(source):
    ledger = begin(source)
    claim = ledger.claim("a.txt")
    assert ledger.claim("a.txt") is None
    assert translate_shard(str(ledger.out), "a.txt") == Outcome(Status.BUSY)
    claim.update(3, 20)
    assert ledger.claim_note("a.txt") == (3, 20)
    claim.release(finished=False)
    assert finish(ledger) == {name: Outcome(Status.DONE) for name in ("a.txt", "b.txt")}
    assert ledger.claim("a.txt") is None


def test_a_shard_whose_processes_keep_ending_fails_and_is_tried_by_the_next_command(source):
    ledger = begin(source)
    for _ in range(MAX_ATTEMPTS):
        os.close(ledger.claim("a.txt")._descriptor)  # as the system does for a killed process
    finish(ledger)
    assert ledger.failures() == [
        f"a.txt: {MAX_ATTEMPTS} processes ended while they translated it; look at what it holds"
    ]
    assert list(finish(begin(source))) == ["a.txt"]
    assert ledger.failures() == []


def test_compressed_and_empty_shards(source):
    (source / "a.txt").rename(source / "c.txt")
    with gzip.open(source / "a.txt.gz", "wb") as file:
        file.write((source / "c.txt").read_bytes())
    (source / "empty.txt").write_bytes(b"")
    ledger = begin(source)
    finish(ledger)
    assert (ledger.out / "a.txt").read_bytes() == (ledger.out / "c.txt").read_bytes()
    assert (ledger.out / "empty.txt").read_bytes() == b""


def test_lines_that_cannot_be_translated_are_left_empty_and_counted(source):
    (source / "a.txt").write_bytes(b"The boy.\n\xff\xfe\n" + b"a " * 5000 + b"\nShe sings.\n")
    arguments = ("translate", MODEL, "--shards", source, "--out", source.parent / "out")
    result = here(*arguments, "--beam", 1, "--workers", 1)
    assert result.returncode == 2
    message = result.stderr.decode()
    assert "2 of 5 lines could not be translated and were left empty" in message
    lines = (source.parent / "out" / "a.txt").read_text().split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, False]
    record = Ledger.open(source.parent / "out").record("a.txt")
    assert [failure.partition(":")[0] for failure in record.failures] == ["line 2", "line 3"]


def test_a_shard_that_cannot_be_read_fails_alone(source):
    (source / "bad.txt.gz").write_bytes(b"no gzip file")
    result = here(
        *("translate", MODEL, "--shards", source, "--out", source.parent / "out"),
        *("--beam", 1, "--workers", 1),
    )
    assert result.returncode == 2
    assert "1 of 3 shards were not translated; mend them" in result.stderr.decode()
    assert (source.parent / "out" / "b.txt").exists()
    (source / "bad.txt.gz").write_bytes(gzip.compress(b"She sings.\n"))
    assert list(finish(begin(source))) == ["bad.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shards", "{in}"], "--shards: needs a folder to write; add --out FOLDER"),
        (["--out", "x"], "--out: is about a folder of many files; add --shards FOLDER"),
        (["--engine", "dask"], "--engine: is about a folder of many files; add --shards FOLDER"),
        (["--shards", "{in}", "--out", "x", "--json"], "--json: does not go with --shards"),
        (
            ["--shards", "{in}", "--out", "x", "--engine", "spark"],
            "--engine spark: choose one of local, dask, ray",
        ),
        (
            ["--shards", "{in}", "--out", "x", "--address", "h:1"],
            "--address h:1: the engine local has none; choose dask or ray",
        ),
        (["--shards", "none", "--out", "x"], "none: is not a folder; name the one that holds"),
        (["--shards", "{in}", "--out", "x", "--nbest", "2"], "leave out --nbest"),
    ],
)
def test_options_that_do_not_go_together_are_refused(source, arguments, message):
    words = [word.replace("{in}", str(source)) for word in arguments]
    result = here("translate", MODEL, *words, cwd=source.parent)
    assert result.returncode == 2
    assert message in result.stderr.decode()
    assert not (source.parent / "x").exists()
