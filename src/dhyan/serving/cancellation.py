"""A rule by which a search lets go of sentences that nobody waits for."""

from collections.abc import Callable, Sequence

import torch

from dhyan.decoding.rules import Rule, Said, Scores, Sentence
from dhyan.special_tokens import EOS


def leaving(left: Sequence[Callable[[], bool]]) -> Rule:
    """Each sentence of the batch is asked at every step; one that has left may only end."""
    gone: set[int] = set()

    def rule(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        gone.update(place for place, asked in enumerate(left) if place not in gone and asked())
        if not gone:
            return scores
        ends = torch.full_like(scores[0], -torch.inf)
        ends[EOS] = 0.0
        own = torch.tensor([place in gone for place in sentence.tolist()], device=scores.device)
        return torch.where(own.unsqueeze(1), ends, scores)

    return rule
