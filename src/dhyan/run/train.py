"""From a recipe to a training run: data, tokenizers, model and trainer, new or resumed."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

import torch

from dhyan.atomic_folder import check_writable
from dhyan.audio.codebook import Codebook
from dhyan.audio.codebook_file import CODEBOOK_FILE
from dhyan.checkpoint import (
    START_RECIPE,
    check_unlocked,
    is_run,
    lock_run,
    tensors_from_bytes,
    weights_from_bytes,
)
from dhyan.config import Recipe, load_recipe, with_absolute_paths
from dhyan.data.corpus import Corpus, load_corpus, with_languages
from dhyan.data.training_sentences import TRAINING_SENTENCES, merge
from dhyan.errors import UserError, spell_option
from dhyan.kernels.backend import reference_kernels
from dhyan.model_check import read_model
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.run.auto_batch_size import choose_batch_size
from dhyan.run.build_trainer import (
    make_batches,
    make_objective,
    make_trainer,
    with_steps_of_epochs,
)
from dhyan.run.environment import (
    choose_precision,
    deterministic_algorithms,
    saved_threads,
    set_threads,
)
from dhyan.run.fine_tune import (
    PretrainedModel,
    choose_codecs,
    load_word_vectors,
    read_initial_files,
    transfer_weights,
)
from dhyan.run.load import (
    choose_device,
    load_codecs,
    load_saved_recipe,
    load_weights,
    make_translator,
)
from dhyan.run.processes import (
    hang_watchdog,
    join_processes,
    local_device,
    processes_of_host,
    was_restarted,
)
from dhyan.run.resume_checks import (
    check_data_files,
    check_new,
    check_processes,
    check_recipe_builds,
    check_resumable,
    check_same,
    warn_about_environment,
)
from dhyan.run.run_folder import MetricsLog, RunFolder, save_start_recipe, shared_checkpoint
from dhyan.run.trackers import Tracker, start_trackers
from dhyan.seeds import derive_seed
from dhyan.tasks import with_task
from dhyan.text.codec import SourceCodec
from dhyan.text.tokenizer import Tokenizer
from dhyan.training.data_parallel import DataParallel
from dhyan.training.events import Event, Saved
from dhyan.training.resume import restore
from dhyan.training.trainer import Trainer

logger = logging.getLogger(__name__)

OPTIONAL_FILES = (TRAINING_SENTENCES, CODEBOOK_FILE)


@dataclass(frozen=True, repr=False)
class Run:
    """A training run; iterate over it to train, up to the recipe's last step.

    `sample` is a source sentence to try the model on. The `lock` file keeps other processes out.
    """

    folder: RunFolder
    trainer: Trainer
    sample: str
    lock: IO[bytes] | None
    new: bool
    hang_timeout: float = 0.0

    @property
    def writes(self) -> bool:
        """Whether this process, of several, writes files and reports progress."""
        return self.trainer.parallel.is_first

    def __iter__(self) -> Iterator[Event]:
        """Train and yield every event, after writing it to metrics.jsonl.

        The first event of a new run is the checkpoint of step 0. Of several processes, all yield
        the events and one writes them.
        """
        path, training = self.folder.path, self.folder.recipe.training
        step = -1 if self.new else self.trainer.state.step
        with self.lock or nullcontext(), ExitStack() as stack:
            logs: list[MetricsLog | Tracker] = []
            stack.enter_context(deterministic_algorithms(training.deterministic))
            stack.enter_context(hang_watchdog(self._progress, self.hang_timeout))
            if self.writes:
                logs.append(MetricsLog(path / "metrics.jsonl", until=step))
                for tracker in start_trackers(self.folder.recipe, path, after=step):
                    stack.callback(tracker.close)
                    logs.append(tracker)
            for event in self._events():
                for log in logs:
                    log.write(event)
                yield event

    def close(self) -> None:
        """Release the lock of a run that is not iterated over."""
        if self.lock:
            self.lock.close()

    def __repr__(self) -> str:
        steps = self.folder.recipe.training.steps
        return f"Run({str(self.folder.path)!r}, step {self.trainer.state.step:,} of {steps:,})"

    def _progress(self) -> object:
        """What changes as long as the run does not hang."""
        return self.trainer.state, self.trainer.saved_step

    def _events(self) -> Iterator[Event]:
        if self.new:
            checkpoint = self.folder.save(self.trainer)
            if self.writes:
                (self.folder.path / START_RECIPE).unlink(missing_ok=True)
            yield Saved(0, checkpoint, best=False)
        yield from self.trainer.run(self.folder.recipe.training.steps - self.trainer.state.step)


def train(
    recipe: Recipe | str | Path,
    out: str | Path,
    *,
    resume: bool = False,
    wait: bool = False,
    device: str = "auto",
    threads: int = 0,
    hang_timeout: float = 0.0,
    parallel: DataParallel | None = None,
) -> Run:
    """A training run in the folder `out`, ready to be iterated over.

    `recipe` is a recipe, its TOML file or the name of a shipped one. With `resume` the run of that
    folder continues from its newest valid checkpoint, and ends in the same weights as if it had
    never stopped; without a checkpoint it starts from the beginning, and without a run it is an
    error. With `wait` it waits for another process that is training there.

    Processes that torchrun started, or those of `parallel`, train one model together: every
    step's batches are shared among them, and all of them iterate over the run. After
    `hang_timeout` seconds without progress a process ends.
    """
    recipe, out = parse_arguments(recipe, out)
    recipe = with_exact(with_task(recipe))
    torch_device = local_device(choose_device(device))
    parallel = parallel or join_processes(torch_device)
    restarted = any(parallel.gather(was_restarted()))
    resume = resume or (restarted and is_run(out))
    resume = parallel.from_first(lambda: resume)
    parallel.from_first(partial(check_folder, recipe, out, resume=resume, wait=wait))
    recipe = with_languages(recipe)
    check_recipe_builds(recipe)
    check_processes(recipe.training, parallel)
    pretrained = None if resume else read_initial_files(recipe)
    codebook = _read_codebook(recipe)
    corpus = load_corpus(recipe)
    with ExitStack() as stack:
        lock: IO[bytes] | None = None

        def take_lock() -> None:
            nonlocal lock
            lock = stack.enter_context(lock_run(out, wait=wait, resume=resume))

        parallel.from_first(take_lock)
        checkpoint = shared_checkpoint(out, parallel)
        if checkpoint:
            read_model(checkpoint[0])  # its hashes are right; this checks what it holds
            set_threads(threads or saved_threads(checkpoint[0]))
            folder, trainer = resume_run(
                recipe, corpus, *checkpoint, device=torch_device, parallel=parallel
            )
        else:
            parallel.from_first(partial(check_not_emptied, out))
            if resume:
                logger.warning(f"{out} has no checkpoint yet: its run starts from the beginning")
                pretrained = read_initial_files(recipe)
            set_threads(threads or int(recipe.training.exact))
            if parallel.is_first:
                save_start_recipe(out, recipe)
            folder, trainer = start_run(
                recipe, corpus, out, pretrained, codebook, device=torch_device, parallel=parallel
            )
        stack.pop_all()
    return Run(folder, trainer, corpus.sample, lock, not checkpoint, hang_timeout)


def with_exact(recipe: Recipe) -> Recipe:
    """The recipe, with deterministic algorithms if it is exact."""
    if not recipe.training.exact:
        return recipe
    return replace(recipe, training=replace(recipe.training, deterministic=True))


def check_folder(recipe: Recipe, out: Path, *, resume: bool, wait: bool) -> None:
    """Refuse a folder that cannot be trained in, before any data are read."""
    if resume:
        check_resumable(out)
        check_data_files(recipe)
    else:
        check_new(out)
    if not wait:
        check_unlocked(out, resume=resume)
    check_writable(out)


def check_not_emptied(out: Path) -> None:
    """Refuse a run whose checkpoints were removed."""
    if (out / "last.json").exists():
        raise UserError(
            f"{out}: its checkpoints are gone, last.json is left; name another "
            f"{spell_option('out')}"
        )


def parse_arguments(recipe: Recipe | str | Path, out: str | Path) -> tuple[Recipe, Path]:
    """The recipe and the run folder that the arguments of `train` name."""
    if isinstance(recipe, str | Path):
        recipe = load_recipe(recipe)
    if not isinstance(recipe, Recipe):
        raise UserError(
            f"recipe: expected a Recipe, a .toml file or the name of a shipped recipe, found "
            f"{type(recipe).__name__}; dhyan.load_recipe reads one"
        )
    if not isinstance(out, str | Path) or not str(out):
        raise UserError(f"out: expected the path of the run folder, found {out!r}")
    return recipe, Path(out)


def start_run(
    recipe: Recipe,
    corpus: Corpus,
    out: Path,
    pretrained: PretrainedModel | None,
    codebook: Mapping[str, bytes],
    *,
    device: torch.device,
    parallel: DataParallel,
) -> tuple[RunFolder, Trainer]:
    """A new run, with random weights or with those of a pretrained model."""
    if pretrained:
        choose = partial(choose_codecs, recipe, pretrained, corpus)
        tokenizers = shared_codecs(choose, parallel)
        for path in (recipe.encoder.pretrained_embedding, recipe.decoder.pretrained_embedding):
            if path:
                logger.warning(f"{path} is not read: the embeddings are those of {pretrained.path}")
        initialize = partial(
            transfer_weights,
            pretrained=pretrained,
            tokenizers=tokenizers,
            seed=recipe.training.seed,
        )
    else:
        tokenizers = shared_codecs(partial(corpus.make_codecs, recipe), parallel)
        initialize = partial(load_word_vectors, recipe=recipe, tokenizers=tokenizers)
    seen = [corpus.training_sentences(), *([pretrained.training_sentences] if pretrained else [])]
    sentences = merge(seen)
    known = {} if sentences is None else {TRAINING_SENTENCES: sentences.to_bytes()}
    return build_run(
        recipe,
        corpus,
        tokenizers,
        out,
        initialize=initialize,
        device=device,
        parallel=parallel,
        optional_files={**known, **codebook},
    )


def shared_codecs(
    make: Callable[[], tuple[SourceCodec, Tokenizer]], parallel: DataParallel
) -> tuple[SourceCodec, Tokenizer]:
    """The codecs that the first process makes, in all of them: learning them may take minutes."""
    codecs: tuple[SourceCodec, Tokenizer] | None = None

    def make_files() -> dict[str, str]:
        nonlocal codecs
        codecs = make()
        sides = ("source.json", "target.json") if parallel.count > 1 else ()
        return {name: codec.to_json() for name, codec in zip(sides, codecs, strict=False)}

    files = parallel.from_first(make_files)
    return codecs or load_codecs({name: text.encode() for name, text in files.items()})


def resume_run(
    recipe: Recipe,
    corpus: Corpus,
    checkpoint: Path,
    files: Mapping[str, bytes],
    *,
    device: torch.device,
    parallel: DataParallel,
) -> tuple[RunFolder, Trainer]:
    """A run from one of its checkpoints, if recipe and data are still the same."""
    saved_recipe = with_absolute_paths(load_saved_recipe(files))
    recipe = with_absolute_paths(inherit_settings(recipe, saved_recipe))
    check_same(checkpoint, saved_recipe, recipe, corpus)
    with deterministic_algorithms(recipe.training.deterministic):
        warn_about_environment(checkpoint, device)
    state = json.loads(files["training.json"])
    folder, trainer = build_run(
        recipe,
        corpus,
        load_codecs(files),
        checkpoint.parent,
        initialize=partial(load_weights, saved=weights_from_bytes(files["model.safetensors"])),
        device=device,
        parallel=parallel,
        length_multiple=state["length_multiple"],
        optional_files={name: files[name] for name in OPTIONAL_FILES if name in files},
    )
    restore(trainer, tensors_from_bytes(files["training.safetensors"]), state)
    if parallel.is_first:
        folder.write_pointers(trainer.state)
        (folder.path / START_RECIPE).unlink(missing_ok=True)
    then, now = saved_recipe.training.steps, folder.recipe.training.steps
    if recipe.training.schedule == "cosine" and then != now:
        logger.warning(
            f"the cosine schedule ended at step {then:,}, now at {now:,}: "
            f"the learning rate changes at once"
        )
    if trainer.state.step < now:
        logger.info(f"resuming from {checkpoint}")
    else:
        logger.warning(
            f"{checkpoint} is the last step: raise training.steps or training.epochs to train on"
        )
    return folder, trainer


def build_run(
    recipe: Recipe,
    corpus: Corpus,
    tokenizers: tuple[SourceCodec, Tokenizer],
    out: Path,
    *,
    initialize: Callable[[Seq2Seq], None],
    device: torch.device,
    parallel: DataParallel | None = None,
    length_multiple: int | None = None,
    optional_files: Mapping[str, bytes],
) -> tuple[RunFolder, Trainer]:
    """Build the model, its run folder and its trainer.

    The first weights follow from the seed; then `initialize` may replace them. `length_multiple`
    is what a resumed run rounds the lengths of its batches to.
    """
    source, target = tokenizers
    recipe, parallel = choose_precision(recipe, device), parallel or DataParallel()
    training = recipe.training
    torch.manual_seed(derive_seed(training.seed))
    model = build_model(recipe, len(source), len(target)).to(device)
    initialize(model)
    translator = make_translator(recipe, model, source, target, device)
    examples = corpus.encode(source, target, recipe.data.max_tokens)
    logger.info(
        f"parameters {sum(weight.numel() for weight in model.parameters()):,}, "
        f"examples {len(examples):,}, device {device}, threads {torch.get_num_threads()}, "
        f"precision {training.precision}"
    )
    kernels = reference_kernels() if training.kernels == "reference" else nullcontext()
    with kernels, deterministic_algorithms(training.deterministic):
        objective = make_objective(training)
        recipe = choose_batch_size(
            recipe, model, objective, examples, device=device, processes=processes_of_host()
        )
    tokens = min(parallel.gather(recipe.training.tokens_per_batch))
    recipe = replace(recipe, training=replace(recipe.training, tokens_per_batch=tokens))
    batches = make_batches(recipe, examples, device, length_multiple=length_multiple)
    recipe = with_steps_of_epochs(recipe, batches)
    folder = RunFolder(
        out, with_absolute_paths(recipe), translator, corpus.fingerprint, optional_files
    )
    return folder, make_trainer(recipe, corpus, batches, folder, parallel)


def _read_codebook(recipe: Recipe) -> dict[str, bytes]:
    """The file of the recipe's codebook, checked, under its name in a model folder."""
    path = recipe.data.codebook
    return {CODEBOOK_FILE: Codebook.read(Path(path)).to_bytes()} if path else {}


def inherit_settings(recipe: Recipe, saved: Recipe) -> Recipe:
    """The recipe with settings of the saved one that a resumed run need not name again.

    These are the languages, the batch size and the precision that were chosen, and the model of
    --init-from.
    """
    data, training = recipe.data, recipe.training
    data = replace(
        data,
        source_language=data.source_language or saved.data.source_language,
        target_language=data.target_language or saved.data.target_language,
    )
    tokens_per_batch = training.tokens_per_batch or saved.training.tokens_per_batch
    training = replace(training, tokens_per_batch=tokens_per_batch)
    if training.precision == "auto":
        training = replace(training, precision=saved.training.precision)
    if not training.init_from:
        init_from, vocabulary = saved.training.init_from, saved.training.init_vocabulary
        training = replace(training, init_from=init_from, init_vocabulary=vocabulary)
    return replace(recipe, data=data, training=training)
