"""Everything a run can be told: frozen dataclasses with a default for every setting."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the pairs come from: two text files, one TSV or CSV, or a task made by code."""

    source: str = ""
    target: str = ""
    columns: tuple[str, ...] = ()
    valid_source: str = ""
    valid_target: str = ""
    task: Literal["", "numbers", "reverse"] = ""
    pairs: int = 20_000
    source_language: str = ""
    target_language: str = ""
    longest: int = 256


@dataclass(frozen=True, kw_only=True)
class Text:
    """How sentences become ids; learned from the training pairs."""

    kind: Literal["unigram", "bpe", "words", "characters"] = "unigram"
    source_size: int = 8000
    target_size: int = 8000


@dataclass(frozen=True, kw_only=True)
class RNNEncoder:
    """Reads token by token; `width` is that of one direction."""

    kind: Literal["rnn"] = "rnn"
    cell: Literal["lstm", "gru"] = "gru"
    embedding: int = 256
    width: int = 256
    layers: int = 1
    bidirectional: bool = False
    backwards: bool = False
    dropout: float = 0.2


@dataclass(frozen=True, kw_only=True)
class TransformerEncoder:
    """Reads all tokens at once."""

    kind: Literal["transformer"] = "transformer"
    width: int = 512
    heads: int = 8
    hidden: int = 2048
    layers: int = 6
    norm: Literal["pre", "post"] = "pre"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    dropout: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Attention:
    """How a recurrent decoder looks at the source: how it scores, and with how many heads.

    `kind` is a score, or "bottleneck" for none: all weight on the state read last. `hidden` is the
    width of the additive score's small network.
    """

    kind: Literal["bottleneck", "additive", "dot", "scaled_dot", "general"] = "additive"
    heads: int = 1
    hidden: int = 256


@dataclass(frozen=True, kw_only=True)
class BahdanauDecoder:
    """Look, then step."""

    kind: Literal["bahdanau"] = "bahdanau"
    attention: Attention = field(default_factory=Attention)
    cell: Literal["lstm", "gru"] = "gru"
    bridge: Literal["learned", "direct"] = "learned"
    embedding: int = 256
    width: int = 256
    readout: int = 256
    layers: int = 1
    dropout: float = 0.2
    tied: bool = False


@dataclass(frozen=True, kw_only=True)
class LuongDecoder:
    """Step, then look."""

    kind: Literal["luong"] = "luong"
    attention: Attention = field(default_factory=lambda: Attention(kind="general"))
    cell: Literal["lstm", "gru"] = "lstm"
    bridge: Literal["learned", "direct"] = "learned"
    embedding: int = 256
    width: int = 256
    layers: int = 1
    input_feeding: bool = True
    dropout: float = 0.2
    tied: bool = False


@dataclass(frozen=True, kw_only=True)
class TransformerDecoder:
    """Looks at its past and at the source, layer by layer."""

    kind: Literal["transformer"] = "transformer"
    width: int = 512
    heads: int = 8
    hidden: int = 2048
    layers: int = 6
    norm: Literal["pre", "post"] = "pre"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    dropout: float = 0.1
    tied: bool = True


@dataclass(frozen=True, kw_only=True)
class Training:
    """How the weights are found; every count is in updates of the weights."""

    steps: int = 10_000
    tokens_per_batch: int = 4096
    accumulate: int = 1
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    learning_rate: float = 1e-3
    betas: tuple[float, ...] = (0.9, 0.98)
    weight_decay: float = 0.0
    schedule: Literal["constant", "inverse_sqrt", "halving"] = "constant"
    warmup: int = 0
    halve_from: int = 0
    halve_every: int = 0
    clip: float = 1.0
    label_smoothing: float = 0.1
    precision: Literal["fp32", "bf16"] = "fp32"
    validate_every: int = 500
    valid_sentences: int = 200
    save_every: int = 500
    keep: int = 2
    stop_on: Literal["loss", "bleu", "chrf"] = "loss"
    patience: int = 0
    report_every: int = 10
    seed: int = 1


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How translations are searched.

    A source of more than `longest` tokens is refused; `limit` is the most tokens of a translation,
    0 for three times the source's and fifty.
    """

    longest: int = 1024
    beam: int = 5
    length_power: float = 1.0
    limit: int = 0


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One paper or task, whole."""

    about: str = ""
    data: Data = field(default_factory=Data)
    text: Text = field(default_factory=Text)
    encoder: RNNEncoder | TransformerEncoder
    decoder: BahdanauDecoder | LuongDecoder | TransformerDecoder
    training: Training = field(default_factory=Training)
    decoding: Decoding = field(default_factory=Decoding)
