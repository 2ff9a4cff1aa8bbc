"""Linear probes on encoder states, layer by layer; linear CKA and principal components."""

from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from math import sqrt
from statistics import mean, stdev
from typing import Literal

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from dhyan.batch import Tokens
from dhyan.data.primer import SentencePair, generate_sentences
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.models.transformer import TransformerEncoder
from dhyan.special_tokens import UNK

RIDGE = 1.0
SURE = 2.0  # standard errors between two shares that count as different
Level = Literal["word", "sentence", "paragraph"]
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36}  # 95 %, by trainings


@dataclass(frozen=True)
class ProbedFact:
    """Accuracy of a linear probe for one fact: on the embedding, then on each layer.

    `runs` has a row for every training. `majority_share` is the majority-class baseline, `count`
    the number of test answers.
    """

    name: str
    level: Level
    majority_share: float
    count: int
    runs: tuple[tuple[float, ...], ...]

    @property
    def of_word(self) -> bool:
        """Whether it is a fact of a word, not of a sentence or a paragraph."""
        return self.level == "word"

    @property
    def shares(self) -> tuple[float, ...]:
        """Mean over the trainings."""
        return tuple(mean(layer_shares) for layer_shares in zip(*self.runs, strict=True))

    @property
    def lows(self) -> tuple[float, ...]:
        """Minimum over the trainings."""
        return tuple(map(min, zip(*self.runs, strict=True)))

    @property
    def highs(self) -> tuple[float, ...]:
        """Maximum over the trainings."""
        return tuple(map(max, zip(*self.runs, strict=True)))

    @property
    def change(self) -> float:
        """Difference of the mean accuracy between the last layer and the first."""
        return self.shares[-1] - self.shares[1]

    @property
    def margin(self) -> float:
        """Half-width of the 95 % interval of the change, by Student's t over the trainings.

        For a single training it covers the choice of test sentences only.
        """
        if len(self.runs) > 1:
            changes = [run[-1] - run[1] for run in self.runs]
            return STUDENT.get(len(changes), 2.3) * stdev(changes) / sqrt(len(changes))
        first, last = self.shares[1], self.shares[-1]
        return SURE * sqrt((first * (1 - first) + last * (1 - last)) / self.count)

    @property
    def clear(self) -> bool:
        """Whether the change is outside its margin of error."""
        return abs(self.change) > self.margin

    @property
    def as_claimed(self) -> bool:
        """Whether a word's fact is clearer in the first layer, or any other fact in the last."""
        return self.clear and (self.change < 0) == self.of_word


def linear_probe(
    fit: tuple[Float[Tensor, "N D"], Int[Tensor, " N"]],
    test: tuple[Float[Tensor, "M D"], Int[Tensor, " M"]],
) -> float:
    """Test accuracy of a linear classifier fitted by ridge regression."""
    labels, answers = fit[1].unique(return_inverse=True)
    middle, spread = fit[0].double().mean(0), fit[0].double().std(0) + 1e-6
    x, y = (_with_bias((data[0].double() - middle) / spread) for data in (fit, test))
    square = x.T @ x + RIDGE * torch.eye(x.shape[1], dtype=x.dtype)
    fitted = torch.linalg.solve(square, x.T @ one_hot(answers).to(x.dtype))
    return float((labels[(y @ fitted).argmax(-1)] == test[1]).double().mean())


def _with_bias(x: Tensor) -> Tensor:
    return torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], dim=1)


CORE, SHORTEST, LONGEST = 0.15, 4, 7  # of the primer: the share of its words, words a sentence
FEWEST = 50  # sentences a probe is fitted to or judged on, of a model that comes from elsewhere
OFTEN = 20  # minimum frequency of a word that is a probe's label
PRESENT, PAST, FUTURE = range(3)
FORMS = {"है": PRESENT, "हैं": PRESENT, "हूँ": PRESENT, "हो": PRESENT}
ENDINGS = (("गा", FUTURE), ("गे", FUTURE), ("गी", FUTURE)) + tuple(
    (ending, PAST) for ending in ("ा", "े", "ी", "ीं", "ई")
)


@dataclass(frozen=True)
class ProbeSentences:
    """Sentences without their final punctuation: tokens, tense, and whether each is a question."""

    pairs: tuple[SentencePair, ...]
    tokens: Tokens
    tense: Int[Tensor, " B"]
    question: Int[Tensor, " B"]


def tense_of(hindi: str) -> int | None:
    """The tense of a simple Hindi sentence by its last word; None where that is ambiguous."""
    last = hindi.rstrip("।?! ").split()[-1]
    if last in FORMS:
        return FORMS[last]
    return next((tense for ending, tense in ENDINGS if last.endswith(ending)), None)


