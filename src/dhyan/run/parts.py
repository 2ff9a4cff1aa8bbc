"""What a trainer is made of: examples, validation, optimizer and schedule."""

from dataclasses import dataclass

import torch

from dhyan.batch import Batch
from dhyan.config import Recipe, Training
from dhyan.data.batches import Batches, fixed_batches
from dhyan.data.corpus import Pair
from dhyan.decoding.translator import Translator
from dhyan.evaluation.scores import score
from dhyan.models.seq2seq import Seq2Seq
from dhyan.run.folder import RunFolder
from dhyan.run.gather import Corpus, Say
from dhyan.run.vocabulary import encode
from dhyan.training.loss import cross_entropy
from dhyan.training.schedule import Schedule, constant, halving, inverse_sqrt
from dhyan.training.trainer import Settings, Trainer


def make_trainer(
    recipe: Recipe, corpus: Corpus, translator: Translator, home: RunFolder, say: Say
) -> Trainer:
    """Batches, optimizer, schedule and validation, joined."""
    training, model = recipe.training, translator.model
    examples = encode(corpus.training, translator, recipe.data.longest, say)
    say(
        f"parameters {sum(p.numel() for p in model.parameters()):,}, examples {len(examples):,}, "
        f"device {translator.device}, threads {torch.get_num_threads()}"
    )
    return Trainer(
        model=model,
        optimizer=make_optimizer(training, model),
        batches=Batches(examples, tokens_per_batch=training.tokens_per_batch, seed=training.seed),
        settings=make_settings(training),
        device=translator.device,
        validate=Validation.of(recipe, corpus.validation, translator, say),
        save=home.save,
    )


@dataclass(frozen=True)
class Validation:
    """Loss and scores on pairs the model is not trained on."""

    translator: Translator
    batches: list[Batch]
    pairs: list[Pair]
    language: str

    @classmethod
    def of(
        cls, recipe: Recipe, pairs: list[Pair], translator: Translator, say: Say
    ) -> "Validation | None":
        """Ready to be called again and again, or nothing if there are no pairs."""
        if not pairs:
            return None
        longest = recipe.data.longest
        examples = encode(pairs, translator, longest, say)
        batches = fixed_batches(examples, recipe.training.tokens_per_batch)
        most = min(longest, translator.limits.source)
        fitting = [p for p in pairs if len(translator.source.encode(p.source)) <= most]
        shown = fitting[: recipe.training.valid_sentences]
        if len(shown) < len(pairs):
            say(f"BLEU and chrF++ of the first {len(shown):,} of {len(pairs):,} validation pairs")
        return cls(translator, batches, shown, recipe.data.target_language)

    def __call__(self) -> dict[str, float]:
        """The mean loss per token over all pairs; BLEU and chrF++ of the first, said greedily."""
        scores = {"loss": self._loss()}
        if self.pairs:
            said = [one.text for one in self.translator([p.source for p in self.pairs], beam=1)]
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
    """The recipe's optimizer over every weight."""
    weights = list(model.parameters())
    rate, decay = training.learning_rate, training.weight_decay
    if training.optimizer == "sgd":
        return torch.optim.SGD(weights, lr=rate, weight_decay=decay)
    kind = torch.optim.AdamW if training.optimizer == "adamw" else torch.optim.Adam
    betas = (training.betas[0], training.betas[1])
    return kind(weights, lr=rate, betas=betas, eps=1e-9, weight_decay=decay)


def make_settings(training: Training) -> Settings:
    """What of the recipe the trainer needs to know."""
    return Settings(
        learning_rate=training.learning_rate,
        schedule=make_schedule(training),
        seed=training.seed,
        smoothing=training.label_smoothing,
        clip=training.clip,
        accumulate=training.accumulate,
        half=training.precision == "bf16",
        report_every=training.report_every,
        validate_every=training.validate_every,
        save_every=training.save_every,
        stop_on=training.stop_on,
        patience=training.patience,
    )


def make_schedule(training: Training) -> Schedule:
    """The recipe's course of the learning rate."""
    match training.schedule:
        case "constant":
            return constant(warmup=training.warmup)
        case "inverse_sqrt":
            return inverse_sqrt(warmup=training.warmup)
        case "halving":
            return halving(
                start=training.halve_from, every=training.halve_every, warmup=training.warmup
            )
