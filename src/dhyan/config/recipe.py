"""Everything a run can be told: frozen dataclasses with a default for every setting."""

from dataclasses import dataclass, field
from typing import Literal

Activation = Literal["relu", "gelu", "swiglu"]
Cell = Literal["lstm", "gru", "rnn"]
Input = Literal["embedding", "one_hot"]
Kept = Literal["url", "email", "number", "tag"]
Places = Literal["sinusoidal", "learned", "rotary", "alibi", "none"]


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """One more corpus; each of its pairs comes `weight` times an epoch, on average."""

    source: str
    target: str = ""
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the pairs come from: two text files, one table, a prepared folder, or a task.

    Pairs with fewer or more words a side, or with one side `most_ratio` times as many words as the
    other, are left out and counted; 0 sets no bound. Corpora of `mix` join the first. The task
    "primer" makes sentences within the bounds on words; `core` is the share of its words it uses,
    those that go with the most others. Sentences to validate or test on must not stand in the
    training text, unless `allow_leak` says so; those to test on are used for nothing else.
    """

    source: str = ""
    target: str = ""
    columns: tuple[str, ...] = ()
    valid_source: str = ""
    valid_target: str = ""
    test_source: str = ""
    test_target: str = ""
    allow_leak: bool = False
    task: Literal["", "primer", "numbers", "reverse", "copy", "dates"] = ""
    pairs: int = 20_000
    core: float = 1.0
    source_language: str = ""
    target_language: str = ""
    longest: int = 256
    fewest_words: int = 0
    most_words: int = 0
    most_ratio: float = 0.0
    mix: tuple[Mixed, ...] = ()
    prepared: str = ""


@dataclass(frozen=True, kw_only=True)
class Text:
    """How sentences become ids; learned from the first `learn_from` training pairs.

    `shared` makes one vocabulary for both sides, of `source_size`. `bpe_dropout` is the chance that
    a merge is left out in training. What `placeholders` names passes the model by and stays whole.
    """

    kind: Literal["unigram", "bpe", "words", "characters"] = "unigram"
    source_size: int = 8000
    target_size: int = 8000
    shared: bool = False
    learn_from: int = 1_000_000
    bpe_dropout: float = 0.0
    placeholders: tuple[Kept, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RNNEncoder:
    """Reads token by token; `width` is that of one direction.

    `input` "one_hot" gives the cells the words' one-hot vectors, without an embedding. `vectors` is
    a file of word2vec or GloVe to start the embedding from; `frozen` leaves it as it is.
    """

    kind: Literal["rnn"] = "rnn"
    cell: Cell = "gru"
    input: Input = "embedding"
    vectors: str = ""
    frozen: bool = False
    embedding: int = 256
    width: int = 256
    layers: int = 1
    bidirectional: bool = False
    backwards: bool = False
    dropout: float = 0.2


@dataclass(frozen=True, kw_only=True)
class TransformerEncoder:
    """Reads all tokens at once.

    Several heads may share the keys and values of one of `kv_heads`; 0 gives each its own.
    `self_attention` "plain" has nothing to learn, softmax(X Xᵀ) X; with "none" a word's state knows
    of no other word.
    """

    kind: Literal["transformer"] = "transformer"
    width: int = 512
    self_attention: Literal["learned", "plain", "none"] = "learned"
    heads: int = 8
    kv_heads: int = 0
    score: str = "scaled_dot"
    hidden: int = 2048
    activation: Activation = "relu"
    layers: int = 6
    norm: Literal["pre", "post"] = "pre"
    positions: Places = "sinusoidal"
    vectors: str = ""
    frozen: bool = False
    dropout: float = 0.1
    attention_dropout: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Attention:
    """How a recurrent decoder looks at the source: its score, its window, its heads.

    `kind` is a score (additive, concat, dot, scaled_dot, general, location, coverage), one that was
    registered, or "bottleneck" for none: all weight on the state read last. `hidden` is the width
    of the additive score's small network; coverage sees what was attended to before through
    `filters` of `filter_reach` positions to either side. `window` lets each look see only
    positions within `reach` of the step's own number (monotonic) or of a predicted place.
    """

    kind: str = "additive"
    heads: int = 1
    kv_heads: int = 0
    hidden: int = 256
    filters: int = 8
    filter_reach: int = 3
    window: Literal["none", "monotonic", "predicted"] = "none"
    reach: int = 10
    dropout: float = 0.0


@dataclass(frozen=True, kw_only=True)
class BahdanauDecoder:
    """Look, then step.

    `tied` reads the words off the embedding; `shares_embedding` takes the encoder's, and `copy`
    may say a word of the source as it stands: both need one vocabulary (text.shared).
    """

    kind: Literal["bahdanau"] = "bahdanau"
    attention: Attention = field(default_factory=Attention)
    cell: Cell = "gru"
    bridge: Literal["learned", "direct"] = "learned"
    input: Input = "embedding"
    vectors: str = ""
    frozen: bool = False
    embedding: int = 256
    width: int = 256
    readout: int = 256
    layers: int = 1
    dropout: float = 0.2
    tied: bool = False
    shares_embedding: bool = False
    copy: bool = False


@dataclass(frozen=True, kw_only=True)
class LuongDecoder:
    """Step, then look; `tied`, `shares_embedding` and `copy` are as in Bahdanau's."""

    kind: Literal["luong"] = "luong"
    attention: Attention = field(default_factory=lambda: Attention(kind="general"))
    cell: Cell = "lstm"
    bridge: Literal["learned", "direct"] = "learned"
    input: Input = "embedding"
    vectors: str = ""
    frozen: bool = False
    embedding: int = 256
    width: int = 256
    layers: int = 1
    input_feeding: bool = True
    dropout: float = 0.2
    tied: bool = False
    shares_embedding: bool = False
    copy: bool = False


