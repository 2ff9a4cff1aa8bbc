"""Translation on a CPU: the compiled engine beside CTranslate2 and PyTorch, in turn in one run.

Throughput needs no trained model: random weights, sentences of Multi30k, and exactly as many tokens
for each. What int8 costs in BLEU is measured with the pretrained models.
"""

import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.report import newest

TOKENS, BATCH, BEAMS = 15, 64, {"greedy": 1, "beam 5": 5}
ENDING_BIAS = -1e4  # no sentence ends before its last token
SETTINGS = {
    "text.tokenizer": "bpe",
    "text.shared_vocabulary": True,
    "text.source_vocabulary_size": 8000,
    "decoder.share_source_embedding": True,
    "decoder.tie_embeddings": True,
}
LSTM = {"cell": "lstm", "width": 256, "embedding_width": 256}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("transformer-30k-pairs", {"encoder.layers": 3, "decoder.layers": 3}),
    "bahdanau": (
        "bahdanau-30k-pairs",
        {f"{half}.{key}": value for half in ("encoder", "decoder") for key, value in LSTM.items()},
    ),
    "luong": (
        "luong2015-small",
        {f"{half}.{key}": value for half in ("encoder", "decoder") for key, value in LSTM.items()},
    ),
}
TARGETS = {  # engine, its peer, and the ratio of their tokens per second
    "transformer": ("dhyan int8", "CTranslate2 int8", 2.0),
    "bahdanau": ("dhyan int8", "PyTorch float32", 3.0),
    "luong": ("dhyan int8", "PyTorch float32", 3.0),
}
START_SECONDS, HELP_SECONDS = 1.0, 0.25
LARGEST_BLEU_DIFFERENCE = 0.2
TORCH_FREE = ("numpy", "tokenizers", "jaxtyping", "typer", "sacrebleu")
BLEU_MODELS = ("en-fr-transformer", "en-fr-bahdanau")

WHAT = "cpu-translation"
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "on-a-cpu.md"
BEGIN, END = "<!-- tables: made by `python -m benchmarks cpu-translation` -->", "<!-- end -->"

Systems = dict[str, Callable[[int], int]]
"""By name, a function that translates with a beam and returns the number of output tokens."""


def cpu_translation(data: Path, rounds: int = 7, threads: int = 2) -> dict[str, Any]:
    """Throughput, BLEU and startup; `misses` names what is short of its target."""
    from dhyan.cpu_engine import library_target

    sources = (data / "test_2016_flickr.en").read_text(encoding="utf-8").splitlines()
    before = os.getloadavg()
    families = {name: measure_family(name, sources, rounds, threads) for name in FAMILIES}
    figures: dict[str, Any] = {
        "unit": "output tokens per second; median, lowest and highest of rounds in turn",
        "sentences": len(sources),
        "tokens_per_sentence": TOKENS,
        "batch": BATCH,
        "threads": threads,
        "rounds": rounds,
        "engine": library_target(),
        "peers": {"ctranslate2": metadata.version("ctranslate2")},
        "load_average": [before, os.getloadavg()],
        "throughput": families,
        "bleu": {name: bleu(name, data, threads) for name in BLEU_MODELS},
        "startup_seconds": startup(),
        "installed_megabytes": installed_megabytes(),
    }
    return {**figures, "misses": misses(figures)}


def measure_family(
    family: str, sources: Sequence[str], rounds: int, threads: int
) -> dict[str, dict[str, Any]]:
    """Tokens per second of each system by search, and the median of the ratios of each round."""
    with tempfile.TemporaryDirectory() as folder:
        systems = build_systems(family, sources, Path(folder), threads)
        engine, peer, _ = TARGETS[family]
        results: dict[str, dict[str, Any]] = {}
        for search, beam in BEAMS.items():
            rounds_of: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
            for number in range(rounds + 1):
                for name, translate in systems.items():
                    rounds_of[name].append(time_once(translate, beam))
                print(f"{family}, {search}: round {number} of {rounds}", file=sys.stderr)
            warm = {name: rates[1:] for name, rates in rounds_of.items()}
            results[search] = {
                **{name: spread([rate for rate, _ in rates]) for name, rates in warm.items()},
                f"{engine} / {peer}": median_ratio(warm[engine], warm[peer], 0),
                "per CPU second": {
                    **{name: spread([rate for _, rate in rates]) for name, rates in warm.items()},
                    f"{engine} / {peer}": median_ratio(warm[engine], warm[peer], 1),
                },
            }
        return results


