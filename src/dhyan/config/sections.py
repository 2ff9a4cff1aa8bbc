"""The sections of a recipe: data, text, encoder, decoder and training, with every setting."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from dhyan.config.declare_settings import REQUIRED, redeclare, setting

Activation = Literal["relu", "gelu", "silu", "swiglu", "geglu"]
Cell = Literal["lstm", "gru", "rnn"]
Delimiter = Literal["", "tab", "comma", "semicolon", "pipe"]
Header = Literal["auto", "yes", "no"]
Input = Literal["embedding", "one_hot"]
Codec = Literal[
    "", "unigram", "bpe", "words", "characters", "symbols", "labels",
    "word_characters", "image_columns", "image_patches",
]  # fmt: skip
SYMBOL_CODECS = ("symbols", "labels")
PICTURE_CODECS = ("image_columns", "image_patches")
FRAME_CODECS = ("word_characters", *PICTURE_CODECS)
Placeholder = Literal["url", "email", "number", "tag"]
PositionEncoding = Literal["sinusoidal", "learned", "rotary", "alibi", "relative", "none"]
Sinusoids = Literal["interleaved", "halves", "tensor2tensor", "fairseq"]
Synthetic = Literal[
    "", "primer", "numbers", "reverse", "copy", "dates", "counting", "perspectives",
    "rendered_text", "scenes", "scene_cells",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MixedCorpus:
    """A further corpus of `data.mix`."""

    source: str = setting(
        REQUIRED, "Source sentences, or a .tsv, .csv, .jsonl or .tmx with both sides.", is_path=True
    )
    target: str = setting("", "Target sentences, line by line; none for a table.", is_path=True)
    weight: float = setting(
        1.0, "Upsampling: how often a pair comes in an epoch, on average.", low=1e-6, high=1000.0
    )


@dataclass(frozen=True, kw_only=True)
class Data:
    """Pairs of sentences: two text files, one table, a prepared folder, or a synthetic corpus."""

    source: str = setting(
        "",
        "Training set, source side; or a .tsv, .csv, .jsonl or .tmx with both sides; or a folder of "
        "pictures with a captions.tsv.",
        is_path=True,
    )
    target: str = setting(
        "", "Training set, target side, line by line; none for a table.", is_path=True
    )
    columns: tuple[str, ...] = setting(
        (), "Columns of a table: those of the source and of the target.", lengths=(0, 2)
    )
    valid_source: str = setting(
        "", "Validation set, source side; else pairs are held out.", is_path=True
    )
    valid_target: str = setting("", "Validation set, target side; none for a table.", is_path=True)
    test_source: str = setting(
        "", "Test set, source side: used only to find leakage.", is_path=True
    )
    test_target: str = setting("", "Test set, target side; none for a table.", is_path=True)
    allow_leakage: bool = setting(
        False, "Leakage: train although validation or test sentences are in the training text."
    )
    drop_leaks: bool = setting(
        False, "Leakage: drop training pairs that hold a sentence of the validation or test set."
    )
    header: Header = setting(
        "auto", "Header: whether the first line of a table or of two text files names the columns."
    )
    delimiter: Delimiter = setting(
        "", "Delimiter of a .tsv or .csv; else detected, by its suffix and first lines."
    )
    unescape: bool = setting(
        False, "HTML entities such as `&amp;` are replaced by their characters on reading."
    )
    dedupe: bool = setting(False, "Duplicates: drop training pairs that repeat an earlier one.")
    synthetic: Synthetic = setting("", "Synthetic corpus: generates its own pairs; none for files.")
    pairs: int = setting(20_000, "Size of the synthetic corpus.", low=1, high=10**9, unit="pairs")
    core_share: float = setting(
        1.0, "Core vocabulary: share of the primer's words that are used.", low=0.01, high=1.0
    )
    source_language: str = setting(
        "", "Source language code; else that of the column or of the file name."
    )
    target_language: str = setting(
        "", "Target language code; else that of the column or of the file name."
    )
    max_tokens: int = setting(
        256,
        "Longest side of a pair; longer pairs are dropped.",
        low=1,
        high=1_000_000,
        unit="tokens",
    )
    min_words: int = setting(0, "Length filter: fewest words of a side.", low=0, high=1_000_000)
    max_words: int = setting(
        0, "Length filter: most words of a side; 0 for any.", low=0, high=1_000_000
    )
    max_length_ratio: float = setting(
        0.0, "Length filter: most words of a side per word of the other; 0 for any.", low=0.0
    )
    mix: tuple[MixedCorpus, ...] = setting((), "Further corpora, each with its weight.")
    codebook: str = setting(
        "", "Codebook of the target's symbols, which goes into the model: its output becomes a sound.",
        is_path=True,
    )  # fmt: skip
    prepared: str = setting(
        "", "Folder that `dhyan data prepare` wrote, instead of text.", is_path=True
    )


@dataclass(frozen=True, kw_only=True)
class Text:
    """Tokenizers and vocabularies, learned from the training pairs."""

    tokenizer: Literal["unigram", "bpe", "words", "characters", "sentencepiece"] = setting(
        "unigram",
        "Tokenizer: unigram (Kudo, 2018), BPE (Sennrich et al., 2016), words, characters; or the "
        "sentencepiece of an imported model.",
    )
    source_codec: Codec = setting(
        "",
        "Codec of the source, if not that of the task: a tokenizer, symbols between spaces, labels (a "
        "line is one), or frames: word_characters, image_columns, image_patches.",
    )
    target_codec: Codec = setting(
        "", "Codec of the target, if not that of the task: a tokenizer, symbols or labels."
    )
    source_vocabulary_size: int = setting(
        8000, "Source vocabulary size; with shared_vocabulary, that of both sides.", low=1
    )
    target_vocabulary_size: int = setting(8000, "Target vocabulary size.", low=1)
    shared_vocabulary: bool = setting(False, "Shared vocabulary: one for source and target.")
    vocabulary_pairs: int = setting(
        1_000_000, "Training pairs that the tokenizers are learned from, the first ones.", low=1
    )
    bpe_dropout: float = setting(
        0.0, "BPE dropout (Provilkov et al., 2020): probability to skip a merge in training.",
        low=0.0, high=0.99, only_with="tokenizer=bpe",
    )  # fmt: skip
    placeholders: tuple[Placeholder, ...] = setting(
        (), "Placeholders: kinds of spans that are copied verbatim instead of translated."
    )


@dataclass(frozen=True, kw_only=True)
class Frames:
    """Sources that come as frames, not as tokens: how they are cut, and the stem that reads them."""

    height: int = setting(
        32, "Height a picture is scaled to; a multiple of 8 with stem = strips.", low=1, high=512,
        unit="pixels",
    )  # fmt: skip
    width: int = setting(
        64, "Width a picture is scaled to, for image_patches.", low=1, high=512, unit="pixels"
    )
    columns: int = setting(
        4, "Columns of a strip, for image_columns.", low=1, high=512, unit="pixels"
    )
    patch: int = setting(8, "Side of a square, for image_patches.", low=1, high=512, unit="pixels")
    longest_word: int = setting(
        20, "Most characters of a word, for word_characters.", low=1, high=64, unit="characters"
    )
    characters: int = setting(
        500, "Most different characters, for word_characters.", low=5, high=100_000
    )
    stem: Literal["linear", "convolution", "strips"] = setting(
        "linear",
        "Stem of pictures: a linear layer (Dosovitskiy et al., 2021), a convolution over neighbouring "
        "frames, or over the picture that strips make up (Shi et al., 2017).",
    )
    kernel: int = setting(
        3, "Frames that a convolution sees at a time; odd.", low=1, high=63,
        only_with="stem=convolution",
    )  # fmt: skip
    channels: int = setting(
        32, "Channels of the first convolution.", low=1, high=4096, only_with="stem=strips"
    )
    character_width: int = setting(
        32, "Embedding width of a character, for word_characters.", low=1, high=4096
    )
    filters: int = setting(
        64, "Filters over the characters of a word (Ma and Hovy, 2016).", low=1, high=65536
    )
    word_dropout: float = setting(
        0.0, "Word dropout: probability that a word is unknown in training.", low=0.0, high=0.99
    )


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Attention of a recurrent decoder to the source: score, window, heads."""

    score: str = setting(
        "additive",
        "Attention score: additive, concat, dot, scaled_dot, general, location, coverage, "
        "location_aware (Chorowski et al., 2015), a registered one, or bottleneck for the encoder's "
        "last state at every step (Cho et al., 2014).",
    )
    heads: int = setting(1, "Number of attention heads.", low=1)
    kv_heads: int = setting(
        0, "Key-value heads (Ainslie et al., 2023), shared by groups of heads; 0 for as many as heads.",
        low=0,
    )  # fmt: skip
    score_width: int = setting(
        256, "Hidden width of the additive, coverage and location-aware score.", low=1
    )
    coverage_filters: int = setting(
        8, "Coverage and location-aware score: convolution filters over past weights.", low=1
    )
    coverage_filter_radius: int = setting(
        3,
        "Coverage and location-aware score: positions a filter sees on either side.",
        low=0,
        unit="tokens",
    )
    window: Literal["none", "monotonic", "predicted"] = setting(
        "none",
        "Local attention (Luong et al., 2015): window around the step, or a predicted position.",
    )
    window_radius: int = setting(
        10, "Local attention: positions on either side of the centre.", low=0, unit="tokens"
    )
    dropout: float = setting(0.0, "Dropout probability of attention weights.", low=0.0, high=0.99)


