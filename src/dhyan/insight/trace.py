"""All that is to be seen of one translation, as one value: kept, sent, replayed and drawn.

A trace holds every word read and said, how likely each was and what else might have been said, and
the weights of every attention. Written as JSON it is the one form that page, notebook and command
line share.
"""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.attention_maps import AttentionMap, watch
from dhyan.batch import Batch, Tokens
from dhyan.decoding.forced_decoding import attends_to_source, evaluation_mode
from dhyan.decoding.translator import Translation, Translator
from dhyan.errors import UserError
from dhyan.insight.explain import Labels, told_and_said
from dhyan.special_tokens import NAMES
from dhyan.text.placeholders import restore
from dhyan.text.tokenizer import Tokenizer

SCHEMA = "dhyan-trace/1"
SIDES = ("source", "told", "target")
LIKELIEST = 5  # words told at every step
Kind = Literal["encoder", "decoder", "source"]
"""Who looks at what: the source at itself, the translation at itself, or at the source."""


@dataclass(frozen=True)
class Token:
    """A piece of a sentence, and which of its words it belongs to."""

    text: str
    id: int
    word: int
    special: bool


@dataclass(frozen=True)
class Side:
    """A sentence as the model has it: its tokens, and the words they make."""

    tokens: tuple[Token, ...]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """How likely a token was, and the likeliest of all, best first."""

    chance: float
    likeliest: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Block:
    """The weights of one attention: heads, who asks, who is seen."""

    where: str
    kind: Kind
    layer: int
    weights: Float[Tensor, "H R C"]


