"""The toy corpus: two sentences, from their characters to a model that translates them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.blocks import Curve, Lines, Part, Words, table
from dhyan.lessons.given import known_rate, whole, words_of
from dhyan.lessons.sequences.miniature import (
    END,
    START,
    Decoded,
    Hear,
    Pairs,
    Vocabulary,
    decode,
    encoder_decoder,
    in_batch,
    learn,
    places,
    read_pairs,
)
from dhyan.lessons.sequences.one_update import PARAMETER, Update, one_update
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.models.seq2seq import Seq2Seq

PAIRS = (("think about it", "सोच लो"), ("come in", "अंदर आ जाओ"))


@dataclass(frozen=True)
class Toy(Shown):
    """Every number from a pair's words to its loss, one update, and what the trained model says."""

    pairs: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    labels: tuple[str, ...]
    source: Vocabulary
    target: Vocabulary
    points: tuple[tuple[str, tuple[int, ...]], ...]
    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...]
    source_hot: Float64[Tensor, "S N"]
    target_hot: Float64[Tensor, "T V"]
    chances: Float64[Tensor, "T V"]
    losses: Float64[Tensor, " T"]
    total: float
    average: float
    update: Update
    curve: tuple[float, ...]
    predictions: tuple[Decoded, ...]
    model: Seq2Seq

    @property
    def fed(self) -> tuple[str, ...]:
        """What the decoder is given at each step: the correct word before."""
        return (START, *self.labels[:-1])

    @property
    def learned(self) -> tuple[bool, ...]:
        """For every pair, whether the trained model says its translation and ends there."""
        return tuple(
            self.target.said(one.said) == (*words_of(right), END)
            for one, (_, right) in zip(self.predictions, self.pairs, strict=True)
        )

    def story(self, say: Say) -> Story:
        """Words to vectors, a forward pass, its loss, one update, training, prediction."""
        return Story(
            say("The toy corpus", "नन्हा कॉर्पस"),
            (*self._vectors(say), *self._forward(say), *self._updated(say), *self._trained(say)),
        )

    def _vectors(self, say: Say) -> list[Part]:
        shown: list[Part] = [
            Words(
                say(
                    f"{len(self.pairs)} pairs have {len(self.source)} source words and, with "
                    f"{START} and {END}, {len(self.target)} target words. A word is characters, "
                    "and they are numbers (code points). The model sees neither: a word is its "
                    "place in the vocabulary, as a vector with a single one.",
                    f"वाक्य-युग्मों की संख्या {len(self.pairs)} है; कॉर्पस में {len(self.source)} स्रोत "
                    f"शब्द हैं और, {START} तथा {END} को मिलाकर, {len(self.target)} लक्ष्य शब्द। शब्द "
                    "वर्णों से बनता है और हर वर्ण एक संख्या (code point) है। मॉडल न वर्ण देखता है, न "
                    "ये संख्याएँ: उसके लिए शब्द का अर्थ है शब्दावली में उसका स्थान, यानी ऐसा सदिश "
                    "जिसमें एक ही 1 है।",
                )
            )
        ]
        for word, points in self.points:
            title = f"{word}: code points"
            shown.append(table(title, torch.tensor(points), (), tuple(word), commas=False))
        for words, ids in ((self.words, self.source_ids), (self.labels, self.target_ids)):
            shown.append(table("id", torch.tensor(ids), (), words))
        shown += [
            table("one-hot", self.source_hot, self.words, self.source.words),
            table("one-hot", self.target_hot, self.labels, self.target.words),
        ]
        return shown

    def _forward(self, say: Say) -> list[Part]:
        prices = torch.stack([(self.chances * self.target_hot).sum(-1), self.losses], dim=1)
        sums, size = [[self.total, self.average]], len(self.target)
        span = f"{self.chances.min():.3f}–{self.chances.max():.3f}"
        return [
            Words(
                say(
                    "The encoder's last (h, c) starts the decoder. It is fed the correct word "
                    f"before and gives each of the {size} words a probability: before training "
                    f"{span}, where even chances would be {1 / size:.3f}.",
                    "डिकोडर एनकोडर की अंतिम अवस्था (h, c) से आरंभ करता है। उसे पिछला सही शब्द दिया "
                    f"जाता है और वह {size} शब्दों में से हर एक को प्रायिकता देता है: प्रशिक्षण से "
                    f"पहले {span}, जबकि सब शब्द समप्रायिक होते तो {1 / size:.3f} होती।",
                )
            ),
            table(
                say("fed ↓, softmax →", "दिया गया शब्द ↓, softmax →"),
                self.chances,
                self.fed,
                self.target.words,
                kind="weights",
                digits=3,
            ),
            table(say("the right word", "सही शब्द"), prices, self.labels, ("p", "−ln p"), digits=3),
            table(
                say("loss", "हानि"),
                sums,
                (),
                (say("total", "योग"), say("average", "औसत")),
                digits=3,
            ),
        ]

    def _updated(self, say: Say) -> list[Part]:
        one = self.update
        name = f"{one.name}[{', '.join(map(str, one.at))}]"
        fell = one.after < one.before
        alone, together = _signed(one.alone - one.before), _signed(one.after - one.before)
        return [
            Words(
                say(
                    "One update: each parameter moves against its gradient, by η times it, η = "
                    f"{one.rate:g}. Of the loss's change, {name} alone brings {alone}; all "
                    f"parameters together bring {together}: the loss "
                    f"{'falls' if fell else 'rises'}.",
                    "एक अद्यतन: हर प्राचल अपनी प्रवणता की उलटी दिशा में, उसके η गुना, खिसकता है, "
                    f"η = {one.rate:g}। हानि में अकेले {name} से {alone} का बदलाव आता है और सब "
                    f"प्राचलों से कुल मिलाकर {together} का: हानि {'घटती' if fell else 'बढ़ती'} है।",
                )
            ),
            table(
                name,
                [[one.value, one.gradient, one.slope, one.moved]],
                (),
                ("w", "∂L/∂w", "ΔL/Δw", "w − η ∂L/∂w"),
                digits=5,
                after="→",
            ),
            table(
                say("average loss", "औसत हानि"),
                [[one.before, one.alone, one.after]],
                (),
                (say("before", "पहले"), say("w moved", "w खिसका"), say("all moved", "सब खिसके")),
                digits=5,
            ),
        ]

    def _trained(self, say: Say) -> list[Part]:
        steps, right = len(self.curve) - 1, sum(self.learned)
        at = places(steps)
        shown: list[Part] = [
            Words(
                say(
                    f"After {steps} updates on all pairs the loss has gone from "
                    f"{self.curve[0]:.3f} to {self.curve[-1]:.3f}. Now each word said is fed back, "
                    f"until {END}: {right} of {len(self.pairs)} translations are right.",
                    f"सब युग्मों पर {steps} अद्यतन के बाद हानि {self.curve[0]:.3f} से "
                    f"{self.curve[-1]:.3f} हो गई है। अब हर बोला गया शब्द अगले चरण में दिया जाता है, "
                    f"{END} आने तक: {len(self.pairs)} में से {right} अनुवाद सही "
                    f"{'है' if right == 1 else 'हैं'}।",
                )
            ),
            Lines(
                say("training", "प्रशिक्षण"),
                (Curve(say("loss", "हानि"), [self.curve[step] for step in at]),),
                tuple(map(str, at)),
                say("updates", "अद्यतन"),
                say("average loss", "औसत हानि"),
            ),
        ]
        for (sentence, _), one in zip(self.pairs, self.predictions, strict=True):
            fed, told = self.target.said(one.fed), " ".join(self.target.said(one.said))
            title = f"{sentence} → {told}"
            words = self.target.words
            shown.append(table(title, one.chances, fed, words, kind="weights", digits=3))
        return shown


