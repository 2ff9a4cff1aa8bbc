"""Which encoder head links a prepositional phrase to its noun, and what ablating each head costs."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import count as numbers
from itertools import islice

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from dhyan.attention import MultiHeadAttention
from dhyan.attention_maps import watch
from dhyan.batch import Tokens
from dhyan.data.primer import SentencePair
from dhyan.data.primer.sentence_builder import SentenceBuilder
from dhyan.data.primer.templates import Template, fill_template, templates
from dhyan.decoding.forced_decoding import evaluation_mode, force_decode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.ablation import multihead_attentions, without_head
from dhyan.insight.blocks import Part, Words, table
from dhyan.insight.word_alignment import word_indices
from dhyan.lessons.catalogue import Text
from dhyan.lessons.trained_model import CORE, knows_every_word
from dhyan.special_tokens import BOS, EOS


def head_weights(translator: Translator, text: str) -> Float[Tensor, "L H T T"]:
    """The self-attention of every head of the encoder, by word; the last is the sentence's end.

    What a word is given is the sum over its pieces, what it gives their mean.
    """
    encoder, masked = translator.model.encoder, translator.with_placeholders(text)[0]
    ids = translator.source.encode(masked)
    if not ids:
        raise UserError("the sentence is empty: give it at least one word")
    owners = word_indices(translator.source, ids, masked)
    read = Tokens.pad([[*ids, EOS]]).to(translator.device)
    model = translator.model
    with evaluation_mode(model), torch.inference_mode(), watch(encoder) as recorder:
        encoder(read)
    weights = [own.weights[0] for own in recorder.weights() if own.role == "encoder_self"]
    if not weights:
        raise UserError("this model's encoder has no self-attention: give a trained Transformer")
    places = torch.tensor([*owners, owners[-1] + 1])
    gather = torch.zeros(len(places), owners[-1] + 2, dtype=torch.float64)
    gather[torch.arange(len(places)), places] = 1.0
    rows = gather / gather.sum(dim=0)
    return rows.T @ torch.stack(weights).double().cpu() @ gather


DOER = "{A} had"  # how the cue begins in which the one who does it has the thing
OF = "B"  # the slot of the other person
SEED = 7_000_000_000
TRIES = 40  # pairs looked at for each that is wanted


@dataclass(frozen=True)
class CuedPair:
    """X had a telescope, or the astronomer had it; then X saw the astronomer with the telescope."""

    doer: SentencePair
    other: SentencePair

    @property
    def both(self) -> tuple[SentencePair, SentencePair]:
        """The two, that of the doer first."""
        return self.doer, self.other


def cued_pairs(translator: Translator, count: int, *, core: float = CORE) -> list[CuedPair]:
    """So many different pairs that the model knows the words of, or as many as it does."""
    found: dict[str, CuedPair] = {}
    for random_pair in islice(_random_pairs(core), TRIES * count):
        texts = [random_pair.doer.english, random_pair.other.english]
        if texts[0] not in found and all(knows_every_word(translator, text) for text in texts):
            found[texts[0]] = random_pair
        if len(found) == count:
            break
    return list(found.values())


def _random_pairs(core: float) -> Iterator[CuedPair]:
    """One after the other of every kind, its persons those of the other kinds."""
    kinds = _kinds()
    persons = dict.fromkeys(person for pair in kinds for person in _persons(pair[0]))
    for number in numbers():
        pair = kinds[number % len(kinds)]
        own = _persons(pair[0])
        strange = "+".join(person for person in persons if person not in own)
        yield CuedPair(*(_filled(one, strange, SEED + number, core) for one in pair))


def _kinds() -> list[tuple[Template, Template]]:
    """Both templates of every kind that has a cue, that of the doer first."""
    found: dict[str, list[Template]] = {}
    for template in templates("attachment"):
        if template.right:
            found.setdefault(template.about, []).append(template)
    pairs = [
        sorted(own, key=lambda one: not one.english.startswith(DOER)) for own in found.values()
    ]
    return [(first, second) for first, second in pairs]


def _persons(template: Template) -> list[str]:
    return dict(template.slots)[OF].split("+")


def _filled(template: Template, persons: str, seed: int, core: float) -> SentencePair:
    slots = tuple((slot, persons if slot == OF else kind) for slot, kind in template.slots)
    return fill_template(SentenceBuilder(seed, core=core), replace(template, slots=slots))


WITH = "with"
FEWEST = 4  # pairs, half of which choose
TINY, STEADY = 0.05, 0.75  # a shift of weight that is hardly one, a share of pairs that is most
VISIBLE, LITTLE = (
    0.05,
    0.2,
)  # a head that costs less accuracy, and less of the odds, decides nothing
CEILING = 0.995  # an accuracy above which nothing can be seen to be lost
AT_ONCE = 100  # sentences


@dataclass(frozen=True)
class PhraseHeads:
    """What every head of the encoder does in the second of two sentences after either first one.

    `swings` are, for *with* and for the thing, how much more weight the doer gets than the other
    when it was the doer's rather than the other's: 0 for a head that looks at all places alike.
    `chosen` (asking word, layer, head) swings the most in as many other pairs; `given` is what it
    gives: a row for whose it was, a column for the doer and the other, and `agree` in what share of
    the pairs it swings the same way. `accuracy` is the whole model's, and `odds` its mean log-odds
    of the right reading, in which a leaning toward either one cancels; `accuracies` and `all_odds`
    are those without each head.
    """

    example: tuple[str, str]
    pairs: int
    chosen: tuple[int, int, int]
    swings: Float64[Tensor, "2 L H"]
    given: Float64[Tensor, "2 2"]
    agree: float
    accuracy: float
    accuracies: Float64[Tensor, "L H"]
    odds: float
    all_odds: Float64[Tensor, "L H"]

    def parts(self, text: Text) -> tuple[Part, ...]:
        """The head that was chosen, what it gives to whom, and what is lost without it."""
        asking, layer, head = self.chosen
        asks = WITH if asking == 0 else text("phrase_heads.the_thing")
        swing = float(self.swings[self.chosen])
        small = abs(swing) < TINY and self.agree > STEADY
        first, second = self.example
        return (
            Words(
                text(
                    "phrase_heads.second_sentence_same_but",
                    first=first,
                    second=second,
                    layer_number=layer + 1,
                    head_number=head + 1,
                    asks=asks,
                    swing=abs(swing),
                    positive_swing=swing > 0,
                    agree=self.agree,
                    small=small,
                    pairs=self.pairs,
                )
            ),
            table(
                text(
                    "phrase_heads.weight_layer_head",
                    asks=asks,
                    layer_number=layer + 1,
                    head_number=head + 1,
                ),
                self.given,
                (text("phrase_heads.doer"), text("phrase_heads.other")),
                (text("phrase_heads.doer_2"), text("phrase_heads.other_2")),
                kind="weights",
            ),
            Words(self._without(text)),
        )

    def _without(self, text: Text) -> str:
        """What switching it off costs, beside switching off any other."""
        _, layer, head = self.chosen
        right, rest = _apart(self.accuracies, layer, head)
        odds, others = _apart(self.all_odds, layer, head)
        told = text(
            "phrase_heads.head_sentences_understood_without",
            accuracy=self.accuracy,
            right=right,
            odds=self.odds,
            odds_without=odds,
        )
        if not len(others):
            return told
        told += text(
            "phrase_heads.without_other_heads_average",
            rest_mean=float(rest.mean()),
            others_mean=float(others.mean()),
            rest_min=float(rest.min()),
            others_min=float(others.min()),
        )
        seen = self.accuracy - float(self.accuracies.min()) >= VISIBLE
        if not seen and self.odds - float(self.all_odds.min()) < LITTLE * self.odds:
            return told + self._none_decides(text)
        more = int((rest <= right).sum() if seen else (others <= odds).sum())
        if not more:
            return told + text("phrase_heads.other_head_missed_much")
        return told + text(
            "phrase_heads.others_missed_much_more",
            more=more,
            others_count=len(others),
            single_more=more == 1,
        )

    def _none_decides(self, text: Text) -> str:
        """No more than was tried: the encoder's heads, one at a time."""
        full = self.accuracy >= CEILING
        return text("phrase_heads.none_encoder_heads_switched", full=full)


