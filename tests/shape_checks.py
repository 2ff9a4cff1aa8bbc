"""Shape checks: jaxtyping with beartype for the first calls of every function in every test.

A training test calls the same functions thousands of times with the same shapes. How many calls
are checked is a count, so a busy machine checks as much as an idle one.
"""

import inspect
from collections import Counter
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import jaxtyping
from beartype import beartype

CHECKS = 8  # of a function in a test: arguments and result are one each

DECORATOR = inspect.unwrap(jaxtyping.jaxtyped).__code__

_checks: Counter[Callable[..., Any]] = Counter()


def limited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A type checker for jaxtyping's import hook: beartype, until a function was checked enough.

    jaxtyping hands over a function with the same signature; the one it decorates is not checked
    while it has `__no_type_check__`. beartype compiles a checker at the first call, for a test
    process calls only a part of the functions that it imports.
    """
    target = _decorated_function() or function
    checker = cache(lambda: beartype(function))

    @wraps(function)
    def counted(*arguments: Any, **options: Any) -> Any:
        _checks[target] += 1
        if _checks[target] == CHECKS:
            target.__no_type_check__ = True
        return checker()(*arguments, **options)

    return counted


def _decorated_function() -> Callable[..., Any] | None:
    """The function that jaxtyping is decorating; none while it looks for the wrong argument."""
    frame = inspect.currentframe()
    while frame and frame.f_code is not DECORATOR:
        frame = frame.f_back
    return frame and frame.f_locals["fn"]


def reset() -> None:
    """Check shapes again: a new test begins."""
    for function, checks in _checks.items():
        if checks >= CHECKS:
            function.__no_type_check__ = False
    _checks.clear()
