"""`Translator`: from text to text; prepares requests, chooses the search, renders the output."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack, overload

from dhyan.config import DecodingChanges, DecodingOptions
from dhyan.cpu_engine import CpuEngine
from dhyan.cpu_engine.threads import default_threads
from dhyan.data.training_sentences import TrainingSentences
from dhyan.decoding.hypothesis import Hypothesis
from dhyan.decoding.plain_search import cpu_engine_search, is_plain_search
from dhyan.decoding.prepare_requests import LengthLimits as LengthLimits
from dhyan.decoding.prepare_requests import Request, RequestBuilder
from dhyan.decoding.prepare_requests import TooLong as TooLong
from dhyan.decoding.render import EMPTY, Translations, WordProbs, join_sentences, render
from dhyan.decoding.render import Translation as Translation
from dhyan.errors import UnsupportedOption, UserError
from dhyan.notebook_display import Frame
from dhyan.special_tokens import BOS, EOS
from dhyan.text.codec import SourceCodec, encode_sources, without_files
from dhyan.text.language_tokens import find_language, known_code
from dhyan.text.placeholders import mask, restore
from dhyan.text.sentence_splitter import split_paragraph
from dhyan.text.tokenizer import Tokenizer

if TYPE_CHECKING:  # torch is imported when it is needed: the CPU engine does not
    import torch

    import dhyan.decoding.ensemble
    import dhyan.models.seq2seq

AnyRule = Callable[..., Any]
"""A rule on the scores of every next token, `dhyan.decoding.rules.Rule`; or what makes one."""

MOST_SENTENCES = 2**20  # in one paragraph, so that no two sentences of an input share a number


@dataclass(eq=False)
class DeferredModel:
    """A model that is built when it is first used, and its number of weights."""

    build: "Callable[[], dhyan.models.seq2seq.Seq2Seq]"
    parameters: int

    @cached_property
    def model(self) -> "dhyan.models.seq2seq.Seq2Seq":
        """The model."""
        return self.build()


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

    With `fast` an engine searches where it supports the options: that for GPUs, or `cpu_engine`. It
    works on a copy of the weights, so the model must not change. `threads` tells how many threads
    the engine for CPUs has.
    """

    network: Any  # the model, or a DeferredModel
    source: SourceCodec
    target: Tokenizer
    language: str = ""
    source_language: str = ""
    limits: LengthLimits = field(default_factory=LengthLimits)
    options: DecodingOptions = field(default_factory=DecodingOptions)
    placeholders: tuple[str, ...] = ()
    task: str = "translate"
    task_rules: tuple[AnyRule, ...] = ()
    training_sentences: TrainingSentences | None = None
    other_models: tuple[Any, ...] = ()
    tokens_per_batch: int = 4096
    fast: bool = False
    cpu_engine: Callable[[], CpuEngine | None] | None = None
    threads: Callable[[], int] = default_threads
    device_name: str = "cpu"

    def __call__(
        self,
        sentences: Sequence[str] | str,
        *,
        prefixes: str | Sequence[str] | None = None,
        glossary: Mapping[str, str] | None = None,
        forbidden: Sequence[str] | str = (),
        rules: Sequence[AnyRule] = (),
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
        rules: Sequence[AnyRule] = (),
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
        if forbidden:
            from dhyan.decoding.rules import forbid_terms

            rules = [*rules, forbid_terms(self.target, forbidden)]
        translations: dict[int, Translation] = {}
        for batch in self._search(requests, options, rules):
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

    def _search(
        self, requests: Sequence[Request], options: DecodingOptions, rules: Sequence[AnyRule]
    ) -> Iterable[list[tuple[Request, list[Hypothesis]]]]:
        """The hypotheses of every request that is not empty: by an engine, or by PyTorch."""
        usable = self.fast and self.cpu_engine is not None and not self.other_models
        special = self.task_rules or self.target.language_prefix
        plain = is_plain_search(requests, options, rules, special)
        if usable and plain and not options.coverage_penalty:
            engine = self.cpu_engine() if self.cpu_engine else None
            if engine is not None:
                return cpu_engine_search(engine, requests, options, self.threads)
        from dhyan.decoding.searcher import Searcher

        return Searcher(
            self.ensemble,
            options,
            rules,
            self.target,
            self.device,
            self.tokens_per_batch,
            self.fast and self.cpu_engine is None,
            self.task_rules,
        ).search(requests)

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

    @property
    def model(self) -> "dhyan.models.seq2seq.Seq2Seq":
        """The model; one that is deferred is built now."""
        return self.network.model if isinstance(self.network, DeferredModel) else self.network

    @property
    def device(self) -> "torch.device":
        """The device of the model."""
        import torch

        return torch.device(self.device_name)

    @property
    def parameters(self) -> int:
        """The number of weights of all models."""
        if isinstance(self.network, DeferredModel):
            return self.network.parameters
        models = (self.network, *self.other_models)
        return sum(weight.numel() for model in models for weight in model.parameters())

    @cached_property
    def ensemble(self) -> "dhyan.models.seq2seq.Seq2Seq | dhyan.decoding.ensemble.Ensemble":
        """The model, or the ensemble of all models."""
        if not self.other_models:
            return self.model
        from dhyan.decoding.ensemble import Ensemble

        return Ensemble((self.model, *self.other_models))

    def with_placeholders(self, sentence: str) -> tuple[str, tuple[str, ...]]:
        """The sentence as the model reads it, and the spans that placeholders replace."""
        return mask(sentence, self.placeholders)

    def encode(self, sentence: str) -> Any:
        """What the model reads of a sentence: token ids with EOS at the end, or frames."""
        source = encode_sources(self.source, [self.with_placeholders(sentence)[0]])[0]
        return source if len(source) else [EOS]

    def word_probs(self, translation: Translation) -> WordProbs:
        """The words of a finished translation of `source`, with their probabilities."""
        from dhyan.decoding.forced_decoding import force_decode

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
        ensemble = f"{1 + len(self.other_models)} models, " if self.other_models else ""
        return (
            f"Translator({languages}, {ensemble}{self.parameters:,} parameters, {self.device_name})"
        )


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
