"""Write `docs/explanation/real-ladder.md` and its charts from the newest result of the real ladder."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean, median
from textwrap import fill
from typing import Any

from benchmarks.predictions import Results
from benchmarks.real_ladder import (
    CORPORA,
    DE,
    FR,
    TRANSFORMERS,
    WITHOUT_ATTENTION,
    best,
    gain,
    model_figures,
    p_value,
    reversal_gain,
    significant_share,
)
from benchmarks.report import newest

WHAT = "real-ladder"
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / f"{WHAT}.md"
IMAGES = PAGE.parent / WHAT
TITLES = {DE: "Multi30k, English to German", FR: "Tatoeba, English to French"}
FIFTHS = ("first fifth", "second", "third", "fourth", "last fifth")
STEPS = (
    ("bottleneck-reversed", "bottleneck-forward", "source reversed"),
    ("bottleneck-deep", "bottleneck-reversed", "four layers for two"),
    ("cho", "bottleneck-forward", "state read at every step, and one GRU layer for two of LSTM"),
    ("bahdanau", "cho", "additive attention to a bidirectional encoder for that state"),
    ("luong-general", "bahdanau", "attention after the step for before, and LSTM for GRU"),
    ("luong-dot", "luong-general", "dot for general score"),
    ("luong-concat", "luong-general", "concat for general score"),
    ("luong-local-p", "luong-general", "window around a predicted position"),
    ("luong-general", "luong-unfed", "input feeding"),
    ("transformer", "bahdanau", "Transformer for RNN"),
    ("transformer", "transformer-parameter-free", "learned self-attention for softmax(X Xᵀ) X"),
    ("transformer-parameter-free", "transformer-no-self", "softmax(X Xᵀ) X for none"),
)
# Luong, Pham and Manning (2015), tables 1 and 4 and footnote 15: perplexity and BLEU on newstest2014
# before unknown words are replaced. Feeding was measured there with the location score.
LUONG = (
    ("no attention", "bottleneck-reversed", "8.1", "14.0"),
    ("dot", "luong-dot", "6.1", "18.6"),
    ("general", "luong-general", "6.1", "17.3"),
    ("concat", "luong-concat", "6.7", "–"),
    ("local-p, general", "luong-local-p", "5.9", "19.0"),
    ("without input feeding", "luong-unfed", "7.3 (fed 6.4)", "16.8 (fed 18.1)"),
)


def publish() -> list[Path]:
    """Write the page and its charts from the newest result."""
    path = newest(WHAT)
    return write(json.loads(path.read_text(encoding="utf-8")), path.name, PAGE)


def newest_page() -> str:
    """The page, from the newest result."""
    path = newest(WHAT)
    return page(json.loads(path.read_text(encoding="utf-8")), path.name)


def write(result: Results, file: str, path: Path) -> list[Path]:
    """Write the page of a result file of this name, and its charts beside it."""
    path.write_text(page(result, file), encoding="utf-8")
    return [path, *draw(result["figures"], path.parent / WHAT)]


def page(result: Results, file: str) -> str:
    """The page, from the contents of a result file of this name."""
    figures = result["figures"]
    parts = [
        _top(result, file),
        _findings(figures),
        _scores(figures),
        _steps(figures),
        _lengths(figures),
        _bahdanau(figures),
        _reversal(figures),
        _luong(figures),
        _predictions(figures),
        _commands(),
    ]
    return "\n\n".join(parts) + "\n"


def draw(figures: Results, folder: Path) -> list[Path]:
    """The charts: BLEU by length for each corpus, and what the reversal gains by position."""
    from dhyan.insight.heatmap import save
    from dhyan.insight.lesson_blocks import Curve
    from dhyan.insight.line_chart import line_chart

    folder.mkdir(parents=True, exist_ok=True)
    charts = {}
    for corpus, title in TITLES.items():
        models = figures["corpora"][corpus]["models"]
        groups = next(iter(models.values()))["by_length"]
        charts[f"bleu-by-length-{corpus}"] = line_chart(
            [
                Curve(
                    name,
                    [group["bleu"] for group in model["by_length"]],
                    [group["low"] for group in model["by_length"]],
                    [group["high"] for group in model["by_length"]],
                    _style(name),
                )
                for name, model in models.items()
            ],
            [_range(group) for group in groups],
            title=f"{title}: BLEU by source length, with 95 % intervals",
            x_label="source words",
            y_label="BLEU",
        )
    gains = {corpus: _gains_by_fifth(figures, corpus) for corpus in CORPORA}
    charts["reversal"] = line_chart(
        [
            Curve(
                f"into {'German' if corpus == DE else 'French'}",
                [mean(part) for part in by_fifth],
                [min(part) for part in by_fifth],
                [max(part) for part in by_fifth],
            )
            for corpus, by_fifth in gains.items()
        ],
        FIFTHS,
        title="Token accuracy gained by reversing the source; bands from lowest to highest seed",
        x_label="position in the target",
        y_label="percentage points",
    )
    paths = [folder / f"{name}.png" for name in charts]
    for path, chart in zip(paths, charts.values(), strict=True):
        save(chart, path)
    return paths


def _style(name: str) -> Any:
    if name in WITHOUT_ATTENTION:
        return "dashed"
    return "dotted" if name in TRANSFORMERS else "solid"


def _top(result: Results, file: str) -> str:
    figures = result["figures"]
    corpora, machine = figures["corpora"], result["machine"]
    models = corpora[DE]["models"]
    sizes = [model["parameters"] for model in models.values()]
    seconds = [
        seconds
        for corpus in corpora.values()
        for model in corpus["models"].values()
        for seconds in model["training_seconds"]
    ]
    text = f"""The [synthetic ladder](ladder.md) ends at 99 BLEU for most models with attention. Here
        the same {len(models)} models are trained on two corpora that people wrote, each with
        {len(corpora[DE]["seeds"])} seeds: Multi30k from English to German ({_corpus(corpora[DE])}) and
        Tatoeba from English to French ({_corpus(corpora[FR])}). All have {min(sizes) / 1e6:.2f} to
        {max(sizes) / 1e6:.2f} million parameters, BPE vocabularies of
        {corpora[DE]["vocabulary"][0]:,} a side, batches of {corpora[DE]["tokens_per_batch"]:,}
        tokens, label smoothing, a cosine schedule and no R-Drop; recurrent models a learning rate of
        0.003, Transformers 0.0015. Training pairs that hold or nearly hold a test sentence were
        dropped. A training took {median(seconds):.0f} seconds (median) beside others on
        one {machine["gpu"]}: these scores compare models, they are no records.
        Code of commit `{result["commit"][:7]}`; figures:
        [`{file}`](../../benchmarks/results/{file})."""
    return f"# The ladder on real language\n\n{_prose(text)}"


def _findings(figures: Results) -> str:
    """The main figures in sentences; none says which way a difference goes but its sign."""
    models = [figures["corpora"][corpus]["models"] for corpus in CORPORA]
    runs = [step for own in models for model in own.values() for step in model["best_steps"]]
    last = sum(
        step == figures["corpora"][corpus]["steps"]
        for corpus, own in zip(CORPORA, models, strict=True)
        for model in own.values()
        for step in model["best_steps"]
    )
    longest = [
        own["bahdanau"]["by_length"][-1]["bleu"] - own["cho"]["by_length"][-1]["bleu"]
        for own in models
    ]
    attention, reads, reversal, self_attention = (
        _gains(figures, *pair)
        for pair in (
            ("bahdanau", "cho"),
            ("cho", "bottleneck-forward"),
            ("bottleneck-reversed", "bottleneck-forward"),
            ("transformer", "transformer-no-self"),
        )
    )
    winners = [best(figures, corpus) for corpus in CORPORA]
    sentences = (
        f"""Attention in place of the last encoder state, read at every step (`bahdanau` less `cho`):
        {attention}; on the longest sentences {longest[0]:+.1f} and {longest[1]:+.1f}.""",
        f"""Reading that state at every step, not once (`cho` less `bottleneck-forward`): {reads}. The
        two also differ in cell and layers, as their papers do.""",
        f"Reversing the source: {reversal}. Sutskever et al. report +4.7 into French.",
        f"Self-attention in the Transformer's encoder: {self_attention}.",
        f"""The highest mean is that of `{winners[0]}` into German and of `{winners[1]}` into
        French.""",
        f"""In {last} of {len(runs)} runs the last checkpoint was the best: training was short, and a
        longer one may change the order.""",
    )
    lines = (fill(" ".join(text.split()), 108, subsequent_indent="  ") for text in sentences)
    return "## What it shows\n\n" + "\n".join(f"- {line}" for line in lines)


def _gains(figures: Results, better: str, worse: str) -> str:
    into_german, into_french = (gain(figures, corpus, better, worse) for corpus in CORPORA)
    return f"{_signed(into_german)} BLEU into German, {_signed(into_french)} into French"


def _signed(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}"  # no negative zero


def _corpus(corpus: Results) -> str:
    epochs = "" if not corpus["epochs"] else f", {corpus['epochs']:.0f} epochs"
    return (
        f"{corpus['pairs']:,} pairs, {corpus['steps']:,} steps{epochs}, dropout "
        f"{corpus['dropout']:g}, {corpus['test_sentences']:,} test sentences of "
        f"{corpus['test_words'] / corpus['test_sentences']:.1f} words on average"
    )


def _scores(figures: Results) -> str:
    rows = []
    for name in figures["corpora"][DE]["models"]:
        row = [name]
        for corpus in CORPORA:
            model = model_figures(figures, corpus, name)
            row += [_mean(model["bleu"]), f"{model['bleu']['low']:.1f}–{model['bleu']['high']:.1f}"]
            row += [f"{model['chrf']['mean']:.1f}", f"{model['perplexity']['mean']:.2f}"]
        rows.append(row)
    heads = ["model", *(head for name in ("en→de", "en→fr") for head in _score_heads(name))]
    beam, signature = (figures["corpora"][DE][key] for key in ("beam", "signatures"))
    text = f"""BLEU is the mean over the seeds ± their standard deviation. The 95 % interval comes from
        {figures["resamples"]:,} resamples of the test sentences and of the seeds; with so few seeds
        it understates how much they vary. *ppl* is test perplexity per BPE token under teacher
        forcing. Beam {beam}; `{signature["bleu"]}`; `{signature["chrf"]}`."""
    return f"## Scores\n\n{_table(heads, rows)}\n\n{_prose(text)}"


def _score_heads(name: str) -> list[str]:
    return [f"{name} BLEU", "95 %", "chrF++", "ppl"]


def _steps(figures: Results) -> str:
    rows = [
        [
            f"{better} − {worse}",
            change,
            *(_difference(figures, corpus, better, worse) for corpus in CORPORA),
        ]
        for better, worse, change in STEPS
    ]
    shares = [significant_share(figures, corpus) for corpus in CORPORA]
    text = f"""Differences in mean BLEU, with the two-sided p of a paired bootstrap over sentences and
        seeds. Of all {len(figures["corpora"][DE]["differences"])} pairs of models {shares[0]:.0%}
        differ with p < 0.05 on Multi30k and {shares[1]:.0%} on Tatoeba; by chance 5 % would."""
    heads = ["models", "what changes", "en→de", "en→fr"]
    return f"## Step by step\n\n{_table(heads, rows)}\n\n{_prose(text)}"


def _difference(figures: Results, corpus: str, better: str, worse: str) -> str:
    p, least = p_value(figures, corpus, better, worse), 1 / figures["resamples"]
    note = f"p ≤ {least:.3f}" if p <= least else f"p {p:.3f}"
    return f"{_signed(gain(figures, corpus, better, worse))} ({note})"


def _lengths(figures: Results) -> str:
    parts = ["## By length"]
    for corpus, title in TITLES.items():
        models = figures["corpora"][corpus]["models"]
        groups = next(iter(models.values()))["by_length"]
        rows = [
            [
                name,
                *(f"{group['bleu']:.1f}" for group in model["by_length"]),
                f"{model['by_length'][-1]['bleu'] / model['by_length'][0]['bleu']:.0%}",
            ]
            for name, model in models.items()
        ]
        rows.append(["*sentences*", *(f"{group['sentences']:,}" for group in groups), ""])
        heads = ["words", *map(_range, groups), "last / first"]
        chart = f"![{title}: BLEU by source length]({WHAT}/bleu-by-length-{corpus}.png)"
        parts += [f"### {title}", chart, _table(heads, rows)]
    return "\n\n".join(parts)


def _bahdanau(figures: Results) -> str:
    rows = [["paper, WMT'14 en→fr, to 50 words", "17.8", "26.8", "+8.9"]]
    for corpus, title in TITLES.items():
        models = [model_figures(figures, corpus, name) for name in ("cho", "bahdanau")]
        for number, where in ((None, "all"), (0, "shortest"), (-1, "longest")):
            scores = [
                model["bleu"]["mean"] if number is None else model["by_length"][number]["bleu"]
                for model in models
            ]
            rows.append(
                [
                    f"{title}, {where}",
                    *(f"{score:.1f}" for score in scores),
                    f"{scores[1] - scores[0]:+.1f}",
                ]
            )
    text = """RNNencdec-50 and RNNsearch-50 of Bahdanau, Cho and Bengio (2015, table 1) beside `cho`
        and `bahdanau`: without attention and with it."""
    heads = ["test", "without", "with", "difference"]
    return f"## Bahdanau's curve\n\n{_prose(text)}\n\n{_table(heads, rows)}"


def _reversal(figures: Results) -> str:
    rows = []
    for corpus in CORPORA:
        into = "German" if corpus == DE else "French"
        for name in ("bottleneck-forward", "bottleneck-reversed"):
            model = model_figures(figures, corpus, name)
            rows.append(
                [
                    f"{name}, into {into}",
                    _mean(model["bleu"]),
                    f"{model['perplexity']['mean']:.2f}",
                    *(f"{part['mean']:.1%}" for part in model["positions"]),
                ]
            )
    changes = [
        f"{reversal_gain(figures, corpus, 0):+.1f} in the first fifth and "
        f"{reversal_gain(figures, corpus, 4):+.1f} in the last"
        for corpus in CORPORA
    ]
    text = f"""Sutskever, Vinyals and Le (2014) report that reversing the source raised BLEU from 25.9
        to 30.6 and lowered perplexity from 5.8 to 4.7 from English to French. Here it changes token
        accuracy under teacher forcing, in points, by {changes[0]} into German, and by {changes[1]}
        into French."""
    chart = f"![Token accuracy gained by reversing the source, by position]({WHAT}/reversal.png)"
    heads = ["model", "BLEU", "ppl", *FIFTHS]
    return f"## Sutskever's reversal\n\n{_prose(text)}\n\n{chart}\n\n{_table(heads, rows)}"


def _luong(figures: Results) -> str:
    rows = []
    for variant, name, paper_perplexity, paper_bleu in LUONG:
        row = [variant, paper_perplexity, paper_bleu]
        for corpus in CORPORA:
            model = model_figures(figures, corpus, name)
            row += [f"{model['perplexity_per_word']['mean']:.2f}", _mean(model["bleu"])]
        rows.append(row)
    text = """Luong, Pham and Manning (2015, tables 1 and 4, footnote 15: WMT'14 English to German,
        four layers of 1,000, before unknown words are replaced) beside ours. Perplexity is per word,
        from the losses of its BPE tokens; only its order compares with the paper's. In the paper
        feeding was measured with the location score, and concat with half of its matrix fixed."""
    heads = ["variant", "paper ppl", "paper BLEU", "en→de ppl", "en→de BLEU"]
    return (
        f"## Luong's variants\n\n{_prose(text)}\n\n"
        f"{_table([*heads, 'en→fr ppl', 'en→fr BLEU'], rows)}"
    )


def _predictions(figures: Results) -> str:
    held = sum(prediction["held"] for prediction in figures["predictions"])
    verdicts = "\n".join(
        f"- {'held' if prediction['held'] else '**did not hold**'}: {prediction['statement']}"
        for prediction in figures["predictions"]
    )
    text = f"Written before the first run; {held} of {len(figures['predictions'])} held."
    return f"## Predictions\n\n{text}\n\n{verdicts}"


def _commands() -> str:
    return """## Reproduce it

```text
python -m experiments.real_ladder prepare --data ../shared/data
python -m experiments.real_ladder train
python -m experiments.real_ladder score --finished build/real-ladder.tar.gz
python -m benchmarks real-ladder
```"""


def _gains_by_fifth(figures: Results, corpus: str) -> list[list[float]]:
    """What the reversed source gains in token accuracy in each fifth, by seed, in points."""
    forward, reverse = (
        model_figures(figures, corpus, name)["positions"]
        for name in ("bottleneck-forward", "bottleneck-reversed")
    )
    return [
        [100 * (after - before) for before, after in zip(old["values"], new["values"], strict=True)]
        for old, new in zip(forward, reverse, strict=True)
    ]


def _mean(score: Results) -> str:
    return f"{score['mean']:.1f} ± {score['standard_deviation']:.1f}"


def _range(group: Results) -> str:
    least, most = group["least"], group["most"]
    return f"{least}–{most}" if most > least else f"{least}"


def _prose(text: str) -> str:
    return fill(" ".join(text.split()), 108, break_long_words=False, break_on_hyphens=False)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
