"""What a search may not say: functions that change the scores of the next word."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.special import EOS, PAD

Said = Int[Tensor, "R T"]
Scores = Float[Tensor, "R V"]
Sentence = Int[Tensor, " R"]

Rule = Callable[[Said, Scores, Sentence], Scores]
"""Given all that was said, row by row and BOS first, the scores of the next word, and which
sentence of the batch each row translates: the scores it leaves."""


def never(*ids: int) -> Rule:
    """Words that are not to be said at all."""
    unwanted = _on_device(ids)

    def rule(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        return scores.index_fill(1, unwanted(scores.device), -torch.inf)

    return rule


def at_least(tokens: int) -> Rule:
    """No end before this many tokens; the EOS itself is not counted."""
    no_end = never(EOS)

    def rule(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        return scores if said.shape[1] > tokens else no_end(said, scores, sentence)

    return rule


def no_repeat(size: int) -> Rule:
    """No `size` tokens in a row come twice."""
    if size < 1:
        raise ValueError(f"{size} tokens in a row cannot repeat; give 1 or more")

    def rule(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        if said.shape[1] < size:
            return scores
        before = said.unfold(1, size, 1)
        latest = said[:, said.shape[1] - size + 1 :].unsqueeze(1)
        again = (before[:, :, :-1] == latest).all(dim=-1)
        return _without(scores, before[:, :, -1].where(again, PAD))

    return rule


def begin_with(prefixes: Sequence[Sequence[int]]) -> Rule:
    """Every sentence of the batch begins with its own words; after them it is free."""
    longest = max(map(len, prefixes), default=0)
    padded = _on_device([[*prefix, *[PAD] * (longest - len(prefix))] for prefix in prefixes])

    def rule(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        place = said.shape[1] - 1
        if place >= longest:
            return scores
        wanted = padded(scores.device)[sentence, place].unsqueeze(1)
        words = torch.arange(scores.shape[1], device=scores.device)
        return scores.masked_fill((wanted != PAD) & (words != wanted), -torch.inf)

    return rule


def never_say(phrases: Sequence[Sequence[int]]) -> Rule:
    """Runs of tokens that are not to be said: the last is left out where the others came before."""
    if not all(phrases):
        raise ValueError("a forbidden phrase has no tokens; leave it out")
    by_length = groupby(sorted(phrases, key=len), key=len)
    tables = [_on_device([list(phrase) for phrase in group]) for _, group in by_length]

    def rule(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        for table in tables:
            phrase = table(scores.device)
            begun = phrase.shape[1] - 1
            if begun <= said.shape[1]:
                latest = said[:, said.shape[1] - begun :].unsqueeze(1)
                heard = (latest == phrase[:, :-1]).all(dim=-1)
                scores = _without(scores, phrase[:, -1].where(heard, PAD))
        return scores

    return rule


def _without(scores: Scores, words: Int[Tensor, "R K"]) -> Scores:
    """Each row's own words are not to be said; PAD stands for none, being never said anyway."""
    return scores.scatter(1, words, -torch.inf)


def _on_device(ids: Sequence[int] | Sequence[Sequence[int]]) -> Callable[[torch.device], Tensor]:
    """These ids as a tensor, moved to a device once."""
    return cache(lambda device: torch.tensor(ids, dtype=torch.long, device=device))
