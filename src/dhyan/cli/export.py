"""`dhyan export`: write a model in another form: one HTML page, or a CTranslate2 folder."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dhyan.cli.messages import warn
from dhyan.cli.options import Model
from dhyan.cli.translate_io import open_output
from dhyan.errors import UserError

Format = Literal["html", "ctranslate2", "onnx", "huggingface"]
Weights = Literal["float32", "int8"]


def export(
    model: Model,
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="Output file, or new folder; complete or not written at all."
        ),
    ],
    to: Annotated[
        Format,
        typer.Option(
            "--to",
            help="Format: html, one page that translates in any browser, offline; or ctranslate2, a "
            "folder that CTranslate2 translates with, for Transformers.",
        ),
    ],
    precision: Annotated[
        Weights | None,
        typer.Option(
            show_default="float32", help="Precision of the weights of a CTranslate2 folder."
        ),
    ] = None,
) -> None:
    """Write a model in another form.

    The page has the weights in int8, the tokenizers and the views; it opens from a disk and translates
    without Python, server or network. A CTranslate2 folder has the weights and vocabularies for that
    library, and the tokenizers.

    Example: dhyan export en-hi --to html en-hi.html
    """
    if to == "ctranslate2":
        write_ctranslate2(model, output, precision or "float32")
    elif precision:
        raise UserError(f"--precision {precision}: a page has int8 weights; leave it out")
    else:
        write_html(model, output)


def write_ctranslate2(model: str, output: Path, precision: Weights) -> None:
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
