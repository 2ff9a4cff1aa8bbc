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
from dhyan.lessons.given import whole, words_of
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.lessons.transformer.tiny import numbered, transformer
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import DecoderLayer, TransformerDecoder
from dhyan.special_tokens import BOS, EOS, NAMES

SENTENCE, SOURCE, CHANGE = "हम दोस्त हैं", "we are friends", "थे"


@dataclass(frozen=True)
class Leak(Shown):
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

    def story(self, say: Say) -> Story:
        """One table: places across, with and without the mask down."""
        told = f"{self.words[self.place]} → {self.change}"
        places = [told if at == self.place else word for at, word in enumerate(self.words)]
        rows = (self.masked_attention, self.masked_decoder, self.open_attention, self.open_decoder)
        masked, free = say("masked", "मास्क सहित"), say("no mask", "बिना मास्क")
        attention = say("self-attention", "स्व-अवधान")
        decoder = say("whole decoder", "पूरा डिकोडर")
        tight, leaks = self.masked_past == 0, self.open_past > 0
        return Story(
            say("Does the future leak into the past?", "क्या आगे के शब्द पीछे रिसते हैं?"),
            (
                Words(
                    say(
                        "A Transformer's decoder is given the whole sentence twice, the second "
                        "time with one word changed. Each cell is the largest change of what "
                        "comes out at that place. The model is untrained: the mask needs no "
                        "learning.",
                        "Transformer के डिकोडर को पूरा वाक्य दो बार दिया जाता है, दूसरी बार एक शब्द "
                        "बदलकर। हर ख़ाने में उस जगह के आउटपुट का सबसे बड़ा बदलाव है। मॉडल अप्रशिक्षित "
                        "है: मास्क के लिए कुछ सीखना नहीं पड़ता।",
                    )
                ),
                table(
                    say("max |Δ|", "अधिकतम |Δ|"),
                    torch.stack(rows),
                    [f"{which}, {how}" for how in (masked, free) for which in (attention, decoder)],
                    places,
                    digits=4,
                ),
                Words(
                    say(
                        "With the mask nothing before the changed word moves: exactly 0.",
                        "मास्क के साथ बदले हुए शब्द से पहले कुछ नहीं हिलता: ठीक 0।",
                    )
                    if tight
                    else say(
                        f"With the mask the past moves by {self.masked_past:.2g}: it leaks.",
                        f"मास्क के साथ भी पहले के शब्द {self.masked_past:.2g} तक हिले: रिसाव है।",
                    )
                ),
                Words(
                    say(
                        f"Without it the past moves by up to {self.open_past:.4f}: earlier words "
                        "have seen a word that was not yet said.",
                        f"मास्क के बिना पहले के शब्द {self.open_past:.4f} तक हिले: उन्होंने वह शब्द "
                        "देख लिया जो अभी कहा ही नहीं गया था।",
                    )
                    if leaks
                    else say(
                        "Without it nothing moved here either.",
                        "मास्क के बिना भी यहाँ कुछ नहीं हिला।",
                    )
                ),
            ),
        )


def leak(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    source: str | Sequence[str] = SOURCE,
    place: int = 0,
    change: str = CHANGE,
    seed: int = 1,
) -> Leak:
    """Change the word at a place (1 is the first, 0 the last) of what a decoder is told."""
    words, heard = words_of(sentence), words_of(source)
    place, seed = whole("place", place, least=0) or len(words), whole("seed", seed, least=0)
    if not 1 <= place <= len(words):
        raise UserError(f"place: {place} is none of the {len(words)} words; give 1 to {len(words)}")
    other = words_of(str(change))
    if len(other) != 1 or other[0] == words[place - 1]:
        raise UserError(f"change: {change!r} must be one word, and not {words[place - 1]!r} again")
    names, hears = numbered([words, other]), numbered([heard])
    model = transformer(len(hears), len(names), seed=seed)
    read = Tokens.pad([[*(hears[word] for word in heard), EOS]])
    before = torch.tensor([[BOS, *(names[word] for word in words)]])
    after = before.clone()
    after[0, place] = names[other[0]]
    masked = _moved(model, read, before, after)
    remove_causal_mask(model)
    free = _moved(model, read, before, after)
    past = [max(float(one[:place].max()) for one in pair) for pair in (masked, free)]
    told = (NAMES[BOS], *words)
    return Leak(told, place, other[0], *masked, *free, masked_past=past[0], open_past=past[1])


@torch.inference_mode()
def _moved(
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
        states = decoder.embed(ids)
        found.append(attention(states, attention.remember(states, real)).context)
        said.append(decoder(ids, model.start(read))[0])
    return _most(*found), _most(*said)


def _most(one: Float64[Tensor, "1 T D"], other: Float64[Tensor, "1 T D"]) -> Float64[Tensor, " T"]:
    """The largest difference at each place."""
    return (one - other).abs().amax(-1).squeeze(0)
