"""`dhyan export`: write a model in another form, as one HTML page that translates."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dhyan.cli.messages import warn
from dhyan.cli.options import Model
from dhyan.cli.translate_io import open_output
from dhyan.errors import UserError

Format = Literal["html"]


def export(
    model: Model,
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="Output file, complete or not written at all.")
    ],
    to: Annotated[
        Format,
        typer.Option(
            "--to", help="Format: html, one page that translates in any browser, offline."
        ),
    ],
) -> None:
    """Write a model in another form.

    The page has the weights in int8, the tokenizers and the views; it opens from a disk and translates
    without Python, server or network.

    Example: dhyan export en-hi --to html en-hi.html
    """
    if output.is_dir():
        raise UserError(f"{output}: is a folder; name a file")
    if not output.parent.is_dir():
        raise UserError(f"{output.parent}: there is no such folder; make it first")
    WRITERS[to](model, output)


def write_html(model: str, output: Path) -> None:
    """Write the page of a model."""
    from dhyan.studio.export_html import MAIL_BYTES
    from dhyan.studio.export_model import export_model

    page = export_model(model)
    with open_output(output) as stream:
        stream.write(page)
    size = output.stat().st_size
    typer.echo(f"{output}  {size / 1e6:.1f} MB; open it in a browser")
    if size > MAIL_BYTES:
        warn(
            f"{size / 1e6:.0f} MB may be too much for a mail; a smaller model makes a smaller page"
        )


WRITERS = {"html": write_html}
