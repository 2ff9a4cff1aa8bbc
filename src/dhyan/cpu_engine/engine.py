"""`CpuEngine`: a model's weights in the compiled library, and translation of token ids with it."""

import ctypes
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dhyan import config
from dhyan.config import Recipe
from dhyan.config.sections import Decoder, Encoder
from dhyan.cpu_engine.library import Half, Weight, library_target, load_library

MAX_BEAM = 32  # wider beams take the plain search
FIRST_POSITIONS = 256  # of the tables of position vectors, which grow
MESSAGE_BYTES = 256

KINDS = {"transformer": 0, "rnn": 1, "bahdanau": 2, "luong": 3}
CELLS = {"lstm": 0, "gru": 1, "rnn": 2}
SCORES = {"additive": 0, "concat": 0, "dot": 1, "scaled_dot": 2, "general": 3}
FIRST_STATE, LAST_STATE = 4, 5
ACTIVATIONS = {"relu": 0, "gelu": 1, "silu": 2, "swiglu": 3}
POSITIONS = {"sinusoidal": 0, "learned": 0, "none": 1, "rotary": 2, "alibi": 3}

FIRST_POSITION = {"tensor2tensor": 1, "fairseq": 2}  # of layouts that do not count from 0

FloatArray = NDArray[np.float32]
Output = tuple[list[int], float, bool]
"""The tokens of a hypothesis without EOS, its score, and whether it ended with EOS."""


def supports_recipe(recipe: Recipe) -> bool:
    """Whether the engine has the encoder and the decoder of a recipe; torch has all of them."""
    encoder, decoder = recipe.encoder, recipe.decoder
    frames = recipe.text.source_codec in ("word_characters", "image_columns", "image_patches")
    if frames or isinstance(decoder, config.LinearDecoder) or decoder.copy_mechanism:
        return False
    if isinstance(encoder, config.TransformerEncoder) and encoder.self_attention != "learned":
        return False
    embeds = encoder.input == decoder.input == "embedding"
    return embeds and all(map(_supports_attention, (encoder, decoder)))


def _supports_attention(half: Encoder | Decoder) -> bool:
    match half:
        case config.TransformerEncoder() | config.TransformerDecoder():
            plain = half.normalization == "layer" and not half.embedding_norm
            known = half.activation in ACTIVATIONS and half.positions in POSITIONS
            return plain and known and half.score in ("scaled_dot", "dot")
        case config.BahdanauDecoder() | config.LuongDecoder():
            attention = half.attention
            known = attention.score in SCORES or attention.score == "bottleneck"
            top = isinstance(half, config.LuongDecoder) or half.query == "top"
            return known and top and attention.heads == 1 and attention.window == "none"
    return True


