"""The vectors of a Transformer's encoder, layer by layer: of one word, or of a whole sentence."""

from collections.abc import Sequence
from copy import deepcopy

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dhyan.batch import Tokens
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.models.transformer import TransformerEncoder

BATCH = 64  # sentences read at once


def encoder_of(translator: Translator) -> TransformerEncoder:
    """The encoder, if it is one that looks at all words in layers."""
    encoder = translator.model.encoder
    if not isinstance(encoder, TransformerEncoder):
        raise UserError("model: its encoder is no Transformer's; give a trained Transformer")
    return encoder


def untrained(encoder: TransformerEncoder, seed: int) -> TransformerEncoder:
    """The same encoder with weights drawn anew, as they were before any training."""
    fresh = deepcopy(encoder)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        for part in fresh.modules():
            match part:
                case nn.Embedding():
                    part.weight.normal_(std=part.embedding_dim**-0.5)
                case nn.Linear():
                    nn.init.xavier_uniform_(part.weight)
                    if part.bias is not None:
                        part.bias.zero_()
                case nn.LayerNorm():
                    part.reset_parameters()
    return fresh


def word_vectors(
    encoder: TransformerEncoder, translator: Translator, texts: Sequence[str], word: str
) -> list[Float[Tensor, "N D"]]:
    """A word's vector in each sentence: its own, with its position, after each layer.

    What the last layer gives is normalised, as the decoder is given it. A word of several pieces
    has their mean.
    """
    read = [translator.encode(text) for text in texts]
    spans = [_span(translator, ids, text, word) for ids, text in zip(read, texts, strict=True)]
    found: list[list[Tensor]] = []
    for first in range(0, len(read), BATCH):
        levels = _levels(encoder, Tokens.pad(read[first : first + BATCH]).to(translator.device))
        own = spans[first : first + BATCH]
        found.append(
            [
                torch.stack([one[row, a:b].mean(0) for row, (a, b) in enumerate(own)])
                for one in levels
            ]
        )
    return [torch.cat(level).double().cpu() for level in zip(*found, strict=True)]


def sentence_vectors(
    encoder: TransformerEncoder, read: Sequence[Sequence[int]], device: torch.device
) -> Float[Tensor, "N D"]:
    """The mean of each sentence's last states."""
    with evaluation_mode(encoder), torch.no_grad():
        found = [
            encoder(Tokens.pad(read[first : first + BATCH]).to(device)).summary
            for first in range(0, len(read), BATCH)
        ]
    return torch.cat(found).double().cpu()


def _levels(encoder: TransformerEncoder, source: Tokens) -> list[Float[Tensor, "B S D"]]:
    with evaluation_mode(encoder), torch.no_grad():
        states = [encoder.token_embedding(source.ids), encoder.embedding(source.ids)]
        for layer in encoder.layers:
            states.append(layer(states[-1], source))
        return [*states[:-1], encoder.final_norm(states[-1])]


def _span(translator: Translator, ids: list[int], text: str, word: str) -> tuple[int, int]:
    """Where a word stands, in ids."""
    for one in translator.source.words(ids, text):
        if one.text.lower() == word:
            return one.first, one.last
    raise UserError(f"word: {word!r} does not stand in {text!r}")
