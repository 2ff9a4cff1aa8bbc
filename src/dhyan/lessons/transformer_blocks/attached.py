"""Runs that differ in their number of heads, asked where a phrase belongs; and a test by hand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from dhyan.checkpoint import find_checkpoint, read_checkpoint
from dhyan.config import Recipe, TransformerDecoder, TransformerEncoder
from dhyan.data.primer import Twin
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.evaluation.metrics import count
from dhyan.lessons.trained_model import knows_every_word, primer_sentences
from dhyan.lessons.transformer_blocks.cued import cued
from dhyan.run.load import load, load_saved_recipe

HELD_OUT = 80  # there are no more of them among a third of the names


@dataclass(frozen=True)
class Trained:
    """A run: its heads, seed and steps, the shares it understood, and its BLEU in general."""

    heads: int
    seed: int
    steps: int
    held_out: float
    new_persons: float
    bleu: float


@dataclass(frozen=True)
class Asked:
    """What all runs are asked.

    `held_out` are the primer's own, of which training has none but many alike; in those with
    `new_persons` a phrase belongs to someone of whom training says no such thing; `general` are of
    all kinds.
    """

    held_out: tuple[Twin, ...]
    new_persons: tuple[Twin, ...]
    general: tuple[Twin, ...]


def judged_runs(
    folders: Sequence[Path], sentences: int, hear: Callable[[str], None]
) -> tuple[tuple[Trained, ...], Asked, str]:
    """Every run by heads and seed, what it was asked, and how BLEU was reached."""
    recipes = [_recipe(folder) for folder in folders]
    _alike(folders, recipes)
    translators = [load(folder) for folder in folders]
    asked = _asked(translators, sentences)
    found, signature = [], ""
    for folder, recipe, translator in zip(folders, recipes, translators, strict=True):
        bleu, signature = _bleu(translator, asked.general)
        one = Trained(
            heads=_heads(recipe),
            seed=recipe.training.seed,
            steps=recipe.training.steps,
            held_out=_understood(translator, asked.held_out),
            new_persons=_understood(translator, asked.new_persons),
            bleu=bleu,
        )
        hear(f"{folder}: {one.held_out:.3f}, {one.new_persons:.3f}, BLEU {one.bleu:.1f}")
        found.append(one)
    found.sort(key=lambda one: (one.steps, one.heads, one.seed))
    return tuple(found), asked, signature


def sign_flips(differences: Sequence[int | float]) -> float:
    """How often a difference's mean is as large if each could as well have the other sign.

    All signs are tried (Fisher, 1935), so n differences give no chance below 2 / 2ⁿ.
    """
    found = abs(sum(differences)) - 1e-12
    ways = [
        abs(sum(sign * one for sign, one in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(way >= found for way in ways) / len(ways)


def _recipe(folder: Path) -> Recipe:
    recipe = load_saved_recipe(read_checkpoint(find_checkpoint(folder), "recipe.toml"))
    if not isinstance(recipe.encoder, TransformerEncoder):
        raise UserError(f"models: the encoder of {folder} has no heads; give runs of a Transformer")
    return recipe


def _heads(recipe: Recipe) -> int:
    assert isinstance(recipe.encoder, TransformerEncoder)
    return recipe.encoder.heads


def _alike(folders: Sequence[Path], recipes: Sequence[Recipe]) -> None:
    """Runs must differ in nothing but their heads, seeds and steps."""
    bare = [_without_heads(one) for one in recipes]
    for folder, one in zip(folders, bare, strict=True):
        for part in ("encoder", "decoder", "data", "text"):
            if getattr(one, part) != getattr(bare[0], part):
                raise UserError(
                    f"models: {folders[0]} and {folder} differ in [{part}]; give runs that differ "
                    "in heads, seed and steps alone"
                )
    kinds = [(_heads(one), one.training.seed, one.training.steps) for one in recipes]
    if len(set(kinds)) < len(kinds):
        raise UserError("models: two runs have the same heads, seed and steps; name each once")


def _without_heads(recipe: Recipe) -> Recipe:
    encoder, decoder = recipe.encoder, recipe.decoder
    assert isinstance(encoder, TransformerEncoder)
    if isinstance(decoder, TransformerDecoder):
        decoder = replace(decoder, heads=1)
    return replace(recipe, encoder=replace(encoder, heads=1), decoder=decoder)


def _asked(translators: Sequence[Translator], sentences: int) -> Asked:
    """The same for all: sentences of which each knows every word."""
    first = translators[0]
    pairs = cued(first, (sentences + 1) // 2)
    groups = (
        primer_sentences(first, "attachment", HELD_OUT, lambda twin: bool(twin.wanted)),
        [twin for pair in pairs for twin in pair.both],
        primer_sentences(first, "random", sentences),
    )
    kept = [
        tuple(
            one for one in group if all(knows_every_word(each, one.english) for each in translators)
        )
        for group in groups
    ]
    if not all(kept):
        raise UserError("models: they know no words in common; give runs on the same data")
    return Asked(*kept)


def _understood(translator: Translator, twins: Sequence[Twin]) -> float:
    said = translator([one.english for one in twins])
    met = [one.wanted[0].met(own.text) for one, own in zip(twins, said, strict=True)]
    return sum(met) / len(met)


def _bleu(translator: Translator, twins: Sequence[Twin]) -> tuple[float, str]:
    said = [one.text for one in translator([one.english for one in twins])]
    found = count(
        said,
        [one.hindi for one in twins],
        others=[one.others for one in twins],
        language="hi",
        metrics=("bleu",),
    )["bleu"]
    return found.value(), found.signature()
