"""What is asked of a search, sentence by sentence: ids to read, and words that must be said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dhyan.decoding.wording import Glossary, Phrase, phrase
from dhyan.faults import Fault
from dhyan.special import EOS, UNK
from dhyan.text.normalize import normalize
from dhyan.text.pieces import MARK
from dhyan.text.placeholders import FIRST, mask
from dhyan.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Order:
    """One sentence: its ids with EOS (none if it is empty), and what is to be said about it.

    `kept` are the spans that pass the model by; `number` tells the sentence from all others of the
    same input, so that what is drawn for it does not depend on its batch.
    """

    ids: tuple[int, ...]
    number: int
    kept: tuple[str, ...] = ()
    prefix: Phrase = ()
    required: tuple[Phrase, ...] = ()


@dataclass(frozen=True)
class Orders:
    """Makes orders of sentences: by two tokenizers, the kinds of spans to keep, and a glossary."""

    source: Tokenizer
    target: Tokenizer
    keeps: tuple[str, ...] = ()
    glossary: Glossary | None = None
    forces_kept: bool = False
    mark: int = -1

    @classmethod
    def of(
        cls,
        source: Tokenizer,
        target: Tokenizer,
        *,
        keeps: tuple[str, ...],
        glossary: Mapping[str, str] | None,
        forces_kept: bool,
    ) -> "Orders":
        """With a glossary that knows how the source is cut."""
        ready = Glossary.of(glossary, source) if glossary else None
        mark = target.piece_ids().get(MARK, -1) if keeps else -1
        return cls(source, target, keeps, ready, forces_kept, mark)

    def of_all(
        self, sentences: Sequence[str], prefixes: Sequence[str], numbers: Sequence[int]
    ) -> list[Order]:
        """One order per sentence."""
        masked = [hide(sentence, self.keeps) for sentence in sentences]
        encoded = self.source.encode_all([text for text, _ in masked])
        return [
            Order(
                (*ids, EOS) if ids else (),
                number,
                kept,
                self._prefix(prefix, kept) if ids else (),
                self._required(sentence, kept),
            )
            for sentence, (_, kept), ids, prefix, number in zip(
                sentences, masked, encoded, prefixes, numbers, strict=True
            )
        ]

    def _prefix(self, text: str, kept: tuple[str, ...]) -> Phrase:
        return phrase(self.target, hide_as(text, kept, self.keeps)) if normalize(text) else ()

    def _required(self, sentence: str, kept: tuple[str, ...]) -> tuple[Phrase, ...]:
        """The terms of the glossary, then every placeholder they have not said."""
        wanted = self.glossary.wanted(sentence) if self.glossary else []
        phrases = [phrase(self.target, hide_as(term, kept, self.keeps)) for term in wanted]
        for place in range(len(kept) if self.forces_kept else 0):
            sign = self._sign(place)
            if sign and not any(_within(one, sign) for one in phrases):
                phrases.append(sign)
        return tuple(phrases)

    def _sign(self, place: int) -> Phrase:
        """A placeholder wherever it stands: a space before it, if a piece of its own, is free."""
        ids = self.target.encode(chr(FIRST + place))
        if UNK in ids:
            return ()
        return tuple(ids[1:] if ids[0] == self.mark else ids)


def _within(phrase: Phrase, part: Phrase) -> bool:
    return any(phrase[at : at + len(part)] == part for at in range(len(phrase)))


def hide(text: str, keeps: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The text as a model reads it that keeps these kinds of spans, and the spans."""
    return mask(text, keeps) if keeps else (text, ())


def hide_as(text: str, kept: Sequence[str], keeps: Sequence[str]) -> str:
    """A text in the target language with the spans that a source keeps as the source's signs."""
    hidden, spans = hide(text, keeps)
    signs = {
        FIRST + place: chr(FIRST + kept.index(span)) if span in kept else span
        for place, span in enumerate(spans)
    }
    return hidden.translate(signs)


def one_each(prefixes: str | Sequence[str] | None, sentences: int) -> Sequence[str]:
    """A prefix for every sentence: the same for all, or each its own."""
    if prefixes is None or isinstance(prefixes, str):
        return [prefixes or ""] * sentences
    if len(prefixes) != sentences:
        raise Fault(f"{len(prefixes)} prefixes for {sentences} sentences: give one for each")
    return prefixes
