"""Pictures as frames: strips of columns for lines of text, patches for other pictures.

A picture is given as a text: the path of a file, or a data URI (RFC 2397) that holds the file itself.
Pillow is imported when the first picture is read.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import UInt8

from dhyan.errors import UserError
from dhyan.safe_io.bounded_files import read_file
from dhyan.safe_io.data_uri import decode_data_uri, encode_data_uri, is_data_uri
from dhyan.safe_io.json_toml import safe_repr
from dhyan.text.tokenizer import Word

if TYPE_CHECKING:
    import PIL.Image

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "PPM")  # no format that runs code or reads files
SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".ppm", ".pgm", ".pbm"))
MAX_BYTES = 2**24  # of a file
MAX_PIXELS = 2**24  # of a picture, once it is decompressed
MAX_FRAMES = 2**14
MAX_SIDE = 512  # of what a picture is scaled to, as in the settings
COLOURS = 3  # red, green, blue

Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a part of a picture, in its pixels."""


def data_uri(image: "PIL.Image.Image") -> str:
    """A picture as a data URI of a PNG."""
    buffer = BytesIO()
    image.save(buffer, "PNG")
    return encode_data_uri(buffer.getvalue(), "image/png")


def read_picture(text: str, *, files_allowed: bool = True) -> "PIL.Image.Image":
    """The picture of a path or a data URI in red, green and blue, transparent parts white.

    Without `files_allowed` a path is refused before anything is opened.
    """
    name = "the picture" if is_data_uri(text) else f"picture {safe_repr(text)}"
    if is_data_uri(text):
        try:
            data = decode_data_uri(text)
        except UserError as error:
            raise UserError(f"{name}: {error}") from None
    elif files_allowed:
        data = _read_picture_file(text, name)
    else:
        raise UserError(
            f"{name}: no file is opened here; send the picture itself, as data:image/png;base64,…"
        )
    return _decode(data, name)


