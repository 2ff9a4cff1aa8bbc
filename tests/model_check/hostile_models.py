"""Hostile models, each made from a valid one; their hashes are right unless that is the attack."""

import gzip
import io
import json
import math
import os
import re
import shutil
import socket
import tarfile
import zipfile
import zlib

import numpy
from safetensors.numpy import load, save

from dhyan import atomic_folder
from dhyan.config import Data, DecodingOptions, RNNEncoder
from dhyan.config.declare_settings import settings_of
from dhyan.data.training_sentences import MAGIC
from dhyan.model_check import parse_saved_recipe
from dhyan.model_check.checkpoint_contents import weight_shapes
from dhyan.safe_io.safetensors_header import MAX_HEADER_BYTES
from dhyan.text.safe_tokenizer import MAX_BYTES
from tests.model_check.valid_model import STEP, replace_file, rewrite_manifest

WEIGHTS, RECIPE, SOURCE = "model.safetensors", "recipe.toml", "source.json"
OPTIMIZER_STATE, TRAIN_STATE, BIAS = "training.safetensors", "training.json", "decoder.output.bias"
OUTPUT, CARD = "decoder.output.weight", "card.json"
SENTENCES = "training-sentences.bin"
FILES = (RECIPE, WEIGHTS, SOURCE, "target.json", OPTIMIZER_STATE, TRAIN_STATE)
MAX_LAYERS = settings_of(RNNEncoder)["layers"].high
HOSTILE_CHECKPOINTS = {}
HOSTILE_RUNS = {}


def hostile(name=None):
    """Register a function that changes a checkpoint folder, under a name."""

    def register(attack):
        HOSTILE_CHECKPOINTS[name or attack.__name__.replace("_", "-")] = attack
        return attack

    return register


def payload(marker):
    """What runs `touch` when it is unpickled, written out by hand."""
    return f"cos\nsystem\n(S'touch {marker}'\ntR.".encode()


# names in the manifest


def listed_as(name):
    def attack(folder, marker):
        sums = json.loads((folder / atomic_folder.MANIFEST).read_bytes())["files"]
        rewrite_manifest(folder, {**sums, name: atomic_folder.file_checksum(folder / RECIPE)})

    return attack


for title, listed in {
    "parent": "../recipe.toml",
    "far-parent": "../../../../etc/passwd",
    "absolute": "/etc/passwd",
    "nul": "recipe.toml\0.png",
    "nested": "inner/recipe.toml",
    "backslash": "..\\recipe.toml",
    "drive": "C:recipe.toml",
    "dots": "..",
    "dot": ".",
    "empty": "",
    "hidden": ".recipe.toml",
    "long": "a" * 5000,
    "upper-case": "MODEL.SAFETENSORS",
    "lookalike": "m\u043edel.safetensors",
    "turned-round": "\u202elmot.epicer",
    "line-break": "recipe.toml\nrecipe.toml",
    "code": "model.py",
    "torch": "pytorch_model.bin",
    "link-name": "model.safetensors.index.json",
}.items():
    hostile(f"listed-{title}")(listed_as(listed))


def unlisted(name):
    def attack(folder, marker):
        (folder / name).unlink()
        rewrite_manifest(folder)

    return attack


for file in FILES[:4]:
    hostile(f"without-{file}")(unlisted(file))


@hostile()
def missing_weights(folder, marker):
    (folder / WEIGHTS).unlink()


# what is no plain file


def pointing(name, target):
    def attack(folder, marker):
        (folder / name).unlink()
        (folder / name).symlink_to(target if target else folder / name)

    return attack


for title, (name, target) in {
    "weights-to-zeros-without-end": (WEIGHTS, "/dev/zero"),
    "recipe-to-a-secret": (RECIPE, "/etc/passwd"),
    "recipe-to-a-folder": (RECIPE, "/etc"),
    "recipe-in-a-loop": (RECIPE, None),
    "vocabulary-to-nothing": (SOURCE, "/nowhere"),
    "weights-to-standard-input": (WEIGHTS, "/dev/stdin"),
}.items():
    hostile(f"link-{title}")(pointing(name, target))


