"""The encoder-decoder unrolled over time: every state, the context vector, every word said."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.given import whole, words_of
from dhyan.lessons.sequences.miniature import (
    END,
    START,
    Decoded,
    Hear,
    Vocabulary,
    decode,
    encoder_decoder,
    in_batch,
    learn,
    states_by_token,
)
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.models.seq2seq import Seq2Seq

SENTENCE, TRANSLATION = "think about it", "सोच लो"
PARTS = ("h", "c")


@dataclass(frozen=True)
class Unrolled(Shown):
    """The states of both halves, a row for each token; an LSTM has h and c, other cells h alone.

    `apart` is how far the encoder's states lie from those of reading all tokens in one call, and
    `said_apart` the same of the decoder's probabilities.
    """

    words: tuple[str, ...]
    fed: tuple[str, ...]
    said: tuple[str, ...]
    vocabulary: tuple[str, ...]
    cell: str
    parameters: tuple[int, int]
    read: Float64[Tensor, "S P D"]
    context: Float64[Tensor, "P D"]
    written: Float64[Tensor, "T P D"]
    chances: Float64[Tensor, "T V"]
    apart: float
    said_apart: float

    def story(self, say: Say) -> Story:
        """Reading, the context vector, writing."""
        parts = PARTS[: self.read.shape[1]]
        state = f"({', '.join(parts)})"
        encoder, decoder = self.parameters
        return Story(
            say("The encoder-decoder, unrolled", "खोलकर देखा गया एनकोडर-डिकोडर"),
            (
                Words(
                    say(
                        f"One {self.cell.upper()} reads word after word with the same {encoder} "
                        f"weights; {state} is what it holds after each. One call for all words "
                        f"gives the same states: they differ by at most {self.apart:.1g}.",
                        f"एक ही {self.cell.upper()} हर शब्द को उन्हीं {encoder} भारों से पढ़ता है; हर "
                        f"शब्द के बाद उसकी अवस्था {state} है। सब शब्द एक साथ देने पर भी यही अवस्थाएँ "
                        f"मिलती हैं: अंतर अधिक से अधिक {self.apart:.1g} है।",
                    )
                ),
                *self._states(parts, self.read, self.words, say("after each word", "हर शब्द के बाद")),
                Words(
                    say(
                        f"The last {state} is the context vector, all that the decoder learns of "
                        f"the sentence. It starts there, is fed {START}, and what it says is fed "
                        f"back, until {END}; its {decoder} weights are the same at every step too.",
                        f"अंतिम {state} ही संदर्भ सदिश है; वाक्य के बारे में डिकोडर को केवल यही मिलता "
                        f"है। वह यहीं से आरंभ करता है; उसे {START} दिया जाता है, फिर जो शब्द वह बोलता "
                        f"है वही अगले चरण में दिया जाता है, {END} आने तक; उसके {decoder} भार भी हर "
                        f"चरण पर वही रहते हैं।",
                    )
                ),
                table(say("context vector", "संदर्भ सदिश"), self.context, parts, digits=3),
                *self._states(
                    parts, self.written, self.fed, say("after each step", "हर चरण के बाद")
                ),
                table(
                    say("softmax", "softmax"),
                    self.chances,
                    self.fed,
                    self.vocabulary,
                    kind="weights",
                    digits=3,
                ),
                Words(self._ended(say)),
            ),
        )

    def _states(
        self, parts: Sequence[str], values: Float64[Tensor, "N P D"], rows: Sequence[str], name: str
    ) -> list[Part]:
        return [
            table(f"{part}, {name}", values[:, place], rows, digits=3)
            for place, part in enumerate(parts)
        ]

    def _ended(self, say: Say) -> str:
        told = " ".join(self.said)
        if self.said[-1] == END:
            return say(
                f"It says: {told}. Given all its inputs at once, its probabilities differ by at "
                f"most {self.said_apart:.1g}.",
                f"वह बोलता है: {told}। सब इनपुट एक साथ देने पर प्रायिकताओं में अंतर अधिक से अधिक "
                f"{self.said_apart:.1g} है।",
            )
        return say(
            f"It says: {told}, and was stopped before {END}. Given all its inputs at once, its "
            f"probabilities differ by at most {self.said_apart:.1g}.",
            f"वह बोलता है: {told}, और उसे {END} से पहले ही रोक दिया गया। सब इनपुट एक साथ देने पर "
            f"प्रायिकताओं में अंतर अधिक से अधिक {self.said_apart:.1g} है।",
        )


def unrolled(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    target: str | Sequence[str] = TRANSLATION,
    cell: str = "lstm",
    width: int = 4,
    steps: int = 60,
    limit: int = 8,
    seed: int = 1,
    hear: Hear | None = None,
) -> Unrolled:
    """A small encoder-decoder of `cell` lstm, gru or rnn, token by token, with every state.

    It first learns this pair alone for so many steps, under a second; with 0 it is untrained.
    """
    words, right = words_of(sentence), words_of(target)
    source, goal = Vocabulary.of([" ".join(words)]), Vocabulary.of([" ".join(right)], START, END)
    model = encoder_decoder(source, goal, width=whole("width", width), cell=cell, seed=seed)
    pair = in_batch([(" ".join(words), " ".join(right))], source, goal)
    learn(model, pair, steps=whole("steps", steps, least=0), learning_rate=0.05, hear=hear)
    with torch.no_grad():
        read = states_by_token(model.encoder, pair.source)[0, :, :, 0]
        at_once = model.encoder(pair.source)
    last = at_once.summary.unflatten(-1, read.shape[1:])[0]
    found = decode(model, source.ids(words), limit=whole("limit", limit))
    return Unrolled(
        words,
        goal.said(found.fed),
        goal.said(found.said),
        goal.words,
        cell,
        (_weights(model.encoder), _weights(model.decoder)),
        read,
        found.context,
        found.states,
        found.chances,
        max(_far(read[:, 0], at_once.states[0]), _far(read[-1], last), _far(last, found.context)),
        _far(found.chances, _at_once(model, pair.source, found)),
    )


@torch.no_grad()
def _at_once(model: Seq2Seq, source: Tokens, found: Decoded) -> Float64[Tensor, "T V"]:
    """The probabilities when the decoder is given all it was fed in one call."""
    logits, _ = model.decoder(torch.tensor([found.fed]), model.start(source))
    return logits[0].softmax(-1)[:, 1:]


def _far(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def _weights(half: object) -> int:
    assert isinstance(half, torch.nn.Module)
    return sum(weight.numel() for weight in half.parameters())
