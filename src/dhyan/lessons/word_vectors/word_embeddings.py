"""Word embeddings, learned by skip-gram or read from a file: nearest neighbours and analogies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.data.primer import generate_sentences
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.text_lines import read_lines
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, Table, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_int, parse_words
from dhyan.text.bag_of_words import vocabulary, words_in
from dhyan.text.nearest_neighbours import Neighbour, unit_vector
from dhyan.text.nearest_neighbours import analogy as analogous
from dhyan.text.nearest_neighbours import neighbours as nearest_to
from dhyan.text.skipgram import train_skip_gram
from dhyan.text.word_vectors import WordVectors, read_most_frequent, read_vectors

WORDS = "mango king eat"
ANALOGY = "eating eat drink"
LONGEST = 14  # words of a sentence of the primer


@dataclass(frozen=True)
class WordEmbeddings(LessonResult):
    """Nearest neighbours, an analogy, and the share of nouns whose nearest noun has their domain."""

    source: str
    vocabulary_size: int
    width: int
    words: tuple[str, ...]
    near: tuple[tuple[Neighbour, ...], ...]
    compared_words: tuple[str, ...]
    cosines: Float64[Tensor, "W W"]
    analogy: tuple[str, ...]
    answers: tuple[Neighbour, ...]
    nouns: int
    same_domain: float
    same_domain_by_chance: float

    def blocks(self, text: Text) -> Iterator[Block]:
        """Neighbours and the analogy, then all cosines."""
        yield text.paragraph("setup", origin=self._origin(text))
        for word, neighbours in zip(self.words, self.near, strict=True):
            yield _neighbour_table(word, neighbours)
        if self.analogy:
            a, b, c = self.analogy
            yield _neighbour_table(f"{a} − {b} + {c}", self.answers)
        if verdict := f"{self._domain_verdict(text)} {self._answer(text)}".strip():
            yield Paragraph(verdict)
        yield table(
            text("cosine_similarities"), self.cosines, self.compared_words, self.compared_words
        )

    def _answer(self, text: Text) -> str:
        if not self.analogy:
            return ""
        (a, b, c), (word, cosine) = self.analogy, self.answers[0]
        return text("analogy_answer", a=a, b=b, c=c, word=word, cosine=cosine)

    def _origin(self, text: Text) -> str:
        if self.source:
            return text("origin_file")
        return text("origin_primer")

    def _domain_verdict(self, text: Text) -> str:
        if not self.nouns:
            return ""
        verdict = (
            text("domains_cluster")
            if self.same_domain > 2 * self.same_domain_by_chance
            else text("domains_do_not_cluster")
        )
        return text("same_domain_share", verdict=verdict)


@lesson
def word_embeddings(
    words: str | Sequence[str] | None = None,
    *,
    analogy: str | Sequence[str] | None = None,
    corpus: str = "",
    vectors: str = "",
    most: int = 50_000,
    sentences: int = 60_000,
    count: int = 6,
    min_count: int = 5,
    steps: int | None = None,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
) -> WordEmbeddings:
    """Neighbours of words, and of a − b + c; with its defaults it takes about 15 s on two cores.

    Vectors are learned from a `corpus`, a text file with a sentence on each line, or from so many
    sentences of the primer; a word needs `min_count` occurrences. If a file of `vectors` is named
    (word2vec's or GloVe's), neighbours are looked for among the first `most` words in it, which are
    the most frequent, or among those of the corpus if one is named too. `words` and `analogy` have
    defaults for the primer alone; with a corpus or vectors of your own, give the words, and an
    analogy if you want one.
    """
    own = bool(corpus or vectors)
    if words is None and own:
        raise UserError("words: give the words whose neighbours you want, as words='cat river'")
    if analogy is None:
        analogy = () if own else ANALOGY
    analogy_words = parse_words(analogy) if analogy else ()
    if analogy_words and len(analogy_words) != 3:
        raise UserError(f"analogy: has {len(analogy_words)} words; give three, as king man woman")
    count = parse_int("count", count)
    if vectors and not corpus:
        word_vectors = read_most_frequent(vectors, parse_int("most", most, least=2))
    else:
        texts = read_corpus(corpus, sentences, seed)
        word_vectors = learn_vectors(
            texts,
            vectors,
            min_count=parse_int("min_count", min_count),
            steps=steps,
            seed=seed,
            on_progress=on_progress,
        )
    chosen = tuple(_vocabulary_form(word, word_vectors) for word in parse_words(words or WORDS))
    lists = tuple(nearest_to(word_vectors, word, count=count) for word in chosen)
    compared_words = vocabulary(
        [
            (word, *(neighbour.word for neighbour in neighbours[:2]))
            for word, neighbours in zip(chosen, lists, strict=True)
        ]
    )
    unit = np.stack([unit_vector(word_vectors, word) for word in compared_words]).astype(np.float64)
    return WordEmbeddings(
        Path(vectors or corpus).name,
        len(word_vectors.words),
        word_vectors.width,
        chosen,
        lists,
        compared_words,
        torch.from_numpy(unit @ unit.T),
        analogy_words,
        analogous(
            word_vectors,
            *(_vocabulary_form(word, word_vectors) for word in analogy_words),
            count=count,
        )
        if analogy_words
        else (),
        *(same_domain_share(word_vectors) if not corpus else (0, 0.0, 0.0)),
    )


def _vocabulary_form(word: str, vectors: WordVectors) -> str:
    """A word as spelled in the vocabulary: unchanged, or else in lower case."""
    return word if word in vectors.words else word.lower()


def read_corpus(path: str, sentences: int, seed: int) -> list[list[str]]:
    """The sentences of a text file, or `sentences` of the primer, as words in lower case."""
    if path:
        return [words_in(line) for line in read_lines(Path(path))]
    if not isinstance(sentences, int) or sentences < 1:
        raise UserError(f"sentences is {sentences!r}; give a whole number from 1 on")
    generated = generate_sentences("train", seed=seed, max_words=LONGEST, everyday_share=0)
    return [words_in(pair.english) for pair in islice(generated, sentences)]


def learn_vectors(
    texts: Sequence[Sequence[str]],
    path: str,
    *,
    min_count: int = 5,
    steps: int | None,
    seed: int,
    on_progress: ProgressCallback | None,
) -> WordVectors:
    """Vectors of the texts' words: learned from the texts, or read from a file if one is named."""
    if not path:
        return train_skip_gram(
            texts, min_count=min_count, steps=steps, seed=seed, on_progress=on_progress
        )
    vectors = read_vectors(path, vocabulary(texts))
    if len(vectors.words) < 2:
        raise UserError(
            f"{path}: has vectors of {len(vectors.words)} words of the text; give a larger one"
        )
    return vectors


def same_domain_share(vectors: WordVectors) -> tuple[int, float, float]:
    """The number of primer nouns with vectors, and the share whose nearest noun has their domain.

    The last number is the expected share for a random noun.
    """
    lexicon = read_lexicon()
    domain_of = {
        noun.english[0]: noun.domain for noun in lexicon.words.values() if len(noun.english) == 1
    }
    domains = {word: domain_of[word] for word in vectors.words if word in domain_of}
    if len(domains) < 2:
        return 0, 0.0, 0.0
    domain_labels = np.array([*domains.values()])
    unit = np.stack([unit_vector(vectors, word) for word in domains])
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    alike = domain_labels == domain_labels[cosines.argmax(1)]
    same = (domain_labels[:, None] == domain_labels).sum(1) - 1
    return len(domains), float(alike.mean()), float(same.mean() / (len(domains) - 1))


def _neighbour_table(title: str, neighbours: Sequence[Neighbour]) -> Table:
    """Words with their cosines, nearest first."""
    return table(
        title,
        [[neighbour.cosine] for neighbour in neighbours],
        [neighbour.word for neighbour in neighbours],
    )
