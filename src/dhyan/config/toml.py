"""Recipes as TOML, read strictly: every mistake is a fault that names its place."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from math import inf
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from dhyan.config.conflicts import check_choices, set_aside
from dhyan.config.recipe import Recipe
from dhyan.errors import UserError
from dhyan.safe_io.files import read_file
from dhyan.safe_io.json_toml import read_toml

RECIPES = Path(__file__).parents[1] / "recipes"
WORDS = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes",
    tuple: "a list in brackets",
}  # fmt: skip
RANGES = {
    "dropout": (0.0, 0.99), "label_smoothing": (0.0, 0.99), "betas": (0.0, 0.9999999),
    "attention_dropout": (0.0, 0.99), "bpe_dropout": (0.0, 0.99), "weight": (1e-6, 1000.0),
    "learning_rate": (1e-12, inf), "clip_norm": (1e-12, inf), "min_learning_rate_ratio": (0.0, 1.0),
    "plateau_factor": (1e-6, 0.999999), "ema_decay": (0.0, 0.9999999), "teacher_forcing": (0.0, 1.0),
    "teacher_forcing_min": (0.0, 1.0), "core_share": (0.01, 1.0), "temperature": (1e-6, inf),
    "top_p": (1e-6, 1.0),
}  # fmt: skip
MAY_BE_ZERO = {
    "training.seed", "training.warmup_steps", "training.halve_from", "training.halve_every",
    "training.patience", "training.valid_sentences", "training.tokens_per_batch",
    "decoding.max_length", "decoding.min_length", "decoding.no_repeat_ngram", "decoding.top_k",
    "decoding.seed",
    "data.min_words", "data.max_words", "encoder.kv_heads", "decoder.kv_heads",
    "decoder.attention.kv_heads", "decoder.attention.coverage_filter_radius",
}  # fmt: skip

LARGEST = 2**63 - 1  # the largest whole number a tensor can hold
LONGEST_RECIPE = 2**18  # bytes of a recipe

_PRINTS = "'dhyan recipe NAME' prints a whole one to begin from"


def _keys(kind: Any, path: tuple[str, ...] = ()) -> list[str]:
    """Every dotted key that some recipe may have."""
    found = []
    for f in fields(kind):
        kinds = get_args(f.type) if get_origin(f.type) is UnionType else (f.type,)
        for one in kinds:
            here = (*path, f.name)
            found += _keys(one, here) if is_dataclass(one) else [".".join(here)]
    return list(dict.fromkeys(found))


KEYS = _keys(Recipe)


def shipped_recipes() -> list[str]:
    """The names of the recipes that come with the package."""
    return sorted(path.stem for path in RECIPES.glob("*.toml"))


def load_recipe(name: str, settings: Mapping[str, Any] | None = None) -> Recipe:
    """Read a recipe by file or shipped name, with settings (dotted key → value) laid over it.

    What they leave without a meaning is set aside; what would do nothing is refused.
    """
    path = Path(name)
    if path.suffix != ".toml" and (RECIPES / f"{name}.toml").is_file():
        path = RECIPES / f"{name}.toml"
    if path.suffix == ".toml" and not path.is_file():
        raise UserError(f"{path}: {_no_file(path)}; {_PRINTS}")
    if not path.is_file():
        raise UserError(f"no recipe {name!r}{suggestion(name, shipped_recipes())}; {_shipped()}")
    try:
        table = read_toml(read_file(path, max_bytes=LONGEST_RECIPE, follow_links=True))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{path}: not a TOML recipe: {error}") from None
    over = dict(_spread(settings or {}))
    set_aside(table, over)
    for key, value in sorted(over.items(), key=_kinds_first):
        _lay_over(table, key, value)
    recipe = parse_recipe(table, place=path.stem)
    check_choices(recipe, path.stem)
    return recipe


def parse_setting(text: str) -> tuple[str, Any]:
    """`key=value` as written on a command line; what is no TOML value is a plain string."""
    key, equals, written = text.partition("=")
    if not equals or not key.strip():
        raise UserError(f"--set {text}: write it as key=value, for example training.steps=500")
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        value = written
    return key.strip(), value


def parse_recipe(table: Mapping[str, Any], place: str) -> Recipe:
    """Check a recipe's table; every mistake in it is a fault that names its place."""
    recipe: Recipe = _parse(Recipe, table, place)
    _check(recipe, place)
    return recipe


def dump_recipe(recipe: Recipe) -> str:
    """The recipe as TOML, complete: reading it back gives the same recipe."""
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


def _shipped() -> str:
    return "give a .toml file or one of " + ", ".join(shipped_recipes())


