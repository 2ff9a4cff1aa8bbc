"""`docs/ladder.md`, written from two result files: it has no figure that is not of them."""

import json
from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import Any

from benchmarks.ladder import errors, gain, kept, understood
from benchmarks.predictions import LEARNED, Found
from benchmarks.report import newest
from dhyan.compare.report_page import STEPS, length_label

FIRST = "first-ladder_h200_2026-11-15.json"
PHENOMENA = ("context", "idiom", "attachment", "agreement")
FIFTHS = ("first fifth", "second", "third", "fourth", "last fifth")


def newest_page() -> str:
    """The page, of the newest results."""
    files = [newest("ladder"), newest("mixer")]
    facts, mixers = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    return page(facts, files[0].name, mixers, files[1].name)


def page(facts: Found, file: str, mixers: Found, mixers_file: str) -> str:
    """The page, of what files of these names hold: the ladder's, and the mixers'."""
    found = facts["figures"]
    parts = [
        _top(found, file, facts["commit"][:7]),
        _scores(found),
        _lengths(found),
        _meanings(found),
        _looking(),
    ]
    parts += [_reversal(found), _mixers(mixers["figures"], mixers_file), _expected(found)]
    return "\n\n".join([*parts, _again(found)]) + "\n"


def _top(found: Found, file: str, commit: str) -> str:
    said = f"""Does quality fall with length without attention, and hold with it? To see,
        {len(found["models"])} models were trained alike on the [primer](primer.md): the same
        {found["pairs"]["training"]:,} pairs, the same vocabularies,
        {found["budget"]["steps"]:,} steps of {found["tokens_per_batch"]:,} tokens, and widths
        scaled to {found["parameters_allowed"] / 1e6:.0f} million parameters each. One seed, on an
        {found["machine"]["gpu"]}, with the code and the primer of commit
        `{commit}`. Every figure here is one of
        [`{file}`](../benchmarks/results/{file}), and the predictions at the end were written down
        before the run."""
    picture = "![BLEU by the length of the source](ladder/bleu-by-length.png)"
    return f"# The ladder, measured\n\n{_prose(said)}\n\n{picture}"


def _scores(found: Found) -> str:
    rows = [
        [
            name,
            f"{model['tests']['random']['bleu']['value']:.1f}",
            f"{model['tests']['random']['chrf']['value']:.1f}",
            f"{kept(found, name):.0%}",
            f"{errors(found, name):.3f}" if model["alignment"] else "–",
            f"{model['parameters'] / 1e6:.2f} M",
            f"{model['training_tokens_per_second']:,.0f}",
            f"{model['sentences_per_second']:.0f}",
        ]
        for name, model in found["models"].items()
    ]
    heads = "model|BLEU|chrF++|BLEU kept|AER|parameters|tokens/s|sentences/s".split("|")
    test, share = found["tests"]["random"], _first(found)["tests"]["random"]["retained"]
    said = f"""On {test["sentences"]:,} {test["about"].partition(",")[0]}, as many of each group of
        lengths. *BLEU kept* is that of more than {share["over"]} words as a share of that of up to
        {share["up_to"]}. *tokens/s* are target
        tokens in training and *sentences/s* translated ones with a beam of {found["beam"]}, each
        model alone on the machine. *AER* is taken from the attention to the source of one layer,
        chosen on validation, heads averaged, at {_steps(found)}."""
    return f"## Scores\n\n{_table(heads, rows)}\n\n{_prose(said)}"


def _steps(found: Found) -> str:
    """At which step of a model its attention is read."""
    ways = {
        name: one["alignment"]["at"] for name, one in found["models"].items() if one["alignment"]
    }
    by_way = {
        way: [name for name, own in ways.items() if own == way]
        for way in dict.fromkeys(ways.values())
    }
    if len(by_way) == 1:
        return STEPS[next(iter(by_way))]
    return "; ".join(f"{STEPS[way]} for {', '.join(names)}" for way, names in by_way.items())


def _lengths(found: Found) -> str:
    groups = _first(found)["tests"]["random"]["by_length"]
    longest = found.get("lengths", {}).get("random", {}).get("longest")
    ranges = [length_label({**one, "most": one["most"] or longest}) for one in groups]
    rows = [
        [
            name,
            *(f"{group['bleu']:.1f}" for group in model["tests"]["random"]["by_length"]),
            f"{model['tests']['longer']['bleu']['value']:.1f}",
        ]
        for name, model in found["models"].items()
    ]
    said = """The last column is longer than anything in training: another matter, and reported
        apart."""
    beyond = found.get("lengths", {}).get("longer")
    heads = ["words", *ranges, f"{beyond['shortest']}–{beyond['longest']}" if beyond else "longer"]
    return f"## By length\n\n{_table(heads, rows)}\n\n{_prose(said)}"


def _meanings(found: Found) -> str:
    rows = [
        [name, *(f"{understood(found, name, test):.1%}" for test in PHENOMENA)]
        for name in found["models"]
    ]
    asked = [_first(found)["tests"][test]["understood"]["asked"] for test in PHENOMENA]
    rows.append(["*sentences*", *(f"{number:,}" for number in asked)])
    said = f"""The share of sentences in which the word that depends on its context (*bank*), the
        idiom, the attachment (*with the telescope*) or the far verb is translated rightly; the
        contexts are pairings training never shows. This is learned late: in a first run, of half
        the steps at half the rate for recurrent models
        ([its figures](../benchmarks/results/{FIRST})),
        Luong's variants understood 48 to 88 of 100 contexts."""
    return f"## What was understood\n\n{_table(['model', *PHENOMENA], rows)}\n\n{_prose(said)}"


