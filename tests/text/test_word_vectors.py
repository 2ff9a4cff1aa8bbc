"""Word vectors from the files others publish, and what is said of damaged ones."""

import gzip
import lzma
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from dhyan.errors import UserError
from dhyan.text.word_vectors import CHUNK, read_vectors

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GLOVE = Path("/work/shared/data/glove-6b-50d-subset/glove.6B.50d.subset.txt.xz")
ROWS = {
    "river": [0.5, -1.0, 2.0],
    "नदी": [0.25, 1e-3, -3.0],
    "delhi": [1.0, 1.0, 1.5],
    "Paris": [2.0, 0.0, 0.125],
    "paris": [3.0, 0.0, 0.125],
    ". . .": [4.0, 0.0, 0.5],
    "5": [6.0, 7.0, 8.5],
}
WORDS = ["Paris", "zebra", "नदी", "Delhi", "5", "River"]


def as_glove(rows):
    return "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows.items()).encode()


def as_text(rows, end=""):
    lines = (f"{word} {' '.join(map(str, row))}{end}\n" for word, row in rows.items())
    return f"{len(rows)} {len(next(iter(rows.values())))}\n{''.join(lines)}".encode()


def as_binary(rows, end=b""):
    header = f"{len(rows)} {len(next(iter(rows.values())))}\n".encode()
    packed = (
        word.encode() + b" " + struct.pack(f"<{len(row)}f", *row) + end
        for word, row in rows.items()
    )
    return header + b"".join(packed)


PLAIN = {word: row for word, row in ROWS.items() if " " not in word}
FILES = {
    "glove.txt": as_glove(ROWS),
    "one-line.txt": as_glove({"5": ROWS["5"]}),
    "word2vec.vec": as_text(ROWS),
    "spaced.txt": as_text(ROWS, " "),
    "windows.txt": as_text(ROWS, "\r"),
    "word2vec.bin": as_binary(PLAIN),
    "broken-lines.bin": as_binary(PLAIN, b"\n"),
}
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd.compress}


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("name", [name for name in FILES if name != "one-line.txt"])
def test_vectors_are_in_the_order_of_the_words(tmp_path, name, packing):
    vectors = read_vectors(write(tmp_path, name + packing, PACK[packing](FILES[name])), WORDS)
    assert vectors.words == ("Paris", "नदी", "Delhi", "5", "River")
    assert vectors.lowered == {"Delhi", "River"}
    rows = [ROWS[word] for word in ("Paris", "नदी", "delhi", "5", "river")]
    assert np.array_equal(vectors.table, np.array(rows, np.float32))
    assert vectors.width == 3


def test_a_word_may_have_spaces_and_a_number_may_be_a_word(tmp_path):
    vectors = read_vectors(write(tmp_path, "glove.txt", FILES["glove.txt"]), [". . .", "5"])
    assert vectors.table[:, 0].tolist() == [4.0, 6.0]
    alone = read_vectors(write(tmp_path, "one.txt", FILES["one-line.txt"]), ["5"])
    assert alone.table.tolist() == [ROWS["5"]]


def test_words_are_compared_in_their_normal_form(tmp_path):
    path = write(
        tmp_path, "glove.txt", as_glove({"\u095bमीन": [1.0, 2.0], "cafe\u0301": [3.0, 4.0]})
    )
    assert read_vectors(path, ["\u091c\u093cमीन", "caf\u00e9"]).table.tolist() == [[1, 2], [3, 4]]


def test_the_first_of_equal_words_counts(tmp_path):
    path = write(tmp_path, "glove.txt", b"a 1 2\na 3 4\n")
    assert read_vectors(path, ["a", "a"]).table.tolist() == [[1, 2]]


def test_no_matching_word_gives_an_empty_table(tmp_path):
    vectors = read_vectors(write(tmp_path, "word2vec.bin", FILES["word2vec.bin"]), ["zebra"])
    assert (vectors.words, vectors.table.shape, vectors.width) == ((), (0, 3), 3)


