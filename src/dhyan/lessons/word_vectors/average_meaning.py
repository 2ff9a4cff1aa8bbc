"""One vector for all uses of a word, their average: apple in two numbers, bank as measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Plane, Point, Words, table
from dhyan.lessons.given import Matrix, matrix, row
from dhyan.lessons.self_attention.by_hand import ByHand, by_hand
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.lessons.word_vectors.between_senses import Between, between, verdict
from dhyan.lessons.word_vectors.neighbours import learned, read_corpus
from dhyan.lessons.word_vectors.senses_chosen import (
    BY_HAND,
    BY_RULE,
    GIVEN,
    beside_each_sense,
    chosen_words,
    with_vectors,
)
from dhyan.text.bag_of_words import words_in

SENTENCE = "Apple launched a new phone while I was eating an orange"
USES = ((1, 0), (1, 0), (1, 0), (0, 1))  # three sentences about the fruit, one about the company
STATIC = (0.9, 0.3)
MEANINGS = {
    "launched": (0.0, 0.8),
    "phone": (0.0, 0.9),
    "eating": (0.8, 0.0),
    "orange": (0.9, 0.0),
}


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

    def without(self, say: Say) -> str:
        """The words of the sentence that are left out, if any are."""
        left = [one for one in words_in(self.sentence) if one not in self.around.words]
        words = ", ".join(dict.fromkeys(left))
        return (
            say(
                f" Left out, having no numbers: {words}.",
                f" बिना संख्याओं वाले ये शब्द छोड़ दिए गए हैं: {words}।",
            )
            if left
            else ""
        )


@dataclass(frozen=True)
class AverageMeaning(Shown):
    """The toy, and the same question put to vectors that were learned.

    `chosen` says how the words of both senses were: by "hand", by "rule" (see `beside_each_sense`),
    or not at all, if they were given. Where it was by hand, `ruled` is what the rule finds.
    """

    toy: Toy
    measured: Between
    source: str
    chosen: str = GIVEN
    ruled: Between | None = None

    def story(self, say: Say) -> Story:
        """First two numbers, then as many as were learned."""
        return Story(
            say("One vector, an average meaning", "एक सदिश, औसत अर्थ"),
            (*self._toy(say), *self._measured(say)),
        )

    def _toy(self, say: Say) -> tuple[Part, ...]:
        toy = self.toy
        aspects = (say("taste", "स्वाद"), say("technology", "तकनीक"))
        numbers = ", ".join(f"{value:.2f}" for value in toy.context)
        average = (
            say("it points where their mean does", "उसकी दिशा वही है जो उनके माध्य की")
            if toy.cosine > 0.99
            else say("it points elsewhere than their mean", "उसकी दिशा उनके माध्य से अलग है")
        )
        toward = (
            say("technology", "तकनीक")
            if toy.context_share > toy.static_share
            else say("taste", "स्वाद")
        )
        return (
            Words(
                say(
                    f"{toy.word} has one static vector, the same in every sentence. Held against "
                    f"{len(toy.uses)} uses, {average} (cosine {toy.cosine:.3f}).",
                    f"{toy.word} का एक ही स्थिर सदिश है, हर वाक्य में वही। उसके प्रयोगों "
                    f"({len(toy.uses)}) से मिलाएँ तो {average} (कोज्या {toy.cosine:.3f})।",
                )
            ),
            table(say("uses", "प्रयोग"), toy.uses, (), aspects, after="→"),
            table(say("mean", "माध्य"), toy.mean, (), aspects),
            table(say("static", "स्थिर"), toy.static, (toy.word,), aspects),
            Words(
                say(
                    f"“{toy.sentence}”: mixed with the words around it by softmax(X Xᵀ) X it "
                    f"becomes [{numbers}], turned toward {toward}: the share of technology goes "
                    f"from {toy.static_share:.0%} to {toy.context_share:.0%}.{toy.without(say)}",
                    f"“{toy.sentence}”: softmax(X Xᵀ) X से आसपास के शब्दों के साथ मिलकर वह "
                    f"[{numbers}] हो जाता है और {toward} की ओर मुड़ता है: तकनीक का हिस्सा "
                    f"{toy.static_share:.0%} से {toy.context_share:.0%} हो जाता है।"
                    f"{toy.without(say)}",
                )
            ),
            table(
                say("weights", "भार"),
                toy.around.weights[toy.around.words.index(toy.word)].unsqueeze(1),
                toy.around.words,
                kind="weights",
                after="·",
            ),
            table(
                say("the words around it", "आसपास के शब्द"),
                toy.around.embeddings,
                (),
                aspects,
                after="→",
            ),
            table(say("in context", "संदर्भ में"), toy.context, (toy.word,), aspects),
        )

    def _measured(self, say: Say) -> tuple[Part, ...]:
        found = self.measured
        groups = (f"{found.one[0]} …", f"{found.other[0]} …")
        origin = (
            say(f"from {self.source}", f"{self.source} के सदिशों में")
            if self.source
            else say("learned from made-up sentences", "गढ़े गए वाक्यों से सीखे हुए सदिशों में")
        )
        names = (found.word, *groups, say("all words", "सब शब्द"))
        rows = torch.cat((found.cosines.unsqueeze(0), found.groups, found.every.unsqueeze(0)))
        return (
            Words(
                say(
                    f"{found.word} in vectors {origin}: on the way from the mean of "
                    f"{len(found.one)} words like {found.one[0]} (0) to that of "
                    f"{len(found.other)} words like {found.other[0]} (1) it stands at "
                    f"{found.place:.2f}.",
                    f"{found.word}, {origin}: {found.one[0]} जैसे {len(found.one)} शब्दों के माध्य "
                    f"(0) से {found.other[0]} जैसे {len(found.other)} शब्दों के माध्य (1) तक के रास्ते "
                    f"पर वह {found.place:.2f} पर है।",
                )
            ),
            Words(self._choice(say)),
            table(
                say("cosine with the mean of", "इनके माध्य से कोज्या"),
                rows,
                names,
                groups,
            ),
            Plane(
                say(
                    f"cosines: with {groups[0]} across, with {groups[1]} up",
                    f"कोज्या: क्षैतिज अक्ष पर {groups[0]} से, ऊर्ध्वाधर पर {groups[1]} से",
                ),
                tuple(
                    Point(name, x, y, faint=place == 3, kind=place)
                    for place, (name, (x, y)) in enumerate(zip(names, rows.tolist(), strict=True))
                ),
                ((rows[1, 0].item(), rows[1, 1].item(), rows[2, 0].item(), rows[2, 1].item()),),
            ),
        )

    def _choice(self, say: Say) -> str:
        """How the words of both senses were chosen, else what would be, and what follows."""
        rule = say(
            "the nouns that come most often beside it in one sense and never in the other",
            "वे संज्ञाएँ जो एक अर्थ में उसके साथ सबसे अधिक आती हैं और दूसरे में कभी नहीं",
        )
        held = verdict(self.measured, say)
        if not self.chosen:
            return held
        if self.chosen == BY_RULE:
            return say(f"The words are {rule}. {held}", f"ये शब्द हैं: {rule}। {held}")
        if (found := self.ruled) is None:
            return say(f"These words were chosen by hand. {held}", f"ये शब्द हाथ से चुने गए हैं। {held}")
        words = "; ".join(", ".join(group) for group in (found.one, found.other))
        near, every = (
            " / ".join(f"{one:.2f}" for one in cosines) for cosines in (found.cosines, found.every)
        )
        none = say("These form no two groups.", "इनसे दो समूह नहीं बनते।")
        follows = verdict(found, say) if found.apart else none
        return say(
            "These words were chosen by hand, after looking, as ones that hold together and are "
            f"also used without it. By a rule instead, {rule} ({words}), its cosines are {near}, "
            f"and those of all words {every}. {follows} For the words chosen by hand only: "
            f"{held[0].lower()}{held[1:]}",
            "ये शब्द देख-परखकर हाथ से चुने गए हैं, ऐसे जो आपस में निकट हैं और उसके बिना भी आते हैं। नियम से चुनें, "
            f"यानी {rule} ({words}), तो उसकी कोज्याएँ {near} हैं, और सब शब्दों की {every}। {follows} "
            f"केवल हाथ से चुने गए शब्दों के लिए: {held}",
        )


def average_meaning(
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
    one = row("static", static, count=2)
    rows = matrix("uses", uses, columns=2)
    mean = rows.mean(0)
    if not isinstance(meanings, Mapping):
        raise UserError('meanings: give two numbers for each word, such as {"phone": [0, 0.9]}')
    given = {**meanings, word: one.tolist()}
    said = [each for each in words_in(sentence) if each in given]
    if word not in said:
        raise UserError(f"the sentence does not have the word {word!r} it is about: add it")
    if one.min() < 0 or not one.any():
        raise UserError("static: give two numbers from 0 on, not both of them 0")
    around = by_hand(
        said,
        embeddings=matrix("meanings", [given[each] for each in said], columns=2),
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
