"""`dhyan export --to ctranslate2 | huggingface | onnx`: 1,000 translations of each, beside ours."""

import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.report import newest
from dhyan.quantization import Precision

WHAT = "exports"
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "export.md"
BEGIN, END = "<!-- exports: measured -->", "<!-- exports: end -->"
CORPORA = {
    "en-fr-transformer": ("tatoeba-en-fr", "fr"),
    "en-hi-transformer": ("tatoeba-en-hi-large", "hi"),
    "en-hi-bahdanau": ("tatoeba-en-hi-large", "hi"),
    "en-hi-luong": ("tatoeba-en-hi-large", "hi"),
}
FORMATS = (
    ("huggingface", "float32"),
    ("ctranslate2", "float32"),
    ("ctranslate2", "int8"),
    ("onnx", "float32"),
    ("onnx", "int8"),
)
NAMES = {"huggingface": "Hugging Face", "ctranslate2": "CTranslate2", "onnx": "ONNX"}
SENTENCES, BEAMS, BATCH = 1000, (1, 5), 32
LONGEST = 100  # tokens of a translation, on both sides
PATIENCE = 2  # of CTranslate2's beam search
PACKAGES = ("transformers", "ctranslate2", "onnxruntime")

SLIM = "en-hi-transformer"
PRECISIONS: tuple[Precision, ...] = ("float32", "float16", "int8")
SLIM_BEGIN, SLIM_END = "<!-- slim: measured -->", "<!-- slim: end -->"
STATE = ("training.safetensors", "training.json")

Translate = Callable[[Sequence[str], int], list[str]]


def exports(data: Path) -> object:
    """Equal translations, BLEU of both sides, seconds and bytes, for each model and format."""
    import torch

    torch.set_num_threads(1)
    models = {
        name: _measure(name, *pairs(data / corpus, language), language)
        for name, (corpus, language) in CORPORA.items()
    }
    return {
        "sentences": SENTENCES,
        "threads": 1,
        "patience": PATIENCE,
        "packages": {name: version(name) for name in PACKAGES},
        "load_average": os.getloadavg(),
        "models": models,
        "slim": slim(data / CORPORA[SLIM][0], CORPORA[SLIM][1]),
    }


