"""Lines of text drawn as pictures, with the box of each character; training data for OCR."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dhyan.data.pairs import Pair
from dhyan.data.primer import generate_sentences
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

    `skew` is the slope of the baseline in degrees; `ink` and `paper` are grey, 0 for black.
    """

    blur: float = 0.0
    noise: float = 0.0
    skew: float = 0.0
    ink: int = 0
    paper: int = 255

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
    image, clusters = _skewed(image, clusters, distortion)
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


def _skewed(
    image: "PIL.Image.Image", boxes: list[tuple[str, Box]], distortion: Distortion
) -> tuple["PIL.Image.Image", list[tuple[str, Box]]]:
    """The picture sheared upwards or downwards, and the boxes with it."""
    from PIL import Image

    slope = float(np.tan(np.radians(distortion.skew)))
    if not slope:
        return image, boxes
    width, rise = image.width, abs(slope) * image.width
    shift = rise if slope > 0 else 0.0  # y' = y + shift - slope · x
    size = (width, image.height + round(rise))
    image = image.transform(
        size,
        Image.Transform.AFFINE,
        (1, 0, 0, slope, 1, -shift),
        Image.Resampling.BILINEAR,
        fillcolor=distortion.paper,
    )

    def moved(box: Box) -> Box:
        left, top, right, bottom = box
        ends = (shift - slope * left, shift - slope * right)
        return left, top + min(ends), right, bottom + max(ends)

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
    *, seed: int, split: str = "train", max_words: int = MAX_LINE_WORDS
) -> Iterator[str]:
    """Lines of the primer: parts of sentences, single words, numbers in Hindi digits; endless."""
    rng = random.Random(seed)
    for sentence in generate_sentences(split, seed=seed, max_words=15):
        words = sentence.hindi.split()
        yield " ".join(_line(words, rng, max_words))


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
) -> Iterator[RenderedText]:
    """Each line in a font of its own, in a random size, mildly distorted."""
    rng = random.Random(seed)
    for number, line in enumerate(lines):
        yield render_text(
            line,
            rng.choice(fonts),
            size=rng.randint(*sizes),
            distortion=Distortion.sample(rng),
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
