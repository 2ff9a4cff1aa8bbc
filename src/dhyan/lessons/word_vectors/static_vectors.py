"""Static word vectors average a word's senses: apple by hand, bank in trained vectors."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.data.primer.ambiguous_words import disambiguated_sentence
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.sentence_builder import SentenceBuilder
from dhyan.data.primer.vocabulary_subsets import ambiguous_words
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, Point, ScatterPlot, heatmap, table
from dhyan.insight.parse_matrix import parse_matrix, parse_vector
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_words
from dhyan.lessons.self_attention.self_attention_by_hand import (
    SelfAttentionByHand,
    self_attention_by_hand,
)
from dhyan.lessons.word_vectors.word_embeddings import learn_vectors, read_corpus
from dhyan.text.bag_of_words import words_in
from dhyan.text.nearest_neighbours import mean_direction, unit_vector
from dhyan.text.word_vectors import WordVectors

CLEAR = 0.1  # a difference between two cosines


@dataclass(frozen=True)
class BetweenSenses:
    """A word's vector between the words of two senses; cosines are with each group's mean.

    `groups` has the average cosines of each group's own words, each compared with the mean of the
    others. A share is 0 for a word as far from a group as the other group's words are, and 1 for
    one as near as its own; `position` is 0 at the first group's mean and 1 at the second's.
    """

    word: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    cosines: Float64[Tensor, " 2"]
    groups: Float64[Tensor, "2 2"]
    every: Float64[Tensor, " 2"]
    points: tuple[tuple[str, float, float], ...]
    position: float

    @property
    def cross(self) -> Float64[Tensor, " 2"]:
        """Average cosine of the other group's words with each group's mean."""
        return torch.stack((self.groups[1, 0], self.groups[0, 1]))

    @property
    def separated(self) -> bool:
        """Whether each group's own words are clearly nearer to its mean than the other group's.

        If not, the shares have a denominator near 0 and no meaning.
        """
        return bool((self.groups.diag() - self.cross > CLEAR).all())

    @property
    def shares(self) -> Float64[Tensor, " 2"]:
        """The word's share of each group."""
        return (self.cosines - self.cross) / (self.groups.diag() - self.cross)

    @property
    def in_between(self) -> bool:
        """Whether the word belongs to both groups and lies in the middle half between them."""
        return self.separated and bool((self.shares > 1 / 3).all()) and 0.25 < self.position < 0.75


def between_senses(
    vectors: WordVectors, word: str, first: Sequence[str], second: Sequence[str]
) -> BetweenSenses:
    """Cosines and position of a word between the words of two of its senses."""
    means = [torch.from_numpy(mean_direction(vectors, group)).double() for group in (first, second)]
    ends = torch.stack(means)
    vector = torch.from_numpy(unit_vector(vectors, word)).double()
    points = {word: ends @ vector}
    for row, group in enumerate((first, second)):
        for member in group:
            rest = [other for other in group if other != member]
            directions = ends.clone()
            directions[row] = torch.from_numpy(mean_direction(vectors, rest)).double()
            points[member] = directions @ torch.from_numpy(unit_vector(vectors, member)).double()
    groups = [
        torch.stack([points[member] for member in group]).mean(0) for group in (first, second)
    ]
    every = torch.nn.functional.normalize(torch.from_numpy(vectors.table).double(), dim=1)
    axis = ends[1] - ends[0]
    return BetweenSenses(
        word,
        tuple(first),
        tuple(second),
        points[word],
        torch.stack(groups),
        (every @ ends.T).mean(0),
        tuple((member, *cosines.tolist()) for member, cosines in points.items()),
        float((vector - ends[0]) @ axis / (axis @ axis)),
    )


def senses_verdict(measured: BetweenSenses, text: Text) -> str:
    """Verdict from the cosines; the position alone is not enough: a word far from both is half way."""
    if not measured.separated:
        return text("no_two_groups")
    (near, too), (far, away) = measured.cosines.tolist(), measured.cross.tolist()
    numbers = text("cosine_comparison", near=near, far=far, too=too, away=away)
    if measured.in_between:
        return text("between_senses", numbers=numbers)
    return text("not_between_senses", numbers=numbers)


