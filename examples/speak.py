"""Speak: train on phonemes and the symbols of their sound, then write what the model says as WAV.

python -m experiments.tasks.speech_data spoken makes such a folder; python speak.py spoken runs/speech
"""

import sys
from pathlib import Path

import dhyan
from dhyan.audio.codebook import read_codebook, waveform
from dhyan.checkpoint import find_checkpoint
from dhyan.config import parse_setting
from dhyan.data.read_pairs import read_pairs

folder, out, *settings = sys.argv[1:]
result = dhyan.train(
    f"{folder}/train.tsv",
    "speech-small",
    valid=f"{folder}/valid.tsv",
    allow_leakage=True,
    codebook=f"{folder}/codebook.safetensors",
    out=out,
    settings=dict(map(parse_setting, settings)),
)
codebook = read_codebook(find_checkpoint(out))
for number, pair in zip(range(3), read_pairs(Path(folder, "test.tsv")), strict=False):
    symbols = result.translator.predict(pair.source).text
    file = Path(out) / f"{number}.wav"
    file.write_bytes(waveform(symbols, codebook).wav)
    print(pair.source, "→", file)
