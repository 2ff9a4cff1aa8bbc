"""Tiny models that lessons train or take apart: an LSTM encoder-decoder and a Transformer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from dhyan import config
from dhyan.batch import Batch, Source, Tokens
from dhyan.errors import UserError
from dhyan.kernels.ops import rnn_state
from dhyan.lessons.lesson import ProgressCallback, parse_learning_rate, parse_words
from dhyan.models.build import build_model
from dhyan.models.embedding import OneHot
from dhyan.models.interface import Encoder, State
from dhyan.models.recurrent_layers import CELLS, Cell, DirectBridge
from dhyan.models.rnn import RNNDecoder, RNNEncoder, RNNState
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import BOS, EOS, NAMES, PAD
from dhyan.training.loss import cross_entropy


def number_words(sentences: Iterable[Sequence[str]]) -> dict[str, int]:
    """An id for every word in order of first occurrence, after the special tokens."""
    words = dict.fromkeys(word for sentence in sentences for word in sentence)
    return {word: len(NAMES) + index for index, word in enumerate(words)}


def tiny_transformer(
    source: int, target: int, *, seed: int, width: int = 32, heads: int = 4, layers: int = 2
) -> Seq2Seq:
    """An untrained Transformer in double precision, for vocabularies of `source` and `target` words."""
    sizes = {"width": width, "heads": heads, "feed_forward_width": 2 * width, "layers": layers}
    recipe = config.Recipe(
        encoder=config.TransformerEncoder(**sizes, dropout=0.0),  # type: ignore[arg-type]
        decoder=config.TransformerDecoder(**sizes, dropout=0.0),  # type: ignore[arg-type]
    )
    with seeded(seed):
        return build_model(recipe, len(NAMES) + source, len(NAMES) + target).double()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's random numbers inside; their state outside is unchanged."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


START, END = "<start>", "<end>"  # the first words of a target vocabulary: ids 1 and 2
OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
}

OPTIMIZER_NAMES = {"adam": "Adam", "sgd": "SGD"}

Pairs = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Vocabulary:
    """Words in order of first occurrence.

    A word's position counts from 0; its id in a model is one more, since 0 is padding.
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Iterable[str], *first: str) -> "Vocabulary":
        """Every word of the sentences once, after the words of `first`."""
        every = (word for sentence in sentences for word in parse_words(sentence))
        return cls(tuple(dict.fromkeys((*first, *every))))

    def positions(self, words: Iterable[str]) -> list[int]:
        """The position of each word: where its one-hot vector has its 1."""
        return [self._position(word) for word in words]

    def ids(self, words: Iterable[str]) -> list[int]:
        """The id of each word in a model."""
        return [position + 1 for position in self.positions(words)]

    def words_of(self, ids: Iterable[int]) -> tuple[str, ...]:
        """The words of these ids."""
        return tuple(self.words[token_id - 1] for token_id in ids)

    def one_hot(self, words: Sequence[str]) -> Float64[Tensor, "T V"]:
        """One-hot vectors, a row for each word."""
        return torch.eye(len(self.words), dtype=torch.float64)[torch.tensor(self.positions(words))]

    def __len__(self) -> int:
        return len(self.words)

    def _position(self, word: str) -> int:
        if word not in self.words:
            raise UserError(
                f"the corpus has no word {word!r}; give a sentence of its words: "
                f"{', '.join(self.words)}"
            )
        return self.words.index(word)


def read_pairs(pairs: Pairs) -> tuple[tuple[str, str], ...]:
    """Sentences with their translations."""
    read = tuple(map(_pair, pairs)) if isinstance(pairs, list | tuple) else ()
    if not all(read) or not read:
        raise UserError(
            'pairs: give sentences with their translations, such as [["come in", "आओ"]]'
        )
    return tuple(
        (" ".join(parse_words(source)), " ".join(parse_words(target))) for source, target in read
    )


def _pair(pair: object) -> tuple[str, ...]:
    """A pair of strings; empty if the value is none."""
    if isinstance(pair, list | tuple) and len(pair) == 2:
        return tuple(pair) if all(isinstance(text, str) for text in pair) else ()
    return ()


