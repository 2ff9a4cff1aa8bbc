"""The training objective: cross-entropy with label smoothing, R-Drop, scheduled sampling."""

from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from dhyan.batch import Batch, Tokens
from dhyan.kernels.backend import use_training_kernels
from dhyan.kernels.ops import linear_cross_entropy
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
        labels.ids.masked_fill(~labels.mask, PAD).flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )


def fused_cross_entropy(
    model: Seq2Seq, output: nn.Linear, batch: Batch, *, smoothing: float
) -> Float[Tensor, ""]:
    """`cross_entropy` fused with the output layer, so that the logits of all tokens are not stored."""
    hidden, _ = model.decoder.hidden(batch.inputs.ids, model.start(batch.source))
    labels = batch.labels
    return linear_cross_entropy(
        hidden.flatten(0, 1),
        output,
        labels.ids.masked_fill(~labels.mask, PAD).flatten(),
        smoothing=smoothing,
        ignore_index=PAD,
    )


def symmetric_kl(
    first: Float[Tensor, "B T V"], second: Float[Tensor, "B T V"], labels: Tokens
) -> Float[Tensor, ""]:
    """KL(p‖q) + KL(q‖p) of two passes, summed over all real tokens: Σ (p − q) log(p/q)."""
    p, q = (logits.float().log_softmax(dim=-1) for logits in (first, second))
    divergence = ((p.exp() - q.exp()) * (p - q)).sum(dim=-1)
    return divergence.masked_fill(~labels.mask, 0.0).sum()


def repeat_batch(batch: Batch) -> Batch:
    """Every sentence twice, so that one pass computes both with different dropout."""
    rows = torch.arange(len(batch.source), device=batch.source.ids.device).repeat(2)
    return Batch(batch.source.select(rows), batch.target.select(rows))


@dataclass(frozen=True, kw_only=True)
class Objective:
    """The loss of a model on a batch; all random choices come from torch's default generator.

    `smoothing` is that of the labels. `r_drop` is the α of R-Drop (Liang et al., 2021):
    −log P₁ − log P₂ + α · ½ (KL₁₂ + KL₂₁) over two passes with the same inputs. Half of that is
    returned, so that the loss has the size it has without R-Drop. `teacher_forcing_schedule` is
    the probability of feeding the reference token at a step; `bf16` computes in bfloat16.
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
        ids = batch.source.ids
        fast = use_training_kernels(model.training, next(model.parameters()))
        with (
            torch.autocast(ids.device.type, torch.bfloat16, enabled=self.bf16),
            bf16_linear_weights(model) if self.bf16 and fast else nullcontext(),
        ):
            output = model.decoder.output
            if output is not None and is_teacher_forcing(ratio) and not self.r_drop:
                return fused_cross_entropy(model, output, batch, smoothing=self.smoothing)
            logits = decode_with_forcing(model, repeated, ratio, passes=2 if self.r_drop else 1)
        if not self.r_drop:
            return cross_entropy(logits, batch.labels, smoothing=self.smoothing)
        loss = cross_entropy(logits, repeated.labels, smoothing=self.smoothing)
        first, second = logits.chunk(2)
        return (loss + self.r_drop * symmetric_kl(first, second, batch.labels) / 2) / 2
