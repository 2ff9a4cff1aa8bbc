"""Declare a setting once: default, help, bounds, unit, and the setting it depends on.

A setting is a field of a frozen dataclass made by `setting(...)`. The recipe reader, `--set`, the
options of the command line, the server's schema and the reference page read the declaration.
"""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from math import inf
from types import UnionType
from typing import Any, Literal, get_args, get_origin

LARGEST_INTEGER = 2**63 - 1  # the largest whole number a tensor can hold
JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


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
        return f"{self.help[:-1]}, in {self.unit}." if self.unit else self.help

    @property
    def choices(self) -> tuple[str, ...]:
        """The values a choice can take; empty for any other setting."""
        kind = get_args(self.type)[0] if get_origin(self.type) is tuple else self.type
        return tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()

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

    def is_used(self, section: object) -> bool:
        """Whether the setting has an effect beside the others of its section."""
        name, _, values = self.only_with.partition("=")
        if not name:
            return True
        other = getattr(section, name)
        return str(other) in values.split("|") if values else bool(other)


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
    declared = Setting(
        default=default,
        help=help,
        low=low,
        high=high,
        unit=unit,
        lengths=lengths,
        only_with=only_with,
    )
    return field(default=default, metadata={"setting": declared})


def settings_of(section: Any) -> dict[str, Setting]:
    """The declared settings of a dataclass, or of an instance of one, by name."""
    found = {}
    for f in fields(section):
        if declared := f.metadata.get("setting"):
            known = {key: getattr(declared, key) for key in Setting.__dataclass_fields__}
            found[f.name] = Setting(**{**known, "name": f.name, "type": f.type})
        elif not any(map(is_dataclass, types_of(f.type))):
            default = None if f.default is MISSING else f.default
            found[f.name] = Setting(name=f.name, type=f.type, default=default)
    return found


def types_of(kind: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return get_args(kind) if get_origin(kind) is UnionType else (kind,)


def problems_in(section: Any) -> Iterator[tuple[str, str]]:
    """Every setting of a section that is out of bounds: its dotted name and what is wrong."""
    for name, declared in settings_of(section).items():
        value = getattr(section, name)
        nested = [item for item in value if is_dataclass(item)] if type(value) is tuple else []
        for item in nested:
            yield from ((f"{name}.{key}", problem) for key, problem in problems_in(item))
        if not nested and (problem := declared.problem(value)):
            yield name, problem
    for f in fields(section):
        if is_dataclass(inner := getattr(section, f.name)):
            yield from ((f"{f.name}.{key}", problem) for key, problem in problems_in(inner))


def unused_in(section: Any) -> Iterator[tuple[str, str]]:
    """Every setting that differs from its default and has no effect, with the reason."""
    for name, declared in settings_of(section).items():
        value = getattr(section, name)
        if value != declared.default and not declared.is_used(section):
            other, _, values = declared.only_with.partition("=")
            found = getattr(section, other)
            owners = " or ".join(map(repr, values.split("|"))) if values else "a value"
            yield name, f"{value} has no effect with {other} = {found!r}; it is for {owners}"


def json_schema(section: Any, *names: str) -> dict[str, dict[str, Any]]:
    """JSON Schema of a section's settings by name; of all of them if none is named."""
    known = settings_of(section)
    return {name: _property(known[name]) for name in names or known}


def _property(declared: Setting) -> dict[str, Any]:
    kind, listed = declared.type, get_origin(declared.type) is tuple
    kind = get_args(kind)[0] if listed else kind
    schema: dict[str, Any] = {"type": JSON_TYPES.get(kind, "string")}
    if declared.choices:
        schema["enum"] = list(declared.choices)
    if declared.low is not None:
        schema["minimum"] = declared.low
    if declared.high not in (None, inf):
        schema["maximum"] = declared.high
    if listed:
        schema = {"type": "array", "items": schema}
    return {**schema, "description": declared.help_line(), "default": declared.default}


def shortened(number: float) -> str:
    """A number as people write it; one of very many digits by its magnitude."""
    return f"{number:,}" if abs(number) < 10**18 else f"{number:.3e}"
