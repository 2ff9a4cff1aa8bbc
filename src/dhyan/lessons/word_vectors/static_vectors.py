"""One vector for all uses of a word, their average: apple in two numbers, bank as measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Plane, Point, Words, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix, parse_vector
from dhyan.lessons.catalogue import Text
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.self_attention.self_attention_by_hand import ByHand, self_attention_by_hand
from dhyan.lessons.word_vectors.between_senses import Between, between, verdict
from dhyan.lessons.word_vectors.senses_chosen import (
    BY_HAND,
    BY_RULE,
    GIVEN,
    beside_each_sense,
    chosen_words,
    with_vectors,
)
from dhyan.lessons.word_vectors.word_embeddings import learned, read_corpus
from dhyan.text.bag_of_words import words_in

SENTENCE = "Apple launched a new phone while I was eating an orange"
USES = ((1, 0), (1, 0), (1, 0), (0, 1))  # three sentences about the fruit, one about the company
STATIC = (0.9, 0.3)
MEANINGS = {"launched": (0.0, 0.8), "phone": (0.0, 0.9), "eating": (0.8, 0.0), "orange": (0.9, 0.0)}


@dataclass(frozen=True)
class Toy:
    """A word in two numbers: its uses, their mean, the one vector, and what a sentence makes of it.

    A share is the part of the second number in the sum of both.
    """

    word: str
    sentence: str
    uses: Float64[Tensor, "N 2"]
    mean: Float64[Tensor, " 2"]
    static: Float64[Tensor, " 2"]
    cosine: float
    around: ByHand
    context: Float64[Tensor, " 2"]
    static_share: float
    context_share: float

    def without(self, text: Text) -> str:
        """The words of the sentence that are left out, if any are."""
        left = [one for one in words_in(self.sentence) if one not in self.around.words]
        words = ", ".join(dict.fromkeys(left))
        return text("static_vectors.left_out_having_numbers", words=words) if left else ""


@dataclass(frozen=True)
class AverageMeaning(LessonResult):
    """The toy, and the same question put to vectors that were learned.

    `chosen` says how the words of both senses were: by "hand", by "rule" (see `beside_each_sense`),
    or not at all, if they were given. Where it was by hand, `ruled` is what the rule finds.
    """

    toy: Toy
    measured: Between
    source: str
    chosen: str = GIVEN
    ruled: Between | None = None

    def page(self, text: Text) -> Page:
        """First two numbers, then as many as were learned."""
        return Page(text("static_vectors.title"), (*self._toy(text), *self._measured(text)))

    def _toy(self, text: Text) -> tuple[Part, ...]:
        toy = self.toy
        aspects = (text("static_vectors.taste"), text("static_vectors.technology"))
        numbers = ", ".join(f"{value:.2f}" for value in toy.context)
        average = (
            text("static_vectors.points_mean")
            if toy.cosine > 0.99
            else text("static_vectors.points_elsewhere_mean")
        )
        toward = (
            text("static_vectors.technology")
            if toy.context_share > toy.static_share
            else text("static_vectors.taste")
        )
        return (
            Words(
                text(
                    "static_vectors.static_vector_same_sentence",
                    word=toy.word,
                    uses_count=len(toy.uses),
                    average=average,
                    cosine=toy.cosine,
                )
            ),
            table(text("static_vectors.uses"), toy.uses, (), aspects, after="→"),
            table(text("static_vectors.mean"), toy.mean, (), aspects),
            table(text("static_vectors.static"), toy.static, (toy.word,), aspects),
            Words(
                text(
                    "static_vectors.mixed_words_around_softmax",
                    sentence=toy.sentence,
                    numbers=numbers,
                    toward=toward,
                    static_share=toy.static_share,
                    context_share=toy.context_share,
                    toy=toy.without(text),
                )
            ),
            table(
                text("static_vectors.weights"),
                toy.around.weights[toy.around.words.index(toy.word)].unsqueeze(1),
                toy.around.words,
                kind="weights",
                after="·",
            ),
            table(
                text("static_vectors.words_around"), toy.around.embeddings, (), aspects, after="→"
            ),
            table(text("static_vectors.context"), toy.context, (toy.word,), aspects),
        )

    def _measured(self, text: Text) -> tuple[Part, ...]:
        found = self.measured
        groups = (f"{found.one[0]} …", f"{found.other[0]} …")
        origin = (
            text("static_vectors.from", source=self.source)
            if self.source
            else text("static_vectors.learned_made_up_sentences")
        )
        names = (found.word, *groups, text("static_vectors.words"))
        rows = torch.cat((found.cosines.unsqueeze(0), found.groups, found.every.unsqueeze(0)))
        return (
            Words(
                text(
                    "static_vectors.vectors_way_mean_words",
                    word=found.word,
                    origin=origin,
                    one_count=len(found.one),
                    first_one=found.one[0],
                    other_count=len(found.other),
                    first_other=found.other[0],
                    place=found.place,
                )
            ),
            Words(self._choice(text)),
            table(text("static_vectors.cosine_mean"), rows, names, groups),
            Plane(
                text(
                    "static_vectors.cosines_across_up",
                    first_groups=groups[0],
                    second_groups=groups[1],
                ),
                tuple(
                    Point(name, x, y, faint=place == 3, kind=place)
                    for place, (name, (x, y)) in enumerate(zip(names, rows.tolist(), strict=True))
                ),
                ((rows[1, 0].item(), rows[1, 1].item(), rows[2, 0].item(), rows[2, 1].item()),),
            ),
        )

    def _choice(self, text: Text) -> str:
        """How the words of both senses were chosen, else what would be, and what follows."""
        rule = text("static_vectors.nouns_come_most_often")
        held = verdict(self.measured, text)
        if not self.chosen:
            return held
        if self.chosen == BY_RULE:
            return text("static_vectors.words_2", rule=rule, held=held)
        if (found := self.ruled) is None:
            return text("static_vectors.words_chosen_hand", held=held)
        words = "; ".join(", ".join(group) for group in (found.one, found.other))
        near, every = (
            " / ".join(f"{one:.2f}" for one in cosines) for cosines in (found.cosines, found.every)
        )
        none = text("static_vectors.form_two_groups")
        follows = verdict(found, text) if found.apart else none
        return text(
            "static_vectors.words_chosen_hand_after",
            rule=rule,
            words=words,
            near=near,
            every=every,
            follows=follows,
            held=held[0].lower() + held[1:],
        )


def static_vectors(
    sentence: str = SENTENCE,
    *,
    about: str = "apple",
    uses: Matrix = USES,
    static: Sequence[int | float] = STATIC,
    meanings: Mapping[str, object] = MEANINGS,
    word: str = "bank",
    one: str | Sequence[str] | None = None,
    other: str | Sequence[str] | None = None,
    corpus: str = "",
    vectors: str = "",
    sentences: int = 60_000,
    steps: int | None = None,
    seed: int = 1,
    hear: Callable[[str], None] | None = None,
) -> AverageMeaning:
    """A word's static vector between its meanings; with its defaults it takes about 15 s.

    In the toy a vector is [taste, technology]: `static` is the notes' vector of the word that the
    sentence is `about`, `uses` has a row for each of its uses, and `meanings` those of the words
    around it (these numbers are ours); words without a meaning are left out. Then the vector of
    `word`, learned or read as in `neighbours`, is held against the words of `one` of its senses
    and of the `other`. Not given, those of bank were chosen by hand, and of other words of several
    senses the primer's own are taken by the rule of `beside_each_sense`.
    """
    toy = _toy(sentence, about.lower(), uses, static, meanings)
    word = word.lower()
    chosen, groups = chosen_words(word, one, other)
    texts = read_corpus(corpus, sentences, seed)
    found = learned(texts, vectors, steps=steps, seed=seed, hear=hear)
    source = (vectors or corpus).rpartition("/")[2]
    if chosen == BY_RULE:
        groups = with_vectors(groups, found, word)
    measured, ruled = between(found, word, *groups), None
    if chosen == BY_HAND and not source:
        ruled = between(found, word, *with_vectors(beside_each_sense(word), found, word))
    return AverageMeaning(toy, measured, source, chosen, ruled)


def _toy(
    sentence: str,
    word: str,
    uses: Matrix,
    static: Sequence[int | float],
    meanings: Mapping[str, object],
) -> Toy:
    one = parse_vector("static", static, count=2)
    rows = parse_matrix("uses", uses, columns=2)
    mean = rows.mean(0)
    if not isinstance(meanings, Mapping):
        raise UserError('meanings: give two numbers for each word, such as {"phone": [0, 0.9]}')
    given = {**meanings, word: one.tolist()}
    said = [each for each in words_in(sentence) if each in given]
    if word not in said:
        raise UserError(f"the sentence does not have the word {word!r} it is about: add it")
    if one.min() < 0 or not one.any():
        raise UserError("static: give two numbers from 0 on, not both of them 0")
    around = self_attention_by_hand(
        said,
        embeddings=parse_matrix("meanings", [given[each] for each in said], columns=2),
        scale=False,
    )
    context = around.outputs[said.index(word)]
    alike = torch.nn.functional.cosine_similarity(one, mean, dim=0)
    return Toy(
        word, sentence, rows, mean, one, float(alike), around, context, _share(one), _share(context)
    )


def _share(vector: Float64[Tensor, " 2"]) -> float:
    """The second number's part of the sum of both."""
    return float(vector[1] / vector.sum())