def time_once(translate: Callable[[int], int], beam: int) -> tuple[float, float]:
    """Tokens per second, and per second of all its threads: other processes change the first."""
    start, before = time.perf_counter(), time.process_time()
    tokens = translate(beam)
    return tokens / (time.perf_counter() - start), tokens / (time.process_time() - before)


def median_ratio(
    ours: Sequence[tuple[float, float]], theirs: Sequence[tuple[float, float]], column: int
) -> float:
    """The median of the ratios of all rounds."""
    pairs = zip(ours, theirs, strict=True)
    return round(statistics.median(a[column] / b[column] for a, b in pairs), 2)


def spread(values: Sequence[float]) -> list[int]:
    """Median, lowest and highest."""
    return [round(statistics.median(values)), round(min(values)), round(max(values))]


def build_systems(family: str, sources: Sequence[str], folder: Path, threads: int) -> Systems:
    """The systems to time, over one model with random weights."""
    import torch

    from dhyan.config import load_recipe
    from dhyan.cpu_engine import CpuEngine
    from dhyan.interop.write_model import ImportedModel
    from dhyan.models.build import build_model
    from dhyan.run.load import weights_of
    from dhyan.special_tokens import EOS

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    name, settings = FAMILIES[family]
    recipe = load_recipe(name, {**SETTINGS, **settings})
    tokenizer = learn_tokenizer(sources)
    ids = [[*row, EOS] for row in tokenizer.encode_batch(sources)]
    model = build_model(recipe, len(tokenizer), len(tokenizer)).eval()
    with torch.no_grad():
        model.decoder.output.bias[EOS] = ENDING_BIAS
    imported = ImportedModel("random", recipe, weights_of(model), tokenizer, tokenizer)
    weights = {name: weight.detach().numpy() for name, weight in imported.weights.items()}
    sizes = len(tokenizer), len(tokenizer)
    systems: Systems = {}
    for precision in ("int8", "float32"):
        engine = CpuEngine(recipe, weights, *sizes, int8=precision == "int8")
        systems[f"dhyan {precision}"] = engine_search(engine, ids, threads)
    if family == "transformer":
        systems |= ctranslate2_systems(imported, ids, folder, threads)
    systems["PyTorch float32"] = torch_search(model, ids)
    return systems


def learn_tokenizer(sources: Sequence[str]) -> Any:
    """A vocabulary of 8,000 tokens: the pieces of these sentences, and made-up words."""
    from dhyan.text.tokenizer import Tokenizer

    return Tokenizer.train([*sources, *made_up_words()], kind="bpe", size=8000)


def made_up_words() -> list[str]:
    """Words that fill a vocabulary which a thousand sentences do not fill."""
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(rng.choices(letters, k=8)) for _ in range(4000)] * 2


def engine_search(engine: Any, ids: list[list[int]], threads: int) -> Callable[[int], int]:
    """Translation by the engine."""
    limits = [TOKENS] * len(ids)

    def translate(beam: int) -> int:
        outputs = engine.translate(
            ids, beam=beam, max_lengths=limits, length_penalty=1.0, nbest=1, threads=threads
        )
        return sum(len(hypotheses[0][0]) for hypotheses in outputs)

    return translate


def torch_search(model: Any, ids: list[list[int]]) -> Callable[[int], int]:
    """Translation by the plain search in PyTorch, sentences of similar length together.

    It is slow, and translates a fifth of the sentences.
    """
    from dhyan.batch import pad_source
    from dhyan.decoding.search import beam_search, greedy_search

    rows = sorted(ids[::5], key=len)

    def translate(beam: int) -> int:
        for first in range(0, len(rows), BATCH):
            source = pad_source(rows[first : first + BATCH])
            if beam == 1:
                greedy_search(model, source, max_length=TOKENS)
            else:
                beam_search(model, source, beam=beam, max_length=TOKENS, length_penalty=1.0)
        return len(rows) * TOKENS

    return translate


