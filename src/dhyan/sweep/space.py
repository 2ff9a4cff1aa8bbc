"""The space of a sweep: for each setting the values to choose from, or the range they lie in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dhyan.config import parse_setting
from dhyan.errors import UserError, spell

if TYPE_CHECKING:
    import optuna

RANGE = re.compile(r"(?P<low>[^.]*(?:\.\d[^.]*)?)\.\.(?P<high>[^:]+)(?::(?P<how>.+))?")
EXAMPLES = "training.learning_rate=1e-4..1e-2:log or encoder.width=64,128,256"


@dataclass(frozen=True)
class Choices:
    """Some values of a setting."""

    key: str
    values: tuple[Any, ...]

    def suggest(self, trial: "optuna.Trial") -> Any:
        """The value of this setting in a trial."""
        return trial.suggest_categorical(self.key, self.values)


@dataclass(frozen=True)
class Range:
    """All numbers between two, both included: by steps, or by their logarithm."""

    key: str
    low: float
    high: float
    log: bool = False
    step: float | None = None

    def suggest(self, trial: "optuna.Trial") -> Any:
        """The value of this setting in a trial; an integer between integers."""
        if isinstance(self.low, int) and isinstance(self.high, int):
            step = 1 if self.step is None else int(self.step)
            return trial.suggest_int(self.key, self.low, self.high, step=step, log=self.log)
        return trial.suggest_float(self.key, self.low, self.high, step=self.step, log=self.log)


Dimension = Choices | Range


def parse_space(texts: Sequence[str]) -> tuple[Dimension, ...]:
    """Dimensions as a command has them: `KEY=A,B,C`, `KEY=LOW..HIGH`, `:log` or `:STEP` behind."""
    space = tuple(_parse(text) for text in texts)
    keys = [dimension.key for dimension in space]
    for key in keys:
        if keys.count(key) > 1:
            raise UserError(f"{_place(key)}: is named twice; give it one range or list of values")
    if not space:
        raise UserError(f"{_place('')}: name what to try, such as {EXAMPLES}")
    return space


def _parse(text: str) -> Dimension:
    key, equals, values = text.partition("=")
    key = key.strip()
    if not equals or not key or not values.strip():
        raise UserError(f"{_place(text)}: write it as {EXAMPLES}")
    if match := RANGE.fullmatch(values.strip()):
        return _range(text, key, match)
    if values.strip().startswith("["):  # a TOML list, for values with commas
        choices = tuple(parse_setting(f"{key}={values}")[1])
    else:
        choices = tuple(parse_setting(f"{key}={value.strip()}")[1] for value in values.split(","))
    if len(choices) < 2:
        raise UserError(f"{_place(text)}: one value is no choice; set it with --set, or name two")
    for choice in choices:
        if not isinstance(choice, str | int | float | bool):
            raise UserError(f"{_place(text)}: {choice!r} is no text, number or boolean")
    return Choices(key, choices)


def _range(text: str, key: str, match: re.Match[str]) -> Range:
    low, high = (parse_setting(f"{key}={match[end].strip()}")[1] for end in ("low", "high"))
    for bound in (low, high):
        if isinstance(bound, bool) or not isinstance(bound, int | float):
            raise UserError(f"{_place(text)}: {bound!r} is no number; write it as {EXAMPLES}")
    how, step = match["how"] or "", None
    if how and how != "log":
        step = parse_setting(f"{key}={how}")[1]
        if isinstance(step, bool) or not isinstance(step, int | float) or step <= 0:
            raise UserError(f"{_place(text)}: {how!r} is neither log nor a step; leave it out")
    if low >= high or (how == "log" and low <= 0):
        reason = "begins at 0 or below" if how == "log" and low <= 0 else "is empty"
        raise UserError(f"{_place(text)}: the range {reason}; give a smaller number, then a larger")
    return Range(key, low, high, log=how == "log", step=step)


def _place(text: str) -> str:
    return spell(command_line=f"--space {text}".rstrip(), python=f"space: {text!r}")
