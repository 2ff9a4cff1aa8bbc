"""A task for one attention: fetch the word before. One vector in three roles, or three vectors?"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from dhyan.attention import attend

LETTERS, PLACES, NARROW = 8, 6, 12
BATCH, RATE, UNSEEN = 64, 0.03, 512

Projected = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Fetched:
    """How one way of sharing the roles learned: parameters, loss and share right on unseen rows."""

    kind: str
    parameters: int
    loss: float
    share: float


class OneVector(nn.Module):
    """x as it is in all three roles, or one x W in all three."""

    def __init__(self, width: int, into: int | None) -> None:
        super().__init__()
        self.map = nn.Identity() if into is None else nn.Linear(width, into, bias=False)
        self.read = nn.Linear(into or width, LETTERS)

    def forward(self, x: Float[Tensor, "B T D"]) -> Projected:
        """The same vector three times."""
        one = self.map(x)
        return one, one, one


class ThreeVectors(nn.Module):
    """q = x W_q, k = x W_k, v = x W_v."""

    def __init__(self, width: int, into: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, into, bias=False) for _ in range(3))
        self.read = nn.Linear(into, LETTERS)

    def forward(self, x: Float[Tensor, "B T D"]) -> Projected:
        """Three vectors of each."""
        return self.query(x), self.key(x), self.value(x)


def fetch(*, steps: int, seed: int) -> tuple[Fetched, ...]:
    """Train all three ways on the same rows; the one matrix is as wide as the three together.

    A word is a letter and its place, both one-hot; asked for is the letter before it, the last one
    for the first.
    """
    width = LETTERS + PLACES
    makers: dict[str, Callable[[], nn.Module]] = {
        "q = k = v = x": lambda: OneVector(width, None),
        "q = k = v = x W": lambda: OneVector(width, 3 * NARROW),
        "x W_q, x W_k, x W_v": lambda: ThreeVectors(width, NARROW),
    }
    return tuple(_trained(kind, make, steps, seed) for kind, make in makers.items())


def _trained(kind: str, make: Callable[[], nn.Module], steps: int, seed: int) -> Fetched:
    chance = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(steps):
        letters = _rows(BATCH, chance)
        loss = _loss(_answers(model, letters), letters)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    unseen = _rows(UNSEEN, torch.Generator().manual_seed(seed + 1))
    with torch.no_grad():
        answers = _answers(model, unseen)
    right = answers.argmax(-1) == unseen.roll(1, dims=1)
    count = sum(weight.numel() for weight in model.parameters())
    return Fetched(kind, count, float(_loss(answers, unseen)), float(right.double().mean()))


def _rows(count: int, chance: torch.Generator) -> Int[Tensor, "B T"]:
    return torch.randint(LETTERS, (count, PLACES), generator=chance)


def _answers(model: nn.Module, letters: Int[Tensor, "B T"]) -> Float[Tensor, "B T L"]:
    places = torch.eye(PLACES).expand(len(letters), -1, -1)
    x = torch.cat([functional.one_hot(letters, LETTERS).float(), places], dim=-1)
    query, key, value = model(x)
    read: Tensor = model.get_submodule("read")(attend(query, key, value).context)
    return read


def _loss(answers: Float[Tensor, "B T L"], letters: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    return functional.cross_entropy(answers.flatten(0, 1), letters.roll(1, dims=1).flatten())
