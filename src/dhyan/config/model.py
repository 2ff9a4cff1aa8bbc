"""The recipe's sections [encoder] and [decoder]: the architecture of the model."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from dhyan.config.setting_declaration import setting

Activation = Literal["relu", "gelu", "swiglu"]
Cell = Literal["lstm", "gru", "rnn"]
Input = Literal["embedding", "one_hot"]
PositionEncoding = Literal["sinusoidal", "learned", "rotary", "alibi", "none"]
DOT_SCORES = ("dot", "scaled_dot")
RELATIVE_POSITIONS = ("rotary", "alibi")


def _cell(default: Cell) -> Any:
    return setting(default, "Recurrent cell: LSTM, GRU (Cho et al., 2014) or plain RNN.")


def _layers(default: int) -> Any:
    return setting(default, "Number of layers.", low=1, high=250)


def _dropout(default: float) -> Any:
    return setting(default, "Dropout probability (Srivastava et al., 2014).", low=0.0, high=0.99)


def _attention_dropout() -> Any:
    return setting(0.0, "Dropout probability of attention weights.", low=0.0, high=0.99)


def _input() -> Any:
    return setting("embedding", "Input vectors: a learned embedding, or one-hot vectors.")


def _embedding_width() -> Any:
    return setting(256, "Embedding width.", low=1)


def _pretrained_embedding(only_with: str = "") -> Any:
    return setting(
        "", "Pretrained embedding: a word2vec or GloVe file to start from.", only_with=only_with
    )


def _freeze_embedding() -> Any:
    return setting(
        False,
        "Frozen embedding: the pretrained one is not trained.",
        only_with="pretrained_embedding",
    )


def _kv_heads(only_with: str = "") -> Any:
    return setting(
        0, "Key-value heads (Ainslie et al., 2023), shared by groups of heads; 0 for as many as heads.",
        low=0, only_with=only_with,
    )  # fmt: skip


def _tie_embeddings(default: bool) -> Any:
    return setting(default, "Tied embeddings (Press and Wolf, 2017): output weights = embedding.")


def _share_source_embedding() -> Any:
    return setting(
        False, "Shared embedding: the encoder's, for both; needs text.shared_vocabulary."
    )


def _copy_mechanism() -> Any:
    return setting(
        False,
        "Copy mechanism (See et al., 2017): can copy source tokens; needs text.shared_vocabulary.",
    )


def _head_score(only_with: str = "") -> Any:
    return setting(
        "scaled_dot",
        "Attention score of each head: scaled_dot (Vaswani et al., 2017), dot, general, additive or a "
        "registered one.",
        only_with=only_with,
    )


def _positions() -> Any:
    return setting(
        "sinusoidal",
        "Position encoding: sinusoidal, learned, rotary (Su et al., 2021), ALiBi (Press et al., 2022) "
        "or none.",
    )


def _activation() -> Any:
    return setting("relu", "Feed-forward activation: ReLU, GELU or SwiGLU (Shazeer, 2020).")


def _norm() -> Any:
    return setting("pre", "Layer norm before (pre) or after (post) each sub-layer.")


def _bridge() -> Any:
    return setting(
        "learned",
        "Bridge from the encoder's last state to the decoder's first: a learned layer, or a copy.",
    )


@dataclass(frozen=True, kw_only=True)
class RNNEncoder:
    """A recurrent encoder, uni- or bidirectional."""

    kind: Literal["rnn"] = setting("rnn", "Encoder type.")
    cell: Cell = _cell("gru")
    input: Input = _input()
    pretrained_embedding: str = _pretrained_embedding(only_with="input=embedding")
    freeze_embedding: bool = _freeze_embedding()
    embedding_width: int = _embedding_width()
    width: int = setting(256, "Hidden width of one direction.", low=1)
    layers: int = _layers(1)
    bidirectional: bool = setting(False, "Bidirectional RNN (Schuster and Paliwal, 1997).")
    reverse_source: bool = setting(False, "Reversed source (Sutskever et al., 2014).")
    dropout: float = _dropout(0.2)

    @property
    def states_width(self) -> int:
        """Width of the states that the decoder attends to."""
        return self.width * (2 if self.bidirectional else 1)

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings of this section that exclude each other: name, and what to do."""
        yield from ()


