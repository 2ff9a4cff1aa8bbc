"""Transformer operations for models: norm, residual, linear, feed-forward, embedding, loss."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.kernels import reference
from dhyan.kernels.backend import use_cpu_kernels, use_training_kernels


def norm(x: Float[Tensor, "B T D"], layer: nn.Module) -> Float[Tensor, "B T D"]:
    """Layer norm (Ba, Kiros and Hinton, 2016), or whatever else the layer is."""
    return residual_norm(x, layer)[1]


def residual_norm(
    x: Float[Tensor, "B T D"], layer: nn.Module
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"]]:
    """x, to be used as the residual, and its layer norm: their gradients are added in one pass."""
    if isinstance(layer, nn.LayerNorm) and use_training_kernels(layer.training, x):
        from dhyan.kernels.triton.add_norm import add_norm as triton_add_norm

        return triton_add_norm(x, None, layer.weight, layer.bias, dropout=0.0, epsilon=layer.eps)
    if isinstance(layer, nn.LayerNorm) and _cpu_norm(layer, x, layer.training):
        from dhyan.kernels.cpu import layers as cpu_layers

        return cpu_layers.add_norm(
            x, None, layer.weight, layer.bias, dropout=0.0, epsilon=layer.eps
        )
    return x, layer(x)


def add(
    residual: Float[Tensor, "B T D"], update: Float[Tensor, "B T D"], dropout: nn.Dropout
) -> Float[Tensor, "B T D"]:
    """residual + dropout(update)  (He et al., 2016)."""
    if use_training_kernels(dropout.training, residual):
        from dhyan.kernels.triton.add_norm import add_dropout

        return add_dropout(residual, update, dropout=dropout.p)
    if dropout.p and use_cpu_kernels(dropout.training, residual) and _single(residual):
        from dhyan.kernels.cpu import layers as cpu_layers

        return cpu_layers.add_dropout(residual, update, dropout=dropout.p)
    return reference.add(residual, update, dropout)


def add_norm(
    residual: Float[Tensor, "B T D"],
    update: Float[Tensor, "B T D"],
    layer: nn.Module,
    dropout: nn.Dropout,
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"]]:
    """residual + dropout(update), and its layer norm, or whatever else the layer is."""
    if isinstance(layer, nn.LayerNorm) and use_training_kernels(dropout.training, residual):
        from dhyan.kernels.triton.add_norm import add_norm as triton_add_norm

        return triton_add_norm(
            residual, update, layer.weight, layer.bias, dropout=dropout.p, epsilon=layer.eps
        )
    if isinstance(layer, nn.LayerNorm) and _cpu_norm(layer, residual, dropout.training):
        from dhyan.kernels.cpu import layers as cpu_layers

        return cpu_layers.add_norm(
            residual, update, layer.weight, layer.bias, dropout=dropout.p, epsilon=layer.eps
        )
    return reference.add_norm(residual, update, layer, dropout)


def linear(x: Float[Tensor, "B T D"], layer: nn.Module) -> Float[Tensor, "B T W"]:
    """layer(x)."""
    if isinstance(layer, nn.Linear) and use_training_kernels(layer.training, x):
        return packed_linear(x, [layer])[0]
    return layer(x)


def packed_linear(
    x: Float[Tensor, "B T D"], layers: Sequence[nn.Module]
) -> tuple[Float[Tensor, "B T _"], ...]:
    """Every layer's output for the same x; linear layers of a model in training as one product."""
    linears = [layer for layer in layers if isinstance(layer, nn.Linear)]
    if len(linears) == len(layers) and use_training_kernels(linears[0].training, x):
        from dhyan.kernels.triton.fused_projections import packed_linear as triton_packed_linear

        return triton_packed_linear(x, linears)
    return tuple(layer(x) for layer in layers)


