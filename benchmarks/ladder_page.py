"""Write `docs/explanation/ladder.md` from the newest result files of the ladder and the mixer."""

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.ladder import (
    alignment_error_rate,
    evaluate_predictions,
    retained,
    reversal_gain,
    understood,
)
from benchmarks.predictions import LEARNED, Results
from benchmarks.report import newest, write_imported
from dhyan.compare.report_page import STEPS, length_label
from dhyan.lessons.encoder_decoder.bottleneck import rereads_state

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "ladder.md"
IMAGES = {"bleu-by-length.png": "bleu-by-length.png", "attention.png": "attention-1.png"}
FIRST_RUN = "first-ladder_h200_2026-11-15.json"
PHENOMENA = ("context", "idiom", "attachment", "agreement")
FIFTHS = ("first fifth", "second", "third", "fourth", "last fifth")


def publish_ladder(report: Path, backwards: Path, commit: str) -> tuple[Path, Path]:
    """Write the result file of two reports, the page and its images."""
    figures = evaluate_predictions(report, backwards)
    result = write_imported("ladder", figures, where="h200", commit=commit)
    PAGE.write_text(newest_page(), encoding="utf-8")
    for name, source in IMAGES.items():
        shutil.copy(report.parent / "figures" / source, PAGE.parent / "ladder" / name)
    return result, PAGE


def newest_page() -> str:
    """The page, from the newest results."""
    paths = [newest("ladder"), newest("mixer")]
    ladder, mixer = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    return page(ladder, paths[0].name, mixer, paths[1].name)


def page(ladder: Results, ladder_file: str, mixer: Results, mixer_file: str) -> str:
    """The page, from the contents of two result files of these names."""
    report = ladder["figures"]
    parts = [
        _top(report, ladder_file, ladder["commit"][:7]),
        _scores(report),
        _lengths(report),
        _phenomena(report),
        _attention_maps(report),
    ]
    parts += [_reversal(report), _mixers(mixer["figures"], mixer_file), _predictions(report)]
    return "\n\n".join([*parts, _commands(report)]) + "\n"


def _top(report: Results, file: str, commit: str) -> str:
    text = f"""Does translation quality drop on long sentences without attention, and hold with it?
        {len(report["models"])} models were trained alike on the [primer](../how-to/primer.md):
        the same {report["pairs"]["training"]:,} pairs, the same vocabularies,
        {report["budget"]["steps"]:,} steps of {report["tokens_per_batch"]:,} tokens, and widths
        scaled to {report["parameters_allowed"] / 1e6:.0f} million parameters each. One seed, on an
        {report["machine"]["gpu"]}, with the code and the primer of commit
        `{commit}`. Every figure comes from
        [`{file}`](../../benchmarks/results/{file}), and the predictions at the end were written
        before the run. On sentences that people wrote, with three seeds:
        [the ladder on real language](real-ladder.md)."""
    picture = "![BLEU by the length of the source](ladder/bleu-by-length.png)"
    return f"# The ladder, measured\n\n{_prose(text)}\n\n{picture}"


def _scores(report: Results) -> str:
    rows = [
        [
            name,
            f"{model['tests']['random']['bleu']['value']:.1f}",
            f"{model['tests']['random']['chrf']['value']:.1f}",
            f"{retained(report, name):.0%}",
            f"{alignment_error_rate(report, name):.3f}" if model["alignment"] else "–",
            f"{model['parameters'] / 1e6:.2f} M",
            f"{model['training_tokens_per_second']:,.0f}",
            f"{model['sentences_per_second']:.0f}",
        ]
        for name, model in report["models"].items()
    ]
    heads = "model|BLEU|chrF++|BLEU retained|AER|parameters|tokens/s|sentences/s".split("|")
    test, share = report["tests"]["random"], _first(report)["tests"]["random"]["retained"]
    text = f"""On {test["sentences"]:,} {test["about"].partition(",")[0]}, the same number in each
        length group. *BLEU retained* is BLEU on more than {share["over"]} words divided by BLEU on
        up to {share["up_to"]}. *tokens/s* counts target
        tokens in training, *sentences/s* translation with beam {report["beam"]}, each
        model alone on the machine. *AER* (alignment error rate) is read from the cross-attention of
        one layer, chosen on validation data, averaged over heads, at {_alignment_steps(report)}."""
    if "bottleneck-deep" in report["models"]:
        text += """ `bottleneck-deep` has twice the layers and is narrower, for as many parameters: it
            does not show what depth alone does. Depth at equal width is in `dhyan lesson
            seq2seq_improvements`."""
    return f"## Scores\n\n{_table(heads, rows)}\n\n{_prose(text)}"


