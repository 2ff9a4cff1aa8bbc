"""A Transformer's main road, row by row: what enters its steps and joins it again, by definition.

And the choice of the kernels for it. A row is one beginning of a sentence; the rows of a sentence
lie side by side.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from dhyan.kernels.backend import use_triton

VECTORS = 2  # rows, up to which a product takes them one by one
ARRIVING = 256  # rows, up to which a product's last block makes the norm
DEEPEST = 512  # inputs of a product whose weights are read ahead


@dataclass(frozen=True)
class Norm:
    """A layer normalisation: gain, shift, and what keeps it from dividing by zero."""

    gain: Float[Tensor, " D"]
    shift: Float[Tensor, " D"]
    epsilon: float

    def __call__(self, x: Float[Tensor, "R D"]) -> Float[Tensor, "R D"]:
        """The definition, in single precision."""
        width = self.gain.shape
        gain, shift = self.gain.float(), self.shift.float()
        return functional.layer_norm(x.float(), width, gain, shift, self.epsilon)

    @property
    def parts(self) -> tuple[Tensor, Tensor, float]:
        """What a kernel takes."""
        return self.gain, self.shift, self.epsilon


@dataclass(frozen=True)
class Linear:
    """One matrix, or several side by side, with the sums of its rows."""

    weight: Float[Tensor, "O K"]
    bias: Float[Tensor, " O"]
    across: Float[Tensor, " O"]


@dataclass(frozen=True)
class Told:
    """What is kept of a road beside itself: its sums and those of its squares, in parts; a copy.

    The copy has the precision of the weights.
    """

    sums: Float[Tensor, "R P 2"]
    copy: Float[Tensor, "R D"]

    @classmethod
    def of(cls, rows: int, like: Float[Tensor, "V D"]) -> "Told | None":
        """Room for it, where `off_road` and `on_road` have a kernel that needs any."""
        if rows <= VECTORS or not use_triton(like):
            return None
        from dhyan.kernels.triton.decode.small_batch_linear import tile_for

        width = like.shape[1]
        parts = -(-width // tile_for(rows, width, width).wide)
        sums = torch.empty(rows, parts, 2, device=like.device)
        return cls(sums, like.new_empty(rows, width))


def embed(
    words: Int[Tensor, " R"],
    places: Int[Tensor, " N"],
    table: Float[Tensor, "V D"],
    positions: Float[Tensor, "T D"],
    norm: Norm | None,
    *,
    scale: float,
    told: Told | None = None,
) -> tuple[Float[Tensor, "R D"], Float[Tensor, "R D"]]:
    """Words and their places as vectors, in single precision, and what enters the first step."""
    if use_triton(table):
        from dhyan.kernels.triton.decode import rowwise as rows

        road = torch.empty(len(words), table.shape[1], device=table.device)
        entering = told.copy if told else torch.empty_like(road, dtype=table.dtype)
        parts, sums = norm.parts if norm else None, told.sums if told else None
        rows.embed(
            words,
            places,
            table,
            positions,
            parts,
            road,
            entering,
            scale=scale,
            sums=sums,
        )
        return road, entering
    at = places.repeat_interleave(len(words) // len(places))
    road = functional.embedding(words, table).float() * scale + functional.embedding(at, positions)
    return road, (norm(road) if norm else road).to(table.dtype)


def join(
    road: Float[Tensor, "R D"],
    found: Float[Tensor, "R D"],
    bias: Float[Tensor, " D"],
    norm: Norm,
    *,
    post: bool,
) -> Float[Tensor, "R D"]:
    """What a step found and its bias join the road, in place; returned is what enters the next.

    Where the norm stands after the step (`post`), what it gives is the road as well.
    """
    if use_triton(found):
        from dhyan.kernels.triton.decode import rowwise as rows

        entering = torch.empty_like(found)
        rows.join(road, found, bias, norm.parts, entering, post=post)
        return entering
    road += found + bias
    entering = norm(road)
    if post:
        road.copy_(entering)
    return entering.to(found.dtype)


def arrive(
    road: Float[Tensor, "R D"],
    found: Float[Tensor, "R K"],
    way: Linear,
    norm: Norm,
    arrivals: Int[Tensor, " M"],
    *,
    post: bool,
) -> Float[Tensor, "R D"]:
    """A product of what was found joins the road, as in `join`: in one launch for some rows.

    `arrivals` are zeros that belong to the road.
    """
    if not _some(found, way):
        return join(road, functional.linear(found, way.weight), way.bias, norm, post=post)
    from dhyan.kernels.triton.decode import linear_add_norm as kernels

    entering = torch.empty_like(road, dtype=found.dtype)
    kernels.arrive(
        found,
        way.weight,
        way.bias,
        entering,
        road=road,
        norm=norm.parts,
        arrivals=arrivals,
        post=post,
    )
    return entering


def depart(entering: Float[Tensor, "R K"], way: Linear) -> Float[Tensor, "R O"]:
    """A product of what enters a step."""
    if not _some(entering, way) or len(way.weight) > DEEPEST:
        return functional.linear(entering, way.weight, way.bias)
    from dhyan.kernels.triton.decode import linear_add_norm as kernels

    out = entering.new_empty(len(entering), len(way.weight))
    kernels.arrive(entering, way.weight, way.bias, out)
    return out


def _some(given: Float[Tensor, "R K"], way: Linear) -> bool:
    few = len(given) <= ARRIVING and given.shape[1] <= DEEPEST
    return few and use_triton(way.weight)


def normalised(
    road: Float[Tensor, "R D"], norm: Norm, *, like: Float[Tensor, "O D"]
) -> Float[Tensor, "R D"]:
    """What enters the last step, in the precision of its weights."""
    if not use_triton(like):
        return norm(road).to(like.dtype)
    from dhyan.kernels.triton.decode import rowwise as rows

    entering = torch.empty_like(road, dtype=like.dtype)
    rows.join(road, None, None, norm.parts, entering, post=False)
    return entering


def off_road(
    road: Float[Tensor, "R K"],
    way: Linear,
    norm: Norm | None,
    told: Told | None,
    *,
    bend: str = "none",
    exact: bool = False,
) -> Float[Tensor, "R O"]:
    """A product of the normalised road for few rows, with bias and bend, in one launch.

    `exact` asks for single precision. With what is told of the road, the norm must have no gain
    and no shift: they are to be in the weights.
    """
    kind = torch.float32 if exact else way.weight.dtype
    if use_triton(way.weight):
        from dhyan.kernels.triton.decode import small_batch_linear as products

        out = road.new_empty(len(road), len(way.weight), dtype=kind)
        if told is None:
            parts = norm.parts if norm else None
            products.vector_linear(road, way.weight, way.bias, parts, None, out, bend=bend)
        else:
            assert norm is not None
            products.tile_linear(
                told.copy,
                way.weight,
                way.bias,
                out,
                told.sums,
                copy=None,
                tile=products.tile_for(len(out), out.shape[1], road.shape[1]),
                across=way.across,
                epsilon=norm.epsilon,
                bend=bend,
            )
        return out
    given = (norm(road) if norm else road).to(way.weight.dtype)
    return BENDS[bend](functional.linear(given, way.weight, way.bias)).to(kind)


def on_road(
    road: Float[Tensor, "R O"],
    found: Float[Tensor, "R K"],
    way: Linear,
    told: Told | None,
    before: Norm | None = None,
) -> Float[Tensor, "R O"]:
    """The road after a product of what was found has joined it, with what is told of it.

    It is the same tensor, unless a norm stands `before`: then it is that of the road which goes on.
    """
    if not use_triton(found):
        joined = functional.linear(found, way.weight, way.bias)
        return before(road) + joined if before else road.add_(joined)
    from dhyan.kernels.triton.decode import small_batch_linear as products

    if told is None:
        out = torch.empty_like(road) if before else road
        parts = before.parts if before else None
        products.vector_linear(found, way.weight, way.bias, parts, road, out)
        return out
    assert before is None
    tile = products.tile_for(len(road), road.shape[1], found.shape[1])
    products.tile_linear(found, way.weight, way.bias, road, told.sums, copy=told.copy, tile=tile)
    return road


BENDS = {"none": lambda y: y, "relu": torch.relu, "gelu": functional.gelu}
