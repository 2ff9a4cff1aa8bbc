"""`dhyan demo`: train, translate, score and draw, with nothing but the package."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.options import Threads
from dhyan.cli.progress import follow, teller

if TYPE_CHECKING:
    from dhyan.compare.sheets import Question, Sheet, Sheets
    from dhyan.config import Recipe
    from dhyan.decoding.translator import Translator

BANKS = (
    "Ravi stopped near the bank because he wanted to deposit the money.",
    "Ravi stopped near the bank because he wanted to catch a fish.",
)
SHOWN = 3
BEST_TO_LOOK_AT = range(7, 11)  # words


def demo(
    out: Annotated[Path, typer.Option(help="Where the model and the picture go.")] = Path("demo"),
    threads: Threads = 0,
) -> None:
    """See the whole path in a few minutes: English to Hindi, scores, and a picture.

    Example: dhyan demo
    """
    from dhyan.config import load_recipe
    from dhyan.run import load, train

    recipe, say = load_recipe("primer"), teller(quiet=False)
    say(f"training the recipe 'primer': {recipe.about}")
    begun = (out / "run").exists()
    follow(train(recipe, out / "run", resume=begun, threads=threads, say=say), say, again="")
    translator = load(out / "run")
    tests = {sheet.name: sheet for sheet in _tests(recipe).sheets}
    _show(translator, [one.source for one in tests["unseen"].questions[:SHOWN]])
    _show(translator, BANKS)
    typer.echo("how good it is on sentences it has never seen:")
    for name in ("random", "unseen", "context"):
        _score(translator, tests[name])
    picture = out / "attention.png"
    _draw(translator, tests["unseen"].questions, picture)
    typer.echo(f"\nwhat it looked at: {picture}")
    typer.echo(NEXT.format(run=out / "run"))


NEXT = """
what to try next
  dhyan show {run} "The girl was reading a letter." -o look.png
  dhyan train bahdanau2015-small --source YOUR.en --target YOUR.hi
  dhyan compare --ladder --quick --data primer --out ladder"""


def _tests(recipe: "Recipe") -> "Sheets":
    from dhyan.compare.primer import Sizes, primer_tests
    from dhyan.corpora.gather import gather

    corpus = gather(recipe, lambda line: None)
    known = {pair.source for pair in (*corpus.lessons(recipe), *corpus.validation)}
    sizes = Sizes(each_length=200, each_test=300, choosing=1)
    return primer_tests(
        longest=recipe.data.most_words, core=recipe.data.core, sizes=sizes, known=known
    )


def _show(translator: "Translator", sentences: Sequence[str]) -> None:
    for sentence, one in zip(sentences, translator(sentences), strict=True):
        typer.echo(f"  {sentence}\n  {one.text}\n")


def _score(translator: "Translator", sheet: "Sheet") -> None:
    """A line of scores; of words that depend on their context also how many were understood."""
    from dhyan.run.evaluate import compare, examine

    exam = sheet.exam()
    system = examine(translator, sheet.name, exam)
    (result,) = compare([system], exam, language=translator.language, metrics=("bleu", "chrf"))
    scores = "  ".join(f"{one.name} {one.value:5.1f}" for one in result.judgement.scores.values())
    errors = f"alignment errors {system.alignment.error_rate:.1%}" if system.alignment else ""
    line = f"  {len(exam.pairs):>4} {sheet.about}\n       {scores}  {errors}"
    if sheet.name == "context":
        marks = [
            (said, one.wanted) for said, one in zip(system.said, sheet.questions, strict=True)
        ]
        right = sum(all(one.met(said) for one in wanted) for said, wanted in marks)
        line += f"  understood {right / len(marks):.1%}"
    typer.echo(line)


def _draw(translator: "Translator", questions: "Sequence[Question]", picture: Path) -> None:
    """The attention of the sentence whose words change places the most."""
    from dhyan.insight.explain import cross_maps, explain
    from dhyan.insight.figures import heatmap, save

    short = [one for one in questions if len(one.source.split()) in BEST_TO_LOOK_AT]
    chosen = max(short, key=lambda one: _crossings(one.links))
    save(heatmap(*cross_maps(explain(translator, chosen.source))), picture)


def _crossings(links: str) -> int:
    """How many pairs of sure links cross."""
    sure = [tuple(map(int, link.split("-"))) for link in links.split() if "-" in link]
    return sum(a < c and d < b for a, b in sure for c, d in sure)
