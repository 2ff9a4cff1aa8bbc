"""`dhyan demo`: translate with a pretrained model; train on generated pairs, draw attention."""

import logging
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.checkpoint import is_run
from dhyan.cli.messages import log_to_stderr
from dhyan.cli.options import Threads, recipe_option
from dhyan.cli.train import train_with_progress
from dhyan.config import Training, load_recipe
from dhyan.pretrained import find_pretrained
from dhyan.pretrained.everyday_sentences import EVERYDAY_SENTENCES

if TYPE_CHECKING:
    from dhyan.attention_maps import AttentionMap
    from dhyan.compare.test_sets import EvaluationExample, EvaluationSet, EvaluationSets
    from dhyan.config import Recipe
    from dhyan.decoding.translator import Translator

logger = logging.getLogger(__name__)

OUT = Path("demo")
PRETRAINED = "en-hi"
CLEAR_ATTENTION = "en-hi-bahdanau"  # one attention, and one head, to draw
EXAMPLES, CANDIDATES = 3, 20
EVERYDAY = 5  # sentences for the pretrained model
FEWEST_PAIRS = 10_000  # with fewer, words are missing from training
AMBIGUOUS_WORD = "bank"  # of money, and of a river
FIGURE_LENGTHS = range(7, 11)  # words


def demo(
    out: Annotated[Path, typer.Option(help="Output folder of the model and the figure.")] = OUT,
    steps: Annotated[int | None, recipe_option(Training, "steps")] = None,
    sentences: Annotated[
        int, typer.Option(min=6, help="Size of each test set, in sentences.")
    ] = 200,
    threads: Threads = 1,
) -> None:
    """Translate English to Hindi, train a model, score and draw.

    The training, on the generated primer, takes some minutes of one CPU core; with the same number of
    threads the scores are the same, and one thread does not wait for a busy core.

    Example: dhyan demo
    """
    from dhyan.run import load, train
    from dhyan.run.environment import set_threads

    log_to_stderr(quiet=False)
    set_threads(threads)
    show_pretrained(out)
    recipe = _primer_recipe(steps)
    logger.info(f"training the recipe 'primer': {recipe.about}")
    resume = is_run(out / "run")
    run = train(recipe, out / "run", resume=resume, threads=threads)
    train_with_progress(run, resume_command="the same command")
    translator = load(out / "run")
    logger.info("generating the test sets")
    tests = {test.name: test for test in _test_sets(recipe, translator, sentences).sets}
    unseen = tests["unseen"].examples
    _print_translations(translator, [example.source for example in unseen[:EXAMPLES]])
    _print_translations(translator, _ambiguous_sentences(tests["context"].examples))
    typer.echo("scores on sentences that are not in the training text:")
    for name in ("random", "unseen", "context"):
        _print_scores(translator, tests[name])
    figure = out / "attention.png"
    _draw(translator, unseen, figure)
    typer.echo(f"\nattention: {figure}")
    run_folder = shlex.quote(str(out / "run"))
    studio = "dhyan studio" if out == OUT else f"dhyan studio {run_folder}"
    typer.echo(NEXT.format(activate=_activation(), run=run_folder, studio=studio))


NEXT = """
next{activate}
  echo "My sister works in a hospital." | dhyan translate en-hi
  {studio}
  dhyan show {run} "The girl is reading a book." -o look.png
  dhyan train bahdanau2015-small --source YOUR.en --target YOUR.hi
  dhyan compare --ladder --quick --data primer --out ladder"""


def show_pretrained(out: Path) -> None:
    """Translate everyday sentences with a pretrained model and draw the attention of one."""
    from dhyan.insight.explain import cross_maps, explain
    from dhyan.insight.heatmap import heatmap, save
    from dhyan.run import load

    if not find_pretrained(PRETRAINED):
        logger.info(f"this installation has no pretrained model {PRETRAINED}: a new one is trained")
        return
    translator = load(PRETRAINED)
    typer.echo(f"the pretrained model {PRETRAINED}, on sentences that it was not trained on:")
    _print_translations(translator, EVERYDAY_SENTENCES[:EVERYDAY])
    name = CLEAR_ATTENTION if find_pretrained(CLEAR_ATTENTION) else PRETRAINED
    drawn = translator if name == PRETRAINED else load(name)
    figure = out / "first.png"
    out.mkdir(parents=True, exist_ok=True)
    save(heatmap(*cross_maps(explain(drawn, EVERYDAY_SENTENCES[0]))[-1:]), figure)
    typer.echo(f"attention of {name}: {figure}\n")


