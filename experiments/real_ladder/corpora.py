"""Corpora of the real ladder, the settings that all models share, and the plan of each corpus."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dhyan.compare.budget import Budget
from dhyan.compare.ladder import LADDER, Preset
from dhyan.compare.plan import Candidate, Entry, Plan, PlanRequest, make_plan, read_plan
from dhyan.compare.test_sets import EvaluationOptions
from dhyan.config import load_recipe
from experiments.pretrained.corpus import write_pairs
from experiments.real_corpora.tasks import Split

PARAMETERS = 6_260_000  # a Transformer of width 256
VALIDATIONS = 3  # of a run, by the loss; each saves a checkpoint
WARMUP_STEPS = 200
VOCABULARY_SIZE = 5000  # equal on all corpora: models of equal widths share their compiled kernels

PRESET = Preset(
    budget="",
    parameters="",
    settings={
        "text.tokenizer": "bpe",
        "text.source_vocabulary_size": VOCABULARY_SIZE,
        "text.target_vocabulary_size": VOCABULARY_SIZE,
        "training.tokens_per_batch": 8192,
        "training.schedule": "cosine",
        "training.min_learning_rate_ratio": 0.02,
        "training.label_smoothing": 0.1,
        "training.precision": "bf16",
        "training.early_stopping_metric": "loss",
        "training.valid_sentences": 0,
        "training.report_every": 50,
        "decoding.beam": 4,
    },
    recurrent={"training.learning_rate": 3e-3},
    transformer={"training.learning_rate": 1.5e-3},
)


@dataclass(frozen=True)
class LadderCorpus:
    """A corpus from English, with the dropout and steps of the models trained on it.

    `lengths` begin the groups of test sentences by source words.
    """

    folder: str
    target: str
    test: str
    dropout: float
    steps: int
    lengths: tuple[int, ...]
    max_words: int = 0

    def write_texts(self, data: Path, folder: Path) -> None:
        """Write training, validation and test text."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("train", "valid", self.test):
            pairs = Split(self.folder, name).read(data, "en", self.target)
            write_pairs(folder / name, "en", self.target, pairs)

    def candidates(self, texts: Path) -> Iterator[Candidate]:
        """The models of the ladder; pairs that hold a sentence of the test are dropped."""
        files = {
            f"data.{key}{side}": str(texts / f"{name}.{language}")
            for key, name in (("", "train"), ("valid_", "valid"), ("test_", self.test))
            for side, language in (("source", "en"), ("target", self.target))
        }
        ours = {
            **files,
            "data.source_language": "en",
            "data.target_language": self.target,
            "data.drop_leaks": True,
            "data.max_words": self.max_words,
            "encoder.dropout": self.dropout,
            "decoder.dropout": self.dropout,
        }
        for rung in LADDER:
            settings = {**PRESET.settings, **ours, **rung.settings_for(PRESET)}
            yield Candidate(rung.name, load_recipe(rung.recipe, settings), rung.about)


CORPORA = {
    "multi30k-en-de": LadderCorpus(
        "multi30k", "de", "test_2016_flickr", 0.3, 1500, (1, 9, 12, 15, 18)
    ),
    "tatoeba-en-fr": LadderCorpus(
        "tatoeba-en-fr", "fr", "test", 0.2, 1500, (1, 5, 6, 7, 8, 10), max_words=30
    ),
}


def prepare_corpus(name: str, data: Path, folder: Path, limit: int = 0) -> Plan:
    """Write the encoded corpus, the test set and the scaled recipes of a corpus into a folder.

    With a `limit` the test set has so many sentences.
    """
    corpus, texts = CORPORA[name], folder.parent.with_name(f"{folder.parent.name}-texts") / name
    corpus.write_texts(data, texts)
    source, target = (texts / f"{corpus.test}.{side}" for side in ("en", corpus.target))
    candidates = tuple(corpus.candidates(texts))
    if limit:
        for path in (source, target):
            path.write_text("".join(path.read_text().splitlines(keepends=True)[:limit]))
    tests = EvaluationOptions(source=str(source), target=str(target))
    request = PlanRequest(candidates, Budget(steps=corpus.steps), PARAMETERS, tests)
    return make_plan(request, folder)


def prepared_plan(folder: Path, runs: Path) -> Plan:
    """The plan of a prepared corpus, with its run folders in `runs`."""
    plan = read_plan(folder)
    if plan is None:
        raise SystemExit(f"{folder}: not prepared; run python -m experiments.real_ladder prepare")
    return replace(plan, folder=runs)


def seeded_entry(entry: Entry, seed: int, steps: int) -> Entry:
    """A model of the plan with a seed and a number of steps, validated a few times."""
    training = entry.recipe.training
    every = -(-steps // VALIDATIONS)
    training = replace(
        training,
        seed=seed,
        steps=steps,
        warmup_steps=min(WARMUP_STEPS, steps // 10),
        validate_every=every,
        save_every=every,
    )
    recipe = replace(entry.recipe, training=training)
    return replace(entry, name=f"{entry.name}-{seed}", recipe=recipe)
