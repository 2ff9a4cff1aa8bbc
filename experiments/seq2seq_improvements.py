"""Snapshots of the lessons seq2seq_improvements, bottleneck, bahdanau and luong.

`write_vectors` writes the initial embeddings, then the runs are trained, and
`improvements_snapshot` evaluates them; `bottleneck_snapshot` reads the newest ladder result.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import newest
from dhyan import load
from dhyan.compare.test_sets import EvaluationSet, Sizes, primer_tests
from dhyan.data.primer import generate_sentences
from dhyan.evaluation.metrics import Counts, count
from dhyan.evaluation.significance import RESAMPLES, SEED, bootstrap_scores
from dhyan.lessons.encoder_decoder.attention_step import AttentionStep
from dhyan.lessons.encoder_decoder.bahdanau import bahdanau
from dhyan.lessons.encoder_decoder.bottleneck import Bottleneck, read_report, rereads_state
from dhyan.lessons.encoder_decoder.bottleneck import bottleneck as bottleneck_of
from dhyan.lessons.encoder_decoder.luong import luong
from dhyan.lessons.sequences.bleu_gain import Gain
from dhyan.lessons.sequences.seq2seq_improvements import (
    EMBEDDINGS,
    EmbeddingScores,
    Improvement,
    Seq2SeqImprovements,
    read_improvements,
)
from dhyan.lessons.sequences.stacked_depth import StackedDepth, read_depth
from dhyan.lessons.snapshots import read_snapshot, write_snapshot
from dhyan.run.evaluate import translate_test_set
from dhyan.text.skipgram import train_skip_gram
from dhyan.text.tokenizer import Tokenizer

FOLDER = Path("runs/improvements")
MODELS = {
    "bottleneck": ("sutskever2014-small", {"encoder.reverse_source": False}),
    "bahdanau": ("bahdanau2015-small", {}),
}
PAIRS, SEEDS = (2_000, 50_000), (1, 2)
LONGEST, CORE, WIDTH = 15, 0.3, 128  # words of a sentence, share of the primer's, of a vector
MONOLINGUAL_SENTENCES = (
    60_000  # sentences of each language that skip-gram learns from, none with a translation
)
SIDES = {"encoder": ("english", 98), "decoder": ("hindi", 99)}
TEST_SIZES = Sizes(150, 0, 0)  # sentences of each group of lengths
SETTINGS = {
    "data.synthetic": "primer",
    "data.max_words": LONGEST,
    "data.core_share": CORE,
    "text.tokenizer": "words",
    "text.source_vocabulary_size": 6000,
    "text.target_vocabulary_size": 8000,
    "training.steps": 1000,
    "training.tokens_per_batch": 4096,
    "training.learning_rate": 4e-3,
    "training.schedule": "cosine",
    "training.min_learning_rate_ratio": 0.02,
    "training.warmup_steps": 100,
    "training.label_smoothing": 0.0,
    "training.validate_every": 100,
    "training.valid_sentences": 20,
    "training.save_every": 100,
    "training.keep_checkpoints": 1,
    "training.early_stopping_metric": "loss",
}
SENTENCE, STEP = "Ravi ate a mango in the garden.", 3  # and which word of the translation


def write_vectors(folder: Path = FOLDER) -> None:
    """Write initial embeddings of some runs: from skip-gram, and random.

    Their coordinates have a mean square of one, as freshly initialised embeddings do.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for side, (language, seed) in SIDES.items():
        if _vectors(folder, side, "random").exists():
            continue
        pairs = generate_sentences("train", seed=seed, max_words=LONGEST, core_share=CORE)
        texts = [getattr(pair, language) for pair in islice(pairs, MONOLINGUAL_SENTENCES)]
        tokenizer = Tokenizer.train(texts, kind="words", size=20_000)
        sentences = (
            [tokenizer.plain(token_id) for token_id in tokenizer.encode(text)] for text in texts
        )
        vectors = train_skip_gram(sentences, width=WIDTH, min_count=1, seed=seed)
        table = vectors.table / np.sqrt((vectors.table**2).mean())
        _write(_vectors(folder, side, "skip-gram"), vectors.words, table)
        random_table = np.random.default_rng(seed).standard_normal(table.shape)
        _write(_vectors(folder, side, "random"), vectors.words, random_table)


def runs(folder: Path = FOLDER) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Each model with each type of embedding, on few pairs and on many, from each seed.

    Settings are as one types them after `--set`.
    """
    return {
        _name(model, embedding, pairs, seed): (
            recipe,
            {
                **SETTINGS,
                **model_settings,
                **_embedding(folder, embedding),
                "data.pairs": pairs,
                "training.seed": seed,
            },
        )
        for model, (recipe, model_settings) in MODELS.items()
        for embedding in EMBEDDINGS
        for pairs in PAIRS
        for seed in SEEDS
    }


def improvements_snapshot(folder: Path = FOLDER) -> Seq2SeqImprovements:
    """Reversal by the ladder, depth by its own experiment, embeddings by the folder's runs."""
    path, report = read_report(newest("ladder"))
    test_set = primer_tests(longest=LONGEST, sizes=TEST_SIZES, core=CORE, splits=()).main
    starts = [
        embedding_score
        for model in MODELS
        for pairs in PAIRS
        for embedding_score in _embedding_scores(folder, model, pairs, test_set)
    ]
    return Seq2SeqImprovements(
        path.name,
        _reversals(read_improvements(path, report)),
        tuple(starts),
        rereads=rereads_state(report),
        depth=measured_depth(),
    )


