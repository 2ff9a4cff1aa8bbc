"""`dhyan translate`: as many lines out as come in."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.options import AsJson, Beam, Device, Model, Threads, in_chunks, lines_of, load_model
from dhyan.faults import Fault

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translation, Translator

LINES_AT_A_TIME, FIRST_WARNINGS = 512, 3


def translate(
    model: Model,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Sentences, one a line; else stdin.")
    ] = None,
    beam: Beam = 0,
    nbest: Annotated[int, typer.Option(min=1, max=1000, help="How many of each.")] = 1,
    as_json: AsJson = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Translate a file or stdin, line by line.

    With --nbest N, each line gives up to N lines: number, score and translation, tab-separated.

    Example: echo "how are you" | dhyan translate runs/bahdanau2015-small
    """
    translator = load_model(model, device, threads)
    name, number, cut = str(file or "stdin"), 0, 0
    talking = file is None and sys.stdin is not None and sys.stdin.isatty()
    for chunk in in_chunks(lines_of(file), 1 if talking else LINES_AT_A_TIME):
        places = [f"{name}:{number + n}" for n in range(1, len(chunk) + 1)]
        for text, said in translated(translator, chunk, places, beam=beam, nbest=nbest):
            number += 1
            if not said.finished:
                cut += 1
                if cut <= FIRST_WARNINGS:
                    warn(f"{name}:{number}: cut off at the length limit (decoding.limit)")
            print(written(number, text, said, nbest=nbest, as_json=as_json))
        sys.stdout.flush()
    if cut > FIRST_WARNINGS:
        warn(f"{cut:,} translations in all were cut off at the length limit")


def warn(line: str) -> None:
    """Say something on stderr that does not stop the command."""
    print(f"dhyan: {line}", file=sys.stderr)


def translated(
    translator: "Translator", lines: Sequence[str], places: Sequence[str], *, beam: int, nbest: int
) -> Iterator[tuple[str, "Translation"]]:
    """Each line with its translation; one that is too long is named by its place, in its turn."""
    from dhyan.decoding.translator import TooLong

    try:
        yield from zip(lines, translator(lines, beam=beam or None, nbest=nbest), strict=True)
    except TooLong as fault:
        before = lines[: fault.index]
        yield from zip(before, translator(before, beam=beam or None, nbest=nbest), strict=True)
        raise Fault(f"{places[fault.index]}: {fault}") from None


def written(
    number: int, text: str, translation: "Translation", *, nbest: int, as_json: bool
) -> str:
    """One line's output: plain, n-best, or JSON."""
    all_of_them = (translation, *translation.others)
    if as_json:
        found = [
            {"text": t.text, "score": round(t.score, 6), "finished": t.finished}
            for t in all_of_them
        ]
        facts = {"line": number, "source": text, **found[0]}
        if nbest > 1:
            facts["nbest"] = found
        return json.dumps(facts, ensure_ascii=False)
    if nbest > 1:
        return "\n".join(f"{number}\t{t.score:.4f}\t{t.text}" for t in all_of_them)
    return translation.text