@dataclass(frozen=True, kw_only=True)
class TransformerEncoder:
    """A Transformer encoder (Vaswani et al., 2017)."""

    kind: Literal["transformer"] = setting("transformer", "Encoder type.")
    width: int = setting(512, "Model width.", low=1)
    self_attention: Literal["learned", "parameter_free", "none"] = setting(
        "learned", "Self-attention: multi-head, parameter-free softmax(X Xᵀ) X, or none."
    )
    heads: int = setting(8, "Number of attention heads.", low=1)
    kv_heads: int = _kv_heads(only_with="self_attention=learned")
    score: str = _head_score(only_with="self_attention=learned")
    feed_forward_width: int = setting(2048, "Feed-forward width.", low=1)
    activation: Activation = _activation()
    layers: int = _layers(6)
    norm: Literal["pre", "post"] = _norm()
    positions: PositionEncoding = _positions()
    pretrained_embedding: str = _pretrained_embedding()
    freeze_embedding: bool = _freeze_embedding()
    dropout: float = _dropout(0.1)
    attention_dropout: float = setting(
        0.0, "Dropout probability of attention weights.", low=0.0, high=0.99,
        only_with="self_attention=learned",
    )  # fmt: skip

    @property
    def states_width(self) -> int:
        """Width of the states that the decoder attends to."""
        return self.width

    @property
    def embedding_width(self) -> int:
        """A Transformer's embedding is as wide as the model."""
        return self.width

    @property
    def input(self) -> Input:
        """A Transformer's input is an embedding."""
        return "embedding"

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings of this section that exclude each other: name, and what to do."""
        if self.self_attention == "learned":
            yield from _head_contradictions(self)
        elif self.positions in RELATIVE_POSITIONS:
            yield (
                "positions",
                f"{self.positions} positions are part of a learned self-attention; with "
                f"self_attention = {self.self_attention!r} give others",
            )


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Attention of a recurrent decoder to the source: score, window, heads."""

    score: str = setting(
        "additive",
        "Attention score: additive, concat, dot, scaled_dot, general, location, coverage, a registered "
        "one, or bottleneck for no attention.",
    )
    heads: int = setting(1, "Number of attention heads.", low=1)
    kv_heads: int = _kv_heads()
    score_width: int = setting(256, "Hidden width of the additive and coverage score.", low=1)
    coverage_filters: int = setting(
        8, "Coverage score (Tu et al., 2016): convolution filters over past weights.", low=1
    )
    coverage_filter_radius: int = setting(
        3, "Coverage score: positions a filter sees on either side.", low=0, unit="tokens"
    )
    window: Literal["none", "monotonic", "predicted"] = setting(
        "none",
        "Local attention (Luong et al., 2015): window around the step, or a predicted position.",
    )
    window_radius: int = setting(
        10, "Local attention: positions on either side of the centre.", low=1, unit="tokens"
    )
    dropout: float = _attention_dropout()

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings of this section that exclude each other: name, and what to do."""
        if self.score == "bottleneck":
            if self.heads > 1 or self.window != "none":
                key = "heads" if self.heads > 1 else "window"
                yield (
                    key,
                    "the bottleneck attends to one state, without heads or window; leave it out",
                )
        elif self.heads == 1 and self.kv_heads > 1:
            yield "kv_heads", f"{self.kv_heads} key-value heads for one head; raise heads"


@dataclass(frozen=True, kw_only=True)
class BahdanauDecoder:
    """A recurrent decoder that attends before each step (Bahdanau et al., 2015)."""

    kind: Literal["bahdanau"] = setting("bahdanau", "Decoder type.")
    attention: Attention = field(default_factory=Attention)
    cell: Cell = _cell("gru")
    bridge: Literal["learned", "direct"] = _bridge()
    input: Input = _input()
    pretrained_embedding: str = _pretrained_embedding(only_with="input=embedding")
    freeze_embedding: bool = _freeze_embedding()
    embedding_width: int = _embedding_width()
    width: int = setting(256, "Hidden width.", low=1)
    readout_width: int = setting(256, "Readout width: the maxout layer before the output.", low=1)
    layers: int = _layers(1)
    dropout: float = _dropout(0.2)
    tie_embeddings: bool = _tie_embeddings(False)
    share_source_embedding: bool = _share_source_embedding()
    copy_mechanism: bool = _copy_mechanism()

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings of this section that exclude each other: name, and what to do."""
        if self.attention.score == "concat":
            yield (
                "attention.score",
                "concat scores the current state, and this decoder attends with the previous one; "
                "call it attention.score = 'additive'",
            )
        yield from _prefixed("attention", self.attention.contradictions())
        yield from _embedding_contradictions(self)