BY_HAND, BY_RULE, BY_READER = "hand", "rule", ""
MONEY, RIVER = "money cheque loan fees salary bill", "river sea lake pond boat island"
LOOKED_AT = 10_000  # primer sentences with ambiguous words that are searched
Groups = tuple[tuple[str, ...], tuple[str, ...]]
"""Words of one sense, and words of another."""


def sense_words(
    word: str, first_sense: str | Sequence[str] | None, second_sense: str | Sequence[str] | None
) -> tuple[str, Groups]:
    """The words of both senses, and how they were chosen."""
    if first_sense is None and second_sense is None:
        if word == "bank":
            return BY_HAND, (parse_words(MONEY), parse_words(RIVER))
        return BY_RULE, cooccurring_nouns(word)
    if first_sense is None or second_sense is None:
        raise UserError("first_sense and second_sense: give words of both senses, or of neither")
    groups = parse_words(first_sense), parse_words(second_sense)
    for name, group in zip(("first_sense", "second_sense"), groups, strict=True):
        if len(group) < 2:
            raise UserError(
                f"{name}: has 1 word; give two or more, so that each has others beside it"
            )
    return BY_READER, groups


def with_vectors(groups: Groups, vectors: WordVectors, word: str) -> Groups:
    """The words of each group that have vectors."""
    first, second = (
        tuple(member for member in group if member in vectors.words) for group in groups
    )
    if min(len(first), len(second)) < 2:
        raise UserError(
            f"too few words beside {word!r} have vectors: give first_sense and second_sense"
        )
    return first, second


def cooccurring_nouns(word: str, count: int = 6) -> Groups:
    """For the first two senses of a word, as the primer labels them, the nouns that go with each.

    They are those that come in the most sentences with the word in one sense, and in none with it
    in the other.
    """
    if word not in ambiguous_words():
        raise UserError(
            f"the primer has no senses of {word!r}: give first_sense and second_sense, some words of "
            f"either, or choose a word of {', '.join(ambiguous_words())}"
        )
    lexicon = read_lexicon()
    senses = [{" ".join(form) for form in sense.noun.hindi} for sense in lexicon.senses[word][:2]]
    nouns = {
        form[0].lower()
        for noun in lexicon.words.values()
        for form in (noun.english, noun.plural)
        if len(form) == 1
    }
    counts: list[Counter[str]] = [Counter() for _ in senses]
    for seed in range(LOOKED_AT):
        pair = disambiguated_sentence(SentenceBuilder(seed))
        [check] = pair.checks
        if check.about == word:
            for counter, forms in zip(counts, senses, strict=True):
                counter.update(nouns.intersection(words_in(pair.english)) if check.right[0] in forms
                           else ())  # fmt: skip
    first, second = (
        tuple(noun for noun, _ in counter.most_common() if not rest[noun])[:count]
        for counter, rest in (counts, counts[::-1])
    )
    return first, second


SENTENCE = "Apple launched a new phone while I was eating an orange"
USES = {  # three sentences about the fruit, one about the company
    "An apple a day keeps the doctor away": (1, 0),
    "Apple is healthy": (1, 0),
    "Apple is better than orange": (1, 0),
    "Apple makes great phones": (0, 1),
}
STATIC = (0.9, 0.3)
MEANINGS = {"launched": (0.0, 0.8), "phone": (0.0, 0.9), "eating": (0.8, 0.0), "orange": (0.9, 0.0)}


@dataclass(frozen=True)
class ToyWord:
    """A two-dimensional word: its uses, their mean, its static vector, its vector in context.

    `running_means` are the means of the uses up to each sentence. A share is the second number's
    part of the sum of both.
    """

    word: str
    sentence: str
    use_sentences: tuple[str, ...]
    uses: Float64[Tensor, "N 2"]
    running_means: Float64[Tensor, "N 2"]
    mean: Float64[Tensor, " 2"]
    static: Float64[Tensor, " 2"]
    cosine: float
    around: SelfAttentionByHand
    context: Float64[Tensor, " 2"]
    static_share: float
    context_share: float

    def without(self, text: Text) -> str:
        """The words of the sentence that are left out, if any are."""
        left = [word for word in words_in(self.sentence) if word not in self.around.words]
        words = ", ".join(dict.fromkeys(left))
        return text("words_without_vectors", words=words) if left else ""


