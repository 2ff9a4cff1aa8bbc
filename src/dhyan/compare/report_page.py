"""The report of a comparison as a page: tables, figures and how it was all measured."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dhyan.compare.report_figures import spoken

Facts = Mapping[str, Any]
NOTHING, SENTENCES = "–", "*sentences*"
AT = {"emits": "the step that says the word", "reads": "the step that reads the word"}


def page(facts: Facts, figures: Sequence[str]) -> str:
    """Markdown, whole; every number in it is in report.json too. It shows the figures there are."""
    blocks = [
        "# Mechanisms compared",
        *_terms(facts),
        *_drawn(figures, "bleu-by-length", "BLEU by the length of the source"),
        "## Scores",
        *_scores(facts),
        "## BLEU by the length of the source",
        *_lengths(facts),
        *_others(facts),
        *_understood(facts),
        "## Alignments",
        *_alignments(facts),
        "## Right tokens by their place in the target",
        *_places(facts),
        *_drawn(figures, "right-by-place", "Right tokens by their place"),
        *_looking(figures),
        "## How it was measured",
        *_measured(facts),
    ]
    return "\n\n".join(blocks) + "\n"


def _drawn(figures: Sequence[str], name: str, about: str) -> Iterator[str]:
    for figure in figures:
        if name in figure:
            yield f"![{about}]({figure})"


def _looking(figures: Sequence[str]) -> Iterator[str]:
    maps = list(_drawn(figures, "attention-", "Attention"))
    if maps:
        yield "## What they look at"
        yield "The same sentences, each model told the same reference; a row for each of its words."
        yield from maps


def _terms(facts: Facts) -> Iterator[str]:
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
    yield "\n".join(f"- **{name}**: {one['about']}" for name, one in facts["models"].items())


def _scores(facts: Facts) -> Iterator[str]:
    main, best = facts["main_test"], facts["best"]
    rows = []
    for name, one in facts["models"].items():
        test = one["tests"][main]
        beside = test["bleu"].get("against_best")
        kept = test["retained"]
        rows.append(
            [
                name,
                _with_margin(test["bleu"]),
                "best" if name == best else f"{beside['p']:.4f}" if beside else NOTHING,
                _with_margin(test["chrf"]),
                _error_rate(one, main),
                f"{kept['share']:.0%}" if kept else NOTHING,
                f"{one['parameters']:,}",
                f"{one['training_tokens_per_second']:,.0f}",
                f"{one['sentences_per_second']:,.1f}",
                f"{one['steps']:,}",
                f"{one['training_seconds']:,.0f}",
            ]
        )
    yield _table(
        ["model", "BLEU", "p", "chrF++", "AER", "BLEU kept", "parameters", "tokens/s"]
        + ["sentences/s", "steps", "seconds"],
        rows,
    )
    asked = facts["tests"][main]
    yield f"On the test `{main}`, {asked['sentences']:,} sentences: {asked['about']}."
    yield (
        f"*p*: how often chance alone makes such a difference in BLEU from {best}, by paired "
        f"bootstrap resampling (Koehn, 2004). *tokens/s* are target tokens in training."
    )
    known = [one["tests"][main]["retained"] for one in facts["models"].values()]
    for kept in list(filter(None, known))[:1]:
        yield (
            f"*BLEU kept* is BLEU of sentences of more than {kept['over']} words as a share of "
            f"that of sentences of up to {kept['up_to']}."
        )
    signatures = next(iter(facts["models"].values()))["tests"][main]
    yield "\n".join(f"- `{signatures[key]['signature']}`" for key in ("bleu", "chrf"))


def _lengths(facts: Facts) -> Iterator[str]:
    main = facts["main_test"]
    parts = {name: one["tests"][main]["by_length"] for name, one in facts["models"].items()}
    first = next(iter(parts.values()))
    rows = [[name, *(f"{part['bleu']:.1f}" for part in own)] for name, own in parts.items()]
    rows.append([SENTENCES, *(f"{part['sentences']:,}" for part in first)])
    yield _table(["words", *map(spoken, first)], rows)


def _others(facts: Facts) -> Iterator[str]:
    names = [name for name in facts["tests"] if name != facts["main_test"]]
    if not names:
        return
    yield "## BLEU in the other tests"
    rows = [
        [name, *(f"{one['tests'][test]['bleu']['value']:.1f}" for test in names)]
        for name, one in facts["models"].items()
    ]
    rows.append([SENTENCES, *(f"{facts['tests'][test]['sentences']:,}" for test in names)])
    yield _table(["model", *names], rows)
    yield "\n".join(f"- `{name}`: {facts['tests'][name]['about']}" for name in names)


def _understood(facts: Facts) -> Iterator[str]:
    names = [
        test
        for test in facts["tests"]
        if any("understood" in one["tests"][test] for one in facts["models"].values())
    ]
    if not names:
        return
    yield "## What was understood"
    rows = [
        [name, *(f"{one['tests'][test]['understood']['share']:.1%}" for test in names)]
        for name, one in facts["models"].items()
    ]
    first = next(iter(facts["models"].values()))["tests"]
    rows.append([SENTENCES, *(f"{first[test]['understood']['asked']:,}" for test in names)])
    yield _table(["model", *names], rows)
    yield (
        "The share of sentences whose translation says all that shows it understood, and nothing "
        "that shows it did not; word by word in report.json."
    )


def _alignments(facts: Facts) -> Iterator[str]:
    aligned = {name: one["alignment"] for name, one in facts["models"].items() if one["alignment"]}
    if not aligned:
        yield "No gold alignments were given, or no model attends."
        return
    tests = [test for test in facts["tests"] if any(test in a["tests"] for a in aligned.values())]
    rows = [
        [
            name,
            f"`{one['where']}`",
            one["at"],
            *(f"{one['tests'][test][one['at']]['error_rate']:.3f}" for test in tests),
        ]
        for name, one in aligned.items()
    ]
    first = next(iter(aligned.values()))
    scored = (first["tests"][test][first["at"]]["sentences"] for test in tests)
    rows.append([SENTENCES, "", "", *(f"{number:,}" for number in scored)])
    yield _table(["model", "attention", "step", *(f"AER {test}" for test in tests)], rows)
    yield (
        f"The alignment error rate of the source word with most weight, heads averaged, while the "
        f"model is told the reference. Which attention, and at which step a word's weights are "
        f"taken (*emits*: {AT['emits']}; *reads*: {AT['reads']}), was chosen for each model by its "
        f"error rate on other sentences ({first['chosen_on']}). Models without attention have no "
        f"alignment."
    )


def _places(facts: Facts) -> Iterator[str]:
    rows = [
        [name, *(f"{share:.1%}" for share in one["positions"]["shares"])]
        for name, one in facts["models"].items()
    ]
    first = next(iter(facts["models"].values()))
    rows.append(["*tokens*", *(f"{number:,}" for number in first["positions"]["tokens"])])
    yield _table(["model", "first fifth", "second", "third", "fourth", "last fifth"], rows)
    yield (
        f"The share of reference tokens of the test `{facts['main_test']}` that the model finds "
        f"the likeliest when it is told all those before."
    )


def _measured(facts: Facts) -> Iterator[str]:
    machine, versions = facts["machine"], facts["versions"]
    yield f"```text\n{facts['command']}\n```"
    where = f"{machine['gpu']}, " if machine["gpu"] else ""
    programs = ", ".join(f"{name} {own}" for name, own in versions.items())
    yield (
        f"{facts['date']}, {where}{machine['processor']}, {machine['cores']} cores, "
        f"threads {machine['threads']}, {machine['system']}; {programs}."
    )
    yield (
        "Training time is that of the steps alone. Speeds are measured afterwards with one model "
        "at a time on the machine: the median of short bursts of steps, and a part of the test "
        "translated with the beam above. Every number is in [report.json](report.json)."
    )


def _with_margin(score: Facts) -> str:
    drawn = score.get("interval")
    return f"{score['value']:.1f}" + (f" ± {drawn['margin']:.1f}" if drawn else "")


def _error_rate(one: Facts, test: str) -> str:
    aligned = one["alignment"]
    if not aligned or test not in aligned["tests"]:
        return NOTHING
    return f"{aligned['tests'][test][aligned['at']]['error_rate']:.3f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
