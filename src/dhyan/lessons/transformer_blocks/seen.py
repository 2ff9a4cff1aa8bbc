"""The weights of every head of a trained encoder over a sentence, word by word."""

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.attention_maps import watch
from dhyan.batch import Tokens
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.word_alignment import word_indices
from dhyan.special_tokens import EOS


def head_weights(translator: Translator, text: str) -> Float[Tensor, "L H T T"]:
    """The self-attention of every head of the encoder, by word; the last is the sentence's end.

    What a word is given is the sum over its pieces, what it gives their mean.
    """
    encoder, masked = translator.model.encoder, translator.with_placeholders(text)[0]
    ids = translator.source.encode(masked)
    if not ids:
        raise UserError("the sentence is empty: give it at least one word")
    owners = word_indices(translator.source, ids, masked)
    read = Tokens.pad([[*ids, EOS]]).to(translator.device)
    model = translator.model
    with evaluation_mode(model), torch.inference_mode(), watch(encoder) as recorder:
        encoder(read)
    weights = [own.weights[0] for own in recorder.weights() if own.role == "encoder_self"]
    if not weights:
        raise UserError("this model's encoder has no self-attention: give a trained Transformer")
    places = torch.tensor([*owners, owners[-1] + 1])
    gather = torch.zeros(len(places), owners[-1] + 2, dtype=torch.float64)
    gather[torch.arange(len(places)), places] = 1.0
    rows = gather / gather.sum(dim=0)
    return rows.T @ torch.stack(weights).double().cpu() @ gather
