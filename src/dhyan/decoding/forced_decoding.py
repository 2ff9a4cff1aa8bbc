"""Forced decoding: log-probabilities and attention weights of given translations, in one pass."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dhyan.attention_maps import watch
from dhyan.batch import Batch, Tokens
from dhyan.errors import UserError


@dataclass(frozen=True)
class ForcedDecoding:
    """Log-probabilities of the target tokens, and the weights of every attention by name."""

    logprobs: Float[Tensor, "B T"]
    weights: Mapping[str, Float[Tensor, "B _ _ S"]]

    def source_attention(self, where: str = "") -> Float[Tensor, "B T S"]:
        """Attention from target to source: the mean over heads, then over attentions.

        Only attentions whose name contains `where` count. Of an ensemble, the mean of its models.
        """
        names = [name for name in self.weights if attends_to_source(name)]
        chosen = [name for name in names if where in name]
        if not chosen:
            raise UserError(
                f"no attention to the source is called {where!r}; there are {', '.join(names)}"
            )
        by_model: dict[str, list[Tensor]] = {}
        for name in chosen:
            by_model.setdefault(_model(name), []).append(self.weights[name].float().mean(dim=1))
        means = [torch.stack(weights).mean(dim=0) for weights in by_model.values()]
        return torch.stack(means).mean(dim=0)


def force_decode(
    model: nn.Module,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    device: torch.device,
) -> ForcedDecoding:
    """One forward pass over sources (with EOS) and targets (from BOS), recording attention."""
    batch = Batch(Tokens.pad(sources), Tokens.pad(targets)).to(device)
    with evaluation_mode(model), torch.inference_mode(), watch(model) as recorded:
        logits = model(batch)
    labels = batch.labels.ids.unsqueeze(-1)
    logprobs = logits.float().log_softmax(dim=-1).gather(-1, labels).squeeze(-1)
    return ForcedDecoding(logprobs, recorded.weights())


def attends_to_source(name: str) -> bool:
    """Whether the attention of this name goes from the target to the source."""
    return not name.endswith("self_attention")


def _model(name: str) -> str:
    """The index of the ensemble member an attention belongs to; empty for a single model."""
    first, number, *_ = [*name.split("."), ""]
    return number if first == "models" else ""


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Run the block with dropout switched off, then restore the training mode."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
