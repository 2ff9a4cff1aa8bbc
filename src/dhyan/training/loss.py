"""What training makes small: cross-entropy over the real tokens, and how much two passes differ."""

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
    constant,
    decode_with_forcing,
    is_teacher_forcing,
)


def cross_entropy(
    logits: Float[Tensor, "B T V"], labels: Tokens, *, smoothing: float
) -> Float[Tensor, ""]:
    """The loss summed over all real tokens; divide by `labels.count` for the mean.

    With smoothing, that share of the target's probability is spread over the whole vocabulary
    (Szegedy et al., 2016), so that the model is not driven to certainty.
    """
    return functional.cross_entropy(
        logits.flatten(0, 1).float(),
        labels.ids.masked_fill(~labels.mask, PAD).flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )


def teacher_forcing_loss(
    model: Seq2Seq, output: nn.Linear, batch: Batch, *, smoothing: float
) -> Float[Tensor, ""]:
    """The same loss from the decoder's hidden vectors, without storing the logits of all tokens."""
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
    one: Float[Tensor, "B T V"], other: Float[Tensor, "B T V"], labels: Tokens
) -> Float[Tensor, ""]:
    """KL(p‖q) + KL(q‖p) of what two passes say, summed over all real tokens: Σ (p − q) log(p/q)."""
    p, q = (logits.float().log_softmax(dim=-1) for logits in (one, other))
    each = ((p.exp() - q.exp()) * (p - q)).sum(dim=-1)
    return each.masked_fill(~labels.mask, 0.0).sum()


def repeat_batch(batch: Batch) -> Batch:
    """Every sentence twice, so that one pass over both gives two different dropouts."""
    rows = torch.arange(len(batch.source), device=batch.source.ids.device).repeat(2)
    return Batch(batch.source.select(rows), batch.target.select(rows))


@dataclass(frozen=True, kw_only=True)
class Objective:
    """How a model is judged on a batch; all random choices come from torch's generator.

    `r_drop` is the α of R-Drop (Liang et al., 2021): −log P₁ − log P₂ + α · ½ (KL₁₂ + KL₂₁) over
    two passes, which are told the same words. Half of that is taken, so that the loss is of the
    size it has without R-Drop.
    """

    smoothing: float = 0.1
    r_drop: float = 0.0
    forcing: ForcingSchedule = field(default_factory=constant)
    half: bool = False

    def __call__(self, model: Seq2Seq, batch: Batch, step: int) -> Float[Tensor, ""]:
        """The loss at a step, summed over all real tokens of the batch."""
        read, ratio = repeat_batch(batch) if self.r_drop else batch, self.forcing(step)
        ids = batch.source.ids
        fast = use_training_kernels(model.training, next(model.parameters()))
        with (
            torch.autocast(ids.device.type, torch.bfloat16, enabled=self.half),
            bf16_linear_weights(model) if self.half and fast else nullcontext(),
        ):
            output = model.decoder.output
            if output is not None and is_teacher_forcing(ratio) and not self.r_drop:
                return teacher_forcing_loss(model, output, batch, smoothing=self.smoothing)
            logits = decode_with_forcing(model, read, ratio, passes=2 if self.r_drop else 1)
        if not self.r_drop:
            return cross_entropy(logits, batch.labels, smoothing=self.smoothing)
        said = cross_entropy(logits, read.labels, smoothing=self.smoothing)
        one, other = logits.chunk(2)
        return (said + self.r_drop * symmetric_kl(one, other, batch.labels) / 2) / 2
