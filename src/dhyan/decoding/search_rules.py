"""What a manner of searching and the orders of a batch come to: beginnings, rules, choices."""

from collections.abc import Iterator, Sequence

import torch

from dhyan.data.permutation import derive
from dhyan.decoding.beam import Beam, Frontier
from dhyan.decoding.constrained_beam import TermBeam, sparing
from dhyan.decoding.diverse_beam import Groups
from dhyan.decoding.options import Manner
from dhyan.decoding.request import Order
from dhyan.decoding.rules import Rule, after, at_least, begin_with, no_repeat, whole_words
from dhyan.decoding.sampling import Sampler
from dhyan.decoding.search import Choice, likeliest
from dhyan.text.tokenizer import Tokenizer


def beginnings(orders: Sequence[Order], manner: Manner, device: torch.device) -> Frontier:
    """What a search starts from: a beam, one that sees to phrases, or groups of either."""
    width, required = manner.width // manner.groups, [order.required for order in orders]
    one = Beam.start(len(orders), width, manner.length_power, device)
    beam = TermBeam.start(one, required) if any(required) else one
    return Groups((beam,) * manner.groups, manner.diversity) if manner.groups > 1 else beam


def rules_of(
    orders: Sequence[Order], manner: Manner, rules: Sequence[Rule], target: Tokenizer
) -> list[Rule]:
    """These, and what the manner and the sentences ask of every word; prefixes first of all."""
    asked, required = list(rules), [order.required for order in orders]
    if manner.least:
        asked.append(at_least(manner.least))
    if manner.no_repeat:
        rule = no_repeat(manner.no_repeat)
        asked.append(sparing(required, rule) if any(required) else rule)
    if any(required):
        asked.append(whole_words(target, required))
    prefixes = [order.prefix for order in orders]
    if not any(prefixes):
        return asked
    return [begin_with(prefixes), *(after(prefixes, rule) for rule in asked)]


def in_words(order: Order, manner: Manner, forbidden: Sequence[str]) -> str:
    """What keeps a search from saying words, for a fault that names settings."""
    asked = {
        f"{{least}} {manner.least}": manner.least,
        f"{{no_repeat}} {manner.no_repeat}": manner.no_repeat,
        f"{len(forbidden)} forbidden terms": forbidden,
        "a prefix": order.prefix,
        "required terms": order.required,
    }
    return ", ".join(words for words, holds in asked.items() if holds) or "this model"


def choices(orders: Sequence[Order], manner: Manner) -> Iterator[Choice]:
    """How words are chosen, once for each translation that is to be drawn; else the likeliest."""
    if not manner.sample:
        yield likeliest
        return
    for draw in range(manner.nbest):
        yield Sampler(
            temperature=manner.temperature,
            top_k=manner.top_k,
            top_p=manner.top_p,
            seed=derive(manner.seed, draw),
            numbers=[order.number for order in orders],
        )
