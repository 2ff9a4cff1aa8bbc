"""`Searcher`: greedy search, sampling and the beam searches of prepared requests, batch by batch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from dhyan.batch import pad_source
from dhyan.config import DecodingOptions
from dhyan.decoding import rules as search_rules
from dhyan.decoding.beam import Beam, BeamState
from dhyan.decoding.constrained_beam import ConstrainedBeam, allow_required
from dhyan.decoding.diverse_beam import DiverseBeam
from dhyan.decoding.ensemble import Ensemble
from dhyan.decoding.forced_decoding import evaluation_mode, rank_by_coverage
from dhyan.decoding.hypothesis import Hypothesis
from dhyan.decoding.plain_search import by_length, is_plain_search
from dhyan.decoding.prepare_requests import Request
from dhyan.decoding.rules import Rule
from dhyan.decoding.sampling import Sampler
from dhyan.decoding.search import TokenChoice, best_token, extend_until_done, greedy_search
from dhyan.models.seq2seq import Seq2Seq
from dhyan.seeds import derive_seed
from dhyan.text.tokenizer import Tokenizer

RequestRule = Callable[[Tokenizer, Sequence[Request]], Rule]
"""Makes the rule of a task for a batch of requests; a rule numbers sentences by their place in it."""


@dataclass(frozen=True)
class Searcher:
    """A model and the options of one call; searches requests batch by batch.

    `rules` hold for all sentences. With `fast` the engine searches where it supports the options.
    """

    model: Seq2Seq | Ensemble
    options: DecodingOptions
    rules: Sequence[Rule]
    target: Tokenizer
    device: torch.device
    tokens_per_batch: int
    fast: bool = False
    task_rules: Sequence[RequestRule] = ()

    def search(
        self, requests: Sequence[Request]
    ) -> Iterator[list[tuple[Request, list[Hypothesis]]]]:
        """The hypotheses of every request that is not empty, best first or as sampled."""
        requests = [request for request in requests if len(request.source)]
        engine = self._engine_model(requests)
        for batch in [by_length(requests)] if engine else self._batches(requests):
            hypotheses = self._engine_search(engine, batch) if engine else self._plain_search(batch)
            if self.options.coverage_penalty:
                hypotheses = self._ranked_by_coverage(batch, hypotheses)
            yield list(zip(batch, hypotheses, strict=True))

    def _engine_model(self, requests: Sequence[Request]) -> Seq2Seq | None:
        """The model if the GPU's engine can search for it."""
        if not self.fast or isinstance(self.model, Ensemble):
            return None
        special = self.task_rules or self.target.language_prefix
        if not is_plain_search(requests, self.options, self.rules, special):
            return None
        from dhyan.decoding.engine import (
            engine_supports,  # imports kernels that a CPU has no use for
        )

        return self.model if engine_supports(self.model, self.options) else None

    def _batches(self, requests: Sequence[Request]) -> Iterator[list[Request]]:
        """Requests of similar length, to pad little; those with required phrases apart."""
        batch: list[Request] = []
        for request in by_length(requests):
            size = (len(batch) + 1) * len(request.source) * self.options.width
            alike = not batch or bool(batch[0].required) == bool(request.required)
            if batch and (size > self.tokens_per_batch or not alike):
                yield batch
                batch = []
            batch.append(request)
        if batch:
            yield batch

    def _engine_search(self, model: Seq2Seq, batch: Sequence[Request]) -> list[list[Hypothesis]]:
        from dhyan.decoding.engine import engine_for

        best_only = self.options.nbest == 1 and not self.options.coverage_penalty
        return engine_for(model).translate(
            [list(request.source) for request in batch],
            beam=self.options.width,
            max_lengths=[request.max_length for request in batch],
            length_penalty=self.options.length_penalty,
            nbest=1 if best_only else None,
        )

    def _plain_search(self, batch: Sequence[Request]) -> list[list[Hypothesis]]:
        """Greedy search, sampling, or one of the beam searches."""
        source = pad_source([request.source for request in batch]).to(self.device)
        max_length = torch.tensor([request.max_length for request in batch]).to(self.device)
        rules = self.all_rules(batch)
        with evaluation_mode(self.model):
            if self.options.width > 1:
                return extend_until_done(
                    self.start_beam(batch), self.model, source, max_length=max_length, rules=rules
                )
            runs = [
                greedy_search(
                    self.model,
                    source,
                    max_length=max_length,
                    length_penalty=self.options.length_penalty,
                    rules=rules,
                    choose=choose,
                )
                for choose in self._token_choices(batch)
            ]
        return [list(hypotheses) for hypotheses in zip(*runs, strict=True)]

    def start_beam(self, batch: Sequence[Request]) -> BeamState:
        """An empty beam: plain, constrained, or diverse groups of either."""
        groups, required = self.options.beam_groups, [request.required for request in batch]
        width, penalty = self.options.width // groups, self.options.length_penalty
        plain = Beam.start(len(batch), width, penalty, self.device)
        beam = ConstrainedBeam.start(plain, required) if any(required) else plain
        return DiverseBeam((beam,) * groups, self.options.diversity_penalty) if groups > 1 else beam

    def all_rules(self, batch: Sequence[Request]) -> list[Rule]:
        """The rules of the call, of the options and of the requests; prefixes come first."""
        rules, required = list(self.rules), [request.required for request in batch]
        rules += [make_rule(self.target, batch) for make_rule in self.task_rules]
        if self.options.min_length:
            rules.append(search_rules.min_length(self.options.min_length))
        if self.options.no_repeat_ngram:
            rule = search_rules.no_repeat_ngram(self.options.no_repeat_ngram)
            rules.append(allow_required(required, rule) if any(required) else rule)
        if any(required):
            rules.append(search_rules.end_word_after(self.target, required))
        prefixes = [request.prefix for request in batch]
        if any(prefixes):
            later = (search_rules.after_prefix(prefixes, rule) for rule in rules)
            rules = [search_rules.force_prefix(prefixes), *later]
        if language := self.target.language_prefix:
            rules.append(search_rules.begin_with(language))
        return rules

    def _token_choices(self, batch: Sequence[Request]) -> Iterator[TokenChoice]:
        """The best token; or for sampling one sampler for each of `nbest` translations."""
        if not self.options.sample:
            yield best_token
            return
        for draw in range(self.options.nbest):
            yield Sampler(
                temperature=self.options.temperature,
                top_k=self.options.top_k,
                top_p=self.options.top_p,
                seed=derive_seed(self.options.seed, draw),
                numbers=[request.number for request in batch],
            )

    def _ranked_by_coverage(
        self, batch: Sequence[Request], hypotheses: Sequence[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Every sentence's hypotheses with the coverage penalty in their scores."""
        weight = self.options.coverage_penalty
        return [
            rank_by_coverage(self.model, request.source, ranked, weight=weight, device=self.device)
            if ranked
            else ranked
            for request, ranked in zip(batch, hypotheses, strict=True)
        ]
