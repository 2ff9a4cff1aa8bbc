"""A recipe: every setting of a run, in sections, and the check that they go together."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from dhyan.config.data import Data, Text
from dhyan.config.decoding import DecodingOptions
from dhyan.config.model import (
    DOT_SCORES,
    BahdanauDecoder,
    Decoder,
    Encoder,
    LuongDecoder,
    RNNEncoder,
    TransformerDecoder,
    TransformerEncoder,
)
from dhyan.config.setting_declaration import problems_in, setting, unused_in
from dhyan.config.training import Training
from dhyan.errors import UnsupportedOption, UserError

SECTIONS = ("data", "text", "encoder", "decoder", "training")


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
    """A run from corpus to search: one paper or task."""

    about: str = setting("", "Description, in one sentence.")
    data: Data = field(default_factory=Data)
    text: Text = field(default_factory=Text)
    encoder: RNNEncoder | TransformerEncoder
    decoder: BahdanauDecoder | LuongDecoder | TransformerDecoder
    training: Training = field(default_factory=Training)
    decoding: DecodingOptions = field(default_factory=DecodingOptions)

    def check(self, place: str = "") -> None:
        """Raise a `RecipeError` that names every problem; `place` is where the recipe stands."""
        if problems := list(self.problems()):
            before = f"{place}." if place else ""
            raise RecipeError([f"{before}{key}: {problem}" for key, problem in problems])

    def problems(self) -> Iterator[tuple[str, str]]:
        """Dotted key and problem of each setting that is out of bounds, unused or contradicted.

        Contradictions are looked for only among settings that are all within their bounds.
        """
        out_of_bounds = list(problems_in(self))
        yield from out_of_bounds
        if not out_of_bounds:
            yield from self._contradictions()

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        for name in SECTIONS:  # [decoding] may hold a temperature for whoever samples
            section = getattr(self, name)
            for key, problem in (*unused_in(section), *section.contradictions()):
                yield f"{name}.{key}", problem
        for problem in self.decoding.problems():
            yield "decoding", str(UnsupportedOption(problem))
        yield from self._batch_too_small()
        yield from self._vocabularies_not_shared()
        yield from self._unequal_widths()
        yield from self._one_hot_vocabulary()

    def _batch_too_small(self) -> Iterator[tuple[str, str]]:
        tokens, longest = self.training.tokens_per_batch, self.data.max_tokens
        if tokens and tokens < longest + 2:
            yield (
                "training.tokens_per_batch",
                f"{tokens} cannot hold one sentence of data.max_tokens = {longest} tokens; "
                f"raise the one or lower the other",
            )

    def _vocabularies_not_shared(self) -> Iterator[tuple[str, str]]:
        for name in ("copy_mechanism", "share_source_embedding"):
            if getattr(self.decoder, name) and not self.text.shared_vocabulary:
                yield (
                    f"decoder.{name}",
                    "needs one vocabulary for both sides; set text.shared_vocabulary = true",
                )

    def _unequal_widths(self) -> Iterator[tuple[str, str]]:
        decoder = self.decoder
        if decoder.share_source_embedding:
            yield from _shared_embedding_problems(self.encoder, decoder)
        if isinstance(decoder, TransformerDecoder) or decoder.attention.heads > 1:
            return
        score, width = decoder.attention.score, self.encoder.states_width
        if score in DOT_SCORES and decoder.width != width:
            yield (
                "decoder.attention.score",
                f"the {score} score needs equal widths: the decoder is {decoder.width} wide, the "
                f"encoder's states {width}; use attention.score = 'general'",
            )

    def _one_hot_vocabulary(self) -> Iterator[tuple[str, str]]:
        one_hot = "one_hot" in (self.encoder.input, self.decoder.input)
        if one_hot and self.training.init_vocabulary != "keep":
            yield (
                "training.init_vocabulary",
                "one-hot input has no rows to carry over; give 'keep' (--init-vocabulary keep)",
            )


def _shared_embedding_problems(encoder: Encoder, decoder: Decoder) -> Iterator[tuple[str, str]]:
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
