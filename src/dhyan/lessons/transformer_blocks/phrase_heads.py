"""PP attachment by encoder head: which links a phrase to its noun, and what ablating each costs."""

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
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap
from dhyan.insight.word_alignment import word_indices
from dhyan.lessons.catalogue import Text
from dhyan.lessons.trained_model import CORE, knows_every_word
from dhyan.special_tokens import BOS, EOS


def head_weights(translator: Translator, text: str) -> Float[Tensor, "L H T T"]:
    """Self-attention weights of every encoder head by word; the last is the end of the sentence.

    The weight on a word is the sum over its tokens, the weight from a word their mean.
    """
    encoder, masked = translator.model.encoder, translator.with_placeholders(text)[0]
    ids = translator.source_tokenizer.encode(masked)
    if not ids:
        raise UserError("the sentence is empty: give it at least one word")
    owners = word_indices(translator.source_tokenizer, ids, masked)
    source = Tokens.pad([[*ids, EOS]]).to(translator.device)
    model = translator.model
    with evaluation_mode(model), torch.inference_mode(), watch(encoder) as recorder:
        encoder(source)
    weights = [
        recorded.weights[0] for recorded in recorder.weights() if recorded.role == "encoder_self"
    ]
    if not weights:
        raise UserError("this model's encoder has no self-attention: give a trained Transformer")
    word_of_token = torch.tensor([*owners, owners[-1] + 1])
    gather = torch.zeros(len(word_of_token), owners[-1] + 2, dtype=torch.float64)
    gather[torch.arange(len(word_of_token)), word_of_token] = 1.0
    rows = gather / gather.sum(dim=0)
    return rows.T @ torch.stack(weights).double().cpu() @ gather


DOER = "{A} had"  # start of the cue in which the subject has the object
OF = "B"  # the slot of the other person
SEED = 7_000_000_000
TRIES = 40  # pairs generated per pair requested


@dataclass(frozen=True)
class CuedPair:
    """X had a telescope, or the astronomer had it; then X saw the astronomer with the telescope."""

    doer: SentencePair
    other: SentencePair

    @property
    def both(self) -> tuple[SentencePair, SentencePair]:
        """Both sentences, the doer's first."""
        return self.doer, self.other


def cued_pairs(translator: Translator, count: int, *, core: float = CORE) -> list[CuedPair]:
    """Up to `count` different pairs whose words are in the model's vocabulary."""
    pairs: dict[str, CuedPair] = {}
    for random_pair in islice(_random_pairs(core), TRIES * count):
        texts = [random_pair.doer.english, random_pair.other.english]
        if texts[0] not in pairs and all(knows_every_word(translator, text) for text in texts):
            pairs[texts[0]] = random_pair
        if len(pairs) == count:
            break
    return list(pairs.values())


def _random_pairs(core: float) -> Iterator[CuedPair]:
    """Pairs of every kind in turn, with the persons of the other kinds."""
    kinds = _kinds()
    persons = dict.fromkeys(person for pair in kinds for person in _persons(pair[0]))
    for number in numbers():
        pair = kinds[number % len(kinds)]
        source_persons = _persons(pair[0])
        unseen_persons = "+".join(person for person in persons if person not in source_persons)
        yield CuedPair(
            *(_filled(template, unseen_persons, SEED + number, core) for template in pair)
        )


def _kinds() -> list[tuple[Template, Template]]:
    """Both templates of every kind with a cue, the doer's first."""
    by_kind: dict[str, list[Template]] = {}
    for template in templates("attachment"):
        if template.right:
            by_kind.setdefault(template.about, []).append(template)
    pairs = [
        sorted(group, key=lambda template: not template.english.startswith(DOER))
        for group in by_kind.values()
    ]
    return [(first, second) for first, second in pairs]


def _persons(template: Template) -> list[str]:
    return dict(template.slots)[OF].split("+")


