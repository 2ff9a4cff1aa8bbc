"""A tiny Transformer learns to reverse letters, with and without √dk: its gradients by step."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from pathlib import Path

import torch
from torch import Tensor, nn

from dhyan.attention import Attended, DotScore, MultiHeadAttention
from dhyan.config import Recipe, load_recipe
from dhyan.data.batches import Batches, sorted_batches
from dhyan.data.encode import encode_pairs
from dhyan.data.store import Examples
from dhyan.data.synthetic import reverse_pairs
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.kernels.backend import reference_kernels
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.text.tokenizer import Tokenizer
from dhyan.training.events import Stepped
from dhyan.training.loss import cross_entropy
from dhyan.training.trainer import Trainer

PAIRS, UNSEEN, PLACES = 4000, 300, 10
Hear = Callable[[str], None]


@dataclass(frozen=True)
class Course:
    """How a run went, at some of its steps, each a mean over those since the one before.

    `through` is the norm of the gradient that reaches the scores through the softmax, `weights`
    that of the query and key matrices, `most` what of it one step in twenty exceeds; `largest` is
    the mean largest weight of a row. `loss` and `right` are of words the model has not seen.
    """

    key_width: int
    scaled: bool
    steps: tuple[int, ...]
    losses: tuple[float, ...]
    through: tuple[float, ...]
    weights: tuple[float, ...]
    largest: tuple[float, ...]
    most: float
    loss: float
    right: float

    @property
    def late(self) -> float:
        """The mean of `through` over the second half."""
        half = self.through[len(self.through) // 2 :]
        return sum(half) / len(half)


def course(*, key_width: int, scaled: bool, steps: int, seed: int, hear: Hear | None) -> Course:
    """Train one head of a width, all else equal, by the project's own trainer."""
    recipe = _recipe(key_width, scaled, steps, seed)
    pairs = list(islice(reverse_pairs(seed=seed), PAIRS + UNSEEN))
    words = Tokenizer.train((pair.source for pair in pairs), kind="words", size=64)
    examples, unseen = (
        encode_pairs(some, words, words, max_tokens=recipe.data.max_tokens)
        for some in (pairs[:PAIRS], pairs[PAIRS:])
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build_model(recipe, len(words), len(words))
        rows = list(_watched(_trainer(recipe, model, examples), steps, hear))
    ends = [round(steps * part / PLACES) for part in range(1, PLACES + 1)]
    ends = list(dict.fromkeys(end for end in ends if end))
    starts = [0, *ends[:-1]]
    means = torch.stack(
        [torch.tensor(rows[a:b]).mean(0) for a, b in zip(starts, ends, strict=True)]
    )
    losses, through, weights, largest = (tuple(one.tolist()) for one in means.unbind(1))
    loss, right = _judged(model, unseen)
    return Course(
        key_width=key_width,
        scaled=scaled,
        steps=tuple(ends),
        losses=losses,
        through=through,
        weights=weights,
        largest=largest,
        most=float(torch.tensor([row[2] for row in rows]).quantile(0.95)),
        loss=loss,
        right=right,
    )


def _recipe(width: int, scaled: bool, steps: int, seed: int) -> Recipe:
    """The shipped recipe `reverse` with one layer of one head on either side, and no warm-up."""
    sides = {
        f"{side}.{key}": value
        for side in ("encoder", "decoder")
        for key, value in {
            "width": width,
            "heads": 1,
            "layers": 1,
            "score": "scaled_dot" if scaled else "dot",
        }.items()
    }
    training = {"steps": steps, "warmup_steps": 0, "halve_from": steps // 2, "seed": seed}
    training |= {"halve_every": max(1, steps // 8), "report_every": 1}
    return load_recipe("reverse", sides | {f"training.{key}": it for key, it in training.items()})


def _trainer(recipe: Recipe, model: Seq2Seq, examples: Examples) -> Trainer:
    from dhyan.run.build_trainer import make_optimizer, make_settings

    training = recipe.training
    batches = Batches(examples, tokens_per_batch=training.tokens_per_batch, seed=training.seed)
    return Trainer(
        model=model,
        optimizer=make_optimizer(training, model),
        batches=batches,
        settings=replace(make_settings(training), clip=inf, validate_every=10**9, save_every=10**9),
        device=torch.device("cpu"),
        validate=None,
        save=lambda trainer: Path(),
    )


def _watched(
    trainer: Trainer, steps: int, hear: Hear | None
) -> Iterator[tuple[float, float, float, float]]:
    """Of every step: loss, gradient at the scores, gradient of the weights, largest weight."""
    asking = [
        part.weight
        for module in trainer.model.modules()
        if isinstance(module, MultiHeadAttention)
        for part in (module.query, module.key)
        if part is not None
    ]
    with reference_kernels(), _noting(trainer.model) as (squares, largest):
        for event in trainer.run(steps):
            if not isinstance(event, Stepped):
                continue
            through = torch.stack(squares).sum().sqrt()
            gradients = [one.grad.norm() for one in asking if one.grad is not None]
            weights = torch.stack(gradients).norm()
            yield event.loss, float(through), float(weights), float(torch.stack(largest).mean())
            squares.clear()
            largest.clear()
            if hear and event.step % max(1, steps // 5) == 0:
                hear(f"step {event.step}: loss {event.loss:.3f}")


@contextmanager
def _noting(model: nn.Module) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """Inside, a backward pass leaves the squared gradients at the scores, a look its top weight."""
    squares: list[Tensor] = []
    largest: list[Tensor] = []

    def scored(module: nn.Module, inputs: object, scores: Tensor) -> None:
        if scores.requires_grad:
            scores.register_hook(lambda slope: squares.append(slope.square().sum()))

    def looked(module: nn.Module, inputs: object, found: Attended) -> None:
        if found.weights is not None:
            largest.append(found.weights.detach().amax(-1).mean())

    with ExitStack() as undo:
        for module in model.modules():
            if isinstance(module, DotScore):
                undo.callback(module.register_forward_hook(scored).remove)
            elif isinstance(module, MultiHeadAttention):
                undo.callback(module.register_forward_hook(looked).remove)
        yield squares, largest


@torch.no_grad()
def _judged(model: Seq2Seq, unseen: Examples) -> tuple[float, float]:
    """The mean loss of unseen words, and the share of them said rightly after the correct ones."""
    total, right, count = 0.0, 0, 0
    with evaluation_mode(model):
        for batch in sorted_batches(unseen, 2000):
            logits, labels = model(batch), batch.labels
            total += float(cross_entropy(logits, labels, smoothing=0.0))
            right += int(((logits.argmax(-1) == labels.ids) & labels.mask).sum())
            count += labels.count
    return total / count, right / count
