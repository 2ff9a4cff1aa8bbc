"""Beginning from a trained model: its vocabularies kept or changed, its weights carried over."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from dhyan.checkpoint import tensors_from_bytes
from dhyan.config import Recipe
from dhyan.data.corpus import Corpus
from dhyan.data.permutation import derive_seed
from dhyan.errors import UserError
from dhyan.model_check import read_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.run.load import load_tokenizers, load_weights, weights_of
from dhyan.text.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

NOISE = 0.1  # of the old rows' spread, so that no two new rows are the same
NEW = -1  # stands for the row of a piece that the old vocabulary lacks
OUTPUTS = ("decoder.output", "decoder.decoder.output")  # the last layer; inside one that copies

Tokenizers = tuple[Tokenizer, Tokenizer]


@dataclass(frozen=True)
class PretrainedModel:
    """A trained model to begin from."""

    path: Path
    recipe: Recipe
    tokenizers: Tokenizers
    weights: Mapping[str, Tensor]

    @classmethod
    def read(cls, path: Path) -> "PretrainedModel":
        """The model of a run folder (its best checkpoint) or of one checkpoint."""
        read = read_model(path)
        weights = tensors_from_bytes(read.files["model.safetensors"])
        return cls(path, read.recipe, load_tokenizers(read.files), weights)


def first_tokenizers(recipe: Recipe, corpus: Corpus) -> Tokenizers:
    """The vocabularies of a recipe that begins from a model."""
    return choose_tokenizers(recipe, PretrainedModel.read(Path(recipe.training.init_from)), corpus)


def choose_tokenizers(recipe: Recipe, origin: PretrainedModel, corpus: Corpus) -> Tokenizers:
    """The vocabularies of the run: the model's, the model's and more, or new ones."""
    _check_text(recipe, origin)
    if recipe.training.init_vocabulary == "new":
        return corpus.make_tokenizers(recipe)
    if recipe.training.init_vocabulary == "keep":
        return origin.tokenizers
    text, pairs = recipe.text, list(corpus.vocabulary_pairs(recipe))
    if text.shared_vocabulary:
        both = [side for pair in pairs for side in (pair.source, pair.target)]
        shared = _extended(origin, "source", both, text.source_vocabulary_size)
        return shared, shared
    return (
        _extended(origin, "source", [pair.source for pair in pairs], text.source_vocabulary_size),
        _extended(origin, "target", [pair.target for pair in pairs], text.target_vocabulary_size),
    )


def _check_text(recipe: Recipe, origin: PretrainedModel) -> None:
    """Refuse a recipe that speaks of another kind of vocabulary than the model has."""
    added = set(recipe.text.placeholders) - set(origin.recipe.text.placeholders)
    if added and recipe.training.init_vocabulary == "keep":
        raise UserError(
            f"text.placeholders: {', '.join(sorted(added))}: {origin.path} has no signs for these; "
            f"leave them out, or give --init-vocabulary extend or new"
        )
    for key in ("tokenizer", "shared_vocabulary"):
        here, there = getattr(recipe.text, key), getattr(origin.recipe.text, key)
        if here != there and recipe.training.init_vocabulary != "new":
            raise UserError(
                f"text.{key} is {here!r}, in {origin.path} it is {there!r}: give the same, "
                f"or --init-vocabulary new"
            )


def _extended(origin: PretrainedModel, side: str, sentences: Iterable[str], size: int) -> Tokenizer:
    old = origin.tokenizers[side == "target"]
    if size <= len(old):
        raise UserError(
            f"text.{side}_size: {size:,} leaves no room for new pieces, the vocabulary of "
            f"{origin.path} has {len(old):,}; give more, or --init-vocabulary keep"
        )
    return old.extended(sentences, size)


def transfer_weights(
    model: Seq2Seq, origin: PretrainedModel, tokenizers: Tokenizers, *, seed: int
) -> None:
    """Give a model the weights of another; rows of the same piece stay rows of that piece.

    A piece the other lacks starts near the mean of all its rows (Hewitt, 2021), which disturbs the
    known words least. Every other weight must have the same shape in both.
    """
    matches = {
        side: match_pieces(old, new)
        for side, old, new in zip(("source", "target"), origin.tokenizers, tokenizers, strict=True)
    }
    for side, rows in matches.items():
        kept = int((rows != NEW).sum())
        logger.info(
            f"{side} vocabulary: {kept:,} of {len(rows):,} pieces begin with rows of {origin.path}"
        )
    generator = torch.Generator().manual_seed(derive_seed(seed, len(matches)))
    sides, weights = tables(model), dict(origin.weights)
    for name, side in sides.items():
        if name in weights:
            weights[name] = rearrange_rows(weights[name], matches[side], generator)
    try:
        load_weights(model, weights)
    except UserError as fault:
        raise UserError(
            f"{origin.path}: {fault}; begin with the recipe it was trained by"
        ) from None


def match_pieces(old: Tokenizer, new: Tokenizer) -> Int[Tensor, " V"]:
    """For every id of the new vocabulary the id of the same piece in the old, or NEW."""
    known, wanted = old.piece_ids(), new.piece_ids()
    rows = torch.full((len(new),), NEW)
    for piece, place in wanted.items():
        rows[place] = known.get(piece, NEW)
    return rows


def rearrange_rows(table: Tensor, rows: Int[Tensor, " V"], generator: torch.Generator) -> Tensor:
    """The rows of a table in their new places, the missing ones near the mean of all."""
    noise = torch.randn(len(rows), *table.shape[1:], generator=generator)
    fresh = table.mean(dim=0) + NOISE * table.std(dim=0) * noise
    known = (rows != NEW).view(-1, *[1] * (table.dim() - 1))
    return torch.where(known, table[rows.clamp(min=0)], fresh)


def tables(model: Seq2Seq) -> dict[str, str]:
    """The weights that have one row per piece, and whose pieces they are."""
    words = {"source": model.encoder.token_embedding, "target": model.decoder.token_embedding}
    sides = {id(getattr(table, "weight", None)): side for side, table in words.items()}
    found = {}
    for name, weight in weights_of(model).items():
        if id(weight) in sides:
            found[name] = sides[id(weight)]
        elif name.rpartition(".")[0] in OUTPUTS:
            found[name] = "target"
    return found
