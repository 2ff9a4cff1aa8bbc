"""One head against several that are as wide together: to which word does a phrase belong?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean

from dhyan.checkpoint import find_checkpoint, read_checkpoint
from dhyan.config import Recipe, TransformerDecoder, TransformerEncoder
from dhyan.data.primer import SentencePair
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.evaluation.metrics import count
from dhyan.insight.blocks import Curve, Lines, Part, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import knows_every_word, primer_sentences
from dhyan.lessons.transformer_blocks.phrase_heads import cued_pairs
from dhyan.run.load import load, load_saved_recipe

HELD_OUT = 80  # there are no more of them among a third of the names


@dataclass(frozen=True)
class HeadsRun:
    """A run: its heads, seed and steps, the shares it understood, and its BLEU in general."""

    heads: int
    seed: int
    steps: int
    held_out: float
    new_persons: float
    bleu: float


@dataclass(frozen=True)
class TestSentences:
    """What all runs are asked.

    `held_out` are the primer's own, of which training has none but many alike; in those with
    `new_persons` a phrase belongs to someone of whom training says no such thing; `general` are of
    all kinds.
    """

    held_out: tuple[SentencePair, ...]
    new_persons: tuple[SentencePair, ...]
    general: tuple[SentencePair, ...]


def evaluate_runs(
    folders: Sequence[Path], sentences: int, on_progress: Callable[[str], None]
) -> tuple[tuple[HeadsRun, ...], TestSentences, str]:
    """Every run by heads and seed, what it was asked, and how BLEU was reached."""
    recipes = [_recipe(folder) for folder in folders]
    _alike(folders, recipes)
    translators = [load(folder) for folder in folders]
    asked = _test_sentences(translators, sentences)
    found, signature = [], ""
    for folder, recipe, translator in zip(folders, recipes, translators, strict=True):
        bleu, signature = _bleu(translator, asked.general)
        one = HeadsRun(
            heads=_head_count(recipe),
            seed=recipe.training.seed,
            steps=recipe.training.steps,
            held_out=_understood(translator, asked.held_out),
            new_persons=_understood(translator, asked.new_persons),
            bleu=bleu,
        )
        on_progress(f"{folder}: {one.held_out:.3f}, {one.new_persons:.3f}, BLEU {one.bleu:.1f}")
        found.append(one)
    found.sort(key=lambda one: (one.steps, one.heads, one.seed))
    return tuple(found), asked, signature


def sign_flip_p_value(differences: Sequence[int | float]) -> float:
    """How often a difference's mean is as large if each could as well have the other sign.

    All signs are tried (Fisher, 1935), so n differences give no chance below 2 / 2ⁿ.
    """
    found = abs(sum(differences)) - 1e-12
    ways = [
        abs(sum(sign * difference for sign, difference in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(way >= found for way in ways) / len(ways)


def _recipe(folder: Path) -> Recipe:
    recipe = load_saved_recipe(read_checkpoint(find_checkpoint(folder), "recipe.toml"))
    if not isinstance(recipe.encoder, TransformerEncoder):
        raise UserError(f"models: the encoder of {folder} has no heads; give runs of a Transformer")
    return recipe


def _head_count(recipe: Recipe) -> int:
    assert isinstance(recipe.encoder, TransformerEncoder)
    return recipe.encoder.heads


def _alike(folders: Sequence[Path], recipes: Sequence[Recipe]) -> None:
    """Runs must differ in nothing but their heads, seeds and steps."""
    bare = [_without_heads(recipe) for recipe in recipes]
    for folder, one in zip(folders, bare, strict=True):
        for part in ("encoder", "decoder", "data", "text"):
            if getattr(one, part) != getattr(bare[0], part):
                raise UserError(
                    f"models: {folders[0]} and {folder} differ in [{part}]; give runs that differ "
                    "in heads, seed and steps alone"
                )
    kinds = [
        (_head_count(recipe), recipe.training.seed, recipe.training.steps) for recipe in recipes
    ]
    if len(set(kinds)) < len(kinds):
        raise UserError("models: two runs have the same heads, seed and steps; name each once")


def _without_heads(recipe: Recipe) -> Recipe:
    encoder, decoder = recipe.encoder, recipe.decoder
    assert isinstance(encoder, TransformerEncoder)
    if isinstance(decoder, TransformerDecoder):
        decoder = replace(decoder, heads=1)
    return replace(recipe, encoder=replace(encoder, heads=1), decoder=decoder)


def _test_sentences(translators: Sequence[Translator], sentences: int) -> TestSentences:
    """The same for all: sentences of which each knows every word."""
    first = translators[0]
    pairs = cued_pairs(first, (sentences + 1) // 2)
    groups = (
        primer_sentences(first, "attachment", HELD_OUT, lambda twin: bool(twin.wanted)),
        [twin for pair in pairs for twin in pair.both],
        primer_sentences(first, "random", sentences),
    )
    kept = [
        tuple(
            one for one in group if all(knows_every_word(each, one.english) for each in translators)
        )
        for group in groups
    ]
    if not all(kept):
        raise UserError("models: they know no words in common; give runs on the same data")
    return TestSentences(*kept)


def _understood(translator: Translator, twins: Sequence[SentencePair]) -> float:
    said = translator([twin.english for twin in twins])
    met = [twin.wanted[0].passes(own.text) for twin, own in zip(twins, said, strict=True)]
    return sum(met) / len(met)


def _bleu(translator: Translator, twins: Sequence[SentencePair]) -> tuple[float, str]:
    said = [one.text for one in translator([twin.english for twin in twins])]
    found = count(
        said,
        [twin.hindi for twin in twins],
        others=[twin.others for twin in twins],
        language="hi",
        metrics=("bleu",),
    )["bleu"]
    return found.value(), found.signature()


SENTENCES = 320
SURE = 0.05
CEILING = 0.995


@dataclass(frozen=True)
class PPAttachment(LessonResult):
    """The runs by steps, heads and seed, and how many sentences of each test they were asked.

    Runs of one seed and length begin with the same weights and see the same batches: they are
    compared in pairs.
    """

    runs: tuple[HeadsRun, ...]
    example: str
    held_out: int
    new_persons: int
    general: int
    signature: str

    @property
    def lengths(self) -> tuple[int, ...]:
        """The steps of the trainings, the fewest first."""
        return tuple(sorted({run.steps for run in self.runs}))

    def heads(self, steps: int) -> tuple[int, ...]:
        """The numbers of heads at a length, the fewest first."""
        return tuple(sorted({run.heads for run in self.runs if run.steps == steps}))

    def of(self, steps: int, heads: int) -> dict[int, HeadsRun]:
        """The runs of a length and a number of heads, by seed."""
        return {run.seed: run for run in self.runs if (run.steps, run.heads) == (steps, heads)}

    def lead(self, steps: int, heads: Sequence[int], measure: str) -> tuple[float, ...]:
        """For every seed, by how much the mean of these numbers of heads is above the fewest."""
        least = self.of(steps, self.heads(steps)[0])
        others = [self.of(steps, head) for head in heads]
        seeds = [seed for seed in least if others and all(seed in some for some in others)]
        return tuple(
            fmean(getattr(some[seed], measure) for some in others) - getattr(least[seed], measure)
            for seed in seeds
        )

    def page(self, text: Text) -> Page:
        """What is asked, every run, the means, and what the seeds allow to be said."""
        parts: list[Part] = [Words(self._asked(text))]
        for steps in self.lengths:
            parts += [*self._tables(steps, text), Words(self._claim(steps, text))]
        if len(self.lengths) > 1:
            parts.append(self._lines(text))
        parts.append(Words(self._ceiling(text)))
        return Page(text("pp_attachment.title"), tuple(parts))

    def _asked(self, text: Text) -> str:
        return text(
            "pp_attachment.thing_tool_hindi_tell",
            example=self.example,
            new_persons=self.new_persons,
        )

    def _tables(self, steps: int, text: Text) -> tuple[Part, ...]:
        """Every run that has its pairs, and the mean of all of each number of heads."""
        counts = self.heads(steps)
        groups = [self.of(steps, head_count) for head_count in counts]
        seeds = sorted(seed for seed in groups[0] if all(seed in some for some in groups))
        rows = [_heads(head_count, text) for head_count in counts]
        means = [
            [fmean(one), min(one), max(one), fmean(_all(some, "held_out"))]
            for some in groups
            for one in [_all(some, "new_persons")]
        ]
        title = text("pp_attachment.understood_after_steps", steps=steps)
        each = table(
            title + text("pp_attachment.seed"),
            [[some[seed].new_persons for seed in seeds] for some in groups],
            rows,
            [str(seed) for seed in seeds],
            kind="weights",
        )
        columns = (
            text("pp_attachment.mean"),
            text("pp_attachment.lowest"),
            text("pp_attachment.highest"),
            text("pp_attachment.known"),
        )
        again, names = ("", ()) if len(seeds) > 1 else (title, rows)
        return (
            *((each,) if len(seeds) > 1 else ()),
            table(again, means, names, columns, kind="weights"),
            table("", [[fmean(_all(some, "bleu"))] for some in groups], (), ("BLEU",), digits=1),
        )

    def _claim(self, steps: int, text: Text) -> str:
        """Whether the seeds allow to say that several heads do better than the fewest."""
        least, *more = self.heads(steps)
        if not more:
            return text("pp_attachment.nothing_compare")
        lead, bleu = (self.lead(steps, more, one) for one in ("new_persons", "bleu"))
        if not lead:
            return text("pp_attachment.seed_runs_number_heads")
        many, above = ", ".join(map(str, more)), sum(one > 0 for one in lead)
        told = text(
            "pp_attachment.mean_heads_lies_above",
            many=many,
            difference=_signed(lead),
            least=least,
            above=above,
            seeds=len(lead),
            one_seed=len(lead) == 1,
            bleu_difference=_signed(bleu, 1),
        )
        chance, best = sign_flip_p_value(lead), 2 / 2 ** len(lead)
        if best > SURE:
            return told + text(
                "pp_attachment.even_clearest_difference_p",
                seeds=len(lead),
                one_seed=len(lead) == 1,
                best=best,
            )
        return told + text(
            "pp_attachment.if_difference_could_well",
            chance=chance,
            sign_patterns=2 ** len(lead),
            verdict=self._verdict(steps, chance, lead, text),
            each=self._each(steps, text),
        )

    def _verdict(self, steps: int, chance: float, lead: Sequence[float], text: Text) -> str:
        least = self.heads(steps)[0]
        if chance > SURE:
            return text("pp_attachment.number_heads_matters_cannot")
        if fmean(lead) > 0:
            return text(
                "pp_attachment.runs_several_heads_taken_together", least=least, chance=chance
            )
        return text("pp_attachment.runs_several_heads_taken", least=least, chance=chance)

    def _each(self, steps: int, text: Text) -> str:
        """The same for every number of heads by itself."""
        least, *more = self.heads(steps)
        leads = {one: self.lead(steps, [one], "new_persons") for one in more}
        told = "; ".join(
            text("pp_attachment.heads_2", one=one)
            + f"{_signed(lead)} (p = {sign_flip_p_value(lead):.3f})"
            for one, lead in leads.items()
        )
        found = text("pp_attachment.themselves_against", least=least, told=told)
        alike = [str(one) for one, lead in leads.items() if sign_flip_p_value(lead) > SURE]
        if not alike:
            return found
        return found + text(
            "pp_attachment.alone_heads_told_apart",
            alike=text("pp_attachment.and").join(alike),
            least=least,
        )

    def _lines(self, text: Text) -> Part:
        counts = sorted({run.heads for run in self.runs})
        curves = [
            Curve(
                text("pp_attachment.steps", steps=steps),
                [
                    fmean(_all(some, "new_persons"))
                    if (some := self.of(steps, head_count))
                    else None
                    for head_count in counts
                ],
            )
            for steps in self.lengths
        ]
        return Lines(
            text("pp_attachment.understood_mean_seeds"),
            tuple(curves),
            tuple(map(str, counts)),
            text("pp_attachment.heads"),
            text("pp_attachment.share"),
        )

    def _ceiling(self, text: Text) -> str:
        """Where nothing is left to be better in."""
        held_out, new = (
            sum(getattr(run, name) >= CEILING for run in self.runs)
            for name in ("held_out", "new_persons")
        )
        total = len(self.runs)
        told = text(
            "pp_attachment.known_persons_whom_training",
            held_out=self.held_out,
            held_out_2=held_out,
            total=total,
            new=new,
        )
        if max(held_out, new):
            told += text("pp_attachment.runs_ceiling_differ_but")
        return told + text(
            "pp_attachment.bleu_sentences_kinds", general=self.general, signature=self.signature
        )


def pp_attachment(
    models: str | Path | Sequence[str | Path] | None = None,
    *,
    sentences: int | None = None,
    on_progress: Callable[[str], None] = lambda line: None,
) -> LessonResult:
    """Runs with one head and with several, equally wide, asked to which word a phrase belongs.

    `models` are folders of runs that differ in heads, seed and steps alone, or the folder in which
    they stand, and `sentences` how many each is asked, 320 if not given; without them runs are
    shown that were trained before. Each run takes a few seconds.
    """
    if models is None or models == SNAPSHOT:
        if sentences is not None:
            raise UserError(
                "sentences: the runs of the snapshot were asked their own; give models=[RUN, …] too"
            )
        return read_snapshot("pp_attachment")
    runs, asked, signature = evaluate_runs(
        _folders(models),
        parse_int("sentences", SENTENCES if sentences is None else sentences, least=2),
        on_progress,
    )
    return PPAttachment(
        runs=runs,
        example=asked.new_persons[0].english,
        held_out=len(asked.held_out),
        new_persons=len(asked.new_persons),
        general=len(asked.general),
        signature=signature,
    )


def _folders(models: str | Path | Sequence[str | Path]) -> list[Path]:
    """The runs named, or those in a folder."""
    if not isinstance(models, str | Path):
        if not models:
            raise UserError("models: give at least one run's folder")
        return [Path(model) for model in models]
    inside = sorted(one.parent for one in Path(models).glob("*/last.json"))
    return inside or [Path(models)]


def _heads(count: int, text: Text) -> str:
    return text("pp_attachment.head_count", count=count, single_count=count == 1)


def _signed(differences: Sequence[float], digits: int = 3) -> str:
    """The mean of differences, with its sign."""
    return f"{fmean(differences):+.{digits}f}".replace("-", "−")


def _all(group: Mapping[int, HeadsRun], measure: str) -> list[float]:
    """A measure of every run of a group."""
    return [getattr(one, measure) for one in group.values()]
