"""Terms that a sentence calls for, and terms that contradict each other."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dhyan.config import DecodingOptions
from dhyan.decoding.hide_placeholders import hide
from dhyan.decoding.rules import Phrase, completions
from dhyan.errors import UnsupportedOption
from dhyan.special_tokens import UNK
from dhyan.text.normalize import normalize
from dhyan.text.placeholders import restore
from dhyan.text.tokenizer import Tokenizer


class Called(NamedTuple):
    """A source term as it stands in a sentence, spans of it hidden, and the term to be said."""

    heard: str
    target: str


@dataclass(frozen=True)
class Glossary:
    """Source terms, as lower-cased words, and what each must become in a translation.

    A span that is kept whole is one word, whatever a tokenizer would make of it.
    """

    entries: Mapping[tuple[str, ...], str]
    tokenizer: Tokenizer
    placeholders: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, terms: Mapping[str, str], tokenizer: Tokenizer, placeholders: tuple[str, ...] = ()
    ) -> "Glossary":
        """Ready to be asked about sentences that this tokenizer cuts."""
        entries: dict[tuple[str, ...], str] = {}
        for source, target in terms.items():
            hidden, kept = hide(source, placeholders)
            key = _folded(_words(tokenizer, hidden), kept)
            if not key or not normalize(target):
                raise UnsupportedOption(
                    "an empty term in the glossary, {term!r} → {target!r}: leave it out",
                    option="glossary",
                    term=source,
                    target=target,
                )
            if (other := entries.setdefault(key, target)) != target:
                raise UnsupportedOption(
                    "the glossary has both {other!r} and {target!r} for {term!r}, in whatever "
                    "case: keep one of them",
                    option="glossary",
                    term=source,
                    target=target,
                    other=other,
                )
        return cls(entries, tokenizer, placeholders)

    def called(self, sentence: str) -> list[Called]:
        """The terms of a sentence from the left: where several begin, the longest of them.

        A term that begins inside an earlier one does not count.
        """
        hidden, kept = hide(sentence, self.placeholders)
        words = _words(self.tokenizer, hidden)
        keys, found, place = _folded(words, kept), list[Called](), 0
        while place < len(words):
            for length in self._lengths.get(keys[place], ()):
                if target := self.entries.get(keys[place : place + length]):
                    found.append(Called(" ".join(words[place : place + length]), target))
                    place += length - 1
                    break
            place += 1
        return found

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """How many words the terms have that begin with a word, the longest first."""
        found = defaultdict[str, set[int]](set)
        for key in self.entries:
            found[key[0]].add(len(key))
        return {first: sorted(lengths, reverse=True) for first, lengths in found.items()}

    def wanted(self, sentence: str) -> list[str]:
        """The target terms a sentence calls for, each once."""
        return list(dict.fromkeys(one.target for one in self.called(sentence)))


def check_terms(
    glossary: Mapping[str, str],
    forbidden: Sequence[str],
    options: DecodingOptions,
    *,
    target: Tokenizer,
    placeholders: Sequence[str] = (),
) -> None:
    """Refuse terms that these options cannot see to, or that contradict each other."""
    if glossary and options.sample:
        raise UnsupportedOption(
            "required terms are searched for, not drawn: leave out {glossary} or {sample}"
        )
    if glossary and not options.constrains:
        raise UnsupportedOption("required terms need a {beam} of 2 or more, for each group of it")
    for term in forbidden:
        if not normalize(term):
            raise UnsupportedOption(
                "an empty term is forbidden: leave it out", option="forbidden", term=term
            )
        if hide(term, placeholders)[1]:
            sentence = "{term!r} is forbidden, but the model placeholders such spans: leave it out"
            raise UnsupportedOption(sentence, option="forbidden", term=term)
    if forbidden:
        check_sayable(glossary.values(), forbidden, target, by="the glossary asks for")


def check_sayable(
    texts: Iterable[str], forbidden: Sequence[str], tokenizer: Tokenizer, *, by: str
) -> None:
    """Refuse to be asked for what holds a forbidden term, or is written by way of one."""
    every = completions(tokenizer, forbidden)
    for text in dict.fromkeys(texts):
        ids = tokenizer.encode(text)
        for at, id in enumerate(ids):
            if id in every(ids[:at]):
                each = ((term, completions(tokenizer, [term])) for term in forbidden)
                term = next(term for term, completing in each if id in completing(ids[:at]))
                sentence = "{term!r} is forbidden, but {by} {text!r}"
                raise UnsupportedOption(sentence, option="forbidden", term=term, by=by, text=text)


def phrase(
    tokenizer: Tokenizer,
    text: str,
    *,
    term: str = "",
    option: str = "",
    number: int | None = None,
) -> Phrase:
    """The ids of a text, as it begins a word anywhere in a sentence; the rest is for faults."""
    ids = tuple(tokenizer.encode(text))
    if not ids:
        raise UnsupportedOption(
            "an empty term: there is nothing to say", option=option, number=number
        )
    if UNK in ids:
        sentence = "the model cannot write {term!r}: its vocabulary has no pieces for it"
        raise UnsupportedOption(sentence, option=option, term=term or text, number=number)
    return ids


def stands_in(tokenizer: Tokenizer, part: Sequence[int], ids: Sequence[int]) -> bool:
    """Whether the words of a phrase stand in a row among those of the ids."""
    wanted, words = ([word.text for word in tokenizer.words(one)] for one in (part, ids))
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def _words(tokenizer: Tokenizer, text: str) -> list[str]:
    return [word.text for word in tokenizer.words(tokenizer.encode(text), text)]


def _folded(words: Sequence[str], kept: Sequence[str]) -> tuple[str, ...]:
    """Words in no case, the kept spans among them as they are written."""
    return tuple(restore(word, kept)[0].casefold() for word in words)
