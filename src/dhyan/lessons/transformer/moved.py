"""How much each sub-layer of a trained Transformer moves each token, and what it says next."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from dhyan.attention import MultiHeadAttention
from dhyan.batch import Tokens
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Table, Words, table
from dhyan.lessons.given import words_of
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.lessons.trained import single
from dhyan.lessons.transformer.parts_counted import PARTS, counted, names_of
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
class Moved(Shown):
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

    def story(self, say: Say) -> Story:
        """Shapes, both sides' shares, the next words, the parameters."""
        pairs = zip(self.prefix, self.following, self.rivals, strict=True)
        names = names_of(say)
        everything = sum(self.parameters.values())
        return Story(
            say("A trained Transformer, part by part", "प्रशिक्षित Transformer, भाग-दर-भाग"),
            (
                Words(f"{self.sentence} → {self.translation}"),
                Words(self._shapes(say)),
                Words(
                    say(
                        "Each cell is the length of what a sub-layer adds to a token's vector, "
                        "over the length of that vector: at 1 it adds as much as was there.",
                        "हर ख़ाना: उप-परत टोकन के सदिश में जो जोड़ती है, उसकी लंबाई ÷ उस सदिश की लंबाई; "
                        "1 हो तो उतना ही जोड़ा गया जितना पहले था।",
                    )
                ),
                *(
                    _shares(title, words, parts, shares, say)
                    for title, words, parts, shares in self._sides(say)
                ),
                Words(self._most(say)),
                table(
                    say("next: the word | its rival", "अगला: शब्द | उसका प्रतिद्वंद्वी"),
                    torch.stack([self.chances, self.rival_chances], dim=1),
                    [f"{before} → {word} | {rival}" for before, word, rival in pairs],
                    (say("word", "शब्द"), say("rival", "प्रतिद्वंद्वी")),
                    kind="weights",
                    digits=3,
                ),
                table(
                    say("parameters", "प्राचल"),
                    [*([self.parameters[one]] for one in PARTS), [everything]],
                    [*(names[one] for one in PARTS), say("in all", "कुल")],
                ),
                Words(self._sure(say)),
            ),
        )

    def _shapes(self, say: Say) -> str:
        rows, said = len(self.source), len(self.prefix)
        narrow = self.width // self.heads
        return say(
            f"The input is {rows} × {self.width} numbers, the output {said} × {self.width}; each "
            f"of {self.heads} heads has {narrow} of the {self.width}, the feed-forward widens them "
            f"to {self.hidden:,}, and the words known are {self.vocabulary[0]:,} and "
            f"{self.vocabulary[1]:,}.",
            f"इनपुट में {rows} × {self.width} संख्याएँ हैं, आउटपुट में {said} × {self.width}; "
            f"हेडों की संख्या {self.heads} है, हर एक के पास {self.width} में से {narrow}; फ़ीड-फ़ॉरवर्ड "
            f"उन्हें {self.hidden:,} तक फैलाता है, और ज्ञात शब्दों की संख्या {self.vocabulary[0]:,} और "
            f"{self.vocabulary[1]:,} है।",
        )

    def _sides(self, say: Say) -> tuple[Sided, ...]:
        """Either side's name, tokens, sub-layers and shares."""
        return (
            (say("encoder", "एनकोडर"), self.source, self.encoder_parts, self.encoder_shares),
            (say("decoder", "डिकोडर"), self.prefix, self.decoder_parts, self.decoder_shares),
        )

    def _most(self, say: Say) -> str:
        """Which sub-layer adds most on average, on either side."""
        told = []
        for side, _, parts, shares in self._sides(say):
            means = shares.mean(0)
            most, least = (
                _named(*parts[int(one)], say) for one in (means.argmax(), means.argmin())
            )
            high, low = float(means.max()), float(means.min())
            told.append(
                say(
                    f"In the {side} {most} adds most, {high:.2f} on average, and {least} least, "
                    f"{low:.2f}.",
                    f"{side} में औसतन सबसे अधिक {most} जोड़ता है, {high:.2f}, और सबसे कम {least}, "
                    f"{low:.2f}।",
                )
            )
        return " ".join(told)

    def _sure(self, say: Say) -> str:
        first = int((self.chances > self.rival_chances).sum())
        return say(
            f"At {first} of {len(self.chances)} places the word of this output is the model's "
            "likeliest.",
            f"{len(self.chances)} में से {first} {'स्थान' if first == 1 else 'स्थानों'} पर इस आउटपुट का "
            "शब्द ही मॉडल का सबसे अधिक प्रायिकता वाला शब्द है।",
        )


