"""Models that mean harm, each made by code from a good one; all their hashes are right."""

import gzip
import io
import json
import math
import os
import shutil
import socket
import tarfile
import zipfile

import numpy
from safetensors.numpy import load, save

from dhyan import atomic_folder as whole
from dhyan.model_check import parse_saved_recipe
from dhyan.model_check.weight_shapes import weights_of
from dhyan.safe_io.safetensors_header import LONGEST_HEADER
from dhyan.text.safe_tokenizer import MOST_BYTES
from tests.security.valid_model import STEP, put, resigned

WEIGHTS, RECIPE, SOURCE = "model.safetensors", "recipe.toml", "source.json"
MEMORY, PROGRESS, BIAS = "training.safetensors", "training.json", "decoder.output.bias"
SLOTS = (RECIPE, WEIGHTS, SOURCE, "target.json", MEMORY, PROGRESS)
ZOO = {}
OF_RUNS = {}


def animal(name=None):
    """Keep a way to spoil a checkpoint's folder, by its name."""

    def keep(spoil):
        ZOO[name or spoil.__name__.replace("_", "-")] = spoil
        return spoil

    return keep


def payload(marker):
    """What runs `touch` when it is unpickled, written out by hand."""
    return f"cos\nsystem\n(S'touch {marker}'\ntR.".encode()


# names in the manifest


def listed_as(name):
    def spoil(folder, marker):
        sums = json.loads((folder / whole.MANIFEST).read_bytes())["files"]
        resigned(folder, {**sums, name: whole.file_checksum(folder / RECIPE)})

    return spoil


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
    animal(f"listed-{title}")(listed_as(listed))


def unlisted(name):
    def spoil(folder, marker):
        (folder / name).unlink()
        resigned(folder)

    return spoil


for slot in SLOTS[:4]:
    animal(f"without-{slot}")(unlisted(slot))


@animal()
def missing_weights(folder, marker):
    (folder / WEIGHTS).unlink()


# what is no plain file


def pointing(name, target):
    def spoil(folder, marker):
        (folder / name).unlink()
        (folder / name).symlink_to(target if target else folder / name)

    return spoil


for title, (name, target) in {
    "weights-to-zeros-without-end": (WEIGHTS, "/dev/zero"),
    "recipe-to-a-secret": (RECIPE, "/etc/passwd"),
    "recipe-to-a-folder": (RECIPE, "/etc"),
    "recipe-in-a-loop": (RECIPE, None),
    "vocabulary-to-nothing": (SOURCE, "/nowhere"),
    "weights-to-standard-input": (WEIGHTS, "/dev/stdin"),
}.items():
    animal(f"link-{title}")(pointing(name, target))


@animal()
def link_to_a_copy_of_itself(folder, marker):
    outside = folder.parent.parent / "outside.safetensors"
    (folder / WEIGHTS).rename(outside)
    (folder / WEIGHTS).symlink_to(outside)


@animal()
def link_manifest(folder, marker):
    outside = folder.parent.parent / "outside.json"
    (folder / whole.MANIFEST).rename(outside)
    (folder / whole.MANIFEST).symlink_to(outside)


def pipe(name):
    def spoil(folder, marker):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return spoil


for slot in (*SLOTS[:3], whole.MANIFEST):
    animal(f"pipe-{slot}")(pipe(slot))


@animal()
def socket_for_weights(folder, marker):
    (folder / WEIGHTS).unlink()
    place = os.getcwd()
    os.chdir(folder)  # the name of a socket has to be short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(WEIGHTS)
    os.chdir(place)


@animal()
def folder_for_recipe(folder, marker):
    (folder / RECIPE).unlink()
    (folder / RECIPE).mkdir()


# other formats where a file of ours should be


def filled(name, data):
    def spoil(folder, marker):
        put(folder, name, data(marker) if callable(data) else data)

    return spoil


for slot in SLOTS:
    animal(f"pickle-{slot}")(filled(slot, payload))
    animal(f"nothing-in-{slot}")(filled(slot, b""))


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


for slot in SLOTS[:3]:
    animal(f"zip-{slot}")(filled(slot, zipped(1000)))
    animal(f"tar-{slot}")(filled(slot, tarred()))
animal("zip-bomb")(filled(WEIGHTS, zipped(32 * 2**20)))
animal("gzip-recipe")(filled(RECIPE, gzip.compress(b"about = 'x'")))
animal("pickle-manifest")(
    lambda folder, marker: (folder / whole.MANIFEST).write_bytes(payload(marker))
)


