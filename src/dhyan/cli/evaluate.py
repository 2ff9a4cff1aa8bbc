"""`dhyan evaluate`: BLEU and chrF++, over all sentences and by their length."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.options import AsJson, Beam, Columns, Device, Model, Threads, load_model, two_columns
from dhyan.cli.translate import translated

if TYPE_CHECKING:
    from dhyan.evaluation.by_length import Bucket


def evaluate(
    model: Model,
    source: Annotated[Path, typer.Option(help="Sentences, one a line; or one .tsv/.csv.")],
    target: Annotated[Path | None, typer.Option(help="Their translations, line by line.")] = None,
    columns: Columns = "",
    beam: Beam = 0,
    language: Annotated[str, typer.Option(help="Of the target; else the recipe's.")] = "",
    as_json: AsJson = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Score a model's translations with sacreBLEU.

    Example: dhyan evaluate runs/bahdanau2015-small --source test.en --target test.hi
    """
    from dhyan.data.corpus import Tally, read_pairs
    from dhyan.evaluation.by_length import by_length
    from dhyan.evaluation.scores import score
    from dhyan.text.languages import known_language

    tally = Tally()
    pairs = list(read_pairs(source, target, columns=two_columns(columns), tally=tally))
    translator = load_model(model, device, threads)
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    places = [f"{source}:{pair.line}" for pair in pairs]
    found = [one for _, one in translated(translator, sources, places, beam=beam, nbest=1)]
    said, tongue = [one.text for one in found], known_language(language) or translator.language
    scores = score(said, references, language=tongue)
    buckets = by_length(sources, said, references, language=tongue)
    cut = sum(not one.finished for one in found)
    for line in tally.lines():
        print(line, file=sys.stderr)
    if as_json:
        facts = {"sentences": len(pairs), "cut_off": cut, "beam": beam or translator.beam}
        every = {name: asdict(result) for name, result in scores.items()}
        parts = [asdict(bucket) for bucket in buckets]
        typer.echo(json.dumps({**facts, "scores": every, "by_length": parts}, ensure_ascii=False))
        return
    for result in scores.values():
        typer.echo(f"{result.name:<7} {result.value:6.2f}   {result.signature}")
    typer.echo(f"\n{'source words':>12} {'sentences':>10} {'BLEU':>7} {'chrF++':>7}")
    for bucket in buckets:
        typer.echo(_row(bucket))
    if cut:
        typer.echo(f"\n{cut} translations were cut off at the length limit")


def _row(bucket: "Bucket") -> str:
    words = f"{bucket.shortest}–{bucket.longest}" if bucket.longest else f"{bucket.shortest}+"
    bleu, chrf = (bucket.scores[name].value for name in ("bleu", "chrf"))
    return f"{words:>12} {bucket.sentences:>10,} {bleu:>7.2f} {chrf:>7.2f}"
