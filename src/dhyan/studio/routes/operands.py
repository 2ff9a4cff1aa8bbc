"""HTTP routes that return every tensor of one decoder step, of one attention head, and around them.

Another route computes attention over the matrices of a request, to check the page's arithmetic.
"""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import FastAPI
from pydantic import Field

from dhyan.errors import UserError
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.schemas import Matrix, StrictModel, TranslateRequest, to_json
from dhyan.studio.traces import trace_of, translate

if TYPE_CHECKING:
    from dhyan.attention.attend import AttentionResult
    from dhyan.insight.trace import TracedAttention


class HeadRequest(TranslateRequest):
    """One head of one attention, counted from 1."""

    role: Literal["encoder_self", "decoder_self", "cross"] = "encoder_self"
    layer: Annotated[int, Field(ge=1, le=1000)] = 1
    head: Annotated[int, Field(ge=1, le=1000)] = 1


class AttendRequest(StrictModel):
    """Word vectors as rows of `x`, and the matrices of queries, keys and values.

    `swapped` exchanges queries and keys, which transposes the scores: a mistake to look at.
    """

    x: Matrix
    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix | None = None
    scaled: bool = True
    causal: bool = False
    swapped: bool = False


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add the routes."""

    @app.post("/api/step")
    def step(request: TranslateRequest) -> dict[str, Any]:
        """All decoder steps of a recurrent model at once."""
        from dhyan.insight.decoder_step_operands import decoder_steps, recurrent_decoder

        with registry.get(request.model).translator() as translator:
            recurrent_decoder(translator)
            translation = translate(translator, request)
            steps: dict[str, Any] = to_json(decoder_steps(translator, request.text, translation))
            return steps

    @app.post("/api/head")
    def head(request: HeadRequest) -> dict[str, Any]:
        attentions = trace_of(registry, request).of_role(request.role)
        blocks = [block for block in attentions if block.layer == request.layer]
        if not blocks:
            raise UserError(f"this model has no attention of that role in layer {request.layer}")
        block, count = blocks[0], len(blocks[0].weights)
        if request.head > count:
            raise UserError(f"head {request.head}: {block.name} has {count}; give one from 1 on")
        responses = head_responses(registry, request, block)
        return next(islice(responses, request.head - 1, None))

    @app.post("/api/activations")
    def activations(request: TranslateRequest) -> dict[str, Any]:
        """The activations of all steps, and the texts of the most probable tokens."""
        from dhyan.insight.activations import activations

        with registry.get(request.model).translator() as translator:
            translation = translate(translator, request)
            result = activations(translator, request.text, translation)
            top_ids = result.top_ids.tolist()
            return {
                **to_json(result),
                "top_ids": top_ids,
                "top_texts": [translator.target.pieces(ids) for ids in top_ids],
            }

    @app.post("/api/attend")
    def attend(request: AttendRequest) -> dict[str, Any]:
        result = attend_words(request)
        return {"weights": result.weights.tolist(), "outputs": result.context.tolist()}


def head_responses(
    registry: ModelRegistry, request: TranslateRequest, block: "TracedAttention"
) -> Iterator[dict[str, Any]]:
    """The operands of every head of an attention, each with what joins them all."""
    from dhyan.insight.head_operands import head_operands

    with registry.get(request.model).translator() as translator:
        translation = translate(translator, request)
        heads = [
            head_operands(translator, request.text, translation, block.name, head)
            for head in range(1, len(block.weights) + 1)
        ]
        joined = {
            "contexts": to_json([head.context for head in heads]),
            "output_weights": to_json([head.output_weight for head in heads]),
            "bias": to_json(translator.model.get_parameter(f"{block.name}.output.bias")),
        }
    return ({**to_json(head), **joined} for head in heads)


def attend_words(request: AttendRequest) -> "AttentionResult":
    """Self-attention over the words, in double precision."""
    from dhyan.attention.attend import attend
    from dhyan.insight.parse_matrix import parse_matrix

    x = parse_matrix("x", request.x)
    matrices = {"query": request.query, "key": request.key, "value": request.value}
    width = x.shape[1]
    queries, keys, values = (
        x @ parse_matrix(name, values, rows=width, of="the numbers of a vector")
        for name, values in matrices.items()
    )
    if queries.shape != keys.shape:
        raise UserError(
            f"queries have {queries.shape[1]} numbers and keys {keys.shape[1]}: "
            "query and key must be equally wide"
        )
    if request.swapped:
        queries, keys = keys, queries
    score = "scaled_dot" if request.scaled else "dot"
    result = attend(queries, keys, values, score=score, causal=request.causal)
    if request.output is None:
        return result
    output = parse_matrix(
        "output", request.output, rows=values.shape[1], of="the numbers of a value"
    )
    return result._replace(context=result.context @ output)
