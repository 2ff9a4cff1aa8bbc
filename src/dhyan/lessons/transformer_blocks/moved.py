"""How much each sub-layer of a trained Transformer moves each token, and what it says next."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from dhyan.attention import MultiHeadAttention
from dhyan.batch import Tokens
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.trained_model import load_single_model
from dhyan.lessons.transformer_blocks.parts_counted import PARTS, counted, names_of
from dhyan.models.feed_forward import FeedForward
from dhyan.models.transformer import (
    DecoderLayer,
    EncoderLayer,
    TransformerDecoder,
    TransformerEncoder,
    TransformerState,
)
from dhyan.special_tokens import BOS, EOS, NAMES

SENTENCE = "The girl is eating an apple."  # of the primer
Share = tuple[str, int, Float[Tensor, " T"]]
"""A sub-layer and its layer, with what it adds to each token."""
Parts = tuple[tuple[str, int], ...]
Sided = tuple[str, tuple[str, ...], Parts, Tensor]


@dataclass(frozen=True)
class Moved(LessonResult):
    """For each token and sub-layer: the length of what is added ÷ that of what it is added to.

    `chances` are those of the word that follows each place of the output; of all other words the
    likeliest is its rival.
    """

    sentence: str
    translation: str
    source: tuple[str, ...]
    prefix: tuple[str, ...]
    following: tuple[str, ...]
    encoder_parts: Parts
    decoder_parts: Parts
    encoder_shares: Float64[Tensor, "S N"]
    decoder_shares: Float64[Tensor, "T M"]
    chances: Float64[Tensor, " T"]
    rivals: tuple[str, ...]
    rival_chances: Float64[Tensor, " T"]
    width: int
    heads: int
    hidden: int
    vocabulary: tuple[int, int]
    parameters: dict[str, int]

    def page(self, text: Text) -> Page:
        """Shapes, both sides' shares, the next words, the parameters."""
        pairs = zip(self.prefix, self.following, self.rivals, strict=True)
        names = names_of(text)
        everything = sum(self.parameters.values())
        return Page(
            text("transformer.title"),
            (
                Words(f"{self.sentence} → {self.translation}"),
                Words(self._shapes(text)),
                Words(text("transformer.cell_length_sub_layer")),
                *(
                    _shares(title, words, parts, shares, text)
                    for title, words, parts, shares in self._sides(text)
                ),
                Words(self._most(text)),
                table(
                    text("transformer.next_word_rival"),
                    torch.stack([self.chances, self.rival_chances], dim=1),
                    [f"{before} → {word} | {rival}" for before, word, rival in pairs],
                    (text("transformer.word"), text("transformer.rival")),
                    kind="weights",
                    digits=3,
                ),
                table(
                    text("transformer.parameters"),
                    [*([self.parameters[one]] for one in PARTS), [everything]],
                    [*(names[one] for one in PARTS), text("transformer.in_all")],
                ),
                Words(self._sure(text)),
            ),
        )

    def _shapes(self, text: Text) -> str:
        rows, said = len(self.source), len(self.prefix)
        narrow = self.width // self.heads
        return text(
            "transformer.input_numbers_output_heads",
            rows=rows,
            width=self.width,
            said=said,
            heads=self.heads,
            narrow=narrow,
            hidden=self.hidden,
            source_vocabulary=self.vocabulary[0],
            target_vocabulary=self.vocabulary[1],
        )

    def _sides(self, text: Text) -> tuple[Sided, ...]:
        """Either side's name, tokens, sub-layers and shares."""
        return (
            (text("transformer.encoder"), self.source, self.encoder_parts, self.encoder_shares),
            (text("transformer.decoder"), self.prefix, self.decoder_parts, self.decoder_shares),
        )

    def _most(self, text: Text) -> str:
        """Which sub-layer adds most on average, on either side."""
        told = []
        for side, _, parts, shares in self._sides(text):
            means = shares.mean(0)
            most, least = (
                _named(*parts[int(one)], text) for one in (means.argmax(), means.argmin())
            )
            high, low = float(means.max()), float(means.min())
            told.append(
                text(
                    "transformer.adds_most_average_least",
                    side=side,
                    most=most,
                    high=high,
                    least=least,
                    low=low,
                )
            )
        return " ".join(told)

    def _sure(self, text: Text) -> str:
        first = int((self.chances > self.rival_chances).sum())
        return text(
            "transformer.places_word_output_model",
            first=first,
            steps=len(self.chances),
            single_first=first == 1,
        )


