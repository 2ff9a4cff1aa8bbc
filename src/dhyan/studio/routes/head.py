"""One head of a Transformer with every operand of it, and attention over matrices of one's own."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import FastAPI
from pydantic import Field

from dhyan.errors import UserError
from dhyan.studio.registry import Shelf
from dhyan.studio.schemas import Body, Matrix, Question
from dhyan.studio.traces import traced, translated

if TYPE_CHECKING:
    from dhyan.attention.attend import AttentionResult


class HeadQuestion(Question):
    """One head of one attention, counted from 1."""

    role: Literal["encoder_self", "decoder_self", "cross"] = "encoder_self"
    layer: Annotated[int, Field(ge=1, le=1000)] = 1
    head: Annotated[int, Field(ge=1, le=1000)] = 1


class AttendQuestion(Body):
    """Words as rows of `x`, and what makes queries, keys and values of them.

    `swapped` asks with the keys and is asked by the queries, which turns the scores over: the
    mistake to be seen.
    """

    x: Matrix
    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix | None = None
    scaled: bool = True
    causal: bool = False
    swapped: bool = False


def add(app: FastAPI, shelf: Shelf) -> None:
    """The head and the toy of the view `/qkv`."""

    @app.post("/api/head")
    def head(asked: HeadQuestion) -> dict[str, Any]:
        from dhyan.insight.head_operands import head_operands
        from dhyan.studio.tensor_json import plain

        found = traced(shelf, asked).of_role(asked.role)
        blocks = [block for block in found if block.layer == asked.layer]
        if not blocks:
            raise UserError(f"this model has no attention of that role in layer {asked.layer}")
        name, heads = blocks[0].name, len(blocks[0].weights)
        with shelf.book(asked.model).opened() as translator:
            said = translated(translator, asked)
            own = head_operands(translator, asked.text, said, name, asked.head)
            every = [
                own
                if head == asked.head
                else head_operands(translator, asked.text, said, name, head)
                for head in range(1, heads + 1)
            ]
            bias = translator.model.get_parameter(f"{name}.output.bias")
            return {
                **plain(own),
                "contexts": plain([one.context for one in every]),
                "output_weights": plain([one.output_weight for one in every]),
                "bias": plain(bias),
            }

    @app.post("/api/attend")
    def attended(asked: AttendQuestion) -> dict[str, Any]:
        found = attend_words(asked)
        return {"weights": found.weights.tolist(), "outputs": found.context.tolist()}


def attend_words(asked: AttendQuestion) -> "AttentionResult":
    """The weights between the words and what each becomes, in double precision."""
    from dhyan.attention.attend import attend
    from dhyan.insight.parse_matrix import parse_matrix

    x = parse_matrix("x", asked.x)
    maps = {"query": asked.query, "key": asked.key, "value": asked.value}
    width = x.shape[1]
    queries, keys, values = (
        x @ parse_matrix(name, one, rows=width, of="the numbers of a vector")
        for name, one in maps.items()
    )
    if queries.shape != keys.shape:
        raise UserError(
            f"queries have {queries.shape[1]} numbers and keys {keys.shape[1]}: "
            "query and key must be equally wide"
        )
    if asked.swapped:
        queries, keys = keys, queries
    score = "scaled_dot" if asked.scaled else "dot"
    found = attend(queries, keys, values, score=score, causal=asked.causal)
    if asked.output is None:
        return found
    last = parse_matrix("output", asked.output, rows=values.shape[1], of="the numbers of a value")
    return found._replace(context=found.context @ last)