def _spread(settings: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Tables among the settings as single settings, so that they are laid over key by key."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _spread(value, f"{path}{key}.")
        else:
            yield path + key, value


def _kinds_first(setting: tuple[str, Any]) -> tuple[bool, int]:
    key, _ = setting
    return not key.endswith(".kind"), key.count(".")


def _lay_over(table: dict[str, Any], key: str, value: object) -> None:
    *path, last = key.split(".")
    if not path and last not in {f.name for f in fields(Recipe)}:
        near = [full for full in KEYS if full.endswith(f".{last}")]
        hint = f"; did you mean {near[0]!r}?" if near else suggestion(last, KEYS)
        raise UserError(f"no setting is called {key!r}{hint}")
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise UserError(f"{key}: {value!a} is not UTF-8; give a name or a text that is")
    for part in path:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise UserError(f"{key}: {part!r} is a value, not a table of settings")
    if key in ("encoder.kind", "decoder.kind") and table.get("kind") not in (None, value):
        table.clear()  # the settings of another kind do not fit this one
    table[last] = value


def _parse(kind: Any, value: Any, place: str) -> Any:
    """Turn plain TOML into the type asked for, refusing anything else."""
    origin = get_origin(kind)
    if origin is UnionType:
        return _parse(_choose(get_args(kind), value, place), value, place)
    if is_dataclass(kind):
        return _parse_table(kind, value, place)
    if origin is Literal:
        if value not in get_args(kind):
            known = [str(choice) for choice in get_args(kind)]
            hint = suggestion(str(value), known)
            raise UserError(f"{place}: {value!r} is not one of {', '.join(map(repr, known))}{hint}")
        return value
    if origin is tuple and isinstance(value, list):
        return tuple(_parse(get_args(kind)[0], part, place) for part in value)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise UserError(f"{place}: expected {WORDS[origin or kind]}, found {value!r}")
    return value


def _parse_table(kind: Any, table: Any, place: str) -> Any:
    if not isinstance(table, Mapping):
        raise UserError(f"{place}: expected a table of settings, found {table!r}")
    known = {f.name: f for f in fields(kind)}
    for key in table:
        if key not in known:
            hint = suggestion(key, list(known))
            tables = f"; there are {', '.join(known)}; {_PRINTS}" if kind is Recipe else ""
            raise UserError(f"{place}: unknown key {key!r}{hint or tables}")
    for name, f in known.items():
        if name not in table and f.default is MISSING and f.default_factory is MISSING:
            raise UserError(f"{place}: [{name}] is missing; {_PRINTS}")
    return kind(**{key: _parse(known[key].type, table[key], f"{place}.{key}") for key in table})


def _choose(kinds: tuple[Any, ...], table: Any, place: str) -> Any:
    """Pick the dataclass whose `kind` the table names."""
    by_name = {kind.kind: kind for kind in kinds}
    named = table.get("kind") if isinstance(table, Mapping) else None
    if not isinstance(named, str) or named not in by_name:
        hint = suggestion(str(named), list(by_name))
        known = ", ".join(map(repr, by_name))
        raise UserError(f"{place}.kind: {named!r} is not one of {known}{hint}")
    return by_name[named]


def _check(recipe: Recipe, place: str) -> None:
    """Numbers that no module would refuse by itself."""
    training, data = recipe.training, recipe.data
    for key, number in _values(_flat(recipe, ())):
        if type(number) is int and number < (0 if key in MAY_BE_ZERO else 1):
            lowest = 0 if key in MAY_BE_ZERO else 1
            raise UserError(f"{place}.{key}: {number} is too small; give at least {lowest}")
        if type(number) is int and number > LARGEST:
            raise UserError(f"{place}.{key}: {number:.3e} is too large; give at most {LARGEST:,}")
        least, most = RANGES.get(key.rpartition(".")[2], (0.0, inf))
        if type(number) is float and not least <= number <= most:
            raise UserError(f"{place}.{key}: {number} is not between {least:g} and {most:g}")
    if training.schedule == "halving" and not training.halve_every:
        raise UserError(f"{place}.training.halve_every: needed by schedule 'halving'")
    if training.early_stopping_metric != "loss" and not training.valid_sentences:
        raise UserError(
            f"{place}.training.early_stopping_metric: {training.early_stopping_metric!r} "
            f"needs valid_sentences above 0"
        )
    if len(training.betas) != 2:
        raise UserError(f"{place}.training.betas: two numbers, found {len(training.betas)}")
    if len(data.columns) not in (0, 2):
        raise UserError(f"{place}.data.columns: two names, found {', '.join(data.columns)}")
    if training.tokens_per_batch and training.tokens_per_batch < data.max_tokens + 2:
        raise UserError(
            f"{place}.training.tokens_per_batch: {training.tokens_per_batch} cannot hold one "
            f"sentence of data.max_tokens = {data.max_tokens} tokens; raise the one or lower the other"
        )


def _values(settings: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Every single value with its key, also those of lists and of tables in lists."""
    for key, value in settings.items():
        for one in value if isinstance(value, tuple) else (value,):
            if is_dataclass(one):
                yield from _values(_flat(one, (key,)))
            else:
                yield key, one


def _flat(table: Any, path: tuple[str, ...]) -> dict[str, object]:
    found: dict[str, object] = {}
    for f in fields(table):
        value = getattr(table, f.name)
        if is_dataclass(value):
            found |= _flat(value, (*path, f.name))
        else:
            found[".".join((*path, f.name))] = value
    return found


def _lines(table: Any, path: tuple[str, ...]) -> list[str]:
    """A table's own values first, then its tables, as TOML wants them."""
    lines = [f"\n[{'.'.join(path)}]"] if path else []
    inner: list[str] = []
    for f in fields(table):
        value = getattr(table, f.name)
        if is_dataclass(value):
            inner += _lines(value, (*path, f.name))
        else:
            lines.append(f"{f.name} = {_toml(value)}")
    return lines + inner


def _toml(value: object) -> str:
    if is_dataclass(value):
        inside = (f"{f.name} = {_toml(getattr(value, f.name))}" for f in fields(value))
        return f"{{ {', '.join(inside)} }}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