def moved(
    model: str | Path | Translator,
    sentence: str | Sequence[str] | None,
    target: str | Sequence[str] | None,
) -> Moved:
    """A trained Transformer's sub-layers over a sentence and its translation, its own or given."""
    translator = load_single_model(model)
    encoder, decoder = translator.model.encoder, translator.model.decoder
    if not isinstance(encoder, TransformerEncoder) or not isinstance(decoder, TransformerDecoder):
        raise UserError(
            f"model: {type(encoder).__name__} and {type(decoder).__name__} are not both a "
            "Transformer's, such as `dhyan train transformer2017-small` makes"
        )
    text = " ".join(parse_words(SENTENCE if sentence is None else sentence))
    ids = translator.encode(text)
    if len(ids) - 1 > (longest := translator.limits.source):
        raise UserError(
            f"{len(ids) - 1} tokens, but this model takes at most {longest}: say it shorter"
        )
    if target is None:
        [found] = translator(text, nbest=1)
        said, written = list(found.ids), found.text
    else:
        written = " ".join(parse_words(target))
        said = translator.target.encode(written)
        if decoder.max_length is not None and len(said) >= decoder.max_length:
            raise UserError(
                f"target: {len(said)} tokens, but this model says at most {decoder.max_length - 1}"
            )
    source = Tokens.pad([ids]).to(translator.device)
    told = torch.tensor([[BOS, *said]], device=translator.device)
    with evaluation_mode(translator.model), torch.inference_mode():
        read = list(_encoder(encoder, source))
        state = decoder.start(encoder(source))
        spoken = list(_decoder(decoder, told, state))
        chances = decoder(told, state)[0][0].double().cpu().softmax(-1)
    rest = chances.clone()
    rest[range(len(said) + 1), [*said, EOS]] = -1.0
    pieces = translator.target.pieces(said)
    first = cast(EncoderLayer, encoder.layers[0])
    thinking = cast(FeedForward, first.feed_forward)
    return Moved(
        sentence=text,
        translation=written,
        source=(
            *translator.source.pieces(ids[:-1], translator.with_placeholders(text)[0]),
            NAMES[EOS],
        ),
        prefix=(NAMES[BOS], *pieces),
        following=(*pieces, NAMES[EOS]),
        encoder_parts=tuple((part, layer) for part, layer, _ in read),
        decoder_parts=tuple((part, layer) for part, layer, _ in spoken),
        encoder_shares=_columns(read),
        decoder_shares=_columns(spoken),
        chances=chances[range(len(said) + 1), [*said, EOS]],
        rivals=tuple(translator.target.pieces([int(one)])[0] for one in rest.argmax(-1)),
        rival_chances=rest.amax(-1),
        width=encoder.width,
        heads=cast(MultiHeadAttention, cast(DecoderLayer, decoder.layers[0]).self_attention).heads,
        hidden=thinking.up.out_features,
        vocabulary=(len(translator.source), len(translator.target)),
        parameters=counted(translator.model),
    )


def _encoder(encoder: TransformerEncoder, source: Tokens) -> Iterator[Share]:
    """The encoder's own modules, one after another."""
    x = encoder.embedding(source.ids)
    for number, layer in enumerate(cast(Iterable[EncoderLayer], encoder.layers), 1):
        if layer.self_attention is not None and layer.self_attention_norm is not None:
            read = _before(layer, layer.self_attention_norm, x)
            found = layer.self_attention.self_attend(read, source.mask).context
            yield "self_attention", number, _share(found, x)
            x = _after(layer, layer.self_attention_norm, x + found)
        found = layer.feed_forward(_before(layer, layer.feed_forward_norm, x))
        yield "feed_forward", number, _share(found, x)
        x = _after(layer, layer.feed_forward_norm, x + found)


def _decoder(decoder: TransformerDecoder, told: Tensor, state: TransformerState) -> Iterator[Share]:
    """The decoder's own modules, one after another."""
    x = decoder.embedding(told)
    real = torch.ones_like(told, dtype=torch.bool)
    layers = zip(cast(Iterable[DecoderLayer], decoder.layers), state.layers, strict=True)
    for number, (layer, before) in enumerate(layers, 1):
        read = _before(layer, layer.self_attention_norm, x)
        found = layer.self_attention.self_attend(read, real, before.past).context
        yield "self_attention", number, _share(found, x)
        x = _after(layer, layer.self_attention_norm, x + found)
        read = _before(layer, layer.cross_attention_norm, x)
        found = layer.cross_attention(read, before.source).context
        yield "cross_attention", number, _share(found, x)
        x = _after(layer, layer.cross_attention_norm, x + found)
        found = layer.feed_forward(_before(layer, layer.feed_forward_norm, x))
        yield "feed_forward", number, _share(found, x)
        x = _after(layer, layer.feed_forward_norm, x + found)


def _before(layer: EncoderLayer | DecoderLayer, norm: nn.LayerNorm, x: Tensor) -> Tensor:
    """The input of a sub-layer: normalised in a pre-norm model."""
    return norm(x) if layer.pre_norm else x


def _after(layer: EncoderLayer | DecoderLayer, norm: nn.LayerNorm, x: Tensor) -> Tensor:
    """The residual sum after a sub-layer: normalised in a post-norm model."""
    return x if layer.pre_norm else norm(x)


def _share(found: Float[Tensor, "1 T D"], x: Float[Tensor, "1 T D"]) -> Float[Tensor, " T"]:
    return (found.norm(dim=-1) / x.norm(dim=-1))[0]


def _columns(shares: Sequence[Share]) -> Float64[Tensor, "T N"]:
    return torch.stack([one for _, _, one in shares], dim=1).double().cpu()


def _shares(
    title: str, words: tuple[str, ...], parts: Parts, shares: Float64[Tensor, "T N"], text: Text
) -> Table:
    """A row for every token, and their mean."""
    columns = [_named(part, layer, text) for part, layer in parts]
    values = torch.cat([shares, shares.mean(0, keepdim=True)])
    return table(title, values, [*words, text("transformer.mean")], columns)


def _named(part: str, layer: int, text: Text) -> str:
    names = {
        "self_attention": text("transformer.self"),
        "cross_attention": text("transformer.cross"),
        "feed_forward": text("transformer.feed_forward"),
    }
    return f"{names[part]} {layer}"
