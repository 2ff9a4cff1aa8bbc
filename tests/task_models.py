"""Untrained models of every task, as checkpoint folders: their outputs have the right form only."""

import torch
from safetensors.numpy import save

from dhyan.audio.codebook import Codebook
from dhyan.audio.codebook_file import CODEBOOK_FILE
from dhyan.audio.spectrogram import SpectrogramSettings
from dhyan.config import dump_recipe
from dhyan.data.encode import make_frame_codec
from dhyan.tasks import with_task
from dhyan.text.tokenizer import Tokenizer
from tests.model_check.valid_model import random_weights, settings, write_model

TEXT = ("सीता नई दिल्ली में है", "a red circle is left of a blue star", "सीता गाँव गई")
FRAMES = {"frames.height": 16, "frames.width": 16, "frames.patch": 8, "frames.columns": 4}
LOSS = {"training.early_stopping_metric": "loss"}
OUTPUTS = {
    "classify": ["positive", "negative", "neutral"],
    "tag": ["O B-LOC I-LOC B-PER I-PER"],
    "ocr": list(TEXT),
    "caption": list(TEXT),
    "text_to_image": ["blank red-circle blue-star"],
    "text_to_speech": ["c000 c001 c002 c003"],
}
CODEBOOK = SpectrogramSettings(rate=8000, window=256, hop=64, mels=12, top=4000)


def write_task_model(run, task, family="rnn"):
    """A run folder with an untrained model of a task; returns its checkpoint."""
    own = {"task": task, "data.source_language": "hi", "text.tokenizer": "words", **LOSS, **FRAMES}
    own |= {"decoding.max_length": 24}  # of outputs that no weight was trained to end
    recipe = with_task(settings(family, **own))
    kind = recipe.text.source_codec or "words"
    pictured = kind.startswith("image")
    frames = pictured or kind == "word_characters"
    source = (
        make_frame_codec(recipe, TEXT) if frames else Tokenizer.train(TEXT, kind=kind, size=100)
    )
    target = Tokenizer.train(OUTPUTS[task], kind=recipe.text.target_codec, size=100)
    files = {
        "recipe.toml": dump_recipe(recipe).encode(),
        "model.safetensors": save(random_weights(recipe, (len(source), len(target)))),
        "source.json": source.to_json().encode(),
        "target.json": target.to_json().encode(),
    }
    if task == "text_to_speech":
        sounds = [torch.sin(torch.arange(4000) * pitch) for pitch in (0.05, 0.2, 0.4)]
        files[CODEBOOK_FILE] = Codebook.train(sounds, CODEBOOK, size=4).to_bytes()
    return write_model(run, files)