def feed_forward(
    x: Float[Tensor, "B T D"],
    up: nn.Linear,
    down: nn.Linear,
    *,
    activation: Callable[[Tensor], Tensor],
    gate: nn.Linear | None,
    dropout: nn.Dropout,
) -> Float[Tensor, "B T D"]:
    """down(activation(up(x))), or with a gate down(activation(gate(x)) · up(x)) (Shazeer, 2020)."""
    relu = gate is None and activation is torch.relu
    if relu and use_training_kernels(dropout.training, x):
        from dhyan.kernels.triton.linear_relu import linear_relu

        hidden = linear_relu(x, up.weight, up.bias, dropout=dropout.p)
        return linear(hidden, down)
    if relu and use_cpu_kernels(dropout.training, up.weight):
        from dhyan.kernels.cpu.layers import ReluDropout

        hidden = nn.functional.linear(x.flatten(0, -2), up.weight, up.bias)
        return down(ReluDropout.apply(hidden, dropout.p)).unflatten(0, x.shape[:-1])
    return reference.feed_forward(x, up, down, activation=activation, gate=gate, dropout=dropout)


def embedding(
    token_ids: Int[Tensor, "B T"],
    table: nn.Embedding,
    positions: Float[Tensor, "T D"],
    *,
    scale: float,
    dropout: nn.Dropout,
) -> Float[Tensor, "B T D"]:
    """dropout(scale · table[token_ids] + positions)."""
    fixed = not positions.requires_grad
    if fixed and use_training_kernels(dropout.training, table.weight):
        from dhyan.kernels.triton.embedding import embed_tokens

        padding = -1 if table.padding_idx is None else table.padding_idx
        return embed_tokens(
            token_ids, table.weight, positions, scale=scale, dropout=dropout.p, padding=padding
        )
    if dropout.p and use_cpu_kernels(dropout.training, table.weight):
        from dhyan.kernels.cpu.layers import Dropout

        vectors = reference.embedding(
            token_ids, table, positions, scale=scale, dropout=nn.Identity()
        )
        return Dropout.apply(vectors, dropout.p)
    return reference.embedding(token_ids, table, positions, scale=scale, dropout=dropout)


def linear_cross_entropy(
    hidden: Float[Tensor, "N D"],
    output: nn.Linear,
    labels: Int[Tensor, " N"],
    *,
    smoothing: float,
    ignore_index: int,
) -> Float[Tensor, ""]:
    """Cross-entropy of output(hidden), summed over the labels that are not ignored.

    With smoothing, that share of the target's probability is spread over the whole vocabulary
    (Szegedy et al., 2016). The kernel never stores the logits of all tokens at once.
    """
    if use_training_kernels(output.training, output.weight):
        from dhyan.kernels.triton import cross_entropy

        return cross_entropy.linear_cross_entropy(
            hidden,
            output.weight,
            output.bias,
            labels,
            smoothing=smoothing,
            ignore_index=ignore_index,
        )
    if use_cpu_kernels(output.training, output.weight):
        from dhyan.kernels.cpu import layers as cpu_layers

        return cpu_layers.linear_cross_entropy(
            hidden, output, labels, smoothing=smoothing, ignore_index=ignore_index
        )
    return reference.linear_cross_entropy(
        hidden, output, labels, smoothing=smoothing, ignore_index=ignore_index
    )


def linear_r_drop_loss(
    hidden: Float[Tensor, "R D"],
    output: nn.Linear,
    labels: Int[Tensor, " N"],
    *,
    r_drop: float,
    smoothing: float,
    ignore_index: int,
) -> Float[Tensor, ""]:
    """R-Drop's loss of output(hidden), which holds two passes with different dropout.

    The kernel computes the gradient with the loss, in chunks, so that no logits are saved.
    """
    if use_training_kernels(output.training, output.weight):
        from dhyan.kernels.triton import cross_entropy

        return cross_entropy.linear_cross_entropy(
            hidden,
            output.weight,
            output.bias,
            labels,
            smoothing=smoothing,
            ignore_index=ignore_index,
            r_drop=r_drop,
        )
    return reference.r_drop_loss(
        output(hidden), labels, r_drop=r_drop, smoothing=smoothing, ignore_index=ignore_index
    )


def _cpu_norm(layer: nn.LayerNorm, x: Tensor, training: bool) -> bool:
    """Whether the compiled kernel for a CPU can take this norm, which may lack weight or bias."""
    whole = layer.weight is not None and layer.bias is not None
    return whole and use_cpu_kernels(training, x) and _single(x)


def _single(x: Tensor) -> bool:
    return x.dtype == torch.float32
