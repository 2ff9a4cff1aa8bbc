"""The two halves of a sequence-to-sequence model, and what passes between them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor

from dhyan.attention import Attention, Sight
from dhyan.batch import Tokens
from dhyan.models.embedding import Words

AttentionRole = Literal["encoder_self", "decoder_self", "cross"]
"""Self-attention of the encoder or the decoder, or attention of the decoder to the source."""


@dataclass(frozen=True)
class AttentionLayer:
    """One attention of a model: its dotted module name, role, and layer, counted from 1.

    `member` numbers the models of an ensemble from 0.
    """

    name: str
    role: AttentionRole
    layer: int
    attention: Attention
    member: int = 0

    def within(self, parent: str, member: int = 0) -> "AttentionLayer":
        """The same attention as a part of a larger module."""
        return replace(self, name=f"{parent}.{self.name}", member=member)


@dataclass(frozen=True)
class Encoded:
    """A source sentence after reading: one state per token, and one vector for the whole."""

    states: Float[Tensor, "B S D"]
    summary: Float[Tensor, "B K"]
    source: Tokens

    @property
    def mask(self) -> Bool[Tensor, "B S"]:
        """Where a real token stands."""
        return self.source.mask


@runtime_checkable
class State(Protocol):
    """Where a decoder stands. Search asks only one thing of it."""

    def select(self, rows: Int[Tensor, " R"]) -> "State":
        """The state of other rows: repeat, drop or reorder hypotheses."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Reads a sentence.

    Its states are `width` wide; its summary is a state of `summary_shape` (parts, layers, width),
    laid flat; `last` sees the state it read last; `longest` is the most tokens it takes, if any;
    `words` is the table of its vocabulary.
    """

    @property
    def words(self) -> Words: ...  # noqa: D102
    @property
    def width(self) -> int: ...  # noqa: D102
    @property
    def summary_shape(self) -> tuple[int, int, int]: ...  # noqa: D102
    @property
    def last(self) -> Sight: ...  # noqa: D102
    @property
    def longest(self) -> int | None: ...  # noqa: D102

    def __call__(self, source: Tokens) -> Encoded:
        """One state per token, in the order of the sentence."""
        ...

    def attentions(self) -> Sequence[AttentionLayer]:
        """Every attention of the encoder, in the order they are called."""
        ...


@runtime_checkable
class Decoder(Protocol):
    """Feed it one token or a hundred: the logits and the state come out the same.

    `longest` is the most tokens it takes, if any; `words` is the table of its vocabulary.
    """

    @property
    def longest(self) -> int | None: ...  # noqa: D102
    @property
    def words(self) -> Words: ...  # noqa: D102

    def start(self, encoded: Encoded) -> State:
        """Ready to say the first word about what was read."""
        ...

    def __call__(
        self, ids: Int[Tensor, "B T"], state: State
    ) -> tuple[Float[Tensor, "B T V"], State]:
        """The logits of the word after each id, and where the decoder stands then."""
        ...

    def attentions(self) -> Sequence[AttentionLayer]:
        """Every attention of the decoder, in the order they are called."""
        ...
