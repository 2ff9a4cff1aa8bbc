"""Command-line options shared by the commands, made from the declarations of the settings."""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dhyan.config import Data, DecodingChanges, DecodingOptions, Training
from dhyan.config.declare_settings import parse_section, settings_of
from dhyan.errors import UserError
from dhyan.pretrained import model_folder

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translator

Command = Callable[..., None]
Collect = Callable[[dict[str, Any]], dict[str, Any]]


def option(section: type, name: str, *flags: str, default: str = "", metavar: str = "") -> Any:
    """A typer option with the help and the bounds of a declared setting.

    `default` is what the help shows where the command's own default only means "not given".
    """
    setting = settings_of(section)[name]
    states_default = "else" in setting.help or setting.default not in ("", ())
    is_number = setting.type in (int, float)
    return typer.Option(
        *flags,
        help=setting.help_line(),
        min=setting.low if is_number else None,
        max=setting.high if is_number and setting.high != inf else None,
        metavar=metavar or "|".join(filter(None, setting.choices)) or None,
        show_default=default or ("none" if not states_default else setting.type is not bool),
    )


def recipe_option(section: type, name: str, *flags: str, metavar: str = "") -> Any:
    """The option of a setting whose default is the recipe's."""
    return option(section, name, *flags, default="the recipe's", metavar=metavar)


def _replace_argument(
    command: Command, argument: str, options: Sequence[inspect.Parameter], collect: Collect
) -> Command:
    """The command with options in place of an argument, which gets their collected values."""
    signature = inspect.signature(command)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += options if parameter.name == argument else [parameter]

    @wraps(command)
    def with_options(*arguments: Any, **values: Any) -> None:
        collected = {option.name: values.pop(option.name, option.default) for option in options}
        command(*arguments, **values, **{argument: collect(collected)})

    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return with_options


def with_decoding_options(command: Command) -> Command:
    """Give a command an option for each decoding setting, in place of its argument `decoding`.

    Settings that the command declares itself are left to it. An option that is not used is None.
    """
    declared = inspect.signature(command).parameters
    names = [name for name in DecodingChanges.__annotations__ if name not in declared]
    return _replace_argument(command, "decoding", list(map(_decoding_parameter, names)), dict)


def _decoding_parameter(name: str) -> inspect.Parameter:
    """The parameter of a command for a decoding setting."""
    kind = settings_of(DecodingOptions)[name].type
    flags = [f"--{name}/--no-{name}"] if kind is bool else []
    info = recipe_option(DecodingOptions, name, *flags)
    return _keyword(name, None, Annotated[kind | None, info])


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


MODEL_HELP = (
    "Run folder, one of its step-N checkpoints, a pretrained model (see dhyan models), or a folder of "
    "Hugging Face or CTranslate2."
)
Model = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)]
Device = Annotated[str, typer.Option(help="Device: auto, cpu, cuda, cuda:1, mps.")]
Threads = Annotated[
    int, typer.Option(min=0, help="CPU threads; 0: one per idle core, at most four.")
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print only the result, and warnings.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        show_default="none",
        help="Override a key of the recipe; repeatable.",
    ),
]
Beam = Annotated[int | None, recipe_option(DecodingOptions, "beam")]
Seed = Annotated[int | None, recipe_option(Training, "seed")]
Epochs = Annotated[int | None, recipe_option(Training, "epochs")]
Source = Annotated[str, option(Data, "source", default="the recipe's", metavar="FILE")]
Target = Annotated[str, option(Data, "target", default="the recipe's", metavar="FILE")]
ValidSource = Annotated[str, option(Data, "valid_source", metavar="FILE")]
ValidTarget = Annotated[str, option(Data, "valid_target", metavar="FILE")]
TestSource = Annotated[str, option(Data, "test_source", metavar="FILE")]
TestTarget = Annotated[str, option(Data, "test_target", metavar="FILE")]
AllowLeakage = Annotated[bool, option(Data, "allow_leakage", "--allow-leakage")]
DropLeaks = Annotated[bool, option(Data, "drop_leaks", "--drop-leaks")]
Columns = Annotated[str, option(Data, "columns", default="the first two", metavar="SOURCE,TARGET")]
Header = Annotated[str, option(Data, "header", default="auto")]
Delimiter = Annotated[str, option(Data, "delimiter")]
Unescape = Annotated[bool, option(Data, "unescape", "--unescape")]
Dedupe = Annotated[bool, option(Data, "dedupe", "--dedupe")]
InitFrom = Annotated[str, option(Training, "init_from", "--init-from", "--init", metavar="MODEL")]
InitVocabulary = Annotated[str, option(Training, "init_vocabulary", default="keep")]
Tensorboard = Annotated[bool, option(Training, "tensorboard", "--tensorboard")]
Trackers = Annotated[list[str] | None, option(Training, "trackers", "--tracker", metavar="NAME")]


DATA_OPTIONS = (
    _keyword("source", "", Source),
    _keyword("target", "", Target),
    _keyword("valid_source", "", ValidSource),
    _keyword("valid_target", "", ValidTarget),
    _keyword("test_source", "", TestSource),
    _keyword("test_target", "", TestTarget),
    _keyword("allow_leakage", False, AllowLeakage),
    _keyword("drop_leaks", False, DropLeaks),
    _keyword("columns", "", Columns),
    _keyword("header", "", Header),
    _keyword("delimiter", "", Delimiter),
    _keyword("unescape", False, Unescape),
    _keyword("dedupe", False, Dedupe),
)


def with_data_options(command: Command) -> Command:
    """Give a command the options of the section [data], in place of its argument `data`.

    It gets them by the keys of a recipe, such as `data.source`.
    """

    def by_key(values: dict[str, Any]) -> dict[str, Any]:
        values["columns"] = list(split_columns(values["columns"]) or ())
        return {f"data.{name}": value for name, value in values.items()}

    return _replace_argument(command, "data", DATA_OPTIONS, by_key)


def split_columns(text: str) -> tuple[str, str] | None:
    """`--columns a,b` as two names."""
    if not text:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise UserError(f"--columns {text}: two names with a comma between, source then target")
    return names[0], names[1]


def table_settings(columns: str, header: str, delimiter: str) -> Data:
    """The settings of [data] that say how a table is read."""
    settings = {
        "columns": list(split_columns(columns) or ()),
        "header": header or "auto",
        "delimiter": delimiter,
    }
    return cast(Data, parse_section(Data, settings, "data"))


def load_model(model: str, device: str, threads: int, ensemble: Sequence[str] = ()) -> "Translator":
    """The translator of a model folder or name, or of an ensemble.

    The first model's files are checked before torch is imported, which takes longer, and which a
    CPU mostly does without.
    """
    from dhyan.open_translator import open_translator

    return open_translator(model, device=device, threads=threads, ensemble=ensemble)


def is_model(name: str) -> bool:
    """Whether a text names a model: a pretrained one, or a folder."""
    return model_folder(name).is_dir()


def check_models(*models: str) -> None:
    """Raise an error for a damaged or invalid model before torch is imported, which takes longer."""
    from dhyan.model_check import check_folder

    for model in models:
        check_folder(model)
