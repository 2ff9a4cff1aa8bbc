"""From text to text: a model with its two tokenizers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from dhyan.batch import Tokens
from dhyan.data.permutation import derive
from dhyan.decoding.coverage import by_coverage
from dhyan.decoding.ensemble import Ensemble
from dhyan.decoding.manner import Manner
from dhyan.decoding.orders import Order, Orders, hide, one_each
from dhyan.decoding.rules import Rule, at_least, begin_with, no_repeat
from dhyan.decoding.sampling import Sampler
from dhyan.decoding.search import Hypothesis, beam_search, greedy_search
from dhyan.decoding.second import evaluating as evaluating
from dhyan.decoding.wording import after, check_terms, never_words, whole_words
from dhyan.faults import Fault
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special import EOS
from dhyan.text.placeholders import restore
from dhyan.text.tokenizer import Tokenizer


class TooLong(Fault):
    """A sentence with more tokens than the model takes; `index` says which one."""

    def __init__(self, index: int, tokens: int, longest: int) -> None:
        super().__init__(
            f"{tokens} tokens, but this model takes at most {longest}; split the sentence"
        )
        self.index, self.tokens, self.longest = index, tokens, longest

    def at(self, index: int) -> "TooLong":
        """The same of another place."""
        return TooLong(index, self.tokens, self.longest)


@dataclass(frozen=True)
class Translation:
    """What the model says, how likely it finds it, and whether it came to an end.

    `score` is its log-probability / length^length_power: with power 1, the mean of its tokens.
    `finished` is False when the length limit cut it off; `others` are the runners-up, or further
    draws. `lost` are the spans of the source that were to be kept and are not in the text. Of a
    paragraph, `sentences` are its own with their translations, and there are no ids.
    """

    text: str
    score: float
    finished: bool
    ids: tuple[int, ...]
    others: tuple["Translation", ...] = ()
    lost: tuple[str, ...] = ()
    sentences: tuple[tuple[str, "Translation"], ...] = ()


@dataclass(frozen=True)
class Limits:
    """The most tokens that go in, and the most that may come out of a model that is bounded."""

    source: int = 1024
    highest: int | None = None

    def of(self, order: Order, manner: Manner) -> int:
        """The most tokens a sentence may become, EOS counted: the manner's, or 3 × source + 50."""
        free = 3 * max(len(order.ids) - 1, manner.least) + 50 + len(order.prefix)
        wanted = manner.limit or free
        limit = wanted if self.highest is None else min(wanted, self.highest)
        if manner.least >= limit:
            raise Fault(f"least {manner.least}: this model says at most {limit} tokens")
        if len(order.prefix) >= limit:
            raise Fault(
                f"a prefix of {len(order.prefix)} tokens leaves nothing to say within {limit}"
            )
        return limit


