"""A translation without one of its heads, and how much each head is missed."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Literal

from fastapi import FastAPI

from dhyan.errors import UserError
from dhyan.studio.registry import Shelf
from dhyan.studio.routes.head import HeadQuestion
from dhyan.studio.schemas import Question
from dhyan.studio.tensor_json import plain
from dhyan.studio.traces import traced, translated

if TYPE_CHECKING:
    from dhyan.attention import MultiHeadAttention
    from dhyan.decoding.translator import Translation, Translator

Change = Literal["same", "gone", "new"]


class RoleQuestion(Question):
    """All heads of the attentions of one role."""

    role: Literal["encoder_self", "decoder_self", "cross"] = "encoder_self"


@dataclass(frozen=True)
class Without:
    """What is said without a head, and how likely the words said with it then are.

    `words` are those of both translations in one row, `gone` with the head or `new` without it.
    `chances` are the log-probabilities of the first translation's tokens with every head,
    `missing` those of the same tokens without this one; `score` is the log-probability of the new
    translation without it.
    """

    translation: str
    words: tuple[tuple[str, Change], ...]
    chances: tuple[float, ...]
    missing: tuple[float, ...]
    score: float


def add(app: FastAPI, shelf: Shelf) -> None:
    """What the view `/heads` asks when a head is taken out."""

    @app.post("/api/heads/without")
    def without(asked: HeadQuestion) -> dict[str, Any]:
        places = _places(shelf, asked, asked.role)
        if asked.layer not in places:
            raise UserError(f"layer {asked.layer}: this attention has {len(places)}; count from 1")
        with shelf.book(asked.model).opened() as translator:
            attention = _attention(translator, places[asked.layer])
            if asked.head > attention.heads:
                raise UserError(f"head {asked.head}: a layer has {attention.heads}; count from 1")
            return plain(_without(translator, asked, attention, asked.head - 1))

    @app.post("/api/heads/missed")
    def missed(asked: RoleQuestion) -> dict[str, Any]:
        places = _places(shelf, asked, asked.role)
        with shelf.book(asked.model).opened() as translator:
            return {"changes": _missed(translator, asked, places)}


def _places(shelf: Shelf, asked: Question, role: Any) -> dict[int, str]:
    """The name of every layer's attention of a role."""
    blocks = traced(shelf, asked).of_role(role)
    if not blocks:
        raise UserError("this model has no attention of that role: choose another")
    return {block.layer: block.name for block in blocks}


def _attention(translator: "Translator", where: str) -> "MultiHeadAttention":
    from dhyan.attention import MultiHeadAttention

    found = translator.model.get_submodule(where)
    if not isinstance(found, MultiHeadAttention) or found.heads == 1:
        raise UserError("this attention has one head: without it there is nothing to look with")
    return found


def _without(
    translator: "Translator", asked: Question, attention: "MultiHeadAttention", head: int
) -> Without:
    from dhyan.insight.ablation import without_head

    said = translated(translator, asked)
    chances = _chances(translator, asked.text, said)
    with without_head(attention, head):
        missing = _chances(translator, asked.text, said)
        other = translated(translator, asked)
        score = sum(_chances(translator, asked.text, other))
    words = _compared(said.text.split(), other.text.split())
    return Without(other.text, words, tuple(chances), tuple(missing), score)


def _missed(translator: "Translator", asked: Question, places: dict[int, str]) -> list[list[float]]:
    """By layer and head: the change of the translation's log-probability when the head is off."""
    from dhyan.insight.ablation import without_head

    said = translated(translator, asked)
    whole = sum(_chances(translator, asked.text, said))
    changes = []
    for _, where in sorted(places.items()):
        attention, row = _attention(translator, where), []
        for head in range(attention.heads):
            with without_head(attention, head):
                row.append(sum(_chances(translator, asked.text, said)) - whole)
        changes.append(row)
    return changes


def _chances(translator: "Translator", text: str, said: "Translation") -> list[float]:
    """The log-probability of every token that was said, its end included."""
    import torch

    from dhyan.batch import Batch, Tokens
    from dhyan.decoding.forced_decoding import evaluation_mode
    from dhyan.insight.explain import target_ids

    target = Tokens.pad([target_ids(said)])
    batch = Batch(Tokens.pad([translator.encode(text)]), target).to(translator.device)
    with evaluation_mode(translator.ensemble), torch.inference_mode():
        scores = translator.ensemble(batch).double().log_softmax(-1)
    return scores.gather(-1, batch.labels.ids.unsqueeze(-1)).flatten().tolist()


def _compared(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[str, Change], ...]:
    """Both rows of words in one: what stays, what goes, what comes instead."""
    row: list[tuple[str, Change]] = []
    matches = SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    for kind, first, last, start, stop in matches:
        if kind == "equal":
            row += [(word, "same") for word in before[first:last]]
        else:
            row += [(word, "gone") for word in before[first:last]]
            row += [(word, "new") for word in after[start:stop]]
    return tuple(row)
