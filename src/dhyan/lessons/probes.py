"""Linear probes: what can be read off the states of an encoder, layer by layer."""

from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from math import sqrt
from statistics import mean, stdev

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from dhyan.batch import Tokens
from dhyan.data.primer import SentencePair, generate_sentences
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.lessons.trained_model import knows_every_word
from dhyan.models.transformer import TransformerEncoder

RIDGE = 1.0
SURE = 2.0  # standard errors between two shares that count as different
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36}  # 95 %, by trainings


@dataclass(frozen=True)
class ProbedFact:
    """What a probe was asked: the shares it got right from the embedding, then from each layer.

    There is a row of shares for every training. `chance` is the share of the commonest answer,
    `count` how many answers were judged.
    """

    name: str
    of_word: bool
    chance: float
    count: int
    runs: tuple[tuple[float, ...], ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """The mean over the trainings."""
        return tuple(mean(own) for own in zip(*self.runs, strict=True))

    @property
    def lows(self) -> tuple[float, ...]:
        """The least of any training."""
        return tuple(map(min, zip(*self.runs, strict=True)))

    @property
    def highs(self) -> tuple[float, ...]:
        """The most of any training."""
        return tuple(map(max, zip(*self.runs, strict=True)))

    @property
    def change(self) -> float:
        """From the first layer to the last, in the mean."""
        return self.shares[-1] - self.shares[1]

    @property
    def margin(self) -> float:
        """By how much the change may be off: by Student's t over the trainings.

        Of a single training it is known only how far other sentences would move it.
        """
        if len(self.runs) > 1:
            changes = [run[-1] - run[1] for run in self.runs]
            return STUDENT.get(len(changes), 2.3) * stdev(changes) / sqrt(len(changes))
        first, last = self.shares[1], self.shares[-1]
        return SURE * sqrt((first * (1 - first) + last * (1 - last)) / self.count)

    @property
    def clear(self) -> bool:
        """Whether the change is larger than chance would make it."""
        return abs(self.change) > self.margin

    @property
    def as_claimed(self) -> bool:
        """Facts of words are to fade as one climbs, facts of sentences to grow."""
        return self.clear and (self.change < 0) == self.of_word


def linear_probe(
    fit: tuple[Float[Tensor, "N D"], Int[Tensor, " N"]],
    test: tuple[Float[Tensor, "M D"], Int[Tensor, " M"]],
) -> float:
    """The share of test answers that a linear map, fitted by ridge regression, gets right."""
    known, answers = fit[1].unique(return_inverse=True)
    middle, spread = fit[0].double().mean(0), fit[0].double().std(0) + 1e-6
    x, y = (_with_bias((one[0].double() - middle) / spread) for one in (fit, test))
    square = x.T @ x + RIDGE * torch.eye(x.shape[1], dtype=x.dtype)
    fitted = torch.linalg.solve(square, x.T @ one_hot(answers).to(x.dtype))
    return float((known[(y @ fitted).argmax(-1)] == test[1]).double().mean())


def _with_bias(x: Tensor) -> Tensor:
    return torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], dim=1)


CORE, SHORTEST, LONGEST = 0.15, 4, 7  # of the primer: the share of its words, words a sentence
FEWEST = 50  # sentences a probe is fitted to or judged on, of a model that comes from elsewhere
OFTEN = 20  # how often a word must come for a probe to be asked for it
PRESENT, PAST, FUTURE = range(3)
FORMS = {"है": PRESENT, "हैं": PRESENT, "हूँ": PRESENT, "हो": PRESENT}
ENDINGS = (("गा", FUTURE), ("गे", FUTURE), ("गी", FUTURE)) + tuple(
    (one, PAST) for one in ("ा", "े", "ी", "ीं", "ई")
)


@dataclass(frozen=True)
class ProbeSentences:
    """Sentences without their last sign: their tokens, tense, and whether they are questions."""

    twins: tuple[SentencePair, ...]
    tokens: Tokens
    tense: Int[Tensor, " B"]
    question: Int[Tensor, " B"]


