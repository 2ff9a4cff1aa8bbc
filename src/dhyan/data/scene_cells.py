"""Scenes as small pictures of 15 × 15 cells, each a colour, that a model writes from a caption."""

import random
from collections import Counter
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
BLOCK = 5  # cells along a side of the place of an object
SIDE = PLACES * BLOCK
LEAST = 0.6  # of the cells of a shape and of those drawn, for the shape to be recognised

Statement = tuple[tuple[str, str], str, tuple[str, str]]
"""Colour and shape of an object, its relation, and colour and shape of the other."""

DRAWINGS = {
    ("circle", "large"): (".###.", "#####", "#####", "#####", ".###."),
    ("circle", "small"): (".....", "..#..", ".###.", "..#..", "....."),
    ("square", "large"): ("#####", "#####", "#####", "#####", "#####"),
    ("square", "small"): (".....", ".###.", ".###.", ".###.", "....."),
    ("triangle", "large"): ("..#..", "..#..", ".###.", ".###.", "#####"),
    ("triangle", "small"): (".....", ".....", "..#..", ".###.", "....."),
    ("star", "large"): ("..#..", "#####", ".###.", ".#.#.", "#...#"),
    ("star", "small"): (".....", ".#.#.", "..#..", ".#.#.", "....."),
    ("bar", "large"): (".....", ".....", "#####", ".....", "....."),
    ("bar", "small"): (".....", ".....", ".###.", ".....", "....."),
}
SHAPE_CELLS = {
    look: frozenset(at for at, cell in enumerate("".join(rows)) if cell == "#")
    for look, rows in DRAWINGS.items()
}


def scene_cells(scene: Scene) -> list[str]:
    """The colour of each cell, row by row; `blank` where nothing is drawn."""
    cells = [BLANK] * (SIDE * SIDE)
    for scene_object in scene.objects:
        places = _block(*scene_object.place)
        for at in SHAPE_CELLS[scene_object.shape, scene_object.size]:
            cells[places[at]] = scene_object.colour
    return cells


def _block(column: int, row: int) -> list[int]:
    """The cells of a place, row by row."""
    return [
        (row * BLOCK + y) * SIDE + column * BLOCK + x for y in range(BLOCK) for x in range(BLOCK)
    ]


@dataclass(frozen=True)
class CellObject:
    """What is drawn in a place: its colour, its shape if it is recognised, and its place."""

    colour: str
    shape: str
    place: tuple[int, int]


def cell_objects(cells: Sequence[str]) -> list[CellObject]:
    """The objects of a grid of cells, at most one in a place, in its most frequent colour."""
    if len(cells) != SIDE * SIDE:
        return []
    objects = []
    for row in range(PLACES):
        for column in range(PLACES):
            drawn = {at: cells[cell] for at, cell in enumerate(_block(column, row))}
            drawn = {at: colour for at, colour in drawn.items() if colour != BLANK}
            if drawn:
                [(colour, _)] = Counter(drawn.values()).most_common(1)
                objects.append(CellObject(colour, _shape(frozenset(drawn)), (column, row)))
    return objects


def _shape(drawn: frozenset[int]) -> str:
    """The shape that shares the largest part of the cells; none if it shares too little."""
    shares = {look: len(drawn & own) / len(drawn | own) for look, own in SHAPE_CELLS.items()}
    look = max(shares, key=lambda look: shares[look])
    return look[0] if shares[look] >= LEAST else ""


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
    x, y = (a - b for a, b in zip(first.place, second.place, strict=True))
    step_x, step_y = DIRECTIONS[relation]
    along, across = x * step_x + y * step_y, x * step_y + y * step_x
    return along > abs(across)


def scene_cell_pairs(*, seed: int, language: str = "en", held_out: bool = False) -> Iterator[Pair]:
    """Captions and the cells of their pictures, between spaces; endless.

    The same caption has the same grid: the second object stands in the middle.
    """
    rng = random.Random(seed)
    for line in count(1):
        scene = _centred(random_scene(rng, held_out=held_out))
        yield Pair(scene.caption(language), " ".join(scene_cells(scene)), line)


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