def parse_cell(name: str) -> Cell:
    """One of the recurrent cells."""
    if name not in CELLS:
        raise UserError(f"cell is {name!r}: give one of {', '.join(CELLS)}")
    return cast(Cell, name)


def parse_optimizer(name: str) -> Callable[..., torch.optim.Optimizer]:
    """One of the optimizers."""
    if name not in OPTIMIZERS:
        raise UserError(f"optimizer is {name!r}: give one of {', '.join(OPTIMIZERS)}")
    return OPTIMIZERS[name]


def make_batch(pairs: Pairs, source: Vocabulary, target: Vocabulary) -> Batch:
    """All pairs as one padded batch, the targets between <start> and <end>."""
    sources = [source.ids(parse_words(sentence)) for sentence, _ in pairs]
    targets = [target.ids([START, *parse_words(translation), END]) for _, translation in pairs]
    return Batch(Tokens.pad(sources), Tokens.pad(targets))


def tiny_encoder_decoder(
    source: Vocabulary, target: Vocabulary, *, width: int, cell: str = "lstm", seed: int
) -> Seq2Seq:
    """Encoder-decoder without attention over one-hot words: the last state starts the decoder.

    That is the wiring of Sutskever et al. (2014): the decoder reads nothing else of the source.
    Padding is never produced: its logit is −∞, so the softmax is over the words alone.
    """
    cell_type = parse_cell(cell)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = RNNEncoder(OneHot(len(source) + 1), width=width, cell=cell_type)
        bridge = DirectBridge(encoder.summary_shape, encoder.summary_shape)
        decoder = RNNDecoder(OneHot(len(target) + 1), bridge, width=width, cell=cell_type)
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
    """Train for `steps` updates; the mean loss per word before each update, and after the last.

    Forward, loss, backward, update, with teacher forcing.
    """
    rate = parse_learning_rate(learning_rate)
    updates = parse_optimizer(optimizer)(model.parameters(), lr=rate)
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
    """Greedy decoding step by step: input and output tokens, probabilities and states.

    The state has its parts (h and c of an LSTM) first; `context` is the initial state.
    """

    inputs: tuple[int, ...]
    probs: Float64[Tensor, "T V"]
    states: Float64[Tensor, "T P D"]
    context: Float64[Tensor, "P D"]
    outputs: tuple[int, ...]

    @property
    def finished(self) -> bool:
        """Whether the output ended with <end> before the limit."""
        return self.outputs[-1] == EOS


@torch.no_grad()
def decode(model: Seq2Seq, source: Sequence[int], *, limit: int) -> DecodedSteps:
    """Greedy decoding until <end> or the limit."""
    state = model.start(Tokens.pad([source]))
    context, inputs, probs, states = _hidden(state), [BOS], list[Tensor](), list[Tensor]()
    while True:
        logits, state = model.step(torch.tensor(inputs[-1:]), state)
        probs.append(logits[0].softmax(-1)[1:])
        states.append(_hidden(state))
        word = int(logits[0].argmax())
        if word == EOS or len(inputs) == limit:
            outputs = (*inputs[1:], word)
            return DecodedSteps(
                tuple(inputs), torch.stack(probs), torch.stack(states), context, outputs
            )
        inputs.append(word)


def _hidden(state: State) -> Float64[Tensor, "P D"]:
    """The recurrent state of a single row and layer."""
    assert isinstance(state, RNNState)
    return state.hidden[0, :, 0]


def states_by_token(encoder: Encoder, source: Source) -> Float[Tensor, "B S P L D"]:
    """Every layer's state after each token, read one token at a time."""
    assert isinstance(encoder, RNNEncoder)
    assert isinstance(source, Tokens)
    state, states = None, list[Tensor]()
    for position in range(source.ids.shape[1]):
        embedding = encoder.token_embedding(source.ids[:, position : position + 1])
        _, state = encoder.rnn(embedding, state)
        states.append(rnn_state(state))
    return torch.stack(states, dim=1)


def evenly_spaced(steps: int, most: int = 11) -> tuple[int, ...]:
    """At most `most` steps, evenly spaced from the first to the last."""
    return tuple(dict.fromkeys(round(steps * part / (most - 1)) for part in range(most)))
