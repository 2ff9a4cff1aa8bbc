"""Context vectors, one for every target word: c_i = Σ_j α_ij h_j, from a table of weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, heatmap, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, SeededVectors, lesson, parse_words
from dhyan.lessons.seeded_vectors import WIDTH, seeded_vectors

SENTENCE, TARGET = "turn off the lights", "लाइट बंद करो <end>"
START = "<start>"
STATES = ((1, 0.5, 0.6, 0.3), (0.2, 0.9, 0.1, 0.4), (0.1, 0.1, 0.2, 0.1), (0.3, 0.2, 0.9, 0.8))
WEIGHTS = (
    (0.05, 0.05, 0.10, 0.80),
    (0.15, 0.75, 0.05, 0.05),
    (0.60, 0.30, 0.05, 0.05),
    (0.10, 0.10, 0.10, 0.70),
)
ROUNDED = 0.005  # tolerance for the sum of a row of rounded weights


@dataclass(frozen=True)
class ContextVector(LessonResult):
    """Encoder states, attention weights and contexts of every step, and the decoder's inputs.

    `without` are its inputs (y_{i-1}; s_{i-1}) when only the first state comes from the encoder,
    `inputs` are (y_{i-1}; s_{i-1}; c_i), and `before` and `after` are the s_i that each leads to.
    `queries` are the states whose dot products with h_j gave the weights, where none were given.
    """

    words: tuple[str, ...]
    target: tuple[str, ...]
    states: Float64[Tensor, "S D"]
    weights: Float64[Tensor, "T S"]
    contexts: Float64[Tensor, "T D"]
    previous: Float64[Tensor, "T V"]
    without: Float64[Tensor, "T V+D"]
    inputs: Float64[Tensor, "T V+2*D"]
    before: Float64[Tensor, "T D"]
    after: Float64[Tensor, "T D"]
    self_weights: Float64[Tensor, "S S"]
    self_contexts: Float64[Tensor, "S D"]
    queries: Float64[Tensor, "T D"] | None = None

    def blocks(self, text: Text) -> Iterator[Block]:
        """The weighted sums, then the decoder's inputs, then self-attention of the sentence."""
        (steps, source_length), (_, vocabulary_size), width = (
            self.weights.shape,
            self.previous.shape,
            len(self.states[0]),
        )
        narrow = ("y",) * vocabulary_size + ("s",) * width
        yield text.paragraph(
            "definition",
            width=width,
            steps=steps,
            source_length=source_length,
            total=steps * source_length,
        )
        if self.queries is not None:
            yield text.paragraph("computed_weights")
            yield table("s", self.queries, self.target)
        yield heatmap("α", self.weights, self.target, self.words, operator="·")
        yield table("h", self.states, self.words, operator="=")
        yield table("c", self.contexts, self.target)
        yield text.paragraph("decoder_inputs")
        yield table(text("without_context"), self.without, self.target, narrow)
        yield table(text("with_context"), self.inputs, self.target, narrow + ("c",) * width)
        yield text.paragraph("self_attention")
        yield heatmap("softmax(h hᵀ)", self.self_weights, self.words, self.words, operator="→")
        yield table("softmax(h hᵀ) h", self.self_contexts, self.words)