def _alignment_steps(report: Results) -> str:
    """The decoder step at which attention is read, per model where they differ."""
    steps = {
        name: model["alignment"]["at"]
        for name, model in report["models"].items()
        if model["alignment"]
    }
    models_by_step = {
        step: [name for name, own_step in steps.items() if own_step == step]
        for step in dict.fromkeys(steps.values())
    }
    if len(models_by_step) == 1:
        return STEPS[next(iter(models_by_step))]
    return "; ".join(
        f"{STEPS[step]} for {', '.join(names)}" for step, names in models_by_step.items()
    )


def _lengths(report: Results) -> str:
    groups = _first(report)["tests"]["random"]["by_length"]
    longest = report.get("lengths", {}).get("random", {}).get("longest")
    ranges = [length_label({**group, "most": group["most"] or longest}) for group in groups]
    rows = [
        [
            name,
            *(f"{group['bleu']:.1f}" for group in model["tests"]["random"]["by_length"]),
            f"{model['tests']['longer']['bleu']['value']:.1f}",
        ]
        for name, model in report["models"].items()
    ]
    text = """Sentences of the last column are longer than any in training, and are reported
        separately."""
    beyond = report.get("lengths", {}).get("longer")
    heads = ["words", *ranges, f"{beyond['shortest']}–{beyond['longest']}" if beyond else "longer"]
    return f"## By length\n\n{_table(heads, rows)}\n\n{_prose(text)}"


def _phenomena(report: Results) -> str:
    rows = [
        [name, *(f"{understood(report, name, test):.1%}" for test in PHENOMENA)]
        for name in report["models"]
    ]
    counts = [_first(report)["tests"][test]["targeted_accuracy"]["sentences"] for test in PHENOMENA]
    rows.append(["*sentences*", *(f"{number:,}" for number in counts)])
    text = f"""The share of sentences in which the word that depends on its context (*bank*), the
        idiom, the attachment (*with the telescope*) or the far verb is translated correctly; the
        contexts are pairings that do not occur in training. This is learned late: in a first run,
        with half the steps and half the learning rate for recurrent models
        ([its figures](../../benchmarks/results/{FIRST_RUN})),
        Luong's variants translated 48 to 88 of 100 contexts correctly."""
    return f"## Phenomena\n\n{_table(['model', *PHENOMENA], rows)}\n\n{_prose(text)}"


def _attention_maps(report: Results) -> str:
    text = """All maps are computed with the same reference as target."""
    if rereads_state(report):
        text += """ In this run the models without attention read the last encoder state at every
            step, as in Cho et al. (2014), so they have maps of a single column. The recipes
            `sutskever2014` and `sutskever2014-small` only start the decoder with that state, and
            `cho2014` and `cho2014-small` read it at every step; such models are measured
            [on real sentences](real-ladder.md)."""
    picture = "![The attention of every model for one sentence](ladder/attention.png)"
    return f"## Attention maps\n\n{picture}\n\n{_prose(text)}"


def _reversal(report: Results) -> str:
    reports = (("into Hindi", report), ("into English", report["backwards"]))
    rows = [
        [f"{name}, {into}", *(f"{share:.1%}" for share in model["positions"]["shares"])]
        for into, report in reports
        for name, model in report["models"].items()
        if name in ("bottleneck-forward", "bottleneck-reversed")
    ]
    changes = [
        f"the first by {100 * reversal_gain(report, 0):+.1f} "
        f"and the last by {100 * reversal_gain(report, 4):+.1f}"
        for _, report in reports
    ]
    text = f"""Token accuracy with teacher forcing, by position in the
        target. Reversing the source changes it, in percentage points, into Hindi in {changes[0]};
        into English, whose verbs come early, in {changes[1]}."""
    return f"## Reversed source\n\n{_table(['model', *FIFTHS], rows)}\n\n{_prose(text)}"