@dataclass(frozen=True, kw_only=True)
class RNNEncoder:
    """A recurrent encoder, uni- or bidirectional."""

    kind: Literal["rnn"] = setting("rnn", "Encoder type.")
    cell: Cell = setting("gru", "Recurrent cell: LSTM, GRU (Cho et al., 2014) or plain RNN.")
    input: Input = setting("embedding", "Input vectors: a learned embedding, or one-hot vectors.")
    pretrained_embedding: str = setting(
        "", "Pretrained embedding: a word2vec or GloVe file to start from.",
        only_with="input=embedding", is_path=True,
    )  # fmt: skip
    freeze_embedding: bool = setting(
        False,
        "Frozen embedding: the pretrained one is not trained.",
        only_with="pretrained_embedding",
    )
    embedding_width: int = setting(256, "Embedding width.", low=1)
    width: int = setting(256, "Hidden width; of one direction, in a bidirectional RNN.", low=1)
    layers: int = setting(1, "Number of layers.", low=1, high=250)
    dropout: float = setting(
        0.2, "Dropout probability (Srivastava et al., 2014).", low=0.0, high=0.99
    )
    bidirectional: bool = setting(False, "Bidirectional RNN (Schuster and Paliwal, 1997).")
    reverse_source: bool = setting(False, "Reversed source (Sutskever et al., 2014).")

    @property
    def states_width(self) -> int:
        """Width of the states that the decoder attends to."""
        return self.width * (2 if self.bidirectional else 1)