def _read_picture_file(text: str, name: str) -> bytes:
    try:
        return read_file(Path(text), max_bytes=MAX_BYTES, follow_links=True)
    except FileNotFoundError:
        raise UserError(f"{name}: there is no such file; check the path") from None
    except UserError as error:
        raise UserError(f"picture {error}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"{name}: cannot be read ({reason}); check the path") from None


def _decode(data: bytes, name: str) -> "PIL.Image.Image":
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        image = Image.open(BytesIO(data), formats=FORMATS)
        if image.width * image.height > MAX_PIXELS:
            raise UserError(
                f"{name}: {image.width:,} × {image.height:,} pixels, more than the {MAX_PIXELS:,} it "
                f"may have; make it smaller"
            )
        return _on_white(ImageOps.exif_transpose(image))
    except UserError:
        raise
    except UnidentifiedImageError:
        formats = ", ".join(FORMATS)
        raise UserError(f"{name}: not a picture in one of the formats {formats}") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise UserError(f"{name}: more than {MAX_PIXELS:,} pixels; make it smaller") from None
    except Exception as error:  # decoders of broken files raise whatever they meet
        raise UserError(f"{name}: broken ({safe_repr(str(error))}); save it again") from None


def _on_white(image: "PIL.Image.Image") -> "PIL.Image.Image":
    """The picture without transparency, 8 bits a colour."""
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits, which Pillow would clip
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    return image.convert("RGB")


@dataclass(frozen=True)
class ImageColumns:
    """A frame per strip of `columns` pixel columns of a grey picture, scaled to `height`.

    A frame holds its pixels row by row, 0 for black; what the last strip lacks is white.
    """

    height: int
    columns: int
    files_allowed: bool = True
    kind: ClassVar[str] = "image_columns"

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "ImageColumns":
        """The codec that `to_json` wrote, checked by `check`."""
        return cls(table["height"], table["columns"])

    @classmethod
    def check(cls, table: Mapping[str, Any], most: int) -> int:
        """The width of a frame of a table from a file; an error if it is none of ours."""
        _check_sides(table, ("height", "columns"))
        return _checked_width(cls.from_table(table).width, most)

    def to_json(self) -> str:
        """All of it as one JSON text."""
        return _to_json(self)

    def without_files(self) -> "ImageColumns":
        """The same codec for requests of others: a path is refused, never opened."""
        return replace(self, files_allowed=False)

    @property
    def width(self) -> int:
        """The pixels of a frame."""
        return self.height * self.columns

    def encode_batch(self, texts: Iterable[str]) -> list[UInt8[np.ndarray, "_ F"]]:
        """The strips of each picture, from left to right."""
        return [self._strips(text) if text.strip() else _no_frames(self.width) for text in texts]

    def boxes(self, text: str) -> list[Box]:
        """The part of the picture that each frame shows."""
        size = read_picture(text, files_allowed=self.files_allowed).size
        count, scale = -(-self._scaled(size) // self.columns), size[1] / self.height
        edges = [min(at * self.columns * scale, float(size[0])) for at in range(count + 1)]
        edges[-1] = float(size[0])
        return [
            (left, 0.0, right, float(size[1]))
            for left, right in zip(edges, edges[1:], strict=False)
        ]

    def words(self, frames: UInt8[np.ndarray, "S F"], text: str = "") -> list[Word]:
        """Every strip by itself."""
        return _each_frame(self.pieces(frames, text))

    def pieces(self, frames: UInt8[np.ndarray, "S F"], text: str = "") -> list[str]:
        """The number of each strip."""
        return [str(number) for number in range(1, len(frames) + 1)]

    def unknown_words(self, frames: UInt8[np.ndarray, "S F"], text: str) -> list[str]:
        """None: a picture has no words."""
        return []

    def __len__(self) -> int:
        return self.width

    def _scaled(self, size: tuple[int, int]) -> int:
        """The width of a picture of this size once it is scaled."""
        width = max(1, round(size[0] * self.height / size[1]))
        if width > MAX_FRAMES * self.columns:
            raise UserError(
                f"a picture of {size[0]:,} × {size[1]:,} pixels is too wide for its height; cut it"
            )
        return width

    def _strips(self, text: str) -> UInt8[np.ndarray, "_ F"]:
        from PIL import Image

        image = read_picture(text, files_allowed=self.files_allowed).convert("L")
        width = self._scaled(image.size)
        pixels = np.asarray(image.resize((width, self.height), Image.Resampling.BILINEAR))
        count = -(-width // self.columns)
        padding = ((0, 0), (0, count * self.columns - width))
        pixels = np.pad(pixels, padding, constant_values=255)
        strips = pixels.reshape(self.height, count, self.columns).transpose(1, 0, 2)
        return np.ascontiguousarray(strips).reshape(count, self.width)


@dataclass(frozen=True)
class ImagePatches:
    """A frame per square of `patch` pixels of a picture in colour, resized to height × width.

    Squares come row by row (Dosovitskiy et al., 2021), and so do the pixels of a frame. What the
    last squares lack is white.
    """

    height: int
    picture_width: int
    patch: int
    files_allowed: bool = True
    kind: ClassVar[str] = "image_patches"

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "ImagePatches":
        """The codec that `to_json` wrote, checked by `check`."""
        return cls(table["height"], table["picture_width"], table["patch"])

    @classmethod
    def check(cls, table: Mapping[str, Any], most: int) -> int:
        """The width of a frame of a table from a file; an error if it is none of ours."""
        _check_sides(table, ("height", "picture_width", "patch"))
        return _checked_width(cls.from_table(table).width, most)

    def to_json(self) -> str:
        """All of it as one JSON text."""
        return _to_json(self)

    def without_files(self) -> "ImagePatches":
        """The same codec for requests of others: a path is refused, never opened."""
        return replace(self, files_allowed=False)

    @property
    def width(self) -> int:
        """The numbers of a frame: three for a pixel."""
        return self.patch * self.patch * COLOURS

    @property
    def grid(self) -> tuple[int, int]:
        """The rows and columns of squares."""
        return -(-self.height // self.patch), -(-self.picture_width // self.patch)

    def encode_batch(self, texts: Iterable[str]) -> list[UInt8[np.ndarray, "_ F"]]:
        """The squares of each picture, row by row."""
        return [self._patches(text) if text.strip() else _no_frames(self.width) for text in texts]

    def boxes(self, text: str) -> list[Box]:
        """The part of the picture that each frame shows."""
        image = read_picture(text, files_allowed=self.files_allowed)
        rows, columns = self.grid

        def edge(at: int, side: int, scaled: int) -> float:
            return min(at * self.patch, scaled) * side / scaled

        return [
            (
                edge(column, image.width, self.picture_width),
                edge(row, image.height, self.height),
                edge(column + 1, image.width, self.picture_width),
                edge(row + 1, image.height, self.height),
            )
            for row in range(rows)
            for column in range(columns)
        ]

    def words(self, frames: UInt8[np.ndarray, "S F"], text: str = "") -> list[Word]:
        """Every square by itself."""
        return _each_frame(self.pieces(frames, text))

    def pieces(self, frames: UInt8[np.ndarray, "S F"], text: str = "") -> list[str]:
        """The row and the column of each square, from 1."""
        columns = self.grid[1]
        return [f"{at // columns + 1}·{at % columns + 1}" for at in range(len(frames))]

    def unknown_words(self, frames: UInt8[np.ndarray, "S F"], text: str) -> list[str]:
        """None: a picture has no words."""
        return []

    def __len__(self) -> int:
        return self.width

    def _patches(self, text: str) -> UInt8[np.ndarray, "_ F"]:
        from PIL import Image

        image = read_picture(text, files_allowed=self.files_allowed)
        size = (self.picture_width, self.height)
        pixels = np.asarray(image.resize(size, Image.Resampling.BILINEAR))
        (rows, columns), patch = self.grid, self.patch
        lacking = ((0, rows * patch - self.height), (0, columns * patch - self.picture_width))
        pixels = np.pad(pixels, (*lacking, (0, 0)), constant_values=255)
        squares = pixels.reshape(rows, patch, columns, patch, COLOURS).transpose(0, 2, 1, 3, 4)
        return np.ascontiguousarray(squares).reshape(rows * columns, self.width)


def _no_frames(width: int) -> UInt8[np.ndarray, "_ F"]:
    return np.zeros((0, width), np.uint8)


def _each_frame(labels: Sequence[str]) -> list[Word]:
    return [Word(label, at, at + 1) for at, label in enumerate(labels)]


def _to_json(codec: ImageColumns | ImagePatches) -> str:
    sides = {field.name: getattr(codec, field.name) for field in fields(codec)}
    del sides["files_allowed"]
    return json.dumps({"type": codec.kind, **sides})


def _check_sides(table: Mapping[str, Any], names: Sequence[str]) -> None:
    if table.keys() != {"type", *names}:
        raise UserError("not a codec of dhyan: its table of a picture has other fields")
    for name in names:
        if type(table[name]) is not int or not 1 <= table[name] <= MAX_SIDE:
            raise UserError(
                f"not a codec of dhyan: {name} is {safe_repr(table[name])}, not 1 to {MAX_SIDE}"
            )


def _checked_width(width: int, most: int) -> int:
    if width > most:
        raise UserError(f"not a codec of dhyan: frames of {width:,} numbers")
    return width
