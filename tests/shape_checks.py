"""Shape checks: jaxtyping with beartype for the first calls of every test, then switched off.

A training test calls the same functions thousands of times with the same shapes. How many calls
are checked is a count, so a busy machine checks as much as an idle one.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import jaxtyping
from beartype import beartype

CHECKS = 5_000  # per test

_left = CHECKS


def limited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A type checker for jaxtyping's import hook: beartype, until a test has used up its checks."""
    checked = beartype(function)

    @wraps(checked)
    def counted(*arguments: Any, **options: Any) -> Any:
        global _left  # noqa: PLW0603
        _left -= 1
        if _left == 0:
            jaxtyping.config.update("jaxtyping_disable", True)
        return checked(*arguments, **options)

    return counted


def reset() -> None:
    """Check shapes again: a new test begins."""
    global _left  # noqa: PLW0603
    _left = CHECKS
    jaxtyping.config.update("jaxtyping_disable", False)
