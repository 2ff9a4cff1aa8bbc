"""Where words stand before and after attention, in a plane."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from fastapi import FastAPI

from dhyan.errors import UserError
from dhyan.studio.registry import Shelf
from dhyan.studio.schemas import MOST_TOKENS, Body, Name, Text

if TYPE_CHECKING:
    from torch import Tensor

    from dhyan.decoding.translator import Translator

FEWEST = 3  # words that span a plane
MOST_WORDS = 30


class GravityQuestion(Body):
    """A sentence for a model's encoder."""

    text: Text
    model: Name = ""


@dataclass(frozen=True)
class Stage:
    """The words' places on two axes, and the share of these vectors' variance each axis has."""

    places: list[list[float]]
    explained: list[float]


@dataclass(frozen=True)
class Pulled:
    """A sentence's words from their embeddings on.

    `axes` are those of the embeddings for every stage ("shared": the layers of a Transformer add
    to the embeddings), or each stage's own ("own": recurrent states are in a space of their own).
    `moved` is how far each word goes from first to last in the whole space, where it is one.
    """

    words: list[str]
    axes: Literal["shared", "own"]
    width: int
    stages: list[Stage]
    moved: list[float]


def add(app: FastAPI, shelf: Shelf) -> None:
    """What the view `/gravity` draws of a model."""

    @app.post("/api/gravity")
    def gravity(asked: GravityQuestion) -> dict[str, Any]:
        with shelf.book(asked.model).opened() as translator:
            return asdict(pulled(translator, asked.text))


def pulled(translator: "Translator", text: str) -> Pulled:
    """Every word's vector as embedded and after each layer of the encoder, in the plane."""
    import torch

    from dhyan.special_tokens import EOS

    ids = translator.encode(text)
    if len(ids) - 1 > MOST_TOKENS:
        raise UserError(f"{len(ids) - 1} tokens; the page takes at most {MOST_TOKENS}")
    found = [one for one in translator.source.words(ids, text) if ids[one.first] != EOS]
    if not FEWEST <= len(found) <= MOST_WORDS:
        raise UserError(f"{len(found)} words; a plane takes from {FEWEST} to {MOST_WORDS}")
    stages, shared = _vectors(translator, ids)
    spans = [(one.first, one.last) for one in found]
    words = [torch.stack([stage[a:b].mean(0) for a, b in spans]) for stage in stages]
    drawn = []
    for vectors in words:
        basis = _axes(words[0] if shared else vectors)
        centre = (words[0] if shared else vectors).mean(0)
        drawn.append(_stage(vectors, basis, centre))
    moved = (words[-1] - words[0]).norm(dim=1).tolist() if shared else []
    axes: Literal["shared", "own"] = "shared" if shared else "own"
    return Pulled([one.text for one in found], axes, words[0].shape[1], drawn, moved)


def _vectors(translator: "Translator", ids: list[int]) -> tuple[list["Tensor"], bool]:
    """The tokens' vectors at each stage, and whether all stages are of one space.

    A Transformer's are its residual stream: the scaled embedding without its position, then what
    stands after each layer, before the last normalisation.
    """
    import torch

    from dhyan.batch import Tokens
    from dhyan.decoding.forced_decoding import evaluation_mode
    from dhyan.models.transformer import TransformerEncoder

    encoder = translator.model.encoder
    source = Tokens.pad([ids]).to(translator.device)
    heard: list[Tensor] = []
    hooks = []
    shared = isinstance(encoder, TransformerEncoder)
    if isinstance(encoder, TransformerEncoder):
        hooks = [
            layer.register_forward_hook(lambda module, given, said: heard.append(said))
            for layer in encoder.layers
        ]
    try:
        with evaluation_mode(translator.model), torch.inference_mode():
            embedded = encoder.token_embedding(source.ids)
            states = encoder(source).states
    finally:
        for hook in hooks:
            hook.remove()
    size = embedded.shape[-1] ** 0.5 if shared else 1.0
    stages = [embedded * size, *(heard if shared else [states])]
    return [one[0].double().cpu() for one in stages], shared


def _axes(vectors: "Tensor") -> "Tensor":
    """The two directions in which the vectors differ most; the sign is such that none is by chance.

    An axis points to where its largest coordinate is.
    """
    import torch

    centred = vectors - vectors.mean(0)
    _, sizes, axes = torch.linalg.svd(centred, full_matrices=False)
    if len(axes) < 2 or sizes[1] < 1e-9:
        raise UserError("these words do not span a plane: write at least three that differ")
    two = axes[:2]
    largest = two.gather(1, two.abs().argmax(1, keepdim=True))
    return two * largest.sign()


def _stage(vectors: "Tensor", basis: "Tensor", centre: "Tensor") -> Stage:
    own = vectors - vectors.mean(0)
    shares = (own @ basis.T).square().sum(0) / own.square().sum().clamp_min(1e-12)
    return Stage(((vectors - centre) @ basis.T).tolist(), shares.tolist())
