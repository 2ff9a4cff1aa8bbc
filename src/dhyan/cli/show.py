"""`dhyan show`: translate a sentence and draw its attention."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.messages import warn
from dhyan.cli.options import Beam, Device, Model, Threads, load_model
from dhyan.errors import NO_ATTENTION, UNKNOWN_TO_MODEL, UserError

if TYPE_CHECKING:
    from dhyan.attention_maps import AttentionMap


def show(
    model: Model,
    sentence: Annotated[
        str, typer.Argument(metavar="SENTENCE", help="Sentence in the source language.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Figure as .png, .svg or .pdf, attention weights as .json, or a page as .html.",
            show_default="the terminal",
        ),
    ] = None,
    attention: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Attention maps whose name contains this, or 'all'.",
            show_default="the last cross-attention",
        ),
    ] = "",
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Tokens: axes of subword tokens instead of words.")
    ] = False,
    beam: Beam = None,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Translate a sentence and draw its attention weights.

    Example: dhyan show en-hi-luong "Where is my key?" -o attention.png
    """
    if not sentence.strip():
        raise UserError("the sentence is empty; give at least one word")
    if not sentence.isascii() and any("\ud800" <= character <= "\udfff" for character in sentence):
        raise UserError("the sentence is not UTF-8; check the encoding of the terminal")
    translator = load_model(model, device, threads)
    from dhyan.decoding.source_language_check import LanguageCheck
    from dhyan.decoding.translator import TooLong
    from dhyan.insight.explain import explain_translation

    try:
        [translation] = translator(sentence, beam=beam, nbest=1)
    except TooLong as error:
        raise UserError(f"the sentence: {error}") from None
    maps = explain_translation(translator, sentence, translation, words=not tokens)
    chosen = choose_maps(maps, attention)
    typer.echo(translation.text)
    if unknown := translation.unknown_words:
        warn(f"unknown ({UNKNOWN_TO_MODEL}): {', '.join(unknown)}")
    check = LanguageCheck.of(translator)
    check.add([sentence])
    if line := check.warning():
        warn(line)
    if not translation.finished:
        cut = "cut off at the length limit (decoding.max_length)"
        warn("stops where no token was allowed" if translation.no_token_allowed else cut)
    if output and output.suffix.lower() == ".json":
        from dhyan.insight.trace import trace_translation

        trace = trace_translation(translator, sentence, translation, model=str(model))
        output.write_text(trace.to_json() + "\n", encoding="utf-8")
        names = ", ".join(item.name for item in maps)
        warn(f"wrote {output}: {f'the weights of {names}' if maps else NO_ATTENTION}")
        return
    if output and output.suffix.lower() == ".html":
        _write_page(model, sentence, translator.options.beam if beam is None else beam, output)
        return
    _draw(chosen, output)
    if others := len(maps) - len(chosen):
        warn(f"{others} more maps: --attention all, or part of a name such as {maps[0].name}")


def _write_page(model: str, sentence: str, beam: int, output: Path) -> None:
    """Write the page of the studio about one sentence."""
    from dhyan.pretrained import model_folder

    try:
        from dhyan.studio.registry import ModelRegistry
        from dhyan.studio.schemas import MAX_BEAM, MAX_CHARACTERS, TranslateRequest
        from dhyan.studio.sentence_page import export_sentence
    except ModuleNotFoundError as missing:
        raise UserError(f"a page needs {missing.name}: pip install 'dhyan[studio]'") from None

    if len(sentence) > MAX_CHARACTERS:
        raise UserError(f"{len(sentence)} characters; a page takes at most {MAX_CHARACTERS}")
    request = TranslateRequest(text=sentence, beam=min(beam, MAX_BEAM))
    page = export_sentence(ModelRegistry([model_folder(model)]), request)
    output.write_text(page, encoding="utf-8")
    warn(f"wrote {output}: {output.stat().st_size / 1e6:.1f} MB; open it in a browser")


def _draw(maps: Sequence["AttentionMap"], output: Path | None) -> None:
    """Draw the maps into a file or in the terminal, or say that there are none."""
    if not maps:
        warn(f"{NO_ATTENTION}; there is no map to draw")
    elif output:
        files = draw_files(maps, output)
        warn(f"drew {', '.join(files)}: {', '.join(item.name for item in maps)}")
    else:
        draw_in_terminal(maps)


def choose_maps(maps: Sequence["AttentionMap"], name: str) -> list["AttentionMap"]:
    """The last cross-attention, or the maps whose name contains `name`, or "all"."""
    from dhyan.insight.explain import cross_maps

    if not name:
        return cross_maps(maps)[-1:]
    chosen = [item for item in maps if name == "all" or name in item.name]
    if not maps:
        raise UserError(f"--attention {name}: {NO_ATTENTION}")
    if not chosen:
        names = ", ".join(item.name for item in maps)
        raise UserError(f"--attention {name}: no attention has this name; this model has {names}")
    return chosen


def draw_files(maps: Sequence["AttentionMap"], output: Path) -> list[str]:
    """One figure for all maps of the same words; a numbered figure for each other words."""
    from dhyan.insight.heatmap import heatmap, save

    by_words: dict[object, list[AttentionMap]] = {}
    for item in maps:
        by_words.setdefault((item.source, item.target), []).append(item)
    numbered = [output.with_stem(f"{output.stem}-{n}") for n in range(1, len(by_words) + 1)]
    files = numbered if len(by_words) > 1 else [output]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for file, group in zip(files, by_words.values(), strict=True):
            save(heatmap(*group), file)
    for line in dict.fromkeys(str(warning.message) for warning in caught):
        warn(line)
    return [str(file) for file in files]


def draw_in_terminal(maps: Sequence["AttentionMap"]) -> None:
    """Heat maps of characters, with colour if the terminal has any."""
    from rich.console import Console

    from dhyan.insight.terminal_heatmap import draw

    console = Console()
    for item in maps:
        text = draw(item, width=console.width, colour=console.color_system is not None)
        console.print("", text, sep="\n", soft_wrap=True)
