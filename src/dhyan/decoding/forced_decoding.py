"""Forced decoding: log-probabilities and attention of given translations; the coverage penalty."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dhyan.attention_maps import AttentionWeights, watch
from dhyan.batch import Batch, Tokens, pad_source
from dhyan.decoding.beam import Hypothesis
from dhyan.decoding.ensemble import Ensemble
from dhyan.errors import NO_ATTENTION, UserError
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import BOS, EOS
from dhyan.text.codec import SourceSequence, source_length

MIN_COVERAGE = 1e-6  # a source token without attention costs log of this, not −inf


@dataclass(frozen=True)
class ForcedDecoding:
    """The log-probability of every target token, and the weights of every attention."""

    logprobs: Float[Tensor, "B T"]
    attention: Sequence[AttentionWeights]

    def source_attention(self, where: str = "") -> Float[Tensor, "B T S"]:
        """Attention from target to source: the mean over heads, then over attentions.

        Only attentions whose name contains `where` count. Of an ensemble, the mean of its models.
        """
        cross = [attention for attention in self.attention if attention.role == "cross"]
        if not cross:
            raise UserError(NO_ATTENTION)
        chosen = [attention for attention in cross if where in attention.name]
        if not chosen:
            names = ", ".join(attention.name for attention in cross)
            raise UserError(f"no attention to the source is called {where!r}; there are {names}")
        by_model: dict[int, list[Tensor]] = {}
        for attention in chosen:
            over_heads = attention.weights.float().mean(dim=1)
            by_model.setdefault(attention.member, []).append(over_heads)
        means = [torch.stack(weights).mean(dim=0) for weights in by_model.values()]
        return torch.stack(means).mean(dim=0)


def force_decode(
    model: Seq2Seq | Ensemble,
    sources: Sequence[SourceSequence],
    targets: Sequence[Sequence[int]],
    device: torch.device,
) -> ForcedDecoding:
    """One forward pass over sources (with EOS, if tokens) and targets (from BOS); records attention."""
    batch = Batch(pad_source(sources), Tokens.pad(targets)).to(device)
    with evaluation_mode(model), torch.inference_mode(), watch(model) as recorder:
        logits = model(batch)
    labels = batch.labels.ids.unsqueeze(-1)
    logprobs = logits.float().log_softmax(dim=-1).gather(-1, labels).squeeze(-1)
    return ForcedDecoding(logprobs, recorder.weights())


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Run the block with dropout switched off, then restore the training mode."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def rank_by_coverage(
    model: Seq2Seq | Ensemble,
    source: SourceSequence,
    hypotheses: Sequence[Hypothesis],
    *,
    weight: float,
    device: torch.device,
) -> list[Hypothesis]:
    """The hypotheses of one sentence with `weight` · coverage added to their scores, best first.

    It ranks finished hypotheses and does not steer the search; unfinished ones still come last.
    """
    targets = [
        (BOS, *hypothesis.ids, *([EOS] if hypothesis.finished else [])) for hypothesis in hypotheses
    ]
    forced = force_decode(model, [source] * len(targets), targets, device)
    rows = zip(hypotheses, targets, forced.source_attention(), strict=True)
    ranked = [
        replace(
            hypothesis,
            score=hypothesis.score
            + weight * coverage(weights[: len(target) - 1, : source_length(source)]),
        )
        for hypothesis, target, weights in rows
    ]
    return sorted(ranked, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))


def coverage(weights: Float[Tensor, "T S"]) -> float:
    """Σ_j log min(Σ_i a_ij, 1) (Wu et al., 2016): 0 when every source token has full attention."""
    return float(weights.sum(dim=0).clamp(MIN_COVERAGE, 1).log().sum())
