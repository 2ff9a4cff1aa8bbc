"""Probes for the meaning of a word, at every level of a trained encoder and in an untrained one."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from statistics import mean, stdev

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.data.primer import Twin
from dhyan.data.primer.ambiguous_words import in_context
from dhyan.data.primer.core_vocabulary import ambiguous
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.sentence_builder import Draft
from dhyan.data.primer.word_classes import Sense
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.lessons.self_attention.encoded import encoder_of, untrained, word_vectors
from dhyan.lessons.self_attention.probing import NORMAL, Probed, between, logistic
from dhyan.lessons.trained_model import CORE, knows_every_word, take_known

FEWEST = 20  # sentences of a meaning to fit a probe on, and to ask it of
FEW, DRAWS = 5, 30  # sentences of a meaning that a probe may do with, and how often they are drawn
STEP = 1 << 40  # seeds of what is fitted and what is asked lie so far apart
STATIC, PLACED, ALONE = "its own vector", "with its position", "untrained encoder"


@dataclass(frozen=True)
class Level:
    """What a probe reads off a word's vectors at one place of the encoder.

    `few` is the mean share of probes that have seen only a few sentences of each meaning, and
    `few_error` its standard error over what they saw; `apart` is the share of the vectors' variance
    that lies between the means of the meanings. Only a trained encoder's layers have a `layer`.
    """

    name: str
    layer: int
    probed: Probed
    few: float
    few_error: float
    apart: float

    def more_of_few(self, other: "Level") -> bool:
        """Whether a few sentences clearly teach more here than there."""
        error = (self.few_error**2 + other.few_error**2) ** 0.5
        return self.few - other.few > NORMAL * error


@dataclass(frozen=True)
class WordSenses:
    """A word, its meanings in Hindi, and every level.

    The probe is `fitted` on pairings that training has, and asked of others that it never shows;
    of both there are as many of each meaning, so that one is right by chance as often as another.
    """

    word: str
    senses: tuple[str, ...]
    fitted: int
    levels: tuple[Level, ...]

    def level(self, name: str) -> Level:
        """The level of a name."""
        return next(one for one in self.levels if one.name == name)

    @property
    def last(self) -> Level:
        """The trained encoder's last layer."""
        return max(self.levels, key=lambda one: one.layer)

    @property
    def chance(self) -> float:
        """What is right without looking."""
        return 1 / len(self.senses)


def contexts(word: str, *, novel: bool, seed: int) -> Iterator[Twin]:
    """Sentences with a word of several meanings, in pairings that training has, or has not."""
    core = CORE if word in ambiguous(CORE) else 1.0
    for place in count((2 * seed + novel) * STEP):
        twin = in_context(Draft(place, novel=novel, core=core))
        if twin.wanted[0].about == word:
            yield twin


def meanings(word: str) -> tuple[Sense, ...]:
    """The meanings of a word."""
    return read_lexicon().senses[word]


def sense_of(twin: Twin) -> int:
    """Which of its meanings the word has."""
    [wanted] = twin.wanted
    forms = [{" ".join(form) for form in one.noun.hindi} for one in meanings(wanted.about)]
    return next(place for place, one in enumerate(forms) if wanted.right[0] in one)


def probe_senses(
    translator: Translator, word: str, sentences: int, seed: int
) -> tuple[WordSenses, Int[Tensor, " M"], list[Float[Tensor, "M D"]]]:
    """Fit on what training pairs, ask of what it does not.

    Also the test's meanings, and its vectors at each level.
    """
    encoder = encoder_of(translator)
    (fit, a), (test, b) = (
        _balanced(translator, word, novel=novel, sentences=sentences, seed=seed)
        for novel in (False, True)
    )
    x, y = (word_vectors(encoder, translator, part, word) for part in (fit, test))
    fresh = untrained(encoder, seed)
    x, y = (
        [*own, word_vectors(fresh, translator, part, word)[-1]]
        for own, part in ((x, fit), (y, test))
    )
    layers = len(x) - 3
    names = (STATIC, PLACED, *(f"layer {one + 1}" for one in range(layers)), ALONE)
    levels = tuple(
        _level(name, place - 1 if 1 < place < 2 + layers else 0, (one, a), (other, b))
        for place, (name, one, other) in enumerate(zip(names, x, y, strict=True))
    )
    hindi = tuple(" ".join(one.noun.hindi[0]) for one in meanings(word))
    return WordSenses(word, hindi, len(fit), levels), b, y


Labelled = tuple[Float[Tensor, "N D"], Int[Tensor, " N"]]


def _level(name: str, layer: int, fit: Labelled, test: Labelled) -> Level:
    shares = [
        logistic((fit[0][own], fit[1][own]), test).share
        for own in (_few(fit[1], seed) for seed in range(DRAWS))
    ]
    error = stdev(shares) / DRAWS**0.5
    return Level(name, layer, logistic(fit, test), mean(shares), error, between(*test))


def _few(kinds: Int[Tensor, " N"], seed: int) -> Int[Tensor, " F"]:
    """The places of a few of each kind."""
    chances = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(kinds), generator=chances)
    return torch.cat([order[kinds[order] == kind][:FEW] for kind in kinds.unique()])


def _balanced(
    translator: Translator, word: str, *, novel: bool, sentences: int, seed: int
) -> tuple[list[str], Int[Tensor, " N"]]:
    """As many sentences of each meaning, in turn, and which it is."""
    kinds = range(len(meanings(word)))
    if not knows_every_word(translator, word):
        raise UserError(f"words: this model does not know {word!r}; choose another word")

    def of(kind: int) -> list[Twin]:
        made = contexts(word, novel=novel, seed=seed)
        return take_known(
            translator, made, sentences // len(kinds), lambda twin: sense_of(twin) == kind
        )

    own = [of(kind) for kind in kinds]
    least = min(map(len, own))
    if least < FEWEST:
        raise UserError(
            f"words: this model knows the words of only {least} sentences of a meaning of "
            f"{word!r}; it takes {FEWEST}"
        )
    turns = zip(*(part[:least] for part in own), strict=True)
    return [one.english for turn in turns for one in turn], torch.tensor([*kinds] * least)
