"""From a question to a translation and its trace: within the page's limits, and once."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dhyan.errors import UserError
from dhyan.studio.registry import Shelf
from dhyan.studio.schemas import MOST_TOKENS, Question

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translation, Translator
    from dhyan.insight.trace import Trace

Hear = Callable[[Sequence[str]], None]
"""Is told the words said so far."""


def traced(shelf: Shelf, asked: Question, hear: Hear | None = None) -> "Trace":
    """A translation with everything there is to see; `hear` is told its words as they come."""
    book = shelf.book(asked.model)
    key = (book.name, asked.text, asked.beam, asked.prefix)

    def make() -> "Trace":
        from dhyan.insight.trace import Trace, trace_translation

        if book.saved:
            return Trace.from_json(book.saved.answer(asked.text))
        with book.opened() as translator:
            said = translated(translator, asked, hear)
            return trace_translation(translator, asked.text, said, model=book.name)

    return shelf.trace(key, make)


def told(shelf: Shelf, asked: Question, hear: Hear | None = None) -> str:
    """The same as JSON; a saved one as it stands in its file."""
    saved = shelf.book(asked.model).saved
    return saved.answer(asked.text) if saved else traced(shelf, asked, hear).to_json()


def translated(
    translator: "Translator", asked: Question, hear: Hear | None = None
) -> "Translation":
    """The best translation of a question's sentence, if it is not empty and not too long."""
    from dhyan.decoding.rules import observe

    tokens = len(translator.encode(asked.text)) - 1
    if not tokens:
        raise UserError("the sentence is empty: write something to translate")
    if tokens > MOST_TOKENS:
        raise UserError(
            f"{tokens} tokens; the page takes at most {MOST_TOKENS}: write a shorter one"
        )

    def told(ids: list[int]) -> None:
        if hear:
            hear(translator.target.pieces(ids))

    [said] = translator(
        asked.text,
        beam=asked.beam,
        nbest=1,
        prefixes=asked.prefix or None,
        rules=[observe(told)] if hear else (),
        max_length=MOST_TOKENS,
    )
    return said