def measure_phrase_heads(translator: Translator, pairs: int, *, core: float = CORE) -> PhraseHeads:
    """Measure every head on so many pairs, of which every second one chooses."""
    asked = cued_pairs(translator, pairs, core=core)
    if len(asked) < FEWEST:
        raise UserError(
            f"pairs: this model knows the words of {len(asked)} pairs of sentences, and {FEWEST} "
            "are needed; give one trained with data.task=primer"
        )
    choosing, measured = asked[::2], asked[1::2]
    chosen, seen = (
        torch.stack([_phrase_weights(translator, one) for one in some])
        for some in (choosing, measured)
    )
    asking, layer, head = _argmax(_swings(chosen).mean(dim=0).abs())
    swings = _swings(seen)
    own = swings[:, asking, layer, head]
    twins = [twin for one in measured for twin in one.both]
    attentions = multihead_attentions(translator.model, "encoder_self")
    right, odds = _accuracy_and_odds(translator, twins)
    without = [
        [_accuracy_and_odds(translator, twins, (attention, at)) for at in range(attention.heads)]
        for attention in attentions
    ]
    accuracies, all_odds = torch.tensor(without, dtype=torch.float64).unbind(-1)
    return PhraseHeads(
        example=(measured[0].doer.english, measured[0].other.english),
        pairs=len(measured),
        chosen=(asking, layer, head),
        swings=swings.mean(dim=0),
        given=seen[:, :, asking, :, layer, head].mean(dim=0),
        agree=float((own.sign() == own.mean().sign()).double().mean()),
        accuracy=right,
        accuracies=accuracies,
        odds=odds,
        all_odds=all_odds,
    )


