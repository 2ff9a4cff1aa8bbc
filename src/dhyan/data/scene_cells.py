"""Scenes as grids of symbols, such as `red-circle`, that a model writes from a caption."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from dhyan.data.pairs import Pair
from dhyan.data.scenes import (
    COLOURS,
    DIRECTIONS,
    PLACES,
    RELATIONS,
    SHAPES,
    Scene,
    SceneObject,
    random_scene,
)

BLANK = "blank"
SIDE = 8  # cells

Statement = tuple[tuple[str, str], str, tuple[str, str]]
"""Colour and shape of an object, its relation, and colour and shape of the other."""


def scene_cells(scene: Scene, side: int = SIDE) -> list[str]:
    """The symbols of a grid of side × side cells, row by row; a large object has more cells."""
    cells = [BLANK] * (side * side)
    for scene_object in scene.objects:
        block = side // 4 if scene_object.size == "large" else side // 8
        left, top = (
            round((place + 0.5) * side / PLACES - side / 8) for place in scene_object.place
        )
        for row in range(top, top + block):
            for column in range(left, left + block):
                cells[row * side + column] = scene_object.symbol
    return cells


@dataclass(frozen=True)
class CellObject:
    """Cells that hang together and have one symbol: its colour and shape, and their centre."""

    colour: str
    shape: str
    centre: tuple[float, float]


def cell_objects(cells: Sequence[str]) -> list[CellObject]:
    """The objects of a square grid of symbols; the largest first."""
    side = round(len(cells) ** 0.5)
    unseen = {at for at, symbol in enumerate(cells[: side * side]) if "-" in symbol}
    groups = []
    while unseen:
        group, border = list[int](), [min(unseen)]
        unseen.discard(border[0])
        while border:
            at = border.pop()
            group.append(at)
            row, column = divmod(at, side)
            near = [(row, column - 1), (row, column + 1), (row - 1, column), (row + 1, column)]
            for next_row, next_column in near:
                other = next_row * side + next_column
                inside = 0 <= next_column < side and other in unseen
                if inside and cells[other] == cells[at]:
                    unseen.discard(other)
                    border.append(other)
        groups.append(group)
    groups.sort(key=lambda group: (-len(group), group))
    return [_cell_object(cells[group[0]], group, side) for group in groups]


def _cell_object(symbol: str, group: Sequence[int], side: int) -> CellObject:
    colour, _, shape = symbol.partition("-")
    rows, columns = zip(*(divmod(at, side) for at in group), strict=True)
    return CellObject(colour, shape, (sum(columns) / len(group), sum(rows) / len(group)))


def parse_caption(caption: str) -> list[Statement]:
    """What a caption of `Scene.caption` states, in English or in Hindi; nothing of another text."""
    separator = " और " if " है" in caption else " and "
    statements = (_parse_statement(part) for part in caption.split(separator))
    return [statement for statement in statements if statement]


def _parse_statement(text: str) -> Statement | None:
    padded = f" {text.strip()} "
    relation = next(
        (
            name
            for name, hindi in RELATIONS.items()
            if f" {name} " in padded or f" {hindi} " in padded
        ),
        "",
    )
    words = padded.split()
    colours = [COLOUR_WORDS[word] for word in words if word in COLOUR_WORDS]
    shapes = [SHAPE_WORDS[word] for word in words if word in SHAPE_WORDS]
    if not relation or len(colours) != 2 or len(shapes) != 2:
        return None
    return (colours[0], shapes[0]), relation, (colours[1], shapes[1])


def attribute_accuracy(cells: Sequence[str], caption: str) -> float:
    """The share of a caption's attributes that a grid has: colour and shape of each object, relations.

    An object of the caption is looked for among those of the grid: the same one, else one of the
    same shape, else of the same colour; each is taken once.
    """
    statements = parse_caption(caption)
    drawn, remaining = {}, cell_objects(cells)
    for match in (2, 1):
        for look in _looks(statements):
            if look not in drawn:
                found = _best(look, remaining, match)
                if found:
                    drawn[look] = found
                    remaining.remove(found)
    looks = _looks(statements)
    right = sum(_shared(look, drawn[look]) for look in looks if look in drawn)
    for first, relation, second in statements:
        if first in drawn and second in drawn:
            right += _holds(drawn[first], relation, drawn[second])
    attributes = 2 * len(looks) + len(statements)
    return right / attributes if attributes else 0.0


def _looks(statements: Sequence[Statement]) -> list[tuple[str, str]]:
    """Each object of the statements once."""
    return list(dict.fromkeys(look for first, _, second in statements for look in (first, second)))


def _shared(look: tuple[str, str], drawn: CellObject) -> int:
    """How many of colour and shape are the same."""
    return (look[0] == drawn.colour) + (look[1] == drawn.shape)


def _best(look: tuple[str, str], objects: Sequence[CellObject], least: int) -> CellObject | None:
    """The object that shares most, the shape before the colour; None if all share less."""
    ranked = sorted(
        objects, key=lambda drawn: (_shared(look, drawn), drawn.shape == look[1]), reverse=True
    )
    return ranked[0] if ranked and _shared(look, ranked[0]) >= least else None


def _holds(first: CellObject, relation: str, second: CellObject) -> bool:
    """Whether the first is farther in the direction of the relation than in any other."""
    x, y = (a - b for a, b in zip(first.centre, second.centre, strict=True))
    step_x, step_y = DIRECTIONS[relation]
    along, across = x * step_x + y * step_y, x * step_y + y * step_x
    return along > abs(across)


def scene_cell_pairs(
    *, seed: int, language: str = "en", side: int = SIDE, held_out: bool = False
) -> Iterator[Pair]:
    """Captions and the symbols of their grids, between spaces; endless.

    The same caption has the same grid: the second object stands in the middle.
    """
    rng = random.Random(seed)
    for line in count(1):
        scene = _centred(random_scene(rng, held_out=held_out))
        yield Pair(scene.caption(language), " ".join(scene_cells(scene, side)), line)


def _centred(scene: Scene) -> Scene:
    """The scene with its second object in the middle."""
    middle = (PLACES - 1) // 2
    x, y = (middle - place for place in scene.objects[1].place)

    def moved(scene_object: SceneObject) -> SceneObject:
        column, row = scene_object.place
        return replace(scene_object, place=(column + x, row + y))

    return replace(scene, objects=tuple(map(moved, scene.objects)))


COLOUR_WORDS = {colour: colour for colour in COLOURS} | {
    form: colour
    for colour, adjective in COLOURS.items()
    for form in (adjective.direct, adjective.oblique, adjective.feminine)
}
SHAPE_WORDS = {shape: shape for shape in SHAPES} | {
    form: shape for shape, noun in SHAPES.items() for form in (noun.direct, noun.oblique)
}
