"""From text to text: a model with its two tokenizers."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from dhyan.batch import Tokens
from dhyan.config import DecodingOptions
from dhyan.decoding.beam import Hypothesis
from dhyan.decoding.constrained_beam import within
from dhyan.decoding.coverage_penalty import by_coverage
from dhyan.decoding.engine import at_speed, engine_for
from dhyan.decoding.ensemble import Ensemble
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.glossary import check_sayable, check_terms, stands_in
from dhyan.decoding.hide_placeholders import hide
from dhyan.decoding.length_limits import Limits as Limits
from dhyan.decoding.request import Order, Orders, one_each
from dhyan.decoding.rules import Phrase, Rule, never_words
from dhyan.decoding.search import greedy_search, grow
from dhyan.decoding.search_rules import beginnings, choices, in_words, rules_of
from dhyan.errors import UnsupportedOption, UserError
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import EOS
from dhyan.text.placeholders import restore
from dhyan.text.tokenizer import Tokenizer


class TooLong(UserError):
    """A sentence with more tokens than the model takes; `index` says which one.

    `others` are further ones of the same input.
    """

    def __init__(
        self, index: int, tokens: int, longest: int, others: Sequence["TooLong"] = ()
    ) -> None:
        super().__init__(
            f"{tokens} tokens, but this model takes at most {longest}; split the sentence"
        )
        self.index, self.tokens, self.longest, self.others = index, tokens, longest, others

    def at(self, places: Sequence[int]) -> "TooLong":
        """The same, for someone who counts the sentences otherwise."""
        others = [other.at(places) for other in self.others]
        return TooLong(places[self.index], self.tokens, self.longest, others)


@dataclass(frozen=True)
class Translation:
    """What the model says, how likely it finds it, and whether it came to an end.

    `score` is its log-probability / length^length_penalty (with power 1, the mean of its tokens), EOS
    counted, and to that the coverage, if it is asked for. `finished` is False when the length limit
    cut it off, or, `stuck`, the rules left no word; `others` are the runners-up, or further draws.
    `lost` are the spans of the source that were to be kept and are not in the text, `missed` the
    terms of the glossary that are not. Of a paragraph, `sentences` are its own with their
    translations, the score is the mean of theirs, and there are no ids.
    """

    text: str
    score: float
    finished: bool
    ids: tuple[int, ...]
    others: tuple["Translation", ...] = ()
    lost_placeholders: tuple[str, ...] = ()
    missing_terms: tuple[str, ...] = ()
    no_token_allowed: bool = False
    sentences: tuple[tuple[str, "Translation"], ...] = ()


@dataclass(frozen=True)
class Translator:
    """Translates sentences into `language`; call it with a list of them, or with one.

    `other_models` share the vocabulary; their probabilities are averaged with those of
    `model`. `keeps` are the kinds of spans that pass the model by and stay whole. With `fast`, the
    engine searches where it knows how, by a copy of the weights: for a model that stays as it is.
    """

    model: Seq2Seq
    source: Tokenizer
    target: Tokenizer
    language: str = ""
    source_language: str = ""
    limits: Limits = field(default_factory=Limits)
    options: DecodingOptions = field(default_factory=DecodingOptions)
    placeholders: tuple[str, ...] = ()
    other_models: tuple[Seq2Seq, ...] = ()
    tokens_per_batch: int = 4096
    fast: bool = False
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __call__(
        self,
        sentences: Sequence[str] | str,
        *,
        beam: int | None = None,
        nbest: int | None = None,
        length_penalty: float | None = None,
        coverage_penalty: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        no_repeat_ngram: int | None = None,
        beam_groups: int | None = None,
        diversity_penalty: float | None = None,
        sample: bool | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        prefixes: str | Sequence[str] | None = None,
        glossary: Mapping[str, str] | None = None,
        forbidden: Sequence[str] | str = (),
        rules: Sequence[Rule] = (),
        numbers: Sequence[int] | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Translation]:
        """One translation per sentence, in order; an empty sentence stays empty.

        The first arguments are `DecodingOptions`. Translations begin with `prefixes` (one, or each
        its own), say the target terms of the `glossary` whose source terms stand in the sentence,
        and say none of the terms `forbidden`; `rules` change the scores of every next word, or
        look on while it is chosen. A sentence's translation does not depend on the
        others; what is drawn for it depends on its place, or on its number in `numbers`. `on_progress`
        is called after each batch with the number of sentences translated so far.
        """
        sentences = [sentences] if isinstance(sentences, str) else sentences
        forbidden = [forbidden] if isinstance(forbidden, str) else forbidden
        options = self.options.changed(
            beam=beam,
            nbest=nbest,
            length_penalty=length_penalty,
            coverage_penalty=coverage_penalty,
            min_length=min_length,
            max_length=max_length,
            no_repeat_ngram=no_repeat_ngram,
            beam_groups=beam_groups,
            diversity_penalty=diversity_penalty,
            sample=sample,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
        )
        check_terms(
            glossary or {}, forbidden, options, target=self.target, placeholders=self.placeholders
        )
        orders = self._orders(sentences, options, prefixes, glossary, numbers)
        if forbidden and prefixes:
            told = [prefixes] if isinstance(prefixes, str) else prefixes
            check_sayable(told, forbidden, self.target, by="a prefix says")
        asked = [*rules, *([never_words(self.target, forbidden)] if forbidden else [])]
        found: dict[int, Translation] = {}
        fast = self.fast and at_speed(
            self.ensemble, options, rules_of(orders, options, asked, self.target)
        )
        for rows in self._batches(orders, 0 if fast else options.width):
            batch = [orders[row] for row in rows]
            searched = (
                self._at_speed(batch, options) if fast else self._search(batch, options, asked)
            )
            for row, hypotheses in zip(rows, searched, strict=True):
                found[row] = self._say(hypotheses, orders[row], options, forbidden)
            if on_progress:
                on_progress(len(found))
        nothing = Translation("", 0.0, True, ())
        return [found.get(row, nothing) for row in range(len(sentences))]

    @property
    def beam(self) -> int:
        """The width of the search, if no other is asked for."""
        return self.options.beam

    @property
    def ensemble(self) -> Seq2Seq | Ensemble:
        """What speaks: the model, or all of them together."""
        return Ensemble((self.model, *self.other_models)) if self.other_models else self.model

    def with_placeholders(self, sentence: str) -> tuple[str, tuple[str, ...]]:
        """The sentence with signs for the spans that pass the model by, and the spans."""
        return hide(sentence, self.placeholders)

    def encode(self, sentence: str) -> list[int]:
        """The ids the model reads for a sentence, EOS at the end."""
        return [*self.source.encode(self.with_placeholders(sentence)[0]), EOS]

    def _orders(
        self,
        sentences: Sequence[str],
        options: DecodingOptions,
        prefixes: str | Sequence[str] | None,
        glossary: Mapping[str, str] | None,
        numbers: Sequence[int] | None,
    ) -> list[Order]:
        """What is asked for each sentence; one that is too long is refused."""
        ready = Orders.of(
            self.source,
            self.target,
            placeholders=self.placeholders,
            glossary=glossary,
            forces_kept=options.constrains,
        )
        places = range(len(sentences)) if numbers is None else numbers
        orders = ready.of_all(sentences, one_each(prefixes, len(sentences)), places)
        longest, sizes = self.limits.source, [len(order.ids) - 1 for order in orders]
        long = [TooLong(at, size, longest) for at, size in enumerate(sizes) if size > longest]
        if long:
            raise TooLong(long[0].index, long[0].tokens, longest, long[1:])
        return orders

    def _batches(self, orders: Sequence[Order], width: int) -> Iterator[list[int]]:
        """Rows of like length together, so that little is padded; those with phrases apart.

        A width of 0 is a search that makes its own batches.
        """
        kinds = [(bool(order.required), len(order.ids)) for order in orders]
        batch: list[int] = []
        for row in sorted((r for r, (_, n) in enumerate(kinds) if n), key=lambda r: kinds[r]):
            bound, length = kinds[row]
            full = (len(batch) + 1) * length * width > self.tokens_per_batch
            if batch and (full or bound != kinds[batch[0]][0]):
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch

    def _search(
        self, orders: Sequence[Order], options: DecodingOptions, rules: Sequence[Rule]
    ) -> list[list[Hypothesis]]:
        """The hypotheses for each sentence of a batch, best first or as they were drawn."""
        source = Tokens.pad([order.ids for order in orders]).to(self.device)
        limit = torch.tensor([self.limits.of(order, options) for order in orders]).to(self.device)
        rules = rules_of(orders, options, rules, self.target)
        ensemble = self.ensemble
        with evaluation_mode(ensemble):
            if options.width == 1:
                power = options.length_penalty
                drawn = [
                    greedy_search(
                        ensemble,
                        source,
                        max_length=limit,
                        length_penalty=power,
                        rules=rules,
                        choose=choose,
                    )
                    for choose in choices(orders, options)
                ]
                return [list(own) for own in zip(*drawn, strict=True)]
            beam = beginnings(orders, options, self.device)
            found = grow(beam, ensemble, source, max_length=limit, rules=rules)
        return (
            self._ranked(orders, found, options.coverage_penalty)
            if options.coverage_penalty
            else found
        )

    def _at_speed(
        self, orders: Sequence[Order], options: DecodingOptions
    ) -> list[list[Hypothesis]]:
        """The same by the engine."""
        limits = [self.limits.of(order, options) for order in orders]
        found = engine_for(self.model).translate(
            [order.ids for order in orders],
            width=options.width,
            limits=limits,
            power=options.length_penalty,
            count=1 if options.nbest == 1 and not options.coverage_penalty else None,
        )
        return (
            self._ranked(orders, found, options.coverage_penalty)
            if options.coverage_penalty
            else found
        )

    def _ranked(
        self, orders: Sequence[Order], found: list[list[Hypothesis]], weight: float
    ) -> list[list[Hypothesis]]:
        """Every sentence's hypotheses by their scores and coverage."""
        return [
            by_coverage(self.ensemble, order.ids, own, weight=weight, device=self.device)
            if own
            else own
            for order, own in zip(orders, found, strict=True)
        ]

    def _say(
        self,
        found: Sequence[Hypothesis],
        order: Order,
        options: DecodingOptions,
        forbidden: Sequence[str],
    ) -> Translation:
        """The best of what was found, and the runners-up; equal texts once, unless drawn."""
        if not found or not all(math.isfinite(one.score) for one in found):
            raise UserError("the model gives no word a finite score: its weights have diverged")
        if not found[0].ids and not found[0].finished:
            raise UnsupportedOption(
                f"no word is left to say with {in_words(order, options, forbidden)}: ask for less",
                number=order.number,
            )
        said: dict[str, Translation] = {}
        for number, one in enumerate(found):
            written = self._written(one, order, self.limits.of(order, options))
            said.setdefault(f"{number} " if options.sample else written.text, written)
            if len(said) == options.nbest:
                break
        best, *others = said.values()
        return replace(best, others=tuple(others))

    def _written(self, one: Hypothesis, order: Order, limit: int) -> Translation:
        text = self.target.decode(one.ids)
        text, lost = restore(text, order.kept) if self.placeholders else (text, ())
        terms = zip(order.terms, order.required, strict=False)
        return Translation(
            text,
            one.score,
            one.finished,
            one.ids,
            lost_placeholders=tuple(span for span in lost if span not in order.replaced),
            missing_terms=tuple(term for term, ids in terms if not self._says(one.ids, ids)),
            no_token_allowed=not one.finished and len(one.ids) < limit,
        )

    def _says(self, ids: Phrase, term: Phrase) -> bool:
        """Whether a term was said, in these pieces or in others."""
        return within(ids, term) or stands_in(self.target, term, ids)


