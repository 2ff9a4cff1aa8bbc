"""Sharded training (FSDP2; Zhao et al., 2023): each process holds a part of every weight.

So are its gradient and its optimizer state. A layer's weights are whole only while it computes.
"""

import warnings
from collections.abc import Sequence
from copy import deepcopy
from itertools import chain
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, distributed, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor
from torch.export import register_dataclass

from dhyan.attention.protocol import Memory
from dhyan.batch import Batch, Tokens
from dhyan.errors import UserError
from dhyan.kernels.backend import reference_kernels
from dhyan.models.interface import Encoded
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import LayerState, TransformerDecoder, TransformerEncoder
from dhyan.special_tokens import BOS, PAD
from dhyan.training.data_parallel import DataParallel
from dhyan.training.loss import Objective
from dhyan.training.out_of_memory import is_out_of_memory
from dhyan.training.steps import MicroBatch
from dhyan.training.update import LossAndNorm, UpdateContext, empty_cache, is_finite

VALUES = (Encoded, Memory, LayerState, Tokens)
_registered = set[type]()


class LossModule(nn.Module):
    """The loss as a module, since FSDP gathers weights when a module is called."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def forward(self, objective: Objective, batch: Batch, step: int) -> Float[Tensor, ""]:
        """The loss of an objective."""
        return objective(self.model, batch, step)


def shard_copy(model: Seq2Seq, parallel: DataParallel, device: torch.device) -> LossModule:
    """A copy of a Transformer whose weights are sharded over the processes, layer by layer."""
    for value in VALUES:  # FSDP looks into them for what a backward pass goes through
        if value not in _registered:
            register_dataclass(value)
            _registered.add(value)
    # Keys and values are views of one projection; nothing changes them in place.
    warnings.filterwarnings("ignore", message=".*returned a view tensor.*")
    root = LossModule(deepcopy(model))
    group = parallel.group or distributed.group.WORLD
    assert group is not None
    mesh = DeviceMesh.from_group(group, device.type)
    encoder, decoder = root.model.encoder, root.model.decoder
    assert isinstance(encoder, TransformerEncoder)
    assert isinstance(decoder, TransformerDecoder)
    for layer in chain(encoder.layers, decoder.layers):
        fully_shard(layer, mesh=mesh)
    for layer in decoder.layers:
        register_fsdp_forward_method(layer, "start")
    fully_shard(root, mesh=mesh)
    for module in root.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)  # the loss is divided by all tokens already
            module.set_force_sum_reduction_for_comms(True)  # the only one that Gloo has
    return root


class ShardedUpdate:
    """An update whose gradients are summed where their part of the weights is.

    Every process takes part in gathering the weights of each layer, so all compute the same number
    of micro-batches: where one has fewer, it adds some without labels. Only the last of a step
    exchanges gradients. It uses reference kernels: fused ones read weights outside of their layer.
    """

    def __init__(
        self,
        context: UpdateContext,
        *,
        root: LossModule,
        micro_batches: int,
    ) -> None:
        self.context = context
        self.root = root
        self.micro_batches = micro_batches

    @property
    def exchanged(self) -> bool:
        """Processes exchange weights from the first layer on."""
        return True

    def __call__(
        self, micro_batches: Sequence[MicroBatch], *, tokens: int, step: int, rate: float
    ) -> LossAndNorm:
        """Sum the gradients of the batches, clip, update the weights and their moving average."""
        context, total = self.context, torch.zeros((), device=self.context.device)
        context.optimizer.zero_grad(set_to_none=True)
        parts = [*micro_batches]
        while len(parts) < self.micro_batches:
            parts.append(MicroBatch(without_labels(context.device), (0,)))
        for number, part in enumerate(parts, start=1):
            cast(FSDPModule, self.root).set_requires_gradient_sync(number == len(parts))
            context.seed_batch(step, part.path)
            total += self._loss(part, tokens, step)
        context.parallel.sum_(total)
        norm = nn.utils.clip_grad_norm_(context.model.parameters(), context.clip_norm)
        norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
        if not is_finite(total, norm):
            context.optimizer.zero_grad(set_to_none=True)
            return total, norm
        for group in context.optimizer.param_groups:
            group["lr"] = rate
        context.optimizer.step()
        if context.ema:
            context.ema.update(context.model, step)
        return total, norm

    def _loss(self, part: MicroBatch, tokens: int, step: int) -> Float[Tensor, ""]:
        """Forward and backward pass of a micro-batch; its loss."""
        try:
            with reference_kernels():
                loss = self.root(self.context.objective, part.batch, step)
            (loss / tokens).backward()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise UserError(
                "out of memory: sharded weights are exchanged while a batch is computed, so it is "
                "not split; make training.tokens_per_batch smaller"
            ) from error
        return loss.detach()

    def release_memory(self) -> None:
        """Free the gradients and the cache of the allocator."""
        self.context.optimizer.zero_grad(set_to_none=True)
        empty_cache(self.context.device)


def without_labels(device: torch.device) -> Batch:
    """A batch of one sentence whose loss and gradient are zero."""
    source = Tokens(torch.tensor([[BOS]]), torch.ones(1, 1, dtype=torch.bool))
    target = Tokens(torch.tensor([[BOS, PAD]]), torch.tensor([[True, False]]))
    return Batch(source, target).to(device)
