"""Scenes of two or three shapes with a relation between them, as pictures and as captions.

Captions are in English ("a red circle is left of a blue square") and in Hindi ("लाल वृत्त नीले वर्ग के
बाईं ओर है"), where adjectives agree with the noun and stand in the oblique case before a postposition.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from math import cos, pi, sin
from typing import TYPE_CHECKING

from dhyan.data.pairs import Pair
from dhyan.errors import UserError
from dhyan.text.image_frames import Box, data_uri

if TYPE_CHECKING:
    import PIL.Image
    import PIL.ImageDraw


@dataclass(frozen=True)
class Noun:
    """A Hindi noun: direct form, oblique form, and its gender."""

    direct: str
    oblique: str
    feminine: bool = False


@dataclass(frozen=True)
class Adjective:
    """A Hindi adjective: masculine direct, masculine oblique, feminine."""

    direct: str
    oblique: str
    feminine: str

    def form(self, noun: Noun, *, oblique: bool) -> str:
        """The form that agrees with a noun."""
        if noun.feminine:
            return self.feminine
        return self.oblique if oblique else self.direct


def _inflected(stem: str) -> Adjective:
    return Adjective(f"{stem}ा", f"{stem}े", f"{stem}ी")


def _invariable(word: str) -> Adjective:
    return Adjective(word, word, word)


SHAPES = {
    "circle": Noun("वृत्त", "वृत्त"),
    "square": Noun("वर्ग", "वर्ग"),
    "triangle": Noun("त्रिभुज", "त्रिभुज"),
    "star": Noun("तारा", "तारे"),
    "bar": Noun("पट्टी", "पट्टी", feminine=True),
}
COLOURS = {
    "red": _invariable("लाल"),
    "blue": _inflected("नील"),
    "green": _inflected("हर"),
    "yellow": _inflected("पील"),
    "black": _inflected("काल"),
    "orange": _invariable("नारंगी"),
}
RGB = {
    "red": (214, 40, 40),
    "blue": (38, 84, 200),
    "green": (30, 140, 60),
    "yellow": (240, 200, 0),
    "black": (25, 25, 25),
    "orange": (245, 130, 20),
}
SIZES = {"large": _inflected("बड़"), "small": _inflected("छोट")}
RELATIONS = {"left of": "के बाईं ओर", "right of": "के दाईं ओर", "above": "के ऊपर", "below": "के नीचे"}
DIRECTIONS = {"left of": (-1, 0), "right of": (1, 0), "above": (0, -1), "below": (0, 1)}
HELD_OUT = frozenset(
    (("red", "bar"), ("blue", "triangle"), ("green", "star"), ("yellow", "circle"))
)  # colours and shapes that never occur together in training; each word form of theirs does
PLACES = 3  # rows and columns that shapes stand in
RADIUS = {"large": 0.15, "small": 0.09}  # of the side of the picture
JITTER = 0.015
DRAWN_LARGER = 4  # a picture is drawn so many times as large, then scaled down


@dataclass(frozen=True)
class SceneObject:
    """A shape, its colour and size, and its place: column and row of a 3 × 3 grid."""

    shape: str
    colour: str
    size: str
    place: tuple[int, int]
    jitter: tuple[float, float] = (0.0, 0.0)

    @property
    def symbol(self) -> str:
        """Colour and shape as one symbol, such as `red-circle`."""
        return f"{self.colour}-{self.shape}"

    @property
    def centre(self) -> tuple[float, float]:
        """Its centre, as shares of the picture's sides."""
        (column, row), (x, y) = self.place, self.jitter
        return (column + 0.5) / PLACES + x, (row + 0.5) / PLACES + y

    def box(self, side: int) -> Box:
        """Its box in a square picture of `side` pixels."""
        (x, y), radius = self.centre, RADIUS[self.size]
        height = radius / 2.5 if self.shape == "bar" else radius
        return (x - radius) * side, (y - height) * side, (x + radius) * side, (y + height) * side

    def english(self) -> str:
        """Such as "large red circle"."""
        return f"{self.size} {self.colour} {self.shape}"

    def hindi(self, *, oblique: bool) -> str:
        """Such as "बड़े नीले वर्ग" in the oblique case."""
        noun = SHAPES[self.shape]
        words = [
            adjective.form(noun, oblique=oblique)
            for adjective in (SIZES[self.size], COLOURS[self.colour])
        ]
        return " ".join([*words, noun.oblique if oblique else noun.direct])


