"""`python -m dhyan.serving.worker FD`: the worker process that holds the model and translates."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dhyan.errors import NO_ATTENTION, UnsupportedOption, UserError
from dhyan.serving.settings import MAX_TEXT_CHARACTERS
from dhyan.serving.worker_protocol import (
    Answer,
    JobOptions,
    JobText,
    Message,
    WorkerChannel,
    run_worker,
)
from dhyan.tasks import find_task
from dhyan.text.codec import source_length
from dhyan.text.languages import UNDETERMINED
from dhyan.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from dhyan.decoding.glossary import Glossary
    from dhyan.decoding.rules import Rule
    from dhyan.decoding.translator import Translation, Translator
    from dhyan.text.sentence_splitter import Paragraph

MAX_TARGET_TOKENS = 512  # of one sentence's translation
UNBOUNDED = 2**40
OPTION_NAMES = {"prefixes": "prefix"}


@dataclass
class TextJob:
    """A text, its sentences, and their translations so far by position."""

    text: JobText
    paragraph: "Paragraph | None"
    sentences: Sequence[str]
    lengths: Sequence[int]
    translations: "dict[int, Translation]"

    @property
    def id(self) -> int:
        """The job's id."""
        return self.text.job


@dataclass(frozen=True)
class SentenceJob:
    """One sentence of a text; `alone` if it cannot share a search."""

    owner: TextJob
    position: int
    length: int
    alone: bool

    @property
    def sentence(self) -> str:
        """Its text."""
        return self.owner.sentences[self.position]


