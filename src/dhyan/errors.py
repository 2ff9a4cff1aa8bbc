"""User errors: mistakes in input, options or files that the user can correct."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from string import Formatter

NO_ATTENTION = (
    "this model has no attention: its decoder starts with the encoder's last state and sees nothing "
    "else of the source"
)
UNKNOWN_TO_MODEL = "not in the vocabulary or the training text"
_on_command_line = False


class UserError(ValueError):
    """An error that the user can correct: the message says where, what was found, what to do.

    >>> try:
    ...     dhyan.train([("one", None)], out=folder / "none")
    ... except dhyan.UserError as error:
    ...     print(str(error).partition(";")[0])
    data: row 1, target: None is not a text
    """

    @property
    def problems(self) -> list[str]:
        """The message, or several where all problems are named at once."""
        return [str(self)]


class UnsupportedOption(UserError):
    """Options of a translation that contradict each other or that the model cannot follow.

    Names in braces in the `message` are options, or keys of `values`. The text of the error spells
    options as Python does; `spelled` spells them for a command line or an HTTP client. `option` and
    `term` name the offending entry of a list of terms; `number` is the sentence concerned.
    """

    def __init__(
        self,
        message: str,
        *,
        option: str = "",
        term: str = "",
        number: int | None = None,
        **values: object,
    ) -> None:
        self.message, self.values = message, values | {"term": term}
        self.option, self.term, self.number = option, term, number
        super().__init__(self.spelled(str))

    def spelled(self, spell: Callable[[str], str]) -> str:
        """The message with every option spelled by `spell`."""
        names = {name for _, name, _, _ in Formatter().parse(self.message) if name}
        options = {name: spell(name) for name in names - self.values.keys()}
        return self.message.format(**options, **self.values)


@contextmanager
def command_line_spelling() -> Iterator[None]:
    """Messages made inside name the options of the command line, not the keywords of Python."""
    global _on_command_line
    before, _on_command_line = _on_command_line, True
    try:
        yield
    finally:
        _on_command_line = before


def spell(*, command_line: str, python: str) -> str:
    """The spelling that the user of a command, or of the library, understands."""
    return command_line if _on_command_line else python


def spell_option(key: str, value: str | bool | tuple[str, ...] = "") -> str:
    """An option in a message: `--columns en,hi` for a command, `columns=('en', 'hi')` in Python.

    A key with a dot is a setting, which Python gives as `settings={'data.header': 'no'}`.
    """
    if _on_command_line:
        text = (
            "" if isinstance(value, bool) else value if isinstance(value, str) else ",".join(value)
        )
        return f"--{key.rpartition('.')[2].replace('_', '-')} {text}".rstrip()
    if not value:
        return key
    return spell_setting(key, value) if "." in key else f"{key}={value!r}"


def spell_setting(key: str, value: object) -> str:
    """A setting without an option of its own: `--set KEY=VALUE`, in Python `settings={KEY: VALUE}`."""
    return spell(command_line=f"--set {key}={value}", python=f"settings={{{key!r}: {value!r}}}")


def ran_out_of_memory(error: Exception) -> bool:
    """Whether PyTorch or Python could not allocate memory."""
    out_of_memory = type(error).__name__ in ("MemoryError", "OutOfMemoryError")
    return out_of_memory or "allocate memory" in str(error)
