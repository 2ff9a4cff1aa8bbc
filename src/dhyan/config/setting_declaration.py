"""Declare a setting once: default, help, bounds, unit, and the setting it depends on.

A setting is a field of a frozen dataclass made by `setting(...)`. The recipe reader, `--set`, the
options of the command line, the server's schema and the reference page read the declaration.
"""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from math import inf
from types import UnionType
from typing import Any, Literal, get_args, get_origin

LARGEST_INTEGER = 2**63 - 1  # the largest whole number a tensor can hold
JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
REQUIRED = MISSING


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A declared setting.

    `low` and `high` bound a number, or each number of a list; `lengths` are the allowed lengths of
    a list. `only_with` names the setting of the same section without which this one has no effect:
    `"sample"` (true or not empty) or `"schedule=cosine|plateau"` (one of these values).
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
    )
    return field(default=default, metadata={"setting": declaration})


def settings_of(section: Any) -> dict[str, Setting]:
    """The declared settings of a dataclass, or of an instance of one, by name."""
    return {
        f.name: replace(f.metadata["setting"], name=f.name, type=f.type)
        for f in fields(section)
        if "setting" in f.metadata
    }


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
        tables = [item for item in value if is_dataclass(item)] if type(value) is tuple else []
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
