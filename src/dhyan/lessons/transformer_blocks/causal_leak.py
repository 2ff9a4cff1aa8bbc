"""Edit a later word and look at the earlier ones: only a mask keeps them as they were."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.errors import UserError
from dhyan.insight.ablation import remove_causal_mask
from dhyan.insight.blocks import Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.tiny_models import number_words, tiny_transformer
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import DecoderLayer, TransformerDecoder
from dhyan.special_tokens import BOS, EOS, NAMES

SENTENCE, SOURCE, CHANGE = "हम दोस्त हैं", "we are friends", "थे"


@dataclass(frozen=True)
class CausalLeak(LessonResult):
    """How much every place moves when one word is changed: max |Δ| of what comes out there.

    The places are the beginning `<s>` and the words; those before the changed one are its past.
    """

    words: tuple[str, ...]
    place: int
    change: str
    masked_attention: Float64[Tensor, " T"]
    masked_decoder: Float64[Tensor, " T"]
    open_attention: Float64[Tensor, " T"]
    open_decoder: Float64[Tensor, " T"]
    masked_past: float
    open_past: float

    def page(self, text: Text) -> Page:
        """One table: places across, with and without the mask down."""
        told = f"{self.words[self.place]} → {self.change}"
        places = [told if at == self.place else word for at, word in enumerate(self.words)]
        rows = (self.masked_attention, self.masked_decoder, self.open_attention, self.open_decoder)
        masked, free = text("causal_leak.masked"), text("causal_leak.mask")
        attention = text("causal_leak.self_attention")
        decoder = text("causal_leak.whole_decoder")
        tight, leaks = self.masked_past == 0, self.open_past > 0
        return Page(
            text("causal_leak.title"),
            (
                Words(text("causal_leak.transformer_decoder_given_whole")),
                table(
                    text("causal_leak.max"),
                    torch.stack(rows),
                    [f"{which}, {how}" for how in (masked, free) for which in (attention, decoder)],
                    places,
                    digits=4,
                ),
                Words(
                    text("causal_leak.mask_nothing_before_changed")
                    if tight
                    else text("causal_leak.mask_past_moves_leaks", masked_past=self.masked_past)
                ),
                Words(
                    text("causal_leak.without_past_moves_up", open_past=self.open_past)
                    if leaks
                    else text("causal_leak.without_nothing_moved_either")
                ),
            ),
        )


def causal_leak(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    source: str | Sequence[str] = SOURCE,
    place: int = 0,
    change: str = CHANGE,
    seed: int = 1,
) -> CausalLeak:
    """Change the word at a place (1 is the first, 0 the last) of what a decoder is told."""
    words, heard = parse_words(sentence), parse_words(source)
    place, seed = parse_int("place", place, least=0) or len(words), parse_int("seed", seed, least=0)
    if not 1 <= place <= len(words):
        raise UserError(f"place: {place} is none of the {len(words)} words; give 1 to {len(words)}")
    other = parse_words(str(change))
    if len(other) != 1 or other[0] == words[place - 1]:
        raise UserError(f"change: {change!r} must be one word, and not {words[place - 1]!r} again")
    names, hears = number_words([words, other]), number_words([heard])
    model = tiny_transformer(len(hears), len(names), seed=seed)
    read = Tokens.pad([[*(hears[word] for word in heard), EOS]])
    before = torch.tensor([[BOS, *(names[word] for word in words)]])
    after = before.clone()
    after[0, place] = names[other[0]]
    masked = _changes(model, read, before, after)
    remove_causal_mask(model)
    free = _changes(model, read, before, after)
    past = [max(float(one[:place].max()) for one in pair) for pair in (masked, free)]
    told = (NAMES[BOS], *words)
    return CausalLeak(told, place, other[0], *masked, *free, masked_past=past[0], open_past=past[1])


@torch.inference_mode()
def _changes(
    model: Seq2Seq, read: Tokens, before: Int[Tensor, "1 T"], after: Int[Tensor, "1 T"]
) -> tuple[Float64[Tensor, " T"], Float64[Tensor, " T"]]:
    """How much each place moves in the first self-attention, and at the end of the decoder."""
    decoder = model.decoder
    assert isinstance(decoder, TransformerDecoder)
    layer = decoder.layers[0]
    assert isinstance(layer, DecoderLayer)
    attention = layer.self_attention
    real = torch.ones_like(before, dtype=torch.bool)
    found, said = [], []
    for ids in (before, after):
        states = decoder.embedding(ids)
        found.append(attention(states, attention.remember(states, real)).context)
        said.append(decoder(ids, model.start(read))[0])
    return _largest_change(*found), _largest_change(*said)


def _largest_change(
    one: Float64[Tensor, "1 T D"], other: Float64[Tensor, "1 T D"]
) -> Float64[Tensor, " T"]:
    """The largest difference at each place."""
    return (one - other).abs().amax(-1).squeeze(0)