def _looking() -> str:
    said = """A model without attention looks at the state it read last, whatever it says. All were
        told the same reference."""
    picture = "![The attention of every model for one sentence](ladder/attention.png)"
    return f"## What they look at\n\n{picture}\n\n{_prose(said)}"


def _reversal(found: Found) -> str:
    reports = (("into Hindi", found), ("into English", found["backwards"]))
    rows = [
        [f"{name}, {into}", *(f"{share:.1%}" for share in model["positions"]["shares"])]
        for into, report in reports
        for name, model in report["models"].items()
        if name in ("bottleneck-forward", "bottleneck-reversed")
    ]
    changes = [
        f"the first by {100 * gain(report, 0):+.1f} and the last by {100 * gain(report, 4):+.1f}"
        for _, report in reports
    ]
    said = f"""The share of tokens found likeliest when told all before them, by their place in the
        target. Reading the source backwards changes this, in points, in {changes[0]} into Hindi;
        in {changes[1]} into English, whose verbs come early."""
    return f"## Reading backwards\n\n{_table(['model', *FIFTHS], rows)}\n\n{_prose(said)}"


def _mixers(figures: Found, file: str) -> str:
    """Whether learned queries, keys and values are what makes the difference."""
    found, sizes = figures["found"], figures["sizes"]
    asked = [("senses", "seen"), ("senses", "held_out"), ("senses", "new_nouns")]
    asked += [("idioms", "seen"), ("idioms", "held_out")]
    rows = [
        [
            arm,
            f"{one['parameters']:,}",
            *(
                f"{found[trial]['arms'][arm]['accuracy'][test]['mean']:.3f}"
                for trial, test in asked
            ),
            f"{one['weight_on_itself']:.2f}",
        ]
        for arm, one in found["senses"]["arms"].items()
    ]
    rows.append(
        [
            "*commonest reading*",
            "",
            *(f"{found[t]['commonest'][test]:.3f}" for t, test in asked),
            "",
        ]
    )
    heads = ["mixer", "parameters", "senses, seen", "held-out contexts", "new nouns"]
    heads += ["idioms, seen", "held-out sentences", "on itself"]
    said = f"""A Transformer's encoder differs from one without learned queries, keys and values in
        more than these. So they were tried alone: every word has one fixed vector, one mixer lets
        the word asked about look at its sentence, one linear layer reads its meaning, and only the
        mixer differs. The shares are of sentences read rightly, means of {len(sizes["seeds"])}
        seeds at the same {sizes["steps"]} steps; *on itself* is the weight a word gives to itself.
        Figures: [`{file}`](../benchmarks/results/{file}), by `{figures["command"]}`."""
    title = "## Is it learned queries, keys and values?"
    return (
        f"{title}\n\n{_prose(said)}\n\n{_table(heads, rows)}\n\n"
        f"{_verdict(found)}\n\nExpected of the mixers, before any was run:\n\n{_held(figures)}"
    )


def _verdict(found: Found) -> str:
    """What the mixers' figures say, in a sentence that they decide."""
    senses, idioms = (found[trial]["arms"] for trial in ("senses", "idioms"))
    best = max(
        (arm for arm in senses if "learned" not in arm),
        key=lambda arm: senses[arm]["accuracy"]["held_out"]["mean"],
    )
    gains = [
        arms[LEARNED]["accuracy"][test]["mean"] - arms[best]["accuracy"][test]["mean"]
        for arms, test in ((senses, "held_out"), (idioms, "seen"), (idioms, "held_out"))
    ]
    said = f"""The best that learns nothing is *{best}*. Against it, learned queries, keys and
        values gain {100 * gains[0]:+.1f} points on held-out contexts, {100 * gains[1]:+.1f} on
        idioms in sentences like those of training, and {100 * gains[2]:+.1f} on idioms in sentences
        it never shows."""
    return _prose(said)


def _expected(found: Found) -> str:
    return f"## What was expected\n\n{_held(found)}"


def _held(found: Found) -> str:
    return "\n".join(
        f"- {'held' if one['held'] else '**did not hold**'}: {one['says']}"
        for one in found["predictions"]
    )


def _again(found: Found) -> str:
    small = "dhyan compare --ladder --quick --data primer --out ladder"
    said = f"""`{small}` is the small one, for a CPU ([comparing](compare.md)). Sentences like those
        of training and of every test:"""
    return f"""## To run it again

```text
{found["command"]}
{found["backwards"]["command"]}
python -m benchmarks ladder ladder/report.json backwards/report.json HEAD
```

{_prose(said)}

```sh
dhyan data primer --pairs 100 --test-pairs 10 --max-words 20 --out primer --quiet
```"""


def _first(found: Found) -> dict[str, Any]:
    """The first model, for what is the same of all."""
    return next(iter(found["models"].values()))


def _prose(text: str) -> str:
    return fill(" ".join(text.split()), 108, break_long_words=False, break_on_hyphens=False)


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