@dataclass(frozen=True, kw_only=True)
class BahdanauDecoder:
    """A recurrent decoder that attends before each step (Bahdanau et al., 2015)."""

    kind: Literal["bahdanau"] = setting("bahdanau", "Decoder type.")
    cell: Cell = redeclare(RNNEncoder, "cell")
    input: Input = redeclare(RNNEncoder, "input")
    pretrained_embedding: str = redeclare(RNNEncoder, "pretrained_embedding")
    freeze_embedding: bool = redeclare(RNNEncoder, "freeze_embedding")
    embedding_width: int = redeclare(RNNEncoder, "embedding_width")
    width: int = redeclare(RNNEncoder, "width")
    layers: int = redeclare(RNNEncoder, "layers")
    dropout: float = redeclare(RNNEncoder, "dropout")
    attention: Attention = field(default_factory=Attention)
    query: Literal["top", "sum"] = setting(
        "top",
        "Query of the attention: the state of the top layer, or the sum of all layers' states.",
    )
    bridge: Literal["learned", "direct"] = setting(
        "learned",
        "Bridge from the encoder's last state to the decoder's first: a learned layer, or a copy.",
    )
    tie_embeddings: bool = setting(
        False, "Tied embeddings (Press and Wolf, 2017): output weights = embedding."
    )
    share_source_embedding: bool = setting(
        False, "Shared embedding: the encoder's, for both; needs text.shared_vocabulary."
    )
    copy_mechanism: bool = setting(
        False,
        "Copy mechanism (See et al., 2017): can copy source tokens; needs text.shared_vocabulary.",
    )
    readout_width: int = setting(256, "Readout width: the maxout layer before the output.", low=1)

    @property
    def attends(self) -> bool:
        """Whether any weight depends on the words: a bottleneck's do not."""
        return self.attention.score != "bottleneck" or self.copy_mechanism


