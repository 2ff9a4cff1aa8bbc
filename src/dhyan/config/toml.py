"""Recipe files in TOML: find by name, parse strictly, apply overrides, write."""

import logging
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from dhyan.config.declare_settings import (
    parse_section,
    section_types,
    settings_of,
    suggestion,
    toml_lines,
    values_by_key,
)
from dhyan.config.recipe import Recipe
from dhyan.config.sections import Data
from dhyan.errors import UserError, spell
from dhyan.safe_io.bounded_files import read_file
from dhyan.safe_io.json_toml import read_toml

logger = logging.getLogger(__name__)

RECIPES = Path(__file__).parents[1] / "recipes"
LONGEST_RECIPE = 2**18  # bytes of a recipe
CORPORA = ("source", "prepared", "synthetic")  # keys of [data], each of which names a corpus
CORPUS_SETTINGS = (  # keys of [data] that describe that corpus and no other
    *("columns", "valid_source", "valid_target", "test_source", "test_target"),
    *("allow_leakage", "mix", "source_language", "target_language"),
    *("drop_leaks", "header", "delimiter", "unescape", "dedupe"),
)
RENAMED = {("data", "task"): "synthetic"}  # section and old name of a setting: its name now
EXAMPLE = "'dhyan recipe NAME' prints a complete one"
KEYS = list(
    dict.fromkeys(
        f"{path}.{name}" if path else name
        for path, section in section_types(Recipe)
        for name in settings_of(section)
    )
)


def shipped_recipes() -> list[str]:
    """The names of the recipes that come with the package."""
    return sorted(path.stem for path in RECIPES.glob("*.toml"))


def load_recipe(
    name: str | Path, settings: Mapping[str, Any] | None = None, *, same_corpus: bool = False
) -> Recipe:
    """Read a recipe by file or shipped name, and override settings (dotted key → value).

    A setting of the recipe that an override replaces or leaves without effect is dropped; an
    override without effect is an error. Another corpus resets what the recipe says about its own,
    unless it is the `same_corpus`, whose files have moved.

    >>> dhyan.load_recipe("numbers", {"training.steps": 100}).training.steps
    100
    """
    path, name = Path(name), str(name)
    if path.suffix != ".toml" and (RECIPES / f"{name}.toml").is_file():
        path = RECIPES / f"{name}.toml"
    if path.suffix == ".toml" and not path.is_file():
        raise UserError(f"{path}: {_no_file(path)}; {EXAMPLE}")
    if not path.is_file():
        names = ", ".join(shipped_recipes())
        hint = suggestion(name, shipped_recipes())
        raise UserError(f"no recipe {name!r}{hint}; give a .toml file or one of {names}")
    try:
        data = read_file(path, max_bytes=LONGEST_RECIPE, follow_links=True)
        table = _with_current_names(read_toml(data))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{path}: not a TOML recipe: {error}") from None
    overrides = dict(_flatten_tables(settings or {}))
    if not same_corpus:
        _reset_corpus(table, overrides)
    _choose_length(table, overrides)
    _drop_without_effect(table, overrides)
    for key, value in sorted(overrides.items(), key=_kinds_first):
        _override(table, key, value)
    return parse_recipe(table, place=path.stem)


def parse_setting(text: str) -> tuple[str, Any]:
    """`key=value` of a command line; what is not a TOML value is a plain string."""
    key, equals, value_text = text.partition("=")
    if not equals or not key.strip():
        place = spell(command_line=f"--set {text}", python=repr(text))
        raise UserError(f"{place}: write it as key=value, for example training.steps=500")
    try:
        value = tomllib.loads(f"value = {value_text}")["value"]
    except tomllib.TOMLDecodeError:
        value = value_text
    return key.strip(), value


def parse_recipe(table: Mapping[str, Any], place: str) -> Recipe:
    """The recipe of a TOML table, checked; `place` names it in errors."""
    current = _with_current_names(table)
    recipe: Recipe = parse_section(Recipe, current, place, remedy=EXAMPLE)
    recipe.check(place)
    return recipe


def dump_recipe(recipe: Recipe) -> str:
    """The recipe as TOML with every key; reading it back gives the same recipe."""
    return "\n".join(toml_lines(recipe)).lstrip("\n") + "\n"


def differences(old: Recipe, new: Recipe) -> dict[str, tuple[object, object]]:
    """Every dotted key on which two recipes disagree, with both values."""
    before, after = dict(values_by_key(old)), dict(values_by_key(new))
    keys = sorted({*before, *after})
    return {k: (before.get(k), after.get(k)) for k in keys if before.get(k) != after.get(k)}


