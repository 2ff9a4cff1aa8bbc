"""What a query may see: everything, the past only, or a single state."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dhyan.attention.protocol import Memory


def everything(query: Float[Tensor, "B H T Q"], memory: Memory) -> Bool[Tensor, "B 1 T S"]:
    """All that is real."""
    return memory.mask[:, None, None, :].expand(-1, 1, query.shape[2], -1)


def the_past(query: Float[Tensor, "B H T Q"], memory: Memory) -> Bool[Tensor, "B 1 T S"]:
    """Nothing later than the query itself.

    The last query stands at the last memory position, so a decoder fed one
    token at a time sees exactly what it would have seen in parallel.
    """
    queries, positions = query.shape[2], memory.mask.shape[1]
    past = torch.ones(queries, positions, dtype=torch.bool, device=memory.mask.device)
    return everything(query, memory) & past.tril(positions - queries)


def the_last(query: Float[Tensor, "B H T Q"], memory: Memory) -> Bool[Tensor, "B 1 T S"]:
    """Only the last real state: the end of a sentence read forwards."""
    places = torch.arange(memory.mask.shape[1], device=memory.mask.device)
    last = memory.mask.sum(dim=1) - 1
    return everything(query, memory) & (places == last[:, None, None, None])


def the_first(query: Float[Tensor, "B H T Q"], memory: Memory) -> Bool[Tensor, "B 1 T S"]:
    """Only the first state: the end of a sentence read backwards."""
    places = torch.arange(memory.mask.shape[1], device=memory.mask.device)
    return everything(query, memory) & (places == 0)
