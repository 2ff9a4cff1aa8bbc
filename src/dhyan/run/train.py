"""From a recipe to a run: data, tokenizers, model and trainer, anew or from a checkpoint."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import torch

from dhyan.atomic_folder import check_place
from dhyan.checkpoint import (
    newest_whole,
    steps_in,
    take_hold,
    tensors_from_bytes,
)
from dhyan.config import Recipe
from dhyan.data.corpus import Corpus, Say, warner
from dhyan.data.load_corpus import gather, with_languages
from dhyan.data.permutation import derive
from dhyan.errors import UserError
from dhyan.kernels.backend import by_definition
from dhyan.model_check import read_model
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.run.auto_batch_size import fitted
from dhyan.run.build_trainer import make_objective, make_trainer
from dhyan.run.deterministic import one_way
from dhyan.run.fine_tune import Origin, carry, choose_tokenizers
from dhyan.run.init_embeddings import start_from_vectors
from dhyan.run.load import (
    MODEL_FILES,
    load_weights,
    make_translator,
    pick_device,
    pick_threads,
    saved_recipe,
    saved_tokenizers,
)
from dhyan.run.resume_checks import (
    check_files,
    check_resumable,
    check_same,
    check_whole,
    compare_machines,
)
from dhyan.run.run_folder import STATE_FILES, MetricsLog, RunFolder
from dhyan.run.tensorboard import Board
from dhyan.text.tokenizer import Tokenizer
from dhyan.training.events import Event, Saved
from dhyan.training.resume import restore
from dhyan.training.trainer import Trainer


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
        path, fresh = self.folder.path, not steps_in(self.folder.path)
        step = -1 if fresh else self.trainer.progress.step
        with self.claim, ExitStack() as held:
            listeners: list[MetricsLog | Board] = [
                MetricsLog(path / "metrics.jsonl", until=step, warn=self.folder.warn)
            ]
            held.enter_context(one_way(self.folder.recipe.training.deterministic))
            if self.folder.recipe.training.tensorboard:
                board = Board(path / "tensorboard", after=step)
                held.callback(board.close)
                listeners.append(board)
            for event in self._events(fresh=fresh):
                for listener in listeners:
                    listener.note(event)
                yield event

    def _events(self, *, fresh: bool) -> Iterator[Event]:
        if fresh:
            yield Saved(0, self.folder.save(self.trainer), best=False)
        left = self.folder.recipe.training.steps - self.trainer.progress.step
        yield from self.trainer.run(left)


def train(
    recipe: Recipe,
    out: Path,
    *,
    resume: bool = False,
    wait: bool = False,
    device: str = "auto",
    threads: int = 0,
    say: Say = lambda line: None,
) -> Run:
    """A run in the folder `out`, ready to go; `say` is told what was read, dropped and learned.

    Where it is a `Voice`, it is warned of what went wrong. Resumed, the run goes on from the newest
    checkpoint that is whole, and ends in the same weights as if it had never stopped. With `wait`,
    another that is training there is let come to its end.
    """
    pick_threads(threads)
    place, recipe = pick_device(device), with_languages(recipe)
    if not resume and steps_in(out):
        raise UserError(f"{out} holds a run already: add --resume to go on, or name another --out")
    check_whole(recipe)
    check_place(out)
    if resume:
        check_resumable(out)
    else:
        check_files(recipe)
    corpus = gather(recipe, say)
    with ExitStack() as held:
        claim = held.enter_context(take_hold(out, wait=say if wait else None))
        found = newest_whole(out, (*MODEL_FILES, *STATE_FILES), warner(say))
        if found is None and (out / "last.json").exists():
            raise UserError(
                f"{out}: its checkpoints are gone, last.json is left; name another --out"
            )
        if found is None and resume:
            warner(say)(f"nothing to resume in {out}: starting from the beginning")
        if found is None:
            home, trainer = begin(recipe, corpus, out, device=place, say=say)
        else:
            read_model(found[0])  # whole it is, but who knows whose
            home, trainer = go_on(recipe, corpus, *found, device=place, say=say)
        held.pop_all()
    return Run(home, trainer, corpus.sample, claim)


def begin(
    recipe: Recipe, corpus: Corpus, out: Path, *, device: torch.device, say: Say
) -> tuple[RunFolder, Trainer]:
    """A run from its first step: its weights fresh, or those of the model it begins from."""
    seed = recipe.training.seed
    if recipe.training.init_from:
        origin = Origin.read(Path(recipe.training.init_from))
        tokenizers = choose_tokenizers(recipe, origin, corpus, say)
        for path in filter(
            None, (recipe.encoder.pretrained_embedding, recipe.decoder.pretrained_embedding)
        ):
            warner(say)(f"{path} is not read: the word vectors are those of {origin.path}")

        def weigh(model: Seq2Seq) -> None:
            carry(model, origin, tokenizers, seed=seed, say=say)

    else:
        tokenizers = corpus.learn(recipe, say)

        def weigh(model: Seq2Seq) -> None:
            start_from_vectors(recipe, model, tokenizers, say)

    return assemble(recipe, corpus, tokenizers, out, weigh=weigh, device=device, say=say)


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
    recipe = inherited(recipe, old)
    warn, then, now = warner(say), old.training.steps, recipe.training.steps
    if recipe.training.schedule == "cosine" and then != now:
        warn(f"the cosine ended at step {then:,}, now at {now:,}: the rate changes at once")
    check_same(folder, old, recipe, corpus)
    with one_way(recipe.training.deterministic):
        compare_machines(folder, device, warn)

    def weigh(model: Seq2Seq) -> None:
        load_weights(model, tensors_from_bytes(files["model.safetensors"]))

    tokenizers, facts = saved_tokenizers(files), json.loads(files["training.json"])
    home, trainer = assemble(
        recipe,
        corpus,
        tokenizers,
        folder.parent,
        weigh=weigh,
        device=device,
        say=say,
        multiple=facts.get("multiple", 1),
    )
    tensors = tensors_from_bytes(files["training.safetensors"])
    restore(trainer, tensors, facts)
    home.point(trainer.progress)
    left = recipe.training.steps - trainer.progress.step
    if left > 0:
        say(f"going on from {folder}")
    else:
        warn(f"{folder} is the end: raise training.steps")
    return home, trainer


def assemble(
    recipe: Recipe,
    corpus: Corpus,
    tokenizers: tuple[Tokenizer, Tokenizer],
    out: Path,
    *,
    weigh: Callable[[Seq2Seq], None],
    device: torch.device,
    say: Say,
    multiple: int | None = None,
) -> tuple[RunFolder, Trainer]:
    """Model, translator, folder and trainer, joined.

    The first weights follow from the seed; then `weigh` may give the model others. `multiple` is
    what a run that goes on has rounded the lengths of its batches to.
    """
    source, target = tokenizers
    torch.manual_seed(derive(recipe.training.seed))
    model = build_model(recipe, len(source), len(target)).to(device)
    weigh(model)
    translator = make_translator(recipe, model, source, target, device)
    examples = corpus.encode(source, target, recipe.data.max_tokens, say)
    say(
        f"parameters {sum(p.numel() for p in model.parameters()):,}, examples {len(examples):,}, "
        f"device {device}, threads {torch.get_num_threads()}"
    )
    plain, exact = recipe.training.kernels == "reference", recipe.training.deterministic
    with by_definition() if plain else nullcontext(), one_way(exact):
        recipe = fitted(
            recipe, model, make_objective(recipe.training), examples, device=device, say=say
        )
    home = RunFolder(out, recipe, translator, corpus.fingerprint, warner(say))
    return home, make_trainer(recipe, corpus, examples, home, say, multiple=multiple)


def inherited(recipe: Recipe, old: Recipe) -> Recipe:
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
