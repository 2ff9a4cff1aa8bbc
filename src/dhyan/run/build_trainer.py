"""What a trainer is made of: batches, validation, optimizer, schedules."""

import logging
from dataclasses import dataclass, replace
from functools import partial
from math import log

import torch

from dhyan.batch import Batch
from dhyan.config import DecodingOptions, Recipe, Training
from dhyan.data.batches import Batches, sorted_batches
from dhyan.data.corpus import Corpus
from dhyan.data.encode import encode_validation
from dhyan.data.pairs import Pair
from dhyan.data.store import Examples
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.evaluation.metrics import score
from dhyan.models.seq2seq import Seq2Seq
from dhyan.run.run_folder import RunFolder
from dhyan.training import scheduled_sampling as forcing
from dhyan.training.cuda_graph import CapturedUpdate
from dhyan.training.ema import WeightEMA
from dhyan.training.loss import Objective, cross_entropy
from dhyan.training.prefetch import DirectLoader, Prefetcher
from dhyan.training.schedule import Plateau, Schedule, constant, cosine, halving, inverse_sqrt
from dhyan.training.scheduled_sampling import ForcingSchedule
from dhyan.training.trainer import Trainer, TrainerSettings, TrainState
from dhyan.training.update import EagerUpdate

logger = logging.getLogger(__name__)

FAR = 1.0  # nats above a guess; fresh weights are nearer
DEVICE_MULTIPLE = {"cuda": 4}  # so that batches have few shapes there, each recorded once


def make_trainer(
    recipe: Recipe,
    corpus: Corpus,
    examples: Examples,
    home: RunFolder,
    *,
    multiple: int | None = None,
) -> Trainer:
    """Batches, optimizer, schedule and validation, joined.

    The lengths of batches are rounded to a `multiple`; where none is given, as suits the device.
    """
    training, translator = recipe.training, home.translator
    model, device = translator.model, translator.device
    validate = Validation.of(recipe, corpus.validation, translator)
    if validate is None:
        check_validation_available(training)
    fast = device.type == "cuda" and training.kernels == "auto"
    multiple = multiple or DEVICE_MULTIPLE.get(device.type, 1)
    return Trainer(
        model=model,
        optimizer=make_optimizer(training, model),
        batches=Batches(
            examples,
            tokens_per_batch=training.tokens_per_batch,
            seed=training.seed,
            multiple=multiple,
            max_length=recipe.data.max_tokens + 1,  # EOS or BOS comes on top
        ),
        settings=make_settings(training),
        device=device,
        validate=validate,
        save=home.save,
        restore=home.restore,
        ema=WeightEMA.start(model, training.ema_decay) if training.ema_decay else None,
        make_update=(
            CapturedUpdate
            if fast and multiple > 1  # with any shape allowed, few would come twice
            else partial(EagerUpdate, reference_kernels=training.kernels == "reference")
        ),
        make_loader=Prefetcher if fast else DirectLoader,
        state=TrainState(length_multiple=multiple),
    )


def check_validation_available(training: Training) -> None:
    """Refuse what follows the validations where there are none.

    A measure to stop on is no such wish: shipped recipes name one, and few pairs may do without.
    """
    for key, asked in {
        "schedule": training.schedule == "plateau",
        "patience": training.patience > 0,
    }.items():
        if asked:
            raise UserError(
                f"training.{key} = {getattr(training, key)!r} follows validations, and there is "
                f"nothing to validate on: name --valid-source and --valid-target, or leave it out"
            )


