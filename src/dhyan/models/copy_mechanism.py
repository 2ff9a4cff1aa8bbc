"""Copy mechanism: a decoder that may also copy a source token (See, Liu and Manning, 2017)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.attention import Attention, Memory
from dhyan.batch import Tokens
from dhyan.kernels.ops import at_least_float32
from dhyan.models.embedding import TokenEmbedding
from dhyan.models.interface import AttentionLayer, Decoder, Encoded, State

TINY = 1e-9


@dataclass(frozen=True)
class CopyingState:
    """The state of the decoder, and the source tokens that it may copy."""

    decoder: State
    memory: Memory
    source_ids: Int[Tensor, "B S"]

    def select(self, rows: Int[Tensor, " R"]) -> "CopyingState":
        """The state of other rows: repeat, drop or reorder hypotheses."""
        return CopyingState(
            self.decoder.select(rows), self.memory.select(rows), self.source_ids[rows]
        )


class CopyingDecoder(nn.Module):
    """P(w) = g · P_vocabulary(w) + (1 − g) · Σ_{j: x_j = w} α_j, with g = σ(W [v; c]).

    v is the hidden vector of the decoder, α an attention from v to the source, and c its context.
    Source and target must share one vocabulary, and a word it lacks stays unknown: subwords and
    bytes replace the paper's extended vocabulary. The logits returned are log P.
    """

    def __init__(self, decoder: Decoder, copy_attention: Attention, context_width: int) -> None:
        super().__init__()
        if decoder.output is None:
            raise ValueError("copying needs a decoder with an output layer")
        self.decoder = decoder
        self.copy_attention = copy_attention
        self.gate = nn.Linear(decoder.width + context_width, 1)

    @property
    def max_length(self) -> int | None:
        """The most tokens it takes, if there is a limit."""
        return self.decoder.max_length

    @property
    def token_embedding(self) -> TokenEmbedding:
        """That of its decoder."""
        return self.decoder.token_embedding

    @property
    def width(self) -> int:
        """The width of its hidden vectors."""
        return self.decoder.width

    @property
    def output(self) -> None:
        """None: its logits are no linear map of its hidden vectors."""
        return

    def attentions(self) -> list[AttentionLayer]:
        """Those of the decoder, then the copy attention, which counts as one layer more."""
        inner = [layer.within("decoder") for layer in self.decoder.attentions()]
        last = max((layer.layer for layer in inner), default=0)
        return [*inner, AttentionLayer("copy_attention", "cross", last + 1, self.copy_attention)]

    def start(self, encoded: Encoded) -> CopyingState:
        """The source is remembered a second time, for copying."""
        if not isinstance(encoded.source, Tokens):
            raise ValueError("copying needs a source of tokens")
        memory = self.copy_attention.remember(encoded.states, encoded.mask)
        return CopyingState(self.decoder.start(encoded), memory, encoded.source.ids)

    def hidden(
        self, token_ids: Int[Tensor, "B T"], state: CopyingState
    ) -> tuple[Float[Tensor, "B T D"], CopyingState]:
        """The hidden vectors of its decoder."""
        hidden, decoder = self.decoder.hidden(token_ids, state.decoder)
        return hidden, CopyingState(decoder, state.memory, state.source_ids)

    def forward(
        self, token_ids: Int[Tensor, "B T"], state: CopyingState
    ) -> tuple[Float[Tensor, "B T V"], CopyingState]:
        """The logprobs of the token after each of these, generated or copied."""
        hidden, state = self.hidden(token_ids, state)
        context, weights, memory = self.copy_attention(hidden, state.memory)
        if weights is None:
            raise ValueError("copying needs an attention that returns its weights")
        assert self.decoder.output is not None, "checked when it was built"
        generated = at_least_float32(self.decoder.output(hidden)).softmax(dim=-1)
        gate = torch.sigmoid(at_least_float32(self.gate(torch.cat([hidden, context], dim=-1))))
        pointed = weights.mean(dim=1).to(generated.dtype)
        source_ids = state.source_ids.unsqueeze(1).expand_as(pointed)
        copied = torch.zeros_like(generated).scatter_add(2, source_ids, pointed)
        probs = gate * generated + (1 - gate) * copied
        return torch.log(probs + TINY), CopyingState(state.decoder, memory, state.source_ids)