class CpuEngine:
    """A model in the compiled library; several threads share its weights.

    `recipe` must be supported, and `weights` are the float32 weights by the names of the model's
    parameters. With `int8` the weights are rounded to a scale per row, and the inputs of every
    linear layer to a scale per token.
    """

    def __init__(
        self,
        recipe: Recipe,
        weights: Mapping[str, FloatArray],
        source_size: int,
        target_size: int,
        *,
        int8: bool,
    ) -> None:
        self.library = load_library()
        self.lock = Lock()
        self.int8 = int8
        self.recipe = recipe
        halves = encoder_half(recipe, source_size), decoder_half(recipe, target_size)
        named = with_tied_names(recipe, weights)
        self.positions = [
            Positions(side, half, named.pop(f"{side}.embedding.positions.table", None))
            for side, half in (("encoder", recipe.encoder), ("decoder", recipe.decoder))
        ]
        arrays = {
            name: np.ascontiguousarray(weight, np.float32).reshape(-1, weight.shape[-1])
            for name, weight in named.items()
        }
        table = (Weight * len(arrays))(
            *(
                Weight(name.encode(), array.ctypes.data, *array.shape)
                for name, array in arrays.items()
            )
        )
        message = ctypes.create_string_buffer(MESSAGE_BYTES)
        self.model = self.library.dhyan_model_new(
            *map(ctypes.byref, halves), table, len(table), int8, message, MESSAGE_BYTES
        )
        if not self.model:
            raise failure(message)

    def __del__(self) -> None:
        if getattr(self, "model", None):
            self.library.dhyan_model_free(self.model)

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        *,
        beam: int,
        max_lengths: Sequence[int],
        length_penalty: float = 0.0,
        nbest: int | None = None,
        threads: int = 1,
    ) -> list[list[Output]]:
        """The hypotheses of each sentence, best first; a beam of 1 is greedy search.

        `sources` end in EOS, `max_lengths` count EOS, and scores are log-probability / length **
        length_penalty. A sentence whose scores are not finite has no hypothesis.
        """
        if not sources:
            return []
        lengths = np.fromiter(map(len, sources), np.int64, len(sources))
        starts = np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
        ids = np.fromiter((id for source in sources for id in source), np.int32, starts[-1])
        limits = np.array(max_lengths, np.int32)
        if len(limits) != len(sources):
            raise ValueError(f"{len(limits)} maximum lengths for {len(sources)} sentences")
        message = ctypes.create_string_buffer(MESSAGE_BYTES)
        with self.lock:
            self._extend_positions(int(lengths.max()), int(limits.max()))
            results = self.library.dhyan_translate(
                self.model,
                pointer(ids, ctypes.c_int32),
                pointer(starts, ctypes.c_int64),
                pointer(limits, ctypes.c_int32),
                len(sources),
                beam,
                min(nbest or beam, beam),
                length_penalty,
                threads,
                message,
                MESSAGE_BYTES,
            )
        if not results:
            raise failure(message)
        try:
            return self._read(results, len(sources))
        finally:
            self.library.dhyan_results_free(results)

    def _extend_positions(self, source: int, target: int) -> None:
        message = ctypes.create_string_buffer(MESSAGE_BYTES)
        for side, length in enumerate((source, target)):
            table = self.positions[side].table(length)
            if table is not None and not self.library.dhyan_model_positions(
                self.model,
                side,
                pointer(table, ctypes.c_float),
                len(table),
                message,
                MESSAGE_BYTES,
            ):
                raise failure(message)

    def _read(self, results: int, sentences: int) -> list[list[Output]]:
        sizes = ctypes.c_int64(), ctypes.c_int64()
        self.library.dhyan_results_size(results, *map(ctypes.byref, sizes))
        hypotheses, tokens = (size.value for size in sizes)
        counts, lengths = np.empty(sentences, np.int32), np.empty(hypotheses, np.int32)
        scores, finished = np.empty(hypotheses, np.float32), np.empty(hypotheses, np.uint8)
        ids = np.empty(tokens, np.int32)
        self.library.dhyan_results_copy(
            results,
            pointer(counts, ctypes.c_int32),
            pointer(lengths, ctypes.c_int32),
            pointer(scores, ctypes.c_float),
            pointer(finished, ctypes.c_uint8),
            pointer(ids, ctypes.c_int32),
        )
        all_ids, at = ids.tolist(), 0
        outputs: list[Output] = []
        for length, score, end in zip(
            lengths.tolist(), scores.tolist(), finished.tolist(), strict=True
        ):
            outputs.append((all_ids[at : at + length], score, bool(end)))
            at += length
        remaining = iter(outputs)
        return [[next(remaining) for _ in range(count)] for count in counts.tolist()]


class Positions:
    """The position vectors of one half of a model, as many as were needed so far."""

    def __init__(self, side: str, settings: Encoder | Decoder, learned: FloatArray | None) -> None:
        self.settings, self.learned, self.count = settings, learned, 0
        has_table = (
            isinstance(settings, config.TransformerEncoder | config.TransformerDecoder)
            and settings.positions == "learned"
        )
        if has_table != (learned is not None):
            raise ValueError(f"the {side}'s positions are missing, or have no place")
        if learned is not None and learned.shape[1:] != (settings.embedding_width,):
            raise ValueError(f"the {side}'s positions have another shape")

    def table(self, length: int) -> FloatArray | None:
        """A table of at least so many positions, if the last one was too short."""
        half = self.settings
        if not isinstance(half, config.TransformerEncoder | config.TransformerDecoder):
            return None
        if half.positions not in ("sinusoidal", "learned") or length <= self.count:
            return None
        if half.positions == "learned":
            assert self.learned is not None, "checked at the start"
            table = np.ascontiguousarray(self.learned, np.float32)
        else:
            table = sinusoids(half.width, half.sinusoids, max(FIRST_POSITIONS, 2 * length))
        self.count = len(table)
        return table


def sinusoids(width: int, layout: str, count: int) -> FloatArray:
    """The vectors of the first positions, as `models.positions.Sinusoids` has them."""
    first = FIRST_POSITION.get(layout, 0)
    span = max(width - 2, 1) if layout in FIRST_POSITION else width
    exponents = np.arange(0, width, 2, dtype=np.float32) / np.float32(span)
    frequencies = np.float32(10_000) ** -exponents
    angles = np.outer(np.arange(first, first + count, dtype=np.float32), frequencies)
    sines, cosines = np.sin(angles), np.cos(angles)
    if layout == "interleaved":
        table = np.stack([sines, cosines], axis=-1).reshape(count, -1)
    else:
        table = np.concatenate([sines, cosines], axis=-1)
    return np.ascontiguousarray(table[:, :width], np.float32)


