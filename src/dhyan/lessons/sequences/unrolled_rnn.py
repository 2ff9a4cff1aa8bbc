"""The encoder-decoder unrolled over time: every state, the context vector, every word said."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.tiny_models import (
    END,
    START,
    DecodedSteps,
    ProgressCallback,
    Vocabulary,
    decode,
    make_batch,
    states_by_token,
    tiny_encoder_decoder,
    train_updates,
)
from dhyan.models.seq2seq import Seq2Seq

SENTENCE, TRANSLATION = "think about it", "सोच लो"
PARTS = ("h", "c")


@dataclass(frozen=True)
class UnrolledRNN(LessonResult):
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

    def page(self, text: Text) -> Page:
        """Reading, the context vector, writing."""
        parts = PARTS[: self.read.shape[1]]
        state = f"({', '.join(parts)})"
        encoder, decoder = self.parameters
        return Page(
            text("unrolled_rnn.title"),
            (
                Words(
                    text(
                        "unrolled_rnn.reads_word_after_word",
                        cell=self.cell.upper(),
                        encoder=encoder,
                        state=state,
                        apart=self.apart,
                    )
                ),
                *self._states(parts, self.read, self.words, text("unrolled_rnn.after_word")),
                Words(
                    text(
                        "unrolled_rnn.last_context_vector_decoder",
                        state=state,
                        start=START,
                        end=END,
                        decoder=decoder,
                    )
                ),
                table(text("unrolled_rnn.context_vector"), self.context, parts, digits=3),
                *self._states(parts, self.written, self.fed, text("unrolled_rnn.after_step")),
                table(
                    text("unrolled_rnn.softmax"),
                    self.chances,
                    self.fed,
                    self.vocabulary,
                    kind="weights",
                    digits=3,
                ),
                Words(self._ended(text)),
            ),
        )

    def _states(
        self, parts: Sequence[str], values: Float64[Tensor, "N P D"], rows: Sequence[str], name: str
    ) -> list[Part]:
        return [
            table(f"{part}, {name}", values[:, place], rows, digits=3)
            for place, part in enumerate(parts)
        ]

    def _ended(self, text: Text) -> str:
        told = " ".join(self.said)
        if self.said[-1] == END:
            return text(
                "unrolled_rnn.says_given_inputs_once", told=told, said_apart=self.said_apart
            )
        return text(
            "unrolled_rnn.says_stopped_before_given", told=told, end=END, said_apart=self.said_apart
        )


def unrolled_rnn(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    target: str | Sequence[str] = TRANSLATION,
    cell: str = "lstm",
    width: int = 4,
    steps: int = 60,
    limit: int = 8,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
) -> UnrolledRNN:
    """A small encoder-decoder of `cell` lstm, gru or rnn, token by token, with every state.

    It first learns this pair alone for so many steps, under a second; with 0 it is untrained.
    """
    words, right = parse_words(sentence), parse_words(target)
    source, goal = Vocabulary.of([" ".join(words)]), Vocabulary.of([" ".join(right)], START, END)
    model = tiny_encoder_decoder(
        source, goal, width=parse_int("width", width), cell=cell, seed=seed
    )
    pair = make_batch([(" ".join(words), " ".join(right))], source, goal)
    train_updates(
        model,
        pair,
        steps=parse_int("steps", steps, least=0),
        learning_rate=0.05,
        on_progress=on_progress,
    )
    with torch.no_grad():
        read = states_by_token(model.encoder, pair.source)[0, :, :, 0]
        at_once = model.encoder(pair.source)
    last = at_once.summary.unflatten(-1, read.shape[1:])[0]
    found = decode(model, source.ids(words), limit=parse_int("limit", limit))
    return UnrolledRNN(
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
        max(
            _difference(read[:, 0], at_once.states[0]),
            _difference(read[-1], last),
            _difference(last, found.context),
        ),
        _difference(found.chances, _all_at_once(model, pair.source, found)),
    )


@torch.no_grad()
def _all_at_once(model: Seq2Seq, source: Tokens, found: DecodedSteps) -> Float64[Tensor, "T V"]:
    """The probabilities when the decoder is given all it was fed in one call."""
    logits, _ = model.decoder(torch.tensor([found.fed]), model.start(source))
    return logits[0].softmax(-1)[:, 1:]


def _difference(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def _weights(half: object) -> int:
    assert isinstance(half, torch.nn.Module)
    return sum(weight.numel() for weight in half.parameters())