@hostile()
def link_to_a_copy_of_itself(folder, marker):
    outside = folder.parent.parent / "outside.safetensors"
    (folder / WEIGHTS).rename(outside)
    (folder / WEIGHTS).symlink_to(outside)


@hostile()
def link_manifest(folder, marker):
    outside = folder.parent.parent / "outside.json"
    (folder / atomic_folder.MANIFEST).rename(outside)
    (folder / atomic_folder.MANIFEST).symlink_to(outside)


def pipe(name):
    def attack(folder, marker):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return attack


for file in (*FILES[:3], atomic_folder.MANIFEST):
    hostile(f"pipe-{file}")(pipe(file))


@hostile()
def socket_for_weights(folder, marker):
    (folder / WEIGHTS).unlink()
    previous = os.getcwd()
    os.chdir(folder)  # the name of a socket has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(WEIGHTS)
    os.chdir(previous)


@hostile()
def folder_for_recipe(folder, marker):
    (folder / RECIPE).unlink()
    (folder / RECIPE).mkdir()


# other formats where a file of ours should be


def filled(name, data):
    def attack(folder, marker):
        replace_file(folder, name, data(marker) if callable(data) else data)

    return attack


for file in FILES:
    hostile(f"pickle-{file}")(filled(file, payload))
    hostile(f"nothing-in-{file}")(filled(file, b""))


def zipped(size):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as box:
        box.writestr("archive/data.pkl", bytes(size))
    return file.getvalue()


def tarred():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as box:
        link = tarfile.TarInfo("../../escaped")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        box.addfile(link)
    return file.getvalue()


for file in FILES[:3]:
    hostile(f"zip-{file}")(filled(file, zipped(1000)))
    hostile(f"tar-{file}")(filled(file, tarred()))
hostile("zip-bomb")(filled(WEIGHTS, zipped(32 * 2**20)))
hostile("gzip-recipe")(filled(RECIPE, gzip.compress(b"about = 'x'")))
hostile("pickle-manifest")(
    lambda folder, marker: (folder / atomic_folder.MANIFEST).write_bytes(payload(marker))
)


def sparse_file(folder, name, begins, size):
    """A file that is said to be large, and takes no room."""
    (folder / name).write_bytes(begins)
    os.truncate(folder / name, size)
    sums = json.loads((folder / atomic_folder.MANIFEST).read_bytes())["files"]
    rewrite_manifest(folder, {**sums, name: {"sha256": "0" * 64, "bytes": size}})


# headers of the weights


def header(table, data=b""):
    text = table if isinstance(table, bytes) else json.dumps(table).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


