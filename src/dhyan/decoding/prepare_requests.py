"""Requests prepared for search: a sentence as token ids, its constraints and maximum length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dhyan.config import DecodingOptions
from dhyan.data.training_sentences import TrainingSentences
from dhyan.decoding.glossary import Glossary, Match, check_allowed, check_terms, encode_phrase
from dhyan.decoding.phrases import Phrase, contains
from dhyan.errors import UnsupportedOption, UserError
from dhyan.special_tokens import UNK
from dhyan.text.codec import SourceCodec, SourceSequence, encode_sources, source_length
from dhyan.text.normalize import normalize
from dhyan.text.placeholders import mask, mask_like, placeholder, restore
from dhyan.text.pretokenization import WORD_MARK
from dhyan.text.tokenizer import Tokenizer


class TooLong(UserError):
    """A sentence with more tokens than the model takes; `index` is its position in the input.

    `others` are further ones of the same input.
    """

    def __init__(
        self, index: int, tokens: int, longest: int, others: Sequence["TooLong"] = ()
    ) -> None:
        super().__init__(
            f"{tokens} tokens, but this model takes at most {longest}; split the sentence"
        )
        self.index, self.tokens, self.longest, self.others = index, tokens, longest, others

    def at(self, indices: Sequence[int]) -> "TooLong":
        """The same error with every index replaced by the one listed for it."""
        others = [other.at(indices) for other in self.others]
        return TooLong(indices[self.index], self.tokens, self.longest, others)


@dataclass(frozen=True)
class LengthLimits:
    """The most source tokens a model takes, and the most target tokens it can produce, if any."""

    source: int = 1024
    target: int | None = None


@dataclass(frozen=True)
class Request:
    """One source to translate and its constraints; `source` is as the encoder reads it.

    That is token ids up to EOS, or frames; it is empty for an empty sentence. `number` identifies
    the sentence, so that a sample drawn for it does not depend on its batch. `max_length` counts
    EOS. `terms` are those of the glossary, which the first of the `required` phrases spell. `spans`
    are behind the placeholders; for the `replaced` ones of them a glossary term is required
    instead. `unknown_words` of the sentence are not in the source vocabulary, or were never seen in
    training.
    """

    source: SourceSequence
    index: int
    number: int
    max_length: int = 0
    prefix: Phrase = ()
    required: tuple[Phrase, ...] = ()
    terms: tuple[str, ...] = ()
    spans: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unknown_words: tuple[str, ...] = ()

    def min_constrained_length(self) -> int:
        """The fewest tokens that hold the prefix and then the terms, one after another."""
        phrases = [self.prefix]
        for phrase in sorted(self.required[: len(self.terms)], key=len, reverse=True):
            if not any(contains(other, phrase) for other in phrases):
                phrases.append(phrase)
        return sum(map(len, phrases))

    def limited(self, options: DecodingOptions, limits: LengthLimits) -> "Request":
        """The request with its maximum length: `max_length` of the options, or 3 × source + 50."""
        constrained = len(self.prefix) + sum(map(len, self.required))
        default = 3 * max(source_length(self.source), options.min_length) + 50 + constrained
        limit = options.max_length or default
        limit = limit if limits.target is None else min(limit, limits.target)
        if options.min_length >= limit:
            raise UnsupportedOption(
                f"{{min_length}} {options.min_length}: this model produces at most {limit} tokens"
            )
        if (size := len(self.prefix)) >= limit:
            message = f"a prefix of {size} tokens leaves no room for more within {limit}"
            raise UnsupportedOption(message, option="prefixes", number=self.number)
        if self.terms and (shortest := self.min_constrained_length()) >= limit:
            raise UnsupportedOption(
                f"{{terms}}: required terms of {shortest} tokens, with the prefix, leave no room "
                f"for an end within {limit}",
                terms=", ".join(self.terms),
                number=self.number,
            )
        return replace(self, max_length=limit)


@dataclass(frozen=True)
class RequestBuilder:
    """Makes requests of sentences: masks and encodes them, and works out their constraints."""

    source: SourceCodec
    target: Tokenizer
    options: DecodingOptions
    limits: LengthLimits
    placeholders: tuple[str, ...] = ()
    training_sentences: TrainingSentences | None = None

    def prepare(
        self,
        sentences: Sequence[str],
        *,
        prefixes: str | Sequence[str] | None = None,
        glossary: Mapping[str, str] | None = None,
        forbidden: Sequence[str] = (),
        numbers: Sequence[int] | None = None,
    ) -> list[Request]:
        """One request per sentence; TooLong names all sentences that are too long."""
        terms = glossary or {}
        check_terms(
            terms, forbidden, self.options, target=self.target, placeholders=self.placeholders
        )
        matcher = self._glossary(terms) if terms else None
        own_prefixes = _prefix_per_sentence(prefixes, len(sentences))
        if forbidden and any(own_prefixes):
            check_allowed(own_prefixes, forbidden, self.target, by="a prefix is")
        masked = [mask(sentence, self.placeholders) for sentence in sentences]
        encoded = encode_sources(self.source, [text for text, _ in masked])
        self._check_lengths(encoded)
        numbers = range(len(sentences)) if numbers is None else numbers
        rows = zip(masked, encoded, own_prefixes, numbers, strict=True)
        return [
            self._constrained(Request(source, index, number, spans=spans), text, prefix, matcher)
            if len(source)
            else Request((), index, number)
            for index, ((text, spans), source, prefix, number) in enumerate(rows)
        ]

    def _glossary(self, terms: Mapping[str, str]) -> Glossary:
        if not isinstance(self.source, Tokenizer):
            raise UnsupportedOption("{glossary}: its terms need a source of text")
        return Glossary.build(terms, self.source, self.placeholders)

    def _check_lengths(self, encoded: Sequence[SourceSequence]) -> None:
        longest = self.limits.source
        too_long = [
            TooLong(index, source_length(source), longest)
            for index, source in enumerate(encoded)
            if source_length(source) > longest
        ]
        if too_long:
            first, *others = too_long
            raise TooLong(first.index, first.tokens, longest, others)

    def _constrained(
        self, request: Request, masked: str, prefix: str, glossary: Glossary | None
    ) -> Request:
        """The request with its prefix, required phrases and maximum length."""
        spans = request.spans
        matches = glossary.matches(masked, spans) if glossary else []
        terms = tuple(dict.fromkeys(match.target for match in matches))
        phrases = [self._term(term, spans) for term in terms]
        replaced = _replaced_spans(masked, spans, matches)
        request = replace(
            request,
            prefix=self._prefix(prefix, spans, request.number),
            required=(*phrases, *self._required_placeholders(spans, replaced, phrases)),
            terms=terms,
            replaced=replaced,
            unknown_words=self._unknown_words(request.source, masked, spans),
        )
        return request.limited(self.options, self.limits)

    def _unknown_words(
        self, source: SourceSequence, masked: str, spans: Sequence[str]
    ) -> tuple[str, ...]:
        """The words with an unknown token, then those that were never seen in training."""
        if isinstance(self.source, Tokenizer):
            words = self.source.unknown_words([int(id) for id in source[:-1]], masked)
        else:
            words = self.source.unknown_words(np.asarray(source), masked)
        if self.training_sentences is not None:
            unseen = self.training_sentences.unseen_words(masked)
            words += [word for word in unseen if not any(word in known for known in words)]
        return tuple(restore(word, spans)[0] for word in words)

    def _term(self, term: str, spans: tuple[str, ...]) -> Phrase:
        masked = mask_like(term, spans, self.placeholders)
        return encode_phrase(self.target, masked, term=term, option="glossary")

    def _prefix(self, text: str, spans: tuple[str, ...], number: int) -> Phrase:
        if not normalize(text):
            return ()
        masked = mask_like(text, spans, self.placeholders)
        return encode_phrase(
            self.target, masked, term=text, option="prefixes", number=number, within=False
        )

    def _required_placeholders(
        self, spans: Sequence[str], replaced: Sequence[str], phrases: Sequence[Phrase]
    ) -> list[Phrase]:
        """The placeholders to enforce: those that no glossary term contains or replaces."""
        if not self.options.constrains:
            return []
        required = [index for index, span in enumerate(spans) if span not in replaced]
        encoded = [ids for index in required if (ids := self._encode_placeholder(index))]
        return [ids for ids in encoded if not any(contains(phrase, ids) for phrase in phrases)]

    def _encode_placeholder(self, index: int) -> Phrase:
        """The ids of a placeholder anywhere: without the space before it, if that is a token."""
        ids = self.target.encode(placeholder(index), within=True)
        if UNK in ids:
            return ()
        return tuple(ids[1:] if ids[0] == self._space_token else ids)

    @cached_property
    def _space_token(self) -> int:
        return self.target.piece_ids().get(WORD_MARK, -1)


def _replaced_spans(masked: str, spans: Sequence[str], matches: Sequence[Match]) -> tuple[str, ...]:
    """The spans that occur in a sentence only inside source terms of the glossary."""
    matched = "".join(match.source for match in matches)
    return tuple(
        span
        for index, span in enumerate(spans)
        if masked.count(placeholder(index)) == matched.count(placeholder(index))
    )


def _prefix_per_sentence(prefixes: str | Sequence[str] | None, sentences: int) -> Sequence[str]:
    """A prefix for every sentence: the same for all, or each its own."""
    if prefixes is None or isinstance(prefixes, str):
        return [prefixes or ""] * sentences
    if len(prefixes) != sentences:
        raise UnsupportedOption(
            f"{len(prefixes)} {{prefixes}} for {sentences} sentences: give one for each"
        )
    return prefixes