def _mixers(figures: Results, file: str) -> str:
    """The mixer experiment: are learned queries, keys and values what makes the difference?"""
    results, sizes = figures["found"], figures["sizes"]
    tests = [("senses", "seen"), ("senses", "held_out"), ("senses", "new_nouns")]
    tests += [("idioms", "seen"), ("idioms", "held_out")]
    rows = [
        [
            arm,
            f"{scores['parameters']:,}",
            *(
                f"{results[trial]['arms'][arm]['accuracy'][test]['mean']:.3f}"
                for trial, test in tests
            ),
            f"{scores['weight_on_itself']:.2f}",
        ]
        for arm, scores in results["senses"]["arms"].items()
    ]
    rows.append(
        [
            "*most frequent reading*",
            "",
            *(f"{results[t]['commonest'][test]:.3f}" for t, test in tests),
            "",
        ]
    )
    heads = ["mixer", "parameters", "senses, seen", "held-out contexts", "new nouns"]
    heads += ["idioms, seen", "held-out sentences", "on itself"]
    text = f"""A Transformer encoder differs from one without learned queries, keys and values in
        other ways too. This experiment isolates them: every word has one fixed vector, one mixer
        lets the ambiguous word attend to its sentence, one linear layer classifies its reading, and
        only the mixer differs. The figures are accuracies, means of {len(sizes["seeds"])}
        seeds after {sizes["steps"]} steps; *on itself* is the attention weight of a word on itself.
        Figures: [`{file}`](../../benchmarks/results/{file}), by `python -m experiments
        mixer`."""
    title = "## Is it learned queries, keys and values?"
    return (
        f"{title}\n\n{_prose(text)}\n\n{_table(heads, rows)}\n\n"
        f"{_verdict(results)}\n\n"
        f"Predictions about the mixers, written before the run:\n\n{_outcomes(figures)}"
    )


def _verdict(results: Results) -> str:
    """Gain of learned queries, keys and values over the best mixer without parameters."""
    senses, idioms = (results[trial]["arms"] for trial in ("senses", "idioms"))
    best = max(
        (arm for arm in senses if "learned" not in arm),
        key=lambda arm: senses[arm]["accuracy"]["held_out"]["mean"],
    )
    gains = [
        arms[LEARNED]["accuracy"][test]["mean"] - arms[best]["accuracy"][test]["mean"]
        for arms, test in ((senses, "held_out"), (idioms, "seen"), (idioms, "held_out"))
    ]
    text = f"""The best mixer without parameters is *{best}*. Compared with it, learned queries,
        keys and values gain {100 * gains[0]:+.1f} points on held-out contexts, {100 * gains[1]:+.1f} on
        idioms in sentences like those of training, and {100 * gains[2]:+.1f} on idioms in sentences
        it never shows."""
    return _prose(text)


def _predictions(report: Results) -> str:
    return f"## Predictions\n\n{_outcomes(report)}"


def _outcomes(report: Results) -> str:
    return "\n".join(
        f"- {'held' if prediction['held'] else '**did not hold**'}: {prediction['statement']}"
        for prediction in report["predictions"]
    )


def _commands(report: Results) -> str:
    small = "dhyan compare --ladder --quick --data primer --out ladder"
    text = f"""`{small}` is the small ladder, for a CPU ([comparing](../how-to/compare.md)).
        To write sentences like those of training and of every test:"""
    return f"""## Reproduce it

```text
{report["command"]}
{report["backwards"]["command"]}
python -m benchmarks ladder ladder/report.json backwards/report.json HEAD
```

{_prose(text)}

```sh
dhyan data primer --pairs 100 --test-pairs 10 --max-words 20 --out primer --quiet
```"""


def _first(report: Results) -> dict[str, Any]:
    """The first model, for what all models share."""
    return next(iter(report["models"].values()))


def _prose(text: str) -> str:
    return fill(" ".join(text.split()), 108, break_long_words=False, break_on_hyphens=False)


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
