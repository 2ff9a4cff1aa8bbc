"""Faults of what is asked of a translator, which a command line can tell in its own words."""

from collections.abc import Callable
from string import Formatter

from dhyan.errors import UserError


class Unfit(UserError):
    """What is asked for does not go together; its {names} are those of settings, or of values.

    The text has the settings as Python writes them, `spelled` as someone else does. `term` is the
    one that is at fault among those of an `option`, and `number` tells the sentence.
    """

    def __init__(
        self,
        sentence: str,
        *,
        option: str = "",
        term: str = "",
        number: int | None = None,
        **values: object,
    ) -> None:
        self.sentence, self.values = sentence, values | {"term": term}
        self.option, self.term, self.number = option, term, number
        super().__init__(self.spelled(str))

    def spelled(self, spell: Callable[[str], str]) -> str:
        """The sentence with every setting named as the one who asked would name it."""
        names = {name for _, name, _, _ in Formatter().parse(self.sentence) if name}
        settings = {name: spell(name) for name in names - self.values.keys()}
        return self.sentence.format(**settings, **self.values)
