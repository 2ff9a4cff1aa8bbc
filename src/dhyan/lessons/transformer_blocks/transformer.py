"""Lesson on the Transformer: trace of one sentence, parameter counts, sub-layer contributions."""

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
from dhyan.insight.lesson_blocks import Block, Paragraph, Table, heatmap, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson, parse_int, parse_words
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
    """Sizes that determine a Transformer's parameter count; `shared`: one embedding for both sides.

    The output projection is tied to the decoder's embedding, so only its biases are counted.
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


def count_parameters(sizes: Sizes) -> dict[str, int]:
    """Parameter count by part: an encoder layer has one attention, a decoder layer two.

    >>> sum(count_parameters(BASE).values())
    63119496
    """
    width, hidden, layers = sizes.width, sizes.hidden, sizes.layers
    words = sizes.target if sizes.shared else sizes.source + sizes.target
    norms = 5 * layers + (
        2 if sizes.pre_norm else 0
    )  # one for each sub-layer, pre-norm's at the ends
    return {
        "embedding": words * width,
        "attention": 3 * layers * 4 * (width**2 + width),
        "feed_forward": 2 * layers * (2 * width * hidden + hidden + width),
        "normalisation": norms * 2 * width,
        "output": sizes.target,
    }


def count_built_parameters(model: nn.Module) -> dict[str, int]:
    """Parameters of a built Transformer by part; shared ones are counted once."""
    counts = dict.fromkeys(PARTS, 0)
    for name, parameter in model.named_parameters():
        counts[_part(name)] += parameter.numel()
    return counts


def part_names(text: Text) -> dict[str, str]:
    """Displayed names of the parts."""
    return {
        "embedding": text("embedding"),
        "attention": text("attention"),
        "feed_forward": text("feed_forward"),
        "normalisation": text("normalisation"),
        "output": text("output"),
    }


def _part(name: str) -> str:
    """The part a parameter belongs to, by its module names."""
    modules = name.split(".")
    for part, module in (
        ("embedding", "embedding"),
        ("attention", "self_attention"),
        ("attention", "cross_attention"),
        ("feed_forward", "feed_forward"),
    ):
        if module in modules:
            return part
    return "normalisation" if "norm" in name else "output"


MODEL_SENTENCE = "The girl is eating an apple."  # of the primer
Share = tuple[str, int, Float[Tensor, " T"]]
"""A sub-layer, its layer, and its share for each token."""
Parts = tuple[tuple[str, int], ...]
Sided = tuple[str, tuple[str, ...], Parts, Tensor]


@dataclass(frozen=True)
class SublayerContributions(LessonResult):
    """Norm of each sub-layer's output ÷ norm of the residual stream, for each token.

    `probabilities` are those of the next token at each position of the output; its rival is the
    most likely other token.
    """

    sentence: str
    translation: str
    source: tuple[str, ...]
    prefix: tuple[str, ...]
    next_tokens: tuple[str, ...]
    encoder_parts: Parts
    decoder_parts: Parts
    encoder_shares: Float64[Tensor, "S N"]
    decoder_shares: Float64[Tensor, "T M"]
    probabilities: Float64[Tensor, " T"]
    rivals: tuple[str, ...]
    rival_probabilities: Float64[Tensor, " T"]
    width: int
    heads: int
    hidden: int
    vocabulary: tuple[int, int]
    parameters: dict[str, int]

    def blocks(self, text: Text) -> Iterator[Block]:
        """Shapes, both sides' shares, next-token probabilities, parameters."""
        pairs = zip(self.prefix, self.next_tokens, self.rivals, strict=True)
        names = part_names(text)
        everything = sum(self.parameters.values())
        yield Paragraph(f"{self.sentence} → {self.translation}")
        yield Paragraph(self._shapes(text))
        yield text.paragraph("update_norms")
        for title, words, parts, shares in self._sides(text):
            yield _shares(title, words, parts, shares, text)
        yield Paragraph(self._most(text))
        yield heatmap(
            text("next_word_and_runner_up"),
            torch.stack([self.probabilities, self.rival_probabilities], dim=1),
            [f"{before} → {word} | {rival}" for before, word, rival in pairs],
            (text("column_word"), text("column_runner_up")),
            digits=3,
        )
        yield table(
            text("parameters"),
            [*([self.parameters[part]] for part in PARTS), [everything]],
            [*(names[part] for part in PARTS), text("total")],
        )
        yield Paragraph(self._sure(text))

    def _shapes(self, text: Text) -> str:
        rows, target_length = len(self.source), len(self.prefix)
        narrow = self.width // self.heads
        return text(
            "dimensions",
            rows=rows,
            target_length=target_length,
            narrow=narrow,
            source_vocabulary=self.vocabulary[0],
            target_vocabulary=self.vocabulary[1],
        )

    def _sides(self, text: Text) -> tuple[Sided, ...]:
        """Either side's name, tokens, sub-layers and shares."""
        return (
            (text("encoder"), self.source, self.encoder_parts, self.encoder_shares),
            (text("decoder"), self.prefix, self.decoder_parts, self.decoder_shares),
        )

    def _most(self, text: Text) -> str:
        """Which sub-layer adds most on average, on either side."""
        sentences = []
        for side, _, parts, shares in self._sides(text):
            means = shares.mean(0)
            most, least = (
                _named(*parts[int(index)], text) for index in (means.argmax(), means.argmin())
            )
            high, low = float(means.max()), float(means.min())
            sentences.append(
                text("largest_update", side=side, most=most, high=high, least=least, low=low)
            )
        return " ".join(sentences)

    def _sure(self, text: Text) -> str:
        first = int((self.probabilities > self.rival_probabilities).sum())
        return text(
            "top_predictions", first=first, steps=len(self.probabilities), single_first=first == 1
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
        [hypothesis] = translator(text, nbest=1)
        target_ids, translation = list(hypothesis.ids), hypothesis.text
    else:
        translation = " ".join(parse_words(target))
        target_ids = translator.target.encode(translation)
        if decoder.max_length is not None and len(target_ids) >= decoder.max_length:
            raise UserError(
                f"target: {len(target_ids)} tokens, but this model says at most "
                f"{decoder.max_length - 1}"
            )
    source = Tokens.pad([ids]).to(translator.device)
    prefix = torch.tensor([[BOS, *target_ids]], device=translator.device)
    with evaluation_mode(translator.model), torch.inference_mode():
        encoder_shares = list(_encoder(encoder, source))
        state = decoder.start(encoder(source))
        decoder_shares = list(_decoder(decoder, prefix, state))
        probs = decoder(prefix, state)[0][0].double().cpu().softmax(-1)
    rival_probs = probs.clone()
    rival_probs[range(len(target_ids) + 1), [*target_ids, EOS]] = -1.0
    pieces = translator.target.pieces(target_ids)
    first = cast(EncoderLayer, encoder.layers[0])
    feed_forward = cast(FeedForward, first.feed_forward)
    return SublayerContributions(
        sentence=text,
        translation=translation,
        source=(
            *translator.source.pieces(ids[:-1], translator.with_placeholders(text)[0]),
            NAMES[EOS],
        ),
        prefix=(NAMES[BOS], *pieces),
        next_tokens=(*pieces, NAMES[EOS]),
        encoder_parts=tuple((part, layer) for part, layer, _ in encoder_shares),
        decoder_parts=tuple((part, layer) for part, layer, _ in decoder_shares),
        encoder_shares=_columns(encoder_shares),
        decoder_shares=_columns(decoder_shares),
        probabilities=probs[range(len(target_ids) + 1), [*target_ids, EOS]],
        rivals=tuple(translator.target.pieces([int(token)])[0] for token in rival_probs.argmax(-1)),
        rival_probabilities=rival_probs.amax(-1),
        width=encoder.width,
        heads=cast(MultiHeadAttention, cast(DecoderLayer, decoder.layers[0]).self_attention).heads,
        hidden=feed_forward.up.out_features,
        vocabulary=(len(translator.source), len(translator.target)),
        parameters=count_built_parameters(translator.model),
    )


def _encoder(encoder: TransformerEncoder, source: Tokens) -> Iterator[Share]:
    """Shares of the encoder's sub-layers, in order."""
    x = encoder.embedding(source.ids)
    for number, layer in enumerate(cast(Iterable[EncoderLayer], encoder.layers), 1):
        if layer.self_attention is not None and layer.self_attention_norm is not None:
            normed = _before(layer, layer.self_attention_norm, x)
            output = layer.self_attention.self_attend(normed, source.mask).context
            yield "self_attention", number, _share(output, x)
            x = _after(layer, layer.self_attention_norm, x + output)
        output = layer.feed_forward(_before(layer, layer.feed_forward_norm, x))
        yield "feed_forward", number, _share(output, x)
        x = _after(layer, layer.feed_forward_norm, x + output)


def _decoder(
    decoder: TransformerDecoder, prefix: Tensor, state: TransformerState
) -> Iterator[Share]:
    """Shares of the decoder's sub-layers, in order."""
    x = decoder.embedding(prefix)
    real = torch.ones_like(prefix, dtype=torch.bool)
    layers = zip(cast(Iterable[DecoderLayer], decoder.layers), state.layers, strict=True)
    for number, (layer, cache) in enumerate(layers, 1):
        normed = _before(layer, layer.self_attention_norm, x)
        output = layer.self_attention.self_attend(normed, real, cache.past).context
        yield "self_attention", number, _share(output, x)
        x = _after(layer, layer.self_attention_norm, x + output)
        normed = _before(layer, layer.cross_attention_norm, x)
        output = layer.cross_attention(normed, cache.source).context
        yield "cross_attention", number, _share(output, x)
        x = _after(layer, layer.cross_attention_norm, x + output)
        output = layer.feed_forward(_before(layer, layer.feed_forward_norm, x))
        yield "feed_forward", number, _share(output, x)
        x = _after(layer, layer.feed_forward_norm, x + output)


def _before(layer: EncoderLayer | DecoderLayer, norm: nn.Module, x: Tensor) -> Tensor:
    """The input of a sub-layer: normalised in a pre-norm model."""
    normed: Tensor = norm(x) if layer.pre_norm else x
    return normed


def _after(layer: EncoderLayer | DecoderLayer, norm: nn.Module, x: Tensor) -> Tensor:
    """The residual sum after a sub-layer: normalised in a post-norm model."""
    normed: Tensor = x if layer.pre_norm else norm(x)
    return normed


def _share(output: Float[Tensor, "1 T D"], x: Float[Tensor, "1 T D"]) -> Float[Tensor, " T"]:
    return (output.norm(dim=-1) / x.norm(dim=-1))[0]


def _columns(shares: Sequence[Share]) -> Float64[Tensor, "T N"]:
    return torch.stack([share for _, _, share in shares], dim=1).double().cpu()


def _shares(
    title: str, words: tuple[str, ...], parts: Parts, shares: Float64[Tensor, "T N"], text: Text
) -> Table:
    """A row for every token, and their mean."""
    columns = [_named(part, layer, text) for part, layer in parts]
    values = torch.cat([shares, shares.mean(0, keepdim=True)])
    return table(title, values, [*words, text("mean")], columns)


def _named(part: str, layer: int, text: Text) -> str:
    names = {
        "self_attention": text("sub_layer_self_attention"),
        "cross_attention": text("sub_layer_cross_attention"),
        "feed_forward": text("feed_forward"),
    }
    return f"{names[part]} {layer}"


SENTENCE = "we are friends"
HIDDEN = 4  # feed-forward width over model width, as in the paper


@dataclass(frozen=True)
class Transformer(LessonResult):
    """Trace of a sentence through every part, and the logits of the traced model.

    `trace` is ablated if `without` names a part; `difference` is the largest difference between the
    full trace's logits and the model's.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    vocabulary: tuple[str, ...]
    trace: TransformerTrace
    model_logits: Float64[Tensor, "T V"]
    difference: float
    parameters: dict[str, int]
    base: dict[str, int]
    ablations: AblationMeasures
    heads: int
    layers: int
    norm: str
    seed: int
    without: str = ""

    def title(self, text: Text) -> str:
        """The title, with the name of the part left out."""
        title = text("title_untrained")
        return f"{title} ({ablation_name(self.without, text)})" if self.without else title

    def blocks(self, text: Text) -> Iterator[Block]:
        """The encoder, the decoder, the ablations and the parameters."""
        width, pre = self.trace.encoder.embedding_sum.shape[1], self.norm == "pre"
        first = text("setup_untrained", width=width)
        undrawn = omitted_blocks(width, self.heads, self.layers, text)
        meaning, measures, verdict = self.ablations.blocks(text, self.without)
        yield Paragraph(f"{first} {undrawn}".strip())
        yield from encoder_blocks(
            self.trace.encoder, self.source, text, pre_norm=pre, without=self.without
        )
        yield from decoder_blocks(self.trace, self.target, self.vocabulary, text)
        yield meaning
        yield measures
        yield self._costs(text)
        yield verdict
        yield Paragraph(f"{self._base(text)} {self._agreed(text)}")

    def _costs(self, text: Text) -> Table:
        """Parameters by part, here and in the paper's base model."""
        names = part_names(text)
        values = [[self.parameters[part], self.base[part]] for part in PARTS]
        values.append([sum(self.parameters.values()), sum(self.base.values())])
        return table(
            text("parameters"),
            values,
            [*(names[part] for part in PARTS), text("total")],
            (text("column_here"), text("column_paper_base")),
        )

    def _base(self, text: Text) -> str:
        names, sizes = part_names(text), BASE
        part = max(self.base, key=lambda part: self.base[part])
        most, share = names[part], self.base[part] / sum(self.base.values())
        return text(
            "paper_base_model",
            width=sizes.width,
            hidden=sizes.hidden,
            layers=sizes.layers,
            source=sizes.source,
            most=most,
            share=share,
        )

    def _agreed(self, text: Text) -> str:
        return text("difference_from_model")


@lesson
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
    """Trace of a small Transformer from a sentence to the probabilities of its `target`.

    `norm` is "post", as in the paper, or "pre"; `without` leaves out positions, residuals,
    normalisation or feed_forward. With a `model`, a run's folder or a translator, the contribution
    of each sub-layer of a trained model to each token; its target is its own translation, if none
    is given.
    """
    if model is not None:
        _refuse((("width", width, 8), ("heads", heads, 2), ("layers", layers, 1)))
        _refuse((("norm", norm, "post"), ("without", without, ""), ("seed", seed, 1)))
        return sublayer_contributions(model, sentence, target)
    source = parse_words(SENTENCE if sentence is None else sentence)
    target_words = parse_words(_own_translation(source) if target is None else target)
    width, heads = parse_int("width", width, least=2), parse_int("heads", heads)
    layers, seed = parse_int("layers", layers), parse_int("seed", seed, least=0)
    _fits("norm", norm, ("post", "pre"))
    _fits("without", without, ("", *WITHOUT))
    if width % heads:
        raise UserError(f"width: {width} numbers do not part evenly into {heads} heads")
    source_ids, target_ids = number_words([source]), number_words([target_words])
    sizes = Sizes(
        source=len(NAMES) + len(source_ids),
        target=len(NAMES) + len(target_ids),
        width=width,
        hidden=HIDDEN * width,
        layers=layers,
        pre_norm=norm == "pre",
    )
    built_model = _build(sizes, heads, seed)
    ids = torch.tensor([*(source_ids[word] for word in source), EOS])
    prefix = torch.tensor([BOS, *(target_ids[word] for word in target_words)])
    reference = read_weights(built_model, layers=layers, heads=heads, pre_norm=sizes.pre_norm)
    with torch.no_grad():
        batch = Batch(Tokens.pad([ids.tolist()]), Tokens.pad([[*prefix.tolist(), EOS]]))
        logits = built_model(batch)[0]
    return Transformer(
        source=(*source, NAMES[EOS]),
        target=(NAMES[BOS], *target_words),
        vocabulary=(*NAMES, *target_ids),
        trace=replace(reference, without=without).trace(ids, prefix),
        model_logits=logits,
        difference=float((reference.trace(ids, prefix).logits - logits).abs().max()),
        parameters=count_parameters(sizes),
        base=count_parameters(BASE),
        ablations=measure_ablations(reference, ids, prefix),
        heads=heads,
        layers=layers,
        norm=norm,
        seed=seed,
        without=without,
    )


def _build(sizes: Sizes, heads: int, seed: int) -> Seq2Seq:
    """The project's model, untrained, in double precision."""
    settings = {
        "width": sizes.width,
        "heads": heads,
        "feed_forward_width": sizes.hidden,
        "layers": sizes.layers,
    }
    norm = "pre" if sizes.pre_norm else "post"
    recipe = config.Recipe(
        encoder=config.TransformerEncoder(**settings, norm=norm, dropout=0.0),  # type: ignore[arg-type]
        decoder=config.TransformerDecoder(**settings, norm=norm, dropout=0.0),  # type: ignore[arg-type]
    )
    with seeded(seed):
        return build_model(recipe, sizes.source, sizes.target).double().eval()


def _own_translation(source: tuple[str, ...]) -> str:
    """The translation of one of the lesson's own sentences."""
    translations = dict(PAIRS)
    if (sentence := " ".join(source)) not in translations:
        raise UserError(f"target: what does {sentence!r} become? Give its translation")
    return translations[sentence]


def _fits(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UserError(
            f"{name}: {value!r} is none of {', '.join(choice for choice in choices if choice)}"
        )


def _refuse(arguments: Sequence[tuple[str, object, object]]) -> None:
    """Reject arguments of the small model: a trained model has its own sizes and weights."""
    for name, value, default in arguments:
        if value != default:
            raise UserError(f"{name}: is for the small one; leave out {name} or the model")
