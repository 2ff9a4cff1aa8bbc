"""`dhyan translate`: as many lines out as come in."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dhyan.cli.options import (
    AsJson,
    Beam,
    Device,
    Model,
    Threads,
    glossary_in,
    in_chunks,
    lines_of,
    load_model,
    terms_in,
)
from dhyan.cli.written import Style, written
from dhyan.faults import Fault

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translation, Translator

LINES_AT_A_TIME, FIRST_WARNINGS = 512, 3
MANNER = (
    *("beam", "nbest", "length_power", "least", "limit", "no_repeat", "coverage", "groups"),
    *("diversity", "sample", "temperature", "top_k", "top_p", "seed"),
)


def translate(
    model: Model,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Sentences, one a line; else stdin.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="MODEL", help="One more to average with; may be repeated."),
    ] = None,
    beam: Beam = 0,
    nbest: Annotated[int, typer.Option(min=1, max=1000, help="How many of each.")] = 1,
    length_power: Annotated[
        float | None, typer.Option(help="Scores are divided by length to this power.")
    ] = None,
    least: Annotated[int | None, typer.Option(min=0, help="Fewest tokens to say.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Most tokens to say; 0 follows the source.")
    ] = None,
    no_repeat: Annotated[
        int | None, typer.Option(min=0, help="No run of so many tokens comes twice.")
    ] = None,
    coverage: Annotated[
        float | None, typer.Option(help="What it counts to have looked at all of the source.")
    ] = None,
    groups: Annotated[
        int | None, typer.Option(min=1, help="Part the beam into groups that differ.")
    ] = None,
    diversity: Annotated[
        float | None, typer.Option(help="What a group pays for another's word.")
    ] = None,
    sample: Annotated[
        bool | None, typer.Option("--sample/--no-sample", help="Draw words by their chance.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="Sampling: below 1 keeps to likely words.")
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="Sampling: only of so many likeliest.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Sampling: only of those that make up so much.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Sampling: another seed, other words.")] = None,
    prefix: Annotated[str, typer.Option(help="Every translation begins with this.")] = "",
    prefixes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A prefix for each line; may be empty.")
    ] = None,
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Source term, tab, term to be said.")
    ] = None,
    forbid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms not to be said, one a line.")
    ] = None,
    paragraphs: Annotated[
        bool, typer.Option("--paragraphs", help="Lines hold several sentences.")
    ] = False,
    align: Annotated[
        bool, typer.Option("--align", help="Add which word comes from which: 0-0 1-2.")
    ] = False,
    where: Annotated[str, typer.Option(help="Align by attentions whose name contains this.")] = "",
    words: Annotated[
        bool, typer.Option("--words", help="Add how sure the model is of each word.")
    ] = False,
    as_json: AsJson = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Translate a file or stdin, line by line.

    With --nbest N, each line gives up to N lines: number, score and translation, tab-separated.
    What is left out is as the model's recipe says, in its section [decoding].

    Example: echo "how are you" | dhyan translate runs/bahdanau2015-small
    """
    style = Style(nbest=nbest, align=align, where=where, words=words, as_json=as_json)
    style.check(paragraphs=paragraphs)
    if (prefix or prefixes) and paragraphs or (prefix and prefixes):
        raise Fault("one of --prefix, --prefixes and --paragraphs: they do not go together")
    options = asked_for(locals())
    translator = load_model(model, device, threads, beside or ())
    translator.manner.changed(**{name: options[name] for name in MANNER})
    warnings, name, number = Warnings(), str(file or "stdin"), 0
    beginnings = lines_of(prefixes) if prefixes else None
    talking = file is None and sys.stdin is not None and sys.stdin.isatty()
    for chunk in in_chunks(lines_of(file), 1 if talking else LINES_AT_A_TIME):
        places = [f"{name}:{number + n}" for n in range(1, len(chunk) + 1)]
        each: dict[str, Sequence[Any]] = {"numbers": range(number, number + len(chunk))}
        if prefix or beginnings:
            each["prefixes"] = _some(beginnings, prefixes, len(chunk)) or [prefix] * len(chunk)
        for text, said in translated(
            translator, chunk, places, paragraphs=paragraphs, each=each, **options
        ):
            number += 1
            warnings.note(f"{name}:{number}", said)
            print(written(translator, number, text, said, style))
        sys.stdout.flush()
    warnings.sum_up()
    if beginnings and next(beginnings, None) is not None:
        raise Fault(f"{prefixes}: has more lines than the {number} of {name}; give one for each")


def asked_for(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the command that are a translator's, its terms read from their files."""
    manner = {name: given[name] for name in MANNER}
    glossary, forbid = given["glossary"], given["forbid"]
    return {
        **manner,
        "beam": given["beam"] or None,
        "glossary": glossary_in(glossary) if glossary else None,
        "forbidden": terms_in(forbid) if forbid else (),
    }


def _some(lines: Iterator[str] | None, file: Path | None, count: int) -> list[str]:
    """The next lines of a file, as many as there must be."""
    found = list(islice(lines, count)) if lines else []
    if lines and len(found) < count:
        raise Fault(f"{file}: has too few lines; give a prefix for each sentence, empty for none")
    return found


def warn(line: str) -> None:
    """Say something on stderr that does not stop the command."""
    print(f"dhyan: {line}", file=sys.stderr)


class Warnings:
    """What went wrong with translations: the first few by their places, then all in a number."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def note(self, place: str, said: "Translation") -> None:
        """See whether there is anything to say of a translation, or of its runners-up."""
        if not said.finished:
            cut = "cut off at the length limit (decoding.limit), or no word was left to say"
            self._say(place, cut, "were cut off")
        everyone = (said, *said.others)
        if lost := _each_once(one.lost for one in everyone):
            self._say(place, f"lost {lost}", "lost something that was to be kept")
        if missed := _each_once(one.missed for one in everyone):
            self._say(place, f"does not say {missed}", "do not say a term of the glossary")

    def _say(self, place: str, line: str, kind: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] <= FIRST_WARNINGS:
            warn(f"{place}: {line}")

    def sum_up(self) -> None:
        """Say how many there were, if more than were named."""
        for kind, count in self.counts.items():
            if count > FIRST_WARNINGS:
                warn(f"{count:,} translations in all {kind}")


def _each_once(found: Iterable[Sequence[str]]) -> str:
    return ", ".join(dict.fromkeys(text for own in found for text in own))


def translated(
    translator: "Translator",
    lines: Sequence[str],
    places: Sequence[str],
    *,
    beam: int | None = None,
    paragraphs: bool = False,
    each: Mapping[str, Sequence[Any]] | None = None,
    **options: Any,
) -> Iterator[tuple[str, "Translation"]]:
    """Each line with its translation; one that is too long is named by its place, in its turn.

    `each` are options with a value for every line, the others are for all of them.
    """
    from dhyan.decoding.paragraphs import translate_paragraphs
    from dhyan.decoding.translator import TooLong

    def first(count: int) -> Iterator[tuple[str, "Translation"]]:
        own = {name: values[:count] for name, values in (each or {}).items()}
        call = {**options, **own, "beam": beam or None}
        if paragraphs:
            said = translate_paragraphs(translator, lines[:count], **call)
        else:
            said = translator(lines[:count], **call)
        return zip(lines[:count], said, strict=True)

    try:
        yield from first(len(lines))
    except TooLong as fault:
        yield from first(fault.index)
        raise Fault(f"{places[fault.index]}: {fault}") from None
