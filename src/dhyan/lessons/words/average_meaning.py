"""One vector for all uses of a word, their average: apple in two numbers, bank as measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.faults import Fault
from dhyan.insight.parts import Part, Plane, Point, Words, table
from dhyan.lessons.given import Matrix, matrix, words_of
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.lessons.within.by_hand import ByHand, by_hand
from dhyan.lessons.words.between_senses import Between, between
from dhyan.lessons.words.neighbours import learned, read_corpus
from dhyan.text.counts import words_in

SENTENCE = "Apple launched a new phone while I was eating an orange"
USES = ((1, 0), (1, 0), (1, 0), (0, 1))  # three sentences about the fruit, one about the company
STATIC = (0.9, 0.3)
MONEY, RIVER = "money cheque loan fees salary bill", "river sea lake pond boat island"
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


@dataclass(frozen=True)
class AverageMeaning(Shown):
    """The toy, and the same question put to vectors that were learned."""

    toy: Toy
    measured: Between
    source: str

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
                    f"{toy.word} का एक ही स्थिर सदिश है, हर वाक्य में वही। {len(toy.uses)} प्रयोगों के "
                    f"सामने रखें तो {average} (कोज्या {toy.cosine:.3f})।",
                )
            ),
            table(say("uses", "प्रयोग"), toy.uses, (), aspects, after="→"),
            table(say("mean", "माध्य"), toy.mean, (), aspects),
            table(say("static", "स्थिर"), toy.static, (toy.word,), aspects),
            Words(
                say(
                    f"“{toy.sentence}”: mixed with the words around it by softmax(X Xᵀ) X it "
                    f"becomes [{numbers}], turned toward {toward}: the share of technology goes "
                    f"from {toy.static_share:.0%} to {toy.context_share:.0%}.",
                    f"“{toy.sentence}”: softmax(X Xᵀ) X से आसपास के शब्दों के साथ मिलकर वह "
                    f"[{numbers}] हो जाता है और {toward} की ओर मुड़ता है: तकनीक का हिस्सा "
                    f"{toy.static_share:.0%} से {toy.context_share:.0%} हो जाता है।",
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
            else say("learned from made-up sentences", "बनाए गए वाक्यों से सीखे हुए सदिशों में")
        )
        names = (found.word, *groups, say("all words", "सब शब्द"))
        rows = torch.cat((found.cosines.unsqueeze(0), found.groups, found.every.unsqueeze(0)))
        return (
            Words(
                say(
                    f"{found.word} in vectors {origin}: on the way from the mean of "
                    f"{len(found.one)} words like {found.one[0]} (0) to that of "
                    f"{len(found.other)} words like {found.other[0]} (1) it stands at "
                    f"{found.place:.2f}. {_verdict(found, say)}",
                    f"{found.word}, {origin}: {found.one[0]} जैसे {len(found.one)} शब्दों के माध्य "
                    f"(0) से {found.other[0]} जैसे {len(found.other)} शब्दों के माध्य (1) तक के रास्ते "
                    f"पर वह {found.place:.2f} पर है। {_verdict(found, say)}",
                )
            ),
            table(
                say("cosine with the mean of", "इनके माध्य से कोज्या"),
                rows,
                names,
                groups,
            ),
            Plane(
                say(
                    f"cosines: with {groups[0]} across, with {groups[1]} up",
                    f"कोज्या: {groups[0]} से दाईं ओर, {groups[1]} से ऊपर",
                ),
                tuple(
                    Point(name, x, y, faint=place == 3, kind=place)
                    for place, (name, (x, y)) in enumerate(zip(names, rows.tolist(), strict=True))
                ),
                ((rows[1, 0].item(), rows[1, 1].item(), rows[2, 0].item(), rows[2, 1].item()),),
            ),
        )


def average_meaning(
    sentence: str = SENTENCE,
    *,
    about: str = "apple",
    uses: Matrix = USES,
    static: Sequence[int | float] = STATIC,
    meanings: Mapping[str, object] = MEANINGS,
    word: str = "bank",
    one: str | Sequence[str] = MONEY,
    other: str | Sequence[str] = RIVER,
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
    and of the `other`. Choose words that hold together and are also used without it: with the
    default ones bank lies between, with some others no groups form, and the story says so.
    """
    toy = _toy(sentence, about.lower(), uses, static, meanings)
    first, second = words_of(one), words_of(other)
    for name, group in (("one", first), ("other", second)):
        if len(group) < 2:
            raise Fault(f"{name}: has 1 word; give two or more, so that each has others beside it")
    texts = read_corpus(corpus, sentences, seed)
    found = learned(texts, vectors, steps=steps, seed=seed, hear=hear)
    source = (vectors or corpus).rpartition("/")[2]
    return AverageMeaning(toy, between(found, word.lower(), first, second), source)


def _toy(
    sentence: str,
    word: str,
    uses: Matrix,
    static: Sequence[int | float],
    meanings: Mapping[str, object],
) -> Toy:
    one = matrix("static", [static], columns=2)[0]
    rows = matrix("uses", uses, columns=2)
    mean = rows.mean(0)
    if not isinstance(meanings, Mapping):
        raise Fault('meanings: give two numbers for each word, such as {"phone": [0, 0.9]}')
    given = {**meanings, word: one.tolist()}
    said = [each for each in words_in(sentence) if each in given]
    if word not in said:
        raise Fault(f"the sentence does not have the word {word!r} it is about: add it")
    if one.min() < 0 or not one.any():
        raise Fault("static: give two numbers from 0 on, not both of them 0")
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


def _verdict(found: Between, say: Say) -> str:
    """What the cosines say; the place alone says little, for words far from both lie half way."""
    if not found.apart:
        return say(
            "But these words do not form two groups in these vectors, so nothing follows; "
            "try others.",
            "पर इन सदिशों में ये शब्द दो समूह नहीं बनाते, इसलिए कुछ सिद्ध नहीं होता; दूसरे शब्द आज़माइए।",
        )
    (near, too), (far, away) = found.cosines.tolist(), found.cross.tolist()
    numbers = say(
        f"{near:.2f} against {far:.2f}, {too:.2f} against {away:.2f}",
        f"{far:.2f} के मुक़ाबले {near:.2f}, {away:.2f} के मुक़ाबले {too:.2f}",
    )
    if found.torn:
        return say(
            f"It is nearer to each group than the other group's words are ({numbers}): "
            "an average of both.",
            f"वह हर समूह के उससे अधिक निकट है जितने दूसरे समूह के शब्द हैं ({numbers}): दोनों का औसत।",
        )
    return say(
        f"It is not clearly nearer to each group than the other group's words are ({numbers}): "
        "no average of both.",
        f"वह हर समूह के उससे स्पष्ट रूप से अधिक निकट नहीं है जितने दूसरे समूह के शब्द हैं ({numbers}): "
        "दोनों का औसत नहीं।",
    )
