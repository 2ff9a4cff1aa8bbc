"""The translator: from sentences to translations by prepare, search and render."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Unpack

import torch

from dhyan.config import DecodingChanges, DecodingOptions
from dhyan.decoding.batch_search import Searcher
from dhyan.decoding.ensemble import Ensemble
from dhyan.decoding.render import EMPTY, join_sentences, render
from dhyan.decoding.render import Translation as Translation
from dhyan.decoding.request import LengthLimits as LengthLimits
from dhyan.decoding.request import RequestBuilder
from dhyan.decoding.request import TooLong as TooLong
from dhyan.decoding.rules import Rule, forbid_terms
from dhyan.errors import UnsupportedOption, UserError
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import EOS
from dhyan.text.placeholders import mask
from dhyan.text.sentence_splitter import split_paragraph
from dhyan.text.tokenizer import Tokenizer

MOST_SENTENCES = 2**20  # in one paragraph, so that no two sentences of an input share a number


@dataclass(frozen=True)
class Translator:
    """Translates sentences into `language`; call it with a list of them, or with one.

    `other_models` share the vocabularies of `model`; the probabilities of all are averaged.
    `placeholders` are the kinds of spans that are copied: placeholders replace them for the model.
    With `fast` the engine searches where it supports the options; it works on a copy of the
    weights, so the model must not change.
    """

    model: Seq2Seq
    source: Tokenizer
    target: Tokenizer
    language: str = ""
    source_language: str = ""
    limits: LengthLimits = field(default_factory=LengthLimits)
    options: DecodingOptions = field(default_factory=DecodingOptions)
    placeholders: tuple[str, ...] = ()
    other_models: tuple[Seq2Seq, ...] = ()
    tokens_per_batch: int = 4096
    fast: bool = False
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __call__(
        self,
        sentences: Sequence[str] | str,
        *,
        prefixes: str | Sequence[str] | None = None,
        glossary: Mapping[str, str] | None = None,
        forbidden: Sequence[str] | str = (),
        rules: Sequence[Rule] = (),
        numbers: Sequence[int] | None = None,
        on_progress: Callable[[int], None] | None = None,
        **changes: Unpack[DecodingChanges],
    ) -> list[Translation]:
        """One translation per sentence, in order, with changes to the translator's options.

        The changes are settings of `DecodingOptions`, as in `translator(sentences, beam=1)`; the
        other arguments are those of `translate`.
        """
        return self.translate(
            [sentences] if isinstance(sentences, str) else sentences,
            self.options.changed(**changes),
            prefixes=prefixes,
            glossary=glossary,
            forbidden=[forbidden] if isinstance(forbidden, str) else forbidden,
            rules=rules,
            numbers=numbers,
            on_progress=on_progress,
        )

    def translate(
        self,
        sentences: Sequence[str],
        options: DecodingOptions,
        *,
        prefixes: str | Sequence[str] | None = None,
        glossary: Mapping[str, str] | None = None,
        forbidden: Sequence[str] = (),
        rules: Sequence[Rule] = (),
        numbers: Sequence[int] | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Translation]:
        """One translation per sentence, in order; an empty sentence stays empty.

        Translations begin with `prefixes` (one for all, or one each), contain the target terms of
        the `glossary` whose source terms occur in the sentence, and none of the `forbidden` terms;
        `rules` change the scores of every next token. The translation of a sentence does not depend
        on the others; a sample depends on the sentence's index, or on its number in `numbers`.
        `on_progress` is called after each batch with the number of sentences translated so far.
        """
        builder = RequestBuilder(self.source, self.target, options, self.limits, self.placeholders)
        requests = builder.prepare(
            sentences, prefixes=prefixes, glossary=glossary, forbidden=forbidden, numbers=numbers
        )
        searcher = Searcher(
            self.ensemble,
            options,
            [*rules, forbid_terms(self.target, forbidden)] if forbidden else rules,
            self.target,
            self.device,
            self.tokens_per_batch,
            self.fast,
        )
        translations: dict[int, Translation] = {}
        for batch in searcher.search(requests):
            for request, hypotheses in batch:
                translations[request.index] = render(
                    request,
                    hypotheses,
                    options,
                    self.target,
                    placeholders=bool(self.placeholders),
                    forbidden=len(forbidden),
                )
            if on_progress:
                on_progress(len(translations))
        return [translations.get(index, EMPTY) for index in range(len(sentences))]

    def translate_paragraphs(
        self,
        paragraphs: Sequence[str],
        options: DecodingOptions,
        *,
        glossary: Mapping[str, str] | None = None,
        forbidden: Sequence[str] = (),
        numbers: Sequence[int] | None = None,
    ) -> list[Translation]:
        """One translation per paragraph, with the spaces between its sentences as they were.

        A paragraph has no runners-up; TooLong names the paragraph.
        """
        if options.nbest > 1:
            raise UnsupportedOption("a paragraph has one translation: leave out {nbest}")
        split = [split_paragraph(paragraph, self.source_language) for paragraph in paragraphs]
        owners = [index for index, own in enumerate(split) for _ in own.sentences]
        firsts = range(len(paragraphs)) if numbers is None else numbers
        try:
            translations = iter(
                self.translate(
                    [sentence for own in split for sentence in own.sentences],
                    options,
                    glossary=glossary,
                    forbidden=forbidden,
                    numbers=[
                        first * MOST_SENTENCES + place
                        for first, own in zip(firsts, split, strict=True)
                        for place in range(len(own.sentences))
                    ],
                )
            )
        except TooLong as error:
            raise error.at(owners) from None
        return [join_sentences(own, [next(translations) for _ in own.sentences]) for own in split]

    @property
    def beam(self) -> int:
        """The default beam size."""
        return self.options.beam

    @cached_property
    def ensemble(self) -> Seq2Seq | Ensemble:
        """The model, or the ensemble of all models."""
        return Ensemble((self.model, *self.other_models)) if self.other_models else self.model

    def with_placeholders(self, sentence: str) -> tuple[str, tuple[str, ...]]:
        """The sentence as the model reads it, and the spans that placeholders replace."""
        return mask(sentence, self.placeholders)

    def encode(self, sentence: str) -> list[int]:
        """The token ids the model reads for a sentence, EOS at the end."""
        return [*self.source.encode(self.with_placeholders(sentence)[0]), EOS]


def join_translators(translators: Sequence[Translator], *, names: Sequence[str] = ()) -> Translator:
    """The first translator with the models of all; `names` are for errors.

    Vocabularies must be equal, since probabilities are averaged token by token.
    """
    first, *others = translators
    names = names or [f"model {number}" for number in range(1, len(translators) + 1)]
    for other, name in zip(others, names[1:], strict=True):
        if difference := _difference(first, other):
            raise UserError(f"no ensemble of {names[0]} and {name}: {difference}")
    models = [model for own in translators for model in (own.model, *own.other_models)]
    targets = [own.limits.target for own in translators if own.limits.target is not None]
    limits = LengthLimits(
        source=min(own.limits.source for own in translators), target=min(targets, default=None)
    )
    return replace(first, limits=limits, model=models[0], other_models=tuple(models[1:]))


def _difference(first: Translator, other: Translator) -> str:
    """Why two translators cannot be joined; empty if they can."""
    if first.placeholders != other.placeholders:
        kinds = [", ".join(own.placeholders) or "nothing" for own in (first, other)]
        return f"one copies {kinds[0]}, the other {kinds[1]} (text.placeholders)"
    sides = {"source": (first.source, other.source), "target": (first.target, other.target)}
    for side, (one_tokenizer, other_tokenizer) in sides.items():
        if how := _vocabulary_difference(one_tokenizer, other_tokenizer):
            return f"their {side} vocabularies differ: {how}; train both with the same vocabularies"
    return ""


def _vocabulary_difference(first: Tokenizer, other: Tokenizer) -> str:
    """How two vocabularies differ; empty if they do not."""
    if first.to_json() == other.to_json():
        return ""
    pieces, other_pieces = list(first.piece_ids()), list(other.piece_ids())
    sizes = f"{len(pieces):,} tokens and {len(other_pieces):,}"
    for id, (piece, other_piece) in enumerate(zip(pieces, other_pieces, strict=False)):
        if piece != other_piece:
            return f"{sizes}, and id {id} is {piece!r} and {other_piece!r}"
    if len(pieces) != len(other_pieces):
        return sizes
    return "they have the same tokens but split words differently"
