"""What is asked of a search, sentence by sentence: ids to read, and words that must be said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dhyan.decoding.constrained_beam import within
from dhyan.decoding.glossary import Called, Glossary, phrase
from dhyan.decoding.hide_placeholders import hide, hide_as, sign_of
from dhyan.decoding.rules import Phrase
from dhyan.errors import UnsupportedOption
from dhyan.special_tokens import EOS, UNK
from dhyan.text.normalize import normalize
from dhyan.text.tokenizer import Tokenizer
from dhyan.text.vocabulary import MARK


@dataclass(frozen=True)
class Order:
    """One sentence: its ids with EOS (none if it is empty), and what is to be said about it.

    `number` tells the sentence from all others of the same input, so that what is drawn for it does
    not depend on its batch. `terms` are the glossary's, which the first of the `required` phrases
    spell. `kept` are the spans that pass the model by; for those `replaced`, a term is said.
    """

    ids: tuple[int, ...]
    number: int
    prefix: Phrase = ()
    terms: tuple[str, ...] = ()
    required: tuple[Phrase, ...] = ()
    kept: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    def shortest(self) -> int:
        """The fewest tokens in which the prefix and then the terms can be said, end to end."""
        said = [self.prefix]
        for one in sorted(self.required[: len(self.terms)], key=len, reverse=True):
            if not any(within(other, one) for other in said):
                said.append(one)
        return sum(map(len, said))


@dataclass(frozen=True)
class Orders:
    """Makes orders of sentences: by two tokenizers, the kinds of spans to keep, and a glossary."""

    source: Tokenizer
    target: Tokenizer
    placeholders: tuple[str, ...] = ()
    glossary: Glossary | None = None
    forces_kept: bool = False
    mark: int = -1

    @classmethod
    def of(
        cls,
        source: Tokenizer,
        target: Tokenizer,
        *,
        placeholders: tuple[str, ...],
        glossary: Mapping[str, str] | None,
        forces_kept: bool,
    ) -> "Orders":
        """With a glossary that knows how the source is cut."""
        ready = Glossary.of(glossary, source, placeholders) if glossary else None
        mark = target.piece_ids().get(MARK, -1) if placeholders else -1
        return cls(source, target, placeholders, ready, forces_kept, mark)

    def of_all(
        self, sentences: Sequence[str], prefixes: Sequence[str], numbers: Sequence[int]
    ) -> list[Order]:
        """One order per sentence."""
        hidden = [hide(sentence, self.placeholders) for sentence in sentences]
        encoded = self.source.encode_all([text for text, _ in hidden])
        asked = zip(sentences, hidden, encoded, prefixes, numbers, strict=True)
        return [
            self._order(sentence, masked, ids, prefix, number) if ids else Order((), number)
            for sentence, masked, ids, prefix, number in asked
        ]

    def _order(
        self,
        sentence: str,
        masked: tuple[str, tuple[str, ...]],
        ids: Sequence[int],
        prefix: str,
        number: int,
    ) -> Order:
        hidden, kept = masked
        called = self.glossary.called(sentence) if self.glossary else []
        terms = tuple(dict.fromkeys(one.target for one in called))
        phrases = [
            phrase(
                self.target, hide_as(term, kept, self.placeholders), term=term, option="glossary"
            )
            for term in terms
        ]
        replaced = _replaced(hidden, kept, called)
        return Order(
            (*ids, EOS),
            number,
            prefix=self._prefix(prefix, kept, number),
            terms=terms,
            required=(*phrases, *self._signs(kept, replaced, phrases)),
            kept=kept,
            replaced=replaced,
        )

    def _prefix(self, text: str, kept: tuple[str, ...], number: int) -> Phrase:
        if not normalize(text):
            return ()
        hidden = hide_as(text, kept, self.placeholders)
        return phrase(self.target, hidden, term=text, option="prefixes", number=number)

    def _signs(
        self, kept: Sequence[str], replaced: Sequence[str], phrases: Sequence[Phrase]
    ) -> list[Phrase]:
        """The signs that must be said: those that no phrase says or replaces."""
        forced = [at for at, span in enumerate(kept) if self.forces_kept and span not in replaced]
        signs = [sign for at in forced if (sign := self._sign(at))]
        return [sign for sign in signs if not any(within(one, sign) for one in phrases)]

    def _sign(self, place: int) -> Phrase:
        """A placeholder wherever it stands: a space before it, if a piece of its own, is free."""
        ids = self.target.encode(sign_of(place))
        if UNK in ids:
            return ()
        return tuple(ids[1:] if ids[0] == self.mark else ids)


def _replaced(hidden: str, kept: Sequence[str], called: Sequence[Called]) -> tuple[str, ...]:
    """The spans that stand nowhere in a sentence but in source terms of the glossary."""
    heard = "".join(one.heard for one in called)
    signs = map(sign_of, range(len(kept)))
    return tuple(
        span
        for span, sign in zip(kept, signs, strict=True)
        if hidden.count(sign) == heard.count(sign)
    )


def one_each(prefixes: str | Sequence[str] | None, sentences: int) -> Sequence[str]:
    """A prefix for every sentence: the same for all, or each its own."""
    if prefixes is None or isinstance(prefixes, str):
        return [prefixes or ""] * sentences
    if len(prefixes) != sentences:
        raise UnsupportedOption(
            f"{len(prefixes)} {{prefixes}} for {sentences} sentences: give one for each"
        )
    return prefixes
