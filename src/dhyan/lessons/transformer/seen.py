"""The weights of every head of a trained encoder over a sentence, word by word."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dhyan.attention_maps import watch
from dhyan.batch import Tokens
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.word_alignment import words_of as owners_of
from dhyan.special_tokens import EOS


def head_weights(translator: Translator, text: str) -> Float[Tensor, "L H T T"]:
    """The self-attention of every head of the encoder, by word; the last is the sentence's end.

    What a word is given is the sum over its pieces, what it gives their mean.
    """
    encoder, masked = translator.model.encoder, translator.with_placeholders(text)[0]
    ids = translator.source.encode(masked)
    if not ids:
        raise UserError("the sentence is empty: give it at least one word")
    owners = owners_of(translator.source, ids, masked)
    read = Tokens.pad([[*ids, EOS]]).to(translator.device)
    assert isinstance(encoder, nn.Module)
    with evaluation_mode(encoder), torch.inference_mode(), watch(encoder) as sightings:
        encoder(read)
    found = [one[0] for name, one in sightings.weights().items() if name.endswith("self_attention")]
    if not found:
        raise UserError("this model's encoder has no self-attention: give a trained Transformer")
    places = torch.tensor([*owners, owners[-1] + 1])
    gather = torch.zeros(len(places), owners[-1] + 2, dtype=torch.float64)
    gather[torch.arange(len(places)), places] = 1.0
    rows = gather / gather.sum(dim=0)
    return rows.T @ torch.stack(found).double().cpu() @ gather