@dataclass(frozen=True, kw_only=True)
class TransformerDecoder:
    """Looks at its past and at the source, layer by layer; the settings are named as elsewhere."""

    kind: Literal["transformer"] = "transformer"
    width: int = 512
    heads: int = 8
    kv_heads: int = 0
    score: str = "scaled_dot"
    hidden: int = 2048
    activation: Activation = "relu"
    layers: int = 6
    norm: Literal["pre", "post"] = "pre"
    positions: Places = "sinusoidal"
    vectors: str = ""
    frozen: bool = False
    dropout: float = 0.1
    attention_dropout: float = 0.0
    tied: bool = True
    shares_embedding: bool = False
    copy: bool = False


@dataclass(frozen=True, kw_only=True)
class Training:
    """How the weights are found; every count is in updates of the weights.

    `init` is a trained model to begin from, and `vocabulary` says whether to keep its words, to
    extend them by those of the new pairs, or to learn new ones. `tokens_per_batch` 0 finds the
    largest that fits. `ema` is the decay of an average of the weights, which is then what is
    validated and saved; `r_drop` weighs the divergence of two passes. With `forcing`, the decoder
    is told the correct word with a chance that follows from the step (Bengio et al., 2015), else
    its own. `kernels` "plain" computes by the definitions alone, one kernel after the other. With
    `exact` a GPU adds up in one order only, and repeats a run bit for bit as a CPU does anyway.
    """

    init: str = ""
    vocabulary: Literal["keep", "extend", "new"] = "keep"
    steps: int = 10_000
    tokens_per_batch: int = 4096
    accumulate: int = 1
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    learning_rate: float = 1e-3
    betas: tuple[float, ...] = (0.9, 0.98)
    weight_decay: float = 0.0
    schedule: Literal["constant", "inverse_sqrt", "halving", "cosine", "plateau"] = "constant"
    warmup: int = 0
    halve_from: int = 0
    halve_every: int = 0
    lowest: float = 0.0
    plateau_factor: float = 0.5
    plateau_patience: int = 2
    clip: float = 1.0
    label_smoothing: float = 0.1
    ema: float = 0.0
    r_drop: float = 0.0
    forcing: Literal["constant", "linear", "exponential", "inverse_sigmoid"] = "constant"
    teacher_forcing: float = 1.0
    forcing_slope: float = 0.0
    forcing_k: float = 1.0
    forcing_least: float = 0.0
    precision: Literal["fp32", "bf16"] = "fp32"
    kernels: Literal["auto", "plain"] = "auto"
    exact: bool = False
    validate_every: int = 500
    valid_sentences: int = 200
    save_every: int = 500
    keep: int = 2
    stop_on: Literal["loss", "bleu", "chrf"] = "loss"
    patience: int = 0
    report_every: int = 10
    tensorboard: bool = False
    seed: int = 1


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How translations are searched.

    A source of more than `longest` tokens is refused; `least` and `limit` are the fewest and the
    most tokens of a translation, 0 for none and for three times the source's and fifty. No
    `no_repeat` tokens in a row come twice. `coverage` weighs how much of the source was attended
    to; `groups` part the beam into such that avoid each other's words by `diversity`. `sample`
    draws words instead of searching: of the `top_k` likeliest, of the likeliest that make up
    `top_p`, at a `temperature`.
    """

    longest: int = 1024
    beam: int = 5
    length_power: float = 1.0
    least: int = 0
    limit: int = 0
    no_repeat: int = 0
    coverage: float = 0.0
    groups: int = 1
    diversity: float = 0.5
    sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1


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
