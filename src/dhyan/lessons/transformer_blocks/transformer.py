"""A whole Transformer on one sentence, part by part: written out beside the project's own model."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from dhyan import config
from dhyan.attention import MultiHeadAttention
from dhyan.batch import Batch, Tokens
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.tiny_models import number_words, seeded
from dhyan.lessons.trained_model import load_single_model
from dhyan.lessons.transformer_blocks.cross_attention import PAIRS
from dhyan.lessons.transformer_blocks.transformer_trace import (
    WITHOUT,
    AblationMeasures,
    TransformerTrace,
    ablation_name,
    decoder_blocks,
    encoder_blocks,
    measure_ablations,
    omitted_blocks,
    read_weights,
)
from dhyan.models.build import build_model
from dhyan.models.feed_forward import FeedForward
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import (
    DecoderLayer,
    EncoderLayer,
    TransformerDecoder,
    TransformerEncoder,
    TransformerState,
)
from dhyan.special_tokens import BOS, EOS, NAMES

PARTS = ("embedding", "attention", "feed_forward", "normalisation", "output")


@dataclass(frozen=True)
class Sizes:
    """What a Transformer's parameters follow from; `shared`, both sides have one table of words.

    Its output reads the words off the decoder's table, so only its biases are its own.
    """

    source: int
    target: int
    width: int
    hidden: int
    layers: int
    pre_norm: bool = False
    shared: bool = False


# One vocabulary of about 37,000 for both languages, as in the paper (Vaswani et al., 2017).
BASE = Sizes(37_000, 37_000, width=512, hidden=2048, layers=6, shared=True)


def count_parameters(of: Sizes) -> dict[str, int]:
    """The formula: a layer of the encoder has one attention, one of the decoder two.

    >>> sum(parameters(BASE).values())
    63119496
    """
    width, hidden, layers = of.width, of.hidden, of.layers
    words = of.target if of.shared else of.source + of.target
    norms = 5 * layers + (2 if of.pre_norm else 0)  # one for each sub-layer, pre-norm's at the ends
    return {
        "embedding": words * width,
        "attention": 3 * layers * 4 * (width**2 + width),
        "feed_forward": 2 * layers * (2 * width * hidden + hidden + width),
        "normalisation": norms * 2 * width,
        "output": of.target,
    }


def count_built_parameters(model: nn.Module) -> dict[str, int]:
    """The parameters of a built Transformer by part; what two parts share is counted once."""
    found = dict.fromkeys(PARTS, 0)
    for name, one in model.named_parameters():
        found[_part(name)] += one.numel()
    return found


def part_names(text: Text) -> dict[str, str]:
    """What the parts are called."""
    return {
        "embedding": text("transformer.embedding"),
        "attention": text("transformer.attention"),
        "feed_forward": text("transformer.feed_forward"),
        "normalisation": text("transformer.normalisation"),
        "output": text("transformer.output"),
    }


def _part(name: str) -> str:
    """Which part a parameter belongs to, by the names of the modules it lies in."""
    rooms = name.split(".")
    for part, room in (
        ("embedding", "embedding"),
        ("attention", "self_attention"),
        ("attention", "cross_attention"),
        ("feed_forward", "feed_forward"),
    ):
        if room in rooms:
            return part
    return "normalisation" if "norm" in name else "output"


MODEL_SENTENCE = "The girl is eating an apple."  # of the primer
Share = tuple[str, int, Float[Tensor, " T"]]
"""A sub-layer and its layer, with what it adds to each token."""
Parts = tuple[tuple[str, int], ...]
Sided = tuple[str, tuple[str, ...], Parts, Tensor]


@dataclass(frozen=True)
class SublayerContributions(LessonResult):
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
        names = part_names(text)
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


def sublayer_contributions(
    model: str | Path | Translator,
    sentence: str | Sequence[str] | None,
    target: str | Sequence[str] | None,
) -> SublayerContributions:
    """A trained Transformer's sub-layers over a sentence and its translation, its own or given."""
    translator = load_single_model(model)
    encoder, decoder = translator.model.encoder, translator.model.decoder
    if not isinstance(encoder, TransformerEncoder) or not isinstance(decoder, TransformerDecoder):
        raise UserError(
            f"model: {type(encoder).__name__} and {type(decoder).__name__} are not both a "
            "Transformer's, such as `dhyan train transformer2017-small` makes"
        )
    text = " ".join(parse_words(MODEL_SENTENCE if sentence is None else sentence))
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
    return SublayerContributions(
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
        parameters=count_built_parameters(translator.model),
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


SENTENCE = "we are friends"
HIDDEN = 4  # how many times as wide the feed-forward is inside, as in the paper


@dataclass(frozen=True)
class Transformer(LessonResult):
    """The walk of a sentence through every part, and the logits of the model it is the walk of.

    `walk` is without a part, if one was named; `difference` is that of the whole walk's logits to
    the model's own, the largest there is.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    vocabulary: tuple[str, ...]
    walk: TransformerTrace
    model_logits: Float64[Tensor, "T V"]
    difference: float
    parameters: dict[str, int]
    base: dict[str, int]
    measured: AblationMeasures
    heads: int
    layers: int
    norm: str
    seed: int
    without: str = ""

    def page(self, text: Text) -> Page:
        """The encoder's stations, the decoder's; then what each part is for and what it costs."""
        width, pre = self.walk.encoder.entered.shape[1], self.norm == "pre"
        title = text("transformer.transformer_part_part")
        if self.without:
            title += f" ({ablation_name(self.without, text)})"
        first = text(
            "transformer.numbers_word_heads_layers",
            width=width,
            heads=self.heads,
            layers=self.layers,
            seed=self.seed,
        )
        undrawn = omitted_blocks(width, self.heads, self.layers, text)
        meaning, lost, told = self.measured.parts(text, self.without)
        return Page(
            title,
            (
                Words(f"{first} {undrawn}".strip()),
                *encoder_blocks(
                    self.walk.encoder, self.source, text, pre_norm=pre, without=self.without
                ),
                *decoder_blocks(self.walk, self.target, self.vocabulary, text),
                meaning,
                lost,
                self._costs(text),
                told,
                Words(f"{self._base(text)} {self._agreed(text)}"),
            ),
        )

    def _costs(self, text: Text) -> Table:
        """Parameters by part, here and in the paper's base model."""
        names = part_names(text)
        values = [[self.parameters[one], self.base[one]] for one in PARTS]
        values.append([sum(self.parameters.values()), sum(self.base.values())])
        return table(
            text("transformer.parameters"),
            values,
            [*(names[one] for one in PARTS), text("transformer.in_all")],
            (text("transformer.here"), text("transformer.paper_base")),
        )

    def _base(self, text: Text) -> str:
        names, of = part_names(text), BASE
        part = max(self.base, key=lambda one: self.base[one])
        most, share = names[part], self.base[part] / sum(self.base.values())
        return text(
            "transformer.base_model_paper_numbers",
            width=of.width,
            hidden=of.hidden,
            layers=of.layers,
            source=of.source,
            most=most,
            share=share,
        )

    def _agreed(self, text: Text) -> str:
        return text("transformer.whole_walk_written_out", difference=self.difference)


def transformer(
    sentence: str | Sequence[str] | None = None,
    *,
    target: str | Sequence[str] | None = None,
    width: int = 8,
    heads: int = 2,
    layers: int = 1,
    norm: str = "post",
    without: str = "",
    seed: int = 1,
    model: str | Path | Translator | None = None,
) -> LessonResult:
    """A small Transformer's whole way from a sentence to the chances of each word of its `target`.

    `norm` is "post", as in the paper, or "pre"; `without` leaves out positions, residuals,
    normalisation or feed_forward. With a `model`, a run's folder or a translator, how much each
    sub-layer of a trained one moves each word; its target is then its own translation, if none
    is given.
    """
    if model is not None:
        _refuse((("width", width, 8), ("heads", heads, 2), ("layers", layers, 1)))
        _refuse((("norm", norm, "post"), ("without", without, ""), ("seed", seed, 1)))
        return sublayer_contributions(model, sentence, target)
    source = parse_words(SENTENCE if sentence is None else sentence)
    said = parse_words(_own_translation(source) if target is None else target)
    width, heads = parse_int("width", width, least=2), parse_int("heads", heads)
    layers, seed = parse_int("layers", layers), parse_int("seed", seed, least=0)
    _fits("norm", norm, ("post", "pre"))
    _fits("without", without, ("", *WITHOUT))
    if width % heads:
        raise UserError(f"width: {width} numbers do not part evenly into {heads} heads")
    heard, spoken = number_words([source]), number_words([said])
    sizes = Sizes(
        source=len(NAMES) + len(heard),
        target=len(NAMES) + len(spoken),
        width=width,
        hidden=HIDDEN * width,
        layers=layers,
        pre_norm=norm == "pre",
    )
    built = _build(sizes, heads, seed)
    ids = torch.tensor([*(heard[word] for word in source), EOS])
    told = torch.tensor([BOS, *(spoken[word] for word in said)])
    full = read_weights(built, layers=layers, heads=heads, pre_norm=sizes.pre_norm)
    with torch.no_grad():
        batch = Batch(Tokens.pad([ids.tolist()]), Tokens.pad([[*told.tolist(), EOS]]))
        logits = built(batch)[0]
    return Transformer(
        source=(*source, NAMES[EOS]),
        target=(NAMES[BOS], *said),
        vocabulary=(*NAMES, *spoken),
        walk=replace(full, without=without).walk(ids, told),
        model_logits=logits,
        difference=float((full.walk(ids, told).logits - logits).abs().max()),
        parameters=count_parameters(sizes),
        base=count_parameters(BASE),
        measured=measure_ablations(full, ids, told),
        heads=heads,
        layers=layers,
        norm=norm,
        seed=seed,
        without=without,
    )


def _build(of: Sizes, heads: int, seed: int) -> Seq2Seq:
    """The project's own, with fresh weights, in double precision."""
    sizes = {
        "width": of.width,
        "heads": heads,
        "feed_forward_width": of.hidden,
        "layers": of.layers,
    }
    norm = "pre" if of.pre_norm else "post"
    recipe = config.Recipe(
        encoder=config.TransformerEncoder(**sizes, norm=norm, dropout=0.0),  # type: ignore[arg-type]
        decoder=config.TransformerDecoder(**sizes, norm=norm, dropout=0.0),  # type: ignore[arg-type]
    )
    with seeded(seed):
        return build_model(recipe, of.source, of.target).double().eval()


def _own_translation(source: tuple[str, ...]) -> str:
    """The translation of one of the lesson's own sentences."""
    known = dict(PAIRS)
    if (sentence := " ".join(source)) not in known:
        raise UserError(f"target: what does {sentence!r} become? Give its translation")
    return known[sentence]


def _fits(name: str, given: object, known: Sequence[str]) -> None:
    if given not in known:
        raise UserError(f"{name}: {given!r} is none of {', '.join(one for one in known if one)}")


def _refuse(given: Sequence[tuple[str, object, object]]) -> None:
    """A trained model brings its own sizes and weights, and all of its parts."""
    for name, one, usual in given:
        if one != usual:
            raise UserError(f"{name}: is for the small one; leave out {name} or the model")
