"""Protocols of encoder and decoder, and the values that pass between them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dhyan.attention import Attention, Mask
from dhyan.batch import Source
from dhyan.models.embedding import TokenEmbedding
from dhyan.models.stems import SourceEmbedding

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
    """An encoded source: one state per token or frame, and one vector for the whole."""

    states: Float[Tensor, "B S D"]
    summary: Float[Tensor, "B K"]
    source: Source

    @property
    def mask(self) -> Bool[Tensor, "B S"]:
        """The padding mask."""
        return self.source.mask


@runtime_checkable
class State(Protocol):
    """The state of a decoder between steps. Search uses this one method of it."""

    def select(self, rows: Int[Tensor, " R"]) -> "State":
        """The state of other rows: repeat, drop or reorder hypotheses."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Encodes a sentence, or a sequence of frames.

    Its `token_embedding` is a stem if it reads frames. Its states are `width` wide; its summary is
    a state of `summary_shape` (parts, layers, width), flattened; `final_state_mask` masks all but
    the state it computed last; `max_length` is the most tokens it takes, if there is a limit.
    """

    @property
    def token_embedding(self) -> SourceEmbedding: ...  # noqa: D102
    @property
    def width(self) -> int: ...  # noqa: D102
    @property
    def summary_shape(self) -> tuple[int, int, int]: ...  # noqa: D102
    @property
    def final_state_mask(self) -> Mask: ...  # noqa: D102
    @property
    def max_length(self) -> int | None: ...  # noqa: D102

    def __call__(self, source: Source) -> Encoded:
        """One state per token or frame, in the order of the source."""
        ...

    def attentions(self) -> Sequence[AttentionLayer]:
        """Every attention of the encoder, in the order they are called."""
        ...


@runtime_checkable
class Decoder(Protocol):
    """Decodes one token or a hundred in a call: the logits and the state come out the same.

    `hidden` is `width` wide; the logits are `output(hidden)`, or, if `output` is None, another
    function of it. `max_length` is the most tokens it takes, if there is a limit.
    """

    @property
    def token_embedding(self) -> TokenEmbedding: ...  # noqa: D102
    @property
    def width(self) -> int: ...  # noqa: D102
    @property
    def output(self) -> nn.Linear | None: ...  # noqa: D102
    @property
    def max_length(self) -> int | None: ...  # noqa: D102

    def start(self, encoded: Encoded) -> State:
        """The state before the first token."""
        ...

    def hidden(
        self, token_ids: Int[Tensor, "B T"], state: Any
    ) -> tuple[Float[Tensor, "B T D"], State]:
        """The decoder's output before the vocabulary, for each token, and the state after them."""
        ...

    def __call__(
        self, token_ids: Int[Tensor, "B T"], state: Any
    ) -> tuple[Float[Tensor, "B T V"], State]:
        """The logits of the token after each of these, and the state after them."""
        ...

    def attentions(self) -> Sequence[AttentionLayer]:
        """Every attention of the decoder, in the order they are called."""
        ...
