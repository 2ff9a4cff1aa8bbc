"""What one head's table of weights is like, in single numbers, however many heads there are."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.errors import UserError


def entropy(weights: Float[Tensor, "*H T S"]) -> Float[Tensor, "*H"]:
    """The mean entropy of the rows in bits: 0 if each sees one place, log2 S if it sees all evenly.

    A row that does not sum to one is brought to it; one of zeros has 0.
    """
    total = weights.sum(dim=-1, keepdim=True)
    shares = torch.where(total > 0, weights / total.clamp_min(1e-38), 0.0)
    return torch.special.entr(shares).sum(dim=-1).mean(dim=-1) / torch.tensor(2.0).log()


def distance(weights: Float[Tensor, "*H T T"]) -> Float[Tensor, "*H"]:
    """How many places away the words looked at are, on average by weight."""
    places = torch.arange(weights.shape[-1], device=weights.device)
    away = (places - places.unsqueeze(-1)).abs()
    return (weights * away).sum(dim=-1).mean(dim=-1)


def previous_share(weights: Float[Tensor, "*H T T"]) -> Float[Tensor, "*H"]:
    """The weight that words give the word before them, on average; the first has none."""
    if weights.shape[-1] < 2:
        raise UserError("one word has none before it: give at least two")
    return weights.diagonal(-1, dim1=-2, dim2=-1).mean(dim=-1)


def target_share(weights: Float[Tensor, "*H T S"], targets: Sequence[int]) -> Float[Tensor, "*H"]:
    """The weight that each row gives its own target, on average; a target below 0 is none."""
    rows, places = weights.shape[-2:]
    if len(targets) != rows:
        raise UserError(f"{len(targets)} targets for {rows} rows of weights: give one for each row")
    known = [(row, place) for row, place in enumerate(targets) if place >= 0]
    if not known:
        raise UserError("no row has a target: give the place of at least one")
    if (most := max(place for _, place in known)) >= places:
        raise UserError(f"a target stands at place {most}, but the last place is {places - 1}")
    asked, wanted = (list(one) for one in zip(*known, strict=True))
    return weights[..., asked, wanted].mean(dim=-1)