@dataclass(frozen=True)
class Validation:
    """Loss and scores on pairs the model is not trained on."""

    translator: Translator
    batches: list[Batch]
    pairs: list[Pair]
    language: str

    @classmethod
    def of(cls, recipe: Recipe, pairs: list[Pair], translator: Translator) -> "Validation | None":
        """Ready to be called again and again, or nothing if there are no pairs."""
        if not pairs:
            return None
        longest = recipe.data.max_tokens
        source, target = translator.source, translator.target
        examples = encode_validation(pairs, source, target, text=recipe.text, max_tokens=longest)
        batches = sorted_batches(examples, recipe.training.tokens_per_batch)
        most = min(longest, translator.limits.source) + 1  # EOS comes on top
        fitting = [p for p in pairs if len(translator.encode(p.source)) <= most]
        shown = fitting[: recipe.training.valid_sentences]
        if len(shown) < len(pairs):
            logger.info(
                f"BLEU and chrF++ of the first {len(shown):,} of {len(pairs):,} validation pairs"
            )
        greedy = DecodingOptions(beam=1, max_length=recipe.decoding.max_length)
        greedily = replace(translator, options=greedy)
        return cls(greedily, batches, shown, recipe.data.target_language)

    def __call__(self) -> dict[str, float]:
        """The mean loss per token over all pairs; BLEU and chrF++ of the first, said greedily."""
        scores = {"loss": self._loss()}
        guess = log(len(self.translator.target))
        if not scores["loss"] <= guess + FAR:
            logger.warning(
                f"warning: the validation loss of {scores['loss']:.2f} is worse than guessing, "
                f"{guess:.2f}: lower training.learning_rate"
            )
        if self.pairs:
            said = [one.text for one in self.translator([p.source for p in self.pairs])]
            found = score(said, [p.target for p in self.pairs], language=self.language)
            scores |= {name: result.value for name, result in found.items()}
        return scores

    @torch.inference_mode()
    def _loss(self) -> float:
        total, count = 0.0, 0
        for batch in self.batches:
            here = batch.to(self.translator.device)
            loss = cross_entropy(self.translator.model(here), here.labels, smoothing=0.0)
            total, count = total + float(loss), count + batch.labels.count
        return total / count


def make_optimizer(training: Training, model: Seq2Seq) -> torch.optim.Optimizer:
    """The recipe's optimizer over every weight that is not frozen, in one kernel on a GPU."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    rate, decay = training.learning_rate, training.weight_decay
    one_kernel = training.kernels == "auto" and all(weight.is_cuda for weight in weights)
    fused = True if one_kernel else None
    if training.optimizer == "sgd":
        return torch.optim.SGD(weights, lr=rate, weight_decay=decay, fused=fused)
    kind = torch.optim.AdamW if training.optimizer == "adamw" else torch.optim.Adam
    betas = (training.betas[0], training.betas[1])
    return kind(weights, lr=rate, betas=betas, eps=1e-9, weight_decay=decay, fused=fused)


def make_settings(training: Training) -> TrainerSettings:
    """What of the recipe the trainer needs to know."""
    return TrainerSettings(
        learning_rate=training.learning_rate,
        schedule=make_schedule(training),
        plateau=make_plateau(training),
        objective=make_objective(training),
        seed=training.seed,
        clip=training.clip_norm,
        accumulate=training.gradient_accumulation,
        report_every=training.report_every,
        validate_every=training.validate_every,
        save_every=training.save_every,
        stop_on=training.early_stopping_metric,
        patience=training.patience,
    )


def make_objective(training: Training) -> Objective:
    """What the recipe makes small."""
    return Objective(
        smoothing=training.label_smoothing,
        r_drop=training.r_drop,
        forcing=make_forcing(training),
        half=training.precision == "bf16",
    )


def make_schedule(training: Training) -> Schedule:
    """The recipe's course of the learning rate."""
    warmup, steps = training.warmup_steps, training.steps
    match training.schedule:
        case "constant" | "plateau":
            return constant(warmup=warmup)
        case "inverse_sqrt":
            return inverse_sqrt(warmup=warmup)
        case "halving":
            return halving(start=training.halve_from, every=training.halve_every, warmup=warmup)
        case "cosine":
            return cosine(steps=steps, warmup=warmup, lowest=training.min_learning_rate_ratio)


def make_plateau(training: Training) -> Plateau | None:
    """How the rate falls when validations get no better, if the recipe has it so."""
    if training.schedule != "plateau":
        return None
    return Plateau(
        factor=training.plateau_factor,
        patience=training.plateau_patience,
        lowest=training.min_learning_rate_ratio,
    )


def make_forcing(training: Training) -> ForcingSchedule:
    """The recipe's course of the chance to be told the correct word."""
    k = training.teacher_forcing_k
    match training.teacher_forcing_schedule:
        case "constant":
            return forcing.constant(ratio=training.teacher_forcing)
        case "linear":
            return forcing.linear(
                ratio=training.teacher_forcing,
                slope=training.teacher_forcing_slope,
                least=training.teacher_forcing_min,
            )
        case "exponential":
            return forcing.exponential(k=k)
        case "inverse_sigmoid":
            return forcing.inverse_sigmoid(k=k)