@dataclass(frozen=True, kw_only=True)
class LuongDecoder:
    """A recurrent decoder that attends after each step (Luong et al., 2015)."""

    kind: Literal["luong"] = setting("luong", "Decoder type.")
    cell: Cell = redeclare(RNNEncoder, "cell", default="lstm")
    input: Input = redeclare(RNNEncoder, "input")
    pretrained_embedding: str = redeclare(RNNEncoder, "pretrained_embedding")
    freeze_embedding: bool = redeclare(RNNEncoder, "freeze_embedding")
    embedding_width: int = redeclare(RNNEncoder, "embedding_width")
    width: int = redeclare(RNNEncoder, "width")
    layers: int = redeclare(RNNEncoder, "layers")
    dropout: float = redeclare(RNNEncoder, "dropout")
    attention: Attention = field(default_factory=lambda: Attention(score="general"))
    bridge: Literal["learned", "direct"] = redeclare(BahdanauDecoder, "bridge")
    tie_embeddings: bool = redeclare(BahdanauDecoder, "tie_embeddings")
    share_source_embedding: bool = redeclare(BahdanauDecoder, "share_source_embedding")
    copy_mechanism: bool = redeclare(BahdanauDecoder, "copy_mechanism")
    input_feeding: bool = setting(True, "Input feeding: the last attention output is an input.")

    @property
    def attends(self) -> bool:
        """Whether any weight depends on the words: a bottleneck's do not."""
        return self.attention.score != "bottleneck" or self.copy_mechanism


AttentiveDecoder = BahdanauDecoder | LuongDecoder
"""The recurrent decoders with attention to the source."""


@dataclass(frozen=True, kw_only=True)
class RNNDecoder:
    """A recurrent decoder without attention, started by the encoder (Sutskever et al., 2014)."""

    kind: Literal["rnn"] = setting("rnn", "Decoder type.")
    cell: Cell = redeclare(RNNEncoder, "cell", default="lstm")
    input: Input = redeclare(RNNEncoder, "input")
    pretrained_embedding: str = redeclare(RNNEncoder, "pretrained_embedding")
    freeze_embedding: bool = redeclare(RNNEncoder, "freeze_embedding")
    embedding_width: int = redeclare(RNNEncoder, "embedding_width")
    width: int = redeclare(RNNEncoder, "width")
    layers: int = redeclare(RNNEncoder, "layers")
    dropout: float = redeclare(RNNEncoder, "dropout")
    bridge: Literal["learned", "direct"] = redeclare(BahdanauDecoder, "bridge")
    tie_embeddings: bool = redeclare(BahdanauDecoder, "tie_embeddings")
    share_source_embedding: bool = redeclare(BahdanauDecoder, "share_source_embedding")
    copy_mechanism: bool = redeclare(BahdanauDecoder, "copy_mechanism")

    @property
    def attends(self) -> bool:
        """Whether any attention to the source is computed."""
        return self.copy_mechanism


