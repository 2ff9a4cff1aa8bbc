"""Ranking finished translations anew by how much of the source they looked at."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.decoding.beam import Hypothesis
from dhyan.decoding.ensemble import Ensemble
from dhyan.decoding.forced_decoding import force_decode
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import BOS, EOS

UNSEEN = 1e-6  # a source word that was never looked at costs log of this, not everything


def by_coverage(
    model: Seq2Seq | Ensemble,
    source: Sequence[int],
    found: Sequence[Hypothesis],
    *,
    weight: float,
    device: torch.device,
) -> list[Hypothesis]:
    """The hypotheses of one sentence with `weight` · coverage in their scores, best first.

    It ranks what a search has found and does not steer it; those cut off still come last.
    """
    said = [(BOS, *one.ids, *([EOS] if one.finished else [])) for one in found]
    looks = force_decode(model, [source] * len(said), said, device).source_attention()
    ranked = [
        replace(one, score=one.score + weight * coverage(seen[: len(ids) - 1, :-1]))
        for one, ids, seen in zip(found, said, looks, strict=True)
    ]
    return sorted(ranked, key=lambda one: (not one.finished, -one.score))


def coverage(weights: Float[Tensor, "T S"]) -> float:
    """Σ_j log min(Σ_i a_ij, 1) (Wu et al., 2016): 0 when every source word was seen in full."""
    return float(weights.sum(dim=0).clamp(UNSEEN, 1).log().sum())
