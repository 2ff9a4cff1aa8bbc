"""Folders of unknown origin: nothing is unpickled, and every problem names its file and key."""

import json
import os
import struct

import pytest
import torch
from safetensors.torch import load_file, save_file

from dhyan.errors import UserError
from dhyan.interop.ctranslate2_file import ModelFile
from dhyan.interop.import_model import import_model
from dhyan.text.character_map import CharacterMap
from dhyan.text.sentencepiece_file import SentencePieceFile
from tests.interop.spm_models import SHAPES, marian_folder, sentencepiece_model
from tests.tiny_models import dhyan


def pickled(marker):
    """What would open a file for writing if it were unpickled."""
    return f"cbuiltins\nopen\n(V{marker}\nVw\ntR.".encode()


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "theirs"
    marian_folder(folder, **SHAPES["square"])
    return folder


@pytest.fixture
def folder(original, tmp_path):
    copy = tmp_path / "theirs"
    copy.mkdir()
    for file in original.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def refused(folder, match):
    out = folder.with_name("out")
    with pytest.raises(UserError, match=match):
        import_model(folder, out)
    assert not out.exists()
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name]


def change(folder, name, **values):
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_pickled_weights_are_never_loaded(folder):
    marker = folder / "ran"
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickled(marker))
    refused(folder, r"pytorch_model\.bin: is pickled.*save_pretrained")
    (folder / "config.json").unlink()
    (folder / "pytorch_model.bin").rename(folder / "checkpoint_best.pt")
    refused(folder, r"fairseq, OpenNMT-py or JoeyNMT.*pickled.*ct2-fairseq-converter")
    (folder / "model.bin").write_bytes(pickled(marker))
    refused(folder, r"model\.bin: its version is \d+")
    assert not marker.exists()


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("nllb-moe", "NLLB with experts: it needs a mixture of feed-forward networks; Hugging"),
        (
            "bart",
            "BART: it needs the byte-level BPE of GPT-2; Hugging Face Marian .*can be imported",
        ),
        ("mbart", "is of the first mBART, whose sources end in the token of their language"),
        ("umt5", "umT5: it needs a relative position bias in each layer"),
        ("../../etc", r"model_type is '\.\./\.\./etc'; Hugging Face Marian"),
    ],
)
def test_other_kinds_of_models_are_named(folder, kind, match):
    change(folder, "config.json", model_type=kind)
    refused(folder, match)


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("d_model", 10**9, r"config\.json: d_model is 1000000000; give a whole number from 1"),
        ("d_model", "512", r"config\.json: d_model is '512'"),
        ("d_model", 31, r"heads"),
        ("d_model", 36, r"do not fit the recipe"),
        ("encoder_layers", 900_000, r"encoder.layers"),
        ("encoder_layers", 3, r"'encoder\.layers\.2\..*' is on one side only"),
        ("decoder_attention_heads", 3, r"decoder\.heads: width 32 does not divide into 3"),
        ("activation_function", "__import__", r"activation_function is '__import__'; .*swish"),
        ("normalize_before", True, r"normalize_before is True"),
        ("vocab_size", 5, r"vocab\.json: has \d+ tokens, and config\.json's vocab_size"),
        ("pad_token_id", 10**5, r"config\.json: pad_token_id is 100000"),
        ("eos_token_id", [0], r"config\.json: eos_token_id is \[0\]"),
        ("dropout", 10**400, r"dropout is 1000.*give a number from 0 to"),
        ("scale_embedding", 1, r"scale_embedding is 1; give true or false"),
    ],
)
def test_settings_that_cannot_be_are_named(folder, key, value, match):
    change(folder, "config.json", **{key: value})
    refused(folder, match)


