"""Words as vectors: learned from the primer or a text, or read from a file, and what lies near."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.data.primer import primer_twins
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.read_text import text_lines
from dhyan.errors import UserError
from dhyan.insight.blocks import Table, Words, table
from dhyan.lessons.given import whole, words_of
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.text.bag_of_words import vocabulary, words_in
from dhyan.text.nearest_neighbours import Near, vector_of
from dhyan.text.nearest_neighbours import analogy as analogous
from dhyan.text.nearest_neighbours import neighbours as nearest_to
from dhyan.text.skipgram import skip_gram
from dhyan.text.word_vectors import Vectors, most_frequent, read_vectors

WORDS = "mango king eat"
ANALOGY = "eating eat drink"
LONGEST = 14  # words of a sentence of the primer


@dataclass(frozen=True)
class Neighbours(Shown):
    """The words nearest to some, and how often a noun's nearest noun is of its own kind."""

    source: str
    known: int
    width: int
    words: tuple[str, ...]
    near: tuple[tuple[Near, ...], ...]
    shown: tuple[str, ...]
    cosines: Float64[Tensor, "W W"]
    asked: tuple[str, str, str]
    answers: tuple[Near, ...]
    nouns: int
    alike: float
    by_chance: float

    def story(self, say: Say) -> Story:
        """Neighbours first, then all cosines among them, then a sum of vectors."""
        a, b, c = self.asked
        return Story(
            say("Similar words, similar vectors", "मिलते-जुलते शब्द, मिलते-जुलते सदिश"),
            (
                Words(
                    say(
                        f"{self.known:,} words as {self.width} numbers each, {self._origin(say)}. "
                        "No number has a name; what a word is like shows in whom it lies near, "
                        "by the cosine of the angle between two vectors.",
                        f"{self.known:,} शब्द, हर एक {self.width} संख्याओं में, {self._origin(say)}। "
                        "किसी संख्या का कोई नाम नहीं; शब्द कैसा है, यह इससे दिखता है कि वह किनके पास "
                        "है; इसका माप दो सदिशों के बीच के कोण की कोज्या (cosine) है।",
                    )
                ),
                *(_listed(word, one) for word, one in zip(self.words, self.near, strict=True)),
                _listed(f"{a} − {b} + {c}", self.answers),
                Words(f"{self._kinds(say)} {self._answer(say)}".strip()),
                table(say("cosines", "कोज्याएँ"), self.cosines, self.shown, self.shown),
            ),
        )

    def _answer(self, say: Say) -> str:
        (a, b, c), (word, cosine) = self.asked, self.answers[0]
        return say(
            f"Nearest to {a} − {b} + {c} among all other words is {word} ({cosine:.2f}).",
            f"{a} − {b} + {c} के सबसे निकट, बाक़ी सब शब्दों में, {word} है ({cosine:.2f})।",
        )

    def _origin(self, say: Say) -> str:
        if self.source:
            return say(f"from {self.source}", f"{self.source} से")
        return say("learned from made-up sentences", "गढ़े गए वाक्यों से सीखे हुए")

    def _kinds(self, say: Say) -> str:
        if not self.nouns:
            return ""
        verdict = (
            say("similar words do lie together", "मिलते-जुलते शब्द सचमुच पास-पास हैं")
            if self.alike > 2 * self.by_chance
            else say("that shows little", "इससे विशेष कुछ सिद्ध नहीं होता")
        )
        return say(
            f"Of {self.nouns:,} nouns {self.alike:.0%} have as their nearest noun one of their own "
            f"kind (fruit, tools, people, …), by chance {self.by_chance:.0%} would: {verdict}.",
            f"{self.nouns:,} संज्ञाओं में से {self.alike:.0%} की निकटतम संज्ञा उनके अपने ही वर्ग (फल, औज़ार, "
            f"लोग, …) की है, संयोग से {self.by_chance:.0%} की होती: {verdict}।",
        )


