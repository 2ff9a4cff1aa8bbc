"""`dhyan export`: write a model in another form: a page, a folder of another library, or slim."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dhyan.cli.messages import warn
from dhyan.cli.options import Model
from dhyan.cli.translate_io import open_output
from dhyan.errors import UserError

Format = Literal["html", "ctranslate2", "onnx", "huggingface"]
Weights = Literal["float32", "float16", "int8", "int6"]


def export(
    model: Model,
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="Output file, or new folder; complete or not written at all."
        ),
    ],
    to: Annotated[
        Format | None,
        typer.Option(
            "--to",
            show_default=False,
            help="Format: html, a page that translates in any browser, offline; onnx, graphs for ONNX "
            "Runtime; for Transformers also ctranslate2 and huggingface, folders of these libraries; "
            "else give --slim.",
        ),
    ] = None,
    slim: Annotated[
        bool,
        typer.Option(
            "--slim",
            help="A folder of dhyan without training state: it translates, and no run resumes from it.",
        ),
    ] = False,
    precision: Annotated[
        Weights | None,
        typer.Option(
            show_default="float32; slim: int8",
            help="Precision of the weights: float32 or int8; slim also float16 and int6.",
        ),
    ] = None,
) -> None:
    """Write a model in another form.

    The page has the weights in int8, the tokenizers and the views; it opens from a disk and translates
    without Python, server or network. The folders have the weights, the tokenizers and a model card,
    and need no dhyan. A slim folder is a model like any other, only smaller.

    Example: dhyan export en-hi --to html en-hi.html
    """
    if (to is None) != slim:
        raise UserError("what to write is not clear: give either --to FORMAT or --slim")
    if precision in ("float16", "int6") and not slim:
        raise UserError(f"--precision {precision}: only --slim has it; give float32 or int8")
    if slim:
        write_slim_folder(model, output, precision or "int8")
    elif to == "html":
        if precision:
            raise UserError(f"--precision {precision}: a page has int8 weights; leave it out")
        write_html(model, output)
    elif to == "huggingface":
        if precision == "int8":
            raise UserError("--precision int8: transformers has float32 weights; leave it out")
        write_huggingface(model, output)
    elif to == "onnx":
        write_onnx(model, output, "int8" if precision == "int8" else "float32")
    else:
        write_ctranslate2(model, output, "int8" if precision == "int8" else "float32")


def write_slim_folder(model: str, output: Path, precision: Weights) -> None:
    """Write a folder for translating alone; a card is kept."""
    import json

    from dhyan.checkpoint import find_checkpoint
    from dhyan.pretrained.card import CARD, read_card
    from dhyan.run.slim_export import write_slim

    folder = find_checkpoint(model)
    card = read_card(folder).to_json() if (folder / CARD).is_file() else None
    write_slim(model, output, precision=precision, card=card and json.loads(json.dumps(card)))
    before, after = folder_size(folder), folder_size(output)
    typer.echo(f"{output}  {after / 1e6:.1f} MB of {before / 1e6:.1f} MB, {precision}")


def folder_size(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.iterdir())


def write_huggingface(model: str, output: Path) -> None:
    """Write the folder of a model for transformers."""
    from dhyan.interop.export_huggingface import export_huggingface

    architecture = export_huggingface(model, output)
    typer.echo(f"{output}  {architecture.model_class}, {folder_size(output) / 1e6:.1f} MB")


def write_onnx(model: str, output: Path, precision: Literal["float32", "int8"]) -> None:
    """Write the ONNX graphs of a model."""
    from dhyan.interop.export_onnx import export_onnx

    export_onnx(model, output, precision=precision)
    typer.echo(
        f"{output}  encoder.onnx and step.onnx, {folder_size(output) / 1e6:.1f} MB, {precision}"
    )


def write_ctranslate2(model: str, output: Path, precision: Literal["float32", "int8"]) -> None:
    """Write the CTranslate2 folder of a model."""
    from dhyan.interop.export_ctranslate2 import export_ctranslate2

    export_ctranslate2(model, output, precision=precision)
    size = (output / "model.bin").stat().st_size
    typer.echo(f"{output}  model.bin of {size / 1e6:.1f} MB, {precision}")


def write_html(model: str, output: Path) -> None:
    """Write the page of a model."""
    from dhyan.studio.export_html import MAIL_BYTES
    from dhyan.studio.export_model import export_model

    if output.is_dir():
        raise UserError(f"{output}: is a folder; name a file")
    if not output.parent.is_dir():
        raise UserError(f"{output.parent}: there is no such folder; make it first")
    page = export_model(model)
    with open_output(output) as stream:
        stream.write(page)
    size = output.stat().st_size
    typer.echo(f"{output}  {size / 1e6:.1f} MB; open it in a browser")
    if size > MAIL_BYTES:
        warn(
            f"{size / 1e6:.0f} MB may be too much for a mail; a smaller model makes a smaller page"
        )