@dataclass(frozen=True)
class TranslationWorker:
    """A translator that answers texts batch by batch and stops for cancelled ones."""

    translator: "Translator"

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target language; `und` (BCP 47) where it is not known."""
        translator = self.translator
        return translator.source_language or UNDETERMINED, translator.language or UNDETERMINED

    def unknown_languages(self) -> list[str]:
        """The settings of the languages that its task needs and nobody named."""
        settings = zip(
            ("data.source_language", "data.target_language"), self.languages, strict=True
        )
        needed = find_task(self.translator.task).between_languages
        return [name for name, language in settings if needed and language == UNDETERMINED]

    def known_words(self) -> dict[str, list[str]]:
        """The words that the source and target vocabularies have as one token, by language."""
        tokenizers = (self.translator.source, self.translator.target)
        words: dict[str, set[str]] = {}
        for language, tokenizer in zip(self.languages, tokenizers, strict=True):
            known = words.setdefault(language, set())
            if isinstance(tokenizer, Tokenizer):
                known.update(map(tokenizer.plain, range(len(tokenizer))))
        return {language: sorted(known) for language, known in words.items()}

    def card(self) -> dict[str, Any]:
        """Facts about the model for clients."""
        translator = self.translator
        return {
            "task": translator.task,
            "source_language": self.languages[0],
            "target_language": self.languages[1],
            "beam": translator.options.width,
            "max_source_length": translator.limits.source,
            "parameters": translator.parameters,
        }

    def translate(
        self, texts: Sequence[JobText], options: JobOptions, channel: WorkerChannel
    ) -> None:
        """Answer each text; an error in one is the answer to that one."""
        try:
            with torch_needed():
                self._check_alignment(options)
                glossary = self._glossary(options)
        except UserError as error:
            for text in texts:
                channel.answer(text.job, _unsupported(error, options))
            return
        sentences: list[SentenceJob] = []
        for text in texts:
            if channel.is_cancelled(text.job):
                continue
            try:
                job = self._text_job(text, options)
            except UserError as error:  # a picture that is broken, or a path
                channel.answer(text.job, _unsupported(error, options))
                continue
            longest = max(job.lengths, default=0)
            if longest > self.translator.limits.source:
                channel.answer(job.id, _too_long(longest, self.translator.limits.source))
            elif not job.sentences:
                self._finish(job, options, channel)
            else:
                sentences += self._sentence_jobs(job, glossary)
        for group in self._groups(sentences, options):
            self._search(group, options, channel)

    def _check_alignment(self, options: JobOptions) -> None:
        """Raise an error for alignments of a model that has no attention."""
        if not options.align:
            return
        from dhyan.attention_maps import attends_to_source

        if not attends_to_source(self.translator.ensemble):
            raise UnsupportedOption(f"{NO_ATTENTION}; leave out {{align}}")

    def _glossary(self, options: JobOptions) -> "Glossary | None":
        """The glossary of a request, checked as a file of terms is."""
        from dhyan.decoding.glossary import Glossary

        if not options.glossary:
            return None
        check_glossary(options.glossary)
        translator = self.translator
        return Glossary.build(
            dict(options.glossary), translator.source_tokenizer, translator.placeholders
        )

    def _text_job(self, text: JobText, options: JobOptions) -> TextJob:
        from dhyan.text.sentence_splitter import split_paragraph

        is_text = isinstance(self.translator.source, Tokenizer)
        if is_text and len(text.text) > MAX_TEXT_CHARACTERS:
            raise UserError("a picture, but this model reads text; choose another model")
        paragraph = (
            split_paragraph(text.text, self.translator.source_language)
            if options.paragraphs and is_text
            else None
        )
        sentences = paragraph.sentences if paragraph else [text.text]
        lengths = [source_length(self.translator.encode(sentence)) for sentence in sentences]
        return TextJob(text, paragraph, sentences, lengths, {})

    def _sentence_jobs(self, job: TextJob, glossary: "Glossary | None") -> Iterator[SentenceJob]:
        """Sentences with placeholders or terms of the glossary are searched alone: these change
        how a search is batched."""
        for position, (sentence, length) in enumerate(zip(job.sentences, job.lengths, strict=True)):
            has_placeholders = bool(self.translator.with_placeholders(sentence)[1])
            has_terms = glossary is not None and bool(glossary.target_terms(sentence))
            yield SentenceJob(job, position, length, has_placeholders or has_terms)

    def _groups(
        self, sentences: Sequence[SentenceJob], options: JobOptions
    ) -> Iterator[list[SentenceJob]]:
        """Sentences of similar length, as many as fit the translator's batch."""
        translator = self.translator
        beam = max(options.beam or translator.options.width, options.nbest)
        group: list[SentenceJob] = []
        for job in sorted(sentences, key=lambda job: (job.alone, job.length)):
            full = (len(group) + 1) * (job.length + 1) * beam > translator.tokens_per_batch
            if group and (full or job.alone or options.stream):
                yield group
                group = []
            group.append(job)
        if group:
            yield group

    def _search(
        self, group: Sequence[SentenceJob], options: JobOptions, channel: WorkerChannel
    ) -> None:
        group = [job for job in group if not channel.is_cancelled(job.owner.id)]
        try:
            with torch_needed():
                translations = self._translations(group, options, channel) if group else []
        except UserError as error:
            if len(group) > 1:
                for job in group:
                    self._search([job], options, channel)
            else:
                channel.answer(group[0].owner.id, _unsupported(error, options))
            return
        for job, translation in zip(group, translations, strict=True):
            owner = job.owner
            owner.translations[job.position] = translation
            complete = len(owner.translations) == len(owner.sentences)
            if complete and not channel.is_cancelled(owner.id):
                self._finish(owner, options, channel)

    def _translations(
        self, group: Sequence[SentenceJob], options: JobOptions, channel: WorkerChannel
    ) -> "list[Translation]":
        rules = self._rules(group, options, channel)
        translator = replace(
            self.translator,
            tokens_per_batch=UNBOUNDED,  # one search, whose rows are the jobs in their order
            fast=self.translator.fast and not rules,
        )
        return translator(
            [job.sentence for job in group],
            beam=options.beam,
            nbest=options.nbest,
            prefixes=options.prefix or None,
            glossary=dict(options.glossary) or None,
            rules=rules,
            numbers=[0] * len(group),  # a sample does not depend on the other sentences
        )

    def _rules(
        self, group: Sequence[SentenceJob], options: JobOptions, channel: WorkerChannel
    ) -> "list[Rule]":
        """Rules that end cancelled sentences, and that send the words of a stream."""
        constrained = options.stream or options.prefix or options.glossary
        if self.translator.fast and not constrained:
            return []
        searched = [job for job in group if job.length]  # an empty sentence is not searched
        rules = [end_cancelled([partial(channel.is_cancelled, job.owner.id) for job in searched])]
        if options.stream:
            from dhyan.decoding.rules import observe

            [job] = group
            owner = job.owner
            earlier = [owner.translations[position].text for position in range(job.position)]
            words_before = " ".join(earlier).split()

            def send_words(token_ids: list[int]) -> None:
                words = self.translator.target.decode(token_ids).split()
                channel.words(owner.id, [*words_before, *words])

            rules.append(observe(send_words))
        return rules

    def _finish(self, job: TextJob, options: JobOptions, channel: WorkerChannel) -> None:
        nbest = [self._as_json(job.text.text, translation, options) for translation in _nbest(job)]
        channel.answer(job.id, {"translations": nbest, "tokens": sum(job.lengths)})

    def _as_json(
        self, text: str, translation: "Translation", options: JobOptions
    ) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "text": translation.text,
            "score": translation.score,
            "finished": translation.finished,
        }
        if translation.missing_terms:
            answer["missing_terms"] = list(translation.missing_terms)
        if options.align:
            from dhyan.insight.word_alignment import word_attention

            has_words = bool(translation.ids)
            answer["alignment"] = (
                word_attention(self.translator, text, translation).alignment if has_words else []
            )
        return answer


