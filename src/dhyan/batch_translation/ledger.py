"""Ledger of shards: which input files are translated, which are being translated, and by whom.

An output appears under its name when it is whole and synced to disk, then its record is written.
So a process may be killed at any moment: at worst the shard it had claimed is translated again, into
the same file. A claim is a lock that the system takes from a process that ends, so no clocks are
compared. Where a file system has no locks, two processes may do the same shard twice, with the same
result.
"""

import errno
import fcntl
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from dhyan.atomic_folder import (
    MANIFEST,
    check_writable,
    file_checksum,
    sync,
    to_json_bytes,
    write_manifest,
)
from dhyan.batch_translation.job import TranslationJob
from dhyan.data.text_lines import TABLE_SUFFIXES, format_suffix, printable
from dhyan.errors import UserError, spell_option
from dhyan.safe_io.bounded_files import UnsafeFile, read_file
from dhyan.safe_io.json_toml import read_json
from dhyan.text.compressed_files import OPENERS

FOLDER = ".ledger"  # hidden, so that a glob of the output folder yields translations alone
JOB, RECORDS, CLAIMS, PARTS = "job.json", "records", "claims", "parts"
MAX_JOB_BYTES, MAX_RECORD_BYTES = 2**24, 2**20
MAX_ATTEMPTS = 5  # of processes that ended while they had a shard
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
JOB_REMEDY = "name another folder"


@dataclass(frozen=True)
class Shard:
    """An input file, its size, and the name of its output."""

    source: Path
    name: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Record:
    """What is known of a translated shard; `failures` names the first lines that were left empty.

    `error` says why a shard could not be translated; then it has no output.
    """

    source: Mapping[str, Any]
    output: Mapping[str, Any]
    lines: int = 0
    left_empty: int = 0
    failures: Collection[str] = ()
    seconds: float = 0.0
    error: str = ""


class Claim:
    """A shard that this process alone translates, until the claim is released or it ends."""

    def __init__(self, path: Path, descriptor: int, attempts: int) -> None:
        self._path, self._descriptor = path, descriptor
        self.attempts = attempts + 1
        self.update(0, 0)

    def update(self, lines: int, read_bytes: int) -> None:
        """Note how far the shard is, for whoever looks at the progress."""
        note = f"{self.attempts} {lines} {read_bytes}".ljust(60) + "\n"
        with suppress(OSError):  # a full disk stops the output, not the note
            os.pwrite(self._descriptor, note.encode(), 0)

    def release(self, *, finished: bool) -> None:
        """Give the shard back; one that is not finished leaves its number of attempts."""
        if finished:
            self._path.unlink(missing_ok=True)
        else:
            self.attempts -= 1  # given back, not killed
            self.update(0, 0)
        os.close(self._descriptor)


