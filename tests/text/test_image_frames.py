"""Pictures as frames: every pixel in its place, and nothing that a picture may not be."""

import base64
import io
import json
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

from dhyan.errors import UserError
from dhyan.safe_io.data_uri import MAX_URI_CHARACTERS, is_data_uri
from dhyan.text.codec import FRAME_CODECS, FrameCodec, codec_size, read_codec
from dhyan.text.image_frames import (
    FORMATS,
    MAX_PIXELS,
    ImageColumns,
    ImagePatches,
    data_uri,
    read_picture,
)
from tests.picture_models import picture

CODECS = (ImageColumns(16, 4), ImageColumns(8, 3), ImagePatches(16, 24, 8), ImagePatches(10, 13, 4))


def encoded(image, format="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return f"data:image/x;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def png_of(width, height):
    """A PNG of a header alone, that says it is this large."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk
    data += struct.pack(">I", zlib.crc32(chunk)) + struct.pack(">I", 100) + b"IDAT"
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_a_codec_of_pictures_is_a_codec_of_frames(codec):
    assert isinstance(codec, FrameCodec)
    assert codec.kind in FRAME_CODECS
    text = data_uri(picture())
    frames, none = codec.encode_batch([text, "  "])
    assert frames.dtype == none.dtype == np.uint8
    assert frames.shape[1] == none.shape[1] == codec.width == len(codec)
    assert len(none) == 0
    boxes, words = codec.boxes(text), codec.words(frames, text)
    assert len(boxes) == len(frames) == len(words) == len(set(codec.pieces(frames)))
    assert codec.unknown_words(frames, text) == []


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_a_saved_codec_is_the_same(codec):
    text = codec.to_json()
    assert read_codec(text) == codec
    assert codec_size(text) == len(codec)
    assert codec.without_files().to_json() == text


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_boxes_cover_the_picture_without_overlap(codec):
    image = picture(53, 31)
    boxes = codec.boxes(data_uri(image))
    assert sum((right - left) * (bottom - top) for left, top, right, bottom in boxes) == (
        pytest.approx(53 * 31)
    )
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= 53
        assert 0 <= top < bottom <= 31


def test_strips_put_together_are_the_picture():
    codec, image = ImageColumns(20, 4), picture(42, 20, "L")
    [frames] = codec.encode_batch([data_uri(image)])
    whole = np.concatenate(list(frames.reshape(-1, 20, 4)), axis=1)
    assert (whole[:, :42] == np.asarray(image)).all()
    assert (whole[:, 42:] == 255).all()


def test_patches_put_together_are_the_picture():
    codec, image = ImagePatches(16, 24, 8), picture(24, 16)
    [frames] = codec.encode_batch([data_uri(image)])
    rows = frames.reshape(2, 3, 8, 8, 3)
    whole = np.concatenate([np.concatenate(list(row), axis=1) for row in rows])
    assert (whole == np.asarray(image)).all()


def test_a_box_shows_what_its_frame_shows():
    for codec in CODECS:
        image = Image.new("RGB", (60, 40), "white")
        text = data_uri(image)
        boxes = codec.boxes(text)
        at = len(boxes) // 2
        left, top, right, bottom = map(round, boxes[at])
        image.paste((0, 0, 0), (left, top, right, bottom))
        [frames] = codec.encode_batch([data_uri(image)])
        darkness = (255 - frames.astype(int)).sum(axis=1)
        assert darkness.argmax() == at


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "GIF"])
def test_a_file_and_its_data_uri_are_the_same_picture(format, tmp_path):
    path = tmp_path / "a"
    options = {"lossless": True} if format == "WEBP" else {}
    picture().save(path, format, **options)
    by_path, by_uri = read_picture(str(path)), read_picture(encoded(picture(), format, **options))
    assert by_path.tobytes() == by_uri.tobytes()
    assert by_path.size == (40, 20)


def test_transparent_parts_are_white():
    for mode in ("RGBA", "LA"):
        assert read_picture(encoded(Image.new(mode, (3, 3)))).getpixel((1, 1)) == (255, 255, 255)


def test_sixteen_bits_keep_their_grey():
    image = Image.fromarray(np.full((3, 3), 0x8000, np.uint16))
    assert read_picture(encoded(image)).getpixel((1, 1)) == (128, 128, 128)


def test_the_orientation_of_a_camera_is_followed():
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    assert read_picture(encoded(picture(40, 20), "JPEG", exif=exif)).size == (20, 40)


@pytest.mark.filterwarnings("ignore:Image size")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no such file", "no such file"),
        ("a\0b", "cannot be read"),
        ("/", "a folder, not a file"),
        ("/dev/zero", "a device, not a file"),
        ("data:image/png;base64,", "not a picture in one of the formats"),
        ("data:image/png;base64,A", "base64 is broken"),
        ("data:image/png;base64,iVBO Rw0K", "base64 is broken"),
        ("data:image/png,abc", "not a data URI"),
        ("data:text/html;base64,PGI+", "not a picture in one of the formats"),
        (encoded(picture(400, 300))[:1000], "broken"),
        (encoded(picture(), "TIFF"), "not a picture in one of the formats"),
        (png_of(100_000, 100_000), "pixels"),
        (png_of(10_000, 9_000), "pixels"),
        (png_of(5_000, 4_000), f"more than the {MAX_PIXELS:,}"),
        (png_of(5, 4), "broken"),
        ("data:image/png;base64," + "A" * MAX_URI_CHARACTERS, "characters, more than"),
    ],
)
def test_what_is_no_picture_is_a_user_error(text, message):
    with pytest.raises(UserError, match="picture") as error:
        read_picture(text)
    assert message in str(error.value)
    assert len(str(error.value)) < 300


def test_a_picture_much_wider_than_high_is_refused():
    text = data_uri(Image.new("L", (10_000, 1)))
    with pytest.raises(UserError, match="too wide"):
        ImageColumns(64, 4).encode_batch([text])


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_without_files_no_path_is_opened(codec, tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    picture().save(path)
    assert len(codec.encode_batch([str(path)])[0])
    closed = codec.without_files()
    text = data_uri(picture())
    assert (closed.encode_batch([text])[0] == codec.encode_batch([text])[0]).all()

    def opened(*arguments, **options):
        raise AssertionError("a file was opened")

    monkeypatch.setattr("dhyan.text.image_frames.read_file", opened)
    for read in (lambda text: closed.encode_batch([text]), closed.boxes):
        for name in (
            str(path),
            "a.png",
            "file:///etc/passwd",
            " data:x",
            "DATA",
            "https://a.b/c.png",
        ):
            with pytest.raises(UserError, match="no file is opened here"):
                read(name)


@pytest.mark.parametrize(
    "table",
    [
        {"type": "image_columns", "height": 16},
        {"type": "image_columns", "height": 16, "columns": 4, "files_allowed": True},
        {"type": "image_columns", "height": 0, "columns": 4},
        {"type": "image_columns", "height": 10**9, "columns": 4},
        {"type": "image_columns", "height": True, "columns": 4},
        {"type": "image_columns", "height": 16.0, "columns": 4},
        {"type": "image_columns", "height": "16", "columns": 4},
        {"type": "image_patches", "height": 16, "picture_width": 16, "patch": -1},
        {"type": "image_patches", "height": 16, "picture_width": 16, "columns": 4},
    ],
)
def test_a_foreign_table_is_refused(table):
    with pytest.raises(UserError, match="not a codec"):
        read_codec(json.dumps(table))


def test_a_data_uri_is_told_from_a_path():
    assert is_data_uri("data:image/png;base64,AA")
    assert is_data_uri("DATA:image/png;base64,AA")
    assert not is_data_uri("data/a.png")
    assert not is_data_uri("")


def test_pillow_is_not_imported_before_a_picture_is_read():
    code = "import sys, dhyan.text.codec, dhyan.data.read_pairs; print('PIL' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
