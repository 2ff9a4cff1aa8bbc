"""From a recipe to a run: data, tokenizers, model and trainer, anew or from a checkpoint."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import torch

from dhyan.batch import Batch
from dhyan.checkpoint import (
    newest_whole,
    read_manifest,
    steps_in,
    take_hold,
    tensors_from_bytes,
)
from dhyan.config import Recipe, Training, differences
from dhyan.data.batches import Batches, fixed_batches
from dhyan.data.corpus import Pair, Tally
from dhyan.data.examples import Examples, encode_pairs
from dhyan.data.permutation import derive
from dhyan.decoding.translator import Translator
from dhyan.evaluation.scores import score
from dhyan.faults import Fault
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
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
from dhyan.text.tokenizer import Tokenizer
from dhyan.training.events import Event, Saved
from dhyan.training.loss import cross_entropy
from dhyan.training.resume import restore
from dhyan.training.schedule import Schedule, constant, halving, inverse_sqrt
from dhyan.training.trainer import Settings, Trainer

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
    claim = take_hold(out)
    found = newest_whole(out, (*MODEL_FILES, *STATE_FILES), say)
    if found is None:
        if resume:
            say(f"nothing to resume in {out}: starting from the beginning")
        source, target = learn_tokenizers(recipe, corpus.training, say)
    else:
        folder, files = found
        check_same(folder, saved_recipe(files), recipe, corpus)
        compare_machines(folder, place, say)
        source, target = saved_tokenizers(files)
    torch.manual_seed(derive(recipe.training.seed))
    model = build_model(recipe, len(source), len(target)).to(place)
    translator = make_translator(recipe, model, source, target, place)
    home = RunFolder(out, recipe, translator, corpus.fingerprint)
    trainer = make_trainer(recipe, corpus, translator, home, say)
    if found is not None:
        load_weights(model, tensors_from_bytes(files["model.safetensors"]))
        tensors = tensors_from_bytes(files["training.safetensors"])
        restore(trainer, tensors, json.loads(files["training.json"]))
        home.point(trainer.progress)
        left = recipe.training.steps - trainer.progress.step
        say(f"going on from {folder}" if left > 0 else f"{folder} is the end: raise training.steps")
    sample = min((corpus.validation or corpus.training)[:50], key=lambda p: abs(len(p.source) - 30))
    return Run(home, trainer, sample.source, claim)


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
    for key, now in {"device": device.type, "threads": torch.get_num_threads()}.items():
        if manifest[key] != now:
            say(
                f"was trained with {key} {manifest[key]}, now {now}: the last digits may differ "
                f"(--{key} {manifest[key]} for the same bits)"
            )


def learn_tokenizers(recipe: Recipe, pairs: list[Pair], say: Say) -> tuple[Tokenizer, Tokenizer]:
    """The two vocabularies, learned from the training pairs."""
    text = recipe.text
    sides = {"source": (p.source for p in pairs), "target": (p.target for p in pairs)}
    sizes = {"source": text.source_size, "target": text.target_size}
    learned = {}
    for side, sentences in sides.items():
        try:
            learned[side] = Tokenizer.learn(sentences, kind=text.kind, size=sizes[side])
        except Fault as fault:
            raise Fault(f"text.{side}_size: {fault}") from None
    source, target = learned["source"], learned["target"]
    say(f"vocabularies ({text.kind}): {len(source):,} source, {len(target):,} target")
    return source, target


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


def encode(pairs: list[Pair], translator: Translator, longest: int, say: Say) -> Examples:
    """Pairs as ids; the over-long ones are left out and said."""
    tally = Tally()
    try:
        examples = encode_pairs(
            pairs, translator.source, translator.target, longest=longest, tally=tally
        )
    except Fault:
        raise Fault(f"data.longest: no pair has {longest} tokens or fewer; raise it") from None
    for reason, noted in tally.drops.items():
        say(f"left out {noted.count:,} pairs: {reason}")
    return examples


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
        fitting = [p for p in pairs if len(translator.source.encode(p.source)) <= longest]
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
