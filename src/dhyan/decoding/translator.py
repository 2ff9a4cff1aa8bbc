"""`Translator`: from text to text; prepares requests, chooses the search, renders the output."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Unpack, overload

import numpy as np
import torch

from dhyan.batch import pad_source
from dhyan.config import DecodingChanges, DecodingOptions
from dhyan.data.permutation import derive_seed
from dhyan.data.training_sentences import TrainingSentences
from dhyan.decoding import rules as search_rules
from dhyan.decoding.beam import Beam, BeamState, Hypothesis
from dhyan.decoding.constrained_beam import ConstrainedBeam, allow_required
from dhyan.decoding.diverse_beam import DiverseBeam
from dhyan.decoding.ensemble import Ensemble
from dhyan.decoding.forced_decoding import evaluation_mode, force_decode, rank_by_coverage
from dhyan.decoding.prepare_requests import LengthLimits as LengthLimits
from dhyan.decoding.prepare_requests import Request, RequestBuilder
from dhyan.decoding.prepare_requests import TooLong as TooLong
from dhyan.decoding.render import EMPTY, Translations, WordProbs, join_sentences, render
from dhyan.decoding.render import Translation as Translation
from dhyan.decoding.rules import Rule, forbid_terms
from dhyan.decoding.sampling import Sampler
from dhyan.decoding.search import TokenChoice, best_token, extend_until_done, greedy_search
from dhyan.errors import UnsupportedOption, UserError
from dhyan.models.seq2seq import Seq2Seq
from dhyan.notebook_display import Frame
from dhyan.special_tokens import BOS, EOS
from dhyan.text.codec import SourceCodec, encode_sources, without_files
from dhyan.text.language_tokens import find_language, known_code
from dhyan.text.placeholders import mask, restore
from dhyan.text.sentence_splitter import split_paragraph
from dhyan.text.tokenizer import Tokenizer

RequestRule = Callable[[Tokenizer, Sequence[Request]], Rule]
"""Makes the rule of a task for a batch of requests; a rule numbers sentences by their place in it."""

MOST_SENTENCES = 2**20  # in one paragraph, so that no two sentences of an input share a number


@dataclass(frozen=True, repr=False)
class Translator:
    """Translates sentences into `language`.

    `translate` returns a translation for one sentence and a list for several; calling the
    translator always returns a list.

    >>> translator = dhyan.load(run_folder)
    >>> len(translator.translate(["seven", "nine"], beam=2, max_length=9))
    2

    `other_models` share the vocabularies of `model`; the probabilities of all are averaged.
    `placeholders` are the kinds of spans that are copied: placeholders replace them for the model.
    `task` is what else than translating the model was trained for, and `task_rules` keep the output
    in its form, such as one label, or one tag for each word.
    `training_sentences` are those the model was trained on, if they are known: a word that none of
    them has is reported as unknown.

    With `fast` the engine searches where it supports the options; it works on a copy of the
    weights, so the model must not change.
    """

    model: Seq2Seq
    source: SourceCodec
    target: Tokenizer
    language: str = ""
    source_language: str = ""
    limits: LengthLimits = field(default_factory=LengthLimits)
    options: DecodingOptions = field(default_factory=DecodingOptions)
    placeholders: tuple[str, ...] = ()
    task: str = "translate"
    task_rules: tuple[RequestRule, ...] = ()
    training_sentences: TrainingSentences | None = None
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
    ) -> Translations:
        """One translation per sentence, in order, with changes to the translator's options.

        The changes are settings of `DecodingOptions`, as in `translator(sentences, beam=1)`; the
        other arguments are those of `translate_sentences`.
        """
        return self.translate_sentences(
            [sentences] if isinstance(sentences, str) else sentences,
            self.options.changed(**changes),
            prefixes=prefixes,
            glossary=glossary,
            forbidden=[forbidden] if isinstance(forbidden, str) else forbidden,
            rules=rules,
            numbers=numbers,
            on_progress=on_progress,
        )

    @overload
    def translate(
        self,
        text: str,
        *,
        prefixes: str | Sequence[str] | None = None,
        glossary: Mapping[str, str] | None = None,
        forbidden: Sequence[str] | str = (),
        **changes: Unpack[DecodingChanges],
    ) -> Translation: ...

    @overload
    def translate(
        self,
        text: Iterable[Any],
        *,
        prefixes: str | Sequence[str] | None = None,
        glossary: Mapping[str, str] | None = None,
        forbidden: Sequence[str] | str = (),
        **changes: Unpack[DecodingChanges],
    ) -> Translations: ...

    def translate(
        self,
        text: str | Iterable[Any],
        *,
        prefixes: str | Sequence[str] | None = None,
        glossary: Mapping[str, str] | None = None,
        forbidden: Sequence[str] | str = (),
        **changes: Unpack[DecodingChanges],
    ) -> Translation | Translations:
        """The translation of a sentence, or of each sentence of a list or a column of a frame.

        `glossary` has source terms and the target terms to use for them, `forbidden` target terms
        to avoid, `prefixes` the beginnings of translations; further keywords are the settings of
        `DecodingOptions`: `beam`, `nbest`, `max_length`, `length_penalty`, `sample` and so on.

        >>> translator = dhyan.load(run_folder)
        >>> translator.translate("seven", prefixes="सात", max_length=9).text.startswith("सात")
        True
        >>> [translation.source for translation in translator.translate(["seven", "nine"], beam=1)]
        ['seven', 'nine']
        """
        translations = self(
            text if isinstance(text, str) else check_sentences(text),
            prefixes=prefixes,
            glossary=glossary,
            forbidden=forbidden,
            **changes,
        )
        return translations[0] if isinstance(text, str) else translations

    predict = translate  # for a model of another task than translation

    def translate_sentences(
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
    ) -> Translations:
        """One translation per sentence, in order; an empty sentence stays empty.

        Translations begin with `prefixes` (one for all, or one each), contain the target terms of
        the `glossary` whose source terms occur in the sentence, and none of the `forbidden` terms;
        `rules` change the scores of every next token. The translation of a sentence does not depend
        on the others; a sample depends on the sentence's index, or on its number in `numbers`.
        `on_progress` is called after each batch with the number of sentences translated so far.
        """
        builder = RequestBuilder(
            self.source,
            self.target,
            options,
            self.limits,
            self.placeholders,
            self.training_sentences,
        )
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
            self.task_rules,
        )
        translations: dict[int, Translation] = {}
        for batch in searcher.search(requests):
            for request, hypotheses in batch:
                translation = render(
                    request,
                    hypotheses,
                    options,
                    self.target,
                    placeholders=bool(self.placeholders),
                    forbidden=len(forbidden),
                )
                source = sentences[request.index]
                translations[request.index] = translation.from_source(source, self.word_probs)
            if on_progress:
                on_progress(len(translations))
        return Translations(
            translations.get(index) or replace(EMPTY, source=sentence)
            for index, sentence in enumerate(sentences)
        )

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
        owners = [index for index, paragraph in enumerate(split) for _ in paragraph.sentences]
        firsts = range(len(paragraphs)) if numbers is None else numbers
        try:
            translations = iter(
                self.translate_sentences(
                    [sentence for paragraph in split for sentence in paragraph.sentences],
                    options,
                    glossary=glossary,
                    forbidden=forbidden,
                    numbers=[
                        first * MOST_SENTENCES + place
                        for first, paragraph in zip(firsts, split, strict=True)
                        for place in range(len(paragraph.sentences))
                    ],
                )
            )
        except TooLong as error:
            raise error.at(owners) from None
        return [
            join_sentences(paragraph, [next(translations) for _ in paragraph.sentences])
            for paragraph in split
        ]

    def in_languages(self, source: str = "", target: str = "") -> "Translator":
        """The same multilingual model from and into other of its languages; it shares the weights.

        They are named by code, such as `hi`, or by the model's token, such as `hin_Deva`; an empty
        one stays as it is.
        """
        reader, writer = self.source_tokenizer, self.target
        if not (reader.language_prefix and writer.language_prefix):
            pair = f"{self.source_language or '?'} into {self.language or '?'}"
            raise UserError(f"this model has no language tokens: it only translates {pair}")
        place, ours = "the model", [source, target]
        for at, (tokenizer, side) in enumerate(((reader, "source"), (writer, "target"))):
            own = tokenizer.pieces(tokenizer.language_prefix)[0]
            ours[at] = find_language(ours[at] or own, tokenizer.languages, place=place, side=side)
        return replace(
            self,
            source=reader.in_language(ours[0]),
            target=writer.in_language(ours[1]),
            source_language=known_code(ours[0]),
            language=known_code(ours[1]),
        )

    @property
    def source_tokenizer(self) -> Tokenizer:
        """The tokenizer of the source; an error for a model that reads frames."""
        if not isinstance(self.source, Tokenizer):
            raise UserError(
                f"this model reads frames ({self.source.kind}); what was asked for needs tokens"
            )
        return self.source

    def without_files(self) -> "Translator":
        """The same for requests of others: a source that is a path is refused, never opened."""
        return replace(self, source=without_files(self.source))

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

    def encode(self, sentence: str) -> Any:
        """What the model reads of a sentence: token ids with EOS at the end, or frames."""
        source = encode_sources(self.source, [self.with_placeholders(sentence)[0]])[0]
        return source if len(source) else [EOS]

    def word_probs(self, translation: Translation) -> WordProbs:
        """The words of a finished translation of `source`, with their probabilities."""
        forced = force_decode(
            self.ensemble,
            [self.encode(translation.source)],
            [[BOS, *translation.ids]],
            self.device,
        )
        logprobs = forced.logprobs[0].cpu()
        _, spans = self.with_placeholders(translation.source)
        return tuple(
            (
                restore(word.text, spans)[0] if spans else word.text,
                float(logprobs[word.first : word.last].mean().exp()),
            )
            for word in self.target.words(translation.ids)
            if word.last > len(self.target.language_prefix)
        )

    def __repr__(self) -> str:
        languages = f"{self.source_language or '?'} → {self.language or '?'}"
        models = (self.model, *self.other_models)
        size = sum(weight.numel() for model in models for weight in model.parameters())
        ensemble = f"{len(models)} models, " if self.other_models else ""
        return f"Translator({languages}, {ensemble}{size:,} parameters, {self.device})"


def check_sentences(texts: Iterable[Any]) -> list[str]:
    """The sentences of a list, or of a column of a frame; anything but a text is an error."""
    if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise UserError(
            f"text: {type(texts).__name__} holds no sentences; give a text, or a list of texts"
        )
    if isinstance(texts, Frame):
        example = f"text[{next(iter(texts.columns), 'en')!r}]"
        raise UserError(f"text: is a frame; give the column to translate, as in {example}")
    sentences = list(texts)
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            shown = " ".join(repr(sentence).split())[:60]
            raise UserError(
                f"text: sentence {number} is {shown}, not a text; leave it out, or give one column"
            )
    return sentences


@dataclass(frozen=True)
class Searcher:
    """A model and the options of one call; searches requests batch by batch.

    `rules` hold for all sentences. With `fast` the engine searches where it supports the options.
    """

    model: Seq2Seq | Ensemble
    options: DecodingOptions
    rules: Sequence[Rule]
    target: Tokenizer
    device: torch.device
    tokens_per_batch: int
    fast: bool = False
    task_rules: Sequence[RequestRule] = ()

    def search(
        self, requests: Sequence[Request]
    ) -> Iterator[list[tuple[Request, list[Hypothesis]]]]:
        """The hypotheses of every request that is not empty, best first or as sampled."""
        requests = [request for request in requests if len(request.source)]
        engine = self._engine_model(requests)
        for batch in [by_length(requests)] if engine else self._batches(requests):
            hypotheses = self._engine_search(engine, batch) if engine else self._plain_search(batch)
            if self.options.coverage_penalty:
                hypotheses = self._ranked_by_coverage(batch, hypotheses)
            yield list(zip(batch, hypotheses, strict=True))

    def _engine_model(self, requests: Sequence[Request]) -> Seq2Seq | None:
        """The model if the engine can search for it: without rules and constraints."""
        constrained = any(request.prefix or request.required for request in requests)
        ruled = self.rules or self.options.min_length or self.options.no_repeat_ngram
        frames = any(isinstance(request.source, np.ndarray) for request in requests)
        special = self.task_rules or self.target.language_prefix
        if not self.fast or constrained or ruled or special or frames:
            return None
        if isinstance(self.model, Ensemble):
            return None
        from dhyan.decoding.engine import (
            engine_supports,  # imports kernels that a CPU has no use for
        )

        return self.model if engine_supports(self.model, self.options) else None

    def _batches(self, requests: Sequence[Request]) -> Iterator[list[Request]]:
        """Requests of similar length, to pad little; those with required phrases apart."""
        batch: list[Request] = []
        for request in by_length(requests):
            size = (len(batch) + 1) * len(request.source) * self.options.width
            alike = not batch or bool(batch[0].required) == bool(request.required)
            if batch and (size > self.tokens_per_batch or not alike):
                yield batch
                batch = []
            batch.append(request)
        if batch:
            yield batch

    def _engine_search(self, model: Seq2Seq, batch: Sequence[Request]) -> list[list[Hypothesis]]:
        from dhyan.decoding.engine import engine_for

        best_only = self.options.nbest == 1 and not self.options.coverage_penalty
        return engine_for(model).translate(
            [list(request.source) for request in batch],
            beam=self.options.width,
            max_lengths=[request.max_length for request in batch],
            length_penalty=self.options.length_penalty,
            nbest=1 if best_only else None,
        )

    def _plain_search(self, batch: Sequence[Request]) -> list[list[Hypothesis]]:
        """Greedy search, sampling, or one of the beam searches."""
        source = pad_source([request.source for request in batch]).to(self.device)
        max_length = torch.tensor([request.max_length for request in batch]).to(self.device)
        rules = self.all_rules(batch)
        with evaluation_mode(self.model):
            if self.options.width > 1:
                return extend_until_done(
                    self.start_beam(batch), self.model, source, max_length=max_length, rules=rules
                )
            runs = [
                greedy_search(
                    self.model,
                    source,
                    max_length=max_length,
                    length_penalty=self.options.length_penalty,
                    rules=rules,
                    choose=choose,
                )
                for choose in self._token_choices(batch)
            ]
        return [list(hypotheses) for hypotheses in zip(*runs, strict=True)]

    def start_beam(self, batch: Sequence[Request]) -> BeamState:
        """An empty beam: plain, constrained, or diverse groups of either."""
        groups, required = self.options.beam_groups, [request.required for request in batch]
        width, penalty = self.options.width // groups, self.options.length_penalty
        plain = Beam.start(len(batch), width, penalty, self.device)
        beam = ConstrainedBeam.start(plain, required) if any(required) else plain
        return DiverseBeam((beam,) * groups, self.options.diversity_penalty) if groups > 1 else beam

    def all_rules(self, batch: Sequence[Request]) -> list[Rule]:
        """The rules of the call, of the options and of the requests; prefixes come first."""
        rules, required = list(self.rules), [request.required for request in batch]
        rules += [make_rule(self.target, batch) for make_rule in self.task_rules]
        if self.options.min_length:
            rules.append(search_rules.min_length(self.options.min_length))
        if self.options.no_repeat_ngram:
            rule = search_rules.no_repeat_ngram(self.options.no_repeat_ngram)
            rules.append(allow_required(required, rule) if any(required) else rule)
        if any(required):
            rules.append(search_rules.end_word_after(self.target, required))
        prefixes = [request.prefix for request in batch]
        if any(prefixes):
            later = (search_rules.after_prefix(prefixes, rule) for rule in rules)
            rules = [search_rules.force_prefix(prefixes), *later]
        if language := self.target.language_prefix:
            rules.append(search_rules.begin_with(language))
        return rules

    def _token_choices(self, batch: Sequence[Request]) -> Iterator[TokenChoice]:
        """The best token; or for sampling one sampler for each of `nbest` translations."""
        if not self.options.sample:
            yield best_token
            return
        for draw in range(self.options.nbest):
            yield Sampler(
                temperature=self.options.temperature,
                top_k=self.options.top_k,
                top_p=self.options.top_p,
                seed=derive_seed(self.options.seed, draw),
                numbers=[request.number for request in batch],
            )

    def _ranked_by_coverage(
        self, batch: Sequence[Request], hypotheses: Sequence[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Every sentence's hypotheses with the coverage penalty in their scores."""
        weight = self.options.coverage_penalty
        return [
            rank_by_coverage(self.model, request.source, ranked, weight=weight, device=self.device)
            if ranked
            else ranked
            for request, ranked in zip(batch, hypotheses, strict=True)
        ]


def by_length(requests: Sequence[Request]) -> list[Request]:
    """Requests without required phrases first, the shortest first."""
    return sorted(requests, key=lambda request: (bool(request.required), len(request.source)))