def slim(corpus: Path, language: str) -> dict[str, Any]:
    """Bytes of a checkpoint after one step of fine-tuning, by file, and of its slim folders."""
    from dhyan.run.slim_export import write_slim

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, texts in zip(("source", "target"), pairs(corpus, language), strict=True):
            (folder / file).write_text("\n".join(texts[:200]) + "\n", encoding="utf-8")
        data = ["--source", folder / "source", "--target", folder / "target"]
        settings = ["--set", "training.steps=1", "--set", "training.validate_every=9"]
        words = ["train", SLIM, "--init-from", SLIM, *data, *settings, "--out", folder / "run"]
        subprocess.run(
            [sys.executable, "-m", "dhyan", *map(str, words), "--quiet"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        [checkpoint] = (folder / "run").glob("step-1")
        return {
            "model": SLIM,
            "checkpoint": {path.name: path.stat().st_size for path in sorted(checkpoint.iterdir())},
            **{
                precision: sum(
                    path.stat().st_size
                    for path in write_slim(
                        checkpoint, folder / precision, precision=precision
                    ).iterdir()
                )
                for precision in PRECISIONS
            },
        }


def pairs(corpus: Path, language: str) -> tuple[list[str], list[str]]:
    """The first sentences of the test set, then of the validation set, with their references."""
    found: dict[str, str] = {}
    for split in ("test", "valid"):
        sides = [
            lzma.decompress((corpus / f"{split}.{side}.xz").read_bytes()).decode().splitlines()
            for side in ("en", language)
        ]
        found |= {
            source: reference
            for source, reference in zip(*sides, strict=True)
            if source.strip() and source not in found
        }
    chosen = list(islice(found.items(), SENTENCES))
    return [source for source, _ in chosen], [reference for _, reference in chosen]


def _measure(
    name: str, sources: Sequence[str], references: Sequence[str], language: str
) -> dict[str, Any]:
    from dhyan.errors import UserError
    from dhyan.run import load

    translator = replace(load(name, device="cpu"), fast=False)  # in full precision

    def ours(texts: Sequence[str], beam: int) -> list[str]:
        return [
            translation.text
            for translation in translator.translate(texts, beam=beam, max_length=LONGEST)
        ]

    reference = {beam: _timed(ours, sources, beam) for beam in BEAMS}
    measured: dict[str, Any] = {
        "ours": {
            str(beam): {"bleu": _bleu(texts, references, language), "seconds": seconds}
            for beam, (texts, seconds) in reference.items()
        }
    }
    for format, precision in FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            try:
                _export(name, out, format, precision)
            except UserError as refusal:
                measured[f"{format} {precision}"] = {"refused": str(refusal)}
                continue
            theirs = THEIRS[format](out)
            size = sum(path.stat().st_size for path in out.iterdir())
            results = {}
            for beam, (expected, _) in reference.items():
                texts, seconds = _timed(theirs, sources, beam)
                results[str(beam)] = {
                    "equal": sum(a == b for a, b in zip(texts, expected, strict=True)),
                    "bleu": _bleu(texts, references, language),
                    "seconds": seconds,
                }
            measured[f"{format} {precision}"] = {"bytes": size, **results}
            print(name, format, precision, results, flush=True)
    return measured


def _timed(translate: Translate, sources: Sequence[str], beam: int) -> tuple[list[str], float]:
    translate(sources[:BATCH], beam)
    start = time.perf_counter()
    texts = translate(sources, beam)
    return texts, round(time.perf_counter() - start, 2)


def _bleu(texts: Sequence[str], references: Sequence[str], language: str) -> float:
    from dhyan.evaluation.metrics import score

    return round(score(texts, references, language=language, metrics=["bleu"])["bleu"].value, 3)


def _export(name: str, out: Path, format: str, precision: str) -> None:
    from dhyan.interop.export_ctranslate2 import export_ctranslate2
    from dhyan.interop.export_huggingface import export_huggingface
    from dhyan.interop.export_onnx import export_onnx

    if format == "huggingface":
        export_huggingface(name, out)
    elif format == "onnx":
        export_onnx(name, out, precision="int8" if precision == "int8" else "float32")
    else:
        export_ctranslate2(name, out, precision="int8" if precision == "int8" else "float32")


def _huggingface(folder: Path) -> Translate:
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def translate(texts: Sequence[str], beam: int) -> list[str]:
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        found: dict[int, str] = {}
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            batch = tokenizer([texts[at] for at in chosen], return_tensors="pt", padding=True)
            with torch.inference_mode():
                ids = model.generate(**batch, num_beams=beam, max_new_tokens=LONGEST)
            decoded = tokenizer.batch_decode(ids, skip_special_tokens=True)
            found.update(zip(chosen, decoded, strict=True))
        return [found[at] for at in range(len(texts))]

    return translate


def _ctranslate2(folder: Path) -> Translate:
    import ctranslate2
    from tokenizers import Tokenizer

    source, target = (
        Tokenizer.from_file(str(folder / f"{side}_tokenizer.json")) for side in ("source", "target")
    )
    translator = ctranslate2.Translator(str(folder), intra_threads=1, inter_threads=1)

    def translate(texts: Sequence[str], beam: int) -> list[str]:
        results = translator.translate_batch(
            [source.encode(text).tokens for text in texts],
            beam_size=beam,
            patience=PATIENCE if beam > 1 else 1,
            length_penalty=1,
            max_batch_size=BATCH,
            max_decoding_length=LONGEST,
        )
        hypotheses = [result.hypotheses[0] for result in results]
        return [target.decode([target.token_to_id(token) for token in row]) for row in hypotheses]

    return translate


def _onnx(folder: Path) -> Translate:
    from dhyan.interop.onnx_model import load_onnx

    translator = load_onnx(folder, threads=1)

    def translate(texts: Sequence[str], beam: int) -> list[str]:
        return [
            translation.text
            for translation in translator.translate(texts, beam=beam, max_length=LONGEST)
        ]

    return translate


THEIRS: Mapping[str, Callable[[Path], Translate]] = {
    "huggingface": _huggingface,
    "ctranslate2": _ctranslate2,
    "onnx": _onnx,
}


def newest_table() -> str:
    """The table of the newest result, as the page has it."""
    path = newest(WHAT)
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    return "\n".join(_lines(figures, path.name)) + "\n"


def _lines(figures: Mapping[str, Any], file: str) -> Iterator[str]:
    versions = ", ".join(f"{name} {number}" for name, number in figures["packages"].items())
    yield (
        f"{figures['sentences']:,} sentences of Tatoeba (the test set, then the validation set), one "
        f"thread beside other work (load average {max(figures['load_average']):.1f}, so seconds tell "
        f"little); {versions} ([result](../../benchmarks/results/{file})):"
    )
    yield ""
    columns = (
        "model, format, MB, beam, equal to dhyan, BLEU of dhyan, BLEU, seconds of dhyan, seconds"
    )
    yield f"| {columns.replace(', ', ' | ')} |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, measured in figures["models"].items():
        for kind, precision in FORMATS:
            result = measured.get(f"{kind} {precision}", {"refused": ""})
            if "refused" in result:
                continue
            for beam, ours in measured["ours"].items():
                yield (
                    f"| {name} | {NAMES[kind]}, {precision} | {result['bytes'] / 1e6:.1f} | {beam} "
                    f"| {result[beam]['equal']:,} | {ours['bleu']:.2f} | {result[beam]['bleu']:.2f} "
                    f"| {ours['seconds']:.1f} | {result[beam]['seconds']:.1f} |"
                )


def newest_slim() -> str:
    """The sizes of the newest result in a sentence, as the page has it."""
    path = newest(WHAT)
    slim = json.loads(path.read_text(encoding="utf-8"))["figures"]["slim"]
    files = slim["checkpoint"]
    whole, state = sum(files.values()), sum(files[name] for name in STATE)
    sizes = ", ".join(f"{slim[precision] / 1e6:.1f} MB in {precision}" for precision in PRECISIONS)
    return (
        f"Of {whole / 1e6:.1f} MB of a checkpoint of {slim['model']}, {state / 1e6:.1f} MB are the "
        f"state of training; slim it has {sizes} ([result](../../benchmarks/results/{path.name})).\n"
    )


def stored(begin: str, end: str) -> str:
    """What the page has between two marks."""
    return PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]


def write_table() -> Path:
    """Put the newest figures into the page."""
    for begin, end, made in (
        (BEGIN, END, newest_table()),
        (SLIM_BEGIN, SLIM_END, newest_slim()),
    ):
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        PAGE.write_text(f"{before}{begin}\n{made}{end}{after}", encoding="utf-8")
    return PAGE
