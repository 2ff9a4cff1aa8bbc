"""Evaluation of a compared model on each test set: translations, accuracy, alignment, attention."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from math import exp
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.atomic_folder import to_json_bytes
from dhyan.attention_maps import attends_to_source
from dhyan.batch import Batch
from dhyan.checkpoint import find_checkpoint, replace_file
from dhyan.compare.plan import Entry, Plan
from dhyan.compare.test_sets import EvaluationExample, EvaluationSet, EvaluationSets
from dhyan.compare.train import last_step, training_seconds
from dhyan.config import Recipe
from dhyan.data.batches import sorted_batches
from dhyan.data.encode import encode_validation
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.evaluation.alignment_error_rate import AlignmentScore, alignment_score
from dhyan.evaluation.slices import PARTS, accuracy_by_position
from dhyan.insight.word_alignment import DecoderStep, attention_by_layer, pair_weights
from dhyan.run import load
from dhyan.run.environment import set_threads
from dhyan.run.evaluate import translate_test_set
from dhyan.text.normalize import normalize
from dhyan.training.loss import cross_entropy

FILE = "result.json"
MEDIUM, LONG, MAPS = 8, 14, 3  # words of the sentences in figures, and how many sentences
FIGURE_TESTS = ("context", "attachment")
END = "</s>"
Progress = Callable[[int], None]


def evaluate_model(
    plan: Plan,
    entry: Entry,
    tests: EvaluationSets,
    *,
    device: str,
    threads: int,
    on_progress: Progress | None = None,
) -> dict[str, Any]:
    """Evaluate a model on every test set; written to result.json in its folder."""
    run_folder = plan.run_folder(entry)
    set_threads(threads)
    translator = load(run_folder, device=device)
    steps = last_step(run_folder)
    result = {
        "name": entry.name,
        "about": entry.about,
        "parameters": entry.parameters,
        "steps": steps,
        "training_seconds": training_seconds(run_folder, steps),
        "best_step": int(find_checkpoint(run_folder).name.removeprefix("step-")),
        "beam": translator.beam,
        "device": str(translator.device),
        "language": translator.language,
        "translations": {
            test_set.name: _translations(translator, entry, test_set, on_progress)
            for test_set in tests.sets
        },
        **_teacher_forced(translator, entry, tests.main),
        **attention_quality(translator, entry.recipe, tests),
    }
    replace_file(run_folder / FILE, to_json_bytes(result))
    return result


def read_result(plan: Plan, entry: Entry) -> dict[str, Any] | None:
    """The result of an evaluated model, if there is one."""
    return read_json(plan.run_folder(entry) / FILE)


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON file, if it exists."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _translations(
    translator: Translator, entry: Entry, test_set: EvaluationSet, on_progress: Progress | None
) -> dict[str, Any]:
    reference_set = test_set.reference_set()
    reference_set.gold.clear()  # alignments are read by layer, elsewhere
    system = translate_test_set(translator, entry.name, reference_set, on_progress=on_progress)
    return {"texts": system.texts, "cut_off": system.cut_off, "empty": system.empty}


def _teacher_forced(
    translator: Translator, entry: Entry, test_set: EvaluationSet
) -> dict[str, Any]:
    """Under teacher forcing: perplexity per token, and token accuracy by position in the sentence."""
    recipe, pairs = entry.recipe, test_set.reference_set().pairs
    examples = encode_validation(
        pairs,
        translator.source,
        translator.target,
        text=recipe.text,
        max_tokens=recipe.data.max_tokens,
    )
    batches = sorted_batches(examples, recipe.training.tokens_per_batch)
    tokens = sum(batch.labels.count for batch in batches)
    losses: list[float] = []

    def outputs() -> Iterator[tuple[Float[Tensor, "B T V"], Batch]]:
        for batch in batches:
            on_device = batch.to(translator.device)
            logits = translator.model(on_device)
            losses.append(float(cross_entropy(logits, on_device.labels, smoothing=0.0)))
            yield logits, on_device

    with evaluation_mode(translator.model), torch.inference_mode():
        positions = {"parts": PARTS, **asdict(accuracy_by_position(outputs()))}
    loss = sum(losses)
    return {
        "perplexity": exp(loss / tokens),
        "loss": loss,
        "tokens": tokens,
        "positions": positions,
    }


def attention_quality(
    translator: Translator, recipe: Recipe, tests: EvaluationSets
) -> dict[str, Any]:
    """Alignment error rates of a model with attention, and maps of a few sentences.

    A bottleneck has maps, of weights that never change, and no alignment; a plain
    encoder-decoder has neither.
    """
    alignment, where = None, ""
    if recipe.decoder.attends and tests.selection.examples:
        alignment = _alignment(translator, tests)
        where = alignment["where"]
    drawn = examples_to_draw(tests) if attends_to_source(translator.model) else []
    maps = [_map(translator, example, where) for example in drawn]
    return {"attends": recipe.decoder.attends, "alignment": alignment, "maps": maps}


def examples_to_draw(tests: EvaluationSets) -> list[EvaluationExample]:
    """A few sentences short enough for a figure."""
    sets = [test_set for test_set in tests.sets if test_set.name in FIGURE_TESTS]
    chosen = [_nearest(tests.main.examples, MEDIUM)]
    chosen += [_nearest(test_set.examples, MEDIUM) for test_set in sets]
    chosen += [] if sets else [_nearest(tests.main.examples, LONG)]
    return list(dict.fromkeys(chosen))[:MAPS]


def _nearest(examples: Sequence[EvaluationExample], words: int) -> EvaluationExample:
    return min(examples, key=lambda example: abs(len(example.source.split()) - words))


def _alignment(translator: Translator, tests: EvaluationSets) -> dict[str, Any]:
    """Layer and step are selected on separate sentences; test sets are scored at both steps."""
    scores = _alignment_scores(translator, tests.selection)
    where, at = min(scores, key=lambda layer_and_step: scores[layer_and_step].error_rate)
    tried: dict[str, dict[str, float]] = {}
    for (name, step), score in scores.items():
        tried.setdefault(name, {})[step] = score.error_rate
    linked = [test_set.linked for test_set in tests.sets]
    scored = {
        test_set.name: {step: asdict(score) for (_, step), score in by_step.items()}
        for test_set in linked
        if test_set.examples and (by_step := _alignment_scores(translator, test_set, where))
    }
    return {
        "where": where,
        "at": at,
        "chosen_on": tests.selection.about,
        "tried": tried,
        "tests": scored,
    }


def _alignment_scores(
    translator: Translator, test_set: EvaluationSet, where: str = ""
) -> dict[tuple[str, DecoderStep], AlignmentScore]:
    """Alignment scores of every cross-attention, or of one, at either step."""
    pairs = [(example.source, example.target) for example in test_set.examples]
    by_layer = attention_by_layer(translator, pairs)
    gold = test_set.reference_set().gold
    return {
        key: alignment_score([sentence[key].alignment for sentence in by_layer], gold)
        for key in by_layer[0]
        if where in ("", key[0])
    }


def _map(translator: Translator, example: EvaluationExample, where: str) -> dict[str, Any]:
    """Word-level attention of the reference under teacher forcing."""
    weights = pair_weights(translator, example.source, example.target, attention=where)
    return {
        "source": [*normalize(example.source).split(), END],
        "target": normalize(example.target).split(),
        "weights": [[round(weight, 4) for weight in row] for row in weights.tolist()],
    }