HEADERS = {
    "twice": header(b'{"a":%s,"a":%s}' % ((json.dumps(entry()).encode(),) * 2), bytes(4)),
    "twice-within": header(b'{"a":{"dtype":"F32","shape":[1],"shape":[2],"data_offsets":[0,4]}}'),
    "overlap": header(
        {"a": entry(shape=(2,), offsets=(0, 8)), "b": entry(offsets=(4, 8))}, bytes(8)
    ),
    "hole": header({"a": entry(), "b": entry(offsets=(8, 12))}, bytes(12)),
    "overflow": header({"a": entry(shape=(2**33, 2**33), offsets=(0, 4))}, bytes(4)),
    "overflow-to-nothing": header({"a": entry(shape=(2**62, 4), offsets=(0, 0))}),
    "too-large": header({"a": entry(shape=(2**70,), offsets=(0, 2**72))}),
    "negative": header({"a": entry(shape=(-1,), offsets=(4, 0))}, bytes(4)),
    "backwards": header({"a": entry(offsets=(4, 0))}, bytes(4)),
    "fraction": header({"a": entry(shape=(1.0,))}, bytes(4)),
    "truth": header({"a": entry(shape=(True,))}, bytes(4)),
    "unknown-type": header({"a": entry(dtype="PICKLE")}, bytes(4)),
    "more-keys": header({"a": {**entry(), "code": "os.system"}}, bytes(4)),
    "bytes-beyond": header({"a": entry()}, bytes(400)),
    "cut-short": header({"a": entry(shape=(100,), offsets=(0, 400))}, bytes(4)),
    "a-list": header([entry()]),
    "no-json": header(b"{" * 100),
    "nested": header(b"[" * 2**20 + b"]" * 2**20),
    "nested-metadata": header({"__metadata__": {"a": ["b"]}, "a": entry()}, bytes(4)),
    "not-utf-8": header(b'{"\xff\xfe": 1}'),
    "half-a-letter": header(b'{"\\ud800":%s}' % json.dumps(entry()).encode(), bytes(4)),
    "nan": header(b'{"a":NaN}'),
    "a-number-of-a-million-digits": header(b'{"a":1' + b"0" * 10**6 + b"}"),
    "more-axes": header({"a": entry(shape=(1,) * 100)}, bytes(4)),
    "no-length": b"\1\2\3",
    "length-without-end": b"\xff" * 8 + b"{}",
    "of-lists": header(b'{"a":[' + b",".join([b"[]"] * (MAX_HEADER_BYTES // 3 - 4)) + b"]}"),
    "of-tables": header(b'{"a":[' + b",".join([b"{}"] * (MAX_HEADER_BYTES // 3 - 4)) + b"]}"),
    "of-numbers": header(b'{"a":[' + b",".join([b"1"] * (MAX_HEADER_BYTES // 2 - 4)) + b"]}"),
    "of-wide-letters": header(
        b'{"a":"' + b"a" * (MAX_HEADER_BYTES - 20) + "\U0001f600".encode() + b'"}'
    ),
    "tensors-20001": header({f"{i}": entry(shape=(0,), offsets=(0, 0)) for i in range(20_001)}),
}
for title, data in HEADERS.items():
    hostile(f"header-{title}")(filled(WEIGHTS, data))


@hostile()
def header_of_a_million_tensors(folder, marker):
    line = b'"%07d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},'
    text = b"{" + b"".join(line % i for i in range(10**6))[:-1] + b"}"
    replace_file(folder, WEIGHTS, header(text))


@hostile()
def header_of_99_megabytes(folder, marker):
    sparse_file(folder, WEIGHTS, (99 * 2**20).to_bytes(8, "little") + b"{", 100 * 2**20)


@hostile()
def header_just_within_the_bound(folder, marker):
    replace_file(
        folder, WEIGHTS, header(b'{"__metadata__":{"a":"' + b"[" * (MAX_HEADER_BYTES - 25) + b'"}}')
    )


@hostile()
def a_terabyte_of_nothing(folder, marker):
    """A file with a hole in it takes no room, and would if it were read."""
    size = 2**40
    begins = header({"a": entry(shape=(size // 4,), offsets=(0, size))})
    sparse_file(folder, WEIGHTS, begins, len(begins) + size)


def sparse_weights(folder, shapes):
    """Weights of these shapes, none of which are there."""
    table, end = {}, 0
    for name, shape in shapes.items():
        start, end = end, end + 4 * math.prod(shape)
        table[name] = entry(shape=shape, offsets=(start, end))
    begins = header(table)
    sparse_file(folder, WEIGHTS, begins, len(begins) + end)


@hostile()
def a_model_of_nothing(folder, marker):
    """All weights are as the recipe wants them, and it wants many."""
    set_recipe(folder, "encoder.embedding_width", 10**8)
    files = [json.loads((folder / name).read_bytes()) for name in (SOURCE, "target.json")]
    sizes = tuple(len(table["model"]["vocab"]) for table in files)
    recipe = parse_saved_recipe((folder / RECIPE).read_bytes())
    sparse_weights(folder, weight_shapes(recipe, sizes))


# weights that are not the recipe's


def quantized(tensors, scale):
    """The output layer in whole numbers, with this scale."""
    return {OUTPUT: tensors[OUTPUT].astype("i1"), f"{OUTPUT}:scale": scales(tensors, "1"), **scale}


def scales(tensors, value):
    return numpy.full(len(tensors[OUTPUT]), numpy.float32(value), "f4")


def changed_weights(change):
    def attack(folder, marker):
        tensors = dict(load((folder / WEIGHTS).read_bytes()))
        change(tensors)
        (folder / OPTIMIZER_STATE).unlink()  # which would be refused first
        replace_file(folder, WEIGHTS, save(tensors))

    return attack


for title, change in {
    "another-shape": lambda t: t.update({BIAS: t[BIAS][:-1]}),
    "more-axes": lambda t: t.update({BIAS: t[BIAS][None]}),
    "whole-numbers": lambda t: t.update({BIAS: t[BIAS].astype("i1")}),
    "whole-numbers-without-scale": lambda t: t.update({OUTPUT: t[OUTPUT].astype("i1")}),
    "scale-of-nothing": lambda t: t.update({"evil:scale": numpy.zeros(4, "f4")}),
    "scale-of-a-scale": lambda t: t.update(
        quantized(t, {f"{OUTPUT}:scale:scale": numpy.ones(1, "f4")})
    ),
    "scale-of-another-shape": lambda t: t.update(
        quantized(t, {f"{OUTPUT}:scale": numpy.ones(1, "f4")})
    ),
    "scale-in-double": lambda t: t.update(
        quantized(t, {f"{OUTPUT}:scale": numpy.ones(len(t[OUTPUT]))})
    ),
    "scale-infinite": lambda t: t.update(quantized(t, {f"{OUTPUT}:scale": scales(t, "inf")})),
    "scale-too-large": lambda t: t.update(quantized(t, {f"{OUTPUT}:scale": scales(t, "1e38")})),
    "half-precision-nan": lambda t: t.update({BIAS: t[BIAS].astype("f2") * numpy.float16("nan")}),
    "double-precision": lambda t: t.update({BIAS: t[BIAS].astype("f8")}),
    "another-name": lambda t: t.update({"decoder.output.bias2": t.pop(BIAS)}),
    "one-more": lambda t: t.update({"evil": numpy.zeros(4, "f4")}),
    "one-less": lambda t: t.pop(BIAS),
    "nan": lambda t: t.update({BIAS: t[BIAS] * numpy.float32("nan")}),
    "infinity": lambda t: t.update({BIAS: t[BIAS] + numpy.float32("inf")}),
}.items():
    hostile(f"weights-{title}")(changed_weights(change))


# recipes


def set_recipe(folder, key, literal):
    """Give a key of the saved recipe another value, as TOML text."""
    section, _, name = key.rpartition(".")
    head, table, rest = (folder / RECIPE).read_text().partition(f"[{section}]\n")
    changed, count = re.subn(rf"(?m)^{name} = .*$", f"{name} = {literal}", rest, count=1)
    assert count == 1, key
    replace_file(folder, RECIPE, (head + table + changed).encode())


def with_setting(key, literal):
    return lambda folder, marker: set_recipe(folder, key, literal)


def with_line(section, line):
    def attack(folder, marker):
        text = (folder / RECIPE).read_text()
        assert section in text
        replace_file(folder, RECIPE, text.replace(section, f"{section}{line}\n", 1).encode())

    return attack


for title, line in {
    "target": '_target_ = "os.system"',
    "module": 'module = "os"\nclass_name = "system"',
    "trust": "trust_remote_code = true",
    "twice": "width = 16",
}.items():
    hostile(f"recipe-{title}")(with_line("[encoder]\n", line))

for title, (key, literal) in {
    "code-for-a-score": ("decoder.attention.score", '"os.system"'),
    "code-for-a-kind": ("encoder.kind", "\"__import__('os')\""),
    "width-of-a-billion": ("encoder.width", 10**9),
    "layers-without-end": ("encoder.layers", 10**12),
    "layers-one-more": ("encoder.layers", 2),
    "heads-without-end": ("decoder.attention.heads", 10**9),
    "score-width-of-a-billion": ("decoder.attention.score_width", 10**9),
    "beyond-all-numbers": ("data.max_tokens", 10**30),
    "a-million-digits": ("data.max_tokens", "1" + "0" * 10**5),
    "not-a-number": ("encoder.dropout", "nan"),
    "negative": ("encoder.width", -16),
    "a-table-for-a-number": ("encoder.width", "{a = 1}"),
    **{
        f"{section}-{name}-without-end": (f"{section}.{name}", 2**62)
        for section, declared in (("decoding", DecodingOptions), ("data", Data))
        for name, setting in settings_of(declared).items()
        if setting.type is int and name != "seed"
    },
}.items():
    hostile(f"recipe-{title}")(with_setting(key, literal))


@hostile()
def recipe_max_tokens_and_batches_without_end(folder, marker):
    set_recipe(folder, "training.tokens_per_batch", 0)
    set_recipe(folder, "data.max_tokens", 2**62)


@hostile()
def recipe_of_many_layers(folder, marker):
    """As many tensors as that many layers would need."""
    set_recipe(folder, "encoder.layers", 2400)
    table = {f"{i}": entry(shape=(0,), offsets=(0, 0)) for i in range(10_000)}
    replace_file(folder, WEIGHTS, header(table))


@hostile()
def recipe_of_the_most_layers(folder, marker):
    """The deepest model that is built before its weights are refused."""
    for side in ("encoder", "decoder"):
        set_recipe(folder, f"{side}.layers", MAX_LAYERS)
    (folder / OPTIMIZER_STATE).unlink()
    table = {f"{i}": entry(shape=(0,), offsets=(0, 0)) for i in range(10_000)}
    replace_file(folder, WEIGHTS, header(table))


hostile("recipe-nested")(filled(RECIPE, b"about = " + b"[" * 50_000 + b"]" * 50_000))
hostile("recipe-of-dots")(filled(RECIPE, b".".join([b"a"] * 50_000) + b" = 1"))
hostile("recipe-of-a-megabyte")(filled(RECIPE, b"#" * 2**20))
hostile("recipe-yaml")(filled(RECIPE, b"!!python/object/apply:os.system ['true']"))
hostile("recipe-not-utf-8")(filled(RECIPE, b"about = '\xff\xfe'"))


# vocabularies


def changed_tokenizer(change):
    def attack(folder, marker):
        table = json.loads((folder / SOURCE).read_bytes())
        change(table)
        replace_file(folder, SOURCE, json.dumps(table).encode())

    return attack


BOMB = {"Regex": "(a+)+$"}
PAD_FAR = {
    "strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
    "pad_type_id": 0, "pad_token": "<pad>",
}  # fmt: skip
ADDED = {
    "id": 0, "content": "a" * 1000, "single_word": False, "lstrip": False, "rstrip": False,
    "normalized": False, "special": False,
}  # fmt: skip


def renumbered(table):
    vocabulary = table["model"]["vocab"]
    vocabulary[max(vocabulary, key=vocabulary.get)] += 10**9


for title, change in {
    "pattern": lambda t: t["pre_tokenizer"]["pretokenizers"][1].update(pattern=BOMB),
    "one-cut-more": lambda t: t["pre_tokenizer"]["pretokenizers"].append(
        {"type": "Split", "pattern": BOMB, "behavior": "Isolated", "invert": False}
    ),
    "replacing": lambda t: t.update(
        normalizer={"type": "Replace", "pattern": BOMB, "content": "b" * 1000}
    ),
    "char-map": lambda t: t.update(normalizer={"type": "Precompiled", "precompiled_charsmap": "A"}),
    "padding": lambda t: t.update(padding=PAD_FAR),
    "truncating": lambda t: t.update(
        truncation={"max_length": 1, "stride": 0, "strategy": "LongestFirst", "direction": "Right"}
    ),
    "added": lambda t: t.update(added_tokens=[ADDED]),
    "post": lambda t: t.update(post_processor={"type": "ByteLevel"}),
    "decoder": lambda t: t.update(decoder={"type": "Replace", "pattern": BOMB, "content": ""}),
    "another-model": lambda t: t["model"].update(type="WordPiece"),
    "no-model": lambda t: t.pop("model"),
    "dropout": lambda t: t["model"].update(dropout=0.5),
    "prefix": lambda t: t["model"].update(continuing_subword_prefix="##"),
    "more-keys": lambda t: t.update(auto_map="evil.Tokenizer"),
    "ids-with-a-hole": renumbered,
    "one-piece-more": lambda t: t["model"]["vocab"].update(evil=len(t["model"]["vocab"])),
    "other-first-ids": lambda t: t["model"]["vocab"].update({"<pad>": 1, "<s>": 0}),
    "merges-of-nothing": lambda t: t["model"]["merges"].append(["x" * 1000, "y"]),
    "merges-of-lists": lambda t: t["model"]["merges"].append([["a"], "b", "c"]),
}.items():
    hostile(f"tokenizer-{title}")(changed_tokenizer(change))


def scored(pieces):
    first = [["<pad>", 0.0], ["<s>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]]
    return json.dumps(
        {"model": {"type": "Unigram", "unk_id": 3, "vocab": first + pieces, "byte_fallback": True}}
    ).encode()


hostile("tokenizer-long-piece")(filled(SOURCE, scored([["a" * 10**6, -1.0]])))
hostile("tokenizer-nan")(filled(SOURCE, scored([["a", float("nan")]])))
hostile("tokenizer-infinity")(filled(SOURCE, scored([["a", 1.0]]).replace(b"1.0", b"1e999")))
hostile("tokenizer-piece-twice")(filled(SOURCE, scored([["a", -1.0]] * 2)))
hostile("tokenizer-half-a-letter")(filled(SOURCE, scored([["\ud800", -1.0]])))
hostile("tokenizer-nested")(filled(SOURCE, b"[" * 500_000 + b"]" * 500_000))
hostile("tokenizer-of-lists")(filled(SOURCE, b"[" + b"[]," * 5_000_000 + b"[]]"))
hostile("tokenizer-of-keys")(
    filled(SOURCE, b"{" + b",".join([b'"%d":0' % i for i in range(1000)] * 6000) + b"}")
)
WIDE = "\U0001f600".encode()
LONG, LONG_KEYS = b"a" * (MAX_BYTES - 2**10), b'"%s":0,' % (b"a" * 60) * (MAX_BYTES // 65 - 10)
hostile("tokenizer-of-one-wide-letter")(filled(SOURCE, b'{"model":"' + LONG + WIDE + b'"}'))
hostile("tokenizer-of-escaped-quotes")(
    filled(
        SOURCE,
        b'{"model":"'
        + b'\\",'.join([b"a" * 10**4] * (MAX_BYTES // 10**4 - 10))
        + b'\\ud83d\\ude00"}',
    )
)
hostile("tokenizer-of-wide-keys")(filled(SOURCE, b'{"' + WIDE + b'":0,' + LONG_KEYS + b'"b":0}'))


@hostile()
def tokenizer_of_a_gigabyte(folder, marker):
    sparse_file(folder, SOURCE, b"{", 2**30)


# manifests


def manifest(change):
    def attack(folder, marker):
        path = folder / atomic_folder.MANIFEST
        changed = change(json.loads(path.read_bytes()))
        path.write_bytes(changed if isinstance(changed, bytes) else json.dumps(changed).encode())

    return attack


def summed(**changes):
    return lambda m: (
        {k: v for k, v in m.items() if k not in (atomic_folder.VERSION, atomic_folder.CHECKSUM)}
        | {"files": {**m["files"], RECIPE: {**m["files"][RECIPE], **changes}}}
    )


for title, change in {
    "empty": lambda m: b"",
    "a-list": lambda m: [m],
    "a-text": lambda m: "files",
    "files-a-list": lambda m: {**m, "files": list(m["files"])},
    "files-of-numbers": lambda m: {**m, "files": dict.fromkeys(m["files"], 1)},
    "no-files": lambda m: {**m, "files": {}},
    "nested": lambda m: b"[" * 400_000 + b"]" * 400_000,
    "of-two-megabytes": lambda m: json.dumps(m).encode() + b" " * 2**21,
    "key-twice": lambda m: json.dumps(m).encode()[:-1] + b', "files": {}}',
    "changed": lambda m: {**m, "step": 4},
    "name-of-half-a-letter": lambda m: {**m, "files": {**m["files"], "\ud800": m["files"][RECIPE]}},
    "sum-of-half-a-letter": lambda m: {**m, atomic_folder.CHECKSUM: "\ud800"},
    "sum-a-list": lambda m: {**m, atomic_folder.CHECKSUM: [1]},
    "another-hash": summed(sha256="0" * 64),
    "no-hash": summed(sha256=None),
    "hash-a-list": summed(sha256=["0"]),
    "size-a-text": summed(bytes="10"),
    "size-negative": summed(bytes=-1),
    "size-true": summed(bytes=True),
    "size-a-fraction": summed(bytes=1e300),
    "size-without-end": summed(bytes=10**30),
    "no-facts": lambda m: {"files": m["files"]},
}.items():
    hostile(f"manifest-{title}")(manifest(change))


# what a run would go on from


def train_state(facts):
    return lambda folder, marker: replace_file(folder, TRAIN_STATE, json.dumps(facts).encode())


for title, facts in {
    "is-a-list": [1],
    "of-another-step": {"step": STEP + 1},
    "without-a-step": {},
    "before-the-start": {"step": STEP, "position": -1},
    "in-words": {"step": STEP, "position": "here"},
    "true-for-one": {"step": STEP, "validations_since_best": True},
    "beyond-all-numbers": {"step": STEP, "position": 2**64},
    "rounded-to-nothing": {"step": STEP, "length_multiple": 0},
    "with-code": {"step": STEP, "__class__": "os.system"},
    "scored-in-words": {"step": STEP, "scores": {"loss": "low"}},
    "owing-a-number": {"step": STEP, "validation_pending": 1},
}.items():
    hostile(f"train-state-{title}")(train_state(facts))


def optimizer_tensors(change):
    def attack(folder, marker):
        tensors = dict(load((folder / OPTIMIZER_STATE).read_bytes()))
        change(tensors)
        replace_file(folder, OPTIMIZER_STATE, save(tensors))

    return attack


for title, change in {
    "of-no-weight": lambda tensors: tensors.update({"os.system:step": numpy.zeros((), "f4")}),
    "without-a-name": lambda tensors: tensors.update({"": numpy.zeros((), "f4")}),
    "of-another-shape": lambda tensors: tensors.update({f"{BIAS}:exp_avg": numpy.zeros(3, "f4")}),
    "of-another-type": lambda tensors: tensors.update({f"{BIAS}:step": numpy.zeros((), "f8")}),
    "by-halves": lambda tensors: tensors.pop(f"{BIAS}:exp_avg"),
    "of-another-kind": lambda tensors: tensors.update({f"{BIAS}:sum": tensors[f"{BIAS}:exp_avg"]}),
    "of-an-average": lambda tensors: tensors.update({f"{BIAS}:raw": tensors[f"{BIAS}:exp_avg"]}),
}.items():
    hostile(f"optimizer-state-{title}")(optimizer_tensors(change))


@hostile()
def optimizer_state_of_a_terabyte(folder, marker):
    """Its header and its manifest agree, and its sum would take minutes."""
    size = 2**40
    begins = header({f"{BIAS}:exp_avg": entry(shape=(size // 4,), offsets=(0, size))})
    sparse_file(folder, OPTIMIZER_STATE, begins, len(begins) + size)


@hostile()
def train_state_of_a_terabyte(folder, marker):
    sparse_file(folder, TRAIN_STATE, b"{", 2**40)


# cards

hostile("card-pickle")(filled(CARD, payload))
hostile("card-nested")(filled(CARD, b"[" * 30_000))
hostile("card-a-list")(filled(CARD, b"[1, 2]"))
hostile("card-too-large")(filled(CARD, b"{}" + b" " * 2**16))


@hostile()
def card_of_a_terabyte(folder, marker):
    sparse_file(folder, CARD, b"{", 2**40)


# training sentences

hostile("sentences-pickle")(filled(SENTENCES, payload))
hostile("sentences-bomb")(filled(SENTENCES, MAGIC + zlib.compress(bytes(2**26))))
hostile("sentences-beyond-28-bits")(filled(SENTENCES, MAGIC + zlib.compress(b"\xff" * 64)))
hostile("sentences-cut-off")(filled(SENTENCES, MAGIC + zlib.compress(bytes(4))[:-1]))


@hostile()
def sentences_of_a_terabyte(folder, marker):
    sparse_file(folder, SENTENCES, MAGIC, 2**40)


# whole run folders


def hostile_run(attack):
    """Register a function that changes a run folder."""
    HOSTILE_RUNS["run-" + attack.__name__.replace("_", "-")] = attack
    return attack


@hostile_run
def step_is_a_link(run, marker):
    outside = run.parent / "elsewhere"
    (run / f"step-{STEP}").rename(outside)
    (run / f"step-{STEP}").symlink_to(outside)


@hostile_run
def step_is_a_loop(run, marker):
    (run / f"step-{STEP}").rename(run / "gone")
    (run / f"step-{STEP}").symlink_to(run / f"step-{STEP}")


@hostile_run
def pointer_is_a_pipe(run, marker):
    os.mkfifo(run / "best.json")


@hostile_run
def pointer_is_a_link(run, marker):
    (run / "best.json").symlink_to("/dev/zero")


@hostile_run
def pointer_leads_outside(run, marker):
    (run / "best.json").write_text(json.dumps({"step": f"../../{run.name}/step-{STEP}"}))


@hostile_run
def pointer_is_huge(run, marker):
    (run / "best.json").touch()
    os.truncate(run / "best.json", 2**32)


@hostile_run
def pointer_is_nested(run, marker):
    (run / "best.json").write_bytes(b"[" * 30_000)


@hostile_run
def pointer_is_a_pickle(run, marker):
    (run / "best.json").write_bytes(payload(marker))


@hostile_run
def distributed_checkpoint(run, marker):
    for path in (run / f"step-{STEP}").iterdir():
        path.unlink()
    (run / f"step-{STEP}" / ".metadata").write_bytes(payload(marker))
    (run / f"step-{STEP}" / "__0_0.distcp").write_bytes(payload(marker))


@hostile_run
def of_another_toolkit(run, marker):
    (run / f"step-{STEP}").rename(run / "gone")
    (run / "config.json").write_text('{"auto_map": {"AutoModel": "model.Evil"}}')
    (run / "pytorch_model.bin").write_bytes(payload(marker))
    (run / "model.py").write_text(f"open({str(marker)!r}, 'w')")


@hostile_run
def an_archive(run, marker):
    moved = run.with_name("moved")
    run.rename(moved)
    run.write_bytes(zipped(1000))


@hostile_run
def a_pipe(run, marker):
    run.rename(run.with_name("moved"))
    os.mkfifo(run)


def make_hostile(name, valid, run, marker):
    """Copy a valid run and attack it; the path that must be refused."""
    shutil.copytree(valid, run)
    if name in HOSTILE_RUNS:
        HOSTILE_RUNS[name](run, marker)
    else:
        HOSTILE_CHECKPOINTS[name](run / f"step-{STEP}", marker)
    return run


ALL_HOSTILE = [*HOSTILE_CHECKPOINTS, *HOSTILE_RUNS]
NOT_AS_BUILT = {  # refused when the model is built on the meta device
    *("a-model-of-nothing", "recipe-code-for-a-score", "recipe-layers-one-more"),
    *("recipe-of-the-most-layers", "tokenizer-one-piece-more", "weights-another-name"),
    *("weights-another-shape", "weights-more-axes", "weights-one-less", "weights-one-more"),
}