@contextmanager
def torch_needed() -> Iterator[None]:
    """Where PyTorch is not installed, what needs it is an error of the request."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        message = "this request needs PyTorch, which this server does not have; leave out {align}"
        raise UnsupportedOption(f"{message}, {{glossary}}, {{prefix}} and streams") from None


def _too_long(tokens: int, maximum: int) -> Answer:
    message = f"a sentence of {tokens} tokens, but this model takes at most {maximum}; split it"
    return {"error": message, "code": "sentence_too_long"}


def _nbest(job: TextJob) -> "list[Translation]":
    """The translations of a text, best first; a paragraph's n-th has each sentence's n-th."""
    from dhyan.decoding.render import join_sentences

    translations = [job.translations[position] for position in range(len(job.sentences))]
    ranked = [(translation, *translation.others) for translation in translations]
    if not job.paragraph:
        return list(ranked[0])
    joined: dict[str, Translation] = {}
    for rank in range(max(map(len, ranked), default=1)):
        sentences = [nbest[min(rank, len(nbest) - 1)] for nbest in ranked]
        translation = join_sentences(job.paragraph, sentences)
        joined.setdefault(translation.text, translation)
    return list(joined.values())


def _unsupported(error: UserError, options: JobOptions) -> Answer:
    if isinstance(error, UnsupportedOption):
        return {"error": error_without_terms(error, options), "code": "unsupported_option"}
    return {"error": str(error), "code": "invalid_request"}


def check_glossary(pairs: Sequence[tuple[str, str]]) -> None:
    """Raise UnsupportedOption for two target terms of one source term, in whatever case."""
    targets: dict[str, str] = {}
    for source, target in pairs:
        if (other := targets.setdefault(source.strip().casefold(), target)) != target:
            message = "the glossary has both {other!r} and {target!r} for {term!r}: keep one"
            raise UnsupportedOption(
                message, option="glossary", term=source, target=target, other=other
            )


class Place(str):
    """Where a term stands in a request; errors name it instead of the term."""

    def __repr__(self) -> str:
        return str(self)


def error_without_terms(error: UnsupportedOption, options: JobOptions) -> str:
    """The message with places such as `glossary[2]` instead of what the client sent."""
    places = {options.prefix: Place("the prefix")} if options.prefix else {}
    for index, (source, target) in enumerate(options.glossary):
        places.setdefault(source, Place(f"the source term of glossary[{index}]"))
        places.setdefault(target, Place(f"the target term of glossary[{index}]"))
    values = {
        name: places.get(value, Place("a term")) if isinstance(value, str) else value
        for name, value in error.values.items()
    }
    term = values.pop("term")
    redacted = UnsupportedOption(error.message, term=term, **values)  # type: ignore[arg-type]
    return redacted.spelled(lambda option: OPTION_NAMES.get(option, option))


def end_cancelled(checks: Sequence[Callable[[], bool]]) -> "Rule":
    """A search rule that ends the sentences that were cancelled, by one check for each."""
    import torch

    from dhyan.special_tokens import EOS

    cancelled: set[int] = set()

    def rule(prefixes: Any, scores: Any, sentence: Any) -> Any:
        waiting = [row for row in range(len(checks)) if row not in cancelled]
        cancelled.update(row for row in waiting if checks[row]())
        if not cancelled:
            return scores
        only_eos = torch.full_like(scores[0], -torch.inf)
        only_eos[EOS] = 0.0
        ended = torch.tensor([row in cancelled for row in sentence.tolist()], device=scores.device)
        return torch.where(ended.unsqueeze(1), only_eos, scores)

    return rule


def load(message: Message) -> TranslationWorker:
    """Load the model the server names."""
    from dhyan.open_translator import open_translator

    translator = open_translator(
        message["folder"], device=message["device"], threads=message["threads"]
    )
    limits = translator.limits
    longest = min(limits.target or MAX_TARGET_TOKENS, MAX_TARGET_TOKENS)
    translator = replace(
        translator,
        limits=replace(limits, target=longest),
        options=replace(translator.options, nbest=1),
    )
    if find_spec("torch"):  # else the first request that needs it would wait for its import
        _ = translator.model
    return TranslationWorker(translator.without_files())


if __name__ == "__main__":
    run_worker(int(sys.argv[1]), load)
