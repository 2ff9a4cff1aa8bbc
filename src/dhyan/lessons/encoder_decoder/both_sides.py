"""What a look is worked out from by hand: the states of a sentence, and those of a decoder."""

from typing import NamedTuple

from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.encoder_decoder.context_vector import STATES
from dhyan.lessons.parsing import parse_words


class Sides(NamedTuple):
    """The words, a state h_j for each, a state of the decoder for each step, and which step."""

    words: tuple[str, ...]
    h: Float64[Tensor, "S D"]
    s: Float64[Tensor, "T Q"]
    step: int


def both_sides(
    sentence: str, states: Matrix | None, decoder: Matrix | None, *, usual: Matrix, step: int | None
) -> Sides:
    """What was given, and the lesson's own numbers where nothing was."""
    words = parse_words(sentence)
    of = f"the words of {sentence!r}"
    h = parse_matrix("states", STATES if states is None else states, rows=len(words), of=of)
    s = parse_matrix("decoder", usual if decoder is None else decoder)
    return Sides(words, h, s, check_step(step, len(s), of="decoder"))


def check_step(step: int | None, steps: int, *, of: str) -> int:
    """A step is counted from 1, and is the first if none was named."""
    if step is None:
        return 1
    if not isinstance(step, int) or not 1 <= step <= steps:
        fits = f"{steps} steps; give one from 1 to {steps}" if steps > 1 else "one step; give 1"
        raise UserError(f"step {step}: {of} has {fits}")
    return step
