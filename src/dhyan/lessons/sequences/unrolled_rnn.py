"""The encoder-decoder unrolled over time: every state, the context vector, every output word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.batch import Source
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_int, parse_words
from dhyan.lessons.tiny_models import (
    END,
    START,
    DecodedSteps,
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

    `encoder_difference` is the largest difference between the encoder's states token by token and
    in one call, `decoder_difference` that of the decoder's probabilities.
    """

    words: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    vocabulary: tuple[str, ...]
    cell: str
    parameters: tuple[int, int]
    encoder_states: Float64[Tensor, "S P D"]
    context: Float64[Tensor, "P D"]
    decoder_states: Float64[Tensor, "T P D"]
    probs: Float64[Tensor, "T V"]
    encoder_difference: float
    decoder_difference: float

    def blocks(self, text: Text) -> Iterator[Block]:
        """The encoder, the context vector, the decoder."""
        parts = PARTS[: self.encoder_states.shape[1]]
        state = f"({', '.join(parts)})"
        encoder, decoder = self.parameters
        yield text.paragraph("encoder_states", cell=self.cell.upper(), encoder=encoder, state=state)
        yield from self._states(parts, self.encoder_states, self.words, text("after_each_word"))
        yield text.paragraph("decoder_start", state=state, start=START, end=END, decoder=decoder)
        yield table(text("context_vector"), self.context, parts, digits=3)
        yield from self._states(parts, self.decoder_states, self.inputs, text("after_each_step"))
        yield heatmap(text("softmax"), self.probs, self.inputs, self.vocabulary, digits=3)
        yield Paragraph(self._verdict(text))

    def _states(
        self, parts: Sequence[str], values: Float64[Tensor, "N P D"], rows: Sequence[str], name: str
    ) -> Iterator[Block]:
        for index, part in enumerate(parts):
            yield table(f"{part}, {name}", values[:, index], rows, digits=3)

    def _verdict(self, text: Text) -> str:
        output = " ".join(self.outputs)
        if self.outputs[-1] == END:
            return text("output", output=output)
        return text("output_truncated", output=output, end=END)


@lesson
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

    It is first trained on this pair for `steps` updates, under a second; with 0 it is untrained.
    """
    words, target_words = parse_words(sentence), parse_words(target)
    source_vocabulary, target_vocabulary = (
        Vocabulary.of([" ".join(words)]),
        Vocabulary.of([" ".join(target_words)], START, END),
    )
    model = tiny_encoder_decoder(
        source_vocabulary, target_vocabulary, width=parse_int("width", width), cell=cell, seed=seed
    )
    pair = make_batch(
        [(" ".join(words), " ".join(target_words))], source_vocabulary, target_vocabulary
    )
    train_updates(
        model,
        pair,
        steps=parse_int("steps", steps, least=0),
        learning_rate=0.05,
        on_progress=on_progress,
    )
    with torch.no_grad():
        encoder_states = states_by_token(model.encoder, pair.source)[0, :, :, 0]
        at_once = model.encoder(pair.source)
    last = at_once.summary.unflatten(-1, encoder_states.shape[1:])[0]
    decoded = decode(model, source_vocabulary.ids(words), limit=parse_int("limit", limit))
    return UnrolledRNN(
        words,
        target_vocabulary.words_of(decoded.inputs),
        target_vocabulary.words_of(decoded.outputs),
        target_vocabulary.words,
        cell,
        (_weights(model.encoder), _weights(model.decoder)),
        encoder_states,
        decoded.context,
        decoded.states,
        decoded.probs,
        max(
            _difference(encoder_states[:, 0], at_once.states[0]),
            _difference(encoder_states[-1], last),
            _difference(last, decoded.context),
        ),
        _difference(decoded.probs, _all_at_once(model, pair.source, decoded)),
    )


@torch.no_grad()
def _all_at_once(model: Seq2Seq, source: Source, decoded: DecodedSteps) -> Float64[Tensor, "T V"]:
    """The decoder's probabilities with all inputs in one call."""
    logits, _ = model.decoder(torch.tensor([decoded.inputs]), model.start(source))
    return logits[0].softmax(-1)[:, 1:]


def _difference(first: Tensor, second: Tensor) -> float:
    return float((first - second).abs().max())


def _weights(half: object) -> int:
    assert isinstance(half, torch.nn.Module)
    return sum(weight.numel() for weight in half.parameters())
