"""Activations of a translation, from the embeddings of its source to the logits of every token.

They are what the operands of an attention (`decoder_step_operands`, `head_operands`) leave out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.attention import Attended
from dhyan.batch import Batch, Source, Tokens, pad_source
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translation, Translator
from dhyan.errors import UserError
from dhyan.insight.explain import target_ids
from dhyan.kernels.backend import reference_kernels
from dhyan.models.interface import Decoder, Encoder
from dhyan.models.rnn import BahdanauDecoder, LuongDecoder, RNNDecoder, RNNEncoder
from dhyan.models.transformer import (
    DecoderLayer,
    FrameEmbedding,
    TransformerDecoder,
    TransformerEncoder,
)

TOP_TOKENS = 8  # of each step, with their logits


@dataclass(frozen=True)
class InputVectors:
    """The embedding of every token of one side, and the vectors that enter the first layer.

    In a Transformer these are the embeddings times `scale`, plus positions; else the embeddings.
    """

    embeddings: Float[Tensor, "T E"]
    inputs: Float[Tensor, "T E"]
    scale: float


@dataclass(frozen=True)
class ResidualLayer:
    """One Transformer decoder layer at every position: input, what each sub-layer adds, output.

    With pre-norm the output is the sum of the others; with post-norm each sum is normalised.
    """

    input: Float[Tensor, "T D"]
    self_attention: Float[Tensor, "T D"]
    cross_attention: Float[Tensor, "T D"]
    feed_forward: Float[Tensor, "T D"]
    output: Float[Tensor, "T D"]
    pre_norm: bool


@dataclass(frozen=True)
class Activations:
    """All T steps of a finished translation of S source tokens, counting EOS.

    A `bidirectional` encoder is a recurrent one that reads the sentence in both directions; with
    `input_feeding` a Luong decoder reads its last attentional vector.
    `decoder_states` are s_0 … s_T of a recurrent decoder's top layer, `layers` those of a
    Transformer's. `hidden` enters the output layer. The most probable tokens of each step have
    their ids and logits; a probability is exp(logit − log_normalizer). `logits` are those of the
    translation's own tokens.
    """

    decoder: str
    bidirectional: bool
    input_feeding: bool
    source: InputVectors
    target: InputVectors
    states: Float[Tensor, "S D"]
    decoder_states: Float[Tensor, "U Q"] | None
    layers: tuple[ResidualLayer, ...]
    hidden: Float[Tensor, "T R"]
    top_ids: Int[Tensor, "T K"]
    top_logits: Float[Tensor, "T K"]
    logits: Float[Tensor, " T"]
    log_normalizer: Float[Tensor, " T"]
    vocabulary_size: int


@torch.inference_mode()
def activations(translator: Translator, text: str, translation: Translation) -> Activations:
    """The activations of a finished translation, by a second pass over it."""
    decoder, name = _decoder(translator)
    encoder = translator.model.encoder
    source, target = translator.encode(text), target_ids(translation)
    batch = Batch(pad_source([source]), Tokens.pad([target])).to(translator.device)
    recorder = _Recorder()
    with evaluation_mode(translator.model), reference_kernels():
        try:
            recorder.watch("states", cast(nn.Module, encoder))
            recorder.watch("source", getattr(encoder, "embedding", None))
            recorder.watch("target", getattr(decoder, "embedding", None))
            recorder.watch("first_state", getattr(decoder, "bridge", None))
            recorder.watch("decoder_states", getattr(decoder, "recurrence", None))
            recorder.watch("output", decoder.output)
            for layer in _layers(decoder):
                for part in (layer, *_sub_layers(layer)):
                    recorder.watch(str(id(part)), part)
            translator.model(batch)
        finally:
            recorder.stop()
    (hidden,) = recorder.inputs["output"][0]
    logits = recorder.first("output")[0].float()
    top = logits.topk(min(TOP_TOKENS, logits.shape[-1]))
    outputs = torch.tensor(target[1:], device=logits.device).unsqueeze(-1)
    return Activations(
        decoder=name,
        bidirectional=isinstance(encoder, RNNEncoder) and encoder.rnn.bidirectional,
        input_feeding=isinstance(decoder, LuongDecoder) and decoder.input_feeding,
        source=_input_vectors(encoder, batch.source, recorder.get("source")),
        target=_input_vectors(decoder, batch.inputs, recorder.get("target")),
        states=_on_cpu(recorder.first("states").states[0]),
        decoder_states=_decoder_states(recorder),
        layers=tuple(_residual_layer(layer, recorder) for layer in _layers(decoder)),
        hidden=_on_cpu(hidden[0]),
        top_ids=top.indices.cpu(),
        top_logits=_on_cpu(top.values),
        logits=_on_cpu(logits.gather(-1, outputs).flatten()),
        log_normalizer=_on_cpu(logits.logsumexp(-1)),
        vocabulary_size=logits.shape[-1],
    )


class _Recorder:
    """The inputs and outputs of modules in one forward pass, by name, a call after the other."""

    def __init__(self) -> None:
        self.inputs: dict[str, list[Any]] = {}
        self.outputs: dict[str, list[Any]] = {}
        self._hooks: list[Any] = []

    def watch(self, name: str, module: nn.Module | None) -> None:
        if module is None:
            return

        def record(_: nn.Module, inputs: Any, output: Any) -> None:
            self.inputs.setdefault(name, []).append(inputs)
            self.outputs.setdefault(name, []).append(output)

        self._hooks.append(module.register_forward_hook(record))

    def stop(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def first(self, name: str) -> Any:
        return self.outputs[name][0]

    def get(self, name: str) -> Any:
        return self.outputs.get(name, [None])[0]


def _decoder(translator: Translator) -> tuple[Any, str]:
    """The decoder, and the name of its kind in recipes."""
    decoder = translator.model.decoder
    kinds = {
        RNNDecoder: "rnn",
        BahdanauDecoder: "bahdanau",
        LuongDecoder: "luong",
        TransformerDecoder: "transformer",
    }
    name = kinds.get(type(decoder), "")
    if not name or translator.other_models:
        raise UserError(
            "activations are shown for one model with a recurrent or Transformer decoder: "
            "not for an ensemble, nor for the copy mechanism"
        )
    return decoder, name


def _layers(decoder: nn.Module) -> Iterable[DecoderLayer]:
    return cast(Iterable[DecoderLayer], getattr(decoder, "layers", ()))


def _sub_layers(layer: DecoderLayer) -> tuple[nn.Module, ...]:
    attentions = layer.self_attention, layer.cross_attention
    return *(cast(nn.Module, attention) for attention in attentions), layer.feed_forward


def _residual_layer(layer: DecoderLayer, recorder: _Recorder) -> ResidualLayer:
    [inputs] = recorder.inputs[str(id(layer))]
    attended, crossed, fed_forward, output = (
        _on_cpu(_first(recorder.first(str(id(part))))) for part in (*_sub_layers(layer), layer)
    )
    return ResidualLayer(
        _on_cpu(inputs[0][0]), attended, crossed, fed_forward, output, pre_norm=layer.pre_norm
    )


def _first(output: Any) -> Tensor:
    """The vectors of a sub-layer, of an attention its context, for the only sentence."""
    if isinstance(output, Attended):
        return output.context[0]
    return output[0] if isinstance(output, Tensor) else cast(Tensor, output[0][0])


def _decoder_states(recorder: _Recorder) -> Tensor | None:
    """The first state from the bridge, then the output of every recurrent step."""
    if "decoder_states" not in recorder.outputs:
        return None
    steps = [output[0] for output, _ in recorder.outputs["decoder_states"]]
    return _on_cpu(torch.cat([recorder.first("first_state")[0, 0, -1:], *steps]))


def _input_vectors(side: Encoder | Decoder, read: Source, inputs: Tensor | None) -> InputVectors:
    embeddings = _on_cpu(side.token_embedding(read.inputs)[0])
    if inputs is None or not isinstance(side, TransformerEncoder | TransformerDecoder):
        return InputVectors(embeddings, embeddings, 1.0)
    scale = 1.0 if isinstance(side.embedding, FrameEmbedding) else side.embedding.scale
    return InputVectors(embeddings, _on_cpu(inputs[0]), scale)


def _on_cpu(numbers: Tensor) -> Tensor:
    return numbers.detach().float().cpu()