@dataclass(frozen=True, kw_only=True)
class TransformerEncoder:
    """A Transformer encoder (Vaswani et al., 2017)."""

    input: ClassVar[Input] = "embedding"
    kind: Literal["transformer"] = setting("transformer", "Encoder type.")
    width: int = setting(512, "Model width.", low=1)
    heads: int = redeclare(Attention, "heads", default=8)
    kv_heads: int = redeclare(Attention, "kv_heads", only_with="self_attention=learned")
    score: str = setting(
        "scaled_dot",
        "Attention score of each head: scaled_dot (Vaswani et al., 2017), dot, general, additive or a "
        "registered one.",
        only_with="self_attention=learned",
    )
    feed_forward_width: int = setting(2048, "Feed-forward width.", low=1)
    activation: Activation = setting(
        "relu",
        "Feed-forward activation: ReLU, GELU, SiLU (swish), or SwiGLU and GEGLU (Shazeer, 2020).",
    )
    layers: int = redeclare(RNNEncoder, "layers", default=6)
    norm: Literal["pre", "post"] = setting(
        "pre", "Layer norm before (pre) or after (post) each sub-layer."
    )
    normalization: Literal["layer", "rms"] = setting(
        "layer", "Layer norm (Ba et al., 2016), or RMS norm (Zhang and Sennrich, 2019)."
    )
    positions: PositionEncoding = setting(
        "sinusoidal",
        "Position encoding: sinusoidal, learned, rotary (Su et al., 2021), ALiBi (Press et al., 2022), "
        "relative position bias (Raffel et al., 2020, T5) or none.",
    )
    position_buckets: int = setting(
        32, "Relative position bias: buckets of distances.", low=4, high=1024,
        only_with="positions=relative",
    )  # fmt: skip
    position_max_distance: int = setting(
        128, "Relative position bias: distance from which all share a bucket.", low=3,
        high=1_000_000, unit="tokens", only_with="positions=relative",
    )  # fmt: skip
    sinusoids: Sinusoids = setting(
        "interleaved",
        "Sinusoids: sines and cosines interleaved (Vaswani et al., 2017), in halves (Marian), or as in "
        "Tensor2Tensor and OpenNMT-tf, in halves with other periods and counted from 1; fairseq and "
        "M2M100 count from 2.",
        only_with="positions=sinusoidal",
    )
    scale_embedding: bool = setting(
        True, "Scaled embedding: token embeddings are multiplied by the square root of the width."
    )
    embedding_norm: bool = setting(
        False, "Layer norm of the embedding, after the positions are added (BART, mBART)."
    )
    pretrained_embedding: str = redeclare(RNNEncoder, "pretrained_embedding", only_with="")
    freeze_embedding: bool = redeclare(RNNEncoder, "freeze_embedding")
    dropout: float = redeclare(RNNEncoder, "dropout", default=0.1)
    attention_dropout: float = redeclare(Attention, "dropout", only_with="self_attention=learned")
    self_attention: Literal["learned", "parameter_free", "none"] = setting(
        "learned", "Self-attention: multi-head, parameter-free softmax(X Xᵀ) X, or none."
    )
    reads_eos: bool = setting(
        True, "Whether the EOS of the source is read; false for models trained without one."
    )

    @property
    def embedding_width(self) -> int:
        """A Transformer's embedding is as wide as the model."""
        return self.width

    @property
    def states_width(self) -> int:
        """Width of the states that the decoder attends to."""
        return self.width


@dataclass(frozen=True, kw_only=True)
class TransformerDecoder:
    """A Transformer decoder (Vaswani et al., 2017)."""

    input: ClassVar[Input] = "embedding"
    kind: Literal["transformer"] = setting("transformer", "Decoder type.")
    width: int = redeclare(TransformerEncoder, "width")
    heads: int = redeclare(TransformerEncoder, "heads")
    kv_heads: int = redeclare(TransformerEncoder, "kv_heads", only_with="")
    score: str = redeclare(TransformerEncoder, "score", only_with="")
    feed_forward_width: int = redeclare(TransformerEncoder, "feed_forward_width")
    activation: Activation = redeclare(TransformerEncoder, "activation")
    layers: int = redeclare(TransformerEncoder, "layers")
    norm: Literal["pre", "post"] = redeclare(TransformerEncoder, "norm")
    normalization: Literal["layer", "rms"] = redeclare(TransformerEncoder, "normalization")
    positions: PositionEncoding = redeclare(TransformerEncoder, "positions")
    position_buckets: int = redeclare(TransformerEncoder, "position_buckets")
    position_max_distance: int = redeclare(TransformerEncoder, "position_max_distance")
    sinusoids: Sinusoids = redeclare(TransformerEncoder, "sinusoids")
    scale_embedding: bool = redeclare(TransformerEncoder, "scale_embedding")
    embedding_norm: bool = redeclare(TransformerEncoder, "embedding_norm")
    pretrained_embedding: str = redeclare(TransformerEncoder, "pretrained_embedding")
    freeze_embedding: bool = redeclare(TransformerEncoder, "freeze_embedding")
    dropout: float = redeclare(TransformerEncoder, "dropout")
    attention_dropout: float = redeclare(TransformerEncoder, "attention_dropout", only_with="")
    tie_embeddings: bool = redeclare(BahdanauDecoder, "tie_embeddings", default=True)
    share_source_embedding: bool = redeclare(BahdanauDecoder, "share_source_embedding")
    copy_mechanism: bool = redeclare(BahdanauDecoder, "copy_mechanism")
    attends: ClassVar[bool] = True

    @property
    def embedding_width(self) -> int:
        """A Transformer's embedding is as wide as the model."""
        return self.width


