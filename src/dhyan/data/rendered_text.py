"""Lines of text drawn as pictures, with the box of each character; training data for OCR."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dhyan.data.pairs import Pair
from dhyan.data.primer import generate_sentences
from dhyan.data.pseudowords import pseudoword
from dhyan.errors import UserError
from dhyan.text.grapheme_clusters import grapheme_clusters
from dhyan.text.image_frames import Box, data_uri

if TYPE_CHECKING:
    import PIL.Image
    import PIL.ImageFont

DIGITS = "०१२३४५६७८९"
MARGIN = 0.25  # around a line, as a share of the size of its letters
MAX_LINE_WORDS = 6


@dataclass(frozen=True)
class RenderedText:
    """A picture of a line, its text, and each of its characters with the box it stands in.

    Characters are grapheme clusters; spaces have no box.
    """

    image: "PIL.Image.Image"
    text: str
    boxes: tuple[tuple[str, Box], ...]


@dataclass(frozen=True)
class Distortion:
    """How a drawn line differs from a clean one: `blur` and `noise` in pixels and grey values.

    `skew` is the slope of the baseline in degrees; `ink` and `paper` are grey, 0 for black. `slant`
    leans the letters by degrees, to the right above 0; `stretch` makes them as many times as wide;
    `weight` makes strokes bolder up to 1, a pixel on each side, and thinner down to -1.
    """

    blur: float = 0.0
    noise: float = 0.0
    skew: float = 0.0
    ink: int = 0
    paper: int = 255
    slant: float = 0.0
    stretch: float = 1.0
    weight: float = 0.0

    @classmethod
    def sample(cls, rng: random.Random) -> "Distortion":
        """A mild distortion, as of a scan."""
        return cls(
            blur=rng.uniform(0.0, 1.0),
            noise=rng.uniform(0.0, 12.0),
            skew=rng.uniform(-1.0, 1.0),
            ink=rng.randint(0, 70),
            paper=rng.randint(200, 255),
        )

    def augmented(self, rng: random.Random) -> "Distortion":
        """It, with letters that lean, are wider or narrower, bolder or thinner than the font's."""
        return replace(
            self,
            slant=rng.choice((0.0, rng.uniform(-8.0, 12.0))),
            stretch=exp(rng.uniform(-0.3, 0.3)),
            weight=rng.choice((0.0, rng.uniform(-0.5, 1.0))),
        )


CLEAN = Distortion()


def default_font() -> Path:
    """Noto Sans Devanagari, which comes with the package."""
    import fontpkg_noto_sans_devanagari as font

    [path] = Path(font.__file__).parent.glob("files/*.ttf")
    return path


@lru_cache(maxsize=64)
def _load_font(path: Path, size: int) -> "PIL.ImageFont.FreeTypeFont":
    from PIL import ImageFont, features

    if not features.check("raqm"):
        raise UserError("drawing Devanagari needs Pillow with libraqm: pip install pillow")
    try:
        return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.RAQM)
    except OSError:
        raise UserError(f"{path}: not a font; name a .ttf or .otf") from None


def render_text(
    text: str,
    font: Path,
    *,
    size: int = 32,
    distortion: Distortion = CLEAN,
    seed: int = 0,
    boxes: bool = True,
) -> RenderedText:
    """A line of text in a font, letters of `size` pixels, distorted; noise follows from the seed.

    To measure the `boxes` takes most of the time.
    """
    from PIL import Image, ImageDraw

    loaded = _load_font(font, size)
    margin = round(MARGIN * size)
    left, top, right, bottom = loaded.getbbox(text)
    width, height = (
        max(1, round(right - left)) + 2 * margin,
        max(1, round(bottom - top)) + 2 * margin,
    )
    image = Image.new("L", (width, height), distortion.paper)
    origin = (margin - left, margin - top)
    ImageDraw.Draw(image).text(origin, text, font=loaded, fill=distortion.ink)
    clusters = list(_cluster_boxes(text, loaded, origin)) if boxes else []
    image = _with_weight(image, distortion.weight)
    image, clusters = _sheared(image, clusters, distortion)
    return RenderedText(_scanned(image, distortion, seed), text, tuple(clusters))


def _cluster_boxes(
    text: str, font: "PIL.ImageFont.FreeTypeFont", origin: tuple[float, float]
) -> Iterator[tuple[str, Box]]:
    """Each cluster between the advance of what precedes it and of what ends with it."""
    before, start, end = "", 0.0, 0.0
    for cluster in grapheme_clusters(text):
        if not cluster.isspace():
            _, top, _, bottom = font.getbbox(cluster)
            end = font.getlength(before + cluster)
            x, y = origin
            yield cluster, (x + start, y + top, x + end, y + bottom)
        before += cluster
        start = end if not cluster.isspace() else font.getlength(before)


