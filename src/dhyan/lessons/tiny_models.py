"""Tiny models that lessons train or take apart: an LSTM encoder-decoder and a Transformer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from dhyan import config
from dhyan.attention import bottleneck
from dhyan.batch import Batch, Tokens
from dhyan.errors import UserError
from dhyan.kernels.ops import rnn_state
from dhyan.lessons.parsing import parse_learning_rate, parse_words
from dhyan.models.build import build_model
from dhyan.models.embedding import OneHot
from dhyan.models.interface import Encoder, State
from dhyan.models.recurrent_layers import CELLS, Cell, DirectBridge
from dhyan.models.rnn import LuongDecoder, LuongState, RNNEncoder
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import BOS, EOS, NAMES, PAD
from dhyan.training.loss import cross_entropy


def number_words(sentences: Iterable[Sequence[str]]) -> dict[str, int]:
    """An id for every word, in the order in which they come, after the special ones."""
    words = dict.fromkeys(word for sentence in sentences for word in sentence)
    return {word: len(NAMES) + place for place, word in enumerate(words)}


def tiny_transformer(
    source: int, target: int, *, seed: int, width: int = 32, heads: int = 4, layers: int = 2
) -> Seq2Seq:
    """A fresh one over so many words a side, in double precision."""
    sizes = {"width": width, "heads": heads, "feed_forward_width": 2 * width, "layers": layers}
    recipe = config.Recipe(
        encoder=config.TransformerEncoder(**sizes, dropout=0.0),  # type: ignore[arg-type]
        decoder=config.TransformerDecoder(**sizes, dropout=0.0),  # type: ignore[arg-type]
    )
    with seeded(seed):
        return build_model(recipe, len(NAMES) + source, len(NAMES) + target).double()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside, chance follows from the seed; outside, nothing of it is felt."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


START, END = "<start>", "<end>"  # the first words of a target vocabulary: ids 1 and 2
OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
}

Pairs = Sequence[Sequence[str]]
ProgressCallback = Callable[[str], None]


@dataclass(frozen=True)
class Vocabulary:
    """Words in the order in which they came; the first has id 1, since 0 is padding."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Iterable[str], *first: str) -> "Vocabulary":
        """Every word of the sentences once, after those that come first."""
        every = (word for sentence in sentences for word in parse_words(sentence))
        return cls(tuple(dict.fromkeys((*first, *every))))

    def ids(self, words: Iterable[str]) -> list[int]:
        """The number of each word."""
        return [self._id(word) for word in words]

    def said(self, ids: Iterable[int]) -> tuple[str, ...]:
        """The words of these numbers."""
        return tuple(self.words[number - 1] for number in ids)

    def one_hot(self, words: Sequence[str]) -> Float64[Tensor, "T V"]:
        """A row for each word, with a single one in it."""
        places = torch.tensor(self.ids(words)) - 1
        return torch.eye(len(self.words), dtype=torch.float64)[places]

    def __len__(self) -> int:
        return len(self.words)

    def _id(self, word: str) -> int:
        if word not in self.words:
            raise UserError(f"the corpus has no word {word!r}; it has {', '.join(self.words)}")
        return self.words.index(word) + 1


def read_pairs(pairs: Pairs) -> tuple[tuple[str, str], ...]:
    """Sentences with their translations."""
    found = tuple(map(_pair, pairs)) if isinstance(pairs, list | tuple) else ()
    if not all(found) or not found:
        raise UserError(
            'pairs: give sentences with their translations, such as [["come in", "आओ"]]'
        )
    return tuple((" ".join(parse_words(one)), " ".join(parse_words(other))) for one, other in found)


def _pair(given: object) -> tuple[str, ...]:
    """Two texts, or nothing."""
    if isinstance(given, list | tuple) and len(given) == 2:
        return tuple(given) if all(isinstance(one, str) for one in given) else ()
    return ()


def parse_cell(given: str) -> Cell:
    """One of the recurrent cells."""
    if given not in CELLS:
        raise UserError(f"cell is {given!r}: give one of {', '.join(CELLS)}")
    return cast(Cell, given)


def make_batch(pairs: Pairs, source: Vocabulary, target: Vocabulary) -> Batch:
    """All pairs side by side, the targets between <start> and <end>."""
    sources = [source.ids(parse_words(one)) for one, _ in pairs]
    targets = [target.ids([START, *parse_words(other), END]) for _, other in pairs]
    return Batch(Tokens.pad(sources), Tokens.pad(targets))


