"""Fine-tuning: start from a pretrained model, or from pretrained word vectors (word2vec, GloVe)."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor, nn

from dhyan.checkpoint import weights_from_bytes
from dhyan.config import Recipe
from dhyan.config.sections import Decoder, Encoder
from dhyan.data.corpus import Corpus
from dhyan.data.training_sentences import TrainingSentences
from dhyan.errors import UserError, spell, spell_option, spell_setting
from dhyan.model_check import read_model
from dhyan.models.interface import Encoder as EncoderModule
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.stems import WordCharacterStem
from dhyan.run.load import load_codecs, load_weights, weights_of
from dhyan.seeds import derive_seed
from dhyan.special_tokens import NAMES
from dhyan.text.codec import SourceCodec
from dhyan.text.tokenizer import Tokenizer
from dhyan.text.word_characters import WordCharacters
from dhyan.text.word_vectors import read_vectors, vector_width

logger = logging.getLogger(__name__)

NOISE = 0.1  # of the standard deviation of the old rows, so that no two new rows are equal
NEW = -1  # stands for the row of a token that the old vocabulary lacks
OUTPUTS = ("decoder.output", "decoder.decoder.output")  # output layer; inside a copy mechanism

Codecs = tuple[SourceCodec, Tokenizer]


@dataclass(frozen=True)
class PretrainedModel:
    """A trained model whose weights a run starts from."""

    path: str | Path
    recipe: Recipe
    codecs: Codecs
    weights: Mapping[str, Tensor]
    training_sentences: TrainingSentences | None

    @classmethod
    def read(cls, path: str | Path) -> "PretrainedModel":
        """The model of a run folder (its best checkpoint), of one checkpoint, or of a name."""
        model = read_model(path)
        weights = weights_from_bytes(model.files["model.safetensors"])
        codecs = load_codecs(model.files)
        return cls(path, model.recipe, codecs, weights, model.training_sentences)


def read_initial_files(recipe: Recipe) -> PretrainedModel | None:
    """Read the pretrained model of a new run, or check its word vectors, before any data are read."""
    if not recipe.training.init_from:
        _check_vectors("encoder", recipe.encoder)
        _check_vectors("decoder", recipe.decoder)
        return None
    pretrained = PretrainedModel.read(recipe.training.init_from)
    theirs, ours = _architecture(pretrained.recipe), _architecture(recipe)
    if theirs != ours:
        path = pretrained.path
        remedy = spell(
            command_line=f"dhyan train {path} --init-from {path}",
            python="the recipe.toml of its checkpoint",
        )
        raise UserError(
            f"{path} is {theirs}, the recipe is {ours}: use the recipe it was trained with, {remedy}"
        )
    return pretrained


def _architecture(recipe: Recipe) -> str:
    return f"{recipe.encoder.kind}/{recipe.decoder.kind}"


def _check_vectors(side: str, settings: Encoder | Decoder) -> None:
    """Refuse a file of word vectors that is missing, or not as wide as the embedding."""
    path = settings.pretrained_embedding
    if not path:
        return
    if not Path(path).is_file():
        raise UserError(
            f"{side}.pretrained_embedding: no file {path!r}; name a word2vec or GloVe file"
        )
    key = "width" if settings.kind == "transformer" else "embedding_width"
    file_width, width = vector_width(path), getattr(settings, key)
    if file_width != width:
        raise UserError(
            f"{path}: its vectors are {file_width} wide, the embedding {width}; "
            f"give {spell_setting(f'{side}.{key}', file_width)}"
        )


def first_codecs(recipe: Recipe, corpus: Corpus) -> Codecs:
    """The codecs of a recipe with training.init_from."""
    return choose_codecs(recipe, PretrainedModel.read(recipe.training.init_from), corpus)


def choose_codecs(recipe: Recipe, pretrained: PretrainedModel, corpus: Corpus) -> Codecs:
    """The codecs of the run: those of the model, those extended, or new ones."""
    _check_tokenizers(recipe, pretrained)
    if recipe.training.init_vocabulary == "new":
        return corpus.make_codecs(recipe)
    if recipe.training.init_vocabulary == "keep":
        return pretrained.codecs
    text, pairs = recipe.text, list(corpus.vocabulary_pairs(recipe))
    if text.shared_vocabulary:
        both = [side for pair in pairs for side in (pair.source, pair.target)]
        shared = _extend(pretrained, "source", both, text.source_vocabulary_size)
        return shared, shared
    return (
        _extend(pretrained, "source", [pair.source for pair in pairs], text.source_vocabulary_size),
        _extend(pretrained, "target", [pair.target for pair in pairs], text.target_vocabulary_size),
    )


def _check_tokenizers(recipe: Recipe, pretrained: PretrainedModel) -> None:
    """Refuse a recipe whose vocabularies cannot be those of the pretrained model."""
    added = set(recipe.text.placeholders) - set(pretrained.recipe.text.placeholders)
    if added and recipe.training.init_vocabulary == "keep":
        raise UserError(
            f"text.placeholders: {', '.join(sorted(added))}: {pretrained.path} has no tokens for "
            f"these; leave them out, or give {_vocabulary('extend')} or new"
        )
    for key in ("tokenizer", "source_codec", "target_codec", "shared_vocabulary"):
        here, there = getattr(recipe.text, key), getattr(pretrained.recipe.text, key)
        if here != there and recipe.training.init_vocabulary != "new":
            raise UserError(
                f"text.{key} is {here!r}, in {pretrained.path} it is {there!r}: give the same, "
                f"or {_vocabulary('new')}"
            )


def _vocabulary(choice: str) -> str:
    """The option that chooses the vocabulary of a fine-tuned model, for a message."""
    return spell_option("training.init_vocabulary", choice)


def _extend(
    pretrained: PretrainedModel, side: str, sentences: Iterable[str], size: int
) -> Tokenizer:
    old = pretrained.codecs[side == "target"]
    if not isinstance(old, Tokenizer):
        raise UserError(
            f"training.init_vocabulary: {old.kind} have no vocabulary to extend; give "
            f"{_vocabulary('keep')}"
        )
    if size <= len(old):
        raise UserError(
            f"text.{side}_vocabulary_size: {size:,} leaves no room for new tokens, the vocabulary of "
            f"{pretrained.path} has {len(old):,}; give more, or {_vocabulary('keep')}"
        )
    return old.extended(sentences, size)


def transfer_weights(
    model: Seq2Seq, pretrained: PretrainedModel, tokenizers: Codecs, *, seed: int
) -> None:
    """Copy the weights of a pretrained model; embeddings and output rows follow their tokens.

    A new token starts near the mean of all rows (Hewitt, 2021), which changes the probabilities of
    the known tokens least. Every other weight must have the same shape in both models.
    """
    matches = {
        side: match_tokens(old, new)
        for side, old, new in zip(("source", "target"), pretrained.codecs, tokenizers, strict=True)
        if isinstance(old, Tokenizer) and isinstance(new, Tokenizer)
    }
    for side, rows in matches.items():
        matched = int((rows != NEW).sum())
        logger.info(
            f"{side} vocabulary: {matched:,} of {len(rows):,} tokens are in {pretrained.path}"
        )
    generator = torch.Generator().manual_seed(derive_seed(seed, len(matches)))
    sides, weights = vocabulary_weights(model), dict(pretrained.weights)
    for name, side in sides.items():
        if name in weights and side in matches:
            weights[name] = rearrange_rows(weights[name], matches[side], generator)
    try:
        load_weights(model, weights)
    except UserError as error:
        raise UserError(f"{pretrained.path}: {error}; use the recipe it was trained with") from None


def match_tokens(old: Tokenizer, new: Tokenizer) -> Int[Tensor, " V"]:
    """For every id of the new vocabulary the id of the same token in the old one, or NEW."""
    old_ids = old.piece_ids()
    rows = torch.full((len(new),), NEW)
    for token, token_id in new.piece_ids().items():
        rows[token_id] = old_ids.get(token, NEW)
    return rows


def rearrange_rows(table: Tensor, rows: Int[Tensor, " V"], generator: torch.Generator) -> Tensor:
    """The rows of a table in their new order, the new ones near the mean of all."""
    noise = torch.randn(len(rows), *table.shape[1:], generator=generator)
    fresh = table.mean(dim=0) + NOISE * table.std(dim=0) * noise
    matched = (rows != NEW).view(-1, *[1] * (table.dim() - 1))
    return torch.where(matched, table[rows.clamp(min=0)], fresh)


def vocabulary_weights(model: Seq2Seq) -> dict[str, str]:
    """The weights with one row per token, and the side of their vocabulary."""
    words = {"source": word_embedding(model.encoder), "target": model.decoder.token_embedding}
    sides = {id(getattr(table, "weight", None)): side for side, table in words.items()}
    weights = {}
    for name, weight in weights_of(model).items():
        if id(weight) in sides:
            weights[name] = sides[id(weight)]
        elif name.rpartition(".")[0] in OUTPUTS:
            weights[name] = "target"
    return weights


def load_word_vectors(model: Seq2Seq, *, recipe: Recipe, tokenizers: Codecs) -> None:
    """Fill the embeddings for which the recipe names a file, and log how many words it has."""
    paths = (recipe.encoder.pretrained_embedding, recipe.decoder.pretrained_embedding)
    embeddings = (word_embedding(model.encoder), model.decoder.token_embedding)
    for path, embedding, codec in zip(paths, embeddings, tokenizers, strict=True):
        if not path or not isinstance(embedding, nn.Embedding):  # one-hot input has none
            continue
        if isinstance(codec, Tokenizer | WordCharacters):
            logger.info(fill_rows(embedding, Path(path), codec))


def word_embedding(encoder: EncoderModule) -> nn.Module:
    """The embedding of an encoder's vocabulary, or of the words that its stem knows."""
    stem = encoder.token_embedding
    return stem.words if isinstance(stem, WordCharacterStem) else stem


@torch.no_grad()
def fill_rows(embedding: nn.Embedding, path: Path, tokenizer: Tokenizer | WordCharacters) -> str:
    """Give every token that is a word its vector, and return the coverage; others stay random."""
    plain = {id: tokenizer.plain(id) for id in range(len(NAMES), len(tokenizer))}
    words = {id: word for id, word in plain.items() if word}
    vectors = read_vectors(path, set(words.values()))
    if vectors.width != embedding.embedding_dim:
        raise UserError(
            f"{path}: its vectors are {vectors.width} wide, the embedding "
            f"{embedding.embedding_dim}; let the recipe's embedding be as wide as the vectors"
        )
    rows = {word: row for row, word in enumerate(vectors.words)}
    covered = {id: rows[word] for id, word in words.items() if word in rows}
    table = torch.from_numpy(vectors.table)
    if covered:
        embedding.weight[list(covered)] = table[list(covered.values())].to(embedding.weight)
    lowered = sum(words[id] in vectors.lowered for id in covered)
    by_case = f", {lowered:,} of them by lower case" if lowered else ""
    return f"{path.name}: {len(covered):,} of {len(words):,} words found{by_case}"