@dataclass(frozen=True)
class StaticVectors(LessonResult):
    """The toy word, and the same measurement with learned vectors.

    `word_choice` is how the words of both senses were selected: by "hand", by "rule" (see
    `cooccurring_nouns`), or "" if the reader gave them. If by hand, `ruled` is the rule's result.
    """

    toy: ToyWord
    measured: BetweenSenses
    source: str
    word_choice: str = BY_READER
    ruled: BetweenSenses | None = None

    def blocks(self, text: Text) -> Iterator[Block]:
        """The toy word, then the learned vectors."""
        yield from self._toy(text)
        yield from self._measured(text)

    def _toy(self, text: Text) -> Iterator[Block]:
        toy = self.toy
        aspects = (text("sense_taste"), text("sense_technology"))
        numbers = ", ".join(f"{value:.2f}" for value in toy.context)
        average = text("same_direction") if toy.cosine > 0.99 else text("other_direction")
        toward = (
            text("sense_technology")
            if toy.context_share > toy.static_share
            else text("sense_taste")
        )
        yield text.paragraph(
            "static_vector",
            word=toy.word,
            uses_count=len(toy.uses),
            average=average,
            cosine=toy.cosine,
        )
        yield table(text("uses"), toy.uses, toy.use_sentences, aspects, operator="→")
        yield table(text("mean"), toy.running_means, (), aspects)
        yield table(text("static_vector_title"), toy.static, (toy.word,), aspects)
        yield text.paragraph(
            "contextual_vector",
            sentence=toy.sentence,
            numbers=numbers,
            toward=toward,
            static_share=toy.static_share,
            context_share=toy.context_share,
            toy=toy.without(text),
        )
        if toy.context_share > toy.static_share:
            yield text.paragraph("which_sense_prevails", technology=toy.context_share > 0.5)
        yield heatmap(
            text("weights"),
            toy.around.weights[toy.around.words.index(toy.word)].unsqueeze(1),
            toy.around.words,
            operator="·",
        )
        yield table(text("context_words"), toy.around.embeddings, (), aspects, operator="→")
        yield table(text("vector_in_context"), toy.context, (toy.word,), aspects)

    def _measured(self, text: Text) -> Iterator[Block]:
        measured = self.measured
        groups = (f"{measured.first[0]} …", f"{measured.second[0]} …")
        origin = text("origin_file") if self.source else text("origin_primer")
        names = (measured.word, *groups, text("all_words"))
        rows = torch.cat(
            (measured.cosines.unsqueeze(0), measured.groups, measured.every.unsqueeze(0))
        )
        yield text.paragraph(
            "position_between_senses",
            word=measured.word,
            origin=origin,
            first_count=len(measured.first),
            first_word=measured.first[0],
            second_count=len(measured.second),
            second_word=measured.second[0],
            position=measured.position,
        )
        yield Paragraph(self._choice(text))
        yield table(text("cosine_with_group_mean"), rows, names, groups)
        yield ScatterPlot(
            text("cosine_axes", first_groups=groups[0], second_groups=groups[1]),
            tuple(
                Point(name, x, y, faint=index == 3, group=index)
                for index, (name, (x, y)) in enumerate(zip(names, rows.tolist(), strict=True))
            ),
            ((rows[1, 0].item(), rows[1, 1].item(), rows[2, 0].item(), rows[2, 1].item()),),
        )

    def _choice(self, text: Text) -> str:
        """How the words of both senses were chosen, and the verdict."""
        rule = text("selection_rule")
        verdict = senses_verdict(self.measured, text)
        if not self.word_choice:
            return verdict
        if self.word_choice == BY_RULE:
            return text("chosen_by_rule", rule=rule, verdict=verdict)
        if (ruled := self.ruled) is None:
            return text("chosen_by_hand", verdict=verdict)
        words = "; ".join(", ".join(group) for group in (ruled.first, ruled.second))
        near, every = (
            " / ".join(f"{cosine:.2f}" for cosine in cosines)
            for cosines in (ruled.cosines, ruled.every)
        )
        none = text("groups_not_separated")
        follows = senses_verdict(ruled, text) if ruled.separated else none
        return text(
            "chosen_by_hand_and_by_rule",
            rule=rule,
            words=words,
            near=near,
            every=every,
            follows=follows,
            verdict=verdict[0].lower() + verdict[1:],
        )


