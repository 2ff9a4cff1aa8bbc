"""Validation: the loss, and the metrics of the task, on held-out pairs."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import torch

from dhyan.batch import Batch
from dhyan.config import DecodingOptions, Recipe, Training
from dhyan.data.batches import sorted_batches
from dhyan.data.corpus import valid_options
from dhyan.data.encode import encode_validation
from dhyan.data.pairs import Pair
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.evaluation.metric import metric_label
from dhyan.evaluation.metrics import score
from dhyan.models.seq2seq import Seq2Seq
from dhyan.tasks import find_task
from dhyan.training.data_parallel import DataParallel, whole
from dhyan.training.loss import cross_entropy

logger = logging.getLogger(__name__)

WORSE_THAN_UNIFORM = 1.0  # nats; the loss of random weights is closer to a uniform guess


def check_validation_available(training: Training) -> None:
    """Refuse settings that depend on validations if there is nothing to validate on.

    An early stopping metric alone is fine: the shipped recipes name one.
    """
    for key, needs_validation in {
        "schedule": training.schedule == "plateau",
        "patience": training.patience > 0,
    }.items():
        if needs_validation:
            raise UserError(
                f"training.{key} = {getattr(training, key)!r} follows validations, and there is "
                f"nothing to validate on: name {valid_options()}, or leave it out"
            )


@dataclass(frozen=True)
class Validation:
    """Computes the loss and the scores of a model on held-out pairs."""

    translator: Translator
    batches: list[Batch]
    pairs: list[Pair]
    language: str
    metrics: tuple[str, ...]
    parallel: DataParallel = DataParallel()

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        pairs: list[Pair],
        translator: Translator,
        parallel: DataParallel | None = None,
    ) -> "Validation | None":
        """The validation of a recipe, shared by its processes; None if there are no pairs."""
        if not pairs:
            return None
        max_tokens = recipe.data.max_tokens
        source, target = translator.source, translator.target
        examples = encode_validation(pairs, source, target, text=recipe.text, max_tokens=max_tokens)
        batches = sorted_batches(examples, recipe.training.tokens_per_batch)
        limit = min(max_tokens, translator.limits.source) + 1  # with EOS
        fitting = [pair for pair in pairs if len(translator.encode(pair.source)) <= limit]
        translated = fitting[: recipe.training.valid_sentences]
        metrics = find_task(recipe.task).metrics
        if len(translated) < len(pairs):
            logger.info(
                f"{' and '.join(map(metric_label, metrics))} of the first {len(translated):,} of "
                f"{len(pairs):,} validation pairs"
            )
        greedy = DecodingOptions(beam=1, max_length=recipe.decoding.max_length)
        translator = replace(translator, options=greedy)
        language = recipe.data.target_language
        parallel = parallel or DataParallel()
        return cls(translator, batches, translated, language, metrics, parallel)

    def __call__(self) -> dict[str, float]:
        """Mean loss per token over all pairs; the metrics of the first ones by greedy search."""
        scores = {"loss": self._loss()}
        uniform = log(len(self.translator.target))
        if not scores["loss"] <= uniform + WORSE_THAN_UNIFORM:
            logger.warning(
                f"warning: the validation loss of {scores['loss']:.2f} is worse than guessing, "
                f"{uniform:.2f}: lower training.learning_rate"
            )
        if self.pairs:
            sources = [pair.source for pair in self.pairs]
            texts = self.parallel.map(sources, self._translate)
            references = [pair.target for pair in self.pairs]
            results = score(
                texts, references, sources=sources, language=self.language, metrics=self.metrics
            )
            scores |= {name: result.value for name, result in results.items()}
        return scores

    def _translate(self, sources: Sequence[str]) -> list[str]:
        translations = self.translator(list(sources)) if sources else []
        return [translation.text for translation in translations]

    def _loss(self) -> float:
        losses = self.parallel.map(self.batches, self._losses)
        return sum(losses, start=0.0) / sum(batch.labels.count for batch in self.batches)

    @torch.inference_mode()
    def _losses(self, batches: Sequence[Batch]) -> list[float]:
        """The loss of each batch, summed over its labels."""
        on_device = (batch.to(self.translator.device) for batch in batches)
        model = self.translator.model
        return [
            float(cross_entropy(model(batch), batch.labels, smoothing=0.0)) for batch in on_device
        ]


@dataclass(frozen=True)
class ValidationOfShards:
    """A validation of sharded weights, which are made whole in the model that translates."""

    validation: Validation
    sharded: Seq2Seq

    def __call__(self) -> dict[str, float]:
        """The scores of the weights of the moment."""
        model = self.validation.translator.model
        model.eval()
        with torch.no_grad():
            parts = dict(self.sharded.named_parameters())
            for name, weight in model.named_parameters():
                weight.copy_(whole(parts[name].detach()))
        return self.validation()