def _with_current_names(table: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe's table, with the names that settings have now: older runs have others."""
    current = dict(table)
    for (section, old), new in RENAMED.items():
        settings = current.get(section)
        if isinstance(settings, Mapping) and old in settings and new not in settings:
            names = {old: new}
            current[section] = {names.get(key, key): value for key, value in settings.items()}
    return current


def _no_file(path: Path) -> str:
    """Why a path is no file, with a file beside it that is nearly called the same."""
    if path.is_dir():
        return "is a folder, not a file"
    return "no such file" + suggestion(path.name, [p.name for p in path.parent.glob("*.toml")])


def _flatten_tables(settings: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Tables among the settings as single dotted keys, so that they are overridden one by one."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flatten_tables(value, f"{path}{key}.")
        else:
            yield path + key, value


def _reset_corpus(table: dict[str, Any], overrides: Mapping[str, Any]) -> None:
    """Remove from a recipe's table what belongs to its own corpus, if overrides name another.

    What they do not give again, such as the validation set, is reset to its default and logged.
    """
    data = _table_at(table, "data")
    new = [name for name in CORPORA if overrides.get(f"data.{name}")]
    if overrides.get("data.mix"):
        data.pop("synthetic", None)
    if not new or not any(data.get(name) for name in CORPORA):
        return
    if all(_same(data.get(name), overrides[f"data.{name}"]) for name in new):
        return
    for name in (*CORPORA, "target"):
        data.pop(name, None)
    old = [name for name in CORPUS_SETTINGS if f"data.{name}" not in overrides]
    if reset := [name for name in old if _is_set(name, data.pop(name, None))]:
        keys = ", ".join(f"data.{name}" for name in reset)
        logger.info(f"data.{new[0]} names another corpus than the recipe's: {keys} reset")


def _is_set(name: str, value: object) -> bool:
    """Whether a value of [data] in TOML is given, and not the default."""
    default = settings_of(Data)[name].default
    return value is not None and value != (list(default) if type(default) is tuple else default)


def _same(old: object, new: object) -> bool:
    """Whether two values of a key name the same corpus: equal, or two paths of one place."""
    if old and isinstance(old, str) and isinstance(new, str):
        return os.path.abspath(old) == os.path.abspath(new)
    return old == new


def _choose_length(table: dict[str, Any], overrides: Mapping[str, Any]) -> None:
    """The length of the training is overridden in steps or in epochs, not in both."""
    steps, epochs = (overrides.get(f"training.{name}") for name in ("steps", "epochs"))
    if steps and epochs:
        raise UserError(
            f"training.steps = {steps!r} and training.epochs = {epochs!r}: give one of the two"
        )
    if steps:
        _table_at(table, "training").pop("epochs", None)


def _drop_without_effect(table: dict[str, Any], overrides: Mapping[str, Any]) -> None:
    """Remove from a recipe's table what overrides leave without effect.

    Another choice of, for example, `training.schedule` drops the settings of the recipe's own.
    """
    for path, section in section_types(Recipe):
        values = _table_at(table, path)
        for name, declaration in settings_of(section).items():
            other = f"{path}.{declaration.depends_on}"
            overridden = declaration.only_with and other in overrides
            if overridden and not declaration.is_used_with(overrides[other]):
                values.pop(name, None)


def _table_at(table: dict[str, Any], path: str) -> dict[str, Any]:
    """The table at a dotted path; an empty one if there is none."""
    for part in path.split(".") if path else ():
        inner = table.get(part)
        table = inner if isinstance(inner, dict) else {}
    return table


def _kinds_first(override: tuple[str, Any]) -> tuple[bool, int]:
    key, _ = override
    return not key.endswith(".kind"), key.count(".")


def _override(table: dict[str, Any], key: str, value: object) -> None:
    *path, name = key.split(".")
    if not path and name not in {f.name for f in fields(Recipe)}:
        endings = [full for full in KEYS if full.endswith(f".{name}")]
        hint = f"; did you mean {endings[0]!r}?" if endings else suggestion(name, KEYS)
        raise UserError(f"no setting is called {key!r}{hint}")
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise UserError(f"{key}: {value!a} is not UTF-8; give a name or a text that is")
    for part in path:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise UserError(f"{key}: {part!r} is a value, not a table of settings")
    if key in ("encoder.kind", "decoder.kind") and table.get("kind") not in (None, value):
        table.clear()  # the settings of another kind do not fit this one
    table[name] = value