class Ledger:
    """The shards of an input folder, and the state of each in the output folder."""

    def __init__(self, source: Path, out: Path, job: TranslationJob) -> None:
        self.source, self.out, self.job = source, out, job
        self._folder = out / FOLDER

    @classmethod
    def open(cls, out: Path) -> "Ledger":
        """The ledger of an output folder, as a worker opens it."""
        path = out / FOLDER / JOB
        try:
            values = read_json(read_file(path, max_bytes=MAX_JOB_BYTES))
            return cls(Path(values["in"]), out, TranslationJob.from_dict(values["job"]))
        except FileNotFoundError:
            raise UserError(f"{out}: holds no translation of shards; {JOB_REMEDY}") from None
        except (UnsafeFile, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: cannot be understood ({error}); {JOB_REMEDY}") from None

    @classmethod
    def create(cls, source: Path, out: Path, job: TranslationJob) -> "Ledger":
        """The ledger of a new output folder, or that of one begun by the same job."""
        source, out = source.resolve(), out.resolve()
        _check_folders(source, out)
        ledger = cls(source, out, job)
        ledger.shards()  # refuses an input folder that cannot be translated
        if (out / FOLDER / JOB).exists():
            begun = cls.open(out)
            if difference := begun.job.difference(job):
                raise UserError(
                    f"{out}: was begun with {difference}; give the same model and options, or "
                    f"name another {spell_option('out')}"
                )
            if begun.source != source:
                raise UserError(
                    f"{out}: has translations of {printable(begun.source)}; name another "
                    f"{spell_option('out')}"
                )
            ledger._forget_failures()
            return ledger
        check_writable(out)
        if out.exists() and any(path.name != FOLDER for path in out.iterdir()):
            raise UserError(
                f"{out}: holds something else already; name another {spell_option('out')}"
            )
        for name in (RECORDS, CLAIMS, PARTS):
            (ledger._folder / name).mkdir(parents=True, exist_ok=True)
        values = {"format": 1, "in": str(source), "job": job.to_dict()}
        ledger._write(ledger._folder / JOB, to_json_bytes(values))
        return ledger

    def shards(self) -> list[Shard]:
        """The files of the input folder, by name."""
        shards, seen = list[Shard](), dict[str, str]()
        for path in sorted(self.source.iterdir()):
            if path.name.startswith(".") or not path.is_file():
                continue
            name = path.stem if path.suffix.lower() in OPENERS else path.name
            _check_shard(path, name, seen)
            shards.append(Shard(path, name, path.stat().st_size))
        if not shards:
            raise UserError(f"{printable(self.source)}: holds no files to translate")
        return shards

    def remaining(self) -> list[Shard]:
        """The shards without a record; one that has changed since it was translated is an error."""
        remaining = []
        for shard in self.shards():
            record = self.record(shard.name)
            if record is None:
                remaining.append(shard)
            elif not record.error:
                self._check_same(shard, record)
        return remaining

    def shard(self, name: str) -> Shard:
        """A shard by the name of its output."""
        for suffix in ("", *OPENERS):
            path = self.source / f"{name}{suffix}"
            if path.is_file():
                return Shard(path, name, path.stat().st_size)
        raise UserError(f"{printable(self.source / name)}: is gone; put it back")

    def record(self, name: str) -> Record | None:
        """The record of a shard; None if it is not translated, or its output is not there."""
        path = self._folder / RECORDS / f"{name}.json"
        try:
            record = Record(**read_json(read_file(path, max_bytes=MAX_RECORD_BYTES)))
            if not record.error and (self.out / name).stat().st_size != record.output["bytes"]:
                return None
        except FileNotFoundError:
            return None
        except (UnsafeFile, ValueError, KeyError, TypeError):
            return None  # not as it was written: the shard is translated again
        return record

    def claim(self, name: str) -> Claim | None:
        """The claim to a shard; None if another process has it, or it is finished."""
        path = self._folder / CLAIMS / name
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                os.close(descriptor)
                if isinstance(error, BlockingIOError):
                    return None
                raise
        # Another process may have finished it, and removed the file, just before it was locked.
        if self.record(name) or not _is_same_file(path, descriptor):
            if _is_same_file(path, descriptor):
                path.unlink(missing_ok=True)
            os.close(descriptor)
            return None
        return Claim(path, descriptor, _parse_note(os.pread(descriptor, 100, 0))[0])

    @contextmanager
    def output(self, name: str) -> Iterator[Path]:
        """A temporary file that becomes the output of a shard when it is synced to disk."""
        temporary = self._folder / PARTS / f"{name}.{uuid4().hex}"
        try:
            yield temporary
            sync(temporary)
            temporary.replace(self.out / name)
            sync(self.out)
        finally:
            temporary.unlink(missing_ok=True)

    def finish(self, name: str, record: Record) -> None:
        """Write the record of a shard; its output is on disk by now."""
        self._write(self._folder / RECORDS / f"{name}.json", to_json_bytes(asdict(record)))

    def manifest(self) -> dict[str, Any]:
        """Write the manifest of a finished job: job, sources, and the hash of every output."""
        records = {shard.name: self.record(shard.name) for shard in self.shards()}
        finished = {name: record for name, record in records.items() if record}
        facts = {
            "format": 1,
            "job": self.job.to_dict(),
            "lines": sum(record.lines for record in finished.values()),
            "left_empty": sum(record.left_empty for record in finished.values()),
            "sources": {name: record.source for name, record in finished.items()},
        }
        outputs = {name: record.output for name, record in finished.items()}
        folder = self._folder / PARTS / uuid4().hex  # another process may finish at this moment
        folder.mkdir()
        manifest = write_manifest(folder, facts, outputs)
        sync(folder / MANIFEST)
        (folder / MANIFEST).replace(self.out / MANIFEST)
        folder.rmdir()
        sync(self.out)
        for part in (self._folder / PARTS).iterdir():  # of processes that were killed
            if part.is_file():
                part.unlink(missing_ok=True)
        return manifest

    def claim_note(self, name: str) -> tuple[int, int]:
        """Lines and bytes that are done of a claimed shard."""
        with suppress(OSError):
            return _parse_note((self._folder / CLAIMS / name).read_bytes()[:100])[1:]
        return 0, 0

    def claimed(self) -> list[str]:
        """The names of the shards that processes have, or had when they ended."""
        return sorted(os.listdir(self._folder / CLAIMS))

    def failures(self) -> list[str]:
        """Why shards could not be translated, a line for each."""
        records = ((shard.name, self.record(shard.name)) for shard in self.shards())
        return [f"{name}: {record.error}" for name, record in records if record and record.error]

    def _forget_failures(self) -> None:
        """Try shards again that failed before, and forget attempts of processes that ended."""
        for name in os.listdir(self._folder / RECORDS):
            record = self.record(name.removesuffix(".json"))
            if record is None or record.error:
                (self._folder / RECORDS / name).unlink(missing_ok=True)
        for name in self.claimed():
            if claim := self.claim(name):
                claim.attempts = 1
                claim.release(finished=False)

    def _check_same(self, shard: Shard, record: Record) -> None:
        source = record.source
        if (shard.source.name, shard.bytes) == (source["name"], source["bytes"]):
            if shard.source.stat().st_mtime_ns == source["modified"]:
                return
            if file_checksum(shard.source)["sha256"] == source["sha256"]:
                return
        raise UserError(
            f"{printable(shard.source)}: changed since it was translated; remove "
            f"{printable(self.out / shard.name)} to translate it again"
        )

    def _write(self, path: Path, data: bytes) -> None:
        """Write a file of the ledger atomically."""
        temporary = path.parent.parent / PARTS if path.parent.name == RECORDS else path.parent
        temporary = temporary / f"{path.name}.{uuid4().hex}"
        try:
            temporary.write_bytes(data)
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def _check_folders(source: Path, out: Path) -> None:
    if not source.is_dir():
        raise UserError(f"{printable(source)}: is not a folder; name the one that holds the shards")
    if out == source or source in out.parents or out in source.parents:
        raise UserError(
            f"{spell_option('out')} {printable(out)}: one of input and output lies in the other; "
            f"name another"
        )


def _check_shard(path: Path, name: str, seen: dict[str, str]) -> None:
    if name in seen:
        raise UserError(
            f"{printable(path)}: would have the same output as {printable(seen[name])}; rename one"
        )
    seen[name] = path.name
    if name == MANIFEST:
        raise UserError(f"{printable(path)}: has the name of the manifest; rename it")
    if format_suffix(path) in TABLE_SUFFIXES:
        raise UserError(
            f"{printable(path)}: is a table; shards are plain text, a sentence on each line"
        )


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _parse_note(data: bytes) -> tuple[int, int, int]:
    """Attempts, lines and bytes of a claim's note; zeros for one that is not written yet."""
    parts = data.split()
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        return 0, 0, 0
    attempts, lines, read_bytes = map(int, parts)
    return attempts, lines, read_bytes