def toy(
    pairs: Pairs = PAIRS,
    *,
    sentence: str = "",
    width: int = 6,
    steps: int = 200,
    learning_rate: float = 0.02,
    optimizer: str = "adam",
    parameter: str = PARAMETER,
    at: Sequence[int] | None = None,
    seed: int = 1,
    hear: Hear | None = None,
) -> Toy:
    """A tiny LSTM encoder-decoder on a corpus of a few pairs; it trains for two seconds.

    `sentence` is the source that is followed through, the first if none is given. The one update
    looks at `parameter`, at the place `at` or else where the gradient is largest.
    """
    pairs = read_pairs(pairs)
    whole("steps", steps)
    chosen = _chosen(pairs, sentence)
    source = Vocabulary.of(one for one, _ in pairs)
    target = Vocabulary.of((other for _, other in pairs), START, END)
    model = encoder_decoder(source, target, width=whole("width", width), seed=seed)
    words, labels = words_of(chosen[0]), (*words_of(chosen[1]), END)
    own, hot = in_batch([chosen], source, target), target.one_hot(labels)
    with torch.no_grad():
        chances = model(own)[0].softmax(-1)[:, 1:]
    losses = -(chances * hot).sum(-1).log()
    update = one_update(model, own, parameter, at, known_rate(learning_rate))
    curve = learn(
        model,
        in_batch(pairs, source, target),
        steps=steps,
        learning_rate=learning_rate,
        optimizer=optimizer,
        hear=hear,
    )
    longest = 2 * max(len(words_of(other)) for _, other in pairs) + 2
    predictions = [decode(model, source.ids(words_of(one)), limit=longest) for one, _ in pairs]
    first = (words[0], labels[0])
    return Toy(
        pairs,
        words,
        labels,
        source,
        target,
        tuple((word, tuple(map(ord, word))) for word in first),
        tuple(source.ids(words)),
        tuple(target.ids(labels)),
        source.one_hot(words),
        hot,
        chances,
        losses,
        float(losses.sum()),
        float(losses.mean()),
        update,
        curve,
        tuple(predictions),
        model,
    )


def _signed(change: float) -> str:
    return f"{change:+.5f}".replace("-", "−")


def _chosen(pairs: Sequence[tuple[str, str]], sentence: str) -> tuple[str, str]:
    for pair in pairs:
        if not sentence or pair[0] == " ".join(sentence.split()):
            return pair
    known = ", ".join(repr(one) for one, _ in pairs)
    raise UserError(f"the corpus has no sentence {sentence!r}; it has {known}")
