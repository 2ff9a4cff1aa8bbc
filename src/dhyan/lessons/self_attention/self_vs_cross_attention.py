"""Cross-attention and self-attention: scores, softmax, weighted sum, for two sequences or one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, SeededVectors, lesson, parse_int, parse_words
from dhyan.lessons.seeded_vectors import seeded_vectors

SENTENCE, TARGET = "turn off the lights", "लाइट बंद करो"
STATES = ((2, 0, 0), (1, 2, 0), (0, 0, 1), (0, 1, 2))
TARGET_STATES = ((0, 0, 2), (0, 2, -1), (2, -1, 0))


@dataclass(frozen=True)
class AttentionSteps:
    """Alignment scores, softmax weights and weighted sums."""

    query_words: tuple[str, ...]
    key_words: tuple[str, ...]
    scores: Float64[Tensor, "T S"]
    weights: Float64[Tensor, "T S"]
    contexts: Float64[Tensor, "T D"]


def three_steps(
    query_words: tuple[str, ...],
    key_words: tuple[str, ...],
    queries: Float64[Tensor, "T D"],
    states: Float64[Tensor, "S D"],
) -> AttentionSteps:
    """Luong et al. (2015), dot: e_ij = s_i · h_j, α_i = softmax(e_i), c_i = Σ α_ij h_j."""
    scores = queries @ states.T
    weights = scores.softmax(-1)
    return AttentionSteps(query_words, key_words, scores, weights, weights @ states)


@dataclass(frozen=True)
class SelfVsCrossAttention(LessonResult):
    """States of both sequences; the three steps across them and within the first."""

    states: Float64[Tensor, "S D"]
    target_states: Float64[Tensor, "T D"]
    cross_attention: AttentionSteps
    self_attention: AttentionSteps

    def blocks(self, text: Text) -> Iterator[Block]:
        """Every step twice, side by side."""
        yield text.paragraph("setup")
        yield table(text("queries"), self.target_states, self.cross_attention.query_words)
        yield table(text("keys_and_values"), self.states, self.cross_attention.key_words)
        yield from self._step(text, text("step_scores"), "scores")
        yield from self._step(text, text("step_softmax"), "weights")
        yield from self._step(text, text("step_weighted_sum"), "contexts")
        yield Paragraph(f"{self._describe_cross(text)} {self._describe_self(text)}")

    def _step(self, text: Text, name: str, which: str) -> Iterator[Block]:
        """A step across, and the same within."""
        draw = heatmap if which == "weights" else table
        cross_title = text("cross_attention")
        self_title = text("self_attention")
        yield Paragraph(name)
        for steps, title in (
            (self.cross_attention, cross_title),
            (self.self_attention, self_title),
        ):
            yield draw(
                title,
                getattr(steps, which),
                steps.query_words,
                steps.key_words if which != "contexts" else (),
            )

    def _describe_cross(self, text: Text) -> str:
        top_keys = self.cross_attention.weights.argmax(1).tolist()
        pairs = zip(
            self.cross_attention.query_words,
            (self.cross_attention.key_words[at] for at in top_keys),
            strict=True,
        )
        alignments = ", ".join(f"{query_word} → {key_word}" for query_word, key_word in pairs)
        return text("cross_alignments", alignments=alignments)

    def _describe_self(self, text: Text) -> str:
        to_themselves = sum(
            at == most for at, most in enumerate(self.self_attention.weights.argmax(1).tolist())
        )
        count = len(self.self_attention.query_words)
        return text(
            "self_alignments",
            to_themselves=to_themselves,
            count=count,
            single_word=to_themselves == 1,
        )


@lesson
def self_vs_cross_attention(
    sentence: str | Sequence[str] = SENTENCE,
    target: str | Sequence[str] = TARGET,
    *,
    states: Matrix | None = None,
    target_states: Matrix | None = None,
    width: int = 3,
    seed: int = 1,
) -> SelfVsCrossAttention:
    """The three steps with the target's states as queries, and with the sentence's own.

    States that are not given are random, from the seed.
    """
    key_words, query_words = parse_words(sentence), parse_words(target)
    if (key_words, query_words) == (parse_words(SENTENCE), parse_words(TARGET)):
        states = STATES if states is None else states
        target_states = TARGET_STATES if target_states is None else target_states
    width, seed = parse_int("width", width), parse_int("seed", seed, least=0)
    h = _states("states", states, key_words, width, seed)
    s = _states("target_states", target_states, query_words, h.shape[1], seed)
    if s.shape[1] != h.shape[1]:
        raise UserError(
            f"target_states: have {s.shape[1]} numbers and states {h.shape[1]}: "
            "a dot product needs as many on both sides"
        )
    names = {"states": states, "target_states": target_states}
    missing = " and ".join(name for name, argument in names.items() if argument is None)
    return SelfVsCrossAttention(
        h,
        s,
        three_steps(query_words, key_words, s, h),
        three_steps(key_words, key_words, h, h),
        seeded=SeededVectors(missing, seed) if missing else None,
    )


def _states(
    name: str, argument: Matrix | None, words: tuple[str, ...], width: int, seed: int
) -> Float64[Tensor, "N D"]:
    if argument is None:
        return seeded_vectors(words, seed=seed, width=width)
    return parse_matrix(name, argument, rows=len(words), of=f"the words of {' '.join(words)!r}")
