"""Untrained models that read pictures, as checkpoint folders, and pictures to give them."""

from PIL import Image, ImageDraw
from safetensors.numpy import save

from dhyan.config import dump_recipe
from dhyan.data.encode import make_frame_codec
from dhyan.text.tokenizer import Tokenizer
from tests.model_check.valid_model import random_weights, settings, write_model

TEXT = ["red square", "blue circle", "a green square above a circle"]
PICTURES = {
    "columns": {
        "text.source_codec": "image_columns", "text.target_codec": "characters", "frames.height": 16,
        "frames.columns": 4, "frames.stem": "strips", "frames.channels": 4,
    },
    "patches": {
        "text.source_codec": "image_patches", "text.target_codec": "words", "frames.height": 16,
        "frames.width": 16, "frames.patch": 8,
    },
}  # fmt: skip


def picture(width=40, height=20, mode="RGB"):
    """A white picture with a line and a disc."""
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.line((2, 2, width - 3, height - 3), fill=(0, 0, 200))
    draw.ellipse((2, 2, height // 2, height // 2), fill=(200, 0, 0))
    return image.convert(mode)


def write_picture_model(run, codec="columns", family="rnn"):
    """A run folder with an untrained model; returns its checkpoint."""
    recipe = settings(family, **PICTURES[codec])
    source = make_frame_codec(recipe, ())
    target = Tokenizer.train(TEXT, kind=recipe.text.target_codec, size=100)
    files = {
        "recipe.toml": dump_recipe(recipe).encode(),
        "model.safetensors": save(random_weights(recipe, (len(source), len(target)))),
        "source.json": source.to_json().encode(),
        "target.json": target.to_json().encode(),
    }
    return write_model(run, files)
