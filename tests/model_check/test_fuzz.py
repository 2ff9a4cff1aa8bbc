"""Fuzzing: any bytes of a model's files are read, or refused in one line."""

import io
import json
import os
from functools import partial

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load

from dhyan import atomic_folder
from dhyan.checkpoint import find_checkpoint, read_manifest
from dhyan.config import dump_recipe
from dhyan.errors import UserError
from dhyan.model_check import parse_saved_recipe, read_model
from dhyan.safe_io.safetensors_header import read_header
from dhyan.text.safe_tokenizer import count_pieces
from dhyan.text.tokenizer import Tokenizer
from tests.model_check.valid_model import STEP, model_files, tokenizer, write_model

FEW_EXAMPLES, MANY_EXAMPLES = 60, 12_000
FILES = model_files()
TOKENIZERS = [tokenizer(kind, 300).to_json() for kind in ("words", "bpe", "unigram")]
ODD = [
    b"", b"\0", b"\xff", b"{", b"}", b"[", b"]", b'"', b":", b",", b"=", b".", b"\n", b"-1", b"1e9",
    b"1e999", b"NaN", b"null", b"true", b"[[]]", b'"\\ud800"', b'{"a":1}', b"99999999999999999999",
    b'"files"', b'"shape"', b'"data_offsets"', b'"dtype"', b'"F32"', b'"I64"', b"__metadata__",
    b'"vocab"', b'"merges"', b"[encoder]", b'kind = "rnn"', b"width = 1", b"../", b"\xe2\x80\xae",
]  # fmt: skip
CHANGES = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 8),
        st.one_of(st.sampled_from(ODD), st.binary(max_size=6)),
    ),
    min_size=1,
    max_size=6,
)
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-2, 2**70), st.floats(), st.text(max_size=5),
        st.sampled_from(["F32", "BPE", "Unigram", "WordLevel", "<unk>", "a", 0, 4, 8]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)  # fmt: skip


def changed(data, changes):
    """Some bytes replaced by others."""
    for share, length, inserted in changes:
        offset = int(share * len(data))
        data = data[:offset] + inserted + data[offset + length :]
    return data


def replaced(table, draw):
    """JSON with one of its values changed, removed or renamed."""
    owner, key = draw.draw(st.sampled_from(list(entries(table))))
    match draw.draw(st.sampled_from(["change", "remove", "rename"])):
        case "change":
            owner[key] = draw.draw(VALUES)
        case "remove":
            del owner[key]
        case _ if isinstance(owner, dict):
            owner[draw.draw(st.text(max_size=6))] = owner.pop(key)
    return table


def entries(table, limit=12):
    """The first entries of each table, as pairs of owner and key."""
    keys = list(table)[:limit] if isinstance(table, dict) else range(min(len(table), limit))
    for key in keys:
        yield table, key
        if isinstance(table[key], dict | list):
            yield from entries(table[key])


def read_or_refuse(call, *arguments):
    """The result of a reader, or None if it refuses with a UserError; other errors are raised."""
    try:
        return call(*arguments)
    except UserError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 3000
    return None


def check_header(data):
    header = read_or_refuse(read_header, io.BytesIO(data), len(data))
    if header is not None:
        loaded = load(data)
        assert {name: entry.shape for name, entry in header.tensors.items()} == {
            name: tensor.shape for name, tensor in loaded.items()
        }


def check_tokenizer(text):
    count = read_or_refuse(count_pieces, text)
    restored = read_or_refuse(Tokenizer.from_json, text)
    if restored is not None:
        assert len(restored) == count
        restored.decode(restored.encode("one two ☃"))


def check_recipe(data):
    recipe = read_or_refuse(parse_saved_recipe, data)
    if recipe is not None:
        assert parse_saved_recipe(dump_recipe(recipe).encode()) == recipe


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("fuzz") / "run", FILES)


def as_bytes(value):
    return json.dumps(value).encode()


