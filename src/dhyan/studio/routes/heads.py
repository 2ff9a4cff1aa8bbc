"""Attention heads: HTTP routes of the studio for ablating one head and the importance of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Literal

from fastapi import FastAPI

from dhyan.errors import UserError
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.request_job import check
from dhyan.studio.routes.operands import HeadRequest
from dhyan.studio.schemas import TranslateRequest, to_json
from dhyan.studio.traces import trace_of, translate

if TYPE_CHECKING:
    from dhyan.attention import MultiHeadAttention
    from dhyan.decoding.translator import Translation, Translator

Change = Literal["same", "removed", "added"]


class RoleRequest(TranslateRequest):
    """All heads of the attentions of one role."""

    role: Literal["encoder_self", "decoder_self", "cross"] = "encoder_self"


@dataclass(frozen=True)
class Ablation:
    """A translation without one head, compared with the translation with all heads.

    `words` are those of both translations in one sequence. `logprobs` are the log-probabilities of
    the original translation's tokens with all heads, `ablated_logprobs` those without the head;
    `score` is the log-probability of the new translation without it.
    """

    translation: str
    words: tuple[tuple[str, Change], ...]
    logprobs: tuple[float, ...]
    ablated_logprobs: tuple[float, ...]
    score: float


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add the routes."""

    @app.post("/api/heads/ablation")
    def ablation(request: HeadRequest) -> dict[str, Any]:
        names = _attention_names(registry, request, request.role)
        if request.layer not in names:
            raise UserError(f"layer {request.layer}: this attention has {len(names)}; count from 1")
        with registry.get(request.model).translator() as translator:
            attention = _attention(translator, names[request.layer])
            if request.head > attention.heads:
                raise UserError(f"head {request.head}: a layer has {attention.heads}; count from 1")
            return to_json(_ablate(translator, request, attention, request.head - 1))

    @app.post("/api/heads/importance")
    def importance(request: RoleRequest) -> dict[str, Any]:
        names = _attention_names(registry, request, request.role)
        with registry.get(request.model).translator() as translator:
            return {"logprob_changes": _importance(translator, request, names)}


def _attention_names(
    registry: ModelRegistry, request: TranslateRequest, role: Any
) -> dict[int, str]:
    """The module name of every layer's attention of a role."""
    blocks = trace_of(registry, request).of_role(role)
    if not blocks:
        raise UserError("this model has no attention of that role: choose another")
    return {block.layer: block.name for block in blocks}


def _attention(translator: "Translator", name: str) -> "MultiHeadAttention":
    from dhyan.attention import MultiHeadAttention

    attention = translator.model.get_submodule(name)
    if not isinstance(attention, MultiHeadAttention) or attention.heads == 1:
        raise UserError("this attention has one head, which cannot be removed")
    return attention


def _ablate(
    translator: "Translator", request: TranslateRequest, attention: "MultiHeadAttention", head: int
) -> Ablation:
    from dhyan.insight.ablation import without_head

    original = translate(translator, request)
    logprobs = _logprobs(translator, request.text, original)
    with without_head(attention, head):
        ablated_logprobs = _logprobs(translator, request.text, original)
        ablated = translate(translator, request)
        score = sum(_logprobs(translator, request.text, ablated))
    words = _compare_words(original.text.split(), ablated.text.split())
    return Ablation(ablated.text, words, tuple(logprobs), tuple(ablated_logprobs), score)


def _importance(
    translator: "Translator", request: TranslateRequest, names: dict[int, str]
) -> list[list[float]]:
    """By layer and head: the change of the translation's log-probability without the head."""
    from dhyan.insight.ablation import without_head

    translation = translate(translator, request)
    total = sum(_logprobs(translator, request.text, translation))
    changes = []
    for _, name in sorted(names.items()):
        attention, row = _attention(translator, name), []
        for head in range(attention.heads):
            with without_head(attention, head):
                row.append(sum(_logprobs(translator, request.text, translation)) - total)
        changes.append(row)
    return changes


def _logprobs(translator: "Translator", text: str, translation: "Translation") -> list[float]:
    """The log-probability of every token of a translation, EOS included."""
    import torch

    from dhyan.batch import Batch, Tokens, pad_source
    from dhyan.decoding.forced_decoding import evaluation_mode
    from dhyan.insight.explain import target_ids

    check()
    target = Tokens.pad([target_ids(translation)])
    batch = Batch(pad_source([translator.encode(text)]), target).to(translator.device)
    with evaluation_mode(translator.ensemble), torch.inference_mode():
        logprobs = translator.ensemble(batch).double().log_softmax(-1)
    return logprobs.gather(-1, batch.labels.ids.unsqueeze(-1)).flatten().tolist()


def _compare_words(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[str, Change], ...]:
    """A word diff of two translations."""
    words: list[tuple[str, Change]] = []
    operations = SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    for operation, first, last, start, stop in operations:
        if operation == "equal":
            words += [(word, "same") for word in before[first:last]]
        else:
            words += [(word, "removed") for word in before[first:last]]
            words += [(word, "added") for word in after[start:stop]]
    return tuple(words)
