"""`dhyan show`: translate a sentence and draw its attention."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.messages import warn
from dhyan.cli.options import Beam, Device, Model, Threads, load_model
from dhyan.errors import NO_ATTENTION, UNKNOWN_TO_MODEL, UserError

if TYPE_CHECKING:
    from dhyan.attention_maps import AttentionMap
    from dhyan.decoding.translator import Translation, Translator
    from dhyan.insight.task_figures import TaskFigure
    from dhyan.insight.trace import Trace


def show(
    model: Model,
    sentence: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="Sentence in the source language, or the path of a picture."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Figure as .png, .svg or .pdf, attention weights as .json, a page as .html, "
            "or speech as .wav.",
            show_default="the terminal",
        ),
    ] = None,
    attention: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Attention maps whose name contains this, or 'all'.",
            show_default="the figure of the task, or the last cross-attention",
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

    A model of another task has a figure of its own: a label shades the words it was read from, tags
    become spans, a picture has an overlay for each word; --attention or --tokens draw heat maps.

    Example: dhyan show en-hi-luong "Where is my key?" -o attention.png
    """
    if not sentence.strip():
        raise UserError("the sentence is empty; give at least one word")
    if not sentence.isascii() and any("\ud800" <= character <= "\udfff" for character in sentence):
        raise UserError("the sentence is not UTF-8; check the encoding of the terminal")
    translator = load_model(model, device, threads)
    from dhyan.decoding.translator import TooLong
    from dhyan.insight.explain import explain_translation
    from dhyan.insight.task_figures import find_figure
    from dhyan.insight.trace import trace_translation
    from dhyan.insight.traced_media import traced_picture, traced_sound
    from dhyan.tasks import find_task

    try:
        [translation] = translator(sentence, beam=beam, nbest=1)
    except TooLong as error:
        raise UserError(f"the sentence: {error}") from None
    maps = explain_translation(translator, sentence, translation, words=not tokens)
    chosen = choose_maps(maps, attention)
    typer.echo(translation.text)
    _warn_about(translator, sentence, translation)
    suffix = output.suffix.lower() if output else ""
    if output and suffix == ".html":
        picture = traced_picture(translator.source, sentence)
        source = picture.uri if picture else sentence
        _write_page(model, source, translator.options.beam if beam is None else beam, output)
        return
    figure = find_figure(find_task(translator.task).figure)
    if suffix in (".json", ".wav") or (figure and not attention and not tokens):
        from dhyan.checkpoint import find_checkpoint

        trace = trace_translation(
            translator,
            sentence,
            translation,
            model=str(model),
            figure=find_task(translator.task).figure,
            sound=traced_sound(find_checkpoint(model), translation.text),
        )
        if output and suffix in (".json", ".wav"):
            _write_trace(trace, output, maps)
            return
        if figure:
            _draw_figure(figure, trace, output)
            return
    _draw(chosen, output)
    if others := len(maps) - len(chosen):
        warn(f"{others} more maps: --attention all, or part of a name such as {maps[0].name}")


def _warn_about(translator: "Translator", sentence: str, translation: "Translation") -> None:
    """Warn about unknown words, another language, and an output that was cut off."""
    from dhyan.decoding.source_language_check import LanguageCheck

    if unknown := translation.unknown_words:
        warn(f"unknown ({UNKNOWN_TO_MODEL}): {', '.join(unknown)}")
    check = LanguageCheck.of(translator)
    check.add([sentence])
    if line := check.warning():
        warn(line)
    if not translation.finished:
        cut = "cut off at the length limit (decoding.max_length)"
        warn("stops where no token was allowed" if translation.no_token_allowed else cut)


def _write_trace(trace: "Trace", output: Path, maps: Sequence["AttentionMap"]) -> None:
    """Write the trace as JSON, or its sound as a WAV file."""
    if output.suffix.lower() == ".wav":
        if trace.sound is None:
            raise UserError(f"{output}: this model writes no sound; it has no codebook of frames")
        output.write_bytes(trace.sound.wav())
        warn(f"wrote {output}: {trace.sound.seconds:.2f} s of sound")
        return
    output.write_text(trace.to_json() + "\n", encoding="utf-8")
    names = ", ".join(item.name for item in maps)
    warn(f"wrote {output}: {f'the weights of {names}' if maps else NO_ATTENTION}")


def _draw_figure(figure: "TaskFigure", trace: "Trace", output: Path | None) -> None:
    """Draw the figure of a task into a file or in the terminal."""
    if output:
        from dhyan.insight.heatmap import save

        with _font_warnings():
            save(figure.draw(trace), output)
        warn(f"drew {output}")
        return
    from rich.console import Console

    console = Console()
    text = figure.draw_in_terminal(trace, console.width, console.color_system is not None)
    console.print("", text, sep="\n", soft_wrap=True)


@contextmanager
def _font_warnings() -> Iterator[None]:
    """Warnings of figures, each once, as lines of the command."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for line in dict.fromkeys(str(warning.message) for warning in caught):
        warn(line)


def _write_page(model: str, source: str, beam: int, output: Path) -> None:
    """Write the page of the studio about one sentence."""
    from dhyan.pretrained import model_folder
    from dhyan.safe_io.data_uri import is_data_uri

    try:
        from dhyan.studio.registry import ModelRegistry
        from dhyan.studio.schemas import (
            MAX_BEAM,
            MAX_CHARACTERS,
            MAX_PICTURE_CHARACTERS,
            TranslateRequest,
        )
        from dhyan.studio.sentence_page import export_sentence
    except ModuleNotFoundError as missing:
        raise UserError(f"a page needs {missing.name}: pip install 'dhyan[studio]'") from None

    limit = MAX_PICTURE_CHARACTERS if is_data_uri(source) else MAX_CHARACTERS
    if len(source) > limit:
        raise UserError(f"{len(source):,} characters; a page takes at most {limit:,}")
    request = TranslateRequest(text=source, beam=min(beam, MAX_BEAM))
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
    with _font_warnings():
        for file, group in zip(files, by_words.values(), strict=True):
            save(heatmap(*group), file)
    return [str(file) for file in files]


def draw_in_terminal(maps: Sequence["AttentionMap"]) -> None:
    """Heat maps of characters, with colour if the terminal has any."""
    from rich.console import Console

    from dhyan.insight.terminal_heatmap import draw

    console = Console()
    for item in maps:
        text = draw(item, width=console.width, colour=console.color_system is not None)
        console.print("", text, sep="\n", soft_wrap=True)