def ctranslate2_systems(imported: Any, ids: list[list[int]], folder: Path, threads: int) -> Systems:
    """CTranslate2 with the same weights, used directly."""
    import ctranslate2

    from dhyan.interop.export_ctranslate2 import export_ctranslate2
    from dhyan.interop.write_model import write_model

    export_ctranslate2(write_model(imported, folder / "dhyan"), folder / "ct2")
    tokens = list(imported.source.piece_ids())
    sources = [[tokens[id] for id in row[:-1]] for row in ids]

    def search(precision: str) -> Callable[[int], int]:
        translator = ctranslate2.Translator(
            str(folder / "ct2"),
            device="cpu",
            compute_type=precision,
            inter_threads=threads,  # a batch for each thread: its faster way with small models
            intra_threads=1,
        )

        def translate(beam: int) -> int:
            outputs = translator.translate_batch(
                sources,
                beam_size=beam,
                max_batch_size=BATCH,
                batch_type="examples",
                min_decoding_length=TOKENS,
                max_decoding_length=TOKENS,
            )
            return sum(len(output.hypotheses[0]) for output in outputs)

        return translate

    return {f"CTranslate2 {name}": search(name) for name in ("int8", "float32")}


def bleu(name: str, data: Path, threads: int) -> dict[str, Any]:
    """BLEU of a pretrained model by the engine in both precisions, and by PyTorch."""
    from sacrebleu import corpus_bleu

    from dhyan.cpu_engine import CpuEngine
    from dhyan.model_check import read_model
    from dhyan.model_check.model_folder import WEIGHTS
    from dhyan.quantization import read_arrays
    from dhyan.special_tokens import EOS
    from dhyan.text.codec import load_codecs
    from dhyan.text.tokenizer import Tokenizer

    checked = read_model(name)
    source, target = load_codecs(checked.files)
    assert isinstance(source, Tokenizer)
    weights = read_arrays(checked.files[WEIGHTS], checked.header)
    read = [
        (data / f"test_2016_flickr.{language}").read_text(encoding="utf-8").splitlines()
        for language in ("en", "fr")
    ]
    sources, references = read
    ids = [[*row, EOS] for row in source.encode_batch(sources)]
    limits = [3 * len(row) + 50 for row in ids]
    scores: dict[str, Any] = {"test set": "multi30k test 2016 flickr, en-fr", "beam": 5}
    for precision in ("float32", "int8"):
        engine = CpuEngine(checked.recipe, weights, *checked.sizes, int8=precision == "int8")
        outputs = engine.translate(
            ids, beam=5, max_lengths=limits, length_penalty=1.0, nbest=1, threads=threads
        )
        texts = [target.decode(hypotheses[0][0]) for hypotheses in outputs]
        scores[precision] = round(corpus_bleu(texts, [references]).score, 2)
    return scores


def startup() -> dict[str, list[float]]:
    """Seconds of the command line: help, and one line translated; median, lowest and highest."""
    runs: Mapping[str, tuple[Sequence[str], str]] = {
        "dhyan --help": (("--help",), ""),
        "dhyan translate en-hi, one line": (("translate", "en-hi"), "Where is my key?\n"),
        "dhyan translate en-hi --plain, one line": (
            ("translate", "en-hi", "--plain"),
            "Where is my key?\n",
        ),
    }
    return {name: _seconds(words, text) for name, (words, text) in runs.items()}


def installed_megabytes() -> dict[str, int]:
    """Sizes of dhyan, of the packages it needs to translate without PyTorch, and of PyTorch."""
    package = Path(find_spec("dhyan").origin or "").parent  # type: ignore[union-attr]
    files = (path for path in package.rglob("*") if "__pycache__" not in path.parts)
    needed = _with_requirements(TORCH_FREE)
    return {
        "dhyan with its pretrained models": _megabytes(path for path in files if path.is_file()),
        "packages it needs to translate": sum(map(_megabytes_of, needed)),
        "PyTorch, without what it needs": _megabytes_of("torch"),
    }


