"""`dhyan show`: one sentence, its translation, and what the model looked at."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.shared_options import Beam, Device, Model, Threads, load_model
from dhyan.cli.warnings import warn
from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.attention_maps import AttentionMap


def show(
    model: Model,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="In the source language.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Draw into a .png, .svg or .pdf; .json has the numbers."
        ),
    ] = None,
    where: Annotated[
        str, typer.Option(help="Attentions whose name contains this; 'all' for every one.")
    ] = "",
    pieces: Annotated[bool, typer.Option("--pieces", help="Do not merge to words.")] = False,
    beam: Beam = 0,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Translate a sentence and draw its attention, here or into a file.

    Example: dhyan show runs/bahdanau2015-small "how are you" -o attention.png
    """
    if not sentence.strip():
        raise UserError("an empty sentence: there is nothing to look at")
    if not sentence.isascii() and any("\ud800" <= letter <= "\udfff" for letter in sentence):
        raise UserError("the sentence is not UTF-8: see how the terminal encodes it")
    translator = load_model(model, device, threads)
    from dhyan.decoding.translator import TooLong
    from dhyan.insight.explain import explain_translation
    from dhyan.special_tokens import UNK

    try:
        [said] = translator(sentence, beam=beam or None, nbest=1)
    except TooLong as fault:
        raise UserError(f"the sentence: {fault}") from None
    maps = explain_translation(translator, sentence, said, words=not pieces)
    chosen = choose(maps, where)
    typer.echo(said.text)
    if unknown := translator.encode(sentence).count(UNK):
        warn(f"{unknown} of its words or letters the model has never seen")
    if not said.finished:
        cut = "cut off at the length limit (decoding.max_length)"
        warn("stops where no word was left to say" if said.no_token_allowed else cut)
    if output and output.suffix.lower() == ".json":
        from dhyan.insight.trace import trace_translation

        traced = trace_translation(translator, sentence, said, model=str(model))
        output.write_text(traced.to_json() + "\n", encoding="utf-8")
        warn(f"wrote {output}: the weights of {', '.join(one.name for one in maps)}")
        return
    drawn = draw_files(chosen, output) if output else draw_here(chosen)
    others = len(maps) - len(chosen)
    if drawn:
        warn(f"drew {', '.join(drawn)}: {', '.join(one.name for one in chosen)}")
    if others:
        warn(f"{others} more to see: --where all, or part of a name such as {maps[0].name}")


def choose(maps: Sequence["AttentionMap"], where: str) -> list["AttentionMap"]:
    """The last that looks at the source, or those whose name contains something."""
    from dhyan.insight.explain import cross_maps

    if not where:
        return cross_maps(maps)[-1:]
    chosen = [one for one in maps if where in ("all", one.name) or where in one.name]
    if not chosen:
        names = ", ".join(one.name for one in maps)
        raise UserError(f"no attention is called {where!r}; this model has {names}")
    return chosen


def draw_files(maps: Sequence["AttentionMap"], output: Path) -> list[str]:
    """One figure for all maps of the same words; of different words, numbered figures."""
    from dhyan.insight.heatmap import heatmap, save

    alike: dict[object, list[AttentionMap]] = {}
    for one in maps:
        alike.setdefault((one.source, one.target), []).append(one)
    numbered = [output.with_stem(f"{output.stem}-{n}") for n in range(1, len(alike) + 1)]
    files = numbered if len(alike) > 1 else [output]
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        for file, group in zip(files, alike.values(), strict=True):
            save(heatmap(*group), file)
    for line in dict.fromkeys(str(one.message) for one in noted):
        warn(line)
    return [str(file) for file in files]


def draw_here(maps: Sequence["AttentionMap"]) -> list[str]:
    """In the terminal, with colour if it has any."""
    from rich.console import Console

    from dhyan.insight.terminal_heatmap import draw

    console = Console()
    for one in maps:
        drawn = draw(one, width=console.width, colour=console.color_system is not None)
        console.print("", drawn, sep="\n", soft_wrap=True)
    return []