def _phrase_weights(translator: Translator, pair: CuedPair) -> Float64[Tensor, "2 2 2 L H"]:
    """Whose it was; which word asks, *with* or the thing; the weight on the doer, on the other."""
    found = []
    for twin in pair.both:
        words = twin.english.split()
        at = words.index(WITH)
        doer = next(place for place, word in enumerate(words) if word.endswith(".")) + 1
        weights = head_weights(translator, twin.english)
        rows = [
            torch.stack([weights[:, :, asks, whom] for whom in (doer, at - 1)])
            for asks in (at, len(words) - 1)
        ]
        found.append(torch.stack(rows))
    return torch.stack(found)


def _swings(seen: Float64[Tensor, "N 2 2 2 L H"]) -> Float64[Tensor, "N 2 L H"]:
    """By how much the doer is preferred more when it was the doer's, half of it for each side."""
    prefers = seen[:, :, :, 0] - seen[:, :, :, 1]
    return (prefers[:, 0] - prefers[:, 1]) / 2


def _argmax(values: Float64[Tensor, "2 L H"]) -> tuple[int, int, int]:
    """Where the largest stands."""
    asking, layer, head = torch.unravel_index(values.argmax(), values.shape)
    return int(asking), int(layer), int(head)


def _accuracy_and_odds(
    translator: Translator,
    twins: Sequence[SentencePair],
    off: tuple[MultiHeadAttention, int] | None = None,
) -> tuple[float, float]:
    """The share understood and the mean log-odds of the right reading, perhaps without a head."""
    with without_head(*off) if off else nullcontext():
        said = translator([twin.english for twin in twins], beam=1)
        odds = log_odds(translator, twins)
    met = [twin.wanted[0].passes(own.text) for twin, own in zip(twins, said, strict=True)]
    return sum(met) / len(met), float(odds.mean())


def log_odds(translator: Translator, twins: Sequence[SentencePair]) -> Float[Tensor, " N"]:
    """How much likelier the right translation is than the same in the wrong reading, in nats."""
    sources = [translator.encode(twin.english) for twin in twins]
    wanted = [twin.wanted[0] for twin in twins]
    right = [twin.hindi for twin in twins]
    wrong = [
        text.replace(one.right[0], one.wrong[0]) for text, one in zip(right, wanted, strict=True)
    ]
    chances = [_log_probability(translator, sources, texts) for texts in (right, wrong)]
    return chances[0] - chances[1]


def _log_probability(
    translator: Translator, sources: Sequence[list[int]], texts: Sequence[str]
) -> Float[Tensor, " N"]:
    """The log-probability of each translation."""
    targets = [[BOS, *translator.target.encode(text), EOS] for text in texts]
    sums = []
    for first in range(0, len(targets), AT_ONCE):
        own = targets[first : first + AT_ONCE]
        look = force_decode(
            translator.model, sources[first : first + AT_ONCE], own, translator.device
        )
        for row, ids in zip(look.logprobs.double().cpu(), own, strict=True):
            sums.append(row[: len(ids) - 1].sum())
    return torch.stack(sums)


def _apart(values: Float64[Tensor, "L H"], layer: int, head: int) -> tuple[float, Tensor]:
    """That of one head, and those of all others."""
    at = layer * values.shape[1] + head
    flat = values.flatten()
    return float(flat[at]), torch.cat([flat[:at], flat[at + 1 :]])