def moved(
    model: str | Path | Translator,
    sentence: str | Sequence[str] | None,
    target: str | Sequence[str] | None,
) -> Moved:
    """A trained Transformer's sub-layers over a sentence and its translation, its own or given."""
    translator = single(model)
    encoder, decoder = translator.model.encoder, translator.model.decoder
    if not isinstance(encoder, TransformerEncoder) or not isinstance(decoder, TransformerDecoder):
        raise UserError(
            f"model: {type(encoder).__name__} and {type(decoder).__name__} are not both a "
            "Transformer's, such as `dhyan train transformer2017-small` makes"
        )
    text = " ".join(words_of(SENTENCE if sentence is None else sentence))
    ids = translator.encode(text)
    if len(ids) - 1 > (longest := translator.limits.source):
        raise UserError(
            f"{len(ids) - 1} tokens, but this model takes at most {longest}: say it shorter"
        )
    if target is None:
        [found] = translator(text, nbest=1)
        said, written = list(found.ids), found.text
    else:
        written = " ".join(words_of(target))
        said = translator.target.encode(written)
        if decoder.longest is not None and len(said) >= decoder.longest:
            raise UserError(
                f"target: {len(said)} tokens, but this model says at most {decoder.longest - 1}"
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
        hidden=thinking.widen.out_features,
        vocabulary=(len(translator.source), len(translator.target)),
        parameters=counted(translator.model),
    )


def _encoder(encoder: TransformerEncoder, source: Tokens) -> Iterator[Share]:
    """The encoder's own modules, one after another."""
    x = encoder.embed(source.ids)
    for number, layer in enumerate(cast(Iterable[EncoderLayer], encoder.layers), 1):
        if layer.self_attention is not None and layer.looking is not None:
            asked = layer.looking.enter(x)
            memory = layer.self_attention.remember(asked, source.mask)
            found = layer.self_attention(asked, memory).context
            yield "self_attention", number, _share(found, x)
            x = layer.looking.leave(x, found)
        found = layer.feed_forward(layer.thinking.enter(x))
        yield "feed_forward", number, _share(found, x)
        x = layer.thinking.leave(x, found)


def _decoder(decoder: TransformerDecoder, told: Tensor, state: TransformerState) -> Iterator[Share]:
    """The decoder's own modules, one after another."""
    x = decoder.embed(told)
    real = torch.ones_like(told, dtype=torch.bool)
    layers = zip(cast(Iterable[DecoderLayer], decoder.layers), state.layers, strict=True)
    for number, (layer, before) in enumerate(layers, 1):
        asked = layer.recalling.enter(x)
        past = before.past.append(layer.self_attention.remember(asked, real))
        found = layer.self_attention(asked, past).context
        yield "self_attention", number, _share(found, x)
        x = layer.recalling.leave(x, found)
        found = layer.cross_attention(layer.looking.enter(x), before.source).context
        yield "cross_attention", number, _share(found, x)
        x = layer.looking.leave(x, found)
        found = layer.feed_forward(layer.thinking.enter(x))
        yield "feed_forward", number, _share(found, x)
        x = layer.thinking.leave(x, found)


def _share(found: Float[Tensor, "1 T D"], x: Float[Tensor, "1 T D"]) -> Float[Tensor, " T"]:
    return (found.norm(dim=-1) / x.norm(dim=-1))[0]


def _columns(shares: Sequence[Share]) -> Float64[Tensor, "T N"]:
    return torch.stack([one for _, _, one in shares], dim=1).double().cpu()


def _shares(
    title: str, words: tuple[str, ...], parts: Parts, shares: Float64[Tensor, "T N"], say: Say
) -> Table:
    """A row for every token, and their mean."""
    columns = [_named(part, layer, say) for part, layer in parts]
    values = torch.cat([shares, shares.mean(0, keepdim=True)])
    return table(title, values, [*words, say("mean", "माध्य")], columns)


def _named(part: str, layer: int, say: Say) -> str:
    names = {
        "self_attention": say("self", "स्व"),
        "cross_attention": say("cross", "क्रॉस"),
        "feed_forward": say("feed-forward", "फ़ीड-फ़ॉरवर्ड"),
    }
    return f"{names[part]} {layer}"
