"""What changes before a word when that word is another: with the mask, and without it."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI
from pydantic import Field

from dhyan.errors import UserError
from dhyan.studio.registry import Shelf
from dhyan.studio.schemas import MOST_TOKENS, Question
from dhyan.studio.tensor_json import plain
from dhyan.studio.traces import translated

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from dhyan.attention_maps import AttentionWeights
    from dhyan.decoding.translator import Translator
    from dhyan.models.seq2seq import Seq2Seq
    from dhyan.text.tokenizer import Tokenizer

CHOICES = 8  # words offered for a place


class LeakQuestion(Question):
    """A word of the translation, counted from 1, to be another; the likeliest other if none."""

    place: Annotated[int, Field(ge=1, le=4 * MOST_TOKENS)] = 1
    word: Annotated[str, Field(max_length=60)] = ""
    masked: bool = True


@dataclass(frozen=True)
class Leak:
    """How far the decoder's output moves at each place when it is told another word at one.

    `told` are the words it is told, the beginning first; `moved` is the largest |Δ| of the scores
    of all words after each of them; `said` and `then` are the likeliest next words before and
    after the change. `weights` are those of the decoder's self-attention, layer by layer, without
    the change. `switch` tells whether there is a mask to take off.
    """

    told: tuple[str, ...]
    place: int
    was: str
    now: str
    masked: bool
    switch: bool
    moved: "Float[Tensor, ' T']"
    said: tuple[str, ...]
    then: tuple[str, ...]
    choices: tuple[str, ...]
    weights: "tuple[Float[Tensor, 'H T T'], ...]"


@dataclass(frozen=True)
class Refused:
    """A word that cannot be told: it stands `there` already, or the model has no such single word.

    `near` are words that can. It is an answer, not a fault, so that the page says it in words of
    its own language.
    """

    word: str
    there: bool
    near: tuple[str, ...]


@dataclass(frozen=True)
class Padding:
    """Two sentences in one batch, the second padded to the length of the first.

    `weight` is the most any attention gives to padding; `moved` the largest |Δ| of the second
    sentence's output when it is alone.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    weight: float
    moved: float


def add(app: FastAPI, shelf: Shelf) -> None:
    """The leak test of the view `/mask`, and its padding."""

    @app.post("/api/leak")
    def leak(asked: LeakQuestion) -> dict[str, Any]:
        with shelf.book(asked.model).opened() as translator:
            return plain(_leak(translator, asked))

    @app.post("/api/padding")
    def padding(asked: Question) -> dict[str, Any]:
        with shelf.book(asked.model).opened() as translator:
            return plain(_padding(translator, asked))


def _leak(translator: "Translator", asked: LeakQuestion) -> Leak | Refused:
    from dhyan.insight.ablation import multihead_attentions
    from dhyan.insight.explain import target_ids

    source = translator.encode(asked.text)
    before = target_ids(translated(translator, asked))
    last = len(before) - 2  # the beginning is no word, and after the last one nothing is said
    if last < 1:
        raise UserError("too little was said to change a word of it: try another sentence")
    if asked.place > last:
        raise UserError(f"place {asked.place} is none of the {last} words: choose 1 to {last}")
    switch = bool(multihead_attentions(translator.model, "decoder_self"))
    if not (asked.masked or switch):
        raise UserError("this decoder reads word by word and has no mask to take off")
    old, tokenizer = before[asked.place], translator.target
    [usual], _ = _answered(translator, [source], [before])
    likely = usual[asked.place - 1].argsort(descending=True).tolist()
    others = (id for id in likely if id != old and _whole(tokenizer, id))
    choices = list(islice(others, CHOICES))
    new = _chosen(tokenizer, asked.word, old, choices)
    if isinstance(new, Refused):
        return new
    after = [*before[: asked.place], new, *before[asked.place + 1 :]]
    with _unmasked(translator.model, off=not asked.masked):
        [first], looks = _answered(translator, [source], [before])
        [second], _ = _answered(translator, [source], [after])
    return Leak(
        told=tuple(tokenizer.pieces(before[:-1])),
        place=asked.place,
        was=tokenizer.pieces([old])[0],
        now=tokenizer.pieces([new])[0],
        masked=asked.masked,
        switch=switch,
        moved=(first - second).abs().amax(-1),
        said=tuple(tokenizer.pieces(first.argmax(-1).tolist())),
        then=tuple(tokenizer.pieces(second.argmax(-1).tolist())),
        choices=tuple(tokenizer.plain(id) for id in choices),
        weights=tuple(own.weights[0].float().cpu() for own in looks if own.role == "decoder_self"),
    )


def _padding(translator: "Translator", asked: Question) -> Padding:
    """The sentence beside its own first half, and that half alone; the same words told to both."""
    from dhyan.insight.explain import target_ids
    from dhyan.special_tokens import EOS

    target = target_ids(translated(translator, asked))
    full = translator.encode(asked.text)
    half = [*full[: (len(full) - 1) // 2], EOS]
    both, looks = _answered(translator, [full, half], [target, target])
    [alone], _ = _answered(translator, [half], [target])
    weights = [
        float(own.weights[1, ..., len(half) :].max()) for own in looks if own.role != "decoder_self"
    ]
    text, read = translator.with_placeholders(asked.text)[0], translator.source
    return Padding(
        first=tuple(read.pieces(full, text)),
        second=(*read.pieces(full, text)[: len(half) - 1], *read.pieces([EOS])),
        weight=max(weights),
        moved=float((both[1] - alone).abs().max()),
    )


def _answered(
    translator: "Translator", sources: list[list[int]], targets: list[list[int]]
) -> "tuple[Float[Tensor, 'B T V'], list[AttentionWeights]]":
    """The scores of all words after each one told, and the weights of every attention."""
    import torch

    from dhyan.attention_maps import watch
    from dhyan.batch import Batch, Tokens
    from dhyan.decoding.forced_decoding import evaluation_mode

    batch = Batch(Tokens.pad(sources), Tokens.pad(targets)).to(translator.device)
    model = translator.model
    with evaluation_mode(model), torch.inference_mode(), watch(model) as recorder:
        scores = model(batch).float().cpu()
    return scores, recorder.weights()


@contextmanager
def _unmasked(model: "Seq2Seq", *, off: bool) -> Iterator[None]:
    """Inside the block, if `off`, the decoder attends to later positions."""
    from dhyan.insight.ablation import without_causal_mask

    with without_causal_mask(model) if off else nullcontext():
        yield


def _whole(tokenizer: "Tokenizer", id: int) -> bool:
    """Whether an id can be asked for by its word."""
    word = tokenizer.plain(id)
    return bool(word) and tokenizer.encode(word) == [id]


def _chosen(tokenizer: "Tokenizer", word: str, old: int, choices: list[int]) -> int | Refused:
    """The id of a word, or of the likeliest other; or why it cannot be told."""
    from dhyan.special_tokens import UNK

    ids = tokenizer.encode(word) or choices[:1]
    if ids == [old]:
        return Refused(word, there=True, near=tuple(tokenizer.plain(id) for id in choices[:3]))
    if len(ids) != 1 or ids[0] == UNK:
        near = _near(tokenizer, word) or [tokenizer.plain(id) for id in choices[:3]]
        return Refused(word, there=False, near=tuple(near))
    return ids[0]


def _near(tokenizer: "Tokenizer", word: str) -> list[str]:
    """Words of the vocabulary that are written much the same."""
    known = {tokenizer.plain(id): id for id in range(len(tokenizer))}
    near = get_close_matches(word, known, n=3, cutoff=0.6)
    return [one for one in near if _whole(tokenizer, known[one])]