@dataclass(frozen=True, kw_only=True)
class LuongDecoder:
    """A recurrent decoder that attends after each step (Luong et al., 2015)."""

    kind: Literal["luong"] = setting("luong", "Decoder type.")
    attention: Attention = field(default_factory=lambda: Attention(score="general"))
    cell: Cell = _cell("lstm")
    bridge: Literal["learned", "direct"] = _bridge()
    input: Input = _input()
    pretrained_embedding: str = _pretrained_embedding(only_with="input=embedding")
    freeze_embedding: bool = _freeze_embedding()
    embedding_width: int = _embedding_width()
    width: int = setting(256, "Hidden width.", low=1)
    layers: int = _layers(1)
    input_feeding: bool = setting(True, "Input feeding: the last attention output is an input.")
    dropout: float = _dropout(0.2)
    tie_embeddings: bool = _tie_embeddings(False)
    share_source_embedding: bool = _share_source_embedding()
    copy_mechanism: bool = _copy_mechanism()

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings of this section that exclude each other: name, and what to do."""
        yield from _prefixed("attention", self.attention.contradictions())
        yield from _embedding_contradictions(self)


@dataclass(frozen=True, kw_only=True)
class TransformerDecoder:
    """A Transformer decoder (Vaswani et al., 2017)."""

    kind: Literal["transformer"] = setting("transformer", "Decoder type.")
    width: int = setting(512, "Model width.", low=1)
    heads: int = setting(8, "Number of attention heads.", low=1)
    kv_heads: int = _kv_heads()
    score: str = _head_score()
    feed_forward_width: int = setting(2048, "Feed-forward width.", low=1)
    activation: Activation = _activation()
    layers: int = _layers(6)
    norm: Literal["pre", "post"] = _norm()
    positions: PositionEncoding = _positions()
    pretrained_embedding: str = _pretrained_embedding()
    freeze_embedding: bool = _freeze_embedding()
    dropout: float = _dropout(0.1)
    attention_dropout: float = _attention_dropout()
    tie_embeddings: bool = _tie_embeddings(True)
    share_source_embedding: bool = _share_source_embedding()
    copy_mechanism: bool = _copy_mechanism()

    @property
    def embedding_width(self) -> int:
        """A Transformer's embedding is as wide as the model."""
        return self.width

    @property
    def input(self) -> Input:
        """A Transformer's input is an embedding."""
        return "embedding"

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings of this section that exclude each other: name, and what to do."""
        yield from _head_contradictions(self)
        yield from _embedding_contradictions(self)


Encoder = RNNEncoder | TransformerEncoder
RecurrentDecoder = BahdanauDecoder | LuongDecoder
Decoder = RecurrentDecoder | TransformerDecoder


def _embedding_contradictions(decoder: Decoder) -> Iterator[tuple[str, str]]:
    """An embedding that is frozen, shared or tied."""
    if decoder.input == "one_hot" and decoder.tie_embeddings:
        yield (
            "tie_embeddings",
            "one-hot input has no embedding to tie; set tie_embeddings = false",
        )
    if decoder.freeze_embedding and decoder.tie_embeddings:
        yield (
            "tie_embeddings",
            "a frozen embedding cannot be tied to the output; set tie_embeddings = false",
        )
    if decoder.share_source_embedding:
        for name in ("pretrained_embedding", "freeze_embedding"):
            if getattr(decoder, name):
                yield name, "share_source_embedding takes the encoder's vectors; leave it out"


def _head_contradictions(
    section: TransformerEncoder | TransformerDecoder,
) -> Iterator[tuple[str, str]]:
    """Multi-head attention whose heads, key-value heads, score and positions do not fit."""
    width, heads, score = section.width, section.heads, section.score
    if width % heads:
        yield "heads", f"width {width} does not divide into {heads} heads; change one of them"
    elif section.kv_heads and heads % section.kv_heads:
        yield (
            "kv_heads",
            f"{heads} heads cannot share {section.kv_heads}; give a divisor of {heads}",
        )
    if score == "bottleneck":
        yield "score", "the bottleneck is not a score; the heads of a Transformer need one"
    elif section.positions in RELATIVE_POSITIONS and score not in DOT_SCORES:
        yield (
            "positions",
            f"{section.positions} positions go with the scores dot and scaled_dot, not {score}; "
            f"change one of them",
        )


def _prefixed(path: str, problems: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return ((f"{path}.{name}", problem) for name, problem in problems)
