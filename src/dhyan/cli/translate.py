"""`dhyan translate`: as many lines out as come in."""

import json
import signal
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.options import AsJson, Beam, Device, Model, Threads, lines_of, load_model
from dhyan.faults import Fault

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translation, Translator

LINES_AT_A_TIME = 512


def translate(
    model: Model,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Sentences, one a line; else stdin.")
    ] = None,
    beam: Beam = 0,
    nbest: Annotated[int, typer.Option(min=1, help="How many translations of each.")] = 1,
    as_json: AsJson = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Translate a file or stdin, line by line.

    With --nbest N, each line gives up to N lines: number, score and translation, tab-separated.

    Example: echo "how are you" | dhyan translate runs/bahdanau2015-small
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends this as it ends any filter
    translator = load_model(model, device, threads)
    name, number, lines = str(file or "stdin"), 0, lines_of(file)
    at_a_time = 1 if file is None and sys.stdin.isatty() else LINES_AT_A_TIME
    while chunk := list(islice(lines, at_a_time)):
        places = [f"{name}:{number + n}" for n in range(1, len(chunk) + 1)]
        said = translated(translator, chunk, places, beam=beam, nbest=nbest)
        for text, translation in zip(chunk, said, strict=True):
            number += 1
            if not translation.finished:
                print(f"dhyan: {name}:{number}: cut off at the length limit", file=sys.stderr)
            print(written(number, text, translation, nbest=nbest, as_json=as_json))
        sys.stdout.flush()


def translated(
    translator: "Translator", lines: Sequence[str], places: Sequence[str], *, beam: int, nbest: int
) -> list["Translation"]:
    """The lines' translations; one that is too long is named by its place."""
    from dhyan.decoding.translator import TooLong

    try:
        return translator(lines, beam=beam or None, nbest=nbest)
    except TooLong as fault:
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
