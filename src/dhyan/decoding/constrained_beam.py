"""Translations that must contain given phrases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dhyan.decoding.beam import Beam, Hypothesis, Options
from dhyan.decoding.rules import Phrase, Rule, Said, Scores, Sentence
from dhyan.special_tokens import EOS


@dataclass(frozen=True)
class Progress:
    """What a beginning has said, and the phrases it has yet to say."""

    unmet: tuple[Phrase, ...]
    said: tuple[int, ...] = ()

    @classmethod
    def after(cls, ids: Sequence[int], phrases: Sequence[Phrase]) -> "Progress":
        """Of a beginning that is read all at once."""
        said = tuple(ids)
        return cls(tuple(one for one in phrases if not within(said, one)), said)

    def say(self, word: int) -> "Progress":
        """One word later."""
        said = (*self.said, word)
        unmet = tuple(phrase for phrase in self.unmet if said[-len(phrase) :] != phrase)
        return Progress(unmet, said)

    @property
    def left(self) -> int:
        """How many tokens are wanting, if the phrase it is in the middle of goes on."""
        begun = max((self._begun(phrase)[-1] for phrase in self.unmet), default=0)
        return sum(map(len, self.unmet)) - begun

    def wanted(self) -> set[int]:
        """The words that begin a phrase, or go on with one."""
        return {phrase[size] for phrase in self.unmet for size in self._begun(phrase)}

    def _begun(self, phrase: Phrase) -> list[int]:
        """All sizes, 0 first, of a beginning of the phrase that stands at the end."""
        sizes = range(min(len(phrase), len(self.said) + 1))
        return [k for k in sizes if self.said[len(self.said) - k :] == phrase[:k]]


@dataclass(frozen=True)
class Step:
    """A way to go on: its worth in the choice, its score, the beginning and the word."""

    worth: float
    score: float
    parent: int
    word: int
    progress: Progress


@dataclass(frozen=True)
class TermBeam:
    """A beam whose places are shared out by how much of the phrases is said.

    Beginnings with as many tokens left to say are compared with each other alone, as in grid beam
    search (Hokamp and Liu, 2017); all together they have one beam's places, as in dynamic beam
    allocation (Post and Vilar, 2018). Where nothing is left to say it is the usual beam. A phrase
    counts wherever it stands whole, over the tokens of another one too.
    """

    beam: Beam
    progress: tuple[tuple[Progress, ...], ...]

    @classmethod
    def start(cls, beam: Beam, required: Sequence[Sequence[Sequence[int]]]) -> "TermBeam":
        """A beam that has said nothing, with the phrases of each of its sentences."""
        if len(required) != len(beam.said):
            raise ValueError(f"phrases of {len(required)} sentences for a beam of {len(beam.said)}")
        none = [Progress(tuple(tuple(phrase) for phrase in own if phrase)) for own in required]
        return cls(beam, tuple((progress,) * beam.said.shape[1] for progress in none))

    @property
    def said(self) -> Int[Tensor, "N W T"]:
        """What the beginnings have said."""
        return self.beam.said

    @property
    def score(self) -> Float[Tensor, "N W"]:
        """What the beginnings have scored."""
        return self.beam.score

    def extend(
        self, scores: Float[Tensor, "N W V"], cost: Float[Tensor, "N V"] | None = None
    ) -> tuple["TermBeam", Int[Tensor, "N W"]]:
        """Every share of the beam is extended as a beam of its own."""
        width, device = scores.shape[1], scores.device
        chosen = [share(steps, width) for steps in self._steps(scores, cost)]
        going = _stack([going for going, _ in chosen], width, device)
        ending = _stack([ending for _, ending in chosen], width, device)
        progress = tuple(
            tuple(step.progress for step in steps) + before[: width - len(steps)]
            for (steps, _), before in zip(chosen, self.progress, strict=True)
        )
        return TermBeam(self.beam.grow(going, ending), progress), going.parent

    def done(self) -> Bool[Tensor, " N"]:
        """Whether nothing that is going beats what has ended."""
        return self.beam.done()

    def select(self, rows: Int[Tensor, " R"]) -> "TermBeam":
        """The beams of other sentences."""
        return TermBeam(self.beam.select(rows), tuple(self.progress[row] for row in rows.tolist()))

    def ranked(self, place: int) -> list[Hypothesis]:
        """One sentence's hypotheses; what was cut off comes last, with least left to say first."""
        return self.beam.ranked(place)

    def _steps(
        self, scores: Float[Tensor, "N W V"], cost: Float[Tensor, "N V"] | None
    ) -> list[list[Step]]:
        """Of each beginning: every wanted word, and as many others as the beam could take."""
        total = self.score.unsqueeze(-1) + scores
        worth = total if cost is None else total - cost.unsqueeze(1)
        wanted = self._wanted(scores.device)
        enough = min(scores.shape[1] + 1 + wanted.shape[2], scores.shape[2])
        words = torch.cat([wanted, worth.topk(enough, dim=2).indices], dim=2)
        values = torch.stack([worth.gather(2, words), total.gather(2, words)], dim=-1)
        return [
            [step for row, told in enumerate(zip(*rows, strict=True)) for step in _ways(row, *told)]
            for rows in zip(self.progress, words.tolist(), values.tolist(), strict=True)
        ]

    def _wanted(self, device: torch.device) -> Int[Tensor, "N W A"]:
        """The wanted words of every beginning, filled up with EOS."""
        words = [[sorted(row.wanted()) for row in rows] for rows in self.progress]
        most = max(len(row) for rows in words for row in rows)
        filled = [[[*row, *[EOS] * (most - len(row))] for row in rows] for rows in words]
        return torch.tensor(filled, dtype=torch.long, device=device)


