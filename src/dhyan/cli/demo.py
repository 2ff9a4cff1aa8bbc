"""`dhyan demo`: train, translate, score and draw, with nothing but the package."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from dhyan.cli.options import Threads
from dhyan.cli.progress import follow, teller

TESTED = 1000
SENTENCES = (
    "three hundred forty two",
    "two hundred thirty four thousand five hundred six",
    "one million ninety nine",
)


def demo(
    out: Annotated[Path, typer.Option(help="Where the model and the picture go.")] = Path("demo"),
    threads: Threads = 0,
) -> None:
    """See the whole path in a minute: numbers from English to Hindi, with a picture.

    Example: dhyan demo
    """
    from dhyan.config import load_recipe
    from dhyan.corpora.gather import gather
    from dhyan.data.synthetic import number_pairs
    from dhyan.evaluation.scores import score
    from dhyan.insight.explain import cross_maps, explain
    from dhyan.insight.figures import heatmap, save
    from dhyan.run import load, train

    recipe, say = load_recipe("numbers"), teller(quiet=False)
    say(f"training the recipe 'numbers': {recipe.about}")
    begun = (out / "run").exists()
    follow(train(recipe, out / "run", resume=begun, threads=threads, say=say), say, again="")
    translator = load(out / "run")
    corpus = gather(recipe, lambda line: None)
    known = {pair.source for pair in (*corpus.lessons(recipe), *corpus.validation)}
    others = (pair for pair in number_pairs(seed=0) if pair.source not in known)
    test = list(islice(others, TESTED))
    said = [one.text for one in translator([pair.source for pair in test])]
    typer.echo(f"\n{len(test):,} numbers the model was neither trained nor chosen on:")
    for result in score(said, [pair.target for pair in test], language="hi").values():
        typer.echo(f"  {result.name:<7} {result.value:6.2f}   {result.signature}")
    exact = sum(one == pair.target for one, pair in zip(said, test, strict=True)) / len(test)
    typer.echo(f"  exactly right {exact:.1%}\n")
    for sentence, one in zip(SENTENCES, translator(SENTENCES), strict=True):
        typer.echo(f"  {sentence}\n  {one.text}\n")
    picture = out / "attention.png"
    save(heatmap(*cross_maps(explain(translator, SENTENCES[1]))), picture)
    typer.echo(f"what it looked at: {picture}")
