"""Texts of several sentences: cut, translated sentence by sentence, and put together again."""

from collections.abc import Sequence

from dhyan.decoding.translator import TooLong, Translation, Translator
from dhyan.errors import UnsupportedOption
from dhyan.text.sentence_splitter import Paragraph, cut

MOST = 2**20  # sentences in one paragraph, so that no two of an input share a number


def translate_paragraphs(
    translator: Translator,
    paragraphs: Sequence[str],
    *,
    nbest: int | None = None,
    numbers: Sequence[int] | None = None,
    **options: object,
) -> list[Translation]:
    """One text for each, with the gaps between its sentences as they were.

    Options are those of the translator, less runners-up; TooLong names the paragraph.
    """
    if (nbest or translator.options.nbest) > 1:
        raise UnsupportedOption("a paragraph has one translation: leave out {nbest}")
    cuts = [cut(paragraph, translator.source_language) for paragraph in paragraphs]
    owners = [place for place, one in enumerate(cuts) for _ in one.sentences]
    sentences = [sentence for one in cuts for sentence in one.sentences]
    places = range(len(paragraphs)) if numbers is None else numbers
    own = [places[at] * MOST + n for at, one in enumerate(cuts) for n in range(len(one.sentences))]
    try:
        said = iter(translator(sentences, numbers=own, **options))  # type: ignore[arg-type]
    except TooLong as fault:
        raise fault.at(owners) from None
    return [rejoined(one, [next(said) for _ in one.sentences]) for one in cuts]


def rejoined(paragraph: Paragraph, said: Sequence[Translation]) -> Translation:
    """Sentences as one translation, whose score is the mean of theirs."""
    return Translation(
        paragraph.join([one.text for one in said]),
        sum(one.score for one in said) / max(len(said), 1),
        all(one.finished for one in said),
        (),
        lost_placeholders=tuple(span for one in said for span in one.lost_placeholders),
        missing_terms=tuple(term for one in said for term in one.missing_terms),
        no_token_allowed=any(one.no_token_allowed for one in said),
        sentences=tuple(zip(paragraph.sentences, said, strict=True)),
    )
