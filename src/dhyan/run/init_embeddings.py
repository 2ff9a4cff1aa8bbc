"""Initialise embeddings with pretrained word vectors (word2vec, GloVe)."""

import logging
from pathlib import Path

import torch
from torch import nn

from dhyan.config import Recipe
from dhyan.errors import UserError
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import NAMES
from dhyan.text.tokenizer import Tokenizer
from dhyan.text.word_vectors import read_vectors

logger = logging.getLogger(__name__)


def load_word_vectors(
    model: Seq2Seq, *, recipe: Recipe, tokenizers: tuple[Tokenizer, Tokenizer]
) -> None:
    """Fill the embeddings for which the recipe names a file, and log how many words it has."""
    paths = (recipe.encoder.pretrained_embedding, recipe.decoder.pretrained_embedding)
    embeddings = (model.encoder.token_embedding, model.decoder.token_embedding)
    for path, embedding, tokenizer in zip(paths, embeddings, tokenizers, strict=True):
        if path and isinstance(embedding, nn.Embedding):  # one-hot input has none
            logger.info(fill_rows(embedding, Path(path), tokenizer))


@torch.no_grad()
def fill_rows(embedding: nn.Embedding, path: Path, tokenizer: Tokenizer) -> str:
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
