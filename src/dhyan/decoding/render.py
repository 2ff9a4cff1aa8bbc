"""Rendering: hypotheses (token ids) as `Translation`s with text, score, word probabilities."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dhyan.config import DecodingOptions
from dhyan.decoding.glossary import contains_words
from dhyan.decoding.hypothesis import Hypothesis
from dhyan.decoding.phrases import contains
from dhyan.decoding.prepare_requests import Request
from dhyan.errors import UnsupportedOption, UserError
from dhyan.notebook_display import (
    MOST_ROWS,
    html_block,
    html_grey,
    html_table,
    html_words,
    make_frame,
    shorten,
)
from dhyan.text.placeholders import restore
from dhyan.text.sentence_splitter import Paragraph
from dhyan.text.tokenizer import Tokenizer

WordProbs = tuple[tuple[str, float], ...]


@dataclass(frozen=True, repr=False)
class Translation:
    """A translation: its text, score and token ids, and whether it ended with EOS.

    In a notebook it shows the source, and every word of the text with its probability.

    >>> translation = dhyan.load(run_folder).translate("seven", max_length=5)
    >>> translation.source
    'seven'
    >>> all(0 < prob <= 1 for word, prob in translation.word_probs)
    True

    `score` is log-probability / length ** length_penalty, EOS counted (with a penalty of 1, the
    mean over tokens), plus the coverage penalty. `finished` is False when the maximum length cut
    the translation off, or when the rules allowed no further token (`no_token_allowed`). `others`
    are the runners-up, or further samples. `missing_placeholders` are spans of the source that the
    text should contain and does not, `missing_terms` such terms of the glossary. `unknown_words`
    are words of the source with a character or token that is not in the vocabulary, and those that
    no training sentence has, if the model knows its training sentences. For a paragraph,
    `sentences` are its sentences with their translations, the score is the mean of theirs, and
    there are no ids. `find_word_probs` computes `word_probs` when they are first used.
    """

    text: str
    score: float
    finished: bool
    ids: tuple[int, ...]
    others: tuple["Translation", ...] = ()
    missing_placeholders: tuple[str, ...] = ()
    missing_terms: tuple[str, ...] = ()
    unknown_words: tuple[str, ...] = ()
    no_token_allowed: bool = False
    sentences: tuple[tuple[str, "Translation"], ...] = ()
    source: str = field(default="", compare=False)
    find_word_probs: Callable[["Translation"], WordProbs] | None = field(
        default=None, compare=False
    )

    @cached_property
    def word_probs(self) -> WordProbs:
        """Each word of the text with its probability, the geometric mean over its tokens.

        They are computed by a second pass over the finished translation.
        """
        if self.sentences:
            return tuple(pair for _, sentence in self.sentences for pair in sentence.word_probs)
        return self.find_word_probs(self) if self.find_word_probs and self.ids else ()

    def from_source(
        self, source: str, find_word_probs: Callable[["Translation"], WordProbs]
    ) -> "Translation":
        """The translation and its runners-up, with their source."""
        others = tuple(
            replace(other, source=source, find_word_probs=find_word_probs) for other in self.others
        )
        return replace(self, source=source, find_word_probs=find_word_probs, others=others)

    def to_frame(self) -> Any:
        """The translation and its runners-up as a pandas DataFrame, best first."""
        return Translations([self, *self.others]).to_frame()

    def __getstate__(self) -> dict[str, Any]:
        """A pickle or a copy does not include the model."""
        return {**self.__dict__, "find_word_probs": None}

    def __repr__(self) -> str:
        more = "" if self.finished else ", finished=False"
        more += f", others={len(self.others)}" if self.others else ""
        return f"Translation({shorten(self.text)}, score={self.score:.3f}{more})"

    def _repr_html_(self) -> str:
        words = html_words(self.word_probs) if self.word_probs else html_grey(self.text)
        end = "" if self.finished else ", cut off"
        lines = [html_grey(self.source), words, html_grey(f"score {self.score:.3f}{end}")]
        lines += [html_grey(f"{other.score:.3f}  {other.text}") for other in self.others]
        return html_block(*lines)


class Translations(list[Translation]):
    """Translations in the order of their sources: a list that also becomes a frame or a table.

    >>> dhyan.load(run_folder).translate(["seven", "nine"]).to_frame().columns.to_list()
    ['source', 'translation', 'score', 'finished']
    """

    def to_frame(self) -> Any:
        """A pandas DataFrame with the source, translation and score of each."""
        return make_frame(
            {
                "source": [translation.source for translation in self],
                "translation": [translation.text for translation in self],
                "score": [translation.score for translation in self],
                "finished": [translation.finished for translation in self],
            }
        )

    def __repr__(self) -> str:
        if len(self) <= 3:
            return super().__repr__()
        first = ", ".join(map(repr, self[:2]))
        return f"[{first}, … {len(self):,} translations]"

    def _repr_html_(self) -> str:
        rows = [(best.source, best.text, f"{best.score:.3f}") for best in self[:MOST_ROWS]]
        if len(self) > MOST_ROWS:
            rows.append((f"… {len(self):,} translations", "", ""))
        return html_table(("source", "translation", "score"), rows)


EMPTY = Translation("", 0.0, True, ())


def render(
    request: Request,
    hypotheses: Sequence[Hypothesis],
    options: DecodingOptions,
    target: Tokenizer,
    *,
    placeholders: bool = False,
    forbidden: int = 0,
) -> Translation:
    """The best hypothesis as text, with the runners-up; equal texts once, except for samples.

    With `placeholders`, spans of the source replace them. `forbidden` is the number of forbidden
    terms, for errors.
    """
    if not hypotheses or not all(math.isfinite(hypothesis.score) for hypothesis in hypotheses):
        raise UserError("the model gives no token a finite score: its weights have diverged")
    if not hypotheses[0].ids and not hypotheses[0].finished:
        reasons = _constraints(request, options, forbidden)
        message = f"no token is allowed with {reasons}: relax one of them"
        raise UnsupportedOption(message, number=request.number)
    translations: dict[str, Translation] = {}
    for index, hypothesis in enumerate(hypotheses):
        translation = _render_hypothesis(request, hypothesis, target, placeholders)
        translations.setdefault(f"{index} " if options.sample else translation.text, translation)
        if len(translations) == options.nbest:
            break
    best, *others = translations.values()
    return replace(best, others=tuple(others))


def _render_hypothesis(
    request: Request, hypothesis: Hypothesis, target: Tokenizer, placeholders: bool
) -> Translation:
    text = target.decode(hypothesis.ids)
    text, missing = restore(text, request.spans) if placeholders else (text, ())
    terms = zip(request.terms, request.required, strict=False)
    return Translation(
        text,
        hypothesis.score,
        hypothesis.finished,
        hypothesis.ids,
        missing_placeholders=tuple(span for span in missing if span not in request.replaced),
        missing_terms=tuple(
            term
            for term, phrase in terms
            if not contains(hypothesis.ids, phrase)
            and not contains_words(target, phrase, hypothesis.ids)
        ),
        unknown_words=request.unknown_words,
        no_token_allowed=not hypothesis.finished and len(hypothesis.ids) < request.max_length,
    )


def _constraints(request: Request, options: DecodingOptions, forbidden: int) -> str:
    """Everything that restricts the tokens of a translation, for an error."""
    constraints = {
        f"{{min_length}} {options.min_length}": options.min_length,
        f"{{no_repeat_ngram}} {options.no_repeat_ngram}": options.no_repeat_ngram,
        f"{forbidden} forbidden terms": forbidden,
        "a prefix": request.prefix,
        "required terms": request.required,
    }
    return ", ".join(name for name, holds in constraints.items() if holds) or "this model"


def join_sentences(paragraph: Paragraph, translations: Sequence[Translation]) -> Translation:
    """The translations of a paragraph's sentences as one; its score is the mean of theirs."""
    return Translation(
        paragraph.join([translation.text for translation in translations]),
        sum(translation.score for translation in translations) / max(len(translations), 1),
        all(translation.finished for translation in translations),
        (),
        missing_placeholders=tuple(
            span for translation in translations for span in translation.missing_placeholders
        ),
        missing_terms=tuple(
            term for translation in translations for term in translation.missing_terms
        ),
        unknown_words=tuple(
            word for translation in translations for word in translation.unknown_words
        ),
        no_token_allowed=any(translation.no_token_allowed for translation in translations),
        sentences=tuple(zip(paragraph.sentences, translations, strict=True)),
    )
