"""Search rules of tasks: one label, as many tags as words, valid IOB2, a fixed number of symbols."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dhyan.decoding.prepare_requests import Request
from dhyan.special_tokens import EOS, UNK
from dhyan.text.codec import source_length
from dhyan.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from dhyan.decoding.rules import Ids, Rule, Scores, SentenceIndex
    from dhyan.decoding.searcher import RequestRule


def known_symbols(target: Tokenizer, requests: Sequence[Request]) -> "Rule":
    """No unknown symbol: it would be none of the labels."""
    from dhyan.decoding.rules import forbid_tokens

    return forbid_tokens(UNK)


def symbol_count(count: int) -> "RequestRule":
    """Exactly this many symbols: no end before, no symbol after."""

    def make_rule(target: Tokenizer, requests: Sequence[Request]) -> "Rule":
        return _count_rule([count] * len(requests))

    return make_rule


one_label: "RequestRule" = symbol_count(1)


def same_length_as_source(target: Tokenizer, requests: Sequence[Request]) -> "Rule":
    """As many symbols as the source has words, or frames."""
    return _count_rule([source_length(request.source) for request in requests])


def valid_iob2(target: Tokenizer, requests: Sequence[Request]) -> "Rule":
    """I-X follows B-X or I-X alone (Tjong Kim Sang and Veenstra, 1999)."""
    import torch

    names = list(target.piece_ids())
    inside = {name[2:]: id for id, name in enumerate(names) if name.startswith("I-")}
    allowed = torch.ones(len(names), len(names), dtype=torch.bool)
    allowed[:, list(inside.values())] = False
    for id, name in enumerate(names):
        if name[:2] in ("B-", "I-") and name[2:] in inside:
            allowed[id, inside[name[2:]]] = True

    def rule(ids: "Ids", scores: "Scores", sentence: "SentenceIndex") -> "Scores":
        return scores.masked_fill(~allowed.to(scores.device)[ids[:, -1]], -torch.inf)

    return rule


def _count_rule(counts: Sequence[int]) -> "Rule":
    """Each sentence of the batch has exactly so many symbols."""
    import torch

    wanted = torch.tensor(counts)

    def rule(ids: "Ids", scores: "Scores", sentence: "SentenceIndex") -> "Scores":
        complete = (ids.shape[1] - 1 >= wanted.to(scores.device)[sentence]).unsqueeze(1)
        is_end = torch.arange(scores.shape[1], device=scores.device) == EOS
        return scores.masked_fill(complete != is_end, -torch.inf)

    return rule