def _filled(template: Template, persons: str, seed: int, core: float) -> SentencePair:
    slots = tuple((slot, persons if slot == OF else words) for slot, words in template.slots)
    return fill_template(SentenceBuilder(seed, core_share=core), replace(template, slots=slots))


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
    """Attention of every encoder head in the second sentence after either cue, and ablations.

    `swings` are, for *with* and for the object as query, how much more weight the doer gets than
    the other person when the object is the doer's: 0 for a uniform head. `best_head` (query, layer,
    head) swings the most in as many other pairs; `weights` are its weights: a row for the owner, a
    column for the doer and the other, and `agreement` is the share of pairs with the same sign.
    `accuracy` is the full model's, and `log_odds` its mean log-odds of the right reading, in which a
    bias to either reading cancels; `ablated_accuracies` and `ablated_log_odds` are those without
    each head.
    """

    example: tuple[str, str]
    pairs: int
    best_head: tuple[int, int, int]
    swings: Float64[Tensor, "2 L H"]
    weights: Float64[Tensor, "2 2"]
    agreement: float
    accuracy: float
    ablated_accuracies: Float64[Tensor, "L H"]
    log_odds: float
    ablated_log_odds: Float64[Tensor, "L H"]

    def blocks(self, text: Text) -> Iterator[Block]:
        """The chosen head, its weights, and the cost of ablating it."""
        query, layer, head = self.best_head
        asks = WITH if query == 0 else text("phrase_heads.object_word")
        swing = float(self.swings[self.best_head])
        small = abs(swing) < TINY and self.agreement > STEADY
        first, second = self.example
        yield text.paragraph(
            "phrase_heads.head_sensitivity",
            first=first,
            second=second,
            layer_number=layer + 1,
            head_number=head + 1,
            asks=asks,
            swing=abs(swing),
            positive_swing=swing > 0,
            agreement=self.agreement,
            small=small,
            pairs=self.pairs,
        )
        yield heatmap(
            text(
                "phrase_heads.weights_of_query",
                asks=asks,
                layer_number=layer + 1,
                head_number=head + 1,
            ),
            self.weights,
            (text("phrase_heads.agent_has_object"), text("phrase_heads.patient_has_object")),
            (text("phrase_heads.to_agent"), text("phrase_heads.to_patient")),
        )
        yield Paragraph(self._without(text))

    def _without(self, text: Text) -> str:
        """The cost of ablating the chosen head, compared with any other."""
        _, layer, head = self.best_head
        accuracy, rest = _apart(self.ablated_accuracies, layer, head)
        log_odds, others = _apart(self.ablated_log_odds, layer, head)
        verdict = text(
            "phrase_heads.head_ablation",
            accuracy=self.accuracy,
            right=accuracy,
            log_odds=self.log_odds,
            odds_without=log_odds,
        )
        if not len(others):
            return verdict
        verdict += text(
            "phrase_heads.other_heads_ablated",
            rest_mean=float(rest.mean()),
            others_mean=float(others.mean()),
            rest_min=float(rest.min()),
            others_min=float(others.min()),
        )
        visible = self.accuracy - float(self.ablated_accuracies.min()) >= VISIBLE
        if (
            not visible
            and self.log_odds - float(self.ablated_log_odds.min()) < LITTLE * self.log_odds
        ):
            return verdict + self._none_decides(text)
        more = int((rest <= accuracy).sum() if visible else (others <= log_odds).sum())
        if not more:
            return verdict + text("phrase_heads.most_important_head")
        return verdict + text(
            "phrase_heads.other_heads_more_important",
            more=more,
            others_count=len(others),
            single_more=more == 1,
        )

    def _none_decides(self, text: Text) -> str:
        """The verdict if no single encoder head matters."""
        full = self.accuracy >= CEILING
        return text("phrase_heads.no_single_head_matters", full=full)


def measure_phrase_heads(translator: Translator, pairs: int, *, core: float = CORE) -> PhraseHeads:
    """Measure every head on `pairs`, of which every second one chooses the head."""
    pairs_known = cued_pairs(translator, pairs, core=core)
    if len(pairs_known) < FEWEST:
        raise UserError(
            f"pairs: this model knows the words of {len(pairs_known)} pairs of sentences, and {FEWEST} "
            "are needed; give one trained with data.synthetic=primer"
        )
    choosing, measured = pairs_known[::2], pairs_known[1::2]
    choosing_weights, measured_weights = (
        torch.stack([_phrase_weights(translator, pair) for pair in group])
        for group in (choosing, measured)
    )
    query, layer, head = _argmax(_swings(choosing_weights).mean(dim=0).abs())
    swings = _swings(measured_weights)
    head_swings = swings[:, query, layer, head]
    sentence_pairs = [sentence_pair for pair in measured for sentence_pair in pair.both]
    attentions = multihead_attentions(translator.model, "encoder_self")
    accuracy, log_odds_mean = _accuracy_and_odds(translator, sentence_pairs)
    ablated = [
        [
            _accuracy_and_odds(translator, sentence_pairs, (attention, at))
            for at in range(attention.heads)
        ]
        for attention in attentions
    ]
    ablated_accuracies, ablated_log_odds = torch.tensor(ablated, dtype=torch.float64).unbind(-1)
    return PhraseHeads(
        example=(measured[0].doer.english, measured[0].other.english),
        pairs=len(measured),
        best_head=(query, layer, head),
        swings=swings.mean(dim=0),
        weights=measured_weights[:, :, query, :, layer, head].mean(dim=0),
        agreement=float((head_swings.sign() == head_swings.mean().sign()).double().mean()),
        accuracy=accuracy,
        ablated_accuracies=ablated_accuracies,
        log_odds=log_odds_mean,
        ablated_log_odds=ablated_log_odds,
    )