def read_probe_sentences(
    translator: Translator,
    split: str,
    count: int,
    *,
    seed: int = 7,
    exclude: Collection[SentencePair] = (),
    known_words_only: bool = False,
) -> ProbeSentences:
    """Distinct sentences among `count` that end in a full stop or question mark and show their tense.

    Those in `exclude` are left out; with `known_words_only`, those with an unknown word too.
    """
    generated = generate_sentences(
        split, seed=seed, min_words=SHORTEST, max_words=LONGEST, core_share=CORE
    )
    left_out = {pair.english for pair in exclude}
    selected: dict[str, tuple[SentencePair, list[int], int, int]] = {}
    for pair in islice(generated, count):
        tense, text = tense_of(pair.hindi), pair.english
        if tense is None or text[-1] not in ".?" or text in left_out:
            continue
        token_ids = translator.encode(text)
        if not known_words_only or UNK not in token_ids:
            selected[text] = pair, token_ids[:-2], tense, int(text.endswith("?"))
    if known_words_only and len(selected) < FEWEST:
        raise UserError(
            f"model: of {count} sentences of the primer it knows the words of {len(selected)}, and "
            f"{FEWEST} are needed; give one trained from English with data.synthetic=primer, or more "
            "sentences"
        )
    pairs, ids, tenses, questions = zip(*selected.values(), strict=True)
    return ProbeSentences(pairs, Tokens.pad(ids), torch.tensor(tenses), torch.tensor(questions))


def probe_facts(
    fit: ProbeSentences, test: ProbeSentences, before: Sequence[Tensor], after: Sequence[Tensor]
) -> tuple[ProbedFact, ...]:
    """Linear probes for words, tense and questions, on the embedding and on every layer.

    `before` are the layers' states of the `fit` sentences, `after` those of the `test` sentences.
    """
    common = common_words(fit.tokens)
    facts: list[ProbedFact] = []
    for back, name in enumerate(("word", "word_before")):
        data = [
            (word_states(fit.tokens, a, back, common), word_states(test.tokens, b, back, common))
            for a, b in zip(before, after, strict=True)
        ]
        facts.append(probe_fact(name, data, level="word"))
    for name in ("tense", "question"):
        data = [
            (
                (last_states(fit.tokens, a), getattr(fit, name)),
                (last_states(test.tokens, b), getattr(test, name)),
            )
            for a, b in zip(before, after, strict=True)
        ]
        facts.append(probe_fact(name, data, level="sentence"))
    return tuple(facts)


def common_words(tokens: Tokens) -> Bool[Tensor, " V"]:
    """For every token id up to the largest, whether it is frequent enough to be a probe's label."""
    return torch.bincount(tokens.ids[tokens.mask]) >= OFTEN


def word_states(
    tokens: Tokens, states: Float[Tensor, "B S D"], back: int, common: Bool[Tensor, " V"]
) -> tuple[Float[Tensor, "N D"], Int[Tensor, " N"]]:
    """The states of all words, and of each the id of the word `back` places before, if it is common."""
    mask = tokens.mask[:, back:]
    ids = tokens.ids[:, : mask.shape[1]][mask]
    chosen = (ids < len(common)) & common[ids.clamp(max=len(common) - 1)]
    return states[:, back:][mask][chosen], ids[chosen]


def last_states(tokens: Tokens, states: Float[Tensor, "B S D"]) -> Float[Tensor, "B D"]:
    """The state at the last word of each sentence."""
    return states[torch.arange(len(states)), tokens.lengths - 1]


ProbeData = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]


def probe_fact(name: str, data: Sequence[ProbeData], *, level: Level) -> ProbedFact:
    """A linear probe of one fact on the embedding and on each layer."""
    (_, fit_answers), (_, test_answers) = data[0]
    majority_share = float((test_answers == fit_answers.mode().values).double().mean())
    shares = tuple(linear_probe(fit, test) for fit, test in data)
    return ProbedFact(name, level, majority_share, len(test_answers), (shares,))


BATCH = 64  # sentences read at once


def transformer_encoder(translator: Translator) -> TransformerEncoder:
    """The encoder of a Transformer; an error for any other."""
    encoder = translator.model.encoder
    if not isinstance(encoder, TransformerEncoder):
        raise UserError("model: its encoder is not a Transformer's; give a trained Transformer")
    return encoder


def reinitialised_encoder(encoder: TransformerEncoder, seed: int) -> TransformerEncoder:
    """A copy of the encoder with freshly initialised weights."""
    fresh = deepcopy(encoder)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        for part in fresh.modules():
            match part:
                case nn.Embedding():
                    part.weight.normal_(std=part.embedding_dim**-0.5)
                case nn.Linear():
                    nn.init.xavier_uniform_(part.weight)
                    if part.bias is not None:
                        part.bias.zero_()
                case nn.LayerNorm() | nn.RMSNorm():
                    part.reset_parameters()
    return fresh


def word_vectors(
    encoder: TransformerEncoder, translator: Translator, texts: Sequence[str], word: str
) -> list[Float[Tensor, "N D"]]:
    """A word's vector in each sentence: its embedding, with its position, after each layer.

    The last layer's output is normalised, as the decoder gets it. A word of several subwords has
    their mean.
    """
    token_ids = [translator.encode(text) for text in texts]
    spans = [_span(translator, ids, text, word) for ids, text in zip(token_ids, texts, strict=True)]
    batches: list[list[Tensor]] = []
    for first in range(0, len(token_ids), BATCH):
        levels = _levels(
            encoder, Tokens.pad(token_ids[first : first + BATCH]).to(translator.device)
        )
        batch_spans = spans[first : first + BATCH]
        batches.append(
            [
                torch.stack([level[row, a:b].mean(0) for row, (a, b) in enumerate(batch_spans)])
                for level in levels
            ]
        )
    return [torch.cat(level).double().cpu() for level in zip(*batches, strict=True)]