def neighbours(
    words: str | Sequence[str] = WORDS,
    *,
    analogy: str | Sequence[str] = ANALOGY,
    corpus: str = "",
    vectors: str = "",
    most: int = 50_000,
    sentences: int = 60_000,
    count: int = 6,
    steps: int | None = None,
    seed: int = 1,
    hear: Callable[[str], None] | None = None,
) -> Neighbours:
    """Neighbours of words, and of a − b + c; with its defaults it takes about 15 s on two cores.

    Vectors are learned from a `corpus`, a text file with a sentence on each line, or from so many
    sentences of the primer. If a file of `vectors` is named (word2vec's or GloVe's), neighbours are
    looked for among the first `most` words in it, which are the most frequent, or among those of
    the corpus if one is named too.
    """
    asked = words_of(analogy)
    if len(asked) != 3:
        raise UserError(f"analogy: has {len(asked)} words; give three, as king man woman")
    count = whole("count", count)
    if vectors and not corpus:
        found = most_frequent(vectors, whole("most", most, least=2))
    else:
        texts = read_corpus(corpus, sentences, seed)
        found = learned(texts, vectors, steps=steps, seed=seed, hear=hear)
    chosen = tuple(_as_known(word, found) for word in words_of(words))
    lists = tuple(nearest_to(found, word, count=count) for word in chosen)
    shown = vocabulary(
        [(word, *(one.word for one in few[:2])) for word, few in zip(chosen, lists, strict=True)]
    )
    unit = np.stack([vector_of(found, word) for word in shown]).astype(np.float64)
    return Neighbours(
        Path(vectors or corpus).name,
        len(found.words),
        found.width,
        chosen,
        lists,
        shown,
        torch.from_numpy(unit @ unit.T),
        (asked[0], asked[1], asked[2]),
        analogous(found, *(_as_known(word, found) for word in asked), count=count),
        *(kinds(found) if not corpus else (0, 0.0, 0.0)),
    )


def _as_known(word: str, vectors: Vectors) -> str:
    """A word as the vectors spell it: as it stands, else in lower case."""
    return word if word in vectors.words else word.lower()


def read_corpus(path: str, sentences: int, seed: int) -> list[list[str]]:
    """The sentences of a text file, or so many of the primer, as words in lower case."""
    if path:
        return [words_in(line) for line in text_lines(Path(path))]
    if not isinstance(sentences, int) or sentences < 1:
        raise UserError(f"sentences is {sentences!r}; give a whole number from 1 on")
    made = primer_twins("train", seed=seed, longest=LONGEST)
    return [words_in(twin.english) for twin in islice(made, sentences)]


def learned(
    texts: Sequence[Sequence[str]],
    path: str,
    *,
    steps: int | None,
    seed: int,
    hear: Callable[[str], None] | None,
) -> Vectors:
    """Vectors of the texts' words: learned from the texts, or read from a file if one is named."""
    if not path:
        return skip_gram(texts, steps=steps, seed=seed, hear=hear)
    found = read_vectors(path, vocabulary(texts))
    if len(found.words) < 2:
        raise UserError(
            f"{path}: has vectors of {len(found.words)} words of the text; give a larger one"
        )
    return found


def kinds(vectors: Vectors) -> tuple[int, float, float]:
    """How many nouns of the primer have vectors, and which share's nearest noun is of their kind.

    The last number is the share there would be if the nearest noun were drawn by lot.
    """
    lexicon = read_lexicon()
    kind = {
        noun.english[0]: noun.domain for noun in lexicon.words.values() if len(noun.english) == 1
    }
    known = {word: kind[word] for word in vectors.words if word in kind}
    if len(known) < 2:
        return 0, 0.0, 0.0
    of_kind = np.array([*known.values()])
    unit = np.stack([vector_of(vectors, word) for word in known])
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    alike = of_kind == of_kind[cosines.argmax(1)]
    same = (of_kind[:, None] == of_kind).sum(1) - 1
    return len(known), float(alike.mean()), float(same.mean() / (len(known) - 1))


def _listed(title: str, found: Sequence[Near]) -> Table:
    """Words with their cosines, nearest first."""
    return table(title, [[one.cosine] for one in found], [one.word for one in found])
