"""Attention in a step of translating: its definition, and the choice of the kernels for it.

A row is one beginning of a sentence; the rows of a sentence lie side by side. What is read and
written are tensors that stay where they are, so that a step can be captured and replayed.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.backend import use_triton
from dhyan.kernels.reference import attend, scaled_dot_scores


def past_attention(
    joined: Float[Tensor, "R J"],
    keys: Float[Tensor, "A G T E"],
    values: Float[Tensor, "A G T E"],
    places: Int[Tensor, " N"],
    origins: Int[Tensor, "2 N W T"] | None,
    *,
    heads: int,
    scale: float,
) -> Float[Tensor, "R C"]:
    """Each row's new word joins its cache at the sentence's place, and looks at all up to itself.

    `joined` is query, key and value side by side. Of several rows a sentence has, `origins` says
    which was fed the word at each earlier place.
    """
    context = joined.new_empty(len(joined), heads * keys.shape[3])
    if use_triton(joined):
        from dhyan.kernels.triton.decode import self_attention as past

        past.past_attention(
            joined, keys, values, places, origins, context, heads=heads, scale=scale
        )
        return context
    groups, room, width = keys.shape[1:]
    beam = len(joined) // len(places)
    parts = joined.unflatten(1, (-1, width)).split([heads, groups, groups], dim=1)
    rows = torch.arange(len(joined), device=joined.device)
    at = places.repeat_interleave(beam).long()
    keys[rows, :, at], values[rows, :, at] = parts[1], parts[2]
    holders = rows.unsqueeze(1).expand(-1, room)
    before = torch.arange(room, device=joined.device)
    if origins is not None:
        own = origins[at % 2, rows // beam, rows % beam].long()
        holders = torch.where(
            before < at.unsqueeze(1), rows.unsqueeze(1) // beam * beam + own, holders
        )
    seen = (before <= at.unsqueeze(1))[:, None, None]
    keys, values = (cache[holders, :, before].transpose(1, 2) for cache in (keys, values))
    mixed = _looked(parts[0].unsqueeze(2), keys, values, seen, scale)
    return context.copy_(mixed.flatten(1))


def source_attention(
    query: Float[Tensor, "N Q H E"],
    keys: Float[Tensor, "N G S E"],
    values: Float[Tensor, "N G S E"],
    lengths: Int[Tensor, " N"],
    *,
    scale: float,
    settled: bool = False,
) -> Float[Tensor, "N Q C"]:
    """The queries of each sentence look at the first `lengths` places of its memory.

    A `settled` memory is not of this step's making: it can be read before all else is done.
    """
    context = query.new_empty(*query.shape[:2], query.shape[2] * query.shape[3])
    if use_triton(query):
        from dhyan.kernels.triton.decode import cross_attention as source

        source.source_attention(query, keys, values, lengths, context, scale=scale, settled=settled)
        return context
    places = torch.arange(keys.shape[2], device=query.device)
    seen = (places < lengths.unsqueeze(1))[:, None, None]
    mixed = _looked(query.transpose(1, 2), keys, values, seen, scale)
    return context.copy_(mixed.transpose(1, 2).flatten(2))


def keep(
    known: Float[Tensor, "B S C"],
    slots: Int[Tensor, " B"],
    cache: Float[Tensor, "L 2 N G R E"],
) -> None:
    """Keys and values of all layers, side by side for every word, go to these places of a cache."""
    if use_triton(known):
        from dhyan.kernels.triton.decode import rowwise as rows

        rows.keep(known.contiguous(), slots, cache)
        return
    layers, both, _, groups, _, width = cache.shape
    parts = known.unflatten(-1, (layers, both, groups, width)).permute(2, 3, 0, 4, 1, 5)
    cache[..., : known.shape[1], :].index_copy_(2, slots, parts)


def _looked(query: Tensor, keys: Tensor, values: Tensor, seen: Tensor, scale: float) -> Tensor:
    """Dot-product attention of every head, by the definition."""
    times = query.shape[1] // keys.shape[1]
    keys, values = (part.repeat_interleave(times, dim=1) for part in (keys, values))
    scores = scaled_dot_scores(query, keys) * (scale * query.shape[-1] ** 0.5)
    return attend(scores, values, seen.expand(-1, 1, query.shape[2], -1))[0]
