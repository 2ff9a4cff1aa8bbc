"""Deep LSTM encoder-decoders without attention, trained on paragraphs; probes of their encoders."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from dhyan.data.primer.paragraphs import make_paragraphs, paragraph_pair, person_sentences
from dhyan.lessons.sequences.paragraph_probes import ParagraphProbes, probe_paragraphs

SENTENCES, PARAGRAPHS, VALID, SEEDS = 20_000, 100_000, 200, (1, 2, 3)
LAYERS, WIDTH = 4, 256
SPLITS = {"train": (SENTENCES, PARAGRAPHS), "valid": (VALID, VALID)}


def write_paragraphs(folder: Path) -> None:
    """Write the training and validation paragraphs that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, (sentences, count) in SPLITS.items():
        if _file(folder, split, "hi").exists():
            continue
        pool = person_sentences(split, sentences, seed=1)
        pairs = [paragraph_pair(part) for part in islice(make_paragraphs(pool, seed=1), 2 * count)]
        distinct = list({pair.source: pair for pair in pairs}.values())[:count]
        for language in ("en", "hi"):
            lines = [pair.source if language == "en" else pair.target for pair in distinct]
            text = "\n".join(lines) + "\n"
            _file(folder, split, language).write_text(text, encoding="utf-8")


def runs(folder: Path) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    """One model per seed."""
    sides = {
        f"{side}.{key}": value
        for side in ("encoder", "decoder")
        for key, value in {"embedding_width": WIDTH, "width": WIDTH, "layers": LAYERS}.items()
    }
    files = {
        f"data.{prefix}{side}": str(_file(folder, split, language).absolute())
        for split, prefix in (("train", ""), ("valid", "valid_"))
        for side, language in (("source", "en"), ("target", "hi"))
    }
    return {
        f"paragraphs-s{seed}": (
            "sutskever2014-small",
            {
                **sides,
                **files,
                "encoder.reverse_source": False,
                "data.source_language": "en",
                "data.target_language": "hi",
                "text.tokenizer": "words",
                "text.source_vocabulary_size": 6000,
                "text.target_vocabulary_size": 8000,
                "training.steps": 3000,
                "training.tokens_per_batch": 8192,
                "training.learning_rate": 2e-3,
                "training.schedule": "cosine",
                "training.min_learning_rate_ratio": 0.02,
                "training.warmup_steps": 300,
                "data.drop_leaks": True,
                "training.validate_every": 1500,
                "training.valid_sentences": 100,
                "training.save_every": 1500,
                "training.keep_checkpoints": 1,
                "training.seed": seed,
            },
        )
        for seed in SEEDS
    }


def paragraphs_snapshot(folder: Path) -> ParagraphProbes:
    """Probes of the trained encoders."""
    models = [folder / f"paragraphs-s{seed}" for seed in SEEDS]
    return probe_paragraphs(models, trained_on=PARAGRAPHS)


def _file(folder: Path, split: str, language: str) -> Path:
    return folder / f"{split}.{language}"