@dataclass(frozen=True, kw_only=True)
class LinearDecoder:
    """A linear layer over the encoder's state at the position of each output, for tags."""

    input: ClassVar[Input] = "embedding"
    pretrained_embedding: ClassVar[str] = ""
    freeze_embedding: ClassVar[bool] = False
    embedding_width: ClassVar[int] = 0
    layers: ClassVar[int] = 1
    tie_embeddings: ClassVar[bool] = False
    share_source_embedding: ClassVar[bool] = False
    copy_mechanism: ClassVar[bool] = False
    attends: ClassVar[bool] = False
    kind: Literal["linear"] = setting("linear", "Decoder type.")
    transitions: bool = setting(
        False, "Transitions between outputs: a linear-chain CRF (Lafferty et al., 2001)."
    )
    dropout: float = redeclare(RNNEncoder, "dropout")


Encoder = RNNEncoder | TransformerEncoder
Decoder = RNNDecoder | AttentiveDecoder | TransformerDecoder | LinearDecoder


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a model is trained; a step is one update of the weights."""

    init_from: str = setting(
        "", "Fine-tuning: trained model to start from, a folder or the name of a pretrained model.",
        is_path=True, is_model=True,
    )  # fmt: skip
    init_vocabulary: Literal["keep", "extend", "new"] = setting(
        "keep", "Fine-tuning: keep that model's vocabularies, extend them, or learn new ones.",
        only_with="init_from",
    )  # fmt: skip
    steps: int = setting(
        10_000, "Length of the training, in updates of the weights.", low=1, unit="steps"
    )
    epochs: int = setting(
        0, "Epochs: length of the training in passes over all pairs; 0 for training.steps.",
        low=0, high=10_000,
    )  # fmt: skip
    tokens_per_batch: int = setting(
        4096, "Batch size with padding, of the longer side; 0 for the largest that fits.",
        low=0, unit="tokens",
    )  # fmt: skip
    gradient_accumulation: int = setting(1, "Gradient accumulation: batches per step.", low=1)
    optimizer: Literal["adam", "adamw", "sgd"] = setting("adam", "Optimizer.")
    learning_rate: float = setting(1e-3, "Learning rate after warmup.", low=1e-12)
    betas: tuple[float, ...] = setting(
        (0.9, 0.98),
        "Adam's decay rates (Kingma and Ba, 2015).",
        low=0.0,
        high=0.9999999,
        lengths=(2,),
    )
    weight_decay: float = setting(0.0, "Weight decay.", low=0.0)
    schedule: Literal["constant", "inverse_sqrt", "halving", "cosine", "plateau"] = setting(
        "constant", "Learning rate schedule."
    )
    warmup_steps: int = setting(0, "Linear warmup of the learning rate.", low=0, unit="steps")
    halve_from: int = setting(
        0, "Halving schedule: first halving.", low=0, unit="steps", only_with="schedule=halving"
    )
    halve_every: int = setting(
        0, "Halving schedule: interval.", low=0, unit="steps",
        only_with="schedule=halving",
    )  # fmt: skip
    min_learning_rate_ratio: float = setting(
        0.0, "Cosine and plateau schedule: lowest learning rate as a share of learning_rate.",
        low=0.0, high=1.0, only_with="schedule=cosine|plateau",
    )  # fmt: skip
    plateau_factor: float = setting(
        0.5, "Plateau schedule: factor of the learning rate.", low=1e-6, high=0.999999,
        only_with="schedule=plateau",
    )  # fmt: skip
    plateau_patience: int = setting(
        2, "Plateau schedule: validations without improvement.", low=1,
        only_with="schedule=plateau",
    )  # fmt: skip
    clip_norm: float = setting(1.0, "Gradient clipping: largest global norm.", low=1e-12)
    label_smoothing: float = setting(
        0.1, "Label smoothing (Szegedy et al., 2016).", low=0.0, high=0.99
    )
    ema_decay: float = setting(
        0.0, "Decay of an exponential moving average of the weights, which is validated and saved; "
        "0 for none.", low=0.0, high=0.9999999,
    )  # fmt: skip
    r_drop: float = setting(
        0.0, "R-Drop (Liang et al., 2021): weight of the divergence of two dropout passes.", low=0.0
    )
    teacher_forcing_schedule: Literal["constant", "linear", "exponential", "inverse_sigmoid"] = (
        setting("constant", "Scheduled sampling (Bengio et al., 2015): decay of teacher forcing.")
    )
    teacher_forcing: float = setting(
        1.0, "Teacher forcing: first probability to feed the reference token.", low=0.0, high=1.0,
        only_with="teacher_forcing_schedule=constant|linear",
    )  # fmt: skip
    teacher_forcing_slope: float = setting(
        0.0, "Scheduled sampling, linear: fall of the probability per step.", low=0.0,
        only_with="teacher_forcing_schedule=linear",
    )  # fmt: skip
    teacher_forcing_k: float = setting(
        1.0, "Scheduled sampling: k of the exponential and inverse sigmoid decay.", low=0.0,
        only_with="teacher_forcing_schedule=exponential|inverse_sigmoid",
    )  # fmt: skip
    teacher_forcing_min: float = setting(
        0.0, "Scheduled sampling, linear: lowest probability.", low=0.0, high=1.0,
        only_with="teacher_forcing_schedule=linear",
    )  # fmt: skip
    precision: Literal["auto", "fp32", "bf16"] = setting(
        "auto", "Precision: single, or mixed with bfloat16; auto mixes on a CPU that multiplies "
        "bfloat16 (AVX512-BF16, AMX), and is single elsewhere.",
    )  # fmt: skip
    kernels: Literal["auto", "reference"] = setting(
        "auto", "Kernels: fused where possible, or the reference definitions alone."
    )
    deterministic: bool = setting(
        False, "Deterministic algorithms: a GPU repeats a run bit for bit, as a CPU does anyway."
    )
    exact: bool = setting(
        False, "Exact: the same weights, bit for bit, for any number of processes up to "
        "gradient_accumulation; deterministic algorithms, and one CPU thread unless more are given.",
    )  # fmt: skip
    shard_weights: bool = setting(
        False, "FSDP2 with several processes: weights, gradients and optimizer state are sharded over "
        "their devices, for Transformers that do not fit one.",
    )  # fmt: skip
    validate_every: int = setting(500, "Validation interval.", low=1, unit="steps")
    valid_sentences: int = setting(
        200, "Validation sentences that are translated and scored; 0 for the loss alone.", low=0
    )
    save_every: int = setting(500, "Checkpoint interval.", low=1, unit="steps")
    keep_checkpoints: int = setting(2, "Newest checkpoints to keep, beside the best.", low=1)
    early_stopping_metric: str = setting(
        "loss", "Early stopping: metric that chooses the best checkpoint, loss or one of the task "
        "(bleu or chrf of translations).",
    )  # fmt: skip
    patience: int = setting(
        0,
        "Early stopping: validations without improvement; 0 for never.",
        low=0,
    )
    report_every: int = setting(10, "Report interval.", low=1, unit="steps")
    tensorboard: bool = setting(False, "TensorBoard: write the metrics for it.")
    trackers: tuple[Literal["mlflow", "wandb"], ...] = setting(
        (),
        "Experiment trackers that get the metrics too: MLflow, Weights & Biases; both stay local.",
    )
    seed: int = setting(1, "Random seed of weights, order and dropout.", low=0)
