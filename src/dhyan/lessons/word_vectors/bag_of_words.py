"""Bag of words: one-hot vectors, counts, presence and TF-IDF."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, heatmap, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson
from dhyan.text import bag_of_words as counting

TEXTS = "mat cat mat / cat rat rat"


@dataclass(frozen=True)
class BagOfWords(LessonResult):
    """Each text as vectors, one number for every word of the vocabulary."""

    texts: tuple[tuple[str, ...], ...]
    vocabulary: tuple[str, ...]
    one_hot: tuple[Float64[Tensor, "_ V"], ...]
    counts: Float64[Tensor, "N V"]
    presence: Float64[Tensor, "N V"]
    rarity: Float64[Tensor, " V"]
    tf_idf: Float64[Tensor, "N V"]

    def blocks(self, text: Text) -> Iterator[Block]:
        """One-hot words, then bags of words, then TF-IDF."""
        rows = tuple(str(number) for number in range(1, len(self.texts) + 1))
        vocabulary, n = self.vocabulary, len(self.texts)
        hot = tuple(
            table(f"{name}: one-hot", vectors, words, vocabulary)
            for name, words, vectors in zip(rows, self.texts, self.one_hot, strict=True)
        )
        yield text.paragraph("definition")
        yield from hot
        yield table(text("counts"), self.counts, rows, vocabulary)
        yield table(text("presence"), self.presence, rows, vocabulary)
        yield text.paragraph("tf_idf", n=n)
        yield table(text("inverse_document_frequency"), self.rarity, (), vocabulary, digits=3)
        yield heatmap("TF-IDF", self.tf_idf, rows, vocabulary, digits=3)


@lesson
def bag_of_words(
    sentence: str | Sequence[str] = TEXTS, *, vocabulary: str | Sequence[str] = ()
) -> BagOfWords:
    """Bags of words of texts separated by `/`, over their own words or a given vocabulary.

    >>> bag_of_words("mat cat mat / cat rat rat").counts.tolist()
    [[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]]
    """
    sentences = sentence.split("/") if isinstance(sentence, str) else sentence
    texts = tuple(tuple(counting.words_in(sentence)) for sentence in sentences)
    if not texts:
        raise UserError("there is no text: give at least one")
    for number, text in enumerate(texts, 1):
        if not text:
            raise UserError(f"text {number} has no words: give it at least one")
    fixed_vocabulary = vocabulary.split() if isinstance(vocabulary, str) else vocabulary
    vocabulary_words = tuple(fixed_vocabulary) or counting.vocabulary(texts)
    for word in vocabulary_words:
        if vocabulary_words.count(word) > 1:
            raise UserError(f"the vocabulary has {word!r} twice: write it once")
    word_counts = counting.word_counts(texts, vocabulary_words)
    return BagOfWords(
        texts,
        vocabulary_words,
        tuple(counting.one_hot(text, vocabulary_words) for text in texts),
        word_counts,
        counting.presence(word_counts),
        counting.idf(word_counts),
        counting.tf_idf(word_counts),
    )
