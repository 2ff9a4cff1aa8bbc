"""What decoding options and the orders of a batch come to: beginnings, rules, choices."""

from collections.abc import Iterator, Sequence

import torch

from dhyan.config import DecodingOptions
from dhyan.data.permutation import derive
from dhyan.decoding.beam import Beam, Frontier
from dhyan.decoding.constrained_beam import TermBeam, sparing
from dhyan.decoding.diverse_beam import Groups
from dhyan.decoding.request import Order
from dhyan.decoding.rules import Rule, after, at_least, begin_with, no_repeat, whole_words
from dhyan.decoding.sampling import Sampler
from dhyan.decoding.search import Choice, likeliest
from dhyan.text.tokenizer import Tokenizer


def beginnings(orders: Sequence[Order], options: DecodingOptions, device: torch.device) -> Frontier:
    """What a search starts from: a beam, one that sees to phrases, or groups of either."""
    width, required = options.width // options.beam_groups, [order.required for order in orders]
    one = Beam.start(len(orders), width, options.length_penalty, device)
    beam = TermBeam.start(one, required) if any(required) else one
    return (
        Groups((beam,) * options.beam_groups, options.diversity_penalty)
        if options.beam_groups > 1
        else beam
    )


def rules_of(
    orders: Sequence[Order], options: DecodingOptions, rules: Sequence[Rule], target: Tokenizer
) -> list[Rule]:
    """These, and what the options and the sentences ask of every word; prefixes first of all."""
    asked, required = list(rules), [order.required for order in orders]
    if options.min_length:
        asked.append(at_least(options.min_length))
    if options.no_repeat_ngram:
        rule = no_repeat(options.no_repeat_ngram)
        asked.append(sparing(required, rule) if any(required) else rule)
    if any(required):
        asked.append(whole_words(target, required))
    prefixes = [order.prefix for order in orders]
    if not any(prefixes):
        return asked
    return [begin_with(prefixes), *(after(prefixes, rule) for rule in asked)]


def in_words(order: Order, options: DecodingOptions, forbidden: Sequence[str]) -> str:
    """What keeps a search from saying words, for a fault that names settings."""
    asked = {
        f"{{min_length}} {options.min_length}": options.min_length,
        f"{{no_repeat_ngram}} {options.no_repeat_ngram}": options.no_repeat_ngram,
        f"{len(forbidden)} forbidden terms": forbidden,
        "a prefix": order.prefix,
        "required terms": order.required,
    }
    return ", ".join(words for words, holds in asked.items() if holds) or "this model"


def choices(orders: Sequence[Order], options: DecodingOptions) -> Iterator[Choice]:
    """How words are chosen, once for each translation that is to be drawn; else the likeliest."""
    if not options.sample:
        yield likeliest
        return
    for draw in range(options.nbest):
        yield Sampler(
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            seed=derive(options.seed, draw),
            numbers=[order.number for order in orders],
        )
