"""How encoders of different tasks see the same sentences: what can be read, who is near, where."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int
from torch import Tensor
from torch.nn.functional import normalize

from dhyan.data.primer import Twin, primer_twins
from dhyan.decoding.translator import Translator
from dhyan.lessons.self_attention.encoded import sentence_vectors
from dhyan.lessons.self_attention.probing import Probed, logistic, plane
from dhyan.lessons.self_attention.sentiment import sentiment_of
from dhyan.lessons.self_attention.two_tasks import CORE, KINDS, LONGEST, SHORTEST, TwoTasks
from dhyan.lessons.sequences.facts import tense_of
from dhyan.lessons.trained_model import knows_every_word
from dhyan.models.transformer import TransformerEncoder

SEED, EACH, DRAWN = 7, 150, 150  # sentences of a kind for probes, and all in the plane
NEAREST, SHARED = 3, 10  # neighbours told, and compared
FEMININE, MASCULINE = ("ी", "ीं", "ई", "ईं"), ("ा", "े", "ए")
AUXILIARIES = frozenset(("है", "हैं", "हूँ", "हो"))


@dataclass(frozen=True)
class Near:
    """A sentence nearby, how near by the cosine, and whether it speaks well or ill."""

    sentence: str
    cosine: float
    kind: int


@dataclass(frozen=True)
class View:
    """How one encoder sees the sentences: what a probe reads, who is near, where they lie."""

    task: str
    probed: tuple[Probed, ...]
    near: tuple[Near, ...]
    places: Float64[Tensor, "N 2"]
    explained: Float64[Tensor, " 2"]


def views_of(
    both: TwoTasks, fit: Sequence[Twin], test: Sequence[Twin], sentence: str
) -> tuple[tuple[View, ...], list[Float64[Tensor, "N D"]]]:
    """Every encoder's view, and its vectors of the test."""
    answers = answers_of(fit), answers_of(test)
    known_texts, texts = ([one.english for one in part] for part in (fit, test))
    views, spaces = [], []
    for task, encoder in both.encoders.items():
        x, y, own = (vectors(both, encoder, part) for part in (known_texts, texts, [sentence]))
        spaces.append(y)
        probed = tuple(
            logistic((x[a >= 0], a[a >= 0]), (y[b >= 0], b[b >= 0]))
            for a, b in zip(*answers, strict=True)
        )
        near = tuple(
            Near(texts[place], cosine, int(answers[1][0][place]))
            for cosine, place in _nearest(y, own[0], texts, sentence)
        )
        views.append(View(task, probed, near, *plane(y[:DRAWN])))
    return tuple(views), spaces


def vectors(
    both: TwoTasks, encoder: TransformerEncoder, texts: Sequence[str]
) -> Float64[Tensor, "N D"]:
    """The vectors of sentences."""
    read = [both.translator.encode(text) for text in texts]
    return sentence_vectors(encoder, read, both.translator.device)


def balanced(translator: Translator, split: str) -> list[Twin]:
    """New sentences, as many of each kind, in turn; each ends in a full stop or question mark."""
    made = primer_twins(split, seed=SEED, shortest=SHORTEST, longest=LONGEST, core=CORE)
    found: list[dict[str, Twin]] = [{} for _ in range(KINDS)]
    for twin in made:
        kind = found[sentiment_of(twin)]
        if (
            len(kind) < EACH
            and twin.english[-1] in ".?"
            and knows_every_word(translator, twin.english)
        ):
            kind[twin.english] = twin
        if all(len(one) == EACH for one in found):
            break
    return [one for turn in zip(*(one.values() for one in found), strict=True) for one in turn]


def answers_of(twins: Sequence[Twin]) -> list[Int[Tensor, " N"]]:
    """Sentiment, tense and the verb's gender of every sentence; −1 where it does not show."""
    facts: tuple[Callable[[Twin], int | None], ...] = (
        sentiment_of,
        lambda twin: tense_of(twin.hindi),
        lambda twin: gender_of(twin.hindi),
    )
    rows = [[fact(one) for one in twins] for fact in facts]
    return [torch.tensor([-1 if one is None else one for one in row]) for row in rows]


def gender_of(hindi: str) -> int | None:
    """Whether the last verb form is feminine (1) or masculine (0); none where it does not show."""
    words = [one for one in hindi.rstrip('।?! "').split() if one not in AUXILIARIES]
    if not words:
        return None
    if words[-1].endswith(FEMININE):
        return 1
    return 0 if words[-1].endswith(MASCULINE) else None


def commonest(fit: Int[Tensor, " N"], test: Int[Tensor, " M"]) -> float:
    """The share of a test that is right by always giving the commonest answer."""
    return float((test[test >= 0] == fit[fit >= 0].mode().values).double().mean())


def every(measure: Callable[[Tensor, Tensor], float], spaces: Sequence[Tensor]) -> Tensor:
    """A measure of every two."""
    return torch.tensor([[measure(a, b) for b in spaces] for a in spaces], dtype=torch.float64)


def share_of_nearest(one: Float64[Tensor, "N D"], other: Float64[Tensor, "N E"]) -> float:
    """The share of each sentence's nearest that two spaces have in common, on average."""
    first, second = (_neighbours(space) for space in (one, other))
    return float((first.unsqueeze(2) == second.unsqueeze(1)).any(-1).double().mean())


def _neighbours(space: Float64[Tensor, "N D"]) -> Int[Tensor, "N K"]:
    centred = normalize(space - space.mean(0), dim=1)
    cosines = (centred @ centred.T).fill_diagonal_(-2)
    return cosines.topk(min(SHARED, len(space) - 1), dim=1).indices


def _nearest(
    space: Float64[Tensor, "N D"], own: Float64[Tensor, " D"], texts: Sequence[str], said: str
) -> list[tuple[float, int]]:
    """The nearest other sentences, by the cosine of what is not common to all."""
    middle = space.mean(0)
    cosines = normalize(space - middle, dim=1) @ normalize(own - middle, dim=0)
    order = cosines.argsort(descending=True).tolist()
    others = [place for place in order if texts[place] != said]
    return [(float(cosines[place]), place) for place in others[:NEAREST]]