def header_bytes(table, data=b""):
    text = as_bytes(table)
    return len(text).to_bytes(8, "little") + text + data


def fuzz_header(changes):
    check_header(changed(FILES["model.safetensors"], changes))


def fuzz_header_table(draw):
    data = FILES["training.safetensors"]
    length = int.from_bytes(data[:8], "little")
    table = {**json.loads(data[8 : 8 + length]), "b": {"dtype": "I8", "shape": [3, 0]}}
    table["b"]["data_offsets"] = [4, 4]
    check_header(header_bytes(replaced(table, draw), data[8 + length :]))


def fuzz_tokenizer(drawn):
    text, changes = drawn
    check_tokenizer(changed(text.encode(), changes).decode(errors="replace"))


def fuzz_tokenizer_table(draw):
    text = draw.draw(st.sampled_from(TOKENIZERS))
    check_tokenizer(json.dumps(replaced(json.loads(text), draw)))


def fuzz_recipe(changes):
    check_recipe(changed(FILES["recipe.toml"], changes))


def fuzz_manifest(folder, changes):
    path = folder / atomic_folder.MANIFEST
    good = path.read_bytes()
    try:
        path.write_bytes(changed(good, changes))
        read_or_refuse(read_manifest, folder)
    finally:
        path.write_bytes(good)


def fuzz_manifest_table(folder, draw):
    path = folder / atomic_folder.MANIFEST
    good = path.read_bytes()
    table = json.loads(good)
    for field in (atomic_folder.VERSION, atomic_folder.CHECKSUM):
        table.pop(field, None)
    try:
        path.write_bytes(json.dumps(replaced(table, draw)).encode())
        read_or_refuse(read_model, folder)
    finally:
        path.write_bytes(good)


def fuzz_pointer(folder, data):
    pointer = folder.parent / "best.json"
    pointer.write_bytes(data)
    try:
        checkpoint = read_or_refuse(find_checkpoint, folder.parent)
        assert checkpoint in (None, folder)
    finally:
        os.unlink(pointer)


def fuzz_bytes(data):
    check_header(data)
    check_recipe(data)
    read_or_refuse(count_pieces, data.decode("latin-1"))


LAWS = {
    "header": (fuzz_header, CHANGES),
    "table-of-tensors": (fuzz_header_table, st.data()),
    "tokenizer": (fuzz_tokenizer, st.tuples(st.sampled_from(TOKENIZERS), CHANGES)),
    "table-of-pieces": (fuzz_tokenizer_table, st.data()),
    "recipe": (fuzz_recipe, CHANGES),
    "bytes": (fuzz_bytes, st.binary(max_size=300)),
    "manifest": (fuzz_manifest, CHANGES),
    "list-of-files": (fuzz_manifest_table, st.data()),
    "pointer": (fuzz_pointer, st.one_of(st.binary(max_size=60), VALUES.map(as_bytes))),
}
IN_A_FOLDER = ("manifest", "list-of-files", "pointer")


@pytest.mark.parametrize(
    "count", [FEW_EXAMPLES, pytest.param(MANY_EXAMPLES, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize("name", LAWS)
def test_any_bytes_are_read_or_refused_with_one_line(name, count, folder):
    law, strategy = LAWS[name]
    call = partial(law, folder) if name in IN_A_FOLDER else law

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def fuzz(drawn):
        call(drawn)

    fuzz()
    print(f"{name}: {count:,} examples, only UserErrors")


def test_valid_files_are_read(folder):
    assert read_header(io.BytesIO(FILES["model.safetensors"]), len(FILES["model.safetensors"]))
    assert all(count_pieces(text) for text in TOKENIZERS)
    assert parse_saved_recipe(FILES["recipe.toml"])
    assert read_model(folder).folder.name == f"step-{STEP}"
    assert numpy.isfinite(load(FILES["model.safetensors"])["decoder.output.bias"]).all()