def test_links_holes_and_large_files_are_refused(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret"
    outside.write_bytes((folder / "vocab.json").read_bytes())
    (folder / "vocab.json").unlink()
    (folder / "vocab.json").symlink_to(outside)
    refused(folder, r"vocab\.json: is a link, not a file")
    (folder / "vocab.json").unlink()
    os.mkfifo(folder / "vocab.json")
    refused(folder, r"vocab\.json: is a pipe, not a file")
    (folder / "vocab.json").unlink()
    (folder / "vocab.json").write_bytes(outside.read_bytes())
    for name, start in (("model.safetensors", b""), ("model.bin", b""), ("model.bin", b"\6")):
        with (folder / name).open("wb") as file:
            file.write(start)
            file.truncate(2**33)
        refused(folder, rf"{name}: (is mostly a hole|its header|its version is 0)")
    (folder / "model.bin").unlink()
    (folder / "config.json").write_text(" " * 2**21)
    refused(folder, r"config\.json: has 2,097,152 bytes, more than")


def test_damaged_and_foreign_weights_are_refused(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    save_file(weights | {"model.evil": torch.zeros(2)}, path)
    refused(folder, r"'model\.evil' is no weight of a Marian model")
    save_file(
        weights | {"final_logits_bias": torch.full_like(weights["final_logits_bias"], torch.nan)},
        path,
    )
    refused(folder, "not finite")
    save_file({k: v for k, v in weights.items() if "fc1" not in k}, path)
    refused(folder, "on one side only")
    save_file({k: v.to(torch.int32) for k, v in weights.items()}, path)
    refused(folder, "not of floats")
    path.write_bytes(path.read_bytes()[:-5])
    refused(folder, r"model\.safetensors: its tensor")


def test_a_vocabulary_with_gaps_or_duplicates_is_refused(folder):
    ids = json.loads((folder / "vocab.json").read_text())
    (folder / "vocab.json").write_text(json.dumps(ids | {"more": 7}))
    refused(folder, "vocab.json: the id of .* ids must count from 0")
    (folder / "vocab.json").write_text('{"a": 0, "a": 1}')
    refused(folder, "vocab.json: is not valid JSON: the key 'a' comes twice")


def test_damaged_sentencepiece_models_are_refused_and_never_hang():
    data = sentencepiece_model("unigram")
    for at in range(0, len(data), 997):
        broken = bytes([*data[:at], data[at] ^ 0xFF, *data[at + 1 :]])
        for candidate in (broken, data[:at]):
            try:
                file = SentencePieceFile.from_bytes(candidate)
                CharacterMap(file.charsmap)("Nîmes ½ ｆｕｌｌ क़ \u1100\u1161")
            except ValueError:
                continue


def test_normalisation_rules_that_would_fill_the_memory_are_refused():
    unit = struct.pack("<I", 0)
    with pytest.raises(UserError, match="write 5000 bytes for a character"):
        CharacterMap(struct.pack("<I", 4) + unit + b"a" * 5000 + b"\0")
    with pytest.raises(UserError, match="more than 4,194,304 bytes"):
        CharacterMap(bytes(2**23))
    with pytest.raises(UserError, match="trie does not fit"):
        CharacterMap(struct.pack("<I", 2**30) + unit)


def ct2_bytes(variables, version=6, name=b"TransformerSpec\0", tail=bytes(4)):
    data = struct.pack("<IH", version, len(name)) + name + struct.pack("<II", 7, len(variables))
    for text, shape, kind, content, claimed in variables:
        data += struct.pack("<H", len(text) + 1) + text + b"\0" + struct.pack("<B", len(shape))
        data += b"".join(struct.pack("<I", size) for size in shape)
        data += struct.pack("<BI", kind, claimed) + content
    return data + tail


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "goes beyond its end"),
        (ct2_bytes([], version=99), "its version is 99"),
        (ct2_bytes([], tail=struct.pack("<I", 2**32 - 1)), "lists 4,294,967,295 variables"),
        (ct2_bytes([(b"a", (2**31, 2**31), 0, b"", 4)]), "unknown type"),
        (ct2_bytes([(b"a", (2**28,), 0, b"", 2**30)]), "goes beyond its end"),
        (ct2_bytes([(b"a", (1,), 77, b"abcd", 4)]), "unknown type"),
        (ct2_bytes([(b"a", (1,), 0, b"abcd", 4)] * 2), "comes twice"),
        (ct2_bytes([(b"a", (1,), 0, b"abcd", 4)]) + b"x", "its variables end at byte"),
    ],
)  # fmt: skip
def test_damaged_files_of_ctranslate2_are_refused(data, match):
    with pytest.raises(UserError, match=match):
        ModelFile.from_bytes(data)


def test_the_command_says_what_is_wrong_in_one_line(folder):
    change(folder, "config.json", model_type="bart")
    result = dhyan("import", folder, folder.with_name("out"))
    assert result.returncode == 2
    assert result.stderr.decode().splitlines() == [
        f"dhyan: {folder}: is a model of BART: it needs the byte-level BPE of GPT-2; "
        "Hugging Face Marian (OPUS-MT), M2M100, NLLB-200, mBART-50 and T5, and CTranslate2 "
        "Transformers can be imported"
    ]
    result = dhyan("import", folder.with_name("none"), folder.with_name("out"))
    assert "no such folder; name the folder of a model" in result.stderr.decode()
