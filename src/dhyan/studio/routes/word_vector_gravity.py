"""Word vectors before and after attention, projected to a plane: HTTP route of the studio."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from fastapi import FastAPI

from dhyan.errors import UserError
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.schemas import MAX_TOKENS, Name, StrictModel, Text

if TYPE_CHECKING:
    from torch import Tensor

    from dhyan.decoding.translator import Translator

MIN_WORDS, MAX_WORDS = 3, 30  # three span a plane


class GravityRequest(StrictModel):
    """A sentence for a model's encoder."""

    text: Text
    model: Name = ""


@dataclass(frozen=True)
class Stage:
    """The words' positions on two axes, and the share of variance each axis explains."""

    positions: list[list[float]]
    explained_variance: list[float]


@dataclass(frozen=True)
class Projection:
    """The word vectors of a sentence, from the embeddings on, in a plane.

    `axes` are those of the embeddings for every stage ("shared": the layers of a Transformer add
    to the embeddings), or separate for each stage (recurrent states are in a space of their own).
    `distances` are from each word's first to its last vector, if all are in one space.
    `similarities` are, stage by stage, the cosines of all pairs of words in the full space.
    """

    words: list[str]
    axes: Literal["shared", "separate"]
    width: int
    stages: list[Stage]
    distances: list[float]
    similarities: list[list[list[float]]]


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add the route."""

    @app.post("/api/gravity")
    def gravity(request: GravityRequest) -> dict[str, Any]:
        with registry.get(request.model).translator() as translator:
            return asdict(project_words(translator, request.text))


def project_words(translator: "Translator", text: str) -> Projection:
    """Every word's embedding, and its vector after each encoder layer, by their principal axes."""
    import torch

    from dhyan.special_tokens import EOS

    tokenizer, ids = translator.source_tokenizer, translator.encode(text)
    if len(ids) - 1 > MAX_TOKENS:
        raise UserError(f"{len(ids) - 1} tokens; the page takes at most {MAX_TOKENS}")
    words = [word for word in tokenizer.words(ids, text) if ids[word.first] != EOS]
    if not MIN_WORDS <= len(words) <= MAX_WORDS:
        raise UserError(f"{len(words)} words; a plane takes from {MIN_WORDS} to {MAX_WORDS}")
    stages, shared = _vectors(translator, ids)
    spans = [(word.first, word.last) for word in words]
    vectors = [torch.stack([stage[a:b].mean(0) for a, b in spans]) for stage in stages]
    projected = []
    for stage in vectors:
        origin = vectors[0] if shared else stage
        projected.append(_stage(stage, _axes(origin), origin.mean(0)))
    distances = (vectors[-1] - vectors[0]).norm(dim=1).tolist() if shared else []
    axes: Literal["shared", "separate"] = "shared" if shared else "separate"
    texts = [word.text for word in words]
    similarities = [_cosines(stage).tolist() for stage in vectors]
    return Projection(texts, axes, vectors[0].shape[1], projected, distances, similarities)


def _vectors(translator: "Translator", ids: list[int]) -> tuple[list["Tensor"], bool]:
    """The tokens' vectors at each stage, and whether all stages are in one space.

    A Transformer's are its residual stream: the scaled embedding without its position, then what
    stands after each layer, before the last normalisation.
    """
    import torch

    from dhyan.batch import Tokens
    from dhyan.decoding.forced_decoding import evaluation_mode
    from dhyan.models.transformer import TransformerEncoder

    encoder = translator.model.encoder
    source = Tokens.pad([ids]).to(translator.device)
    layer_outputs: list[Tensor] = []
    hooks = []
    shared = isinstance(encoder, TransformerEncoder)
    if isinstance(encoder, TransformerEncoder):
        hooks = [
            layer.register_forward_hook(lambda module, inputs, output: layer_outputs.append(output))
            for layer in encoder.layers
        ]
    try:
        with evaluation_mode(translator.model), torch.inference_mode():
            embedded = encoder.token_embedding(source.ids)
            states = encoder(source).states
    finally:
        for hook in hooks:
            hook.remove()
    scale = encoder.embedding.scale if isinstance(encoder, TransformerEncoder) else 1.0
    stages = [embedded * scale, *(layer_outputs if shared else [states])]
    return [stage[0].double().cpu() for stage in stages], shared


def _cosines(vectors: "Tensor") -> "Tensor":
    """The cosine of every pair of vectors, less their mean, which all of them share."""
    centred = vectors - vectors.mean(0)
    unit = centred / centred.norm(dim=1, keepdim=True).clamp_min(1e-12)
    return unit @ unit.T


def _axes(vectors: "Tensor") -> "Tensor":
    """The first two principal axes; each points to its largest coordinate, so signs are fixed."""
    import torch

    centred = vectors - vectors.mean(0)
    _, singular_values, axes = torch.linalg.svd(centred, full_matrices=False)
    if len(axes) < 2 or singular_values[1] < 1e-9:
        raise UserError("these words do not span a plane: write at least three that differ")
    two = axes[:2]
    largest = two.gather(1, two.abs().argmax(1, keepdim=True))
    return two * largest.sign()


def _stage(vectors: "Tensor", basis: "Tensor", centre: "Tensor") -> Stage:
    centred = vectors - vectors.mean(0)
    shares = (centred @ basis.T).square().sum(0) / centred.square().sum().clamp_min(1e-12)
    return Stage(((vectors - centre) @ basis.T).tolist(), shares.tolist())
