"""Everything a run can be told: frozen dataclasses with a default for every setting."""

from dataclasses import dataclass, field
from typing import Literal

from dhyan.config.decoding import DecodingOptions

Activation = Literal["relu", "gelu", "swiglu"]
Cell = Literal["lstm", "gru", "rnn"]
Input = Literal["embedding", "one_hot"]
Placeholder = Literal["url", "email", "number", "tag"]
PositionEncoding = Literal["sinusoidal", "learned", "rotary", "alibi", "none"]


@dataclass(frozen=True, kw_only=True)
class MixedCorpus:
    """One more corpus; each of its pairs comes `weight` times an epoch, on average."""

    source: str
    target: str = ""
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where the pairs come from: two text files, one table, a prepared folder, or a task.

    Pairs with fewer or more words a side, or with one side `max_length_ratio` times as many words
    as the other, are left out and counted; 0 sets no bound. Corpora of `mix` join the first. The task
    "primer" makes sentences within the bounds on words; `core_share` is the share of its words it uses,
    those that go with the most others. Sentences to validate or test on must not stand in the
    training text, unless `allow_leakage` says so; those to test on are used for nothing else.
    """

    source: str = ""
    target: str = ""
    columns: tuple[str, ...] = ()
    valid_source: str = ""
    valid_target: str = ""
    test_source: str = ""
    test_target: str = ""
    allow_leakage: bool = False
    task: Literal["", "primer", "numbers", "reverse", "copy", "dates"] = ""
    pairs: int = 20_000
    core_share: float = 1.0
    source_language: str = ""
    target_language: str = ""
    max_tokens: int = 256
    min_words: int = 0
    max_words: int = 0
    max_length_ratio: float = 0.0
    mix: tuple[MixedCorpus, ...] = ()
    prepared: str = ""


@dataclass(frozen=True, kw_only=True)
class Text:
    """How sentences become ids; learned from the first `vocabulary_pairs` training pairs.

    `shared_vocabulary` makes one vocabulary for both sides, of `source_vocabulary_size`.
    `bpe_dropout` is the chance that a merge is left out in training. What `placeholders` names
    passes the model by and stays whole.
    """

    tokenizer: Literal["unigram", "bpe", "words", "characters"] = "unigram"
    source_vocabulary_size: int = 8000
    target_vocabulary_size: int = 8000
    shared_vocabulary: bool = False
    vocabulary_pairs: int = 1_000_000
    bpe_dropout: float = 0.0
    placeholders: tuple[Placeholder, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RNNEncoder:
    """Reads token by token; `width` is that of one direction.

    `input` "one_hot" gives the cells the words' one-hot vectors, without an embedding.
    `pretrained_embedding` is a file of word2vec or GloVe to start the embedding from;
    `freeze_embedding` leaves it as it is.
    """

    kind: Literal["rnn"] = "rnn"
    cell: Cell = "gru"
    input: Input = "embedding"
    pretrained_embedding: str = ""
    freeze_embedding: bool = False
    embedding_width: int = 256
    width: int = 256
    layers: int = 1
    bidirectional: bool = False
    reverse_source: bool = False
    dropout: float = 0.2


@dataclass(frozen=True, kw_only=True)
class TransformerEncoder:
    """Reads all tokens at once.

    Several heads may share the keys and values of one of `kv_heads`; 0 gives each its own.
    `self_attention` "parameter_free" has nothing to learn, softmax(X Xᵀ) X; with "none" a word's
    state knows of no other word.
    """

    kind: Literal["transformer"] = "transformer"
    width: int = 512
    self_attention: Literal["learned", "parameter_free", "none"] = "learned"
    heads: int = 8
    kv_heads: int = 0
    score: str = "scaled_dot"
    feed_forward_width: int = 2048
    activation: Activation = "relu"
    layers: int = 6
    norm: Literal["pre", "post"] = "pre"
    positions: PositionEncoding = "sinusoidal"
    pretrained_embedding: str = ""
    freeze_embedding: bool = False
    dropout: float = 0.1
    attention_dropout: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Attention:
    """How a recurrent decoder looks at the source: its score, its window, its heads.

    `score` is a score (additive, concat, dot, scaled_dot, general, location, coverage), one that was
    registered, or "bottleneck" for none: all weight on the state read last. `score_width` is the width
    of the additive score's small network; coverage sees what was attended to before through
    `coverage_filters` of `coverage_filter_radius` positions to either side. `window` lets each
    look see only positions within `window_radius` of the step's own number (monotonic) or of a
    predicted place.
    """

    score: str = "additive"
    heads: int = 1
    kv_heads: int = 0
    score_width: int = 256
    coverage_filters: int = 8
    coverage_filter_radius: int = 3
    window: Literal["none", "monotonic", "predicted"] = "none"
    window_radius: int = 10
    dropout: float = 0.0


@dataclass(frozen=True, kw_only=True)
class BahdanauDecoder:
    """Look, then step.

    `tie_embeddings` reads the words off the embedding; `share_source_embedding` takes the
    encoder's, and `copy_mechanism` may say a word of the source as it stands: both need one
    vocabulary (text.shared_vocabulary).
    """

    kind: Literal["bahdanau"] = "bahdanau"
    attention: Attention = field(default_factory=Attention)
    cell: Cell = "gru"
    bridge: Literal["learned", "direct"] = "learned"
    input: Input = "embedding"
    pretrained_embedding: str = ""
    freeze_embedding: bool = False
    embedding_width: int = 256
    width: int = 256
    readout_width: int = 256
    layers: int = 1
    dropout: float = 0.2
    tie_embeddings: bool = False
    share_source_embedding: bool = False
    copy_mechanism: bool = False


@dataclass(frozen=True, kw_only=True)
class LuongDecoder:
    """Step, then look; `tie_embeddings`, `share_source_embedding` and `copy_mechanism` are as in
    Bahdanau's."""

    kind: Literal["luong"] = "luong"
    attention: Attention = field(default_factory=lambda: Attention(score="general"))
    cell: Cell = "lstm"
    bridge: Literal["learned", "direct"] = "learned"
    input: Input = "embedding"
    pretrained_embedding: str = ""
    freeze_embedding: bool = False
    embedding_width: int = 256
    width: int = 256
    layers: int = 1
    input_feeding: bool = True
    dropout: float = 0.2
    tie_embeddings: bool = False
    share_source_embedding: bool = False
    copy_mechanism: bool = False


