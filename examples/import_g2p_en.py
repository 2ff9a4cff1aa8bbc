"""Import the GRU encoder-decoder of PyPI's g2p-en, English words to phonemes, from its wheel.

pip download --no-deps g2p-en
python import_g2p_en.py g2p_en-2.1.0-py3-none-any.whl models/g2p-en
"""

import io
import string
import sys
import zipfile
from pathlib import Path

import numpy as np
import torch

from dhyan import config
from dhyan.interop.vocabulary import NONE, Roles, Vocabulary
from dhyan.interop.write_model import ImportedModel, write_model
from dhyan.text.sentencepiece import SentencePiece
from dhyan.text.symbols import SymbolTable
from dhyan.text.tokenizer import Tokenizer

wheel, out = sys.argv[1:]
vowels = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW".split()
others = "B CH D DH F G HH JH K L M N NG P R S SH T TH UW V W Y Z ZH".split()
phonemes = sorted([*others, *(vowel + stress for vowel in vowels for stress in "012")])
file = io.BytesIO(zipfile.ZipFile(wheel).read("g2p_en/checkpoint20.npz"))
theirs = {}
for name in (archive := zipfile.ZipFile(file)).namelist():  # plain numbers; pickles are refused
    array = np.lib.format.read_array(archive.open(name), allow_pickle=False)
    theirs[name.removesuffix(".npy")] = torch.from_numpy(array).float()
letters = ["<pad>", "<unk>", "</s>", *string.ascii_lowercase]
source = Vocabulary.arrange(letters, Roles(pad=0, bos=NONE, eos=2, unk=1), place=wheel)
sounds = ["<pad>", "<unk>", "<s>", "</s>", *phonemes]
target = Vocabulary.arrange(sounds, Roles(pad=0, bos=2, eos=3, unk=1), place=wheel)
weights = {
    "encoder.token_embedding.weight": source.rearranged(theirs["enc_emb"]),
    "decoder.token_embedding.weight": target.rearranged(theirs["dec_emb"]),
    "decoder.output.weight": target.rearranged(theirs["fc_w"]),
    "decoder.output.bias": target.output_bias(theirs["fc_b"], padding_is_possible=True),
}
for side, layer in (("enc", "encoder.rnn"), ("dec", "decoder.recurrence.rnn")):
    for ours, name in (("weight", "w"), ("bias", "b")):
        for part in ("ih", "hh"):
            weights[f"{layer}.{ours}_{part}_l0"] = theirs[f"{side}_{name}_{part}"]
sizes = {"cell": "gru", "width": 256, "embedding_width": 256}
recipe = config.Recipe(
    about="g2p-en 2.1.0 by Kyubyong Park and Jongseok Kim: GRU encoder-decoder without attention.",
    task="pronounce",
    text=config.Text(tokenizer="sentencepiece"),
    encoder=config.RNNEncoder(**sizes),
    decoder=config.RNNDecoder(**sizes, bridge="direct"),
    decoding=config.DecodingOptions(beam=1, max_length=20),
)
reader = Tokenizer(SentencePiece.characters(source.tokens))
writer = Tokenizer(SymbolTable("symbols", target.tokens))
model = ImportedModel("g2p-en", recipe, weights, reader, writer).in_languages("en", "")
print("wrote", write_model(model, Path(out)))