def within(said: Phrase, part: Phrase) -> bool:
    """Whether one stands whole in the other."""
    return any(said[at : at + len(part)] == part for at in range(len(said) - len(part) + 1))


def sparing(required: Sequence[Sequence[Phrase]], rule: Rule) -> Rule:
    """A rule that lets the phrases of a sentence be begun and gone on with, until they are said."""

    def spared(said: Said, scores: Scores, sentence: Sentence) -> Scores:
        left = rule(said, scores, sentence).clone()
        for row, (ids, which) in enumerate(zip(said.tolist(), sentence.tolist(), strict=True)):
            words = list(Progress.after(ids, required[which]).wanted())
            left[row, words] = scores[row, words]
        return left

    return spared


def share(steps: Sequence[Step], width: int) -> tuple[list[Step], list[Step]]:
    """What goes on and what ends when steps are ranked among those with as much left to say."""
    ranks: dict[int, list[Step]] = {}
    for step in sorted(steps, key=lambda step: step.worth, reverse=True):
        ranks.setdefault(step.progress.left, []).append(step)
    going: list[Step] = []
    ending: list[Step] = []
    for left, places in deal(width, {left: len(rank) for left, rank in ranks.items()}).items():
        going += [step for step in ranks[left] if step.word != EOS][:places]
        ending += [step for step in ranks[left][:places] if step.word == EOS]
    return going, ending


def deal(places: int, sizes: Mapping[int, int]) -> dict[int, int]:
    """Places dealt out one at a time, the lowest key first, to all that can still fill one."""
    dealt = dict.fromkeys(sorted(sizes), 0)
    while takers := [key for key, held in dealt.items() if held < sizes[key]][:places]:
        for key in takers:
            dealt[key] += 1
        places -= len(takers)
    return dealt


def _ways(
    parent: int, before: Progress, words: Sequence[int], values: Sequence[Sequence[float]]
) -> list[Step]:
    """All that one beginning can say next; it may end when no phrase is left."""
    return [
        Step(worth, score, parent, word, before.say(word))
        for word, (worth, score) in dict(zip(words, values, strict=True)).items()
        if worth != -torch.inf and (word != EOS or not before.unmet)
    ]


def _stack(chosen: Sequence[Sequence[Step]], width: int, device: torch.device) -> Options:
    """Steps as rows of a tensor; places without one are at −∞."""
    rows = [[*own, *[None] * (width - len(own))] for own in chosen]
    score = [[step.score if step else -torch.inf for step in row] for row in rows]
    parent = [[step.parent if step else 0 for step in row] for row in rows]
    word = [[step.word if step else EOS for step in row] for row in rows]
    return Options(
        torch.tensor(score, dtype=torch.float32, device=device),
        torch.tensor(parent, device=device),
        torch.tensor(word, device=device),
    )
