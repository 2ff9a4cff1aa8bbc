"""Studio routes: does the causal mask hide later words, and does padding change the output?"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI
from pydantic import Field

from dhyan.errors import UserError
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.schemas import MAX_TOKENS, TranslateRequest, to_json
from dhyan.studio.traces import translate

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from dhyan.attention_maps import AttentionWeights
    from dhyan.decoding.translator import Translator
    from dhyan.models.seq2seq import Seq2Seq
    from dhyan.text.tokenizer import Tokenizer

ALTERNATIVES = 8  # words suggested for a position


class LeakRequest(TranslateRequest):
    """A token of the translation, counted from 1, and its replacement; empty: the most probable."""

    position: Annotated[int, Field(ge=1, le=4 * MAX_TOKENS)] = 1
    word: Annotated[str, Field(max_length=60)] = ""
    masked: bool = True


@dataclass(frozen=True)
class LeakTest:
    """How the decoder's output changes at every position when one of its input tokens changes.

    `decoder_input` are its input tokens, BOS first; `max_change` is the largest |Δ logit| at each
    of them; `next_tokens` and `changed_next_tokens` are the most probable next tokens before and
    after the change. `weights` are those of decoder self-attention, layer by layer, without the
    change. `has_mask` says whether there is a causal mask to remove.
    """

    decoder_input: tuple[str, ...]
    position: int
    old_token: str
    new_token: str
    masked: bool
    has_mask: bool
    max_change: "Float[Tensor, ' T']"
    next_tokens: tuple[str, ...]
    changed_next_tokens: tuple[str, ...]
    alternatives: tuple[str, ...]
    weights: "tuple[Float[Tensor, 'H T T'], ...]"


@dataclass(frozen=True)
class UnusableWord:
    """A word that cannot be the replacement: `unchanged`, or not a single token of the model.

    `suggestions` are words that can. It is a response, not an error, so that the page explains it
    in its own language.
    """

    word: str
    unchanged: bool
    suggestions: tuple[str, ...]


@dataclass(frozen=True)
class PaddingTest:
    """Two sentences in one batch, the second padded to the length of the first.

    `padding_weight` is the largest attention weight on padding, if there is attention; `max_change`
    the largest |Δ logit| of the second sentence against the same sentence alone.
    """

    tokens: tuple[str, ...]
    padded_tokens: tuple[str, ...]
    padding_weight: float | None
    max_change: float


def add(app: FastAPI, registry: ModelRegistry) -> None:
    """Add the routes."""

    @app.post("/api/leak")
    def leak(request: LeakRequest) -> dict[str, Any]:
        with registry.get(request.model).translator() as translator:
            return to_json(_leak_test(translator, request))

    @app.post("/api/padding")
    def padding(request: TranslateRequest) -> dict[str, Any]:
        with registry.get(request.model).translator() as translator:
            return to_json(_padding_test(translator, request))


def _leak_test(translator: "Translator", request: LeakRequest) -> LeakTest | UnusableWord:
    from dhyan.insight.ablation import multihead_attentions
    from dhyan.insight.explain import target_ids

    source = translator.encode(request.text)
    target = target_ids(translate(translator, request))
    last = len(target) - 2  # BOS is no word, and after the last one nothing is predicted
    if last < 1:
        raise UserError("the translation is too short to change a word: try another sentence")
    position = request.position
    if position > last:
        raise UserError(f"position {position} is none of the {last} words: choose 1 to {last}")
    has_mask = bool(multihead_attentions(translator.model, "decoder_self"))
    if not (request.masked or has_mask):
        raise UserError("this decoder reads word by word and has no mask to remove")
    old, tokenizer = target[position], translator.target
    [logits], _ = _forward(translator, [source], [target])
    by_logit = logits[position - 1].argsort(descending=True).tolist()
    others = (id for id in by_logit if id != old and _is_single_token(tokenizer, id))
    alternatives = list(islice(others, ALTERNATIVES))
    new = _replacement(tokenizer, request.word, old, alternatives)
    if isinstance(new, UnusableWord):
        return new
    changed = [*target[:position], new, *target[position + 1 :]]
    with _causal_mask(translator.model, removed=not request.masked):
        [before], attentions = _forward(translator, [source], [target])
        [after], _ = _forward(translator, [source], [changed])
    return LeakTest(
        decoder_input=tuple(tokenizer.pieces(target[:-1])),
        position=position,
        old_token=tokenizer.pieces([old])[0],
        new_token=tokenizer.pieces([new])[0],
        masked=request.masked,
        has_mask=has_mask,
        max_change=(before - after).abs().amax(-1),
        next_tokens=tuple(tokenizer.pieces(before.argmax(-1).tolist())),
        changed_next_tokens=tuple(tokenizer.pieces(after.argmax(-1).tolist())),
        alternatives=tuple(tokenizer.plain(id) for id in alternatives),
        weights=tuple(
            attention.weights[0].float().cpu()
            for attention in attentions
            if attention.role == "decoder_self"
        ),
    )


def _padding_test(translator: "Translator", request: TranslateRequest) -> PaddingTest:
    """The sentence beside its own first half, and that half alone, with the same target."""
    from dhyan.insight.explain import target_ids
    from dhyan.special_tokens import EOS

    tokenizer = translator.source_tokenizer
    target = target_ids(translate(translator, request))
    full = translator.encode(request.text)
    half = [*full[: (len(full) - 1) // 2], EOS]
    both, attentions = _forward(translator, [full, half], [target, target])
    [alone], _ = _forward(translator, [half], [target])
    weights = [
        float(attention.weights[1, ..., len(half) :].max())
        for attention in attentions
        if attention.role != "decoder_self"
    ]
    text = translator.with_placeholders(request.text)[0]
    tokens = tokenizer.pieces(full, text)
    return PaddingTest(
        tokens=tuple(tokens),
        padded_tokens=(*tokens[: len(half) - 1], *tokenizer.pieces([EOS])),
        padding_weight=max(weights, default=None),
        max_change=float((both[1] - alone).abs().max()),
    )


def _forward(
    translator: "Translator", sources: list[list[int]], targets: list[list[int]]
) -> "tuple[Float[Tensor, 'B T V'], list[AttentionWeights]]":
    """Logits with teacher forcing, and the weights of every attention."""
    import torch

    from dhyan.attention_maps import watch
    from dhyan.batch import Batch, Tokens, pad_source
    from dhyan.decoding.forced_decoding import evaluation_mode

    batch = Batch(pad_source(sources), Tokens.pad(targets)).to(translator.device)
    model = translator.model
    with evaluation_mode(model), torch.inference_mode(), watch(model) as recorder:
        logits = model(batch).float().cpu()
    return logits, recorder.weights()


@contextmanager
def _causal_mask(model: "Seq2Seq", *, removed: bool) -> Iterator[None]:
    """Inside the block, if `removed`, the decoder attends to later positions."""
    from dhyan.insight.ablation import without_causal_mask

    with without_causal_mask(model) if removed else nullcontext():
        yield


def _is_single_token(tokenizer: "Tokenizer", id: int) -> bool:
    """Whether the word of a token is encoded as that token alone."""
    word = tokenizer.plain(id)
    return bool(word) and tokenizer.encode(word, within=True) == [id]


def _replacement(
    tokenizer: "Tokenizer", word: str, old: int, alternatives: list[int]
) -> int | UnusableWord:
    """The token of a word, or the most probable alternative; or why the word is unusable."""
    from dhyan.special_tokens import UNK

    ids = tokenizer.encode(word, within=True) or alternatives[:1]
    probable = tuple(tokenizer.plain(id) for id in alternatives[:3])
    if ids == [old]:
        return UnusableWord(word, unchanged=True, suggestions=probable)
    if len(ids) != 1 or ids[0] == UNK:
        suggestions = tuple(_similar_words(tokenizer, word)) or probable
        return UnusableWord(word, unchanged=False, suggestions=suggestions)
    return ids[0]


def _similar_words(tokenizer: "Tokenizer", word: str) -> list[str]:
    """Words of the vocabulary with a similar spelling."""
    vocabulary = {tokenizer.plain(id): id for id in range(len(tokenizer))}
    similar = get_close_matches(word, vocabulary, n=3, cutoff=0.6)
    return [word for word in similar if _is_single_token(tokenizer, vocabulary[word])]