def _with_weight(image: "PIL.Image.Image", weight: float) -> "PIL.Image.Image":
    """The picture with bolder strokes, or thinner ones below 0."""
    from PIL import Image, ImageFilter

    if not weight:
        return image
    extreme = ImageFilter.MinFilter(3) if weight > 0 else ImageFilter.MaxFilter(3)
    return Image.blend(image, image.filter(extreme), abs(weight))


def _sheared(
    image: "PIL.Image.Image", boxes: list[tuple[str, Box]], distortion: Distortion
) -> tuple["PIL.Image.Image", list[tuple[str, Box]]]:
    """The picture stretched, its letters leaning, its baseline sloping, and the boxes with it."""
    from PIL import Image

    slope, lean = (
        float(np.tan(np.radians(angle))) for angle in (distortion.skew, distortion.slant)
    )
    stretch = distortion.stretch
    if not slope and not lean and stretch == 1:
        return image, boxes
    # x' = stretch · x - lean · y + right and y' = y - slope · x' + down
    width = stretch * image.width + abs(lean) * image.height
    right = max(lean, 0.0) * image.height
    down = max(slope, 0.0) * width
    size = (round(width), image.height + round(abs(slope) * width))
    rows = lean / stretch
    inverse = (
        *(1 / stretch + rows * slope, rows, -right / stretch - rows * down),
        *(slope, 1, -down),
    )
    image = image.transform(
        size,
        Image.Transform.AFFINE,
        inverse,
        Image.Resampling.BILINEAR,
        fillcolor=distortion.paper,
    )

    def moved(box: Box) -> Box:
        left, top, right_side, bottom = box
        corners = [(x, y) for x in (left, right_side) for y in (top, bottom)]
        columns = [stretch * x - lean * y + right for x, y in corners]
        rows = [y - slope * x + down for (_, y), x in zip(corners, columns, strict=True)]
        return min(columns), min(rows), max(columns), max(rows)

    return image, [(cluster, moved(box)) for cluster, box in boxes]


def _scanned(image: "PIL.Image.Image", distortion: Distortion, seed: int) -> "PIL.Image.Image":
    """The picture blurred, then with noise."""
    from PIL import Image, ImageFilter

    if distortion.blur:
        image = image.filter(ImageFilter.GaussianBlur(distortion.blur))
    if not distortion.noise:
        return image
    noise = np.random.default_rng(seed).normal(0.0, distortion.noise, (image.height, image.width))
    return Image.fromarray((np.asarray(image) + noise).clip(0, 255).astype(np.uint8))


def hindi_lines(
    *, seed: int, split: str = "train", max_words: int = MAX_LINE_WORDS, pseudowords: float = 0.0
) -> Iterator[str]:
    """Lines of the primer: parts of sentences, single words, numbers in Hindi digits; endless.

    In a share of `pseudowords` of the lines some or all words are such, so that a model reads
    letters and does not guess words.
    """
    rng, other = random.Random(seed), random.Random(f"invented {seed}")
    for sentence in generate_sentences(split, seed=seed, max_words=15):
        line = _line(sentence.hindi.split(), rng, max_words)
        if other.random() < pseudowords:
            share = other.uniform(0.2, 1.2)
            line = [pseudoword(other) if other.random() < share else word for word in line]
        yield " ".join(line)


def _line(words: Sequence[str], rng: random.Random, max_words: int) -> Sequence[str]:
    kind = rng.random()
    if kind < 0.15:
        return ["".join(rng.choices(DIGITS, k=rng.randint(1, 6)))]
    length = 1 if kind < 0.4 else rng.randint(2, max(2, max_words))
    start = rng.randint(0, max(0, len(words) - length))
    return words[start : start + length]


def rendered_lines(
    lines: Iterable[str],
    fonts: Sequence[Path],
    *,
    seed: int,
    sizes: tuple[int, int] = (24, 40),
    boxes: bool = True,
    augment: bool = False,
) -> Iterator[RenderedText]:
    """Each line in a font of its own, in a random size, mildly distorted.

    With `augment` they also lean, stretch and change their weight, so that a model sees more
    than the fonts.
    """
    rng = random.Random(seed)
    for number, line in enumerate(lines):
        font, size, distortion = (
            rng.choice(fonts),
            rng.randint(*sizes),
            Distortion.sample(rng),
        )
        yield render_text(
            line,
            font,
            size=size,
            distortion=distortion.augmented(rng) if augment else distortion,
            seed=seed * 2**32 + number,
            boxes=boxes,
        )


def rendered_text_pairs(*, seed: int) -> Iterator[Pair]:
    """Pictures of short lines of Hindi, as data URIs, and their texts; endless.

    All are in the font that comes with the package.
    """
    lines = hindi_lines(seed=seed, max_words=3)
    pictures = rendered_lines(lines, [default_font()], seed=seed, boxes=False)
    for line, picture in zip(count(1), pictures, strict=False):
        yield Pair(data_uri(picture.image), picture.text, line)
