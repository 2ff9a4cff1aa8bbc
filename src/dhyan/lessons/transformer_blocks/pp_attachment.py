"""PP attachment: accuracy with one attention head and with several of the same total width."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, heatmap, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson, parse_int
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import knows_every_word, primer_sentences
from dhyan.lessons.transformer_blocks.phrase_heads import cued_pairs
from dhyan.run.load import load, load_saved_recipe

HELD_OUT = 80  # all there are with a third of the names


@dataclass(frozen=True)
class HeadsRun:
    """A run: heads, seed and steps, its accuracies, and its BLEU on general sentences."""

    heads: int
    seed: int
    steps: int
    held_out: float
    new_persons: float
    bleu: float


@dataclass(frozen=True)
class TestSentences:
    """Test sentences of all runs.

    `held_out` are the primer's own, similar to training sentences; in those with `new_persons` a
    phrase attaches to a person that it never does in training; `general` are of all kinds.
    """

    held_out: tuple[SentencePair, ...]
    new_persons: tuple[SentencePair, ...]
    general: tuple[SentencePair, ...]


def evaluate_runs(
    folders: Sequence[Path], sentences: int, on_progress: Callable[[str], None]
) -> tuple[tuple[HeadsRun, ...], TestSentences, str]:
    """Every run by heads and seed, the test sentences, and the BLEU signature."""
    recipes = [_recipe(folder) for folder in folders]
    _alike(folders, recipes)
    translators = [load(folder) for folder in folders]
    test_sentences = _test_sentences(translators, sentences)
    results, signature = [], ""
    for folder, recipe, translator in zip(folders, recipes, translators, strict=True):
        bleu, signature = _bleu(translator, test_sentences.general)
        run = HeadsRun(
            heads=_head_count(recipe),
            seed=recipe.training.seed,
            steps=recipe.training.steps,
            held_out=_understood(translator, test_sentences.held_out),
            new_persons=_understood(translator, test_sentences.new_persons),
            bleu=bleu,
        )
        on_progress(f"{folder}: {run.held_out:.3f}, {run.new_persons:.3f}, BLEU {run.bleu:.1f}")
        results.append(run)
    results.sort(key=lambda run: (run.steps, run.heads, run.seed))
    return tuple(results), test_sentences, signature


def sign_flip_p_value(differences: Sequence[int | float]) -> float:
    """Exact sign-flip test (Fisher, 1935) of the mean of differences.

    All sign patterns are tried, so n differences give no p-value below 2 / 2ⁿ.
    """
    observed = abs(sum(differences)) - 1e-12
    sums = [
        abs(sum(sign * difference for sign, difference in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(flipped >= observed for flipped in sums) / len(sums)


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
    for folder, bare_recipe in zip(folders, bare, strict=True):
        for part in ("encoder", "decoder", "data", "text"):
            if getattr(bare_recipe, part) != getattr(bare[0], part):
                raise UserError(
                    f"models: {folders[0]} and {folder} differ in [{part}]; give runs that differ "
                    "in heads, seed and steps alone"
                )
    settings = [
        (_head_count(recipe), recipe.training.seed, recipe.training.steps) for recipe in recipes
    ]
    if len(set(settings)) < len(settings):
        raise UserError("models: two runs have the same heads, seed and steps; name each once")


def _without_heads(recipe: Recipe) -> Recipe:
    encoder, decoder = recipe.encoder, recipe.decoder
    assert isinstance(encoder, TransformerEncoder)
    if isinstance(decoder, TransformerDecoder):
        decoder = replace(decoder, heads=1)
    return replace(recipe, encoder=replace(encoder, heads=1), decoder=decoder)


def _test_sentences(translators: Sequence[Translator], sentences: int) -> TestSentences:
    """Test sentences whose words are in every model's vocabulary."""
    first = translators[0]
    pairs = cued_pairs(first, (sentences + 1) // 2)
    groups = (
        primer_sentences(
            first, "attachment", HELD_OUT, lambda sentence_pair: bool(sentence_pair.checks)
        ),
        [sentence_pair for pair in pairs for sentence_pair in pair.both],
        primer_sentences(first, "random", sentences),
    )
    known = [
        tuple(
            pair
            for pair in group
            if all(knows_every_word(translator, pair.english) for translator in translators)
        )
        for group in groups
    ]
    if not all(known):
        raise UserError("models: they know no words in common; give runs on the same data")
    return TestSentences(*known)


def _understood(translator: Translator, sentence_pairs: Sequence[SentencePair]) -> float:
    translations = translator([sentence_pair.english for sentence_pair in sentence_pairs])
    correct = [
        sentence_pair.checks[0].passes(translation.text)
        for sentence_pair, translation in zip(sentence_pairs, translations, strict=True)
    ]
    return sum(correct) / len(correct)


def _bleu(translator: Translator, sentence_pairs: Sequence[SentencePair]) -> tuple[float, str]:
    translations = [
        translation.text
        for translation in translator([sentence_pair.english for sentence_pair in sentence_pairs])
    ]
    bleu = count(
        translations,
        [sentence_pair.hindi for sentence_pair in sentence_pairs],
        others=[sentence_pair.others for sentence_pair in sentence_pairs],
        language="hi",
        metrics=("bleu",),
    )["bleu"]
    return bleu.value(), bleu.signature()


SENTENCES = 320
SURE = 0.05
CEILING = 0.995


@dataclass(frozen=True)
class PPAttachment(LessonResult):
    """The runs by steps, heads and seed, and the number of sentences of each test.

    Runs of one seed and length have the same initial weights and batches, so they are compared in
    pairs.
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
        seeds = [seed for seed in least if others and all(seed in runs for runs in others)]
        return tuple(
            fmean(getattr(runs[seed], measure) for runs in others) - getattr(least[seed], measure)
            for seed in seeds
        )

    def blocks(self, text: Text) -> Iterator[Block]:
        """The test, every run, the means, and the significance over seeds."""
        parts: list[Block] = [Paragraph(self._describe_test(text))]
        for steps in self.lengths:
            parts += [*self._tables(steps, text), Paragraph(self._claim(steps, text))]
        if len(self.lengths) > 1:
            parts.append(self._lines(text))
        parts.append(Paragraph(self._ceiling(text)))
        yield from parts

    def _describe_test(self, text: Text) -> str:
        return text("setup")

    def _tables(self, steps: int, text: Text) -> Iterator[Block]:
        """Every run whose seed is complete, and the mean by number of heads."""
        counts = self.heads(steps)
        groups = [self.of(steps, head_count) for head_count in counts]
        seeds = sorted(seed for seed in groups[0] if all(seed in runs for runs in groups))
        rows = [_heads(head_count, text) for head_count in counts]
        means = [
            [fmean(shares), min(shares), max(shares), fmean(_all(runs, "held_out"))]
            for runs in groups
            for shares in [_all(runs, "new_persons")]
        ]
        title = text("accuracy_after_steps", steps=steps)
        each = heatmap(
            title + text("by_seed"),
            [[runs[seed].new_persons for seed in seeds] for runs in groups],
            rows,
            [str(seed) for seed in seeds],
        )
        columns = (
            text("column_mean"),
            text("column_lowest"),
            text("column_highest"),
            text("column_known_persons"),
        )
        again, names = ("", ()) if len(seeds) > 1 else (title, rows)
        if len(seeds) > 1:
            yield each
        yield heatmap(again, means, names, columns)
        yield table("", [[fmean(_all(runs, "bleu"))] for runs in groups], (), ("BLEU",), digits=1)

    def _claim(self, steps: int, text: Text) -> str:
        """Whether several heads are significantly better than the fewest."""
        least, *more = self.heads(steps)
        if not more:
            return text("single_head_count")
        lead, bleu = (self.lead(steps, more, measure) for measure in ("new_persons", "bleu"))
        if not lead:
            return text("no_complete_seed")
        head_counts, above = ", ".join(map(str, more)), sum(difference > 0 for difference in lead)
        claim = text(
            "mean_difference",
            head_counts=head_counts,
            difference=_signed(lead),
            least=least,
            above=above,
            seeds=len(lead),
            single_seed=len(lead) == 1,
            bleu_difference=_signed(bleu, 1),
        )
        p_value, best = sign_flip_p_value(lead), 2 / 2 ** len(lead)
        if best > SURE:
            return claim + text(
                "too_few_seeds", seeds=len(lead), single_seed=len(lead) == 1, best=best
            )
        return claim + text(
            "sign_test",
            p_value=p_value,
            sign_patterns=2 ** len(lead),
            verdict=self._verdict(steps, p_value, lead, text),
            each=self._each(steps, text),
        )

    def _verdict(self, steps: int, p_value: float, lead: Sequence[float], text: Text) -> str:
        least = self.heads(steps)[0]
        if p_value > SURE:
            return text("not_significant")
        if fmean(lead) > 0:
            return text("several_heads_better", least=least, p_value=p_value)
        return text("several_heads_worse", least=least, p_value=p_value)

    def _each(self, steps: int, text: Text) -> str:
        """The lead of every number of heads separately."""
        least, *more = self.heads(steps)
        leads = {head_count: self.lead(steps, [head_count], "new_persons") for head_count in more}
        differences = "; ".join(
            text("heads_prefix", count=head_count)
            + f"{_signed(lead)} (p = {sign_flip_p_value(lead):.3f})"
            for head_count, lead in leads.items()
        )
        comparison = text("each_head_count", least=least, differences=differences)
        alike = [
            str(head_count) for head_count, lead in leads.items() if sign_flip_p_value(lead) > SURE
        ]
        if not alike:
            return comparison
        return comparison + text(
            "not_significant_alone", alike=text("conjunction").join(alike), least=least
        )

    def _lines(self, text: Text) -> Block:
        counts = sorted({run.heads for run in self.runs})
        curves = [
            Curve(
                text("step_count", steps=steps),
                [
                    fmean(_all(some, "new_persons"))
                    if (some := self.of(steps, head_count))
                    else None
                    for head_count in counts
                ],
            )
            for steps in self.lengths
        ]
        return LineChart(
            text("mean_accuracy"),
            tuple(curves),
            tuple(map(str, counts)),
            text("axis_heads"),
            text("axis_accuracy"),
        )

    def _ceiling(self, text: Text) -> str:
        """How many runs are at the ceiling."""
        held_out, new = (
            sum(getattr(run, name) >= CEILING for run in self.runs)
            for name in ("held_out", "new_persons")
        )
        total = len(self.runs)
        remark = text("known_persons", held_out_2=held_out, total=total, new=new)
        if max(held_out, new):
            remark += text("ceiling")
        return remark + text("bleu_signature")


@lesson
def pp_attachment(
    models: str | Path | Sequence[str | Path] | None = None,
    *,
    sentences: int | None = None,
    on_progress: Callable[[str], None] = lambda line: None,
) -> LessonResult:
    """PP attachment by runs with one head and with several, equally wide.

    `models` are folders of runs that differ in heads, seed and steps alone, or the folder that
    holds them, and `sentences` the number of test sentences, 320 if not given; without them the
    snapshot is shown. Each run takes a few seconds.
    """
    if models is None or models == SNAPSHOT:
        if sentences is not None:
            raise UserError(
                "sentences: the runs of the snapshot were asked their own; give models=[RUN, …] too"
            )
        return read_snapshot("pp_attachment", PPAttachment)
    runs, test_sentences, signature = evaluate_runs(
        _folders(models),
        parse_int("sentences", SENTENCES if sentences is None else sentences, least=2),
        on_progress,
    )
    return PPAttachment(
        runs=runs,
        example=test_sentences.new_persons[0].english,
        held_out=len(test_sentences.held_out),
        new_persons=len(test_sentences.new_persons),
        general=len(test_sentences.general),
        signature=signature,
    )


def _folders(models: str | Path | Sequence[str | Path]) -> list[Path]:
    """The named runs, or those in a folder."""
    if not isinstance(models, str | Path):
        if not models:
            raise UserError("models: give at least one run's folder")
        return [Path(model) for model in models]
    inside = sorted(path.parent for path in Path(models).glob("*/last.json"))
    return inside or [Path(models)]


def _heads(count: int, text: Text) -> str:
    return text("head_count", count=count, single_count=count == 1)


def _signed(differences: Sequence[float], digits: int = 3) -> str:
    """The mean of differences, with its sign."""
    return f"{fmean(differences):+.{digits}f}".replace("-", "−")


def _all(group: Mapping[int, HeadsRun], measure: str) -> list[float]:
    """A measure of every run of a group."""
    return [getattr(run, measure) for run in group.values()]
