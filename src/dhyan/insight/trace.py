"""Trace of a translation: tokens, probabilities, alternatives and the weights of every attention.

As JSON it is the form that the studio's page, notebooks and the command line share.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.attention_maps import AttentionMap, AttentionRole, watch
from dhyan.batch import Batch, Tokens, pad_source
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translation, Translator
from dhyan.errors import UserError
from dhyan.insight.explain import Labels, target_ids
from dhyan.insight.traced_media import TracedPicture, TracedSound, source_name, traced_picture
from dhyan.special_tokens import NAMES
from dhyan.text.codec import SourceCodec, SourceSequence, pieces_of, words_of
from dhyan.text.placeholders import restore
from dhyan.text.tokenizer import Tokenizer

SCHEMA = "dhyan-trace/2"
SIDES = ("source", "decoder_input", "target")
NO_ID = -1  # of a frame
TOP_TOKENS = 5  # alternatives recorded at every step


@dataclass(frozen=True)
class Token:
    """A token, and the index of the word it belongs to."""

    text: str
    id: int
    word: int
    special: bool


@dataclass(frozen=True)
class Side:
    """One sentence: its tokens, and the words they form."""

    tokens: tuple[Token, ...]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A decoding step: the token's log-probability, and the most probable tokens, best first."""

    logprob: float
    top_tokens: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class TracedAttention:
    """One attention's weights over the tokens: heads, rows that attend, columns attended to."""

    name: str
    role: AttentionRole
    layer: int
    weights: Float[Tensor, "H R C"]


@dataclass(frozen=True)
class Trace:
    """One translated sentence; `decoder_input` is the target shifted right, from BOS on.

    `unknown_words` of the sentence are not in the vocabulary, or were never seen in training.
    `figure` is how its task draws it. A source that is a picture is in `picture`, and `text` is its
    path or a name; an output that is a sound is in `sound`.
    """

    model: str
    text: str
    translation: str
    finished: bool
    source: Side
    decoder_input: Side
    target: Side
    steps: tuple[Step, ...]
    attention: tuple[TracedAttention, ...]
    score: float
    unknown_words: tuple[str, ...] = ()
    task: str = "translate"
    figure: str = "heatmap"
    picture: TracedPicture | None = None
    sound: TracedSound | None = None

    def to_json(self) -> str:
        """The trace as JSON, weights as base64 of 32-bit floats."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        parts |= {name: asdict(parts[name]) for name in SIDES}
        parts["steps"] = [asdict(step) for step in self.steps]
        parts["attention"] = [_attention_to_json(attention) for attention in self.attention]
        parts["picture"] = asdict(self.picture) if self.picture else None
        parts["sound"] = asdict(self.sound) if self.sound else None
        return json.dumps({"schema": SCHEMA, **parts}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Trace":
        """A trace from the JSON of `to_json`."""
        try:
            parts = json.loads(text)
        except ValueError as error:
            raise UserError(f"not a trace: this is not JSON ({error})") from None
        schema = parts.pop("schema", None) if isinstance(parts, dict) else None
        if schema != SCHEMA:
            raise UserError(f"not a trace: its schema is {schema!r}, not {SCHEMA!r}")
        try:
            return _trace_from_json(parts)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise UserError(f"incomplete trace: {type(error).__name__} {error}") from None

    def of_role(self, role: AttentionRole) -> tuple[TracedAttention, ...]:
        """The attentions of a role, first layer first."""
        return tuple(attention for attention in self.attention if attention.role == role)

    def sides(self, role: AttentionRole) -> tuple[Side, Side]:
        """The sentence of the rows and that of the columns, in attentions of a role."""
        match role:
            case "encoder_self":
                return self.source, self.source
            case "decoder_self":
                return self.decoder_input, self.decoder_input
            case "cross":
                return self.target, self.source

    def map(self, attention: TracedAttention, *, words: bool = True) -> AttentionMap:
        """One of its attentions as figures draw it, merged to words as `explain` does."""
        rows, columns = (_labels(side, words=words) for side in self.sides(attention.role))
        weights = columns.gather(rows.gather(attention.weights, -2, mean=True), -1)
        return AttentionMap(
            attention.name,
            attention.role,
            attention.layer,
            source=columns.texts,
            target=rows.texts,
            weights=weights,
        )

    def cross_weights(self, *, words: bool = True) -> AttentionMap | None:
        """The last cross-attention, the mean of its heads; None without attention."""
        attentions = self.of_role("cross")
        if not attentions:
            return None
        attention = self.map(attentions[-1], words=words)
        return replace(attention, weights=attention.weights.mean(0, keepdim=True))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Notebook display: the last cross-attention, as `dhyan show` draws it."""
        from dhyan.insight.heatmap import draw_bytes, heatmap

        bundle = {"text/plain": f"{self.text} → {self.translation}"}
        if attentions := self.of_role("cross"):
            figure = heatmap(self.map(attentions[-1]))
            bundle["image/png"] = base64.b64encode(draw_bytes(figure, "png")).decode()
            bundle["image/svg+xml"] = draw_bytes(figure, "svg").decode()
        return bundle


def trace(translator: Translator, text: str, *, model: str = "", beam: int | None = None) -> Trace:
    """Translate a sentence and return its trace."""
    [translation] = translator(text, beam=beam, nbest=1)
    return trace_translation(translator, text, translation, model=model)