def test_a_binary_file_larger_than_a_chunk_is_read_to_its_end(tmp_path):
    rows = {f"word{i}": [float(i), *[0.5] * 99] for i in range(CHUNK // 200)}
    path = write(tmp_path, "large.bin", as_binary(rows))
    assert path.stat().st_size > 2 * CHUNK
    vectors = read_vectors(path, list(rows))
    assert vectors.table[:, 0].tolist() == [*range(len(rows))]


def test_invalid_utf8_words_are_skipped(tmp_path):
    path = write(tmp_path, "glove.txt", b"\xff\xfe 1 2\nriver 3 4\n")
    assert read_vectors(path, ["river"]).table.tolist() == [[3, 4]]


DAMAGED = [
    ("a.txt", b"river 1 2\nsea 1\n", r"a.txt:2: 1 numbers, expected 2"),
    ("a.txt", b"river 1 2\nsea 1.5 2.5 3.5\n", r"a.txt:2: 3 numbers, expected 2"),
    ("a.txt", b"river 1 2\nsea 1 x\n", r"a.txt:2: .*'x'"),
    ("a.txt", b"river 1 2\nsea 1 nan\n", r"a.txt:2: .*not finite"),
    ("a.txt", b"river 1 2\n\nsea 1 2\n", r"a.txt:2: 0 numbers, expected 2"),
    ("a.txt", b"", r"a.txt: holds no vectors"),
    ("a.txt", b"river\n", r"a.txt:1: ends in no number.*\.bin"),
    ("a.txt", b"river 1 x\n", r"a.txt:1: ends in no number"),
    ("a.txt", b"river bank\n", r"a.txt:1: its first line does not say"),
    ("a.txt", as_binary({"river": [1.1, 2.2]}), r"a.txt:2: .*end its name in .bin"),
    ("a.txt", b"x" * 2**20, r"a.txt:1: a line of"),
    ("a.vec", b"3 2\nriver 1 2\nsea 1 2\n", r"a.vec: 2 words, but its header says 3"),
    ("a.vec", b"1 2\nriver 1 2\nsea 1 2\n", r"a.vec: 2 words, but its header says 1"),
    ("a.vec", b"3 2\n", r"a.vec: "),
    ("a.vec", b"0 2\n", r"a.vec:1: its first line says 0 words"),
    ("a.vec", b"1 99999999\nriver 1\n", r"a.vec:1: .* of 99,999,999 numbers"),
    ("a.bin", as_binary(PLAIN)[:-3], r"a.bin \(word 6\): the file ends here.*6 words"),
    ("a.bin", as_binary(PLAIN) + b"more", r"a.bin: more than the 6 words"),
    ("a.bin", as_binary({"river": [np.inf, 1.0]}), r"a.bin \(word 1\): .*not finite"),
    ("a.bin", b"\xba\x16\x4f\x2f\x0c\x00", r"a.bin: its first line does not say.*\.vec"),
    ("a.bin", b"1 2\n" + b"x" * (2**20 + CHUNK), r"a.bin \(word 1\): no word ends here"),
    ("a.bin", b"", r"a.bin: its first line"),
    ("a.txt.gz", gzip.compress(b"river 1 2\n" * 99)[:-9], r"a.txt.gz: broken .gz data"),
    ("a.txt.gz", b"river 1 2\n", r"a.txt.gz: broken .gz data"),
    ("a.txt.zst", zstd.compress(b"river 1 2\n" * 99)[:-9], r"a.txt.zst: broken .zst data"),
    ("a.txt.xz", b"river 1 2\n", r"a.txt.xz: broken .xz data"),
]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    DAMAGED,
    ids=[f"{name} {message}" for name, _, message in DAMAGED],
)
def test_a_damaged_file_is_named_with_its_location(tmp_path, name, content, message):
    with pytest.raises(UserError, match=message) as caught:
        read_vectors(write(tmp_path, name, content), ["river", "sea"])
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"nowhere.vec: there is no such file"):
        read_vectors(tmp_path / "nowhere.vec", ["river"])
    with pytest.raises(UserError, match="cannot be read"):
        read_vectors(tmp_path, ["river"])


def test_a_published_file_is_read():
    if not GLOVE.exists():
        pytest.skip(f"{GLOVE} is not here")
    vectors = read_vectors(GLOVE, ["the", "The", "a word that is nowhere"])
    assert vectors.words == ("the", "The")
    assert vectors.lowered == {"The"}
    assert vectors.width == 50
    assert np.array_equal(vectors.table[0], vectors.table[1])
    assert vectors.table[0, 0] == np.float32(0.418)
