"""Glossaries: target terms a sentence requires, and terms that contradict each other."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dhyan.config import DecodingOptions
from dhyan.decoding.phrases import Phrase, completing_tokens
from dhyan.errors import UnsupportedOption
from dhyan.special_tokens import UNK
from dhyan.text.normalize import normalize
from dhyan.text.placeholders import mask, restore
from dhyan.text.tokenizer import Tokenizer


class Match(NamedTuple):
    """A source term as it occurs in a masked sentence, and the target term it requires."""

    source: str
    target: str


@dataclass(frozen=True)
class Glossary:
    """Source terms, as lower-cased words, and the target term of each.

    A span that becomes a placeholder is one word, however a tokenizer would split it.
    """

    entries: Mapping[tuple[str, ...], str]
    tokenizer: Tokenizer
    placeholders: tuple[str, ...] = ()

    @classmethod
    def build(
        cls, terms: Mapping[str, str], tokenizer: Tokenizer, placeholders: tuple[str, ...] = ()
    ) -> "Glossary":
        """A glossary for sentences that this tokenizer splits into words."""
        entries: dict[tuple[str, ...], str] = {}
        for source, target in terms.items():
            masked, spans = mask(source, placeholders)
            key = _casefolded(_words(tokenizer, masked), spans)
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

    def matches(self, masked: str, spans: Sequence[str]) -> list[Match]:
        """The terms of a masked sentence from the left: the longest that begins at a word.

        A term that begins inside an earlier one does not count.
        """
        words = _words(self.tokenizer, masked)
        keys, matches, at = _casefolded(words, spans), list[Match](), 0
        while at < len(words):
            for length in self._lengths.get(keys[at], ()):
                if target := self.entries.get(keys[at : at + length]):
                    matches.append(Match(" ".join(words[at : at + length]), target))
                    at += length - 1
                    break
            at += 1
        return matches

    def target_terms(self, sentence: str) -> list[str]:
        """The target terms a sentence requires, each once."""
        matches = self.matches(*mask(sentence, self.placeholders))
        return list(dict.fromkeys(match.target for match in matches))

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """Numbers of words of the terms that begin with a word, the largest first."""
        lengths = defaultdict[str, set[int]](set)
        for key in self.entries:
            lengths[key[0]].add(len(key))
        return {first: sorted(counts, reverse=True) for first, counts in lengths.items()}


def check_terms(
    glossary: Mapping[str, str],
    forbidden: Sequence[str],
    options: DecodingOptions,
    *,
    target: Tokenizer,
    placeholders: Sequence[str] = (),
) -> None:
    """Raise UnsupportedOption for terms that search cannot enforce, or in contradiction."""
    if glossary and options.sample:
        raise UnsupportedOption("{glossary} needs beam search: leave out {glossary} or {sample}")
    if glossary and not options.constrains:
        raise UnsupportedOption("{glossary} needs a {beam} of 2 or more, for each group of it")
    for term in forbidden:
        if not normalize(term):
            message = "an empty term is forbidden: leave it out"
            raise UnsupportedOption(message, option="forbidden", term=term)
        if mask(term, placeholders)[1]:
            message = "{term!r} is forbidden, but the model copies such spans: leave it out"
            raise UnsupportedOption(message, option="forbidden", term=term)
    if forbidden:
        check_allowed(glossary.values(), forbidden, target, by="the glossary requires")


def check_allowed(
    texts: Iterable[str], forbidden: Sequence[str], tokenizer: Tokenizer, *, by: str
) -> None:
    """Raise UnsupportedOption for a required text that contains, or is written through, a
    forbidden term."""
    completing_any = completing_tokens(tokenizer, forbidden)
    for text in dict.fromkeys(texts):
        ids = tokenizer.encode(text)
        for at, id in enumerate(ids):
            if id in completing_any(ids[:at]):
                by_term = ((term, completing_tokens(tokenizer, [term])) for term in forbidden)
                term = next(term for term, completing in by_term if id in completing(ids[:at]))
                message = "{term!r} is forbidden, but {by} {text!r}"
                raise UnsupportedOption(message, option="forbidden", term=term, by=by, text=text)


def encode_phrase(
    tokenizer: Tokenizer,
    text: str,
    *,
    term: str = "",
    option: str = "",
    number: int | None = None,
    within: bool = True,
) -> Phrase:
    """The token ids of a text at the start of a word; `term`, `option`, `number` are for errors."""
    ids = tuple(tokenizer.encode(text, within=within))
    if not ids:
        raise UnsupportedOption("an empty term: leave it out", option=option, number=number)
    if UNK in ids:
        message = "the model cannot write {term!r}: its vocabulary has no tokens for it"
        raise UnsupportedOption(message, option=option, term=term or text, number=number)
    return ids


def contains_words(tokenizer: Tokenizer, phrase: Sequence[int], ids: Sequence[int]) -> bool:
    """Whether the words of a phrase occur in a row among the words of the ids."""
    phrase_words, words = (
        [word.text for word in tokenizer.words(token_ids)] for token_ids in (phrase, ids)
    )
    return any(words[at : at + len(phrase_words)] == phrase_words for at in range(len(words)))


def _words(tokenizer: Tokenizer, text: str) -> list[str]:
    words, first = tokenizer.words(tokenizer.encode(text), text), len(tokenizer.language_prefix)
    return [word.text for word in words if word.last > first]


def _casefolded(words: Sequence[str], spans: Sequence[str]) -> tuple[str, ...]:
    """Case-folded words, with placeholders replaced by their spans."""
    return tuple(restore(word, spans)[0].casefold() for word in words)
