"""Query, key and value: attention as a soft dictionary lookup, and learned projections."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor, nn
from torch.nn import functional

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix, parse_vector
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson, parse_int

SYMBOLS, POSITIONS, NARROW = 8, 6, 12
BATCH, RATE, UNSEEN = 64, 0.03, 512

Projected = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class RetrievalRun:
    """A trained model: its projections, parameters, and loss and accuracy on unseen rows."""

    projections: str
    parameters: int
    loss: float
    share: float


class SharedProjection(nn.Module):
    """Query, key and value are all x, or all x W."""

    def __init__(self, width: int, into: int | None) -> None:
        super().__init__()
        self.map = nn.Identity() if into is None else nn.Linear(width, into, bias=False)
        self.read = nn.Linear(into or width, SYMBOLS)

    def forward(self, x: Float[Tensor, "B T D"]) -> Projected:
        """The same vector three times."""
        projected = self.map(x)
        return projected, projected, projected


class SeparateProjections(nn.Module):
    """q = x W_q, k = x W_k, v = x W_v."""

    def __init__(self, width: int, into: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, into, bias=False) for _ in range(3))
        self.read = nn.Linear(into, SYMBOLS)

    def forward(self, x: Float[Tensor, "B T D"]) -> Projected:
        """Three vectors of each."""
        return self.query(x), self.key(x), self.value(x)


def train_retrieval(*, steps: int, seed: int) -> tuple[RetrievalRun, ...]:
    """Train the three kinds of projections; the shared one is as wide as the three together.

    An input is a symbol and its position, both one-hot; the target is the symbol before it, for the
    first the last one.
    """
    width = SYMBOLS + POSITIONS
    makers: dict[str, Callable[[], nn.Module]] = {
        "q = k = v = x": lambda: SharedProjection(width, None),
        "q = k = v = x W": lambda: SharedProjection(width, 3 * NARROW),
        "x W_q, x W_k, x W_v": lambda: SeparateProjections(width, NARROW),
    }
    return tuple(
        _train_projections(projections, make, steps, seed) for projections, make in makers.items()
    )


def _train_projections(
    projections: str, make: Callable[[], nn.Module], steps: int, seed: int
) -> RetrievalRun:
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(steps):
        symbols = _rows(BATCH, generator)
        loss = _loss(_logits(model, symbols), symbols)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    unseen = _rows(UNSEEN, torch.Generator().manual_seed(seed + 1))
    with torch.no_grad():
        logits = _logits(model, unseen)
    right = logits.argmax(-1) == unseen.roll(1, dims=1)
    count = sum(weight.numel() for weight in model.parameters())
    return RetrievalRun(
        projections, count, float(_loss(logits, unseen)), float(right.double().mean())
    )


def _rows(count: int, generator: torch.Generator) -> Int[Tensor, "B T"]:
    return torch.randint(SYMBOLS, (count, POSITIONS), generator=generator)


def _logits(model: nn.Module, symbols: Int[Tensor, "B T"]) -> Float[Tensor, "B T L"]:
    one_hot_positions = torch.eye(POSITIONS).expand(len(symbols), -1, -1)
    x = torch.cat([functional.one_hot(symbols, SYMBOLS).float(), one_hot_positions], dim=-1)
    query, key, value = model(x)
    logits: Tensor = model.get_submodule("read")(attend(query, key, value).context)
    return logits


def _loss(logits: Float[Tensor, "B T L"], symbols: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    return functional.cross_entropy(logits.flatten(0, 1), symbols.roll(1, dims=1).flatten())


DICTIONARY: Mapping[str, float | int] = {"a": 2, "b": 3, "c": 4}
SHARPNESS = (1, 2, 5, 10, 20)
VECTOR = (9, 3)
W_QUERY, W_KEY, W_VALUE = ((2, 1), (1, 2)), ((3, 4), (5, 1)), ((4, 1), (2, 1))
VECTOR_NAMES = ("x", "2 x", "x W_q", "x W_k", "x W_v")


@dataclass(frozen=True)
class QueryKeyValue(LessonResult):
    """Soft dictionary lookups by sharpness, projections of a vector, and the retrieval runs."""

    keys: tuple[str, ...]
    values: Float64[Tensor, " N"]
    query: str
    sharpness: tuple[float, ...]
    weights: Float64[Tensor, "M N"]
    answers: Float64[Tensor, " M"]
    transformed: Float64[Tensor, "5 D"]
    lengths: Float64[Tensor, " 5"]
    degrees: Float64[Tensor, " 5"]
    retrieval: tuple[RetrievalRun, ...]

    def blocks(self, text: Text) -> Iterator[Block]:
        """The lookups, the projections, the retrieval runs."""
        key, last = self.query, float(self.answers[-1])
        sharp = [f"{level:g}" for level in self.sharpness]
        yield text.paragraph(
            "soft_lookup", key=key, value=self._exact_value(), last=last, sharpest=sharp[-1]
        )
        yield heatmap(
            text("weights_by_scale"), self.weights, sharp, self.keys, digits=4, operator="→"
        )
        yield table(f"d[{key}]", self.answers.unsqueeze(1), digits=4)
        yield Paragraph(self._describe_directions(text))
        yield table(text("vectors"), self.transformed, VECTOR_NAMES, operator="→")
        yield table(text("length"), self.lengths.unsqueeze(1))
        yield table(text("degrees_from_x"), self.degrees.unsqueeze(1))
        yield from self._learned(text)

    def _learned(self, text: Text) -> Iterator[Block]:
        if not self.retrieval:
            return
        names = [run.projections for run in self.retrieval]
        right = [[100 * run.share] for run in self.retrieval]
        yield Paragraph(self._separated(text))
        yield table(text("accuracy_percent"), right, names, digits=1)
        yield table(text("loss"), [[run.loss] for run in self.retrieval], digits=3)

    def _exact_value(self) -> float:
        return float(self.values[self.keys.index(self.query)])

    def _describe_directions(self, text: Text) -> str:
        turning = [
            name for name, degree in zip(VECTOR_NAMES, self.degrees, strict=True) if degree > 1e-4
        ]
        if turning:
            names = ", ".join(turning)
            return text("projections", names=names)
        return text("projections_keep_direction")

    def _separated(self, text: Text) -> str:
        *shared, three = self.retrieval
        best = max(shared, key=lambda run: run.share)
        comparison = text(
            "separate_projections",
            parameters=three.parameters,
            share=three.share,
            best_parameters=best.parameters,
            best_share=best.share,
        )
        why = text("symmetric_scores") if three.share > best.share + 0.02 else text("no_difference")
        return comparison + why


@lesson
def query_key_value(
    dictionary: Mapping[str, float | int] = DICTIONARY,
    *,
    query: str = "a",
    sharpness: Sequence[float | int] = SHARPNESS,
    vector: Sequence[float | int] = VECTOR,
    w_query: Matrix = W_QUERY,
    w_key: Matrix = W_KEY,
    w_value: Matrix = W_VALUE,
    steps: int = 300,
    seed: int = 1,
) -> QueryKeyValue:
    """Look up a dictionary softly, project a vector, and train three kinds of projections.

    Training takes about two seconds; with `steps` 0 it is left out.
    """
    keys, values = _entries(dictionary)
    if query not in keys:
        raise UserError(
            f"query: {query!r} is not a key of the dictionary; the keys are {', '.join(keys)}"
        )
    sharp = parse_vector("sharpness", sharpness)
    steps, seed = parse_int("steps", steps, least=0), parse_int("seed", seed, least=0)
    one_hot_keys = torch.eye(len(keys), dtype=torch.float64)
    queries = sharp.unsqueeze(1) * one_hot_keys[keys.index(query)]
    answers, weights = attend(queries, one_hot_keys, values.unsqueeze(1), score="dot")
    transformed = _transform(vector, {"w_query": w_query, "w_key": w_key, "w_value": w_value})
    lengths = transformed.norm(dim=1)
    if lengths.min() == 0:
        raise UserError("vector: it, or what a matrix makes of it, is 0 and has no direction")
    cosines = (transformed @ transformed[0]) / (lengths * lengths[0])
    return QueryKeyValue(
        keys=keys,
        values=values,
        query=query,
        sharpness=tuple(sharp.tolist()),
        weights=weights,
        answers=answers.squeeze(1),
        transformed=transformed,
        lengths=lengths,
        degrees=cosines.clamp(-1, 1).acos().rad2deg(),
        retrieval=train_retrieval(steps=steps, seed=seed) if steps else (),
    )


def _entries(dictionary: Mapping[str, float | int]) -> tuple[tuple[str, ...], Tensor]:
    if not isinstance(dictionary, Mapping) or not dictionary:
        raise UserError('dictionary: give keys with numbers, such as {"a": 2, "b": 3}')
    rows = parse_matrix("dictionary", [[value] for value in dictionary.values()])
    return tuple(map(str, dictionary)), rows.squeeze(1)


def _transform(vector: Sequence[float | int], maps: Mapping[str, Matrix]) -> Float64[Tensor, "5 D"]:
    x = parse_vector("vector", vector).unsqueeze(0)
    width = x.shape[1]
    products = [
        x @ parse_matrix(name, matrix, rows=width, columns=width, of="the numbers of the vector")
        for name, matrix in maps.items()
    ]
    return torch.cat([x, 2 * x, *products])
