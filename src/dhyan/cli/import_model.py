"""`dhyan import`: make a model of another toolkit one of ours."""

from pathlib import Path
from typing import Annotated

import typer

from dhyan.cli.messages import warn


def import_(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Model folder of Hugging Face (Marian as OPUS-MT, M2M100, NLLB-200, mBART-50, T5) "
            "or of CTranslate2."
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Output folder, which must be new.")],
    source_language: Annotated[
        str,
        typer.Option(
            metavar="CODE",
            show_default="the folder's",
            help="Source language code, as hi; of a multilingual model also a token, as hin_Deva.",
        ),
    ] = "",
    target_language: Annotated[
        str, typer.Option(metavar="CODE", show_default="the folder's", help="Target language code.")
    ] = "",
) -> None:
    """Import a model of another toolkit.

    The new folder is a model like any other: every command takes it. Nothing in the old one is
    unpickled or run; weights come from safetensors or from CTranslate2's own format.

    A multilingual model becomes one of a language pair, which the two options name.

    Example: dhyan import opus-mt-en-hi models/en-hi
    """
    from dhyan.interop.import_model import import_model

    model = import_model(folder, out, languages=(source_language, target_language))
    recipe = model.recipe
    typer.echo(
        f"{out}  {model.format}, {recipe.encoder.layers}+{recipe.decoder.layers} layers of width "
        f"{recipe.encoder.width}, vocabularies of {len(model.source):,} and {len(model.target):,}"
    )
    if not (recipe.data.source_language and recipe.data.target_language):
        warn(
            "the folder names no languages; scores and the page are better with --source-language and "
            "--target-language"
        )