def tense_of(hindi: str) -> int | None:
    """The tense of a simple Hindi sentence by its last word; none where that does not show it."""
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
    but: Collection[SentencePair] = (),
    knows: bool = False,
) -> ProbeSentences:
    """Of so many sentences those, each once, that end in a full stop or question mark and show
    their tense, but none of some others; if it `knows`, those whose every word the model has met.
    """
    made = generate_sentences(split, seed=seed, shortest=SHORTEST, longest=LONGEST, core=CORE)
    left_out = {one.english for one in but}
    found: dict[str, tuple[SentencePair, list[int], int, int]] = {}
    for twin in islice(made, count):
        tense, text = tense_of(twin.hindi), twin.english
        if tense is None or text[-1] not in ".?" or text in left_out:
            continue
        if not knows or knows_every_word(translator, text):
            found[text] = twin, translator.encode(text)[:-2], tense, int(text.endswith("?"))
    if knows and len(found) < FEWEST:
        raise UserError(
            f"model: of {count} sentences of the primer it knows the words of {len(found)}, and "
            f"{FEWEST} are needed; give one trained from English with data.task=primer, or more "
            "sentences"
        )
    twins, ids, tenses, questions = zip(*found.values(), strict=True)
    return ProbeSentences(twins, Tokens.pad(ids), torch.tensor(tenses), torch.tensor(questions))


def probe_facts(
    fit: ProbeSentences, test: ProbeSentences, before: Sequence[Tensor], after: Sequence[Tensor]
) -> tuple[ProbedFact, ...]:
    """Every probe on the embedding and on every layer."""
    common = torch.bincount(fit.tokens.ids[fit.tokens.mask]) >= OFTEN

    def words(read: ProbeSentences, states: Tensor, back: int) -> tuple[Tensor, Tensor]:
        mask = read.tokens.mask[:, back:]
        ids = read.tokens.ids[:, : mask.shape[1]][mask]
        asked = (ids < len(common)) & common[ids.clamp(max=len(common) - 1)]
        return states[:, back:][mask][asked], ids[asked]

    def ends(read: ProbeSentences, states: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
        return states[torch.arange(len(states)), read.tokens.lengths - 1], answers

    found: list[ProbedFact] = []
    for back, name in enumerate(("word", "word_before")):
        asked = [
            (words(fit, a, back), words(test, b, back)) for a, b in zip(before, after, strict=True)
        ]
        found.append(_probe_fact(name, asked, of_word=True))
    for name in ("tense", "question"):
        answers = getattr(fit, name), getattr(test, name)
        asked = [
            (ends(fit, a, answers[0]), ends(test, b, answers[1]))
            for a, b in zip(before, after, strict=True)
        ]
        found.append(_probe_fact(name, asked, of_word=False))
    return tuple(found)


ProbeData = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]


def _probe_fact(name: str, asked: Sequence[ProbeData], *, of_word: bool) -> ProbedFact:
    (_, learned), (_, judged) = asked[0]
    chance = float((judged == learned.mode().values).double().mean())
    shares = tuple(linear_probe(fit, test) for fit, test in asked)
    return ProbedFact(name, of_word, chance, len(judged), (shares,))


BATCH = 64  # sentences read at once


def transformer_encoder(translator: Translator) -> TransformerEncoder:
    """The encoder, if it is one that looks at all words in layers."""
    encoder = translator.model.encoder
    if not isinstance(encoder, TransformerEncoder):
        raise UserError("model: its encoder is no Transformer's; give a trained Transformer")
    return encoder


def reinitialised_encoder(encoder: TransformerEncoder, seed: int) -> TransformerEncoder:
    """The same encoder with weights drawn anew, as they were before any training."""
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
                case nn.LayerNorm():
                    part.reset_parameters()
    return fresh


def word_vectors(
    encoder: TransformerEncoder, translator: Translator, texts: Sequence[str], word: str
) -> list[Float[Tensor, "N D"]]:
    """A word's vector in each sentence: its own, with its position, after each layer.

    What the last layer gives is normalised, as the decoder is given it. A word of several pieces
    has their mean.
    """
    read = [translator.encode(text) for text in texts]
    spans = [_span(translator, ids, text, word) for ids, text in zip(read, texts, strict=True)]
    found: list[list[Tensor]] = []
    for first in range(0, len(read), BATCH):
        levels = _levels(encoder, Tokens.pad(read[first : first + BATCH]).to(translator.device))
        own = spans[first : first + BATCH]
        found.append(
            [
                torch.stack([level[row, a:b].mean(0) for row, (a, b) in enumerate(own)])
                for level in levels
            ]
        )
    return [torch.cat(level).double().cpu() for level in zip(*found, strict=True)]


def sentence_vectors(
    encoder: TransformerEncoder, read: Sequence[Sequence[int]], device: torch.device
) -> Float[Tensor, "N D"]:
    """The mean of each sentence's last states."""
    with evaluation_mode(encoder), torch.no_grad():
        found = [
            encoder(Tokens.pad(read[first : first + BATCH]).to(device)).summary
            for first in range(0, len(read), BATCH)
        ]
    return torch.cat(found).double().cpu()