def _activation() -> str:
    """The line that puts the command `dhyan` on the PATH, if it is not there."""
    script = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("dhyan") or not script.exists():
        return ""
    near = script.is_relative_to(Path.cwd())
    return f"\n  source {shlex.quote(str(script.relative_to(Path.cwd()) if near else script))}"


def _primer_recipe(steps: int | None) -> "Recipe":
    """The recipe of the primer; with fewer steps, fewer pairs and a warmup of at most a tenth."""
    recipe = load_recipe("primer")
    if steps is None:
        return recipe
    pairs = max(FEWEST_PAIRS, recipe.data.pairs * steps // recipe.training.steps)
    changes = {
        "training.steps": steps,
        "training.warmup_steps": min(recipe.training.warmup_steps, steps // 10),
        "data.pairs": min(recipe.data.pairs, pairs),
    }
    return load_recipe("primer", changes)


def _test_sets(recipe: "Recipe", translator: "Translator", sentences: int) -> "EvaluationSets":
    from dhyan.compare.test_sets import Sizes, primer_tests

    sizes = Sizes(each_length=sentences // 3, each_test=sentences, selection=1)
    return primer_tests(
        longest=recipe.data.max_words,
        core=recipe.data.core_share,
        sizes=sizes,
        words=(translator.source_tokenizer, translator.target),
        splits=("unseen", "context"),
    )


def _ambiguous_sentences(examples: "Sequence[EvaluationExample]") -> list[str]:
    """A sentence for each meaning of an ambiguous word, in a context that was not trained on."""
    by_meaning: dict[tuple[str, ...], str] = {}
    for example in examples:
        for check in example.checks:
            if check.about == AMBIGUOUS_WORD:
                by_meaning.setdefault(check.wrong, example.source)
    return list(by_meaning.values())


def _print_translations(translator: "Translator", sentences: Sequence[str]) -> None:
    for sentence, translation in zip(sentences, translator(sentences), strict=True):
        typer.echo(f"  {sentence}\n  {translation.text}\n")


def _print_scores(translator: "Translator", test: "EvaluationSet") -> None:
    """Scores of a test set; of ambiguous words also the share translated with the right meaning."""
    from dhyan.compare.scores import targeted_accuracy
    from dhyan.run.evaluate import score_systems, translate_test_set

    reference_set = test.reference_set()
    system = translate_test_set(translator, test.name, reference_set)
    (result,) = score_systems(
        [system], reference_set, language=translator.language, metrics=("bleu", "chrf")
    )
    scores = "  ".join(
        f"{score.name} {score.value:5.1f}" for score in result.scores.scores.values()
    )
    errors = f"alignment error rate {system.alignment.error_rate:.1%}" if system.alignment else ""
    line = f"  {len(reference_set.pairs):>4} {test.about}\n       {scores}  {errors}"
    meanings = targeted_accuracy(test.examples, system.texts) if test.name == "context" else None
    if meanings:
        line += f"  right meaning {meanings['share']:.1%}"
    typer.echo(line)


def _draw(translator: "Translator", examples: "Sequence[EvaluationExample]", figure: Path) -> None:
    """Draw the attention of a sentence with much reordering, and if possible translated right.

    Among those, the one whose attention agrees most with the gold word alignment.
    """
    from dhyan.insight.explain import cross_maps, explain
    from dhyan.insight.heatmap import heatmap, save

    reordered = sorted(examples, key=lambda example: -_crossings(_sure_links(example.links)))
    short = [q for q in reordered if len(q.source.split()) in FIGURE_LENGTHS]
    candidates = (short or reordered)[:CANDIDATES]
    translations = translator([example.source for example in candidates])
    right = [
        example
        for example, translation in zip(candidates, translations, strict=True)
        if translation.text == example.target
    ]
    maps = {
        example: cross_maps(explain(translator, example.source))
        for example in right or candidates[:1]
    }
    best = max(maps, key=lambda example: _agreement(maps[example][-1], example.links))
    save(heatmap(*maps[best]), figure)


def _sure_links(links: str) -> list[tuple[int, int]]:
    """Source and target position of each sure link of an alignment."""
    pairs = (link.split("-") for link in links.split() if "-" in link)
    return [(int(source), int(target)) for source, target in pairs]


def _crossings(links: Sequence[tuple[int, int]]) -> int:
    """The number of pairs of links that cross."""
    return sum(a < c and d < b for a, b in links for c, d in links)


def _agreement(attention: "AttentionMap", links: str) -> float:
    """Attention weight on the gold links, per link."""
    weights = attention.weights.mean(0)
    rows, columns = weights.shape
    inside = [
        (source, target)
        for source, target in _sure_links(links)
        if source < columns and target < rows
    ]
    return sum(float(weights[target, source]) for source, target in inside) / max(1, len(inside))