@lesson
def context_vector(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    target: str | Sequence[str] | None = None,
    states: Matrix | None = None,
    weights: Matrix | None = None,
    seed: int = 0,
) -> ContextVector:
    """Context vectors: encoder states h_j averaged by the weights of each target word.

    The weights are given, not learned; those of the decoder, which shows what the contexts are
    for, are drawn with the seed. Another sentence than the lesson's own has random states if none
    are given, as many target words as words, named y_1, y_2 and so on, and the weights softmax(s hᵀ)
    of random states s of the target words.

    >>> [round(number, 3) for number in context_vector().contexts[0].tolist()]
    [0.31, 0.24, 0.775, 0.685]
    """
    words = parse_words(sentence)
    own_sentence = words == parse_words(SENTENCE)
    target_words = _target_words(target, words, own_sentence)
    h, seeded = parse_encoder_states(words, states, seed=seed)
    queries = None
    if weights is None and own_sentence and target_words == parse_words(TARGET):
        weights = WEIGHTS
    elif weights is None:
        queries = seeded_vectors(target_words, seed=seed, width=h.shape[1])
        weights = (queries @ h.T).softmax(-1)
    alpha = parse_matrix(
        "weights", weights, rows=len(target_words), of=f"the words of {' '.join(target_words)!r}"
    )
    if alpha.shape[1] != len(words):
        raise UserError(
            f"weights: has {alpha.shape[1]} columns, but the words of {' '.join(words)!r} are "
            f"{len(words)}; give {len(words)} columns"
        )
    _check_rows(alpha, target_words)
    contexts, previous = alpha @ h, _one_hot((START, *target_words[:-1]))
    generator = torch.Generator().manual_seed(seed)
    w_previous, w_state, w_context = (
        2 * torch.rand(rows, h.shape[1], generator=generator, dtype=torch.float64) - 1
        for rows in (previous.shape[1], h.shape[1], h.shape[1])
    )
    without, before = _steps(previous, h[-1], torch.cat([w_previous, w_state]))
    rest = torch.cat([w_previous, w_state, w_context])
    inputs, after = _steps(previous, h[-1], rest, contexts)
    itself = attend(h, h, h, score="dot")
    decoder_values = (previous, without, inputs, before, after, itself.weights, itself.context)
    return ContextVector(
        words, target_words, h, alpha, contexts, *decoder_values, queries, seeded=seeded
    )


def parse_encoder_states(
    words: tuple[str, ...],
    states: Matrix | None,
    *,
    seed: int,
    width: int = WIDTH,
    model: bool = False,
) -> tuple[Float64[Tensor, "S D"], SeededVectors | None]:
    """The states given, those of the lesson's own sentence, or random ones, which are named."""
    seeded = None
    if states is None and words == parse_words(SENTENCE):
        states = STATES
    elif states is None:
        states = seeded_vectors(words, seed=seed, width=width)
        seeded = SeededVectors("states", seed, model)
    of = f"the words of {' '.join(words)!r}"
    return parse_matrix("states", states, rows=len(words), of=of), seeded


def _target_words(
    target: str | Sequence[str] | None, words: tuple[str, ...], own_sentence: bool
) -> tuple[str, ...]:
    """The target words given, or the lesson's own, or as many nameless ones as words."""
    if target is not None:
        return parse_words(target)
    if own_sentence:
        return parse_words(TARGET)
    return tuple(f"y_{step}" for step in range(1, len(words) + 1))


def _check_rows(weights: Float64[Tensor, "T S"], target_words: Sequence[str]) -> None:
    """Check that each row of weights is non-negative and sums to 1."""
    for word, row in zip(target_words, weights, strict=True):
        if (row < 0).any():
            raise UserError(f"weights: the row of {word!r} has a weight below 0; give none below 0")
        if abs(float(row.sum()) - 1) > ROUNDED:
            raise UserError(
                f"weights: the row of {word!r} sums to {float(row.sum()):.4g}; "
                "each row must sum to 1"
            )


def _one_hot(words: Sequence[str]) -> Float64[Tensor, "T V"]:
    """One-hot vectors over the distinct words."""
    vocabulary = list(dict.fromkeys(words))
    return torch.eye(len(vocabulary), dtype=torch.float64)[
        [vocabulary.index(word) for word in words]
    ]


def _steps(
    previous: Float64[Tensor, "T V"],
    state: Float64[Tensor, " D"],
    maps: Float64[Tensor, "I D"],
    contexts: Float64[Tensor, "T D"] | None = None,
) -> tuple[Float64[Tensor, "T I"], Float64[Tensor, "T D"]]:
    """A plain recurrent decoder, s_i = tanh(inputs · W): its inputs, and the states after them."""
    inputs, states = [], []
    for step, word in enumerate(previous):
        parts = [word, state] if contexts is None else [word, state, contexts[step]]
        inputs.append(torch.cat(parts))
        state = torch.tanh(inputs[-1] @ maps)
        states.append(state)
    return torch.stack(inputs), torch.stack(states)