def _levels(encoder: TransformerEncoder, source: Tokens) -> list[Float[Tensor, "B S D"]]:
    with evaluation_mode(encoder), torch.no_grad():
        states = [encoder.token_embedding(source.ids), encoder.embedding(source.ids)]
        for layer in encoder.layers:
            states.append(layer(states[-1], source))
        return [*states[:-1], encoder.final_norm(states[-1])]


def _span(translator: Translator, ids: list[int], text: str, word: str) -> tuple[int, int]:
    """Where a word stands, in ids."""
    for span in translator.source.words(ids, text):
        if span.text.lower() == word:
            return span.first, span.last
    raise UserError(f"word: {word!r} does not stand in {text!r}")


DECAY = 0.01  # of the squared weights of a probe
NORMAL = 1.96  # standard errors on either side hold 95 % of what chance does


@dataclass(frozen=True)
class ProbeResult:
    """How many answers a probe got right, and the share with its interval of 95 %."""

    right: int
    asked: int

    @property
    def share(self) -> float:
        """The share that is right."""
        return self.right / self.asked

    @property
    def interval(self) -> tuple[float, float]:
        """Where it lies with 95 % certainty."""
        return wilson(self.right, self.asked)


def wilson(right: int, asked: int) -> tuple[float, float]:
    """The interval of 95 % of a share, by Wilson's score (1927), which never leaves 0 to 1."""
    share, square = right / asked, NORMAL**2
    middle = (share + square / (2 * asked)) / (1 + square / asked)
    half = sqrt(share * (1 - share) / asked + square / (4 * asked**2))
    half *= NORMAL / (1 + square / asked)
    return max(0.0, middle - half), min(1.0, middle + half)


def logistic(
    fit: tuple[Float[Tensor, "N D"], Int[Tensor, " N"]],
    test: tuple[Float[Tensor, "M D"], Int[Tensor, " M"]],
) -> ProbeResult:
    """Logistic regression with a penalty on its weights, fitted on some and asked of others.

    Numbers are first brought to one size; one that is the same everywhere says nothing.
    """
    known, answers = fit[1].unique(return_inverse=True)
    middle, spread = fit[0].double().mean(0), fit[0].double().std(0)
    spread = torch.where(spread > 1e-9, spread, torch.inf)
    x, y = ((one[0].double() - middle) / spread for one in (fit, test))
    weights = torch.zeros(x.shape[1], len(known), dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(len(known), dtype=torch.float64, requires_grad=True)
    steps = torch.optim.LBFGS([weights, bias], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        steps.zero_grad()
        found = cross_entropy(x @ weights + bias, answers) + DECAY / 2 * weights.square().sum()
        found.backward()
        return found

    with torch.enable_grad():
        steps.step(loss)
    with torch.no_grad():
        said = known[(y @ weights + bias).argmax(-1)]
    return ProbeResult(int((said == test[1]).sum()), len(test[1]))


def between_group_variance(vectors: Float[Tensor, "N D"], groups: Int[Tensor, " N"]) -> float:
    """The share of the variance of all vectors that lies between the means of their groups."""
    x = vectors.double() - vectors.double().mean(0)
    total = float(x.square().sum())
    if total < 1e-9:
        return 0.0
    means = [(x[groups == one].mean(0), int((groups == one).sum())) for one in groups.unique()]
    return sum(count * float(mean.square().sum()) for mean, count in means) / total


def linear_cka(one: Float[Tensor, "N D"], other: Float[Tensor, "N E"]) -> float:
    """How alike the vectors of the same things lie in two spaces: linear CKA (Kornblith, 2019).

    1 if one is the other turned or stretched, 0 if nothing in one follows from the other.
    """
    x, y = (each.double() - each.double().mean(0) for each in (one, other))
    both = (x.T @ y).square().sum()
    return float(both / ((x.T @ x).norm() * (y.T @ y).norm()))


def principal_plane(
    vectors: Float[Tensor, "N D"],
) -> tuple[Float64[Tensor, "N 2"], Float64[Tensor, " 2"]]:
    """The vectors on their two axes of most variance, and the shares these explain."""
    x = vectors.double() - vectors.double().mean(0)
    left, sizes, _ = torch.linalg.svd(x, full_matrices=False)
    total = sizes.square().sum().clamp(min=1e-12)
    return left[:, :2] * sizes[:2], sizes[:2].square() / total