@lesson
def static_vectors(
    sentence: str = SENTENCE,
    *,
    about: str = "apple",
    uses: Mapping[str, object] = USES,
    static: Sequence[int | float] = STATIC,
    meanings: Mapping[str, object] = MEANINGS,
    word: str = "bank",
    first_sense: str | Sequence[str] | None = None,
    second_sense: str | Sequence[str] | None = None,
    corpus: str = "",
    vectors: str = "",
    sentences: int = 60_000,
    steps: int | None = None,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
) -> StaticVectors:
    """A word's static vector between its meanings; with its defaults it takes about 15 s.

    In the toy a vector is [taste, technology]: `static` is the vector of the word that the sentence
    is `about`, `uses` has the vector of each of its uses by its sentence, and `meanings` has those
    of the words around it; others are left out. Then the vector of `word`, learned or read as
    in `word_embeddings`, is compared with the words of `first_sense` and of `second_sense`. By
    default those of bank are chosen by hand, and those of another ambiguous word of the primer by
    the rule of `cooccurring_nouns`.
    """
    toy = _toy(sentence, about.lower(), uses, static, meanings)
    word = word.lower()
    word_choice, groups = sense_words(word, first_sense, second_sense)
    texts = read_corpus(corpus, sentences, seed)
    word_vectors = learn_vectors(texts, vectors, steps=steps, seed=seed, on_progress=on_progress)
    source = (vectors or corpus).rpartition("/")[2]
    if word_choice == BY_RULE:
        groups = with_vectors(groups, word_vectors, word)
    measured, ruled = between_senses(word_vectors, word, *groups), None
    if word_choice == BY_HAND and not source:
        ruled = between_senses(
            word_vectors, word, *with_vectors(cooccurring_nouns(word), word_vectors, word)
        )
    return StaticVectors(toy, measured, source, word_choice, ruled)


def _toy(
    sentence: str,
    word: str,
    uses: Mapping[str, object],
    static: Sequence[int | float],
    meanings: Mapping[str, object],
) -> ToyWord:
    vector = parse_vector("static", static, count=2)
    if not isinstance(uses, Mapping):
        raise UserError('uses: give two numbers for each sentence, as {"Apple is healthy": [1, 0]}')
    rows = parse_matrix("uses", list(uses.values()), columns=2)
    counts = torch.arange(1, len(rows) + 1, dtype=rows.dtype).unsqueeze(1)
    running_means = rows.cumsum(0) / counts
    mean = running_means[-1]
    if not isinstance(meanings, Mapping):
        raise UserError('meanings: give two numbers for each word, such as {"phone": [0, 0.9]}')
    known_meanings = {**meanings, word: vector.tolist()}
    words = [word for word in words_in(sentence) if word in known_meanings]
    if word not in words:
        raise UserError(
            f"the sentence does not have the word {word!r} it is about: add it, or give about=WORD"
        )
    if vector.min() < 0 or not vector.any():
        raise UserError("static: give two numbers from 0 on, not both of them 0")
    around = self_attention_by_hand(
        words,
        embeddings=parse_matrix("meanings", [known_meanings[word] for word in words], columns=2),
        scale=False,
    )
    context = around.outputs[words.index(word)]
    alike = torch.nn.functional.cosine_similarity(vector, mean, dim=0)
    return ToyWord(
        word,
        sentence,
        tuple(uses),
        rows,
        running_means,
        mean,
        vector,
        float(alike),
        around,
        context,
        _share(vector),
        _share(context),
    )


def _share(vector: Float64[Tensor, " 2"]) -> float:
    """The second number as a share of the sum of both."""
    return float(vector[1] / vector.sum())
