"""A whole Transformer on one sentence, part by part: written out beside the project's own model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan import config
from dhyan.batch import Batch, Tokens
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.transformer_blocks.next_word import PAIRS
from dhyan.lessons.transformer_blocks.parts_counted import BASE, PARTS, Sizes, names_of, parameters
from dhyan.lessons.transformer_blocks.stations import left_undrawn, read_by_encoder, said_by_decoder
from dhyan.lessons.transformer_blocks.taken_out import Measured, measured, without_a
from dhyan.lessons.transformer_blocks.tiny import drawn_by, numbered
from dhyan.lessons.transformer_blocks.written_out import WITHOUT, Walk, written_out
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import BOS, EOS, NAMES

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
    walk: Walk
    model_logits: Float64[Tensor, "T V"]
    difference: float
    parameters: dict[str, int]
    base: dict[str, int]
    measured: Measured
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
            title += f" ({without_a(self.without, text)})"
        first = text(
            "transformer.numbers_word_heads_layers",
            width=width,
            heads=self.heads,
            layers=self.layers,
            seed=self.seed,
        )
        undrawn = left_undrawn(width, self.heads, self.layers, text)
        meaning, lost, told = self.measured.parts(text, self.without)
        return Page(
            title,
            (
                Words(f"{first} {undrawn}".strip()),
                *read_by_encoder(
                    self.walk.encoder, self.source, text, pre_norm=pre, without=self.without
                ),
                *said_by_decoder(self.walk, self.target, self.vocabulary, text),
                meaning,
                lost,
                self._costs(text),
                told,
                Words(f"{self._base(text)} {self._agreed(text)}"),
            ),
        )

    def _costs(self, text: Text) -> Table:
        """Parameters by part, here and in the paper's base model."""
        names = names_of(text)
        values = [[self.parameters[one], self.base[one]] for one in PARTS]
        values.append([sum(self.parameters.values()), sum(self.base.values())])
        return table(
            text("transformer.parameters"),
            values,
            [*(names[one] for one in PARTS), text("transformer.in_all")],
            (text("transformer.here"), text("transformer.paper_base")),
        )

    def _base(self, text: Text) -> str:
        names, of = names_of(text), BASE
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
        from dhyan.lessons.transformer_blocks.moved import moved

        _refuse((("width", width, 8), ("heads", heads, 2), ("layers", layers, 1)))
        _refuse((("norm", norm, "post"), ("without", without, ""), ("seed", seed, 1)))
        return moved(model, sentence, target)
    source = parse_words(SENTENCE if sentence is None else sentence)
    said = parse_words(_known(source) if target is None else target)
    width, heads = parse_int("width", width, least=2), parse_int("heads", heads)
    layers, seed = parse_int("layers", layers), parse_int("seed", seed, least=0)
    _fits("norm", norm, ("post", "pre"))
    _fits("without", without, ("", *WITHOUT))
    if width % heads:
        raise UserError(f"width: {width} numbers do not part evenly into {heads} heads")
    heard, spoken = numbered([source]), numbered([said])
    sizes = Sizes(
        source=len(NAMES) + len(heard),
        target=len(NAMES) + len(spoken),
        width=width,
        hidden=HIDDEN * width,
        layers=layers,
        pre_norm=norm == "pre",
    )
    built = _built(sizes, heads, seed)
    ids = torch.tensor([*(heard[word] for word in source), EOS])
    told = torch.tensor([BOS, *(spoken[word] for word in said)])
    full = written_out(built, layers=layers, heads=heads, pre_norm=sizes.pre_norm)
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
        parameters=parameters(sizes),
        base=parameters(BASE),
        measured=measured(full, ids, told),
        heads=heads,
        layers=layers,
        norm=norm,
        seed=seed,
        without=without,
    )


def _built(of: Sizes, heads: int, seed: int) -> Seq2Seq:
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
    with drawn_by(seed):
        return build_model(recipe, of.source, of.target).double().eval()


def _known(source: tuple[str, ...]) -> str:
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