def _with_requirements(names: Sequence[str]) -> set[str]:
    """The packages and all that they require, as far as they are installed."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            requirements = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
        waiting += [
            re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()
            for requirement in requirements
            if "extra ==" not in requirement and "extra==" not in requirement
        ]
    return found


def _megabytes_of(package: str) -> int:
    listed = metadata.files(package) or []
    paths = (Path(str(file.locate())) for file in listed if "__pycache__" not in file.parts)
    return _megabytes(path for path in paths if path.is_file())


def _megabytes(paths: Iterable[Path]) -> int:
    return round(sum(path.stat().st_size for path in paths) / 1e6)


def _seconds(words: Sequence[str], text: str, repeats: int = 9) -> list[float]:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "dhyan", *words], input=text.encode(), check=True, stdout=-1
        )
        seconds.append(time.perf_counter() - start)
    return [round(value, 3) for value in (statistics.median(seconds), min(seconds), max(seconds))]


def misses(figures: Mapping[str, Any]) -> list[str]:
    """What is short of its target."""
    missed = []
    for family, (engine, peer, factor) in TARGETS.items():
        for search, result in figures["throughput"][family].items():
            ratio = result[f"{engine} / {peer}"]
            if ratio < factor:
                missed.append(f"{family}, {search}: {ratio} times {peer}; the target is {factor}")
    for name, scores in figures["bleu"].items():
        if abs(scores["float32"] - scores["int8"]) > LARGEST_BLEU_DIFFERENCE:
            missed.append(f"{name}: BLEU {scores['int8']} in int8, {scores['float32']} in float32")
    limits = {"dhyan --help": HELP_SECONDS, "dhyan translate en-hi, one line": START_SECONDS}
    for name, limit in limits.items():
        median = figures["startup_seconds"][name][0]
        if median > limit:
            missed.append(f"{name}: {median} s; the target is {limit}")
    return missed


def tables(figures: Mapping[str, Any]) -> str:
    """The figures as the tables of the page."""
    lines = [
        f"| {figures['sentences']:,} sentences, {figures['tokens_per_sentence']} tokens each, "
        f"{figures['threads']} threads | greedy, tokens/s | beam 5, tokens/s |",
        "|---|---|---|",
    ]
    for family, (engine, peer, _) in TARGETS.items():
        results = [figures["throughput"][family][search] for search in BEAMS]
        for system in [
            name for name in results[0] if " / " not in name and name != "per CPU second"
        ]:
            rates = " | ".join(f"{result[system][0]:,}" for result in results)
            lines.append(f"| {family}, {system} | {rates} |")
        ratios = " | ".join(f"{result[f'{engine} / {peer}']:.1f}" for result in results)
        lines.append(f"| {family}, {engine} / {peer} | {ratios} |")
    lines += ["", "| BLEU | float32 | int8 |", "|---|---|---|"]
    lines += [
        f"| {name}, {scores['test set']} | {scores['float32']} | {scores['int8']} |"
        for name, scores in figures["bleu"].items()
    ]
    lines += ["", "| command | seconds |", "|---|---|"]
    for name, (median, *_) in figures["startup_seconds"].items():
        lines.append(f"| `{name}` | {median:.2f} |")
    lines += ["", "| installed | MB |", "|---|---|"]
    lines += [f"| {name} | {size} |" for name, size in figures["installed_megabytes"].items()]
    return "\n".join(lines)


def write_page() -> Path:
    """Write the tables of the newest result into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    path = newest(WHAT)
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    PAGE.write_text(f"{before}{BEGIN}\n{tables(figures)}\n{END}{after}", encoding="utf-8")
    return PAGE


def page_is_current() -> bool:
    """Whether the tables of the page are those of the newest result."""
    stored = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    figures = json.loads(newest(WHAT).read_text(encoding="utf-8"))["figures"]
    return stored.strip() == tables(figures).strip()
