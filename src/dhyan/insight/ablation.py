"""Ablation: run a model with an attention head zeroed or without its causal mask."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from dhyan.attention import MultiHeadAttention, all_positions
from dhyan.attention_maps import AttentionRole, HasAttentions
from dhyan.models.seq2seq import Seq2Seq


def multihead_attentions(model: HasAttentions, role: AttentionRole) -> list[MultiHeadAttention]:
    """The multi-head attentions of a role, first layer first."""
    return [
        layer.attention
        for layer in model.attentions()
        if layer.role == role and isinstance(layer.attention, MultiHeadAttention)
    ]


def remove_causal_mask(model: Seq2Seq) -> None:
    """Let the decoder's self-attention attend to later positions, for good."""
    for attention in multihead_attentions(model, "decoder_self"):
        attention.mask = all_positions


@contextmanager
def without_causal_mask(model: Seq2Seq) -> Iterator[None]:
    """Inside the block, the decoder's self-attention attends to later positions too."""
    masks = [
        (attention, attention.mask) for attention in multihead_attentions(model, "decoder_self")
    ]
    remove_causal_mask(model)
    try:
        yield
    finally:
        for attention, mask in masks:
            attention.mask = mask


@contextmanager
def without_head(attention: MultiHeadAttention, head: int) -> Iterator[None]:
    """Inside the block, the context of one head, counted from 0, is zero."""

    def zero_head(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        contexts = inputs[0].unflatten(-1, (attention.heads, -1)).clone()
        contexts[..., head, :] = 0
        return (contexts.flatten(-2),)

    hook = attention.output.register_forward_pre_hook(zero_head)
    try:
        yield
    finally:
        hook.remove()