def encoder_half(recipe: Recipe, vocabulary: int) -> Half:
    """The encoder's settings for the library."""
    match recipe.encoder:
        case config.TransformerEncoder() as settings:
            return transformer_half(settings, vocabulary, reads_eos=settings.reads_eos)
        case config.RNNEncoder() as settings:
            return Half(
                kind=KINDS["rnn"],
                vocabulary=vocabulary,
                embedding_width=settings.embedding_width,
                width=settings.width,
                layers=settings.layers,
                cell=CELLS[settings.cell],
                bidirectional=settings.bidirectional,
                reverse=settings.reverse_source,
            )


def decoder_half(recipe: Recipe, vocabulary: int) -> Half:
    """The decoder's settings for the library."""
    match recipe.decoder:
        case config.TransformerDecoder() as settings:
            return transformer_half(settings, vocabulary)
        case config.LinearDecoder():
            raise ValueError("the engine has no linear decoder")
        case settings:
            half = Half(
                kind=KINDS[settings.kind],
                vocabulary=vocabulary,
                embedding_width=settings.embedding_width,
                width=settings.width,
                layers=settings.layers,
                cell=CELLS[settings.cell],
                learned_bridge=settings.bridge == "learned",
            )
    if isinstance(settings, config.BahdanauDecoder):
        half.readout_width = settings.readout_width
    if isinstance(settings, config.LuongDecoder):
        half.input_feeding = settings.input_feeding
    if isinstance(settings, config.BahdanauDecoder | config.LuongDecoder):
        half.score_width = settings.attention.score_width
        reads_first = (
            isinstance(recipe.encoder, config.RNNEncoder) and recipe.encoder.reverse_source
        )
        no_attention = FIRST_STATE if reads_first else LAST_STATE
        half.score = SCORES.get(settings.attention.score, no_attention)
    return half


def transformer_half(
    settings: config.TransformerEncoder | config.TransformerDecoder,
    vocabulary: int,
    *,
    reads_eos: bool = True,
) -> Half:
    """The settings of a stack of layers."""
    return Half(
        kind=KINDS["transformer"],
        vocabulary=vocabulary,
        embedding_width=settings.width,
        width=settings.width,
        layers=settings.layers,
        heads=settings.heads,
        kv_heads=settings.kv_heads or settings.heads,
        feed_forward_width=settings.feed_forward_width,
        activation=ACTIVATIONS[settings.activation],
        pre_norm=settings.norm == "pre",
        positions=POSITIONS[settings.positions],
        scaled=settings.score == "scaled_dot",
        scale_embedding=settings.scale_embedding,
        reads_eos=reads_eos,
    )


def with_tied_names(recipe: Recipe, weights: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """The weights with each tied one under all of its names."""
    named, decoder = dict(weights), recipe.decoder
    embeddings = {
        side: f"{side}.{'embedding.' if half.kind == 'transformer' else ''}token_embedding.weight"
        for side, half in (("encoder", recipe.encoder), ("decoder", decoder))
    }
    tied = []
    if decoder.share_source_embedding:
        tied.append((embeddings["encoder"], embeddings["decoder"]))
    if decoder.tie_embeddings:
        tied.append((embeddings["decoder"], "decoder.output.weight"))
    for name, other in tied:
        if name not in named or other in named:
            raise ValueError(f"{other} is not tied to {name}")
        named[other] = named[name]
    return named


def build_engine(
    recipe: Recipe,
    weights: Mapping[str, FloatArray],
    source_size: int,
    target_size: int,
    *,
    int8: bool,
) -> CpuEngine | None:
    """The engine of a model; None where it is not compiled, or has no such model."""
    if library_target() is None or not supports_recipe(recipe):
        return None
    try:
        return CpuEngine(recipe, weights, source_size, target_size, int8=int8)
    except ValueError:  # weights that do not fit: whoever builds the module says which
        return None


def failure(message: Any) -> Exception:
    """The error that the library reports."""
    text = message.value.decode(errors="replace")
    return MemoryError(text) if text == "out of memory" else ValueError(text)


def pointer(array: NDArray[Any], kind: Any) -> Any:
    """The numbers of a contiguous array, for the library."""
    return array.ctypes.data_as(ctypes.POINTER(kind))
