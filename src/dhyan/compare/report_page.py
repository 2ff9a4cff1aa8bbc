"""Markdown report of a comparison (report.md): tables, figures and how all was measured."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Facts = Mapping[str, Any]
NOTHING, SENTENCES = "–", "*sentences*"
STEPS = {
    "emits": "the step that outputs the word",
    "reads": "the next step, which reads the word",
}


def report_markdown(facts: Facts, figures: Sequence[str]) -> str:
    """The report in Markdown; every number in it is in report.json too."""
    metric, label = first_metric(facts)
    blocks = [
        "# Comparison",
        *_conditions(facts),
        *_figures(figures, f"{metric}-by-length", f"{label} by source length"),
        "## Scores",
        *_scores(facts),
        f"## {capitalized(label)} by source length",
        *_lengths(facts),
        *_others(facts),
        *_targeted(facts),
        "## Alignments",
        *_alignments(facts),
        "## Token accuracy by position in the target",
        *_positions(facts),
        *_figures(figures, "accuracy-by-position", "Token accuracy by position"),
        *_attention_maps(facts, figures),
        "## How it was measured",
        *_measured(facts),
    ]
    return "\n\n".join(blocks) + "\n"


def first_metric(facts: Facts) -> tuple[str, str]:
    """The name and the label of the metric that tells which model is best."""
    metric: tuple[str, str] = next(iter(facts["metrics"].items()))
    return metric


def capitalized(label: str) -> str:
    """A label at the beginning of a title."""
    return label[:1].upper() + label[1:]


def _figures(figures: Sequence[str], name: str, about: str) -> Iterator[str]:
    for figure in figures:
        if name in figure:
            yield f"![{about}]({figure})"


def _attention_maps(facts: Facts, figures: Sequence[str]) -> Iterator[str]:
    maps = list(_figures(figures, "attention-", "Attention"))
    without = [name for name, model in facts["models"].items() if not model["has_maps"]]
    if maps:
        yield "## Attention maps"
        yield "The same sentence pairs under teacher forcing; a row for each target word."
        if without:
            yield f"Without attention, and so without maps: {', '.join(without)}."
        yield from maps


def _conditions(facts: Facts) -> Iterator[str]:
    pairs, words, budget = facts["pairs"], facts["vocabulary"], facts["budget"]
    spent = f"{budget['steps']:,} steps" if budget["steps"] else f"{budget['seconds']:g} s"
    yield (
        f"{len(facts['models'])} models, each trained for {spent} on the same "
        f"{pairs['training']:,} pairs with the same vocabularies ({words['kind']}, "
        f"{words['source']:,} and {words['target']:,}), batches of "
        f"{facts['tokens_per_batch']:,} tokens, label smoothing {facts['label_smoothing']:g} and "
        f"seed {facts['seed']}. Their widths are scaled to a budget of "
        f"{facts['parameters_allowed']:,} parameters. All are chosen on the same "
        f"{pairs['validation']:,} pairs and search with a beam of {facts['beam']}."
    )
    yield "\n".join(f"- **{name}**: {model['about']}" for name, model in facts["models"].items())


def _scores(facts: Facts) -> Iterator[str]:
    main, best = facts["main_test"], facts["best"]
    (first, label), *others = facts["metrics"].items()
    rows = []
    for name, model in facts["models"].items():
        test = model["tests"][main]
        difference = test[first].get("against_best")
        retained = test["retained"]
        rows.append(
            [
                name,
                _with_margin(test[first]),
                "best" if name == best else f"{difference['p']:.4f}" if difference else NOTHING,
                *(_with_margin(test[key]) for key, _ in others),
                f"{model['perplexity']:.2f}",
                _error_rate(model, main),
                f"{retained['share']:.0%}" if retained else NOTHING,
                f"{model['parameters']:,}",
                f"{model['training_tokens_per_second']:,.0f}",
                f"{model['sentences_per_second']:,.1f}",
                f"{model['steps']:,}",
                f"{model['training_seconds']:,.0f}",
            ]
        )
    yield _table(
        [
            "model",
            label,
            "p",
            *(other for _, other in others),
            "perplexity",
            "AER",
            f"{label} retained",
            "parameters",
            "tokens/s",
        ]
        + ["sentences/s", "steps", "seconds"],
        rows,
    )
    test_set = facts["tests"][main]
    yield f"Test set `{main}`, {test_set['sentences']:,} sentences: {test_set['about']}."
    yield (
        f"*p*: p value of the difference in {label} from {best}, by paired bootstrap resampling "
        f"(Koehn, 2004). *tokens/s*: target tokens per second of training."
    )
    shares = [model["tests"][main]["retained"] for model in facts["models"].values()]
    for retained in list(filter(None, shares))[:1]:
        yield (
            f"*{label} retained*: {label} of sentences of more than {retained['over']} words as a "
            f"share of that of sentences of up to {retained['up_to']}."
        )
    signatures = next(iter(facts["models"].values()))["tests"][main]
    yield "\n".join(f"- `{signatures[key]['signature']}`" for key in facts["metrics"])


def _lengths(facts: Facts) -> Iterator[str]:
    main, (metric, _) = facts["main_test"], first_metric(facts)
    parts = {name: model["tests"][main]["by_length"] for name, model in facts["models"].items()}
    first = next(iter(parts.values()))
    rows = [[name, *(f"{part[metric]:.1f}" for part in slices)] for name, slices in parts.items()]
    rows.append([SENTENCES, *(f"{part['sentences']:,}" for part in first)])
    yield _table(["words", *map(length_label, first)], rows)


def _others(facts: Facts) -> Iterator[str]:
    names = [name for name in facts["tests"] if name != facts["main_test"]]
    if not names:
        return
    metric, label = first_metric(facts)
    yield f"## {capitalized(label)} on the other test sets"
    rows = [
        [name, *(f"{model['tests'][test][metric]['value']:.1f}" for test in names)]
        for name, model in facts["models"].items()
    ]
    rows.append([SENTENCES, *(f"{facts['tests'][test]['sentences']:,}" for test in names)])
    yield _table(["model", *names], rows)
    yield "\n".join(f"- `{name}`: {facts['tests'][name]['about']}" for name in names)


def _targeted(facts: Facts) -> Iterator[str]:
    names = [
        test
        for test in facts["tests"]
        if any("targeted_accuracy" in model["tests"][test] for model in facts["models"].values())
    ]
    if not names:
        return
    yield "## Targeted accuracy"
    rows = [
        [name, *(f"{model['tests'][test]['targeted_accuracy']['share']:.1%}" for test in names)]
        for name, model in facts["models"].items()
    ]
    first = next(iter(facts["models"].values()))["tests"]
    rows.append(
        [SENTENCES, *(f"{first[test]['targeted_accuracy']['sentences']:,}" for test in names)]
    )
    yield _table(["model", *names], rows)
    yield (
        "The share of sentences whose translation has all required words and no wrong one; by "
        "phenomenon in report.json."
    )


def _alignments(facts: Facts) -> Iterator[str]:
    aligned = {
        name: model["alignment"] for name, model in facts["models"].items() if model["alignment"]
    }
    if not aligned:
        yield "There are no gold alignments, or no model has attention."
        return
    tests = [test for test in facts["tests"] if any(test in a["tests"] for a in aligned.values())]
    rows = [
        [
            name,
            f"`{alignment['where']}`",
            alignment["at"],
            *(f"{alignment['tests'][test][alignment['at']]['error_rate']:.3f}" for test in tests),
        ]
        for name, alignment in aligned.items()
    ]
    first = next(iter(aligned.values()))
    scored = (first["tests"][test][first["at"]]["sentences"] for test in tests)
    rows.append([SENTENCES, "", "", *(f"{number:,}" for number in scored)])
    yield _table(["model", "attention", "step", *(f"AER {test}" for test in tests)], rows)
    yield (
        f"Alignment error rate of the source word with the largest weight, averaged over heads, "
        f"under teacher forcing. The attention layer and the decoder step of a word's weights "
        f" (*emits*: {STEPS['emits']}; *reads*: {STEPS['reads']}), are those with the lowest "
        f"error rate on other sentences ({first['chosen_on']}). Models without attention have no "
        f"alignment."
    )


def _positions(facts: Facts) -> Iterator[str]:
    rows = [
        [name, *(f"{share:.1%}" for share in model["positions"]["shares"])]
        for name, model in facts["models"].items()
    ]
    first = next(iter(facts["models"].values()))
    rows.append(["*tokens*", *(f"{number:,}" for number in first["positions"]["tokens"])])
    yield _table(["model", "first fifth", "second", "third", "fourth", "last fifth"], rows)
    yield (
        f"The share of reference tokens of the test set `{facts['main_test']}` that are the most "
        f"probable token under teacher forcing."
    )


def _measured(facts: Facts) -> Iterator[str]:
    machine, versions = facts["machine"], facts["versions"]
    yield f"```text\n{facts['command']}\n```"
    gpu = f"{machine['gpu']}, " if machine["gpu"] else ""
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    yield (
        f"{facts['date']}, {gpu}{machine['processor']}, {machine['cores']} cores, "
        f"threads {machine['threads']}, {machine['system']}; {packages}."
    )
    yield (
        "Training time is that of the steps alone. Speeds are measured afterwards with one model "
        "at a time on the machine: the median of short bursts of steps, and a part of the test "
        "translated with the beam above. Every number is in [report.json](report.json)."
    )


def _with_margin(score: Facts) -> str:
    interval = score.get("interval")
    return f"{score['value']:.1f}" + (f" ± {interval['margin']:.1f}" if interval else "")


def _error_rate(model: Facts, test: str) -> str:
    aligned = model["alignment"]
    if not aligned or test not in aligned["tests"]:
        return NOTHING
    return f"{aligned['tests'][test][aligned['at']]['error_rate']:.3f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def length_label(part: Mapping[str, Any]) -> str:
    """The length range of a slice."""
    if part["most"] is None:
        return f"{part['least']}+"
    return f"{part['least']}–{part['most']}"
