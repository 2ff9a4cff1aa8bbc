"""`dhyan show`: one sentence, its translation, and what the model looked at."""

from pathlib import Path
from typing import Annotated

import typer

from dhyan.cli.options import Beam, Device, Model, Threads, load_model
from dhyan.faults import Fault


def show(
    model: Model,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="In the source language.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Draw into a .png, .svg or .pdf.")
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
    from dhyan.insight.explain import cross_maps, explain_translation

    translator = load_model(model, device, threads)
    if not sentence.strip():
        raise Fault("an empty sentence: there is nothing to look at")
    [translation] = translator(sentence, beam=beam or None)
    typer.echo(translation.text)
    maps = explain_translation(translator, sentence, translation, words=not pieces)
    chosen = cross_maps(maps)[-1:] if not where else maps
    if where not in ("", "all"):
        chosen = [one for one in maps if where in one.where]
    if not chosen:
        names = ", ".join(one.where for one in maps)
        raise Fault(f"no attention is called {where!r}; this model has {names}")
    if output:
        from dhyan.insight.figures import heatmap, save

        save(heatmap(*chosen), output)
        typer.echo(f"drew {output}")
        return
    from rich.console import Console

    from dhyan.insight.terminal import draw

    console = Console()
    for one in chosen:
        console.print()
        drawn = draw(one, width=console.width, colour=console.color_system is not None)
        console.print(drawn, soft_wrap=True)
    if len(chosen) < len(maps):
        typer.echo(f"\n{len(maps) - len(chosen)} more attentions: --where all, or part of a name")
