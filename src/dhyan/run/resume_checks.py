"""What is looked at before a run begins or goes on, so that it is refused at once or not at all."""

import logging
from dataclasses import fields
from pathlib import Path

import torch

from dhyan.atomic_folder import DamagedFolder
from dhyan.checkpoint import read_manifest, steps_in
from dhyan.config import (
    BahdanauDecoder,
    DecodingOptions,
    LuongDecoder,
    Recipe,
    RNNEncoder,
    TransformerDecoder,
    TransformerEncoder,
    differences,
)
from dhyan.data.corpus import Corpus
from dhyan.errors import UserError
from dhyan.model_check import read_model
from dhyan.models.build import build_model
from dhyan.run.run_folder import deterministic
from dhyan.run.tensorboard import need_tensorboard
from dhyan.text.word_vectors import width_of

logger = logging.getLogger(__name__)

FIXED_DECODING = ("max_source_length", "max_length")  # they change what validation measures
MAY_CHANGE = {  # the data are known by their fingerprint, wherever they lie
    *(
        "about",
        "training.steps",
        "training.patience",
        "training.keep_checkpoints",
        "training.report_every",
    ),
    "training.tensorboard",
    *(f"decoding.{f.name}" for f in fields(DecodingOptions) if f.name not in FIXED_DECODING),
    *("data.source", "data.target", "data.valid_source", "data.valid_target", "data.prepared"),
    *("data.mix", "data.columns", "data.test_source", "data.test_target", "data.allow_leakage"),
}
TINY = 16  # a vocabulary to try a recipe with

Half = RNNEncoder | TransformerEncoder | BahdanauDecoder | LuongDecoder | TransformerDecoder


def check_recipe_builds(recipe: Recipe) -> None:
    """Refuse what contradicts itself, before any data are read: build the model without memory."""
    recipe.check()
    if recipe.training.tensorboard:
        need_tensorboard()
    with torch.device("meta"):
        build_model(recipe, TINY, TINY)


def check_files(recipe: Recipe) -> None:
    """Refuse a beginning that lacks a file, before any data are read."""
    if recipe.training.init_from:
        _check_origin(Path(recipe.training.init_from), recipe)
    else:
        _check_vectors("encoder", recipe.encoder)
        _check_vectors("decoder", recipe.decoder)


def _check_origin(path: Path, recipe: Recipe) -> None:
    """Refuse to begin from a model of another kind."""
    old = read_model(path).recipe
    there, here = (f"{one.encoder.kind}/{one.decoder.kind}" for one in (old, recipe))
    if there != here:
        raise UserError(
            f"{path} is {there}, the recipe is {here}: begin with the recipe it was trained by, "
            f"dhyan train {path} --init-from {path}"
        )


def _check_vectors(side: str, half: Half) -> None:
    """Refuse a file of word vectors that is not there, or is not as wide as the words."""
    path, key = (
        half.pretrained_embedding,
        "embedding_width" if hasattr(half, "embedding_width") else "width",
    )
    if path and not Path(path).is_file():
        raise UserError(
            f"{side}.pretrained_embedding: no file {path!r}; name a word2vec or GloVe file"
        )
    if path and (found := width_of(path)) != (width := getattr(half, key)):
        raise UserError(
            f"{path}: its vectors are {found} wide, the embedding {width}; "
            f"give --set {side}.{key}={found}"
        )


def check_same(folder: Path, old: Recipe, new: Recipe, corpus: Corpus) -> None:
    """Refuse to go on with another recipe or other data than before."""
    for key, (before, now) in differences(old, new).items():
        if key not in MAY_CHANGE:
            raise UserError(
                f"{folder} was trained with {key} = {before!r}, now it is {now!r}: "
                f"resume with the same recipe and settings, or name another --out"
            )
    if read_manifest(folder)["data_fingerprint"] != corpus.fingerprint:
        raise UserError(
            f"{folder} was trained on other pairs, or other weights of data.mix: give those again, "
            f"or another --out"
        )


def check_resumable(out: Path) -> None:
    """Refuse to go on from an average, which has no optimizer to go on with."""
    for step in steps_in(out)[:1]:
        try:
            parts = read_manifest(out / f"step-{step}").get("average_of")
        except DamagedFolder:
            parts = None
        if parts:
            raise UserError(
                f"{out} is an average of {len(parts)} models and cannot be resumed: begin from it "
                f"with --init-from {out} and another --out"
            )


def warn_about_environment(folder: Path, device: torch.device) -> None:
    """Warn of what may change the last digits of a run that goes on elsewhere."""
    manifest = read_manifest(folder)
    before = {**manifest, "torch": manifest["versions"].get("torch")}
    here = {"device": device.type, "threads": torch.get_num_threads(), "torch": torch.__version__}
    here |= {"deterministic": deterministic()}
    for key, now in here.items():
        if key in before and before[key] != now:  # an older manifest does not say all of it
            logger.warning(
                f"was trained with {key} {before[key]}, now {now}: the last digits may differ"
            )
