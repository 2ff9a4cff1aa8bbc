"""Declaration of settings: `setting()` with default, bounds and help; checks, TOML in and out.

A setting is a field of a frozen dataclass made by `setting(...)`: default, help, bounds, unit, and the
setting it depends on. The recipe reader, `--set`, the options of the command line, the server's
schema and the reference page read the declaration.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from math import inf
from types import MappingProxyType, UnionType
from typing import Any, Literal, get_args, get_origin

from dhyan.errors import UserError
from dhyan.pretrained import find_pretrained

LARGEST_INTEGER = 2**63 - 1  # the largest whole number a tensor can hold
JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
TYPE_NAMES = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes",
    tuple: "a list in brackets",
}  # fmt: skip
REQUIRED = MISSING


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A declared setting.

    `low` and `high` bound a number, or each number of a list; `lengths` are the allowed lengths of
    a list. `only_with` names the setting of the same section without which this one has no effect:
    `"sample"` (true or not empty) or `"schedule=cosine|plateau"` (one of these values). `is_path`
    marks the path of a file or folder, `is_model` one that may be the name of a pretrained model.
    """

    name: str = ""
    type: Any = None
    default: Any = None
    help: str = ""
    low: float | None = None
    high: float | None = None
    unit: str = ""
    lengths: tuple[int, ...] = ()
    only_with: str = ""
    is_path: bool = False
    is_model: bool = False

    def help_line(self) -> str:
        """The help with its unit."""
        return f"{self.help[:-1]} ({self.unit})." if self.unit else self.help

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return get_origin(self.type) is tuple

    @property
    def item_type(self) -> Any:
        """The type of a value, or of each value of a list."""
        return get_args(self.type)[0] if self.is_list else self.type

    @property
    def choices(self) -> tuple[str, ...]:
        """The values a choice can take; empty for any other setting."""
        item = self.item_type
        return tuple(map(str, get_args(item))) if get_origin(item) is Literal else ()

    @property
    def depends_on(self) -> str:
        """The setting of the same section that decides whether this one has an effect."""
        return self.only_with.partition("=")[0]

    @property
    def allowed_with(self) -> tuple[str, ...]:
        """The values of that setting with which this one has an effect; empty if any will do."""
        values = self.only_with.partition("=")[2]
        return tuple(values.split("|")) if values else ()

    def is_used(self, section: object) -> bool:
        """Whether the setting has an effect beside the others of its section."""
        return not self.only_with or self.is_used_with(getattr(section, self.depends_on))

    def is_used_with(self, other: object) -> bool:
        """Whether the setting has an effect beside this value of the one it depends on."""
        return str(other) in self.allowed_with if self.allowed_with else bool(other)

    def problem(self, value: object) -> str:
        """What is wrong with a value, and what to give instead; empty if nothing is."""
        if isinstance(value, tuple):
            if self.lengths and len(value) not in self.lengths:
                count = " or ".join(map(str, self.lengths))
                return f"expected {count} values, found {len(value)}"
            return next(filter(None, map(self.problem, value)), "")
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number_problem(value)
        return ""

    def _number_problem(self, number: float) -> str:
        low = -inf if self.low is None else self.low
        high = inf if self.high is None else self.high
        high = min(high, LARGEST_INTEGER) if isinstance(number, int) else high
        if low <= number <= high:
            return ""
        if isinstance(number, float):
            return f"{number} is not between {low:g} and {high:g}"
        if number < low:
            return f"{shortened(number)} is too small; give at least {low:,g}"
        return f"{shortened(number)} is too large; give at most {high:,}"


def setting(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    lengths: tuple[int, ...] = (),
    only_with: str = "",
    is_path: bool = False,
    is_model: bool = False,
) -> Any:
    """A dataclass field with a default, its help and its bounds; see `Setting`."""
    declaration = Setting(
        default=default,
        help=help,
        low=low,
        high=high,
        unit=unit,
        lengths=lengths,
        only_with=only_with,
        is_path=is_path,
        is_model=is_model,
    )
    return field(default=default, metadata={"setting": declaration})


