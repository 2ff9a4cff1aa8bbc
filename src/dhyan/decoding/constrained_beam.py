"""Constrained beam search: hypotheses that must contain required phrases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dhyan.decoding.beam import Beam, Hypothesis
from dhyan.decoding.phrases import Phrase, contains
from dhyan.decoding.rules import Ids, Rule, Scores, SentenceIndex
from dhyan.kernels.reference import Candidates
from dhyan.special_tokens import EOS


@dataclass(frozen=True)
class Progress:
    """The ids of a hypothesis, and the required phrases it does not contain yet."""

    unmet: tuple[Phrase, ...]
    ids: tuple[int, ...] = ()

    @classmethod
    def after(cls, ids: Sequence[int], phrases: Sequence[Phrase]) -> "Progress":
        """The progress of a complete hypothesis."""
        ids = tuple(ids)
        return cls(tuple(phrase for phrase in phrases if not contains(ids, phrase)), ids)

    def append(self, token: int) -> "Progress":
        """The progress after one more token."""
        ids = (*self.ids, token)
        unmet = tuple(phrase for phrase in self.unmet if ids[-len(phrase) :] != phrase)
        return Progress(unmet, ids)

    @property
    def missing(self) -> int:
        """The number of missing tokens, if the phrase in progress continues."""
        matched = max((self._matches(phrase)[-1] for phrase in self.unmet), default=0)
        return sum(map(len, self.unmet)) - matched

    def next_tokens(self) -> set[int]:
        """The tokens that begin or continue a phrase."""
        return {phrase[size] for phrase in self.unmet for size in self._matches(phrase)}

    def _matches(self, phrase: Phrase) -> list[int]:
        """Lengths of the prefixes of a phrase that the hypothesis ends with, 0 first."""
        sizes = range(min(len(phrase), len(self.ids) + 1))
        return [k for k in sizes if self.ids[len(self.ids) - k :] == phrase[:k]]


@dataclass(frozen=True)
class Extension:
    """A hypothesis one token longer: score with and without penalty, parent, token, progress."""

    penalized: float
    score: float
    parent: int
    token: int
    progress: Progress


@dataclass(frozen=True)
class ConstrainedBeam:
    """A beam whose slots are shared among hypotheses by how much of the phrases they contain.

    Hypotheses with equally many tokens missing are compared only with each other, as in grid beam
    search (Hokamp and Liu, 2017); together they fill one beam, as in dynamic beam allocation (Post
    and Vilar, 2018). Where nothing is missing it is the usual beam. A phrase counts wherever it
    occurs whole, also overlapping another.
    """

    beam: Beam
    progress: tuple[tuple[Progress, ...], ...]

    @classmethod
    def start(cls, beam: Beam, required: Sequence[Sequence[Sequence[int]]]) -> "ConstrainedBeam":
        """An empty beam, with the phrases required of each sentence."""
        if len(required) != len(beam.ids):
            raise ValueError(f"phrases of {len(required)} sentences for a beam of {len(beam.ids)}")
        start = [
            Progress(tuple(tuple(phrase) for phrase in phrases if phrase)) for phrases in required
        ]
        return cls(beam, tuple((progress,) * beam.ids.shape[1] for progress in start))

    @property
    def ids(self) -> Int[Tensor, "N W T"]:
        """The unfinished hypotheses."""
        return self.beam.ids

    @property
    def score(self) -> Float[Tensor, "N W"]:
        """The scores of the unfinished hypotheses."""
        return self.beam.score

    def extend(
        self, scores: Float[Tensor, "N W V"], penalty: Float[Tensor, "N V"] | None = None
    ) -> tuple["ConstrainedBeam", Int[Tensor, "N W"]]:
        """Extend hypotheses with equally many missing tokens as a beam of their own."""
        width, device = scores.shape[1], scores.device
        chosen = [choose(extensions, width) for extensions in self._extensions(scores, penalty)]
        continuing = _stack([continuing for continuing, _ in chosen], width, device)
        ending = _stack([ending for _, ending in chosen], width, device)
        progress = tuple(
            tuple(extension.progress for extension in extensions)
            + before[: width - len(extensions)]
            for (extensions, _), before in zip(chosen, self.progress, strict=True)
        )
        return ConstrainedBeam(self.beam.updated(continuing, ending), progress), continuing.parent

    def done(self) -> Bool[Tensor, " N"]:
        """Whether no unfinished hypothesis can beat the finished ones."""
        return self.beam.done()

    def select(self, rows: Int[Tensor, " R"]) -> "ConstrainedBeam":
        """The beams of these sentences."""
        progress = tuple(self.progress[row] for row in rows.tolist())
        return ConstrainedBeam(self.beam.select(rows), progress)

    def ranked(self, sentence: int) -> list[Hypothesis]:
        """The hypotheses of one sentence; unfinished ones come last, fewest missing first."""
        return self.beam.ranked(sentence)

    def _extensions(
        self, scores: Float[Tensor, "N W V"], penalty: Float[Tensor, "N V"] | None
    ) -> list[list[Extension]]:
        """For each hypothesis, every token of a phrase and as many others as the beam can take."""
        total = self.score.unsqueeze(-1) + scores
        penalized = total if penalty is None else total - penalty.unsqueeze(1)
        required = self._next_tokens(scores.device)
        enough = min(scores.shape[1] + 1 + required.shape[2], scores.shape[2])
        tokens = torch.cat([required, penalized.topk(enough, dim=2).indices], dim=2)
        values = torch.stack([penalized.gather(2, tokens), total.gather(2, tokens)], dim=-1)
        return [
            [
                extension
                for parent, row in enumerate(zip(*sentence, strict=True))
                for extension in _extensions_of(parent, *row)
            ]
            for sentence in zip(self.progress, tokens.tolist(), values.tolist(), strict=True)
        ]

    def _next_tokens(self, device: torch.device) -> Int[Tensor, "N W A"]:
        """The next tokens of phrases for every hypothesis, padded with EOS."""
        tokens = [[sorted(progress.next_tokens()) for progress in rows] for rows in self.progress]
        width = max(len(row) for rows in tokens for row in rows)
        padded = [[[*row, *[EOS] * (width - len(row))] for row in rows] for rows in tokens]
        return torch.tensor(padded, dtype=torch.long, device=device)


def allow_required(required: Sequence[Sequence[Phrase]], rule: Rule) -> Rule:
    """The rule, except that required phrases may begin and continue until they occur."""

    def relaxed(ids: Ids, scores: Scores, sentence: SentenceIndex) -> Scores:
        changed = rule(ids, scores, sentence).clone()
        hypotheses = zip(ids.tolist(), sentence.tolist(), strict=True)
        for row, (hypothesis, index) in enumerate(hypotheses):
            tokens = list(Progress.after(hypothesis, required[index]).next_tokens())
            changed[row, tokens] = scores[row, tokens]
        return changed

    return relaxed


def choose(extensions: Sequence[Extension], width: int) -> tuple[list[Extension], list[Extension]]:
    """The extensions that continue and that end, ranked among equally many missing tokens."""
    ranks: dict[int, list[Extension]] = {}
    for extension in sorted(extensions, key=lambda e: e.penalized, reverse=True):
        ranks.setdefault(extension.progress.missing, []).append(extension)
    continuing: list[Extension] = []
    ending: list[Extension] = []
    sizes = {missing: len(rank) for missing, rank in ranks.items()}
    for missing, slots in allocate(width, sizes).items():
        continuing += [extension for extension in ranks[missing] if extension.token != EOS][:slots]
        ending += [extension for extension in ranks[missing][:slots] if extension.token == EOS]
    return continuing, ending


def allocate(slots: int, sizes: Mapping[int, int]) -> dict[int, int]:
    """Allocate slots in rounds, the lowest key first, to every key that can still fill one."""
    allocated = dict.fromkeys(sorted(sizes), 0)
    while takers := [key for key, count in allocated.items() if count < sizes[key]][:slots]:
        for key in takers:
            allocated[key] += 1
        slots -= len(takers)
    return allocated


def _extensions_of(
    parent: int, before: Progress, tokens: Sequence[int], values: Sequence[Sequence[float]]
) -> list[Extension]:
    """The extensions of one hypothesis; it may end when no phrase is missing."""
    return [
        Extension(penalized, score, parent, token, before.append(token))
        for token, (penalized, score) in dict(zip(tokens, values, strict=True)).items()
        if penalized != -torch.inf and (token != EOS or not before.unmet)
    ]


def _stack(chosen: Sequence[Sequence[Extension]], width: int, device: torch.device) -> Candidates:
    """Extensions as rows of tensors, padded with empty slots."""
    rows = [[*extension, *[None] * (width - len(extension))] for extension in chosen]
    score = [[extension.score if extension else -torch.inf for extension in row] for row in rows]
    parent = [[extension.parent if extension else 0 for extension in row] for row in rows]
    token = [[extension.token if extension else EOS for extension in row] for row in rows]
    return Candidates(
        torch.tensor(score, dtype=torch.float32, device=device),
        torch.tensor(parent, device=device),
        torch.tensor(token, device=device),
    )
