"""Build the trainer of a recipe: batches, validation, optimizer, schedules."""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from dhyan.config import Recipe, Training
from dhyan.data.batches import Batches
from dhyan.data.corpus import Corpus
from dhyan.data.store import Examples
from dhyan.models.seq2seq import Seq2Seq
from dhyan.run.run_folder import RunFolder
from dhyan.run.validation import Validation, ValidationOfShards, check_validation_available
from dhyan.training import scheduled_sampling as forcing
from dhyan.training.cuda_graph import CudaGraphUpdate
from dhyan.training.data_parallel import DataParallel
from dhyan.training.ema import WeightEMA
from dhyan.training.loss import Objective
from dhyan.training.prefetch import DirectLoader, Prefetcher
from dhyan.training.schedule import Plateau, Schedule, constant, cosine, halving, inverse_sqrt
from dhyan.training.scheduled_sampling import ForcingSchedule
from dhyan.training.steps import Steps
from dhyan.training.trainer import Trainer, TrainerSettings, TrainState
from dhyan.training.update import EagerUpdate, Update, UpdateContext

logger = logging.getLogger(__name__)

DEVICE_MULTIPLE = {"cuda": 4}  # few shapes of batches, so that few CUDA graphs are captured


def make_batches(
    recipe: Recipe,
    examples: Examples,
    device: torch.device,
    *,
    length_multiple: int | None = None,
) -> Batches:
    """The training batches of a recipe.

    Their lengths are rounded to `length_multiple`; None chooses by the device.
    """
    return Batches(
        examples,
        tokens_per_batch=recipe.training.tokens_per_batch,
        seed=recipe.training.seed,
        multiple=length_multiple or DEVICE_MULTIPLE.get(device.type, 1),
        max_length=recipe.data.max_tokens + 1,  # EOS or BOS comes on top
    )


def with_steps_of_epochs(recipe: Recipe, batches: Batches) -> Recipe:
    """The recipe with the number of steps that its training.epochs take, if it has any."""
    training = recipe.training
    if not training.epochs:
        return recipe
    steps = -(-batches.count(training.epochs) // training.gradient_accumulation)
    logger.info(f"{training.epochs:,} epochs are {steps:,} steps")
    replace(recipe, training=replace(training, steps=steps, epochs=0)).check()
    return replace(recipe, training=replace(training, steps=steps))


def make_trainer(
    recipe: Recipe, corpus: Corpus, batches: Batches, folder: RunFolder, parallel: DataParallel
) -> Trainer:
    """The trainer of a recipe: optimizer, schedule and validation.

    If the weights are sharded over processes, the translator has a whole copy of them to validate.
    """
    training, translator = recipe.training, folder.translator
    model, device = translator.model, translator.device
    validation = Validation.of(recipe, corpus.validation, translator, parallel)
    validate: Validation | ValidationOfShards | None = validation
    if validation is None:
        check_validation_available(training)
    fast = device.type == "cuda" and training.kernels == "auto"
    make_update: Callable[[UpdateContext], Update] = (
        CudaGraphUpdate
        if fast and batches.multiple > 1  # otherwise few shapes would occur twice
        else partial(EagerUpdate, reference_kernels=training.kernels == "reference")
    )
    if training.shard_weights and parallel.count > 1:
        from dhyan.training.sharded import ShardedUpdate, shard_copy  # a second to import

        root = shard_copy(model, parallel, device)
        steps = Steps(batches, training.gradient_accumulation, parallel)
        make_update = partial(ShardedUpdate, root=root, micro_batches=steps.most_of_a_process)
        model = root.model
        validate = ValidationOfShards(validation, model) if validation else None
    return Trainer(
        model=model,
        optimizer=make_optimizer(training, model),
        batches=batches,
        settings=make_settings(training),
        device=device,
        validate=validate,
        save=folder.save,
        restore=folder.restore,
        ema=WeightEMA.start(model, training.ema_decay) if training.ema_decay else None,
        make_update=make_update,
        make_loader=Prefetcher if fast else DirectLoader,
        parallel=parallel,
        state=TrainState(length_multiple=batches.multiple),
    )


def make_optimizer(training: Training, model: Seq2Seq) -> torch.optim.Optimizer:
    """The optimizer of every weight that is not frozen; fused into one kernel on a GPU."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    rate, decay = training.learning_rate, training.weight_decay
    on_gpu = all(weight.is_cuda for weight in weights)
    fused = True if on_gpu and training.kernels == "auto" else None
    if training.optimizer == "sgd":
        return torch.optim.SGD(weights, lr=rate, weight_decay=decay, fused=fused)
    adam = torch.optim.AdamW if training.optimizer == "adamw" else torch.optim.Adam
    betas = (training.betas[0], training.betas[1])
    return adam(weights, lr=rate, betas=betas, eps=1e-9, weight_decay=decay, fused=fused)


def make_settings(training: Training) -> TrainerSettings:
    """The settings of the training loop."""
    return TrainerSettings(
        learning_rate=training.learning_rate,
        schedule=make_schedule(training),
        plateau=make_plateau(training),
        objective=make_objective(training),
        seed=training.seed,
        clip_norm=training.clip_norm,
        gradient_accumulation=training.gradient_accumulation,
        exact=training.exact,
        report_every=training.report_every,
        validate_every=training.validate_every,
        save_every=training.save_every,
        early_stopping_metric=training.early_stopping_metric,
        patience=training.patience,
    )


def make_objective(training: Training) -> Objective:
    """The loss the recipe minimises."""
    return Objective(
        smoothing=training.label_smoothing,
        r_drop=training.r_drop,
        teacher_forcing_schedule=make_forcing(training),
        bf16=training.precision == "bf16",
    )


def make_schedule(training: Training) -> Schedule:
    """The learning rate schedule."""
    warmup, steps = training.warmup_steps, training.steps
    match training.schedule:
        case "constant" | "plateau":
            return constant(warmup=warmup)
        case "inverse_sqrt":
            return inverse_sqrt(warmup=warmup)
        case "halving":
            return halving(start=training.halve_from, every=training.halve_every, warmup=warmup)
        case "cosine":
            return cosine(
                steps=steps, warmup=warmup, lowest_factor=training.min_learning_rate_ratio
            )


def make_plateau(training: Training) -> Plateau | None:
    """The plateau schedule, if the recipe has it."""
    if training.schedule != "plateau":
        return None
    return Plateau(
        factor=training.plateau_factor,
        patience=training.plateau_patience,
        lowest_factor=training.min_learning_rate_ratio,
    )


def make_forcing(training: Training) -> ForcingSchedule:
    """The schedule of teacher forcing: the probability of feeding the reference token."""
    k = training.teacher_forcing_k
    match training.teacher_forcing_schedule:
        case "constant":
            return forcing.constant_ratio(ratio=training.teacher_forcing)
        case "linear":
            return forcing.linear(
                k=training.teacher_forcing,
                slope=training.teacher_forcing_slope,
                least=training.teacher_forcing_min,
            )
        case "exponential":
            return forcing.exponential(k=k)
        case "inverse_sigmoid":
            return forcing.inverse_sigmoid(k=k)