def join_translators(translators: Sequence[Translator], *, names: Sequence[str] = ()) -> Translator:
    """The first, with the models of the others beside its own; `names` are for faults.

    Their vocabularies must be equal, since probabilities are averaged word by word.
    """
    first, *others = translators
    called = names or [f"model {number}" for number in range(1, len(translators) + 1)]
    for other, name in zip(others, called[1:], strict=True):
        if difference := _difference(first, other):
            raise UserError(f"{name} cannot speak together with {called[0]}: {difference}")
    models = [model for one in translators for model in (one.model, *one.other_models)]
    highest = [one.limits.highest for one in translators if one.limits.highest is not None]
    limits = Limits(
        source=min(one.limits.source for one in translators), highest=min(highest, default=None)
    )
    return replace(first, limits=limits, model=models[0], other_models=tuple(models[1:]))


def _difference(first: Translator, other: Translator) -> str:
    """What keeps two translators apart, if anything does."""
    if first.placeholders != other.placeholders:
        ours, theirs = (", ".join(one.placeholders) or "nothing" for one in (first, other))
        return f"it keeps {theirs} whole, the other {ours} (text.placeholders)"
    for side in ("source", "target"):
        if how := _unlike(getattr(first, side), getattr(other, side)):
            return f"their {side} vocabularies differ: {how}; train both with the same vocabularies"
    return ""


def _unlike(one: Tokenizer, other: Tokenizer) -> str:
    """How two vocabularies differ, if they do."""
    if one.to_json() == other.to_json():
        return ""
    ours, theirs = list(one.piece_ids()), list(other.piece_ids())
    for id, (our, their) in enumerate(zip(ours, theirs, strict=False)):
        if our != their:
            return f"{len(theirs):,} pieces and {len(ours):,}, and id {id} is {their!r} and {our!r}"
    if len(ours) != len(theirs):
        return f"{len(theirs):,} pieces and {len(ours):,}"
    return "they have the same pieces but cut words differently"
