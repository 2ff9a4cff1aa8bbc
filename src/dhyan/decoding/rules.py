"""Search rules: functions that change the next-token scores (no-repeat n-gram, prefix, limits)."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.decoding.phrases import Phrase, completing_tokens, is_word_character, token_texts
from dhyan.special_tokens import EOS, PAD
from dhyan.text.tokenizer import Tokenizer

Ids = Int[Tensor, "R T"]
Scores = Float[Tensor, "R V"]
SentenceIndex = Int[Tensor, " R"]

Rule = Callable[[Ids, Scores, SentenceIndex], Scores]
"""Takes the hypotheses so far (one a row, BOS first), the scores of the next token, and the index
in the batch of the sentence each row translates; returns the new scores."""


def forbid_tokens(*ids: int) -> Rule:
    """Forbid these tokens."""
    forbidden = _on_device(ids)

    def rule(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        return scores.index_fill(1, forbidden(scores.device), -torch.inf)

    return rule


def min_length(tokens: int) -> Rule:
    """Minimum length: no EOS before this many tokens; EOS itself is not counted."""
    no_end = forbid_tokens(EOS)

    def rule(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        return scores if ids.shape[1] > tokens else no_end(ids, scores, sentence)

    return rule


def no_repeat_ngram(size: int) -> Rule:
    """Forbid repeated n-grams of `size` tokens (Paulus et al., 2018)."""
    if size < 1:
        raise ValueError(f"an n-gram of {size} tokens cannot repeat; give 1 or more")

    def rule(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        if ids.shape[1] < size:
            return scores
        ngrams = ids.unfold(1, size, 1)
        latest = ids[:, ids.shape[1] - size + 1 :].unsqueeze(1)
        repeats = (ngrams[:, :, :-1] == latest).all(dim=-1)
        return _without(scores, ngrams[:, :, -1].where(repeats, PAD))

    return rule


def force_prefix(prefixes: Sequence[Sequence[int]]) -> Rule:
    """Force each sentence of the batch to begin with its prefix."""
    longest = max(map(len, prefixes), default=0)
    padded = _on_device([[*prefix, *[PAD] * (longest - len(prefix))] for prefix in prefixes])

    def rule(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        position = ids.shape[1] - 1
        if position >= longest:
            return scores
        forced = padded(scores.device)[sentence, position].unsqueeze(1)
        tokens = torch.arange(scores.shape[1], device=scores.device)
        return scores.masked_fill((forced != PAD) & (tokens != forced), -torch.inf)

    return rule


def begin_with(language: Sequence[int]) -> Rule:
    """Begin with these tokens, at no cost: the language that a multilingual model is told."""
    tokens = _on_device(language)

    def rule(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        position = ids.shape[1] - 1
        if position >= len(language):
            return scores
        first = tokens(scores.device)[position : position + 1]
        return torch.full_like(scores, -torch.inf).index_fill(1, first, 0.0)

    return rule


def after_prefix(prefixes: Sequence[Phrase], rule: Rule) -> Rule:
    """The same rule, applied only after the prefix of each sentence."""
    lengths = torch.tensor([len(prefix) for prefix in prefixes])

    def later(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        forced = lengths.to(scores.device)[sentence] >= ids.shape[1]
        return scores.where(forced.unsqueeze(1), rule(ids, scores, sentence))

    return later


def forbid_terms(tokenizer: Tokenizer, terms: Iterable[str]) -> Rule:
    """Forbid these terms, in whatever tokens they are written.

    The piece that would complete a term is forbidden, so a longer word that begins with the term
    and would be written through it does not occur either.
    """
    completing = completing_tokens(tokenizer, terms)

    def rule(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        scores = scores.clone()
        for row, hypothesis in enumerate(ids.tolist()):
            scores[row, completing(hypothesis)] = -torch.inf
        return scores

    return rule


def end_word_after(tokenizer: Tokenizer, required: Sequence[Sequence[Phrase]]) -> Rule:
    """End the word after a required phrase: no token may continue it."""
    texts = token_texts(tokenizer)
    continuing = [id for id, text in enumerate(texts) if is_word_character(text[0])]
    tokens = torch.tensor(continuing).long()
    open_ended = [
        [phrase for phrase in phrases if is_word_character(texts[phrase[-1]][-1])]
        for phrases in required
    ]

    def rule(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        hypotheses = zip(ids.tolist(), sentence.tolist(), strict=True)
        rows = [
            row
            for row, (hypothesis, index) in enumerate(hypotheses)
            if any(tuple(hypothesis[-len(phrase) :]) == phrase for phrase in open_ended[index])
        ]
        if not rows:
            return scores
        scores = scores.clone()
        scores[rows] = scores[rows].index_fill(1, tokens.to(scores.device), -torch.inf)
        return scores

    return rule


def observe(callback: Callable[[list[int]], None]) -> Rule:
    """Report the best hypothesis before each next token; scores stay as they are."""

    def rule(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        callback(ids[0, 1:].tolist())
        return scores

    return rule


def _without(scores: Scores, tokens: Int[Tensor, "R K"]) -> Scores:
    """The scores with each row's own tokens forbidden; PAD, never allowed anyway, fills a row."""
    return scores.scatter(1, tokens, -torch.inf)


def _on_device(ids: Sequence[int] | Sequence[Sequence[int]]) -> Callable[[torch.device], Tensor]:
    """The ids as a tensor, moved to a device once."""
    return cache(lambda device: torch.tensor(ids, dtype=torch.long, device=device))
