"""Recipes as TOML, read strictly: an unknown key, a wrong type or a contradiction is an error."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from dhyan.config.recipe import Recipe
from dhyan.config.setting_declaration import section_types, settings_of
from dhyan.errors import UserError
from dhyan.safe_io.files import read_file
from dhyan.safe_io.json_toml import read_toml

RECIPES = Path(__file__).parents[1] / "recipes"
LONGEST_RECIPE = 2**18  # bytes of a recipe
TYPE_NAMES = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes",
    tuple: "a list in brackets",
}  # fmt: skip
KEYS = list(
    dict.fromkeys(
        f"{path}.{name}" if path else name
        for path, section in section_types(Recipe)
        for name in settings_of(section)
    )
)
CORPUS_FILES = (
    *("source", "target", "columns", "mix", "valid_source", "valid_target"),
    *("test_source", "test_target"),
)
REPLACES = {  # an overridden key of [data] that names pairs, and the keys it replaces
    "task": (*CORPUS_FILES, "prepared"),
    "source": ("task", "target", "prepared"),
    "prepared": ("task", *CORPUS_FILES),
    "mix": ("task",),
}
_EXAMPLE = "'dhyan recipe NAME' prints a complete one"


def shipped_recipes() -> list[str]:
    """The names of the recipes that come with the package."""
    return sorted(path.stem for path in RECIPES.glob("*.toml"))


def load_recipe(name: str, settings: Mapping[str, Any] | None = None) -> Recipe:
    """Read a recipe by file or shipped name, and override settings (dotted key → value).

    A setting of the recipe that an override replaces or leaves without effect is dropped; an
    override without effect is an error.
    """
    path = Path(name)
    if path.suffix != ".toml" and (RECIPES / f"{name}.toml").is_file():
        path = RECIPES / f"{name}.toml"
    if path.suffix == ".toml" and not path.is_file():
        raise UserError(f"{path}: {_no_file(path)}; {_EXAMPLE}")
    if not path.is_file():
        names = ", ".join(shipped_recipes())
        hint = suggestion(name, shipped_recipes())
        raise UserError(f"no recipe {name!r}{hint}; give a .toml file or one of {names}")
    try:
        table = read_toml(read_file(path, max_bytes=LONGEST_RECIPE, follow_links=True))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{path}: not a TOML recipe: {error}") from None
    overrides = dict(_flatten_tables(settings or {}))
    _drop_replaced(table, overrides)
    for key, value in sorted(overrides.items(), key=_kinds_first):
        _override(table, key, value)
    return parse_recipe(table, place=path.stem)


def parse_setting(text: str) -> tuple[str, Any]:
    """`key=value` of a command line; what is not a TOML value is a plain string."""
    key, equals, value_text = text.partition("=")
    if not equals or not key.strip():
        raise UserError(f"--set {text}: write it as key=value, for example training.steps=500")
    try:
        value = tomllib.loads(f"value = {value_text}")["value"]
    except tomllib.TOMLDecodeError:
        value = value_text
    return key.strip(), value


def parse_recipe(table: Mapping[str, Any], place: str) -> Recipe:
    """The recipe of a TOML table, checked; `place` names it in errors."""
    recipe: Recipe = _parse(Recipe, table, place)
    recipe.check(place)
    return recipe


def dump_recipe(recipe: Recipe) -> str:
    """The recipe as TOML with every key; reading it back gives the same recipe."""
    return "\n".join(_lines(recipe, ())).lstrip("\n") + "\n"


def differences(old: Recipe, new: Recipe) -> dict[str, tuple[object, object]]:
    """Every dotted key on which two recipes disagree, with both values."""
    before, after = _flat(old, ()), _flat(new, ())
    keys = sorted({*before, *after})
    return {k: (before.get(k), after.get(k)) for k in keys if before.get(k) != after.get(k)}


def suggestion(wrong: str, known: Sequence[str]) -> str:
    """A 'did you mean' for a name that is nearly right, else nothing."""
    close = get_close_matches(wrong, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


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


def _drop_replaced(table: dict[str, Any], overrides: Mapping[str, Any]) -> None:
    """Remove from a recipe's table what overrides replace or leave without effect.

    Pairs that are named anew replace those of the recipe; another choice of, for example,
    `training.schedule` drops the settings of the recipe's own.
    """
    data = table.get("data")
    if isinstance(data, dict):
        replaced = (keys for key, keys in REPLACES.items() if overrides.get(f"data.{key}"))
        for key in chain.from_iterable(replaced):
            data.pop(key, None)
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


def _parse(expected: Any, value: Any, place: str) -> Any:
    """A TOML value as the expected type; any other type is an error."""
    origin = get_origin(expected)
    if origin is UnionType:
        return _parse(_choose_section(get_args(expected), value, place), value, place)
    if is_dataclass(expected):
        return _parse_table(expected, value, place)
    if origin is Literal:
        if value not in get_args(expected):
            choices = [str(choice) for choice in get_args(expected)]
            hint = suggestion(str(value), choices)
            quoted = ", ".join(map(repr, choices))
            raise UserError(f"{place}: {value!r} is not one of {quoted}{hint}")
        return value
    if origin is tuple and isinstance(value, list):
        return tuple(_parse(get_args(expected)[0], item, place) for item in value)
    if expected is float and type(value) is int:
        return float(value)
    if type(value) is not expected:
        raise UserError(f"{place}: expected {TYPE_NAMES[origin or expected]}, found {value!r}")
    return value


def _parse_table(section: Any, table: Any, place: str) -> Any:
    if not isinstance(table, Mapping):
        raise UserError(f"{place}: expected a table of settings, found {table!r}")
    known = {f.name: f for f in fields(section)}
    for key in table:
        if key not in known:
            hint = suggestion(key, list(known))
            names = f"; there are {', '.join(known)}; {_EXAMPLE}" if section is Recipe else ""
            raise UserError(f"{place}: unknown key {key!r}{hint or names}")
    for name, f in known.items():
        if name not in table and f.default is MISSING and f.default_factory is MISSING:
            raise UserError(f"{place}: [{name}] is missing; {_EXAMPLE}")
    return section(**{key: _parse(known[key].type, table[key], f"{place}.{key}") for key in table})


def _choose_section(sections: tuple[Any, ...], table: Any, place: str) -> Any:
    """The dataclass whose `kind` the table names."""
    by_kind = {section.kind: section for section in sections}
    kind = table.get("kind") if isinstance(table, Mapping) else None
    if not isinstance(kind, str) or kind not in by_kind:
        hint = suggestion(str(kind), list(by_kind))
        quoted = ", ".join(map(repr, by_kind))
        raise UserError(f"{place}.kind: {kind!r} is not one of {quoted}{hint}")
    return by_kind[kind]


def _flat(section: Any, path: tuple[str, ...]) -> dict[str, object]:
    """Every value by its dotted key."""
    values: dict[str, object] = {}
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            values |= _flat(value, (*path, f.name))
        else:
            values[".".join((*path, f.name))] = value
    return values


def _lines(section: Any, path: tuple[str, ...]) -> list[str]:
    """A section's own values first, then its tables, as TOML requires."""
    lines = [f"\n[{'.'.join(path)}]"] if path else []
    inner: list[str] = []
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            inner += _lines(value, (*path, f.name))
        else:
            lines.append(f"{f.name} = {to_toml(value)}")
    return lines + inner


def to_toml(value: object) -> str:
    """A value as TOML writes it."""
    if is_dataclass(value):
        inside = (f"{f.name} = {to_toml(getattr(value, f.name))}" for f in fields(value))
        return f"{{ {', '.join(inside)} }}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(to_toml, value))}]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