def redeclare(section: Any, name: str, **changes: Any) -> Any:
    """The field of a setting of another section, with another default or dependency."""
    declaration = replace(settings_of(section)[name], **changes)
    return field(default=declaration.default, metadata={"setting": declaration})


def settings_of(section: Any) -> Mapping[str, Setting]:
    """The declared settings of a dataclass, or of an instance of one, by name."""
    return _settings_of_type(section if isinstance(section, type) else type(section))


@cache
def _settings_of_type(section: type[Any]) -> Mapping[str, Setting]:
    declared = {
        f.name: replace(f.metadata["setting"], name=f.name, type=f.type)
        for f in fields(section)
        if "setting" in f.metadata
    }
    return MappingProxyType(declared)


def section_types(section: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every section type below a dataclass with its dotted path, the dataclass itself first."""
    yield path, section
    for f in fields(section):
        inner = f"{path}.{f.name}" if path else f.name
        for member in types_of(f.type):
            if is_dataclass(member):
                yield from section_types(member, inner)


def types_of(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return get_args(annotation) if get_origin(annotation) is UnionType else (annotation,)


def problems_in(section: Any) -> Iterator[tuple[str, str]]:
    """Every setting of a section that is out of bounds: its dotted name and what is wrong."""
    for name, declaration in settings_of(section).items():
        value = getattr(section, name)
        tables = _tables(value)
        for table in tables:
            yield from ((f"{name}.{key}", problem) for key, problem in problems_in(table))
        if not tables and (problem := declaration.problem(value)):
            yield name, problem
    for name, inner in _inner_sections(section):
        yield from ((f"{name}.{key}", problem) for key, problem in problems_in(inner))


def unused_in(section: Any) -> Iterator[tuple[str, str]]:
    """Every setting that differs from its default and has no effect, with what to do."""
    for name, declaration in settings_of(section).items():
        value = getattr(section, name)
        if value != declaration.default and not declaration.is_used(section):
            yield name, _unused(value, declaration, getattr(section, declaration.depends_on))
    for name, inner in _inner_sections(section):
        yield from ((f"{name}.{key}", problem) for key, problem in unused_in(inner))


def _unused(value: object, declaration: Setting, choice: object) -> str:
    other = declaration.depends_on
    if not declaration.allowed_with:
        return f"{value!r} has no effect without {other}; set {other}, or leave this out"
    owners = " or ".join(map(repr, declaration.allowed_with))
    return f"{value!r} has no effect with {other} = {choice!r}, it is for {owners}; leave it out"


def _inner_sections(section: Any) -> Iterator[tuple[str, Any]]:
    for f in fields(section):
        if is_dataclass(inner := getattr(section, f.name)):
            yield f.name, inner


def json_schema(section: Any, *names: str) -> dict[str, dict[str, Any]]:
    """JSON Schema of a section's settings by name; of all of them if none is named."""
    known = settings_of(section)
    return {name: _property(known[name]) for name in names or known}


def _property(declaration: Setting) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": JSON_TYPES.get(declaration.item_type, "string")}
    if declaration.choices:
        schema["enum"] = list(declaration.choices)
    if declaration.low is not None:
        schema["minimum"] = declaration.low
    if declaration.high not in (None, inf):
        schema["maximum"] = declaration.high
    if declaration.is_list:
        schema = {"type": "array", "items": schema}
    return {**schema, "description": declaration.help_line(), "default": declaration.default}


def shortened(number: float) -> str:
    """A number as people write it; one of very many digits by its magnitude."""
    return f"{number:,}" if abs(number) < 10**18 else f"{number:.3e}"


def parse_section(section: Any, table: Any, place: str, *, remedy: str = "") -> Any:
    """A TOML table as a section; an unknown key or a wrong type is an error.

    `place` names the table in errors; `remedy` says how to find the keys it needs.
    """
    if not isinstance(table, Mapping):
        raise UserError(f"{place}: expected a table of settings, found {table!r}")
    known = {f.name: f for f in fields(section)}
    for key in table:
        if key not in known:
            names = f"; there are {', '.join(known)}; {remedy}" if remedy else ""
            raise UserError(f"{place}: unknown key {key!r}{suggestion(key, list(known)) or names}")
    for name, f in known.items():
        if name not in table and f.default is MISSING and f.default_factory is MISSING:
            raise UserError(f"{place}: [{name}] is missing; {remedy or 'give it'}")
    values = {key: _parse_value(known[key].type, table[key], f"{place}.{key}") for key in table}
    return section(**values)


def _parse_value(expected: Any, value: Any, place: str) -> Any:
    origin = get_origin(expected)
    if origin is UnionType:
        return parse_section(_choose_section(get_args(expected), value, place), value, place)
    if is_dataclass(expected):
        return parse_section(expected, value, place)
    if origin is Literal:
        if value not in get_args(expected):
            choices = [str(choice) for choice in get_args(expected)]
            hint = suggestion(str(value), choices)
            quoted = ", ".join(map(repr, choices))
            raise UserError(f"{place}: {value!r} is not one of {quoted}{hint}")
        return value
    if origin is tuple and isinstance(value, list):
        return tuple(_parse_value(get_args(expected)[0], item, place) for item in value)
    if expected is float and type(value) is int:
        return float(value)
    if type(value) is not expected:
        raise UserError(f"{place}: expected {TYPE_NAMES[origin or expected]}, found {value!r}")
    return value


def _choose_section(sections: tuple[Any, ...], table: Any, place: str) -> Any:
    """The dataclass whose `kind` the table names."""
    by_kind = {section.kind: section for section in sections}
    kind = table.get("kind") if isinstance(table, Mapping) else None
    if not isinstance(kind, str) or kind not in by_kind:
        hint = suggestion(str(kind), list(by_kind))
        quoted = ", ".join(map(repr, by_kind))
        raise UserError(f"{place}.kind: {kind!r} is not one of {quoted}{hint}")
    return by_kind[kind]


def suggestion(wrong: str, known: Sequence[str]) -> str:
    """A 'did you mean' for a name that is nearly right, else nothing."""
    close = get_close_matches(wrong, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def values_by_key(section: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting of a section and of the sections inside it: dotted key and value."""
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from values_by_key(value, f"{path}{f.name}.")
        else:
            yield path + f.name, value


def paths_in(section: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every file and folder that a section names: dotted key and path."""
    for name, declaration in settings_of(section).items():
        value = getattr(section, name)
        if declaration.is_path and value:
            yield path + name, value
        for table in _tables(value):
            yield from paths_in(table, f"{path}{name}.")
    for name, inner in _inner_sections(section):
        yield from paths_in(inner, f"{path}{name}.")


def with_absolute_paths(section: Any) -> Any:
    """The section with every path absolute, so that it can be read from any working directory."""
    changes: dict[str, Any] = {}
    for name, declaration in settings_of(section).items():
        value = getattr(section, name)
        if declaration.is_path and value:
            is_name = declaration.is_model and find_pretrained(value)
            changes[name] = value if is_name else _absolute(value)
        elif tables := _tables(value):
            changes[name] = tuple(map(with_absolute_paths, tables))
    for name, inner in _inner_sections(section):
        changes[name] = with_absolute_paths(inner)
    return replace(section, **changes)


def _absolute(path: str) -> str:
    """The absolute path; the path itself if the working directory is not UTF-8, as TOML must be."""
    absolute = os.path.abspath(path)
    return path if any("\ud800" <= character <= "\udfff" for character in absolute) else absolute


def _tables(value: object) -> list[Any]:
    """The tables of a list of tables; empty for any other value."""
    return [item for item in value if is_dataclass(item)] if isinstance(value, tuple) else []


def toml_lines(section: Any, path: tuple[str, ...] = ()) -> list[str]:
    """A section as TOML: its own values first, then its tables, as TOML requires."""
    lines = [f"\n[{'.'.join(path)}]"] if path else []
    inner: list[str] = []
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            inner += toml_lines(value, (*path, f.name))
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
