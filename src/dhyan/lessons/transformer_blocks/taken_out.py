"""What becomes of a Transformer's walk when one of its parts is taken out."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from dhyan.insight.blocks import Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.transformer_blocks.written_out import WITHOUT, Walk, Written

NOTHING = 1e-9


@dataclass(frozen=True)
class Measured:
    """A row for the whole walk and one without each part; fresh weights, all the same.

    `order` is the largest |Δ| of a word's state in the encoder when the words come backwards;
    `alike` the mean cosine of the states of two different places; `longest` the length of the
    longest vector after any sub-layer; `moved` the largest |Δ| of a word's chance to the whole's.
    """

    order: Float64[Tensor, " P"]
    alike: Float64[Tensor, " P"]
    longest: Float64[Tensor, " P"]
    moved: Float64[Tensor, " P"]
    same_backwards: bool

    def parts(self, text: Text, without: str) -> tuple[Words, Table, Words]:
        """All measures of all walks, and a sentence on the one that was asked for."""
        rows = [text("transformer.whole"), *(without_a(one, text) for one in WITHOUT)]
        columns = [
            text("transformer.order"),
            text("transformer.alike"),
            text("transformer.longest"),
            text("transformer.chances"),
        ]
        values = torch.stack([self.order, self.alike, self.longest, self.moved], dim=1)
        chosen = [without] if without else WITHOUT
        return (
            Words(text("transformer.changes_without_part_order")),
            table(text("transformer.measures"), values, rows, columns),
            Words(" ".join(self._told(one, text) for one in chosen)),
        )

    def _told(self, without: str, text: Text) -> str:
        at = 1 + WITHOUT.index(without)
        match without:
            case "positions":
                return self._ordered(float(self.order[at]), text)
            case "residuals":
                was, now = float(self.alike[0]), float(self.alike[at])
                return text(
                    "transformer.without_residuals_two_words", now=now, was=was, larger=now > was
                )
            case "normalisation":
                was, now = float(self.longest[0]), float(self.longest[at])
                return text("transformer.without_normalisation_longest_vector", now=now, was=was)
            case _:
                gone = float(self.moved[at])
                return text("transformer.without_feed_forward_word", gone=gone)

    def _ordered(self, now: float, text: Text) -> str:
        if self.same_backwards:
            return text("transformer.sentence_reads_same_backwards")
        if now < NOTHING:
            return text("transformer.without_positions_encoder_states")
        return text("transformer.without_positions_states_still", now=now)


def measured(full: Written, source: Int64[Tensor, " S"], said: Int64[Tensor, " T"]) -> Measured:
    """The whole walk and one without each part; the source's end stays at the end."""
    backwards = torch.tensor([*reversed(range(len(source) - 1)), len(source) - 1])
    whole = full.walk(source, said)
    found = []
    for without in ("", *WITHOUT):
        written = replace(full, without=without)
        walk = written.walk(source, said)
        turned = written.encoded(source[backwards]).states
        order = (turned - walk.encoder.states[backwards]).abs().max()
        moved = (walk.chances - whole.chances).abs().max()
        found.append(torch.stack([order, _alike(walk.encoder.states), _longest(walk), moved]))
    order, alike, longest, moved = torch.stack(found).unbind(1)
    return Measured(
        order, alike, longest, moved, same_backwards=torch.equal(source, source[backwards])
    )


def _alike(states: Float64[Tensor, "T D"]) -> Float64[Tensor, ""]:
    """The mean cosine of two different rows."""
    ways = states / states.norm(dim=1, keepdim=True)
    count = len(ways)
    return ((ways @ ways.T).sum() - count) / (count * (count - 1))


def _longest(walk: Walk) -> Float64[Tensor, ""]:
    steps = (*walk.encoder.steps, *walk.decoder.steps)
    return torch.stack([one.after.norm(dim=1).max() for one in steps]).max()


def without_a(without: str, text: Text) -> str:
    """The name of a walk that a part is taken out of."""
    names = {
        "positions": text("transformer.without_positions"),
        "residuals": text("transformer.without_residuals"),
        "normalisation": text("transformer.without_normalisation"),
        "feed_forward": text("transformer.without_feed_forward"),
    }
    return names[without]