def write_depth_snapshot() -> Path:
    """Write the newest result of the experiment `depth` into the lesson's snapshot."""
    stored = read_snapshot("seq2seq_improvements", Seq2SeqImprovements)
    assert stored.provenance is not None
    result = replace(stored, changes=_reversals(stored.changes), depth=measured_depth())
    return write_snapshot(result, "seq2seq_improvements", stored.provenance)


def measured_depth() -> StackedDepth:
    """The newest result of the experiment `depth`."""
    path = newest("depth")
    return read_depth(path.name, json.loads(path.read_text(encoding="utf-8"))["figures"])


def _reversals(changes: Iterable[Improvement]) -> tuple[Improvement, ...]:
    """Without the ladder's deep model, which is narrower too."""
    return tuple(change for change in changes if change.technique == "reversal")


def bottleneck_snapshot() -> Bottleneck:
    """BLEU by length of every model of the ladder."""
    path = newest("ladder")
    return replace(bottleneck_of(path), report=path.name)


def attention_step_snapshots(
    run_bahdanau: str | Path, run_luong: str | Path
) -> Mapping[str, AttentionStep]:
    """One attention step of either model on the same sentence."""
    return {
        "bahdanau": _attention_step(bahdanau(SENTENCE, model=run_bahdanau, step=STEP)),
        "luong": _attention_step(luong(SENTENCE, model=run_luong, step=STEP)),
    }


def _attention_step(result: object) -> AttentionStep:
    assert isinstance(result, AttentionStep)
    return result


def _embedding_scores(
    folder: Path, model: str, pairs: int, test_set: EvaluationSet
) -> Iterable[EmbeddingScores]:
    """BLEU of each type of embedding, and its gain over the learned one."""
    seeds = [seed for seed in SEEDS if (folder / _name(model, EMBEDDINGS[0], pairs, seed)).exists()]
    baseline: list[Counts] = []
    for embedding in EMBEDDINGS if seeds else ():
        embedding_counts = [
            _bleu_counts(folder / _name(model, embedding, pairs, seed), test_set) for seed in seeds
        ]
        baseline = baseline or embedding_counts
        gain = None if embedding == EMBEDDINGS[0] else _gain(baseline, embedding_counts)
        yield EmbeddingScores(
            model, pairs, embedding, tuple(counts.value() for counts in embedding_counts), gain
        )


def _bleu_counts(run: Path, test_set: EvaluationSet) -> Counts:
    reference_set = test_set.reference_set()
    reference_set.gold.clear()
    translations = translate_test_set(load(run), run.name, reference_set).texts
    counts = count(
        translations,
        reference_set.references,
        others=reference_set.others,
        language="hi",
        metrics=("bleu",),
    )
    return counts["bleu"]


def _gain(baseline: list[Counts], counts: list[Counts]) -> Gain:
    """Mean gain over the seeds; the interval covers the bootstrap interval of each seed."""
    lows, highs = [], []
    for before, after in zip(baseline, counts, strict=True):
        resampled = [
            bootstrap_scores(counts, resamples=RESAMPLES, seed=SEED) for counts in (before, after)
        ]
        low, high = np.quantile(resampled[1] - resampled[0], (0.025, 0.975))
        lows.append(float(low))
        highs.append(float(high))
    values = [b.value() - a.value() for a, b in zip(baseline, counts, strict=True)]
    return Gain(sum(values) / len(values), min(lows), max(highs))


def _name(model: str, embedding: str, pairs: int, seed: int) -> str:
    return f"{model}-{embedding}-{pairs}-s{seed}"


def _vectors(folder: Path, side: str, embedding: str) -> Path:
    return folder / f"{side}-{embedding}.vec"


def _embedding(folder: Path, embedding: str) -> dict[str, object]:
    """Embedding settings of encoder and decoder."""
    settings: dict[str, object] = {}
    for side in SIDES:
        settings[f"{side}.embedding_width"] = WIDTH
        if embedding != EMBEDDINGS[0]:
            settings[f"{side}.pretrained_embedding"] = str(
                _vectors(folder, side, embedding).absolute()
            )
        if embedding == "random":
            settings[f"{side}.freeze_embedding"] = True
    return settings


def _write(path: Path, words: Iterable[str], table: np.ndarray) -> None:
    """Write vectors in the text format of word2vec."""
    lines = [f"{len(table)} {table.shape[1]}"]
    lines += [
        f"{word} {' '.join(f'{number:.4f}' for number in row)}"
        for word, row in zip(words, table, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
