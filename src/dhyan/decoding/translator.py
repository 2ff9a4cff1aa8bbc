"""From text to text: a model with its two tokenizers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import nn

from dhyan.batch import Tokens
from dhyan.decoding.search import Hypothesis, beam_search, greedy_search
from dhyan.faults import Fault
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special import EOS
from dhyan.text.tokenizer import Tokenizer


class TooLong(Fault):
    """A sentence with more tokens than the model takes; `index` says which one."""

    def __init__(self, index: int, tokens: int, longest: int) -> None:
        super().__init__(
            f"{tokens} tokens, but this model takes at most {longest}; split the sentence"
        )
        self.index = index


@dataclass(frozen=True)
class Translation:
    """What the model says, how likely it finds it, and whether it came to an end.

    `score` is its log-probability / length^length_power: with power 1, the mean of its tokens.
    `finished` is False when the length limit cut it off; `others` are the runners-up.
    """

    text: str
    score: float
    finished: bool
    ids: tuple[int, ...]
    others: tuple["Translation", ...] = ()


@dataclass(frozen=True)
class Limits:
    """How many tokens go in and how many may come out.

    `output` 0 means 3 × source + 50; `highest` is what the model itself allows, if it is bounded.
    """

    source: int = 1024
    output: int = 0
    highest: int | None = None

    def of(self, tokens: int) -> int:
        """The most tokens a source of this many may become, EOS counted."""
        wanted = self.output or 3 * tokens + 50
        return wanted if self.highest is None else min(wanted, self.highest)


@dataclass(frozen=True)
class Translator:
    """Translates sentences into `language`; call it with a list of them, or with one."""

    model: Seq2Seq
    source: Tokenizer
    target: Tokenizer
    language: str = ""
    limits: Limits = field(default_factory=Limits)
    beam: int = 5
    length_power: float = 1.0
    tokens_per_batch: int = 4096
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __call__(
        self, sentences: Sequence[str] | str, *, beam: int | None = None, nbest: int = 1
    ) -> list[Translation]:
        """One translation per sentence, in order; an empty sentence stays empty.

        A sentence's translation does not depend on the others. `nbest` asks for runners-up.
        """
        if isinstance(sentences, str):
            sentences = [sentences]
        if nbest < 1:
            raise ValueError(f"nbest is {nbest}: ask for at least one translation")
        width = max(beam or self.beam, nbest)
        encoded = self._encode(sentences)
        found: dict[int, Translation] = {}
        for rows in self._batches([len(ids) for ids in encoded], width):
            source = Tokens.pad([encoded[row] for row in rows]).to(self.device)
            for row, hypotheses in zip(rows, self._search(source, width), strict=True):
                found[row] = self._say(hypotheses[:nbest])
        nothing = Translation("", 0.0, True, ())
        return [found.get(row, nothing) for row in range(len(sentences))]

    def encode(self, sentence: str) -> list[int]:
        """The ids the model reads for a sentence, EOS at the end."""
        return [*self.source.encode(sentence), EOS]

    def _encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """Ids with EOS, or nothing for an empty sentence."""
        encoded = self.source.encode_all(list(sentences))
        for index, ids in enumerate(encoded):
            if len(ids) > self.limits.source:
                raise TooLong(index, len(ids), self.limits.source)
        return [[*ids, EOS] if ids else [] for ids in encoded]

    def _batches(self, lengths: Sequence[int], width: int) -> Iterator[list[int]]:
        """Rows of like length together, so that little is padded."""
        batch: list[int] = []
        for row in sorted((r for r, n in enumerate(lengths) if n), key=lambda r: lengths[r]):
            if batch and (len(batch) + 1) * lengths[row] * width > self.tokens_per_batch:
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch

    def _search(self, source: Tokens, width: int) -> list[list[Hypothesis]]:
        limits = [self.limits.of(tokens - 1) for tokens in source.lengths.tolist()]
        limit, power = torch.tensor(limits, device=self.device), self.length_power
        with evaluating(self.model):
            if width > 1:
                return beam_search(self.model, source, width=width, limit=limit, length_power=power)
            greedy = greedy_search(self.model, source, limit=limit, length_power=power)
            return [[best] for best in greedy]

    def _say(self, hypotheses: Sequence[Hypothesis]) -> Translation:
        if not hypotheses:
            raise Fault("the model gives no word a finite score: its weights have diverged")
        best, *others = (
            Translation(self.target.decode(h.ids), h.score, h.finished, h.ids) for h in hypotheses
        )
        return Translation(best.text, best.score, best.finished, best.ids, tuple(others))


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Inside, the model is not training: nothing is dropped out."""
    before = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(before)
