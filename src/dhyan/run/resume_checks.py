"""Checks before a run starts or resumes: recipe, pretrained files, data and environment."""

import logging
import os
from dataclasses import fields
from pathlib import Path

import torch

from dhyan.atomic_folder import DamagedFolder
from dhyan.checkpoint import check_run, read_manifest, steps_in
from dhyan.config import DecodingOptions, Recipe, RecipeError, Training, differences, paths_in
from dhyan.config.sections import PICTURE_CODECS
from dhyan.data.corpus import Corpus
from dhyan.data.encode import make_frame_codec
from dhyan.errors import UserError, spell_option, spell_setting
from dhyan.models.build import build_model
from dhyan.run.environment import deterministic_flags
from dhyan.run.trackers import require_trackers
from dhyan.training.data_parallel import DataParallel

logger = logging.getLogger(__name__)

FIXED_DECODING = ("max_source_length", "max_length")  # they change what validation measures
MAY_CHANGE = {  # when a run resumes; the data are compared by their fingerprint
    *(
        "about",
        "training.steps",
        "training.epochs",
        "training.patience",
        "training.keep_checkpoints",
        "training.report_every",
    ),
    *("training.tensorboard", "training.trackers", "training.shard_weights"),
    *(f"decoding.{f.name}" for f in fields(DecodingOptions) if f.name not in FIXED_DECODING),
    *("data.source", "data.target", "data.valid_source", "data.valid_target", "data.prepared"),
    *("data.mix", "data.columns", "data.test_source", "data.test_target", "data.allow_leakage"),
    *("data.header", "data.delimiter"),
}
TINY_VOCABULARY = 16


def check_recipe_builds(recipe: Recipe) -> None:
    """Refuse a recipe that contradicts itself; the model is built on the `meta` device."""
    recipe.check()
    require_trackers(recipe)
    pictures = recipe.text.source_codec in PICTURE_CODECS
    size = len(make_frame_codec(recipe, ())) if pictures else TINY_VOCABULARY
    with torch.device("meta"):
        build_model(recipe, size, TINY_VOCABULARY)


def check_same(folder: Path, saved: Recipe, recipe: Recipe, corpus: Corpus) -> None:
    """Refuse to resume with another recipe or other data."""
    for key, (before, now) in differences(saved, recipe).items():
        named_now = key in ("data.source_language", "data.target_language") and not before
        if key not in MAY_CHANGE and not named_now:
            raise UserError(
                f"{folder} was trained with {key} = {before!r}, now it is {now!r}: "
                f"resume with the same recipe and settings, or name another {spell_option('out')}"
            )
    if read_manifest(folder)["data_fingerprint"] != corpus.fingerprint:
        raise UserError(
            f"{folder} was trained on other pairs, or other weights of data.mix: give those again, "
            f"or another {spell_option('out')}"
        )


def check_new(out: Path) -> None:
    """Refuse to start a run over another one."""
    if steps_in(out):
        raise UserError(
            f"{out} holds a run already: add {spell_option('resume', True)} to continue it, or name "
            f"another {spell_option('out')}"
        )


def check_data_files(recipe: Recipe) -> None:
    """Refuse to resume without the training data, naming each key whose file has moved."""
    files = list(paths_in(recipe.data, "data."))
    if recipe.data.prepared:  # the text it was made of is not read
        files = [(key, path) for key, path in files if key == "data.prepared"]
    missing = [(key, path) for key, path in files if not os.path.exists(path)]
    if missing:
        raise RecipeError(
            [
                f"{key}: {path}: there is no such file; name its new place with {_option(key)}"
                for key, path in missing
            ]
        )


def _option(key: str) -> str:
    """The option that overrides a key of [data] which names a file."""
    setting = ".".join(key.split(".")[:2])
    if setting in ("data.mix", "data.prepared"):
        return spell_setting(setting, "…")
    return spell_option(setting, "FILE")


def check_resumable(out: Path) -> None:
    """Refuse to resume what is not a run, or an average of checkpoints without optimizer state."""
    check_run(out)
    for step in steps_in(out)[:1]:
        try:
            parts = read_manifest(out / f"step-{step}").get("average_of")
        except DamagedFolder:
            parts = None
        if parts:
            start = spell_option("training.init_from", str(out))
            raise UserError(
                f"{out} is an average of {len(parts)} models and cannot be resumed: start from it "
                f"with {start} and another {spell_option('out')}"
            )


def warn_about_environment(folder: Path, device: torch.device) -> None:
    """Warn if the device, threads or versions differ, which may change the last digits."""
    manifest = read_manifest(folder)
    before = {**manifest, "torch": manifest["versions"].get("torch")}
    here = {"device": device.type, "threads": torch.get_num_threads(), "torch": torch.__version__}
    here |= {"deterministic": deterministic_flags()}
    for key, now in here.items():
        if key in before and before[key] != now:  # an older manifest does not say all of it
            logger.warning(
                f"was trained with {key} {before[key]}, now {now}: the last digits may differ"
            )


def check_processes(training: Training, parallel: DataParallel) -> None:
    """Refuse more processes than an exact step has batches."""
    batches = training.gradient_accumulation
    if training.exact and parallel.count > batches:
        raise UserError(
            f"training.exact: {parallel.count} processes share the batches of a step, and there are "
            f"{batches}: raise training.gradient_accumulation, or start fewer processes"
        )