@dataclass(frozen=True)
class Trace:
    """One sentence from reading to saying: `told` is what the decoder was given at each step."""

    model: str
    text: str
    translation: str
    finished: bool
    source: Side
    told: Side
    target: Side
    steps: tuple[Step, ...]
    attention: tuple[Block, ...]
    score: float

    def to_json(self) -> str:
        """Everything, the weights as bytes of 32-bit floats."""
        parts = {one.name: getattr(self, one.name) for one in fields(self)}
        parts |= {name: asdict(parts[name]) for name in SIDES}
        parts["steps"] = [asdict(step) for step in self.steps]
        parts["attention"] = [_block_to_plain(block) for block in self.attention]
        return json.dumps({"schema": SCHEMA, **parts}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Trace":
        """Take up what `to_json` wrote."""
        try:
            parts = json.loads(text)
        except ValueError as error:
            raise UserError(f"not a trace: this is not JSON ({error})") from None
        found = parts.pop("schema", None) if isinstance(parts, dict) else None
        if found != SCHEMA:
            raise UserError(f"not a trace: its schema is {found!r}, not {SCHEMA!r}")
        try:
            return _trace(parts)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise UserError(f"a trace that is not whole: {type(error).__name__} {error}") from None

    def of_kind(self, kind: Kind) -> tuple[Block, ...]:
        """The attentions of a kind, first layer first."""
        return tuple(block for block in self.attention if block.kind == kind)

    def sides(self, kind: Kind) -> tuple[Side, Side]:
        """Who asks in attentions of a kind, and who is seen."""
        match kind:
            case "encoder":
                return self.source, self.source
            case "decoder":
                return self.told, self.told
            case _:
                return self.target, self.source

    def map(self, block: Block, *, words: bool = True) -> AttentionMap:
        """One of its attentions as figures draw it, merged to words as `explain` does."""
        rows, columns = (_labels(side, words=words) for side in self.sides(block.kind))
        merged = columns.gather(rows.gather(block.weights, -2, mean=True), -1)
        return AttentionMap(block.where, columns.texts, rows.texts, merged)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: the last attention to the source, as `dhyan show` draws it."""
        from dhyan.insight.heatmap import draw_bytes, heatmap

        shown = {"text/plain": f"{self.text} → {self.translation}"}
        if blocks := self.of_kind("source"):
            figure = heatmap(self.map(blocks[-1]))
            shown["image/png"] = base64.b64encode(draw_bytes(figure, "png")).decode()
            shown["image/svg+xml"] = draw_bytes(figure, "svg").decode()
        return shown


def trace(translator: Translator, text: str, *, model: str = "", beam: int | None = None) -> Trace:
    """Translate a sentence and tell everything."""
    [translation] = translator(text, beam=beam, nbest=1)
    return trace_translation(translator, text, translation, model=model)


def trace_translation(
    translator: Translator, text: str, translation: Translation, *, model: str = ""
) -> Trace:
    """The trace of a translation already made, by a second pass over all its words at once."""
    masked, kept = translator.with_placeholders(text)
    source, target = translator.encode(text), told_and_said(translation)
    batch = Batch(Tokens.pad([source]), Tokens.pad([target])).to(translator.device)
    voice = translator.ensemble
    with evaluation_mode(voice), torch.inference_mode(), watch(voice) as sightings:
        chances = voice(batch)[0].float().log_softmax(-1).cpu()
    pieces = [_Pieces(translator.target, kept), _Pieces(translator.source, kept, masked)]
    said = target[1:]
    return Trace(
        model=model,
        text=text,
        translation=translation.text,
        finished=translation.finished,
        source=pieces[1].side(source),
        told=pieces[0].side(target[:-1]),
        target=pieces[0].side(said),
        steps=tuple(
            _step(row, id, translator.target) for row, id in zip(chances, said, strict=True)
        ),
        attention=tuple(
            Block(where, _kind(where), _layer(where), weights[0].float().cpu())
            for where, weights in sightings.weights().items()
        ),
        score=translation.score,
    )


@dataclass(frozen=True)
class _Pieces:
    """How a side's ids are written."""

    tokenizer: Tokenizer
    kept: Sequence[str]
    text: str = ""

    def side(self, ids: Sequence[int]) -> Side:
        """Tokens and words; what passed the model by stands where its sign was."""
        words = self.tokenizer.words(ids, self.text)
        owner = [number for number, one in enumerate(words) for _ in range(one.first, one.last)]
        labels = self.tokenizer.pieces(ids, self.text)
        tokens = (
            Token(self._shown(label), id, word, id < len(NAMES))
            for label, id, word in zip(labels, ids, owner, strict=True)
        )
        return Side(tuple(tokens), tuple(self._shown(one.text) for one in words))

    def _shown(self, label: str) -> str:
        return restore(label, self.kept)[0] if self.kept else label


def _step(chances: Float[Tensor, " V"], id: int, tokenizer: Tokenizer) -> Step:
    best = chances.topk(min(LIKELIEST, len(chances)))
    labels = tokenizer.pieces(best.indices.tolist())
    shares = best.values.exp().tolist()
    return Step(float(chances[id]), tuple(zip(labels, shares, strict=True)))


def _kind(where: str) -> Kind:
    if "encoder" in where.split("."):
        return "encoder"
    return "source" if attends_to_source(where) else "decoder"


def _layer(where: str) -> int:
    """Counted from 1; a model with a single one has no number in its name."""
    found = re.search(r"layers\.(\d+)", where)
    return 1 + int(found[1]) if found else 1


def _block_to_plain(block: Block) -> dict[str, Any]:
    numbers = block.weights.detach().float().contiguous().numpy().astype("<f4")
    return {
        "where": block.where,
        "kind": block.kind,
        "layer": block.layer,
        "shape": list(block.weights.shape),
        "data": base64.b64encode(numbers.tobytes()).decode(),
    }


def _trace(parts: dict[str, Any]) -> Trace:
    sides = {name: _side(parts[name]) for name in SIDES}
    steps = tuple(
        Step(one["chance"], tuple((word, share) for word, share in one["likeliest"]))
        for one in parts["steps"]
    )
    attention = tuple(_block(one) for one in parts["attention"])
    found = Trace(**{**parts, **sides, "steps": steps, "attention": attention})
    for block in attention:
        rows, columns = found.sides(block.kind)
        if block.weights.shape[1:] != (len(rows.tokens), len(columns.tokens)):
            raise ValueError(f"{block.where} has weights for other words")
    return found


def _labels(side: Side, *, words: bool) -> Labels:
    """The words of a side, or its single tokens, each with the tokens it covers."""
    if not words:
        count = len(side.tokens)
        return Labels(
            tuple(one.text for one in side.tokens), tuple((at, at + 1) for at in range(count))
        )
    owners = [one.word for one in side.tokens]
    firsts = [owners.index(number) for number in range(len(side.words))]
    return Labels(side.words, tuple(zip(firsts, [*firsts[1:], len(owners)], strict=True)))


def _side(parts: dict[str, Any]) -> Side:
    return Side(tuple(Token(**one) for one in parts["tokens"]), tuple(parts["words"]))


def _block(parts: dict[str, Any]) -> Block:
    raw = bytearray(base64.b64decode(parts["data"], validate=True))
    weights = torch.frombuffer(raw, dtype=torch.float32).reshape(parts["shape"])
    return Block(parts["where"], parts["kind"], parts["layer"], weights)
