"""Causal leak: change a later word; with the causal mask no earlier output changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.errors import UserError
from dhyan.insight.ablation import remove_causal_mask
from dhyan.insight.lesson_blocks import Block, Paragraph, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson, parse_int, parse_words
from dhyan.lessons.tiny_models import number_words, tiny_transformer
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import DecoderLayer, TransformerDecoder
from dhyan.special_tokens import BOS, EOS, NAMES

SENTENCE, SOURCE, CHANGE = "हम दोस्त हैं", "we are friends", "थे"


@dataclass(frozen=True)
class CausalLeak(LessonResult):
    """Change of the output at every position when one word is changed: max |Δ|.

    The positions are `<s>` and the words; those before `position` are the past.
    """

    words: tuple[str, ...]
    position: int
    change: str
    masked_attention: Float64[Tensor, " T"]
    masked_decoder: Float64[Tensor, " T"]
    open_attention: Float64[Tensor, " T"]
    open_decoder: Float64[Tensor, " T"]
    masked_past: float
    open_past: float

    def blocks(self, text: Text) -> Iterator[Block]:
        """One table: positions as columns, with and without the mask as rows."""
        changed_word = f"{self.words[self.position]} → {self.change}"
        labels = [
            changed_word if at == self.position else word for at, word in enumerate(self.words)
        ]
        rows = (self.masked_attention, self.masked_decoder, self.open_attention, self.open_decoder)
        masked, free = text("with_mask"), text("without_mask")
        attention = text("self_attention")
        decoder = text("whole_decoder")
        tight, leaks = self.masked_past == 0, self.open_past > 0
        yield text.paragraph("setup")
        yield table(
            text("largest_change"),
            torch.stack(rows),
            [f"{which}, {how}" for how in (masked, free) for which in (attention, decoder)],
            labels,
            digits=4,
        )
        yield Paragraph(text("no_leak") if tight else text("leak_with_mask"))
        yield Paragraph(text("leak_without_mask") if leaks else text("no_leak_without_mask"))


@lesson
def causal_leak(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    source: str | Sequence[str] = SOURCE,
    position: int = 0,
    change: str = CHANGE,
    seed: int = 1,
) -> CausalLeak:
    """Change the word at a position (1 is the first, 0 the last) of a decoder's input."""
    words, source_words = parse_words(sentence), parse_words(source)
    position, seed = (
        parse_int("position", position, least=0) or len(words),
        parse_int("seed", seed, least=0),
    )
    if not 1 <= position <= len(words):
        raise UserError(
            f"position: {position} is none of the {len(words)} words; give 1 to {len(words)}"
        )
    new_word = parse_words(str(change))
    if len(new_word) != 1 or new_word[0] == words[position - 1]:
        raise UserError(
            f"change: {change!r} must be one word, and not {words[position - 1]!r} again"
        )
    target_ids, source_ids = number_words([words, new_word]), number_words([source_words])
    model = tiny_transformer(len(source_ids), len(target_ids), seed=seed)
    source_tokens = Tokens.pad([[*(source_ids[word] for word in source_words), EOS]])
    before = torch.tensor([[BOS, *(target_ids[word] for word in words)]])
    after = before.clone()
    after[0, position] = target_ids[new_word[0]]
    masked = _changes(model, source_tokens, before, after)
    remove_causal_mask(model)
    free = _changes(model, source_tokens, before, after)
    past = [max(float(moved[:position].max()) for moved in pair) for pair in (masked, free)]
    labels = (NAMES[BOS], *words)
    return CausalLeak(
        labels, position, new_word[0], *masked, *free, masked_past=past[0], open_past=past[1]
    )


@torch.inference_mode()
def _changes(
    model: Seq2Seq, source: Tokens, before: Int[Tensor, "1 T"], after: Int[Tensor, "1 T"]
) -> tuple[Float64[Tensor, " T"], Float64[Tensor, " T"]]:
    """Change at each position after the first self-attention, and of the decoder's logits."""
    decoder = model.decoder
    assert isinstance(decoder, TransformerDecoder)
    layer = decoder.layers[0]
    assert isinstance(layer, DecoderLayer)
    attention = layer.self_attention
    real = torch.ones_like(before, dtype=torch.bool)
    contexts, logits = [], []
    for ids in (before, after):
        states = decoder.embedding(ids)
        contexts.append(attention(states, attention.remember(states, real)).context)
        logits.append(decoder(ids, model.start(source))[0])
    return _largest_change(*contexts), _largest_change(*logits)


def _largest_change(
    first: Float64[Tensor, "1 T D"], second: Float64[Tensor, "1 T D"]
) -> Float64[Tensor, " T"]:
    """The largest difference at each position."""
    return (first - second).abs().amax(-1).squeeze(0)