def tiny_encoder_decoder(
    source: Vocabulary, target: Vocabulary, *, width: int, cell: str = "lstm", seed: int
) -> Seq2Seq:
    """One-hot words into an encoder whose last state starts the decoder; there is no attention.

    Padding is never said: its score is −∞, so the softmax is over the words alone.
    """
    kind = parse_cell(cell)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = RNNEncoder(OneHot(len(source) + 1), width=width, cell=kind)
        decoder = LuongDecoder(
            OneHot(len(target) + 1),
            bottleneck(),
            DirectBridge(encoder.summary_shape, encoder.summary_shape),
            width=width,
            context_width=width,
            cell=kind,
            input_feeding=False,
        )
    with torch.no_grad():
        decoder.output.bias[PAD] = -torch.inf
    return Seq2Seq(encoder, decoder).double()


def train_updates(
    model: Seq2Seq,
    batch: Batch,
    *,
    steps: int,
    learning_rate: float,
    optimizer: str = "adam",
    on_progress: ProgressCallback | None = None,
) -> tuple[float, ...]:
    """Update the weights so often; the mean loss per word before each update, and after the last.

    Forward, loss, backward, update: the whole of training, with the correct words as inputs.
    """
    if optimizer not in OPTIMIZERS:
        raise UserError(f"optimizer is {optimizer!r}: give one of {', '.join(OPTIMIZERS)}")
    rate = parse_learning_rate(learning_rate)
    updates = OPTIMIZERS[optimizer](model.parameters(), lr=rate)  # type: ignore[call-arg]
    losses: list[float] = []
    for step in range(steps + 1):
        mean = cross_entropy(model(batch), batch.labels, smoothing=0.0) / batch.labels.count
        losses.append(float(mean.detach()))
        if on_progress and step % max(1, steps // 10) == 0:
            on_progress(f"step {step}: loss {losses[-1]:.3f}")
        if step < steps:
            updates.zero_grad()
            mean.backward()
            updates.step()
    return tuple(losses)


@dataclass(frozen=True)
class DecodedSteps:
    """A decoder step by step: what it was fed, what it gave every word, its state, what it said.

    The state has its parts (h and c of an LSTM) first; `context` is the one it started from.
    """

    fed: tuple[int, ...]
    chances: Float64[Tensor, "T V"]
    states: Float64[Tensor, "T P D"]
    context: Float64[Tensor, "P D"]
    said: tuple[int, ...]

    @property
    def finished(self) -> bool:
        """Whether it said <end> by itself."""
        return self.said[-1] == EOS


@torch.no_grad()
def decode(model: Seq2Seq, source: Sequence[int], *, limit: int) -> DecodedSteps:
    """Say the likeliest word, feed it back, until <end> or the limit."""
    state = model.start(Tokens.pad([source]))
    context, fed, chances, states = _hidden(state), [BOS], list[Tensor](), list[Tensor]()
    while True:
        logits, state = model.step(torch.tensor(fed[-1:]), state)
        chances.append(logits[0].softmax(-1)[1:])
        states.append(_hidden(state))
        word = int(logits[0].argmax())
        if word == EOS or len(fed) == limit:
            said = (*fed[1:], word)
            return DecodedSteps(
                tuple(fed), torch.stack(chances), torch.stack(states), context, said
            )
        fed.append(word)


def _hidden(state: State) -> Float64[Tensor, "P D"]:
    """The recurrent state of the only row and layer."""
    assert isinstance(state, LuongState)
    return state.hidden[0, :, 0]


def states_by_token(encoder: Encoder, source: Tokens) -> Float[Tensor, "B S P L D"]:
    """Every layer's state after each token, read one at a time with the same weights."""
    assert isinstance(encoder, RNNEncoder)
    state, found = None, list[Tensor]()
    for place in range(source.ids.shape[1]):
        word = encoder.token_embedding(source.ids[:, place : place + 1])
        _, state = encoder.rnn(word, state)
        found.append(rnn_state(state))
    return torch.stack(found, dim=1)


def evenly_spaced(steps: int, most: int = 11) -> tuple[int, ...]:
    """Some steps, evenly spread from the first to the last."""
    return tuple(dict.fromkeys(round(steps * part / (most - 1)) for part in range(most)))
