"""A second look at finished translations: all their words at once, every attention watched."""

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
class Look:
    """Of every word said, its log-probability; of every attention, its weights."""

    chances: Float[Tensor, "B T"]
    weights: Mapping[str, Float[Tensor, "B _ _ S"]]

    def at_source(self, where: str = "") -> Float[Tensor, "B T S"]:
        """Who looked at what in the source: the mean over heads, then over all such attentions.

        With `where`, over those only whose name contains it. Of several models, the mean of theirs.
        """
        names = [name for name in self.weights if looks_at_source(name)]
        chosen = [name for name in names if where in name]
        if not chosen:
            raise UserError(
                f"no attention to the source is called {where!r}; there are {', '.join(names)}"
            )
        models: dict[str, list[Tensor]] = {}
        for name in chosen:
            models.setdefault(_model(name), []).append(self.weights[name].float().mean(dim=1))
        return torch.stack([torch.stack(own).mean(dim=0) for own in models.values()]).mean(dim=0)


def look_again(
    model: nn.Module,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    device: torch.device,
) -> Look:
    """Give the model what it read (with EOS) and what it said (from BOS on), and watch it."""
    batch = Batch(Tokens.pad(sources), Tokens.pad(targets)).to(device)
    with evaluating(model), torch.inference_mode(), watch(model) as sightings:
        logits = model(batch)
    words = batch.labels.ids.unsqueeze(-1)
    chances = logits.float().log_softmax(dim=-1).gather(-1, words).squeeze(-1)
    return Look(chances, sightings.weights())


def looks_at_source(where: str) -> bool:
    """Whether an attention of this name looks from the translation to the source."""
    return not where.endswith("self_attention")


def _model(where: str) -> str:
    """Which model of an ensemble an attention belongs to, if it is in one."""
    first, number, *_ = [*where.split("."), ""]
    return number if first == "models" else ""


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Inside, the model is not training: nothing is dropped out."""
    before = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(before)