@dataclass(frozen=True)
class Scene:
    """Objects, of which each but the second stands in a relation to the second."""

    objects: tuple[SceneObject, ...]
    relations: tuple[str, ...]

    def statements(self) -> Iterator[tuple[SceneObject, str, SceneObject]]:
        """Each object, its relation, and the object it refers to."""
        first, anchor, *others = self.objects
        for scene_object, relation in zip((first, *others), self.relations, strict=True):
            yield scene_object, relation, anchor

    def caption(self, language: str) -> str:
        """The statements about it in English (`en`) or Hindi (`hi`)."""
        if language == "en":
            return self._english()
        if language == "hi":
            return " और ".join(
                f"{one.hindi(oblique=False)} {anchor.hindi(oblique=True)} {RELATIONS[relation]} है"
                for one, relation, anchor in self.statements()
            )
        raise UserError(f"data.target_language: scenes have captions in en and hi, not {language}")

    def _english(self) -> str:
        parts = []
        for number, (scene_object, relation, anchor) in enumerate(self.statements()):
            article = "the" if number else "a"
            parts.append(f"a {scene_object.english()} is {relation} {article} {anchor.english()}")
        return " and ".join(parts)

    def draw(self, side: int = 64) -> "PIL.Image.Image":
        """A square picture of `side` pixels."""
        from PIL import Image, ImageDraw

        large = side * DRAWN_LARGER
        image = Image.new("RGB", (large, large), "white")
        draw = ImageDraw.Draw(image)
        for scene_object in self.objects:
            _draw_shape(draw, scene_object, large)
        return image.resize((side, side), Image.Resampling.BOX)

    def boxes(self, side: int = 64) -> list[tuple[str, Box]]:
        """The symbol of each object with its box."""
        return [(scene_object.symbol, scene_object.box(side)) for scene_object in self.objects]


def _draw_shape(draw: "PIL.ImageDraw.ImageDraw", scene_object: SceneObject, side: int) -> None:
    left, top, right, bottom = box = scene_object.box(side)
    fill = RGB[scene_object.colour]
    x, y, radius = (left + right) / 2, (top + bottom) / 2, (right - left) / 2
    match scene_object.shape:
        case "circle":
            draw.ellipse(box, fill=fill)
        case "square" | "bar":
            draw.rectangle(box, fill=fill)
        case "triangle":
            draw.polygon([(x, top), (right, bottom), (left, bottom)], fill=fill)
        case "star":
            angles = [pi * (corner / 5 - 0.5) for corner in range(10)]
            lengths = [radius * (0.42 if corner % 2 else 1.0) for corner in range(10)]
            corners = zip(angles, lengths, strict=True)
            draw.polygon([(x + r * cos(angle), y + r * sin(angle)) for angle, r in corners], fill)


def random_scene(rng: random.Random, *, held_out: bool = False) -> Scene:
    """Two or three different objects; with `held_out` one at least is of `HELD_OUT`, else none.

    The first and the last are in alphabetical order, so a picture has one caption.
    """
    relations = rng.sample(sorted(RELATIONS), rng.choice((1, 2)))
    combinations = sorted(
        (colour, shape) for colour in COLOURS for shape in SHAPES if (colour, shape) not in HELD_OUT
    )
    looks = rng.sample(combinations, len(relations) + 1)
    if held_out:
        looks[rng.randrange(len(looks))] = rng.choice(sorted(HELD_OUT))
    looks[0], looks[-1] = sorted((looks[0], looks[-1]))
    steps = [DIRECTIONS[relation] for relation in relations]
    places = [
        (column, row)
        for column in range(PLACES)
        for row in range(PLACES)
        if all(0 <= column + x < PLACES and 0 <= row + y < PLACES for x, y in steps)
    ]
    anchor = rng.choice(places)
    stands = [(anchor[0] + x, anchor[1] + y) for x, y in steps]
    stands.insert(1, anchor)
    objects = (
        SceneObject(shape, colour, rng.choice(sorted(SIZES)), place, _jitter(rng))
        for (colour, shape), place in zip(looks, stands, strict=True)
    )
    return Scene(tuple(objects), tuple(relations))


def _jitter(rng: random.Random) -> tuple[float, float]:
    return rng.uniform(-JITTER, JITTER), rng.uniform(-JITTER, JITTER)


def generate_scenes(*, seed: int, held_out: bool = False) -> Iterator[Scene]:
    """Scenes that follow from the seed; endless."""
    rng = random.Random(seed)
    while True:
        yield random_scene(rng, held_out=held_out)


def scene_pairs(*, seed: int, language: str = "en", held_out: bool = False) -> Iterator[Pair]:
    """Pictures of scenes, as data URIs, and their captions; endless."""
    scenes = generate_scenes(seed=seed, held_out=held_out)
    for line, scene in zip(count(1), scenes, strict=False):
        yield Pair(data_uri(scene.draw()), scene.caption(language), line)
