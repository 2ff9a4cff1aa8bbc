"""Attention of a decoding step, to its cache or to the source: PyTorch reference, or Triton.

A row is one hypothesis of a sentence; the rows of a sentence are adjacent. All tensors stay where
they are, so that a step can be captured as a CUDA graph.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.backend import use_triton
from dhyan.kernels.reference import attend, scaled_dot_scores


def self_attention(
    qkv: Float[Tensor, "R J"],
    keys: Float[Tensor, "A G T E"],
    values: Float[Tensor, "A G T E"],
    steps: Int[Tensor, " N"],
    cache_rows: Int[Tensor, "2 N W T"] | None,
    *,
    heads: int,
    scale: float,
) -> Float[Tensor, "R C"]:
    """Write each row's new key and value into the cache, and attend to all up to itself.

    `qkv` is query, key and value concatenated. With several rows a sentence, `cache_rows` say which
    of them holds the keys and values of each earlier position.
    """
    context = qkv.new_empty(len(qkv), heads * keys.shape[3])
    if use_triton(qkv):
        from dhyan.kernels.triton.decode import attention as kernels

        kernels.self_attention(
            qkv, keys, values, steps, cache_rows, context, heads=heads, scale=scale
        )
        return context
    kv_heads, capacity, width = keys.shape[1:]
    beam = len(qkv) // len(steps)
    parts = qkv.unflatten(1, (-1, width)).split([heads, kv_heads, kv_heads], dim=1)
    rows = torch.arange(len(qkv), device=qkv.device)
    step = steps.repeat_interleave(beam).long()
    keys[rows, :, step], values[rows, :, step] = parts[1], parts[2]
    holders = rows.unsqueeze(1).expand(-1, capacity)
    positions = torch.arange(capacity, device=qkv.device)
    if cache_rows is not None:
        source_rows = cache_rows[step % 2, rows // beam, rows % beam].long()
        holders = torch.where(
            positions < step.unsqueeze(1), rows.unsqueeze(1) // beam * beam + source_rows, holders
        )
    mask = (positions <= step.unsqueeze(1))[:, None, None]
    keys, values = (cache[holders, :, positions].transpose(1, 2) for cache in (keys, values))
    attended = _attend(parts[0].unsqueeze(2), keys, values, mask, scale)
    return context.copy_(attended.flatten(1))


def cross_attention(
    query: Float[Tensor, "N Q H E"],
    keys: Float[Tensor, "N G S E"],
    values: Float[Tensor, "N G S E"],
    lengths: Int[Tensor, " N"],
    *,
    scale: float,
    constant_memory: bool = False,
) -> Float[Tensor, "N Q C"]:
    """The queries of each sentence attend to the first `lengths` positions of its memory.

    A `constant_memory` is not written by this step, so it can be read before the step's other
    kernels have finished.
    """
    context = query.new_empty(*query.shape[:2], query.shape[2] * query.shape[3])
    if use_triton(query):
        from dhyan.kernels.triton.decode import attention as kernels

        kernels.cross_attention(
            query, keys, values, lengths, context, scale=scale, constant_memory=constant_memory
        )
        return context
    positions = torch.arange(keys.shape[2], device=query.device)
    mask = (positions < lengths.unsqueeze(1))[:, None, None]
    attended = _attend(query.transpose(1, 2), keys, values, mask, scale)
    return context.copy_(attended.transpose(1, 2).flatten(2))


def write_cache(
    keys_values: Float[Tensor, "B S C"],
    slots: Int[Tensor, " B"],
    cache: Float[Tensor, "L 2 N G R E"],
) -> None:
    """Write keys and values of all layers, concatenated for every token, into slots of a cache."""
    if use_triton(keys_values):
        from dhyan.kernels.triton.decode import attention as kernels

        kernels.write_cache(keys_values.contiguous(), slots, cache)
        return
    layers, both, _, kv_heads, _, width = cache.shape
    parts = keys_values.unflatten(-1, (layers, both, kv_heads, width)).permute(2, 3, 0, 4, 1, 5)
    cache[..., : keys_values.shape[1], :].index_copy_(2, slots, parts)


def _attend(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Dot-product attention of every head, by the definition."""
    times = query.shape[1] // keys.shape[1]
    keys, values = (part.repeat_interleave(times, dim=1) for part in (keys, values))
    scores = scaled_dot_scores(query, keys) * (scale * query.shape[-1] ** 0.5)
    return attend(scores, values, mask.expand(-1, 1, query.shape[2], -1))[0]