def trace_translation(
    translator: Translator,
    text: str,
    translation: Translation,
    *,
    model: str = "",
    figure: str = "heatmap",
    sound: TracedSound | None = None,
) -> Trace:
    """The trace of a finished translation, by a second pass over all its tokens at once."""
    masked, placeholders = translator.with_placeholders(text)
    source, target = translator.encode(text), target_ids(translation)
    batch = Batch(pad_source([source]), Tokens.pad([target])).to(translator.device)
    network = translator.ensemble
    with evaluation_mode(network), torch.inference_mode(), watch(network) as recorder:
        logprobs = network(batch)[0].float().log_softmax(-1).cpu()
    source_labels = _SideLabels(translator.source, placeholders, masked)
    target_labels = _SideLabels(translator.target, placeholders)
    outputs = target[1:]
    return Trace(
        model=model,
        text=source_name(text),
        translation=translation.text,
        finished=translation.finished,
        source=source_labels.side(source),
        decoder_input=target_labels.side(target[:-1]),
        target=target_labels.side(outputs),
        steps=tuple(
            _step(row, id, translator.target) for row, id in zip(logprobs, outputs, strict=True)
        ),
        attention=tuple(
            TracedAttention(
                attention.name, attention.role, attention.layer, attention.weights[0].float().cpu()
            )
            for attention in recorder.weights()
        ),
        score=translation.score,
        unknown_words=translation.unknown_words,
        task=translator.task,
        figure=figure,
        picture=traced_picture(translator.source, text),
        sound=sound,
    )


@dataclass(frozen=True)
class _SideLabels:
    """Turns token ids of one side into tokens and words with their text."""

    codec: SourceCodec
    placeholders: Sequence[str]
    text: str = ""

    def side(self, ids: SourceSequence) -> Side:
        """Tokens and words, with the original text in place of placeholders."""
        words = words_of(self.codec, ids, self.text)
        owners = [index for index, word in enumerate(words) for _ in range(word.first, word.last)]
        labels = pieces_of(self.codec, ids, self.text)
        numbers = [NO_ID] * len(ids) if isinstance(ids, np.ndarray) else ids
        tokens = (
            Token(self._restore(label), id, word, NO_ID < id < len(NAMES))
            for label, id, word in zip(labels, numbers, owners, strict=True)
        )
        return Side(tuple(tokens), tuple(self._restore(word.text) for word in words))

    def _restore(self, label: str) -> str:
        return restore(label, self.placeholders)[0] if self.placeholders else label


def _step(logprobs: Float[Tensor, " V"], id: int, tokenizer: Tokenizer) -> Step:
    top = logprobs.topk(min(TOP_TOKENS, len(logprobs)))
    labels = tokenizer.pieces(top.indices.tolist())
    probs = top.values.exp().tolist()
    return Step(float(logprobs[id]), tuple(zip(labels, probs, strict=True)))


def _labels(side: Side, *, words: bool) -> Labels:
    """The words of a side, or its single tokens, each with the span of tokens it covers."""
    if not words:
        texts = tuple(token.text for token in side.tokens)
        return Labels(texts, tuple((at, at + 1) for at in range(len(texts))))
    owners = [token.word for token in side.tokens]
    firsts = [owners.index(number) for number in range(len(side.words))]
    return Labels(side.words, tuple(zip(firsts, [*firsts[1:], len(owners)], strict=True)))


def _attention_to_json(attention: TracedAttention) -> dict[str, Any]:
    numbers = attention.weights.detach().float().contiguous().numpy().astype("<f4")
    return {
        "name": attention.name,
        "role": attention.role,
        "layer": attention.layer,
        "shape": list(attention.weights.shape),
        "data": base64.b64encode(numbers.tobytes()).decode(),
    }


def _trace_from_json(parts: dict[str, Any]) -> Trace:
    sides = {name: _side_from_json(parts[name]) for name in SIDES}
    steps = tuple(
        Step(step["logprob"], tuple((text, prob) for text, prob in step["top_tokens"]))
        for step in parts["steps"]
    )
    attentions = tuple(_attention_from_json(attention) for attention in parts["attention"])
    unknown = tuple(map(str, parts.get("unknown_words", ())))
    lists = {"steps": steps, "attention": attentions, "unknown_words": unknown}
    media = {
        "picture": TracedPicture.from_json(parts.get("picture")),
        "sound": TracedSound.from_json(parts.get("sound")),
    }
    trace = Trace(**{**parts, **sides, **lists, **media})
    if trace.picture and len(trace.picture.boxes) != len(trace.source.tokens):
        raise ValueError("the boxes of the picture do not fit the frames")
    for attention in attentions:
        rows, columns = trace.sides(attention.role)
        if attention.weights.shape[1:] != (len(rows.tokens), len(columns.tokens)):
            raise ValueError(f"the weights of {attention.name} do not fit the tokens")
    return trace


def _side_from_json(parts: dict[str, Any]) -> Side:
    return Side(tuple(Token(**token) for token in parts["tokens"]), tuple(parts["words"]))


def _attention_from_json(parts: dict[str, Any]) -> TracedAttention:
    raw = bytearray(base64.b64decode(parts["data"], validate=True))
    weights = torch.frombuffer(raw, dtype=torch.float32).reshape(parts["shape"])
    return TracedAttention(parts["name"], parts["role"], parts["layer"], weights)
