"""What a search may not say: functions that change the scores of the next word."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from unicodedata import category

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.special_tokens import EOS, NAMES, PAD
from dhyan.text.normalize import normalize
from dhyan.text.tokenizer import Tokenizer
from dhyan.text.vocabulary import BYTES, MARK

Said = Int[Tensor, "R T"]
Scores = Float[Tensor, "R V"]
Sentence = Int[Tensor, " R"]
Phrase = tuple[int, ...]

SOME_LETTER = "\ua66e"  # one that stands in no term

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


def never_words(tokenizer: Tokenizer, terms: Iterable[str]) -> Rule:
    """Terms that are not to be said, in whatever pieces.

    The piece that would make a term whole is not said, so a longer word that begins with the term
    and would be written by way of it is not said either.
    """
    completing = completions(tokenizer, terms)

    def rule(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        scores = scores.clone()
        for row, ids in enumerate(said.tolist()):
            scores[row, completing(ids)] = -torch.inf
        return scores

    return rule


def completions(tokenizer: Tokenizer, terms: Iterable[str]) -> Callable[[Sequence[int]], list[int]]:
    """After what was said, the ids that would make one of the terms whole."""
    spelt = _spelt(tokenizer)
    always, ending = _endings(spelt, [normalize(term).replace(" ", MARK) for term in terms])
    longest = max(map(len, ending), default=0)

    def completing(ids: Sequence[int]) -> list[int]:
        latest = ids[max(len(ids) - longest - 1, 0) :]
        text = ("\n" + "".join(spelt[id] for id in latest))[-longest - 1 :]
        heads = (at for at in range(len(text), 0, -1) if not is_letter(text[at - 1]))
        return [*always, *(id for at in heads for id in ending.get(text[at:], ()))]

    return completing


def whole_words(tokenizer: Tokenizer, required: Sequence[Sequence[Phrase]]) -> Rule:
    """After a required phrase the word is over: no piece may go on with it."""
    spelt = _spelt(tokenizer)
    going_on = torch.tensor([id for id, text in enumerate(spelt) if is_letter(text[0])]).long()
    open_ended = [[one for one in phrases if is_letter(spelt[one[-1]][-1])] for phrases in required]

    def rule(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        rows = [
            row
            for row, (ids, which) in enumerate(zip(said.tolist(), sentence.tolist(), strict=True))
            if any(tuple(ids[-len(one) :]) == one for one in open_ended[which])
        ]
        if not rows:
            return scores
        scores = scores.clone()
        scores[rows] = scores[rows].index_fill(1, going_on.to(scores.device), -torch.inf)
        return scores

    return rule


def after(prefixes: Sequence[Phrase], rule: Rule) -> Rule:
    """A rule that leaves the words of a sentence's prefix alone."""
    lengths = torch.tensor([len(prefix) for prefix in prefixes])

    def later(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        forced = lengths.to(scores.device)[sentence] >= said.shape[1]
        return scores.where(forced.unsqueeze(1), rule(said, scores, sentence))

    return later


def is_letter(sign: str) -> bool:
    """Whether a sign is part of a word: letters, marks, digits, and the joiners."""
    return category(sign)[0] in "LMN" or sign in "_\u200c\u200d"


def _without(scores: Scores, words: Int[Tensor, "R K"]) -> Scores:
    """Each row's own words are not to be said; PAD stands for none, being never said anyway."""
    return scores.scatter(1, words, -torch.inf)


def _on_device(ids: Sequence[int] | Sequence[Sequence[int]]) -> Callable[[torch.device], Tensor]:
    """These ids as a tensor, moved to a device once."""
    return cache(lambda device: torch.tensor(ids, dtype=torch.long, device=device))


def _spelt(tokenizer: Tokenizer) -> list[str]:
    """What each id writes, a mark for a space; a byte of a longer letter counts as a letter."""
    given = {name: chr(code) if code < 128 else SOME_LETTER for code, name in enumerate(BYTES)}
    given |= dict.fromkeys(NAMES, "\n")
    pieces = sorted(tokenizer.piece_ids().items(), key=lambda item: item[1])
    return [given.get(piece, piece) for piece, _ in pieces]


def _endings(spelt: Sequence[str], terms: Sequence[str]) -> tuple[list[int], dict[str, list[int]]]:
    """The ids that are a whole term, and for each beginning of one the ids that would end it."""
    ids_of: dict[str, list[int]] = {}
    for id, text in enumerate(spelt):
        ids_of.setdefault(text, []).append(id)
    always = [id for term in terms for id in ids_of.get(MARK + term, ())]
    ending: dict[str, list[int]] = {}
    for term in terms:
        for at in range(len(term)):
            if term[at:] in ids_of:
                ending.setdefault(term[:at], []).extend(ids_of[term[at:]])
    return always, ending


def observe(hear: Callable[[list[int]], None]) -> Rule:
    """Changes nothing: tells the words of the best beginning so far, before each next one."""

    def rule(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        hear(said[0, 1:].tolist())
        return scores

    return rule
