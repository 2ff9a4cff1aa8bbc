"""`dhyan predict`: the output of a model of any task for each line, row or picture of its input."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.options import (
    AsJson,
    Beam,
    Delimiter,
    Device,
    Header,
    Model,
    Threads,
    load_model,
    table_settings,
    with_decoding_options,
)
from dhyan.cli.translate import Nbest, Output, TranslationJob, show_progress
from dhyan.cli.translate_io import (
    OutputStyle,
    check_output,
    open_table,
    read_examples,
    read_input,
    read_rows,
)
from dhyan.config import DecodingChanges

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translator

File = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        help="Text, one source per line; a table, with --columns; .conll; a picture, or a folder.",
        show_default="stdin",
    ),
]
Column = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Column or key of a .csv, .tsv or .jsonl to read; adds a column prediction.",
        show_default="none",
    ),
]


@with_decoding_options
def predict(
    model: Model,
    file: File = None,
    columns: Column = "",
    header: Header = "",
    delimiter: Delimiter = "",
    output: Output = None,
    beam: Beam = None,
    nbest: Nbest = 1,
    *,
    decoding: DecodingChanges,
    as_json: AsJson = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Predict labels, tags, text or symbols with a model of any task.

    One line of output per source. With --nbest N, each gives up to N lines: number, score and
    output, tab-separated. `dhyan translate` has further options for translation.

    Example: echo "a gripping film" | dhyan predict runs/reviews
    """
    check_output(output, file)
    style = OutputStyle(nbest=nbest, as_json=as_json, column="prediction")
    examples = read_examples(file) if file and not columns else None
    table = (
        open_table(file, columns, style, table_settings("", header, delimiter))
        if examples is None
        else None
    )
    job = TranslationJob(
        name=str(file or "stdin"),
        style=style,
        table=table,
        files={"input": file},
        progress=show_progress(file, None if examples is None else len(examples)),
    )

    def load() -> "Translator":
        return load_model(model, device, threads, ())

    lines = read_rows(table) if table else read_input(file) if examples is None else iter(examples)
    job.run(load, {**decoding, "beam": beam, "nbest": nbest}, lines, output)
