"""Embeddings that start from word vectors others trained."""

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
    recipe: Recipe, model: Seq2Seq, tokenizers: tuple[Tokenizer, Tokenizer]
) -> None:
    """Fill the embeddings for which the recipe names a file; how many words it has is said."""
    named = (recipe.encoder.pretrained_embedding, recipe.decoder.pretrained_embedding)
    halves = (model.encoder.token_embedding, model.decoder.token_embedding)
    for path, words, tokenizer in zip(named, halves, tokenizers, strict=True):
        if path and isinstance(words, nn.Embedding):  # one-hot words with a path are not built
            logger.info(fill_rows(words, Path(path), tokenizer))


@torch.no_grad()
def fill_rows(words: nn.Embedding, path: Path, tokenizer: Tokenizer) -> str:
    """Give every piece that is a word its vector; the others keep their own. Says the coverage."""
    plain = {place: tokenizer.plain(place) for place in range(len(NAMES), len(tokenizer))}
    wanted = {place: word for place, word in plain.items() if word}
    vectors = read_vectors(path, set(wanted.values()))
    if vectors.width != words.embedding_dim:
        raise UserError(
            f"{path}: its vectors are {vectors.width} wide, the embedding {words.embedding_dim}; "
            f"let the recipe's embedding be as wide as the vectors"
        )
    rows = {word: row for row, word in enumerate(vectors.words)}
    found = {place: rows[word] for place, word in wanted.items() if word in rows}
    table = torch.from_numpy(vectors.table)
    if found:
        words.weight[list(found)] = table[list(found.values())].to(words.weight)
    lowered = sum(wanted[place] in vectors.lowered for place in found)
    by_case = f", {lowered:,} of them by lower case" if lowered else ""
    return f"{path.name}: {len(found):,} of {len(wanted):,} words found{by_case}"