def _phrase_weights(translator: Translator, pair: CuedPair) -> Float64[Tensor, "2 2 2 L H"]:
    """Weights by owner, query word (*with* or the object) and person (the doer or the other)."""
    tables = []
    for sentence_pair in pair.both:
        words = sentence_pair.english.split()
        at = words.index(WITH)
        doer = next(index for index, word in enumerate(words) if word.endswith(".")) + 1
        weights = head_weights(translator, sentence_pair.english)
        rows = [
            torch.stack([weights[:, :, query, person] for person in (doer, at - 1)])
            for query in (at, len(words) - 1)
        ]
        tables.append(torch.stack(rows))
    return torch.stack(tables)


def _swings(weights: Float64[Tensor, "N 2 2 2 L H"]) -> Float64[Tensor, "N 2 L H"]:
    """Half the change of the preference for the doer between the two cues."""
    prefers = weights[:, :, :, 0] - weights[:, :, :, 1]
    return (prefers[:, 0] - prefers[:, 1]) / 2


def _argmax(values: Float64[Tensor, "2 L H"]) -> tuple[int, int, int]:
    """Indices of the largest value."""
    query, layer, head = torch.unravel_index(values.argmax(), values.shape)
    return int(query), int(layer), int(head)


def _accuracy_and_odds(
    translator: Translator,
    sentence_pairs: Sequence[SentencePair],
    off: tuple[MultiHeadAttention, int] | None = None,
) -> tuple[float, float]:
    """Accuracy and mean log-odds of the right reading, with a head ablated if given."""
    with without_head(*off) if off else nullcontext():
        translations = translator(
            [sentence_pair.english for sentence_pair in sentence_pairs], beam=1
        )
        odds = log_odds(translator, sentence_pairs)
    correct = [
        sentence_pair.checks[0].passes(translation.text)
        for sentence_pair, translation in zip(sentence_pairs, translations, strict=True)
    ]
    return sum(correct) / len(correct), float(odds.mean())


def log_odds(translator: Translator, sentence_pairs: Sequence[SentencePair]) -> Float[Tensor, " N"]:
    """Log-odds of the right translation against the wrong reading, in nats."""
    sources = [translator.encode(sentence_pair.english) for sentence_pair in sentence_pairs]
    checks = [sentence_pair.checks[0] for sentence_pair in sentence_pairs]
    right = [sentence_pair.hindi for sentence_pair in sentence_pairs]
    wrong = [
        text.replace(check.right[0], check.wrong[0])
        for text, check in zip(right, checks, strict=True)
    ]
    logprobs = [_log_probability(translator, sources, texts) for texts in (right, wrong)]
    return logprobs[0] - logprobs[1]


def _log_probability(
    translator: Translator, sources: Sequence[list[int]], texts: Sequence[str]
) -> Float[Tensor, " N"]:
    """The log-probability of each translation."""
    targets = [[BOS, *translator.target.encode(text), EOS] for text in texts]
    sums = []
    for first in range(0, len(targets), AT_ONCE):
        batch = targets[first : first + AT_ONCE]
        forced = force_decode(
            translator.model, sources[first : first + AT_ONCE], batch, translator.device
        )
        for row, ids in zip(forced.logprobs.double().cpu(), batch, strict=True):
            sums.append(row[: len(ids) - 1].sum())
    return torch.stack(sums)


def _apart(values: Float64[Tensor, "L H"], layer: int, head: int) -> tuple[float, Tensor]:
    """The value of one head, and those of all others."""
    at = layer * values.shape[1] + head
    flat = values.flatten()
    return float(flat[at]), torch.cat([flat[:at], flat[at + 1 :]])