def sentence_vectors(
    encoder: TransformerEncoder, token_ids: Sequence[Sequence[int]], device: torch.device
) -> Float[Tensor, "N D"]:
    """The mean of the last layer's states of each sentence."""
    with evaluation_mode(encoder), torch.no_grad():
        batches = [
            encoder(Tokens.pad(token_ids[first : first + BATCH]).to(device)).summary
            for first in range(0, len(token_ids), BATCH)
        ]
    return torch.cat(batches).double().cpu()


def _levels(encoder: TransformerEncoder, source: Tokens) -> list[Float[Tensor, "B S D"]]:
    with evaluation_mode(encoder), torch.no_grad():
        states = [encoder.token_embedding(source.ids), encoder.embedding(source.ids)]
        for layer in encoder.layers:
            states.append(layer(states[-1], source))
        return [*states[:-1], encoder.final_norm(states[-1])]


def _span(translator: Translator, ids: list[int], text: str, word: str) -> tuple[int, int]:
    """The first token of a word, and the one after its last."""
    for span in translator.source_tokenizer.words(ids, text):
        if span.text.lower() == word:
            return span.first, span.last
    raise UserError(f"word: {word!r} does not stand in {text!r}")


DECAY = 0.01  # of the squared weights of a probe
NORMAL = 1.96  # standard errors on either side: 95 % of a normal distribution


@dataclass(frozen=True)
class ProbeResult:
    """A probe's correct answers out of `total`: the accuracy with its 95 % interval."""

    right: int
    total: int

    @property
    def share(self) -> float:
        """Accuracy."""
        return self.right / self.total

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the accuracy."""
        return wilson(self.right, self.total)


def wilson(right: int, total: int) -> tuple[float, float]:
    """Wilson score interval (1927) of a share, at 95 %; it stays between 0 and 1."""
    share, square = right / total, NORMAL**2
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = sqrt(share * (1 - share) / total + square / (4 * total**2))
    half *= NORMAL / (1 + square / total)
    return max(0.0, middle - half), min(1.0, middle + half)


def logistic(
    fit: tuple[Float[Tensor, "N D"], Int[Tensor, " N"]],
    test: tuple[Float[Tensor, "M D"], Int[Tensor, " M"]],
) -> ProbeResult:
    """Logistic regression with L2 regularisation, fitted on `fit` and judged on `test`.

    Features are standardised; a constant feature is ignored.
    """
    labels, answers = fit[1].unique(return_inverse=True)
    middle, spread = fit[0].double().mean(0), fit[0].double().std(0)
    spread = torch.where(spread > 1e-9, spread, torch.inf)
    x, y = ((data[0].double() - middle) / spread for data in (fit, test))
    weights = torch.zeros(x.shape[1], len(labels), dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(len(labels), dtype=torch.float64, requires_grad=True)
    steps = torch.optim.LBFGS([weights, bias], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        steps.zero_grad()
        objective = cross_entropy(x @ weights + bias, answers) + DECAY / 2 * weights.square().sum()
        objective.backward()
        return objective

    with torch.enable_grad():
        steps.step(loss)
    with torch.no_grad():
        predictions = labels[(y @ weights + bias).argmax(-1)]
    return ProbeResult(int((predictions == test[1]).sum()), len(test[1]))


def between_group_variance(vectors: Float[Tensor, "N D"], groups: Int[Tensor, " N"]) -> float:
    """The share of the variance of all vectors that lies between the means of their groups."""
    x = vectors.double() - vectors.double().mean(0)
    total = float(x.square().sum())
    if total < 1e-9:
        return 0.0
    means = [
        (x[groups == group].mean(0), int((groups == group).sum())) for group in groups.unique()
    ]
    return sum(count * float(mean.square().sum()) for mean, count in means) / total


def linear_cka(first: Float[Tensor, "N D"], second: Float[Tensor, "N E"]) -> float:
    """Linear CKA (Kornblith et al., 2019): similarity of two representations of the same items.

    1 if one is a rotation or scaling of the other, 0 if they are uncorrelated.
    """
    x, y = (vectors.double() - vectors.double().mean(0) for vectors in (first, second))
    both = (x.T @ y).square().sum()
    return float(both / ((x.T @ x).norm() * (y.T @ y).norm()))


def principal_plane(
    vectors: Float[Tensor, "N D"],
) -> tuple[Float64[Tensor, "N 2"], Float64[Tensor, " 2"]]:
    """PCA: the vectors on their two principal axes, and the share of variance of each."""
    x = vectors.double() - vectors.double().mean(0)
    left, sizes, _ = torch.linalg.svd(x, full_matrices=False)
    total = sizes.square().sum().clamp(min=1e-12)
    return left[:, :2] * sizes[:2], sizes[:2].square() / total
