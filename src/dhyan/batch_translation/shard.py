"""Translate one shard: claim it, write its output whole, and its record; the task of every engine."""

from enum import StrEnum
from functools import lru_cache
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from dhyan.atomic_folder import file_checksum
from dhyan.batch_translation.ledger import MAX_ATTEMPTS, Claim, Ledger, Record, Shard
from dhyan.data.text_lines import decode_leniently, read_raw_lines
from dhyan.errors import UnsupportedOption, UserError

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translator

LINES_AT_A_TIME = 512
NAMED_FAILURES = 20  # of the lines of a shard that were left empty


class Status(StrEnum):
    """How a task ended."""

    DONE = "done"
    """The shard has a record, of this task or another; it may say why there is no output."""
    BUSY = "busy"
    """Another process has claimed the shard."""
    STOP = "stop"
    """No shard can be translated, for the reason that is given."""
    LOST = "lost"
    """The process that had the task has ended."""


class Outcome(NamedTuple):
    """How the task of a shard ended; a plain tuple, so that any engine can carry it."""

    status: str
    reason: str = ""


def translate_shard(out: str, name: str, device: str = "auto", threads: int = 1) -> Outcome:
    """Translate the shard of this name in an output folder, unless that is done or being done."""
    try:
        ledger = _open_ledger(out)
        claim = ledger.claim(name)
        if claim is None:
            return Outcome(Status.DONE if ledger.record(name) else Status.BUSY)
        finished = False
        try:
            ledger.finish(name, _translate_or_explain(ledger, claim, name, device, threads))
            finished = True
        finally:
            claim.release(finished=finished)
    except UserError as error:
        return Outcome(Status.STOP, str(error))
    except OSError as error:
        remedy = "make room or fix it, and run the same command again"
        file = error.filename or out
        return Outcome(Status.STOP, f"{file}: cannot be written: {error.strerror}; {remedy}")
    return Outcome(Status.DONE)


@lru_cache(maxsize=4)
def _open_ledger(out: str) -> Ledger:
    return Ledger.open(Path(out))


def _translate_or_explain(
    ledger: Ledger, claim: Claim, name: str, device: str, threads: int
) -> Record:
    """Translate a shard; the record of one that cannot be read says why."""
    shard = ledger.shard(name)
    source = {"name": shard.source.name, "bytes": shard.bytes}
    if claim.attempts > MAX_ATTEMPTS:
        reason = f"{MAX_ATTEMPTS} processes ended while they translated it; look at what it holds"
        return Record(source=source, output={}, error=reason)
    translator = ledger.job.open(device=device, threads=threads)
    try:
        return _translate(ledger, claim, shard, translator)
    except UnsupportedOption:
        raise
    except UserError as error:
        return Record(source=source, output={}, error=str(error))


def _translate(ledger: Ledger, claim: Claim, shard: Shard, translator: "Translator") -> Record:
    """Write the translations of a shard, a line for each of its lines."""
    start, lines, read_bytes = monotonic(), 0, 0
    failures = list[str]()
    source = {
        "name": shard.source.name,
        "modified": shard.source.stat().st_mtime_ns,
        **file_checksum(shard.source),
    }
    with ledger.output(shard.name) as temporary:
        raw_lines = read_raw_lines(shard.source, may_be_empty=True)
        with open(temporary, "w", encoding="utf-8", newline="") as stream:
            while chunk := list(islice(raw_lines, LINES_AT_A_TIME)):
                decoded = [decode_leniently(raw, lines + at) for at, raw in enumerate(chunk, 1)]
                texts = ["" if problem else text for text, problem in decoded]
                results = ledger.job.translate(translator, texts, lines)
                for at, ((_, problem), result) in enumerate(zip(decoded, results, strict=True), 1):
                    if problem or isinstance(result, UserError):
                        failures.append(f"line {lines + at}: {problem or result}")
                        stream.write("\n")
                    else:
                        stream.write(f"{result.text}\n")
                lines += len(chunk)
                read_bytes += sum(map(len, chunk))
                claim.update(lines, min(read_bytes, shard.bytes))
        output = file_checksum(temporary)
    return Record(
        source=source,
        output=output,
        lines=lines,
        left_empty=len(failures),
        failures=failures[:NAMED_FAILURES],
        seconds=round(monotonic() - start, 3),
    )
