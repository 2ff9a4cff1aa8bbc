"""How long what goes in and what comes out may be."""

from dataclasses import dataclass

from dhyan.config import DecodingOptions
from dhyan.decoding.request import Order
from dhyan.errors import UnsupportedOption


@dataclass(frozen=True)
class Limits:
    """The most tokens that go in, and the most that may come out of a model that is bounded."""

    source: int = 1024
    highest: int | None = None

    def of(self, order: Order, options: DecodingOptions) -> int:
        """The most tokens a sentence may become, EOS counted: `max_length`, or 3 × source + 50."""
        asked = len(order.prefix) + sum(map(len, order.required))
        free = 3 * max(len(order.ids) - 1, options.min_length) + 50 + asked
        wanted = options.max_length or free
        limit = wanted if self.highest is None else min(wanted, self.highest)
        if options.min_length >= limit:
            raise UnsupportedOption(
                f"{{min_length}} {options.min_length}: this model says at most {limit} tokens"
            )
        if (size := len(order.prefix)) >= limit:
            sentence = f"a prefix of {size} tokens leaves nothing to say within {limit}"
            raise UnsupportedOption(sentence, option="prefixes", number=order.number)
        if order.terms and (shortest := order.shortest()) >= limit:
            raise UnsupportedOption(
                f"{{terms}}: required terms that take {shortest} tokens, with the prefix, leave no "
                f"room for an end within {limit}",
                terms=", ".join(order.terms),
                number=order.number,
            )
        return limit