def hollow(folder, name, begins, size):
    """A file that is said to be large, and takes no room."""
    (folder / name).write_bytes(begins)
    os.truncate(folder / name, size)
    sums = json.loads((folder / whole.MANIFEST).read_bytes())["files"]
    resigned(folder, {**sums, name: {"sha256": "0" * 64, "bytes": size}})


# headers of the weights


def header(table, data=b""):
    text = table if isinstance(table, bytes) else json.dumps(table).encode()
    return len(text).to_bytes(8, "little") + text + data


def one(dtype="F32", shape=(1,), places=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(places)}


HEADERS = {
    "twice": header(b'{"a":%s,"a":%s}' % ((json.dumps(one()).encode(),) * 2), bytes(4)),
    "twice-within": header(b'{"a":{"dtype":"F32","shape":[1],"shape":[2],"data_offsets":[0,4]}}'),
    "overlap": header({"a": one(shape=(2,), places=(0, 8)), "b": one(places=(4, 8))}, bytes(8)),
    "hole": header({"a": one(), "b": one(places=(8, 12))}, bytes(12)),
    "overflow": header({"a": one(shape=(2**33, 2**33), places=(0, 4))}, bytes(4)),
    "overflow-to-nothing": header({"a": one(shape=(2**62, 4), places=(0, 0))}),
    "too-large": header({"a": one(shape=(2**70,), places=(0, 2**72))}),
    "negative": header({"a": one(shape=(-1,), places=(4, 0))}, bytes(4)),
    "backwards": header({"a": one(places=(4, 0))}, bytes(4)),
    "fraction": header({"a": one(shape=(1.0,))}, bytes(4)),
    "truth": header({"a": one(shape=(True,))}, bytes(4)),
    "unknown-type": header({"a": one(dtype="PICKLE")}, bytes(4)),
    "more-keys": header({"a": {**one(), "code": "os.system"}}, bytes(4)),
    "bytes-beyond": header({"a": one()}, bytes(400)),
    "cut-short": header({"a": one(shape=(100,), places=(0, 400))}, bytes(4)),
    "a-list": header([one()]),
    "no-json": header(b"{" * 100),
    "nested": header(b"[" * 2**20 + b"]" * 2**20),
    "nested-metadata": header({"__metadata__": {"a": ["b"]}, "a": one()}, bytes(4)),
    "not-utf-8": header(b'{"\xff\xfe": 1}'),
    "half-a-letter": header(b'{"\\ud800":%s}' % json.dumps(one()).encode(), bytes(4)),
    "nan": header(b'{"a":NaN}'),
    "a-number-of-a-million-digits": header(b'{"a":1' + b"0" * 10**6 + b"}"),
    "more-axes": header({"a": one(shape=(1,) * 100)}, bytes(4)),
    "no-length": b"\1\2\3",
    "length-without-end": b"\xff" * 8 + b"{}",
    "of-lists": header(b'{"a":[' + b",".join([b"[]"] * (LONGEST_HEADER // 3 - 4)) + b"]}"),
    "of-tables": header(b'{"a":[' + b",".join([b"{}"] * (LONGEST_HEADER // 3 - 4)) + b"]}"),
    "of-numbers": header(b'{"a":[' + b",".join([b"1"] * (LONGEST_HEADER // 2 - 4)) + b"]}"),
    "of-wide-letters": header(
        b'{"a":"' + b"a" * (LONGEST_HEADER - 20) + "\U0001f600".encode() + b'"}'
    ),
    "tensors-20001": header({f"{i}": one(shape=(0,), places=(0, 0)) for i in range(20_001)}),
}
for title, data in HEADERS.items():
    animal(f"header-{title}")(filled(WEIGHTS, data))


@animal()
def header_of_a_million_tensors(folder, marker):
    entry = b'"%07d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},'
    text = b"{" + b"".join(entry % i for i in range(10**6))[:-1] + b"}"
    put(folder, WEIGHTS, header(text))


@animal()
def header_of_99_megabytes(folder, marker):
    hollow(folder, WEIGHTS, (99 * 2**20).to_bytes(8, "little") + b"{", 100 * 2**20)


@animal()
def header_just_within_the_bound(folder, marker):
    put(folder, WEIGHTS, header(b'{"__metadata__":{"a":"' + b"[" * (LONGEST_HEADER - 25) + b'"}}'))


@animal()
def a_terabyte_of_nothing(folder, marker):
    """A file with a hole in it takes no room, and would if it were read."""
    size = 2**40
    begins = header({"a": one(shape=(size // 4,), places=(0, size))})
    hollow(folder, WEIGHTS, begins, len(begins) + size)


def hollow_weights(folder, shapes):
    """Weights of these shapes, none of which are there."""
    table, end = {}, 0
    for name, shape in shapes.items():
        start, end = end, end + 4 * math.prod(shape)
        table[name] = one(shape=shape, places=(start, end))
    begins = header(table)
    hollow(folder, WEIGHTS, begins, len(begins) + end)


@animal()
def a_model_of_nothing(folder, marker):
    """All weights are as the recipe wants them, and it wants many."""
    reworded("embedding_width = 16", f"embedding_width = {10**8}")(folder, marker)
    files = [json.loads((folder / name).read_bytes()) for name in (SOURCE, "target.json")]
    sizes = [len(one["model"]["vocab"]) for one in files]
    recipe = parse_saved_recipe((folder / RECIPE).read_bytes())
    hollow_weights(folder, weights_of(recipe, *sizes))


# weights that are not the recipe's


def changed(change):
    def spoil(folder, marker):
        tensors = dict(load((folder / WEIGHTS).read_bytes()))
        change(tensors)
        put(folder, WEIGHTS, save(tensors))

    return spoil


BIAS = "decoder.output.bias"
for title, change in {
    "another-shape": lambda t: t.update({BIAS: t[BIAS][:-1]}),
    "more-axes": lambda t: t.update({BIAS: t[BIAS][None]}),
    "half-precision": lambda t: t.update({BIAS: t[BIAS].astype("f2")}),
    "double-precision": lambda t: t.update({BIAS: t[BIAS].astype("f8")}),
    "another-name": lambda t: t.update({"decoder.output.bias2": t.pop(BIAS)}),
    "one-more": lambda t: t.update({"evil": numpy.zeros(4, "f4")}),
    "one-less": lambda t: t.pop(BIAS),
    "nan": lambda t: t.update({BIAS: t[BIAS] * numpy.float32("nan")}),
    "infinity": lambda t: t.update({BIAS: t[BIAS] + numpy.float32("inf")}),
}.items():
    animal(f"weights-{title}")(changed(change))


# recipes


def reworded(old, new):
    def spoil(folder, marker):
        text = (folder / RECIPE).read_text()
        assert old in text, old
        put(folder, RECIPE, text.replace(old, new, 1).encode())

    return spoil


ENCODER, DECODER = "[encoder]\n", "[decoder]\n"
for title, (old, new) in {
    "target": (ENCODER, '[encoder]\n_target_ = "os.system"\n'),
    "module": (ENCODER, '[encoder]\nmodule = "os"\nclass_name = "system"\n'),
    "trust": ("about = ", "trust_remote_code = true\nabout = "),
    "code-for-a-score": ('kind = "additive"', 'kind = "os.system"'),
    "code-for-a-kind": ('kind = "rnn"', "kind = \"__import__('os')\""),
    "width-of-a-billion": ("width = 16", f"width = {10**9}"),
    "layers-without-end": ("layers = 1", f"layers = {10**12}"),
    "layers-one-more": ("layers = 1", "layers = 2"),
    "heads-without-end": ("heads = 1", f"heads = {10**9}"),
    "beam-without-end": ("beam = 5", f"beam = {10**9}"),
    "groups-without-end": ("beam_groups = 1", f"beam_groups = {2**62}"),
    "sources-without-end": ("max_source_length = 60", f"max_source_length = {2**62}"),
    "translations-without-end": ("max_length = 0", f"max_length = {2**62}"),
    "no-end-before-long": ("min_length = 0", f"min_length = {2**62}"),
    "repeats-without-end": ("no_repeat_ngram = 0", f"no_repeat_ngram = {2**62}"),
    "choices-without-end": ("top_k = 0", f"top_k = {2**62}"),
    "words-without-end": ("max_words = 0", f"max_words = {2**62}"),
    "few-words-without-end": ("min_words = 0", f"min_words = {2**62}"),
    "pairs-without-end": ("pairs = 20000", f"pairs = {2**62}"),
    "beyond-all-numbers": ("max_tokens = 60", f"max_tokens = {10**30}"),
    "a-million-digits": ("max_tokens = 60", "max_tokens = 1" + "0" * 10**5),
    "not-a-number": ("dropout = 0.2", "dropout = nan"),
    "negative": ("width = 16", "width = -16"),
    "a-table-for-a-number": ("width = 16", "width = {a = 1}"),
    "twice": ("width = 16", "width = 16\nwidth = 16"),
}.items():
    animal(f"recipe-{title}")(reworded(old, new))


@animal()
def recipe_texts_without_end(folder, marker):
    reworded("tokens_per_batch = 200", "tokens_per_batch = 0")(folder, marker)
    reworded("max_tokens = 60\nmin_words", f"max_tokens = {2**62}\nmin_words")(folder, marker)


animal("recipe-nested")(filled(RECIPE, b"about = " + b"[" * 50_000 + b"]" * 50_000))
animal("recipe-of-dots")(filled(RECIPE, b".".join([b"a"] * 50_000) + b" = 1"))
animal("recipe-of-a-megabyte")(filled(RECIPE, b"#" * 2**20))
animal("recipe-yaml")(filled(RECIPE, b"!!python/object/apply:os.system ['true']"))
animal("recipe-not-utf-8")(filled(RECIPE, b"about = '\xff\xfe'"))


# vocabularies


def retold(change):
    def spoil(folder, marker):
        table = json.loads((folder / SOURCE).read_bytes())
        change(table)
        put(folder, SOURCE, json.dumps(table).encode())

    return spoil


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
    animal(f"tokenizer-{title}")(retold(change))


def scored(pieces):
    first = [["<pad>", 0.0], ["<s>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]]
    return json.dumps(
        {"model": {"type": "Unigram", "unk_id": 3, "vocab": first + pieces, "byte_fallback": True}}
    ).encode()


animal("tokenizer-long-piece")(filled(SOURCE, scored([["a" * 10**6, -1.0]])))
animal("tokenizer-nan")(filled(SOURCE, scored([["a", float("nan")]])))
animal("tokenizer-infinity")(filled(SOURCE, scored([["a", 1.0]]).replace(b"1.0", b"1e999")))
animal("tokenizer-piece-twice")(filled(SOURCE, scored([["a", -1.0]] * 2)))
animal("tokenizer-half-a-letter")(filled(SOURCE, scored([["\ud800", -1.0]])))
animal("tokenizer-nested")(filled(SOURCE, b"[" * 500_000 + b"]" * 500_000))
animal("tokenizer-of-lists")(filled(SOURCE, b"[" + b"[]," * 5_000_000 + b"[]]"))
animal("tokenizer-of-keys")(
    filled(SOURCE, b"{" + b",".join([b'"%d":0' % i for i in range(1000)] * 6000) + b"}")
)
WIDE = "\U0001f600".encode()
LONG, LONG_KEYS = b"a" * (MOST_BYTES - 2**10), b'"%s":0,' % (b"a" * 60) * (MOST_BYTES // 65 - 10)
animal("tokenizer-of-one-wide-letter")(filled(SOURCE, b'{"model":"' + LONG + WIDE + b'"}'))
animal("tokenizer-of-escaped-quotes")(
    filled(
        SOURCE,
        b'{"model":"'
        + b'\\",'.join([b"a" * 10**4] * (MOST_BYTES // 10**4 - 10))
        + b'\\ud83d\\ude00"}',
    )
)
animal("tokenizer-of-wide-keys")(filled(SOURCE, b'{"' + WIDE + b'":0,' + LONG_KEYS + b'"b":0}'))


@animal()
def tokenizer_of_a_gigabyte(folder, marker):
    hollow(folder, SOURCE, b"{", 2**30)


# manifests


def manifest(change):
    def spoil(folder, marker):
        path = folder / whole.MANIFEST
        made = change(json.loads(path.read_bytes()))
        path.write_bytes(made if isinstance(made, bytes) else json.dumps(made).encode())

    return spoil


def summed(**entry):
    return lambda m: (
        {k: v for k, v in m.items() if k not in (whole.VERSION, whole.CHECKSUM)}
        | {"files": {**m["files"], RECIPE: {**m["files"][RECIPE], **entry}}}
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
    "sum-of-half-a-letter": lambda m: {**m, whole.CHECKSUM: "\ud800"},
    "sum-a-list": lambda m: {**m, whole.CHECKSUM: [1]},
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
    animal(f"manifest-{title}")(manifest(change))


# what a run would go on from


def placed(facts):
    return lambda folder, marker: put(folder, PROGRESS, json.dumps(facts).encode())


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
    animal(f"place-{title}")(placed(facts))


def optimizer_tensors(change):
    def spoil(folder, marker):
        tensors = dict(load((folder / MEMORY).read_bytes()))
        change(tensors)
        put(folder, MEMORY, save(tensors))

    return spoil


for title, change in {
    "of-no-weight": lambda kept: kept.update({"os.system:step": numpy.zeros((), "f4")}),
    "without-a-name": lambda kept: kept.update({"": numpy.zeros((), "f4")}),
    "of-another-shape": lambda kept: kept.update({f"{BIAS}:exp_avg": numpy.zeros(3, "f4")}),
    "of-another-type": lambda kept: kept.update({f"{BIAS}:step": numpy.zeros((), "f8")}),
    "by-halves": lambda kept: kept.pop(f"{BIAS}:exp_avg"),
    "of-another-kind": lambda kept: kept.update({f"{BIAS}:sum": kept[f"{BIAS}:exp_avg"]}),
    "of-an-average": lambda kept: kept.update({f"{BIAS}:raw": kept[f"{BIAS}:exp_avg"]}),
}.items():
    animal(f"memory-{title}")(optimizer_tensors(change))


@animal()
def memory_of_a_terabyte(folder, marker):
    """Its header and its manifest agree, and its sum would take minutes."""
    size = 2**40
    begins = header({f"{BIAS}:exp_avg": one(shape=(size // 4,), places=(0, size))})
    hollow(folder, MEMORY, begins, len(begins) + size)


@animal()
def place_of_a_terabyte(folder, marker):
    hollow(folder, PROGRESS, b"{", 2**40)


# whole run folders


def of_runs(spoil):
    """Keep a way to spoil the folder of a run; what stands in it is named by the run."""
    OF_RUNS["run-" + spoil.__name__.replace("_", "-")] = spoil
    return spoil


@of_runs
def step_is_a_link(run, marker):
    outside = run.parent / "elsewhere"
    (run / f"step-{STEP}").rename(outside)
    (run / f"step-{STEP}").symlink_to(outside)


@of_runs
def step_is_a_loop(run, marker):
    (run / f"step-{STEP}").rename(run / "gone")
    (run / f"step-{STEP}").symlink_to(run / f"step-{STEP}")


@of_runs
def pointer_is_a_pipe(run, marker):
    os.mkfifo(run / "best.json")


@of_runs
def pointer_is_a_link(run, marker):
    (run / "best.json").symlink_to("/dev/zero")


@of_runs
def pointer_leads_outside(run, marker):
    (run / "best.json").write_text(json.dumps({"step": f"../../{run.name}/step-{STEP}"}))


@of_runs
def pointer_is_huge(run, marker):
    (run / "best.json").touch()
    os.truncate(run / "best.json", 2**32)


@of_runs
def pointer_is_nested(run, marker):
    (run / "best.json").write_bytes(b"[" * 30_000)


@of_runs
def pointer_is_a_pickle(run, marker):
    (run / "best.json").write_bytes(payload(marker))


@of_runs
def distributed_checkpoint(run, marker):
    for path in (run / f"step-{STEP}").iterdir():
        path.unlink()
    (run / f"step-{STEP}" / ".metadata").write_bytes(payload(marker))
    (run / f"step-{STEP}" / "__0_0.distcp").write_bytes(payload(marker))


@of_runs
def of_another_toolkit(run, marker):
    (run / f"step-{STEP}").rename(run / "gone")
    (run / "config.json").write_text('{"auto_map": {"AutoModel": "model.Evil"}}')
    (run / "pytorch_model.bin").write_bytes(payload(marker))
    (run / "model.py").write_text(f"open({str(marker)!r}, 'w')")


@of_runs
def an_archive(run, marker):
    moved = run.with_name("moved")
    run.rename(moved)
    run.write_bytes(zipped(1000))


@of_runs
def a_pipe(run, marker):
    run.rename(run.with_name("moved"))
    os.mkfifo(run)


def release(name, good, run, marker):
    """Copy a good run and spoil it; the path that is to be refused."""
    shutil.copytree(good, run)
    if name in OF_RUNS:
        OF_RUNS[name](run, marker)
    else:
        ZOO[name](run / f"step-{STEP}", marker)
    return run


EVERYONE = [*ZOO, *OF_RUNS]
