"""The sequence-to-sequence model: an encoder and a decoder, joined."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.batch import Batch, Source
from dhyan.models.interface import AttentionLayer, Decoder, Encoder, State


class Seq2Seq(nn.Module):
    """Encodes a source sentence and decodes a target sentence."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, batch: Batch) -> Float[Tensor, "B T V"]:
        """Teacher forcing: the logits of every target token, given the reference before it."""
        logits, _ = self.decoder(batch.inputs.ids, self.start(batch.source))
        return logits

    def start(self, source: Source) -> State:
        """Encode the source; the decoder's state before the first token."""
        return self.decoder.start(self.encoder(source))

    def step(
        self, token_ids: Int[Tensor, " B"], state: State
    ) -> tuple[Float[Tensor, "B V"], State]:
        """The logits of the next token, one step for every row."""
        logits, state = self.decoder(token_ids.unsqueeze(1), state)
        return logits.squeeze(1), state

    def attentions(self) -> list[AttentionLayer]:
        """Every attention of the encoder, then of the decoder."""
        return [
            *(layer.within("encoder") for layer in self.encoder.attentions()),
            *(layer.within("decoder") for layer in self.decoder.attentions()),
        ]
