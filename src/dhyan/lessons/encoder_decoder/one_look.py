"""One look of a trained recurrent model, taken apart: what asks, what is asked, every number."""

from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.insight.blocks import Part, Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.result import LessonResult, Page

FEW = 6  # so many numbers of a long vector are shown
CLOSE = 1e-5  # the model computes in single precision, the lesson in double
FORMULAS = {
    "additive": "e_j = vᵀ tanh(W {s} + U h_j + b)",
    "dot": "e_j = {s}ᵀ h_j",
    "scaled_dot": "e_j = {s}ᵀ h_j / √d",
    "general": "e_j = {s}ᵀ W h_j",
    "location": "e = W {s}",
}


@dataclass(frozen=True)
class OneLook(LessonResult):
    """Step `step` of a translation: the state that asks, and all that follows from it.

    `keys` are what the score makes of the states, once; `projected` (W s + b), `inner` (the tanh)
    and `energy` (v) are there if it is a small network, `attentional` (s̃) if the model asks after
    its step. `seen` is how clearly each state may be seen, and `watched` are the weights that
    `dhyan.explain` shows for the step.
    """

    sentence: str
    words: tuple[str, ...]
    said: tuple[str, ...]
    translation: str
    step: int
    kind: str
    query: Float64[Tensor, " Q"]
    states: Float64[Tensor, "S D"]
    projected: Float64[Tensor, " K"] | None
    keys: Float64[Tensor, "S K"]
    inner: Float64[Tensor, "S K"] | None
    energy: Float64[Tensor, " K"] | None
    scores: Float64[Tensor, " S"]
    seen: Float64[Tensor, " S"]
    weights: Float64[Tensor, " S"]
    context: Float64[Tensor, " D"]
    attentional: Float64[Tensor, " Q"] | None
    watched: Float64[Tensor, " S"]

    @property
    def apart(self) -> float:
        """The largest difference between these weights and those that are watched."""
        return float((self.weights - self.watched).abs().max())

    @property
    def asks(self) -> str:
        """What the state that asks is called."""
        return f"s_{self.step - (self.attentional is None)}"

    def page(self, text: Text) -> Page:
        """From the state that asks to the context it gets."""
        same, after = self.apart <= CLOSE, self.attentional is not None
        window = text("attention_step.seen") if (self.seen < 1).any() else ""
        formula = f"{FORMULAS[self.kind].format(s=self.asks)}, α = softmax(e){window}"
        word = self.said[self.step - 1]
        head = Words(
            text(
                "attention_step.model_says_step_state",
                translation=self.translation,
                step=self.step,
                word=word,
                after=after,
                formula=formula,
                same=same,
                apart=self.apart,
            )
        )
        title = text("attention_step.look_trained_model")
        return Page(title, (head, *self._asked(text), *self._answered(text)))

    def _asked(self, text: Text) -> list[Part]:
        """What the scores are made of."""
        parts: list[Part] = [_few(text, self.asks, self.query)]
        if self.projected is not None:
            parts.append(_few(text, f"W {self.asks} + b", self.projected))
        parts.append(_few(text, "h_j", self.states, self.words))
        if self.kind in ("additive", "general"):
            name = "U h_j" if self.kind == "additive" else "W h_j"
            parts.append(_few(text, name, self.keys, self.words))
        if self.inner is not None and self.energy is not None:
            parts.append(_few(text, "tanh", self.inner, self.words))
            parts.append(_few(text, "v", self.energy))
        return parts

    def _answered(self, text: Text) -> list[Part]:
        """Scores, weights, and what they mix."""
        parts: list[Part] = [_column("e_j", self.scores, self.words)]
        if (self.seen < 1).any():
            sight = self.seen.unsqueeze(1)
            parts.append(table(text("attention_step.seen_2"), sight, self.words, kind="weights"))
        parts += [
            table(
                "α_j",
                torch.stack([self.weights, self.watched], dim=1),
                self.words,
                (text("attention_step.hand"), "dhyan.explain"),
                kind="weights",
                digits=3,
            ),
            _few(text, f"c_{self.step}", self.context),
        ]
        if self.attentional is not None:
            title = f"s̃_{self.step} = tanh(W_c [c_{self.step}; {self.asks}])"
            parts.append(_few(text, title, self.attentional))
        return parts


def _few(text: Text, title: str, numbers: Tensor, names: tuple[str, ...] = ()) -> Table:
    """The first numbers of a vector, or of each of several."""
    width = numbers.shape[-1]
    note = text("attention_step.of", few=FEW, width=width) if width > FEW else ""
    return table(title + note, numbers[..., :FEW], names)


def _column(title: str, numbers: Float64[Tensor, " S"], names: tuple[str, ...]) -> Table:
    return table(title, numbers.unsqueeze(1), names, digits=3)
