"""The training objective: cross-entropy with label smoothing, R-Drop, scheduled sampling."""

from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from dhyan.batch import Batch, Tokens
from dhyan.kernels.backend import use_training_kernels
from dhyan.kernels.ops import linear_cross_entropy, linear_r_drop_loss, r_drop_loss
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import PAD
from dhyan.training.bf16_weights import bf16_linear_weights
from dhyan.training.scheduled_sampling import (
    ForcingSchedule,
    constant_ratio,
    decode_with_forcing,
    is_teacher_forcing,
)


def cross_entropy(
    logits: Float[Tensor, "B T V"], labels: Tokens, *, smoothing: float
) -> Float[Tensor, ""]:
    """Cross-entropy summed over all real tokens; divide by `labels.count` for the mean.

    Label smoothing (Szegedy et al., 2016) spreads that share of the target probability over the
    whole vocabulary.
    """
    return functional.cross_entropy(
        logits.flatten(0, 1).float(),
        label_ids(labels),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )


def fused_loss(
    model: Seq2Seq,
    output: nn.Linear,
    batch: Batch,
    labels: Tokens,
    *,
    smoothing: float,
    r_drop: float,
) -> Float[Tensor, ""]:
    """The loss fused with the output layer, so that the logits of all tokens are not stored.

    With R-Drop, the batch holds every sentence of the labels twice.
    """
    hidden, _ = model.decoder.hidden(batch.inputs.ids, model.start(batch.source))
    rows, ids = hidden.flatten(0, 1), label_ids(labels)
    if r_drop:
        return linear_r_drop_loss(
            rows, output, ids, r_drop=r_drop, smoothing=smoothing, ignore_index=PAD
        )
    return linear_cross_entropy(rows, output, ids, smoothing=smoothing, ignore_index=PAD)


def label_ids(labels: Tokens) -> Int[Tensor, " N"]:
    """The labels of all sentences in a row; padding is PAD."""
    return labels.ids.masked_fill(~labels.mask, PAD).flatten()


def repeat_batch(batch: Batch) -> Batch:
    """Every sentence twice, so that one pass computes both with different dropout."""
    rows = torch.arange(len(batch.source), device=batch.source.mask.device).repeat(2)
    return Batch(batch.source.select(rows), batch.target.select(rows))


@dataclass(frozen=True, kw_only=True)
class Objective:
    """The loss of a model on a batch; all random choices come from torch's default generator.

    `smoothing` is that of the labels. `r_drop` is the α of R-Drop (Liang et al., 2021):
    a second pass with other dropout, and the divergence of both. `teacher_forcing_schedule` is the
    probability of feeding the reference token at a step; `bf16` computes in bfloat16.
    """

    smoothing: float = 0.1
    r_drop: float = 0.0
    teacher_forcing_schedule: ForcingSchedule = field(default_factory=constant_ratio)
    bf16: bool = False

    def __call__(self, model: Seq2Seq, batch: Batch, step: int) -> Float[Tensor, ""]:
        """The loss at a step, summed over all real tokens of the batch."""
        repeated, ratio = (
            repeat_batch(batch) if self.r_drop else batch,
            self.teacher_forcing_schedule(step),
        )
        device = batch.source.mask.device
        fast = use_training_kernels(model.training, next(model.parameters()))
        with (
            torch.autocast(device.type, torch.bfloat16, enabled=self.bf16),
            bf16_linear_weights(model) if self.bf16 and fast else nullcontext(),
        ):
            output = model.decoder.output
            if output is not None and is_teacher_forcing(ratio):
                return fused_loss(
                    model,
                    output,
                    repeated,
                    batch.labels,
                    smoothing=self.smoothing,
                    r_drop=self.r_drop,
                )
            logits = decode_with_forcing(model, repeated, ratio, passes=2 if self.r_drop else 1)
        if not self.r_drop:
            return cross_entropy(logits, batch.labels, smoothing=self.smoothing)
        return r_drop_loss(
            logits.flatten(0, 1),
            label_ids(batch.labels),
            r_drop=self.r_drop,
            smoothing=self.smoothing,
            ignore_index=PAD,
        )
