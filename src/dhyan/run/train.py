"""From a recipe to a run: data, tokenizers, model and trainer, anew or from a checkpoint."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import torch

from dhyan.atomic_folder import check_writable
from dhyan.checkpoint import (
    lock_run,
    newest_valid_checkpoint,
    steps_in,
    tensors_from_bytes,
)
from dhyan.config import Recipe
from dhyan.data.corpus import Corpus, load_corpus, with_languages
from dhyan.data.permutation import derive_seed
from dhyan.errors import UserError
from dhyan.kernels.backend import reference_kernels
from dhyan.model_check import read_model
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.run.auto_batch_size import choose_batch_size
from dhyan.run.build_trainer import make_objective, make_trainer
from dhyan.run.deterministic import deterministic_algorithms
from dhyan.run.fine_tune import PretrainedModel, choose_tokenizers, transfer_weights
from dhyan.run.init_embeddings import load_word_vectors
from dhyan.run.load import (
    MODEL_FILES,
    choose_device,
    load_saved_recipe,
    load_tokenizers,
    load_weights,
    make_translator,
    set_threads,
)
from dhyan.run.resume_checks import (
    check_files,
    check_recipe_builds,
    check_resumable,
    check_same,
    warn_about_environment,
)
from dhyan.run.run_folder import STATE_FILES, MetricsLog, RunFolder
from dhyan.run.tensorboard import TensorBoardLog
from dhyan.text.tokenizer import Tokenizer
from dhyan.training.events import Event, Saved
from dhyan.training.resume import restore
from dhyan.training.trainer import Trainer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """One training run; iterate over it to train, to the recipe's last step.

    `sample` is a source sentence to try the model on.
    """

    folder: RunFolder
    trainer: Trainer
    sample: str
    lock: IO[bytes]

    def __iter__(self) -> Iterator[Event]:
        """What happens, each event also a line of metrics.jsonl; the first is a checkpoint."""
        path, fresh = self.folder.path, not steps_in(self.folder.path)
        step = -1 if fresh else self.trainer.state.step
        with self.lock, ExitStack() as held:
            listeners: list[MetricsLog | TensorBoardLog] = [
                MetricsLog(path / "metrics.jsonl", until=step)
            ]
            held.enter_context(deterministic_algorithms(self.folder.recipe.training.deterministic))
            if self.folder.recipe.training.tensorboard:
                board = TensorBoardLog(path / "tensorboard", after=step)
                held.callback(board.close)
                listeners.append(board)
            for event in self._events(fresh=fresh):
                for listener in listeners:
                    listener.note(event)
                yield event

    def _events(self, *, fresh: bool) -> Iterator[Event]:
        if fresh:
            yield Saved(0, self.folder.save(self.trainer), best=False)
        left = self.folder.recipe.training.steps - self.trainer.state.step
        yield from self.trainer.run(left)


def train(
    recipe: Recipe,
    out: Path,
    *,
    resume: bool = False,
    wait: bool = False,
    device: str = "auto",
    threads: int = 0,
) -> Run:
    """A run in the folder `out`, ready to go; what was read, dropped and learned is logged.

    Resumed, the run goes on from the newest
    checkpoint that is whole, and ends in the same weights as if it had never stopped. With `wait`,
    another that is training there is let come to its end.
    """
    set_threads(threads)
    place, recipe = choose_device(device), with_languages(recipe)
    if not resume and steps_in(out):
        raise UserError(f"{out} holds a run already: add --resume to go on, or name another --out")
    check_recipe_builds(recipe)
    check_writable(out)
    if resume:
        check_resumable(out)
    else:
        check_files(recipe)
    corpus = load_corpus(recipe)
    with ExitStack() as held:
        lock = held.enter_context(lock_run(out, wait=wait))
        found = newest_valid_checkpoint(out, (*MODEL_FILES, *STATE_FILES))
        if found is None and (out / "last.json").exists():
            raise UserError(
                f"{out}: its checkpoints are gone, last.json is left; name another --out"
            )
        if found is None and resume:
            logger.warning(f"nothing to resume in {out}: starting from the beginning")
        if found is None:
            home, trainer = start_run(recipe, corpus, out, device=place)
        else:
            read_model(found[0])  # whole it is, but who knows whose
            home, trainer = resume_run(recipe, corpus, *found, device=place)
        held.pop_all()
    return Run(home, trainer, corpus.sample, lock)


def start_run(
    recipe: Recipe, corpus: Corpus, out: Path, *, device: torch.device
) -> tuple[RunFolder, Trainer]:
    """A run from its first step: its weights fresh, or those of the model it begins from."""
    seed = recipe.training.seed
    if recipe.training.init_from:
        origin = PretrainedModel.read(Path(recipe.training.init_from))
        tokenizers = choose_tokenizers(recipe, origin, corpus)
        for path in filter(
            None, (recipe.encoder.pretrained_embedding, recipe.decoder.pretrained_embedding)
        ):
            logger.warning(f"{path} is not read: the word vectors are those of {origin.path}")

        def weigh(model: Seq2Seq) -> None:
            transfer_weights(model, origin, tokenizers, seed=seed)

    else:
        tokenizers = corpus.make_tokenizers(recipe)

        def weigh(model: Seq2Seq) -> None:
            load_word_vectors(recipe, model, tokenizers)

    return build_run(recipe, corpus, tokenizers, out, weigh=weigh, device=device)


def resume_run(
    recipe: Recipe,
    corpus: Corpus,
    folder: Path,
    files: Mapping[str, bytes],
    *,
    device: torch.device,
) -> tuple[RunFolder, Trainer]:
    """A run from one of its checkpoints, if recipe and data are still the same."""
    old = load_saved_recipe(files)
    recipe = inherit_settings(recipe, old)
    then, now = old.training.steps, recipe.training.steps
    if recipe.training.schedule == "cosine" and then != now:
        logger.warning(
            f"the cosine ended at step {then:,}, now at {now:,}: the rate changes at once"
        )
    check_same(folder, old, recipe, corpus)
    with deterministic_algorithms(recipe.training.deterministic):
        warn_about_environment(folder, device)

    def weigh(model: Seq2Seq) -> None:
        load_weights(model, tensors_from_bytes(files["model.safetensors"]))

    tokenizers, facts = load_tokenizers(files), json.loads(files["training.json"])
    home, trainer = build_run(
        recipe,
        corpus,
        tokenizers,
        folder.parent,
        weigh=weigh,
        device=device,
        multiple=facts["length_multiple"],
    )
    tensors = tensors_from_bytes(files["training.safetensors"])
    restore(trainer, tensors, facts)
    home.write_pointers(trainer.state)
    left = recipe.training.steps - trainer.state.step
    if left > 0:
        logger.info(f"going on from {folder}")
    else:
        logger.warning(f"{folder} is the end: raise training.steps")
    return home, trainer


def build_run(
    recipe: Recipe,
    corpus: Corpus,
    tokenizers: tuple[Tokenizer, Tokenizer],
    out: Path,
    *,
    weigh: Callable[[Seq2Seq], None],
    device: torch.device,
    multiple: int | None = None,
) -> tuple[RunFolder, Trainer]:
    """Model, translator, folder and trainer, joined.

    The first weights follow from the seed; then `weigh` may give the model others. `multiple` is
    what a run that goes on has rounded the lengths of its batches to.
    """
    source, target = tokenizers
    torch.manual_seed(derive_seed(recipe.training.seed))
    model = build_model(recipe, len(source), len(target)).to(device)
    weigh(model)
    translator = make_translator(recipe, model, source, target, device)
    examples = corpus.encode(source, target, recipe.data.max_tokens)
    logger.info(
        f"parameters {sum(p.numel() for p in model.parameters()):,}, examples {len(examples):,}, "
        f"device {device}, threads {torch.get_num_threads()}"
    )
    plain, exact = recipe.training.kernels == "reference", recipe.training.deterministic
    with reference_kernels() if plain else nullcontext(), deterministic_algorithms(exact):
        recipe = choose_batch_size(
            recipe, model, make_objective(recipe.training), examples, device=device
        )
    home = RunFolder(out, recipe, translator, corpus.fingerprint)
    return home, make_trainer(recipe, corpus, examples, home, multiple=multiple)


def inherit_settings(recipe: Recipe, old: Recipe) -> Recipe:
    """The recipe with what a resumed run need not be told again.

    These are its languages, the batch size that was found for it, and the model it began from.
    """
    data, training = recipe.data, recipe.training
    data = replace(
        data,
        source_language=data.source_language or old.data.source_language,
        target_language=data.target_language or old.data.target_language,
    )
    found = training.tokens_per_batch or old.training.tokens_per_batch
    training = replace(training, tokens_per_batch=found)
    if not training.init_from:
        init, vocabulary = old.training.init_from, old.training.init_vocabulary
        training = replace(training, init_from=init, init_vocabulary=vocabulary)
    return replace(recipe, data=data, training=training)
