"""A decoder without memory of its own: a linear layer per position, or a linear-chain CRF."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.models.embedding import OneHot, TokenEmbedding
from dhyan.models.interface import AttentionLayer, Encoded

MOST_SYMBOLS = 2000  # of a CRF, whose transitions are as many squared


@dataclass(frozen=True)
class LinearState:
    """The scores of every symbol at every position, and the position of the next output."""

    scores: Float[Tensor, "B S V"]
    position: int

    def select(self, rows: Int[Tensor, " R"]) -> "LinearState":
        """The state of other rows: repeat, drop or reorder hypotheses."""
        return LinearState(self.scores[rows], self.position)


class LinearDecoder(nn.Module):
    """Output t from the encoder's state at position t alone; for tags, one for each word.

    With `transitions` it is a linear-chain CRF (Lafferty, McCallum and Pereira, 2001):
    p(y | x) ∝ exp Σ_t (e_t(y_t) + A[y_{t-1}, y_t]). Such a chain is the product of
    p(y_t | y_{t-1}, x) ∝ exp(A[y_{t-1}, y_t] + e_t(y_t) + β_t(y_t)), with the backward messages
    β_t(y) = log Σ_y' exp(A[y, y'] + e_{t+1}(y') + β_{t+1}(y')) of the outputs still to come. So
    the cross-entropy of its steps is the loss of the CRF, and search needs to know nothing of it.
    """

    def __init__(
        self, source_width: int, vocabulary: int, *, transitions: bool, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if transitions and vocabulary > MOST_SYMBOLS:
            raise ValueError(
                f"transitions between {vocabulary:,} symbols: a CRF is for tags, at most "
                f"{MOST_SYMBOLS:,}"
            )
        self.max_length = None
        self.width = vocabulary
        self.output = None
        self.dropout = nn.Dropout(dropout)
        self.emission = nn.Linear(source_width, vocabulary)
        self.end = nn.Parameter(torch.zeros(vocabulary))  # scores after the last position
        # A CRF reads of its last output the scores of what follows it; a linear layer reads nothing.
        self.token_embedding: TokenEmbedding = OneHot(vocabulary)
        if transitions:
            self.token_embedding = nn.Embedding(vocabulary, vocabulary)
            nn.init.zeros_(self.token_embedding.weight)

    def attentions(self) -> list[AttentionLayer]:
        """None: each output reads one position."""
        return []

    def start(self, encoded: Encoded) -> LinearState:
        """The scores e_t of all positions and of one after them; of a CRF, e_t + β_t."""
        emission = self.emission(self.dropout(encoded.states))
        emission = emission.where(encoded.mask.unsqueeze(-1), self.end)
        end = self.end.expand(len(emission), 1, -1)
        scores = torch.cat([emission, end], dim=1)
        if isinstance(self.token_embedding, nn.Embedding):
            transitions, last = self.token_embedding.weight, encoded.mask.sum(dim=1)
            scores = scores + backward_messages(scores, transitions, last)
        return LinearState(scores, 0)

    def forward(
        self, token_ids: Int[Tensor, "B T"], state: LinearState
    ) -> tuple[Float[Tensor, "B T V"], LinearState]:
        """The logits of the token after each of these."""
        return self.hidden(token_ids, state)

    def hidden(
        self, token_ids: Int[Tensor, "B T"], state: LinearState
    ) -> tuple[Float[Tensor, "B T V"], LinearState]:
        """The logits: the scores at the position of each output, and the transition to it."""
        count, most = token_ids.shape[1], state.scores.shape[1] - 1
        positions = torch.arange(count, device=token_ids.device) + state.position
        logits = state.scores[:, positions.clamp(max=most)]
        if isinstance(self.token_embedding, nn.Embedding):
            logits = logits + self.token_embedding(token_ids)
        return logits, LinearState(state.scores, state.position + count)


def backward_messages(
    scores: Float[Tensor, "B S V"], transitions: Float[Tensor, "V V"], last: Int[Tensor, " B"]
) -> Float[Tensor, "B S V"]:
    """The messages β_t, from the last position of each sequence, where they are 0."""
    message = torch.zeros_like(scores[:, 0])
    messages = [message]
    for t in range(scores.shape[1] - 2, -1, -1):
        following = (scores[:, t + 1] + message).unsqueeze(1)
        message = torch.logsumexp(transitions + following, dim=-1)
        message = message.where((t < last).unsqueeze(-1), 0.0)
        messages.append(message)
    return torch.stack(messages[::-1], dim=1)
