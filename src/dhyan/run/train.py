"""From a recipe to a run: data, tokenizers, model and trainer, anew or from a checkpoint."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import torch

from dhyan.checkpoint import (
    newest_whole,
    read_manifest,
    steps_in,
    take_hold,
    tensors_from_bytes,
)
from dhyan.config import Recipe, differences
from dhyan.data.permutation import derive
from dhyan.faults import Fault
from dhyan.models.build import build_model
from dhyan.run.folder import MetricsLog, RunFolder
from dhyan.run.gather import Corpus, Say, gather, with_languages
from dhyan.run.load import (
    MODEL_FILES,
    load_weights,
    make_translator,
    pick_device,
    pick_threads,
    saved_recipe,
    saved_tokenizers,
)
from dhyan.run.parts import make_trainer
from dhyan.run.vocabulary import learn_tokenizers
from dhyan.text.tokenizer import Tokenizer
from dhyan.training.events import Event, Saved
from dhyan.training.resume import restore
from dhyan.training.trainer import Trainer

STATE_FILES = ("training.safetensors", "training.json")
MAY_CHANGE = {  # the data are known by their fingerprint, wherever they lie
    *("about", "training.steps", "training.patience", "training.keep", "training.report_every"),
    *("decoding.beam", "decoding.length_power"),
    *("data.source", "data.target", "data.valid_source", "data.valid_target"),
}


@dataclass(frozen=True)
class Run:
    """One training run; iterate over it to train, to the recipe's last step.

    `sample` is a source sentence to try the model on.
    """

    folder: RunFolder
    trainer: Trainer
    sample: str
    claim: IO[bytes]

    def __iter__(self) -> Iterator[Event]:
        """What happens, each event also a line of metrics.jsonl; the first is a checkpoint."""
        path, step = self.folder.path, self.trainer.progress.step
        fresh = not steps_in(path)
        log = MetricsLog(path / "metrics.jsonl", until=-1 if fresh else step)
        with self.claim:
            if fresh:
                yield log.note(Saved(0, self.folder.save(self.trainer), best=False))
            for event in self.trainer.run(self.folder.recipe.training.steps - step):
                yield log.note(event)


def train(
    recipe: Recipe,
    out: Path,
    *,
    resume: bool = False,
    device: str = "auto",
    threads: int = 0,
    say: Say = lambda line: None,
) -> Run:
    """A run in the folder `out`, ready to go; `say` is told what was read, dropped and learned.

    Resumed, it goes on from the newest checkpoint that is whole, and ends in the same weights as
    if it had never stopped.
    """
    pick_threads(threads)
    place, recipe = pick_device(device), with_languages(recipe)
    if not resume and steps_in(out):
        raise Fault(f"{out} holds a run already: add --resume to go on, or name another --out")
    corpus = gather(recipe, say)
    with ExitStack() as held:
        claim = held.enter_context(take_hold(out))
        found = newest_whole(out, (*MODEL_FILES, *STATE_FILES), say)
        if found is None and resume:
            say(f"nothing to resume in {out}: starting from the beginning")
        if found is None:
            home, trainer = begin(recipe, corpus, out, device=place, say=say)
        else:
            home, trainer = go_on(recipe, corpus, *found, device=place, say=say)
        held.pop_all()
    sample = min((corpus.validation or corpus.training)[:50], key=lambda p: abs(len(p.source) - 30))
    return Run(home, trainer, sample.source, claim)


def begin(
    recipe: Recipe, corpus: Corpus, out: Path, *, device: torch.device, say: Say
) -> tuple[RunFolder, Trainer]:
    """A run from its first step, with vocabularies learned from its pairs."""
    tokenizers = learn_tokenizers(recipe, corpus.training, say)
    return assemble(recipe, corpus, tokenizers, out, device=device, say=say)


def go_on(
    recipe: Recipe,
    corpus: Corpus,
    folder: Path,
    files: Mapping[str, bytes],
    *,
    device: torch.device,
    say: Say,
) -> tuple[RunFolder, Trainer]:
    """A run from one of its checkpoints, if recipe and data are still the same."""
    old = saved_recipe(files)
    languages = {
        key: getattr(recipe.data, key) or getattr(old.data, key)
        for key in ("source_language", "target_language")
    }
    recipe = replace(recipe, data=replace(recipe.data, **languages))
    check_same(folder, old, recipe, corpus)
    compare_machines(folder, device, say)
    home, trainer = assemble(
        recipe, corpus, saved_tokenizers(files), folder.parent, device=device, say=say
    )
    load_weights(home.translator.model, tensors_from_bytes(files["model.safetensors"]))
    tensors = tensors_from_bytes(files["training.safetensors"])
    restore(trainer, tensors, json.loads(files["training.json"]))
    home.point(trainer.progress)
    left = recipe.training.steps - trainer.progress.step
    say(f"going on from {folder}" if left > 0 else f"{folder} is the end: raise training.steps")
    return home, trainer


def assemble(
    recipe: Recipe,
    corpus: Corpus,
    tokenizers: tuple[Tokenizer, Tokenizer],
    out: Path,
    *,
    device: torch.device,
    say: Say,
) -> tuple[RunFolder, Trainer]:
    """Model, translator, folder and trainer, joined; the first weights follow from the seed."""
    source, target = tokenizers
    torch.manual_seed(derive(recipe.training.seed))
    model = build_model(recipe, len(source), len(target)).to(device)
    translator = make_translator(recipe, model, source, target, device)
    home = RunFolder(out, recipe, translator, corpus.fingerprint)
    return home, make_trainer(recipe, corpus, translator, home, say)


def check_same(folder: Path, old: Recipe, new: Recipe, corpus: Corpus) -> None:
    """Refuse to go on with another recipe or other data than before."""
    for key, (before, now) in differences(old, new).items():
        if key not in MAY_CHANGE:
            raise Fault(
                f"{folder} was trained with {key} = {before!r}, now it is {now!r}: "
                f"resume with the same recipe and settings, or name another --out"
            )
    if read_manifest(folder)["data"] != corpus.fingerprint:
        raise Fault(f"{folder} was trained on other pairs: give those again, or another --out")


def compare_machines(folder: Path, device: torch.device, say: Say) -> None:
    """Say what may change the last digits of a run that goes on elsewhere."""
    manifest = read_manifest(folder)
    before = {**manifest, "torch": manifest["versions"].get("torch")}
    here = {"device": device.type, "threads": torch.get_num_threads(), "torch": torch.__version__}
    for key, now in here.items():
        if before[key] != now:
            say(f"was trained with {key} {before[key]}, now {now}: the last digits may differ")
