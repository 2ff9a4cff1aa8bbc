"""An encoder and a decoder, joined."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.batch import Batch, Tokens
from dhyan.models.interface import AttentionLayer, Decoder, Encoder, State


class Seq2Seq(nn.Module):
    """Reads a sentence, then says it in another language."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, batch: Batch) -> Float[Tensor, "B T V"]:
        """Teacher forcing: the correct words so far, and the logits of the next at every place."""
        logits, _ = self.decoder(batch.inputs.ids, self.start(batch.source))
        return logits

    def start(self, source: Tokens) -> State:
        """Read the source; ready to say the first word."""
        return self.decoder.start(self.encoder(source))

    def step(self, ids: Int[Tensor, " B"], state: State) -> tuple[Float[Tensor, "B V"], State]:
        """Say one more word."""
        logits, state = self.decoder(ids.unsqueeze(1), state)
        return logits.squeeze(1), state

    def attentions(self) -> list[AttentionLayer]:
        """Every attention of the encoder, then of the decoder."""
        return [
            *(layer.within("encoder") for layer in self.encoder.attentions()),
            *(layer.within("decoder") for layer in self.decoder.attentions()),
        ]
