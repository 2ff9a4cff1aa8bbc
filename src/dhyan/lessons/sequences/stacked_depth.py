"""BLEU of stacked LSTMs of equal width by depth, size of the training data and sentence length."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from statistics import mean, stdev
from typing import Any

from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.sequences.bleu_gain import Gain, gain_over_seeds, with_sign

FAR_BEHIND = 0.5  # of the BLEU of the shallowest model: not trained to the end


@dataclass(frozen=True)
class StackScores:
    """BLEU of encoder-decoders of `layers` layers trained on `pairs` pairs, one score per seed.

    `by_length` has a row for each group of source lengths.
    """

    model: str
    pairs: int
    layers: int
    parameters: int
    learning_rate: float
    bleu: tuple[float, ...]
    by_length: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class StackedDepth:
    """Scores of models that differ in their depth; width, updates and data are equal."""

    report: str
    width: int
    steps: int
    longest: int
    tested: int
    lengths: tuple[str, ...]
    rates: tuple[float, ...]
    scores: tuple[StackScores, ...]

    @property
    def settings(self) -> tuple[tuple[str, int], ...]:
        """Every model and number of pairs."""
        return tuple(dict.fromkeys((score.model, score.pairs) for score in self.scores))

    @property
    def depths(self) -> tuple[int, ...]:
        """The numbers of layers, ascending."""
        return tuple(sorted({score.layers for score in self.scores}))

    def of(self, model: str, pairs: int, layers: int) -> StackScores:
        """The scores of one combination."""
        [found] = [
            score
            for score in self.scores
            if (score.model, score.pairs, score.layers) == (model, pairs, layers)
        ]
        return found

    def gain(self, model: str, pairs: int, layers: int) -> Gain:
        """BLEU of so many layers minus that of the fewest, over the seeds."""
        shallow = self.of(model, pairs, self.depths[0])
        return gain_over_seeds(shallow.bleu, self.of(model, pairs, layers).bleu)

    def gains_by_length(self, model: str, pairs: int) -> tuple[Gain, ...]:
        """BLEU of the most layers minus that of the fewest, for each group of lengths."""
        shallow, deep = (self.of(model, pairs, self.depths[end]) for end in (0, -1))
        return tuple(
            gain_over_seeds(before, after)
            for before, after in zip(shallow.by_length, deep.by_length, strict=True)
        )

    def far_behind(self) -> tuple[str, ...]:
        """Models whose deepest stack reaches less than half the BLEU of the shallowest.

        With the most pairs, where both have the most to learn from.
        """
        most = max(pairs for _, pairs in self.settings)
        return tuple(
            model
            for model, pairs in self.settings
            if pairs == most
            and mean(self.of(model, pairs, self.depths[-1]).bleu)
            < FAR_BEHIND * mean(self.of(model, pairs, self.depths[0]).bleu)
        )


def read_depth(name: str, figures: Mapping[str, Any]) -> StackedDepth:
    """The scores of a result file of `python -m experiments depth`."""
    rows = figures["rows"]
    return StackedDepth(
        report=name,
        width=figures["width"],
        steps=figures["steps"],
        longest=figures["longest"],
        tested=figures["test_sentences"],
        lengths=tuple(
            f"{part['least']}–{min(part['most'] or figures['longest'], figures['longest'])}"
            for part in rows[0]["by_length"]
        ),
        rates=tuple(figures["rates"]),
        scores=tuple(
            StackScores(
                model=row["model"],
                pairs=row["pairs"],
                layers=row["layers"],
                parameters=row["parameters"],
                learning_rate=row["learning_rate"],
                bleu=tuple(row["bleu"]),
                by_length=tuple(tuple(part["bleu"]) for part in row["by_length"]),
            )
            for row in rows
        ),
    )


def depth_blocks(depth: StackedDepth, text: Text) -> Iterator[Block]:
    """BLEU by depth with its deviation, gains by length, and what follows for the claims."""
    text = Text(text.lang, "stacked_depth")
    names = [text("row", name=_name(model, text), pairs=pairs) for model, pairs in depth.settings]
    stacks = [text("layers", layers=layers, one=layers == 1) for layers in depth.depths]
    scores = [[depth.of(*setting, layers) for layers in depth.depths] for setting in depth.settings]
    parameters = [score.parameters / 1e6 for row in scores for score in row]
    yield text.paragraph(
        "setup",
        depths=", ".join(map(str, depth.depths)),
        width=depth.width,
        sizes=text("and").join(f"{pairs:,}" for pairs in sorted({n for _, n in depth.settings})),
        longest=depth.longest,
        steps=depth.steps,
        seeds=len(scores[0][0].bleu),
        rates=text("and").join(f"{rate:g}" for rate in depth.rates),
        fewest=min(parameters),
        most=max(parameters),
        tested=depth.tested,
        report=depth.report,
    )
    means = [[mean(score.bleu) for score in row] for row in scores]
    deviations = [[stdev(score.bleu) for score in row] for row in scores]
    yield table(text("bleu"), means, names, stacks, digits=1)
    yield table(text("deviation"), deviations, names, stacks, digits=1)
    yield LineChart(
        text("gain_by_length", deepest=depth.depths[-1], one=depth.depths[0] == 1),
        tuple(
            _curve(name, depth.gains_by_length(*setting))
            for name, setting in zip(names, depth.settings, strict=True)
        ),
        depth.lengths,
        text("seq2seq_improvements.axis_words"),
        "BLEU",
    )
    yield Paragraph(_verdict(depth, names, text))
    if behind := depth.far_behind():
        yield Paragraph(_undertrained(depth, behind, text))
    yield Paragraph(_long_sentences(depth, text))
    yield Paragraph(_capacity(depth, text))


def _verdict(depth: StackedDepth, names: list[str], text: Text) -> str:
    """The gain of every deeper stack, and how many are significant."""
    sentences, signs = [], []
    for name, setting in zip(names, depth.settings, strict=True):
        gains = {layers: depth.gain(*setting, layers) for layers in depth.depths[1:]}
        signs += [gain.sign for gain in gains.values()]
        parts = [
            text("gain", layers=layers, gain=gain, effect=_effect(gain, text))
            for layers, gain in gains.items()
        ]
        sentences.append(f"{name}: {', '.join(parts)}")
    return text(
        "gains",
        gains="; ".join(sentences),
        better=signs.count(1),
        worse=signs.count(-1),
        total=len(signs),
    )


def _undertrained(depth: StackedDepth, models: tuple[str, ...], text: Text) -> str:
    """That the deepest stacks of these models have not been trained to the end."""
    most = max(pairs for _, pairs in depth.settings)
    deep, shallow = (
        text("and").join(f"{mean(depth.of(model, most, layers).bleu):.1f}" for model in models)
        for layers in (depth.depths[-1], depth.depths[0])
    )
    return text(
        "undertrained",
        deepest=depth.depths[-1],
        fewest=depth.depths[0],
        single=depth.depths[0] == 1,
        pairs=most,
        deep=deep,
        shallow=shallow,
        names=text("and").join(_name(model, text) for model in models),
        steps=depth.steps,
    )


def _long_sentences(depth: StackedDepth, text: Text) -> str:
    """The gain of the deepest stack on the shortest and on the longest sentences."""
    parts = []
    for setting in depth.settings:
        first, *_, last = depth.gains_by_length(*setting)
        parts.append(
            text(
                "long",
                name=text("row", name=_name(setting[0], text), pairs=setting[1]),
                first=first,
                last=last,
            )
        )
    claimed = [
        gains[-1].sign > 0 and gains[-1].value > gains[0].value
        for gains in (depth.gains_by_length(*setting) for setting in depth.settings)
    ]
    return text(
        "long_verdict",
        deepest=depth.depths[-1],
        shortest=depth.lengths[0],
        longest=depth.lengths[-1],
        parts="; ".join(parts),
        holds=sum(claimed),
        total=len(claimed),
    )


def _capacity(depth: StackedDepth, text: Text) -> str:
    """Whether the deepest stack gains more with more data."""
    models = list(dict.fromkeys(model for model, _ in depth.settings))
    sizes = sorted({pairs for _, pairs in depth.settings})
    gains = {setting: depth.gain(*setting, depth.depths[-1]) for setting in product(models, sizes)}
    parts = [
        text(
            "capacity_model",
            name=_name(model, text),
            few=with_sign(gains[model, sizes[0]].value),
            many=with_sign(gains[model, sizes[-1]].value),
        )
        for model in models
    ]
    rises = sum(
        gains[model, sizes[-1]].ends[0] > gains[model, sizes[0]].ends[1] for model in models
    )
    return text(
        "capacity",
        deepest=depth.depths[-1],
        few=sizes[0],
        many=sizes[-1],
        parts="; ".join(parts),
        rises=rises,
        total=len(models),
    )


def _effect(gain: Gain, text: Text) -> str:
    if gain.sign == 0:
        return text("seq2seq_improvements.effect_not_significant")
    if gain.sign > 0:
        return text("seq2seq_improvements.effect_gain")
    return text("seq2seq_improvements.effect_loss")


def _name(model: str, text: Text) -> str:
    return text("no_attention") if model == "no attention" else text("luong")


def _curve(name: str, gains: tuple[Gain, ...]) -> Curve:
    return Curve(
        name,
        [gain.value for gain in gains],
        [gain.low for gain in gains],
        [gain.high for gain in gains],
    )
