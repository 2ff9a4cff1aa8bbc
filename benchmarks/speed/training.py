"""Training throughput in target tokens per second without padding, beside other systems."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from benchmarks.speed.corpus import EncodedCorpus, random_corpus
from benchmarks.speed.model_recipes import NEVER, Size, trained, transformer
from benchmarks.speed.timing import TRAINED, Effort, Log, Row, Table
from benchmarks.speed.transformers_peer import train_marian
from dhyan.config import Recipe
from dhyan.decoding.translator import Translator
from dhyan.run.train import build_run
from dhyan.training.events import Stepped
from dhyan.training.trainer import Trainer

FUSED, REFERENCE = "dhyan", "dhyan, reference kernels"
MIN_STEPS = 50  # of a window: those of six large batches differed by 10 % from run to run


def build(recipe: Recipe, corpus: EncodedCorpus, device: str) -> tuple[Translator, Trainer]:
    """The translator and the trainer of `dhyan train`; checkpoints are not written."""
    run_folder, trainer = build_run(
        recipe,
        corpus,
        corpus.tokenizers,
        Path("nowhere"),
        initialize=lambda model: None,
        device=torch.device(device),
        optional_files={},
    )
    trainer.save = lambda trainer: Path("nowhere")
    return run_folder.translator, trainer


def build_trainer(recipe: Recipe, corpus: EncodedCorpus, device: str) -> Trainer:
    """The trainer alone."""
    return build(recipe, corpus, device)[1]


def with_reference_kernels(recipe: Recipe) -> Recipe:
    """The recipe with `training.kernels = "reference"`."""
    return trained(recipe, kernels="reference")


def losses(trainer: Trainer, steps: int) -> list[float]:
    """The mean loss of each of the next steps."""
    trainer.settings = replace(trainer.settings, report_every=1)
    return [event.loss for event in trainer.run(steps) if isinstance(event, Stepped)]


def tokens_per_second(
    trainer: Trainer, *, steps: int, windows: int, warm: int = 0, epochs: int = 0
) -> list[float]:
    """Target tokens per second, without padding, in each of several windows of `steps` steps.

    Warm-up takes at least `warm` steps and `epochs` epochs: an epoch has every batch shape.
    """
    trainer.settings = replace(trainer.settings, report_every=steps)
    rates: list[float] = []
    ready = False
    for event in trainer.run(NEVER):
        if isinstance(event, Stepped):
            rates += [event.tokens / event.seconds] if ready else []
            ready = event.step >= warm and event.epoch >= epochs
            if len(rates) == windows:
                break
    return rates


def train_on_corpus(
    recipe: Callable[..., Recipe],
    corpus: EncodedCorpus,
    *,
    device: str,
    budgets: Sequence[int],
    effort: Effort,
    log: Log,
) -> dict[str, Any]:
    """Fused kernels at every batch size, and reference kernels at the smallest."""
    table = Table({"recipe": _shapes(recipe()), "sentences": len(corpus.examples)}, log)
    if effort.checks:
        with table.trying("check"):
            table.check("losses", compare_losses(recipe(dropout=0.0), corpus, device, min(budgets)))
    for budget in budgets:
        fused = trained(recipe(), tokens_per_batch=budget)
        both = effort.checks and budget == min(budgets)
        for who, variant in ((FUSED, fused), (REFERENCE, with_reference_kernels(fused)))[
            : 1 + both
        ]:
            with table.trying(f"{who}, {budget} tokens"):
                trainer, start = build_trainer(variant, corpus, device), perf_counter()
                steps = max(min(effort.steps, MIN_STEPS), effort.steps * min(budgets) // budget)
                if who == REFERENCE:
                    rates = tokens_per_second(trainer, steps=max(2, steps // 10), windows=3, warm=2)
                else:
                    epochs = int(effort.checks)
                    rates = tokens_per_second(
                        trainer, steps=steps, windows=effort.windows, epochs=epochs
                    )
                duration = f"{perf_counter() - start:.1f} s in total"
                rows = trainer.state.position // trainer.state.step
                at = f"{budget:,} tokens"
                table.add(
                    Row.of(who, at, TRAINED, rates, f"{rows} sentences per batch; {duration}")
                )
    return table.figures()


def compare_losses(
    recipe: Recipe, corpus: EncodedCorpus, device: str, budget: int
) -> dict[str, Any]:
    """First losses with fused and with reference kernels, same batches, without dropout."""
    recipe = trained(recipe, tokens_per_batch=budget)
    fused = losses(build_trainer(recipe, corpus, device), 4)
    reference = losses(build_trainer(with_reference_kernels(recipe), corpus, device), 4)
    difference = max(abs(a / b - 1) for a, b in zip(fused, reference, strict=True))
    return {
        "fused": fused,
        "reference": reference,
        "difference": difference,
        "right": difference < 0.01,
    }


def train_without_padding(
    size: Size, *, device: str, peers: Sequence[str], effort: Effort, log: Log
) -> dict[str, Any]:
    """Transformer-base on random sentences of one length, beside MarianMT of `transformers`."""
    recipe = partial(transformer, size)
    shapes = {"sentences": size.sentences, "length": size.length, "vocabulary": size.vocabulary}
    table = Table({"recipe": _shapes(recipe()), **shapes}, log)
    corpus = random_corpus(size.sentences * 8, size.length, size.vocabulary)
    budget = size.sentences * size.length
    at = f"{size.sentences} × {size.length}"
    if effort.checks:
        with table.trying("check"):
            table.check("losses", compare_losses(recipe(dropout=0.0), corpus, device, budget))
    fused = trained(recipe(), tokens_per_batch=budget)
    for who, variant in ((FUSED, fused), (REFERENCE, with_reference_kernels(fused)))[
        : 1 + effort.checks
    ]:
        with table.trying(who):
            trainer = build_trainer(variant, corpus, device)
            rates = tokens_per_second(trainer, steps=effort.steps // 10 + 1, windows=effort.windows)
            batch, _ = trainer.batches.at(0)
            note = f"batch shape {tuple(batch.labels.ids.shape)}"
            table.add(Row.of(who, at, TRAINED, rates, note))
    train_marian(table, size, peers, device=device, effort=effort)
    return table.figures()


def _shapes(recipe: Recipe) -> dict[str, Any]:
    return {part: asdict(getattr(recipe, part)) for part in ("encoder", "decoder", "training")}
