"""Recipe, the configuration of a run: its sections, and the check that settings go together."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from dhyan.config.declare_settings import problems_in, setting, unused_in
from dhyan.config.decoding import DecodingOptions
from dhyan.config.sections import (
    FRAME_CODECS,
    PICTURE_CODECS,
    Attention,
    AttentiveDecoder,
    BahdanauDecoder,
    Data,
    Decoder,
    Encoder,
    Frames,
    LinearDecoder,
    LuongDecoder,
    RNNDecoder,
    RNNEncoder,
    Text,
    Training,
    TransformerDecoder,
    TransformerEncoder,
)
from dhyan.errors import UnsupportedOption, UserError

Problem = tuple[str, str]  # dotted key; what is wrong and what to do
CHECKED_FOR_USE = ("data", "text", "frames", "encoder", "decoder", "training")
DOT_SCORES = ("dot", "scaled_dot")
RELATIVE_POSITIONS = ("rotary", "alibi", "relative")


class RecipeError(UserError):
    """Every problem of a recipe: its place, what was found, what to do."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; also ".join(problems))
        self._problems = problems

    @property
    def problems(self) -> list[str]:
        """Each problem by itself."""
        return self._problems


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Every setting of a run, in sections, from corpus to search.

    `dhyan.load_recipe` reads one; `dataclasses.replace` changes it.

    >>> recipe = dhyan.load_recipe("numbers")
    >>> recipe.training.steps, recipe.decoder.attention.score
    (800, 'additive')
    """

    about: str = setting("", "Description, in one sentence.")
    task: str = setting(
        "translate", "Task: translate, another of `dhyan tasks`, or a registered one."
    )
    data: Data = field(default_factory=Data)
    text: Text = field(default_factory=Text)
    frames: Frames = field(default_factory=Frames)
    encoder: RNNEncoder | TransformerEncoder
    decoder: RNNDecoder | BahdanauDecoder | LuongDecoder | TransformerDecoder | LinearDecoder
    training: Training = field(default_factory=Training)
    decoding: DecodingOptions = field(default_factory=DecodingOptions)

    def check(self, place: str = "") -> None:
        """Raise a `RecipeError` that names every problem; `place` is where the recipe stands."""
        if problems := list(self.problems()):
            before = f"{place}." if place else ""
            raise RecipeError([f"{before}{key}: {problem}" for key, problem in problems])

    def problems(self) -> Iterator[Problem]:
        """Dotted key and problem of each setting that is out of bounds, unused or contradicted.

        Contradictions are looked for only among settings that are all within their bounds.
        """
        out_of_bounds = list(problems_in(self))
        yield from out_of_bounds
        if not out_of_bounds:
            yield from contradictions(self)


def contradictions(recipe: Recipe) -> Iterator[Problem]:
    """Every setting without effect, and every one that another contradicts."""
    for name in CHECKED_FOR_USE:  # [decoding] may hold a temperature for whoever samples
        for key, problem in unused_in(getattr(recipe, name)):
            yield f"{name}.{key}", problem
    yield from _in_data(recipe.data)
    yield from _in_codecs(recipe)
    if isinstance(recipe.encoder, TransformerEncoder):
        yield from _in_transformer_encoder(recipe.encoder)
    if isinstance(recipe.decoder, TransformerDecoder):
        yield from _in_heads("decoder", recipe.decoder)
    if isinstance(recipe.decoder, BahdanauDecoder):
        yield from _in_bahdanau_decoder(recipe.decoder)
    if isinstance(recipe.decoder, AttentiveDecoder):
        yield from _in_attention(recipe.decoder.attention)
    yield from _in_decoder_embedding(recipe.decoder)
    yield from _in_training(recipe.training)
    yield from _in_forcing_schedule(recipe.training)
    for problem in recipe.decoding.problems():
        yield "decoding", str(UnsupportedOption(problem))
    yield from _between_sections(recipe)


def _in_data(data: Data) -> Iterator[Problem]:
    for side in ("", "valid_", "test_"):
        target, source = getattr(data, f"{side}target"), getattr(data, f"{side}source")
        if target and not source:
            option = f"--{side.replace('_', '-')}source"
            yield (
                f"data.{side}target",
                f"{target!r} has no source side; name data.{side}source too ({option} FILE)",
            )
    if 0 < data.max_length_ratio < 1:
        yield (
            "data.max_length_ratio",
            f"{data.max_length_ratio:g} allows no pair; give 1 or more, or 0 for any",
        )
    if 0 < data.max_words < data.min_words:
        yield (
            "data.max_words",
            f"{data.max_words} is below data.min_words = {data.min_words}; raise it",
        )
    if data.drop_leaks and data.allow_leakage:
        yield "data.drop_leaks", "data.allow_leakage keeps what it drops; set one of them to false"
    if data.synthetic:
        yield from _unused_with_task(data)


def _unused_with_task(data: Data) -> Iterator[Problem]:
    """A task generates its own pairs; only the primer follows the bounds on words."""
    files = [name for name in ("source", "mix", "prepared") if getattr(data, name)]
    if files:
        others = " and ".join(f"data.{name}" for name in files)
        yield (
            "data.synthetic",
            f"{data.synthetic!r} makes its own pairs, and {others} names others; drop one",
        )
    bounds = () if data.synthetic == "primer" else ("min_words", "max_words")
    files_only = ("valid_source", "test_source", "unescape", "dedupe", "drop_leaks", "delimiter")
    for name in (*bounds, "max_length_ratio", *files_only):
        if getattr(data, name):
            yield (
                f"data.{name}",
                f"data.synthetic = {data.synthetic!r} makes its own pairs; leave it out",
            )


def _in_codecs(recipe: Recipe) -> Iterator[Problem]:
    """Codecs that do not fit each other, and settings that need tokens where there are frames."""
    text, source, target = recipe.text, recipe.text.source_codec, recipe.text.target_codec
    if target in FRAME_CODECS:
        yield "text.target_codec", f"{target} are frames, which only a source can be; give another"
    if text.shared_vocabulary and (source or text.tokenizer) != (target or text.tokenizer):
        yield (
            "text.shared_vocabulary",
            f"{source or text.tokenizer} and {target or text.tokenizer} have no vocabulary in common; "
            f"give the same codec twice",
        )
    if source in FRAME_CODECS:
        yield from _in_frames(recipe)


def _in_frames(recipe: Recipe) -> Iterator[Problem]:
    """Settings that need a source of tokens, and stems that do not fit the codec."""
    source, frames, encoder = recipe.text.source_codec, recipe.frames, recipe.encoder
    need_text = {}
    if source in PICTURE_CODECS:
        names = ("min_words", "max_words", "max_length_ratio", "unescape")
        need_text = {f"data.{name}": getattr(recipe.data, name) for name in names}
    for key, given in need_text.items():
        if given:
            yield key, f"needs a source of text, and {source} are pictures; leave it out"
    need_tokens = {
        "text.placeholders": recipe.text.placeholders,
        "text.bpe_dropout": recipe.text.bpe_dropout,
        "data.prepared": recipe.data.prepared,
        "encoder.input": encoder.input == "one_hot",
    }
    for key, given in need_tokens.items():
        if given:
            yield key, f"needs a source of tokens, and {source} are frames; leave it out"
    is_transformer = isinstance(encoder, TransformerEncoder)
    if source == "word_characters" and is_transformer and frames.filters >= encoder.width:
        problem = f"{frames.filters} leave nothing of a width of {encoder.width}; give fewer"
        yield "frames.filters", problem
    if frames.stem == "strips" and (source != "image_columns" or frames.height % 8):
        yield "frames.stem", "'strips' needs image_columns of a height that is a multiple of 8"
    if frames.stem == "convolution" and frames.kernel % 2 == 0:
        yield "frames.kernel", f"{frames.kernel} is even; give an odd number"


def _in_transformer_encoder(encoder: TransformerEncoder) -> Iterator[Problem]:
    if encoder.self_attention == "learned":
        yield from _in_heads("encoder", encoder)
    elif encoder.positions in RELATIVE_POSITIONS:
        yield (
            "encoder.positions",
            f"{encoder.positions} positions are part of a learned self-attention; with "
            f"self_attention = {encoder.self_attention!r} give others",
        )


def _in_heads(name: str, section: TransformerEncoder | TransformerDecoder) -> Iterator[Problem]:
    """Multi-head attention whose heads, key-value heads, score and positions do not fit."""
    width, heads, score = section.width, section.heads, section.score
    if width % heads:
        yield (
            f"{name}.heads",
            f"width {width} does not divide into {heads} heads; change one of them",
        )
    elif section.kv_heads and heads % section.kv_heads:
        yield (
            f"{name}.kv_heads",
            f"{heads} heads cannot share {section.kv_heads}; give a divisor of {heads}",
        )
    if score == "bottleneck":
        yield f"{name}.score", "the bottleneck is not a score; the heads of a Transformer need one"
    elif section.positions in RELATIVE_POSITIONS and score not in DOT_SCORES:
        yield (
            f"{name}.positions",
            f"{section.positions} positions go with the scores dot and scaled_dot, not {score}; "
            f"change one of them",
        )


def _in_bahdanau_decoder(decoder: BahdanauDecoder) -> Iterator[Problem]:
    if decoder.attention.score == "concat":
        yield (
            "decoder.attention.score",
            "concat scores the current state, and this decoder attends with the previous one; "
            "call it attention.score = 'additive'",
        )


def _in_attention(attention: Attention) -> Iterator[Problem]:
    if attention.score == "bottleneck":
        if attention.heads > 1 or attention.window != "none":
            key = "heads" if attention.heads > 1 else "window"
            yield (
                f"decoder.attention.{key}",
                "the bottleneck attends to one state, without heads or window; leave it out",
            )
    elif attention.heads == 1 and attention.kv_heads > 1:
        yield (
            "decoder.attention.kv_heads",
            f"{attention.kv_heads} key-value heads for one head; raise heads",
        )


def _in_decoder_embedding(decoder: Decoder) -> Iterator[Problem]:
    """An embedding that is frozen, shared or tied."""
    if decoder.input == "one_hot" and decoder.tie_embeddings:
        yield (
            "decoder.tie_embeddings",
            "one-hot input has no embedding to tie; set tie_embeddings = false",
        )
    if decoder.freeze_embedding and decoder.tie_embeddings:
        yield (
            "decoder.tie_embeddings",
            "a frozen embedding cannot be tied to the output; set tie_embeddings = false",
        )
    if decoder.share_source_embedding:
        for name in ("pretrained_embedding", "freeze_embedding"):
            if getattr(decoder, name):
                yield (
                    f"decoder.{name}",
                    "share_source_embedding takes the encoder's vectors; leave it out",
                )


def _in_training(training: Training) -> Iterator[Problem]:
    if training.schedule == "halving" and not training.halve_every:
        yield "training.halve_every", "the schedule 'halving' needs it; give at least 1"
    by_steps = not training.epochs  # the number of steps of an epoch depends on the data
    if training.schedule == "cosine" and by_steps and training.warmup_steps >= training.steps:
        yield (
            "training.warmup_steps",
            f"{training.warmup_steps:,} steps leave nothing of training.steps = "
            f"{training.steps:,} for the cosine; give fewer",
        )
    if training.early_stopping_metric != "loss" and not training.valid_sentences:
        yield (
            "training.early_stopping_metric",
            f"{training.early_stopping_metric!r} needs valid_sentences above 0",
        )


def _in_forcing_schedule(training: Training) -> Iterator[Problem]:
    """Scheduled sampling with a parameter that does not make it decay."""
    k = training.teacher_forcing_k
    match training.teacher_forcing_schedule:
        case "linear" if not training.teacher_forcing_slope:
            yield "training.teacher_forcing_slope", "with 0 the probability never falls; give more"
        case "exponential" if k >= 1:
            yield "training.teacher_forcing_k", f"{k:g} ** step never falls; give less than 1"
        case "inverse_sigmoid" if k < 1:
            yield (
                "training.teacher_forcing_k",
                f"{k:g} is too small for inverse_sigmoid; give 1 or more",
            )


def _between_sections(recipe: Recipe) -> Iterator[Problem]:
    encoder, decoder, training = recipe.encoder, recipe.decoder, recipe.training
    tokens, longest = training.tokens_per_batch, recipe.data.max_tokens
    if training.shard_weights:
        yield from _in_sharding(recipe)
    if tokens and tokens < longest + 2:
        yield (
            "training.tokens_per_batch",
            f"{tokens} cannot hold one sentence of data.max_tokens = {longest} tokens; "
            f"raise the one or lower the other",
        )
    for name in ("copy_mechanism", "share_source_embedding"):
        if getattr(decoder, name) and not recipe.text.shared_vocabulary:
            yield (
                f"decoder.{name}",
                "needs one vocabulary for both sides; set text.shared_vocabulary = true",
            )
    if decoder.share_source_embedding:
        yield from _in_shared_embedding(encoder, decoder)
    if isinstance(decoder, AttentiveDecoder):
        yield from _in_dot_score(encoder, decoder.attention, decoder.width)
    if "one_hot" in (encoder.input, decoder.input) and training.init_vocabulary != "keep":
        yield (
            "training.init_vocabulary",
            "one-hot input has no rows to carry over; give 'keep'",
        )


def _in_sharding(recipe: Recipe) -> Iterator[Problem]:
    """What cannot be sharded."""
    key = "training.shard_weights"
    if not isinstance(recipe.encoder, TransformerEncoder) or not isinstance(
        recipe.decoder, TransformerDecoder
    ):
        yield key, "only Transformers are sharded, layer by layer; leave it out"
    if recipe.training.exact:
        yield key, "sharded gradients have no fixed order of sums; leave out it or training.exact"


def _in_shared_embedding(encoder: Encoder, decoder: Decoder) -> Iterator[Problem]:
    """Why a decoder cannot use the encoder's embedding."""
    key = "decoder.share_source_embedding"
    if encoder.input == "one_hot":
        yield key, "one-hot input has no embedding to share; set share_source_embedding = false"
    elif encoder.embedding_width != decoder.embedding_width:
        yield (
            key,
            f"needs equal widths: the encoder's embedding is {encoder.embedding_width} wide, the "
            f"decoder's {decoder.embedding_width}; change one of them",
        )
    elif encoder.freeze_embedding and decoder.tie_embeddings:
        yield (
            "decoder.tie_embeddings",
            "a frozen embedding cannot be tied to the output; set tie_embeddings = false",
        )


def _in_dot_score(encoder: Encoder, attention: Attention, width: int) -> Iterator[Problem]:
    """A dot product of states with different widths; heads project them to one width."""
    score, states_width = attention.score, encoder.states_width
    if score in DOT_SCORES and attention.heads == 1 and width != states_width:
        yield (
            "decoder.attention.score",
            f"the {score} score needs equal widths: the decoder is {width} wide, the "
            f"encoder's states {states_width}; use attention.score = 'general'",
        )
