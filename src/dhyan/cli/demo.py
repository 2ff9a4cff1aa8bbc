"""`dhyan demo`: train, translate, score and draw, with nothing but the package."""

import logging
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.options import Threads
from dhyan.cli.progress import show_progress
from dhyan.cli.warnings import log_to_stderr

if TYPE_CHECKING:
    from dhyan.attention_maps import AttentionMap
    from dhyan.compare.test_sets import Question, Sheet, Sheets
    from dhyan.config import Recipe
    from dhyan.decoding.translator import Translator

logger = logging.getLogger(__name__)

SHOWN, TRIED = 3, 20
FEWEST_PAIRS = 10_000  # else words are missing
BANK = "bank"  # where money is, and beside a river
BEST_TO_LOOK_AT = range(7, 11)  # words


def demo(
    out: Annotated[Path, typer.Option(help="Where the model and the picture go.")] = Path("demo"),
    steps: Annotated[int, typer.Option(min=0, help="Steps of training; 0 takes the recipe's.")] = 0,
    sentences: Annotated[int, typer.Option(min=6, help="Sentences of each test.")] = 300,
    threads: Threads = 0,
) -> None:
    """See the whole path in a few minutes: English to Hindi, scores, and a picture.

    Example: dhyan demo
    """
    from dhyan.run import load, train

    log_to_stderr(quiet=False)
    recipe = _recipe(steps)
    logger.info(f"training the recipe 'primer': {recipe.about}")
    begun = (out / "run").exists()
    show_progress(train(recipe, out / "run", resume=begun, threads=threads), again="")
    translator = load(out / "run")
    logger.info("making sentences it has never seen")
    tests = {sheet.name: sheet for sheet in _tests(recipe, translator, sentences).sheets}
    _show(translator, [one.source for one in tests["unseen"].questions[:SHOWN]])
    _show(translator, _one_of_each_meaning(tests["context"].questions))
    typer.echo("how good it is on sentences it has never seen:")
    for name in ("random", "unseen", "context"):
        _score(translator, tests[name])
    picture = out / "attention.png"
    _draw(translator, tests["unseen"].questions, picture)
    typer.echo(f"\nwhat it looked at: {picture}")
    typer.echo(NEXT.format(run=shlex.quote(str(out / "run"))))


NEXT = """
what to try next
  dhyan studio {run}
  dhyan show {run} "The girl is reading a book." -o look.png
  dhyan train bahdanau2015-small --source YOUR.en --target YOUR.hi
  dhyan compare --ladder --quick --data primer --out ladder"""


def _recipe(steps: int) -> "Recipe":
    """The primer's; fewer steps than its own see fewer pairs, and no more than a tenth warm up."""
    from dhyan.config import load_recipe

    recipe = load_recipe("primer")
    pairs = max(FEWEST_PAIRS, recipe.data.pairs * steps // recipe.training.steps)
    changes = {
        "training.steps": steps,
        "training.warmup_steps": min(recipe.training.warmup_steps, steps // 10),
        "data.pairs": min(recipe.data.pairs, pairs),
    }
    return load_recipe("primer", changes) if steps else recipe


def _tests(recipe: "Recipe", translator: "Translator", sentences: int) -> "Sheets":
    from dhyan.compare.primer_test_sets import Sizes, primer_tests

    sizes = Sizes(each_length=sentences // 3, each_test=sentences, choosing=1)
    return primer_tests(
        longest=recipe.data.max_words,
        core=recipe.data.core_share,
        sizes=sizes,
        words=(translator.source, translator.target),
        splits=("unseen", "context"),
    )


def _one_of_each_meaning(questions: "Sequence[Question]") -> list[str]:
    """A sentence for each meaning of bank, beside words it never met in training."""
    found: dict[tuple[str, ...], str] = {}
    for one in questions:
        for wanted in one.wanted:
            if wanted.about == BANK:
                found.setdefault(wanted.wrong, one.source)
    return list(found.values())


def _show(translator: "Translator", sentences: Sequence[str]) -> None:
    for sentence, one in zip(sentences, translator(sentences), strict=True):
        typer.echo(f"  {sentence}\n  {one.text}\n")


def _score(translator: "Translator", sheet: "Sheet") -> None:
    """A line of scores; of words that depend on their context also how many were understood."""
    from dhyan.compare.scores import understood
    from dhyan.run.evaluate import compare, examine

    exam = sheet.exam()
    system = examine(translator, sheet.name, exam)
    (result,) = compare([system], exam, language=translator.language, metrics=("bleu", "chrf"))
    scores = "  ".join(f"{one.name} {one.value:5.1f}" for one in result.judgement.scores.values())
    errors = f"alignment errors {system.alignment.error_rate:.1%}" if system.alignment else ""
    line = f"  {len(exam.pairs):>4} {sheet.about}\n       {scores}  {errors}"
    told = understood(sheet.questions, system.said) if sheet.name == "context" else None
    if told:
        line += f"  understood {told['share']:.1%}"
    typer.echo(line)


def _draw(translator: "Translator", questions: "Sequence[Question]", picture: Path) -> None:
    """The attention of a sentence whose words change places.

    If possible it is translated rightly, and of those the one whose words are best looked at.
    """
    from dhyan.insight.explain import cross_maps, explain
    from dhyan.insight.heatmap import heatmap, save

    by_crossings = sorted(questions, key=lambda one: -_crossings(_sure(one.links)))
    short = [one for one in by_crossings if len(one.source.split()) in BEST_TO_LOOK_AT]
    tried = (short or by_crossings)[:TRIED]
    said = translator([one.source for one in tried])
    right = [one for one, two in zip(tried, said, strict=True) if two.text == one.target]
    maps = {one: cross_maps(explain(translator, one.source)) for one in right or tried[:1]}
    chosen = max(maps, key=lambda one: _looked_at(maps[one][-1], _sure(one.links)))
    save(heatmap(*maps[chosen]), picture)


def _sure(links: str) -> list[tuple[int, int]]:
    """The places of the words that surely belong together."""
    pairs = (link.split("-") for link in links.split() if "-" in link)
    return [(int(source), int(target)) for source, target in pairs]


def _crossings(sure: Sequence[tuple[int, int]]) -> int:
    """How many pairs of links cross."""
    return sum(a < c and d < b for a, b in sure for c, d in sure)


def _looked_at(found: "AttentionMap", sure: Sequence[tuple[int, int]]) -> float:
    """How much of the weight lies on links, per link."""
    weights = found.weights.mean(0)
    rows, columns = weights.shape
    within = [(source, target) for source, target in sure if source < columns and target < rows]
    return sum(float(weights[target, source]) for source, target in within) / max(1, len(within))