@dataclass(frozen=True)
class Translator:
    """Translates sentences into `language`; call it with a list of them, or with one.

    `beside` are further models of the same words, whose probabilities are averaged with those of
    `model`. `keeps` are the kinds of spans that pass the model by and stay whole.
    """

    model: Seq2Seq
    source: Tokenizer
    target: Tokenizer
    language: str = ""
    source_language: str = ""
    limits: Limits = field(default_factory=Limits)
    manner: Manner = field(default_factory=Manner)
    keeps: tuple[str, ...] = ()
    beside: tuple[Seq2Seq, ...] = ()
    tokens_per_batch: int = 4096
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __call__(
        self,
        sentences: Sequence[str] | str,
        *,
        beam: int | None = None,
        nbest: int | None = None,
        prefixes: str | Sequence[str] | None = None,
        glossary: Mapping[str, str] | None = None,
        forbidden: Sequence[str] | str = (),
        numbers: Sequence[int] | None = None,
        **changes: object,
    ) -> list[Translation]:
        """One translation per sentence, in order; an empty sentence stays empty.

        `changes` are fields of `Manner`. Translations begin with `prefixes` (one for all, or each
        its own), say the target terms of the `glossary` whose source terms stand in the sentence,
        and say none of the terms `forbidden`. A sentence's translation does not depend on the
        others; what is drawn for it depends on its place, or on its number in `numbers`.
        """
        sentences = [sentences] if isinstance(sentences, str) else sentences
        forbidden = [forbidden] if isinstance(forbidden, str) else forbidden
        manner = self.manner.changed(beam=beam, nbest=nbest, **changes)
        check_terms(glossary or {}, forbidden, manner)
        orders = self._orders(sentences, manner, prefixes, glossary, numbers)
        rules = [never_words(self.target, forbidden)] if forbidden else []
        found: dict[int, Translation] = {}
        for rows in self._batches(orders, manner.width):
            batch = [orders[row] for row in rows]
            for row, hypotheses in zip(rows, self._search(batch, manner, rules), strict=True):
                found[row] = self._say(hypotheses[: manner.nbest], orders[row].kept)
        nothing = Translation("", 0.0, True, ())
        return [found.get(row, nothing) for row in range(len(sentences))]

    @property
    def beam(self) -> int:
        """The width of the search, if no other is asked for."""
        return self.manner.beam

    @property
    def voice(self) -> Seq2Seq | Ensemble:
        """What speaks: the model, or all of them together."""
        return Ensemble((self.model, *self.beside)) if self.beside else self.model

    def hidden(self, sentence: str) -> tuple[str, tuple[str, ...]]:
        """The sentence with signs for the spans that pass the model by, and the spans."""
        return hide(sentence, self.keeps)

    def encode(self, sentence: str) -> list[int]:
        """The ids the model reads for a sentence, EOS at the end."""
        return [*self.source.encode(self.hidden(sentence)[0]), EOS]

    def _orders(
        self,
        sentences: Sequence[str],
        manner: Manner,
        prefixes: str | Sequence[str] | None,
        glossary: Mapping[str, str] | None,
        numbers: Sequence[int] | None,
    ) -> list[Order]:
        """What is asked for each sentence; one that is too long is refused."""
        ready = Orders.of(
            self.source,
            self.target,
            keeps=self.keeps,
            glossary=glossary,
            forces_kept=manner.requires,
        )
        places = range(len(sentences)) if numbers is None else numbers
        orders = ready.of_all(sentences, one_each(prefixes, len(sentences)), places)
        for index, order in enumerate(orders):
            if len(order.ids) - 1 > self.limits.source:
                raise TooLong(index, len(order.ids) - 1, self.limits.source)
        return orders

    def _batches(self, orders: Sequence[Order], width: int) -> Iterator[list[int]]:
        """Rows of like length together, so that little is padded."""
        lengths = [len(order.ids) for order in orders]
        batch: list[int] = []
        for row in sorted((r for r, n in enumerate(lengths) if n), key=lambda r: lengths[r]):
            if batch and (len(batch) + 1) * lengths[row] * width > self.tokens_per_batch:
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch

    def _search(
        self, orders: Sequence[Order], manner: Manner, rules: Sequence[Rule]
    ) -> list[list[Hypothesis]]:
        """The hypotheses for each sentence of a batch, best first or as they were drawn."""
        source = Tokens.pad([order.ids for order in orders]).to(self.device)
        limit = torch.tensor([self.limits.of(order, manner) for order in orders]).to(self.device)
        rules = self._rules(orders, manner, rules)
        voice, power = self.voice, manner.length_power
        with evaluating(voice):
            if manner.width == 1:
                drawn = [
                    greedy_search(
                        voice, source, limit=limit, length_power=power, rules=rules, **choosing
                    )
                    for choosing in _choices(orders, manner)
                ]
                return [list(own) for own in zip(*drawn, strict=True)]
            found = beam_search(
                voice,
                source,
                width=manner.width,
                limit=limit,
                length_power=power,
                rules=rules,
                groups=manner.groups,
                diversity=manner.diversity,
                required=_required(orders),
            )
        return self._ranked(orders, found, manner.coverage) if manner.coverage else found

    def _ranked(
        self, orders: Sequence[Order], found: list[list[Hypothesis]], weight: float
    ) -> list[list[Hypothesis]]:
        """Every sentence's hypotheses by their scores and coverage."""
        return [
            by_coverage(self.voice, order.ids, own, weight=weight, device=self.device)
            if own
            else own
            for order, own in zip(orders, found, strict=True)
        ]

    def _rules(self, orders: Sequence[Order], manner: Manner, rules: Sequence[Rule]) -> list[Rule]:
        """What the manner and the sentences of a batch ask of every word, prefixes first of all."""
        asked = list(rules)
        if manner.least:
            asked.append(at_least(manner.least))
        if manner.no_repeat:
            asked.append(no_repeat(manner.no_repeat))
        if required := _required(orders):
            asked.append(whole_words(self.target, required))
        prefixes = [order.prefix for order in orders]
        if not any(prefixes):
            return asked
        return [begin_with(prefixes), *(after(prefixes, rule) for rule in asked)]

    def _say(self, hypotheses: Sequence[Hypothesis], kept: tuple[str, ...]) -> Translation:
        if not hypotheses:
            raise Fault("the model gives no word a finite score: its weights have diverged")
        best, *others = (self._written(one, kept) for one in hypotheses)
        return replace(best, others=tuple(others))

    def _written(self, one: Hypothesis, kept: tuple[str, ...]) -> Translation:
        text = self.target.decode(one.ids)
        text, lost = restore(text, kept) if self.keeps else (text, ())
        return Translation(text, one.score, one.finished, one.ids, lost=lost)


def _required(orders: Sequence[Order]) -> list[tuple[tuple[int, ...], ...]] | None:
    """The phrases of each sentence, if there are any at all."""
    return [order.required for order in orders] if any(o.required for o in orders) else None


def _choices(orders: Sequence[Order], manner: Manner) -> Iterator[dict[str, Sampler]]:
    """How words are chosen, once for each translation that is to be drawn; else the likeliest."""
    if not manner.sample:
        yield {}
        return
    for draw in range(manner.nbest):
        yield {
            "choose": Sampler(
                temperature=manner.temperature,
                top_k=manner.top_k,
                top_p=manner.top_p,
                seed=derive(manner.seed, draw),
                numbers=[order.number for order in orders],
            )
        }
