"""Logit lens (nostalgebraist, 2020): the prediction that each layer of a Transformer decoder makes.

The final norm and the output layer are applied to what stands after a layer.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.batch import Batch, Tokens, pad_source
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translation, Translator
from dhyan.errors import UserError
from dhyan.insight.explain import target_ids
from dhyan.kernels.backend import reference_kernels
from dhyan.models.transformer import TransformerDecoder


@dataclass(frozen=True)
class LogitLens:
    """Log-probabilities of the next token at every target position, after each layer.

    The first are those of the embeddings, before any layer; the last are the model's own. `inputs`
    are the tokens read at each position, `outputs` the tokens of the translation there.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    logprobs: Float[Tensor, "L T V"]


def has_logit_lens(translator: Translator) -> bool:
    """Whether the model is one Transformer decoder whose output layer reads its last layer."""
    return not translator.other_models and isinstance(translator.model.decoder, TransformerDecoder)


@torch.inference_mode()
def logit_lens(translator: Translator, text: str, translation: Translation) -> LogitLens:
    """The prediction after every layer, by a second pass over a finished translation."""
    decoder = translator.model.decoder
    if not has_logit_lens(translator) or not isinstance(decoder, TransformerDecoder):
        raise UserError(
            "the logit lens needs one Transformer decoder whose output layer reads its last layer: "
            "a recurrent decoder, a copying one and an ensemble have none"
        )
    target = target_ids(translation)
    batch = Batch(pad_source([translator.encode(text)]), Tokens.pad([target]))
    hidden: list[Tensor] = []

    def keep(module: object, inputs: object, output: Any) -> None:
        hidden.append(output if isinstance(output, Tensor) else output[0])

    hooks = [module.register_forward_hook(keep) for module in (decoder.embedding, *decoder.layers)]
    try:
        with evaluation_mode(translator.model), reference_kernels():
            translator.model(batch.to(translator.device))
            logits = torch.stack([decoder.output(decoder.final_norm(x)[0]) for x in hidden])
    finally:
        for hook in hooks:
            hook.remove()
    logprobs = logits.float().log_softmax(dim=-1).cpu()
    return LogitLens(tuple(target[:-1]), tuple(target[1:]), logprobs)