@dataclass(frozen=True, kw_only=True)
class TransformerDecoder:
    """Looks at its past and at the source, layer by layer; the settings are named as elsewhere."""

    kind: Literal["transformer"] = "transformer"
    width: int = 512
    heads: int = 8
    kv_heads: int = 0
    score: str = "scaled_dot"
    feed_forward_width: int = 2048
    activation: Activation = "relu"
    layers: int = 6
    norm: Literal["pre", "post"] = "pre"
    positions: PositionEncoding = "sinusoidal"
    pretrained_embedding: str = ""
    freeze_embedding: bool = False
    dropout: float = 0.1
    attention_dropout: float = 0.0
    tie_embeddings: bool = True
    share_source_embedding: bool = False
    copy_mechanism: bool = False


@dataclass(frozen=True, kw_only=True)
class Training:
    """How the weights are found; every count is in updates of the weights.

    `init_from` is a trained model to begin from, and `init_vocabulary` says whether to keep its
    words, to extend them by those of the new pairs, or to learn new ones. `tokens_per_batch` 0
    finds the largest that fits. `ema_decay` is the decay of an average of the weights, which is
    then what is validated and saved; `r_drop` weighs the divergence of two passes. With
    `teacher_forcing_schedule`, the decoder is told the correct word with a chance that follows
    from the step (Bengio et al., 2015), else its own. `kernels` "reference" computes by the
    definitions alone, one kernel after the other. With
    `deterministic` a GPU adds up in one order only, and repeats a run bit for bit as a CPU does anyway.
    """

    init_from: str = ""
    init_vocabulary: Literal["keep", "extend", "new"] = "keep"
    steps: int = 10_000
    tokens_per_batch: int = 4096
    gradient_accumulation: int = 1
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    learning_rate: float = 1e-3
    betas: tuple[float, ...] = (0.9, 0.98)
    weight_decay: float = 0.0
    schedule: Literal["constant", "inverse_sqrt", "halving", "cosine", "plateau"] = "constant"
    warmup_steps: int = 0
    halve_from: int = 0
    halve_every: int = 0
    min_learning_rate_ratio: float = 0.0
    plateau_factor: float = 0.5
    plateau_patience: int = 2
    clip_norm: float = 1.0
    label_smoothing: float = 0.1
    ema_decay: float = 0.0
    r_drop: float = 0.0
    teacher_forcing_schedule: Literal["constant", "linear", "exponential", "inverse_sigmoid"] = (
        "constant"
    )
    teacher_forcing: float = 1.0
    teacher_forcing_slope: float = 0.0
    teacher_forcing_k: float = 1.0
    teacher_forcing_min: float = 0.0
    precision: Literal["fp32", "bf16"] = "fp32"
    kernels: Literal["auto", "reference"] = "auto"
    deterministic: bool = False
    validate_every: int = 500
    valid_sentences: int = 200
    save_every: int = 500
    keep_checkpoints: int = 2
    early_stopping_metric: Literal["loss", "bleu", "chrf"] = "loss"
    patience: int = 0
    report_every: int = 10
    tensorboard: bool = False
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
    decoding: DecodingOptions = field(default_factory=DecodingOptions)
