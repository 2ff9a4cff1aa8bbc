"""Training on a CPU beside eole and OpenNMT-py: bursts of steps in turn, on the same token ids.

Multi30k, English to German, one vocabulary of 8,000 for both languages; models of the same sizes, and
batches of the same number of tokens. The peers run their own training in an environment of their own.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cpu_translation import spread
from benchmarks.report import newest

WHAT, QUALITY = "cpu-training", "quality-of-cpu-training"
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "on-a-cpu.md"
BEGIN, END = (
    "<!-- tables: made by `python -m benchmarks cpu-training` -->",
    "<!-- end of training -->",
)

VOCABULARY, TOKENS_PER_BATCH, WIDTH, DROPOUT = 8000, 2048, 256, 0.1
SPECIAL = 4  # ids of special tokens
FAMILIES = {
    "transformer": "Transformer, 3+3 layers",
    "additive": "LSTM, additive attention",
    "luong": "LSTM, general attention",
}
PEERS = {"eole": "eole", "onmt": "OpenNMT-py"}
OURS = {"auto": "dhyan", "fp32": "dhyan float32"}
TARGET = 1.3  # times the best peer
STEPS = 6  # of a burst
LANGUAGES = ("en", "de")

Rate = tuple[float, float]
"""Target tokens per second, by the clock and of CPU time."""


class Worker:
    """A process that trains a burst of steps whenever it is asked to."""

    def __init__(self, command: Sequence[str], log: Path, **environment: str) -> None:
        own = ("OMP_", "GOMP_", "PYTHONPATH")
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(own)}
        self.log = log
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("wb"),
            text=True,
            cwd=ROOT,
            env={**inherited, **environment},
        )

    def burst(self) -> Rate:
        """Train a burst; target tokens per second."""
        assert self.process.stdin
        assert self.process.stdout
        print(STEPS, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"the training ended: {self.log.read_text(errors='replace')[-2000:]}"
            )
        tokens, seconds, cpu_seconds = json.loads(line)
        return tokens / seconds, tokens / cpu_seconds

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def cpu_training(data: Path, peers: Path, rounds: int = 9, threads: int = 2) -> dict[str, Any]:
    """Throughput of every family; `misses` names what is short of its target."""
    before = os.getloadavg()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_corpus(data, folder)
        results = {
            family: measure_family(family, data, peers, folder, rounds=rounds, threads=threads)
            for family in FAMILIES
        }
    figures: dict[str, Any] = {
        "unit": "target tokens per second; median, lowest and highest of bursts in turn",
        "corpus": "Multi30k, English to German",
        "vocabulary": VOCABULARY,
        "tokens_per_batch": TOKENS_PER_BATCH,
        "width": WIDTH,
        "threads": threads,
        "rounds": rounds,
        "steps_per_burst": STEPS,
        "peers": peer_versions(peers),
        "load_average": [before, os.getloadavg()],
        "throughput": results,
    }
    return {**figures, "misses": misses(figures)}


def measure_family(
    family: str, data: Path, peers: Path, folder: Path, *, rounds: int, threads: int
) -> dict[str, Any]:
    """Tokens per second of each system, and the medians of the ratios of each round."""
    with ExitStack() as stack:
        workers = {}
        for name, command in commands(family, data, peers, folder, threads).items():
            log = folder / f"{family}-{name}.log"
            environment = {} if "cpu_training_peer" in command[1] else {"PYTHONPATH": source_path()}
            workers[name] = Worker(command, log, OMP_NUM_THREADS=str(threads), **environment)
            stack.callback(workers[name].close)
            workers[name].burst()
        rates: dict[str, list[Rate]] = {name: [] for name in workers}
        for number in range(rounds):
            names = list(workers)
            random.Random(number).shuffle(names)
            for name in names:
                rates[name].append(workers[name].burst())
            print(f"{family}: round {number + 1} of {rounds}", file=sys.stderr)
    return {
        **{name: spread([rate for rate, _ in values]) for name, values in rates.items()},
        **ratios(rates, 0),
        "per CPU second": {
            **{name: spread([rate for _, rate in values]) for name, values in rates.items()},
            **ratios(rates, 1),
        },
    }


def source_path() -> str:
    """Where our processes find the package that this one runs."""
    import dhyan

    return str(Path(dhyan.__file__).parents[1])


def ratios(rates: Mapping[str, Sequence[Rate]], column: int) -> dict[str, float]:
    """Each of our systems beside each peer, and beside the fastest peer of the round."""
    peers = [name for name in PEERS.values() if name in rates]
    found: dict[str, float] = {}
    for ours in OURS.values():
        rows = zip(rates[ours], *(rates[name] for name in peers), strict=True)
        quotients = [[own[column] / other[column] for other in others] for own, *others in rows]
        for name, values in zip(peers, zip(*quotients, strict=True), strict=True):
            found[f"{ours} / {name}"] = round(statistics.median(values), 2)
        if peers:
            found[f"{ours} / best peer"] = round(statistics.median(map(min, quotients)), 2)
    return found


def commands(
    family: str, data: Path, peers: Path, folder: Path, threads: int
) -> dict[str, list[str]]:
    """The command of each system by name; a peer that is not installed is left out."""
    ours = [sys.executable, "-m", "benchmarks.cpu_training", str(data), family]
    systems = {name: [*ours, precision, str(threads)] for precision, name in OURS.items()}
    script = str(Path(__file__).with_name("cpu_training_peer.py"))
    for package, name in PEERS.items():
        if name not in peer_versions(peers):
            continue
        config = folder / f"{package}-{family}.yaml"
        config.write_text(json.dumps(peer_config(package, family, folder)))  # JSON is YAML
        systems[name] = [str(peers), script, package, str(threads), str(config)]
    return systems


def peer_versions(peers: Path) -> dict[str, str]:
    """Versions of the peers, and of their PyTorch."""
    code = (
        "from importlib.metadata import version, PackageNotFoundError\n"
        "for name in ('eole', 'OpenNMT-py', 'torch'):\n"
        "    try: print(name, version(name))\n"
        "    except PackageNotFoundError: pass\n"
    )
    done = subprocess.run([str(peers), "-c", code], capture_output=True, text=True, check=True)
    return dict(line.split() for line in done.stdout.splitlines())  # type: ignore[misc]


def peer_config(package: str, family: str, folder: Path) -> dict[str, Any]:
    """The configuration of a peer: the same sizes, batches, dropout and smoothing."""
    corpora = {
        corpus: {f"path_{side}": str(folder / f"{part}.{language}")
                 for side, language in zip(("src", "tgt"), LANGUAGES, strict=True)}
        for corpus, part in (("corpus_1", "train"), ("valid", "valid"))
    }  # fmt: skip
    vocabulary = str(folder / "vocabulary.txt")
    shared: dict[str, Any] = {
        "save_data": str(folder / f"{package}-{family}"),
        "overwrite": True,
        "src_vocab": vocabulary,
        "tgt_vocab": vocabulary,
        "share_vocab": True,
        "src_vocab_size": VOCABULARY,
        "tgt_vocab_size": VOCABULARY,
        "data": corpora,
        "report_every": 1000,
        "seed": 42,
    }
    training: dict[str, Any] = {
        "batch_type": "tokens",
        "batch_size": TOKENS_PER_BATCH,
        "train_steps": 10**6,
        "valid_steps": 10**6,
        "save_checkpoint_steps": 10**6,
        "optim": "adam",
        "adam_beta2": 0.98,
        "learning_rate": 3e-4,
        "warmup_steps": 100,
        "label_smoothing": 0.1,
        "max_grad_norm": 1.0,
        "num_workers": 0,
        "keep_checkpoint": 1,
        "bucket_size": 29000,
        "accum_count": [1],
        "normalization": "tokens",
        "param_init": 0.0,
        "world_size": 1,
        "gpu_ranks": [],
        "decay_method": "none",
        "dropout": [DROPOUT],
        "attention_dropout": [DROPOUT],
    }
    recurrent = {
        "rnn_type": "LSTM",
        "hidden_size": WIDTH,
        "layers": 1,
        "bridge": True,
        "input_feed": 1,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
    }
    score = {"additive": "mlp", "luong": "general"}.get(family, "")
    transformer = {
        "hidden_size": WIDTH,
        "layers": 3,
        "heads": 4,
        "transformer_ff": 4 * WIDTH,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
    }
    if package == "eole":
        training |= {
            "compute_dtype": "fp32",
            "param_init_method": "xavier_uniform",
            "model_path": str(folder / f"{package}-{family}"),
        }
        if score:
            model: dict[str, Any] = {
                "architecture": "rnn",
                **recurrent,
                "embeddings": {"word_vec_size": WIDTH},
                "encoder": {"encoder_type": "brnn"},
                "decoder": {"decoder_type": "rnn", "global_attention": score},
            }
        else:
            embeddings = {"word_vec_size": WIDTH, "position_encoding_type": "SinusoidalInterleaved"}
            model = {"architecture": "transformer", **transformer, "embeddings": embeddings}
        return {**shared, "training": training, "model": model}
    kinds = (
        {"encoder_type": "brnn", "decoder_type": "rnn", "global_attention": score, **recurrent}
        if score
        else {
            "encoder_type": "transformer",
            "decoder_type": "transformer",
            "position_encoding": True,
            **transformer,
        }
    )
    return {
        **shared,
        **training,
        **kinds,
        "param_init_glorot": True,
        "word_vec_size": WIDTH,
        "save_model": str(folder / f"{package}-{family}" / "model"),
    }


def write_corpus(data: Path, folder: Path) -> None:
    """The token ids that we train on, as words `t17` for the peers, and their vocabulary."""
    corpus = read_corpus(data)
    for part, pairs in (("train", None), ("valid", corpus.validation[:20])):
        if pairs is None:
            examples = corpus.examples
            sides = (examples.source, examples.target)
            rows = [
                [side.ids[start + first : end - 1].tolist()
                 for start, end in zip(side.offsets[:-1], side.offsets[1:], strict=True)]
                for first, side in enumerate(sides)
            ]  # fmt: skip
        else:
            tokenizer = corpus.tokenizers[0]
            rows = [tokenizer.encode_batch([p.source for p in pairs]),
                    tokenizer.encode_batch([p.target for p in pairs])]  # fmt: skip
        for language, lines in zip(LANGUAGES, rows, strict=True):
            (folder / f"{part}.{language}").write_text(
                "".join(" ".join(f"t{id}" for id in line) + "\n" for line in lines)
            )
    (folder / "vocabulary.txt").write_text("".join(f"t{id}\n" for id in range(SPECIAL, VOCABULARY)))


def read_corpus(data: Path, vocabulary: int = VOCABULARY, first: int | None = None) -> Any:
    """Multi30k with one vocabulary for both languages, trained once and kept beside the text."""
    from benchmarks.speed.corpus import EncodedCorpus, read
    from dhyan.data.encode import encode_pairs
    from dhyan.text.tokenizer import Tokenizer

    training, validation = read(data, "train")[:first], read(data, "valid")
    stored = data / f"bpe-{vocabulary}.shared.json"
    if not stored.exists():
        texts = [text for pair in training for text in (pair.source, pair.target)]
        tokenizer = Tokenizer.train(texts, kind="bpe", size=vocabulary)
        stored.write_text(tokenizer.to_json(), encoding="utf-8")
    tokenizer = Tokenizer.from_json(stored.read_text(encoding="utf-8"))
    examples = encode_pairs(training, tokenizer, tokenizer, max_tokens=256)
    return EncodedCorpus(examples, (tokenizer, tokenizer), validation, sample=training[0].source)


def make_recipe(
    family: str,
    precision: str,
    *,
    width: int = WIDTH,
    vocabulary: int = VOCABULARY,
    dropout: float = DROPOUT,
    **settings: Any,
) -> Any:
    """Our recipe of a family, with the sizes of the peers'."""
    from benchmarks.speed.model_recipes import NEVER
    from dhyan import config

    text = config.Text(tokenizer="bpe", shared_vocabulary=True, source_vocabulary_size=vocabulary)
    tied = {"tie_embeddings": True, "share_source_embedding": True}
    half = {"embedding_width": width, "dropout": dropout, "cell": "lstm"}
    encoder: Any = config.RNNEncoder(**half, width=width // 2, bidirectional=True)
    decoder: Any
    if family == "transformer":
        sizes = {
            "width": width,
            "heads": 4,
            "feed_forward_width": 4 * width,
            "layers": 3,
            "dropout": dropout,
            "attention_dropout": dropout,
        }
        encoder = config.TransformerEncoder(**sizes)
        decoder = config.TransformerDecoder(**sizes, **tied)
    elif family == "additive":
        attention = config.Attention(score="additive", score_width=width)
        decoder = config.BahdanauDecoder(
            **half, **tied, attention=attention, width=width, readout_width=width
        )
    else:
        attention = config.Attention(score="general")
        decoder = config.LuongDecoder(**half, **tied, attention=attention, width=width)
    training = config.Training(
        precision=precision,
        label_smoothing=0.1,
        betas=(0.9, 0.98),
        clip_norm=1.0,
        save_every=NEVER,
        **{
            "tokens_per_batch": TOKENS_PER_BATCH,
            "learning_rate": 3e-4,
            "warmup_steps": 100,
            "steps": NEVER,
            "validate_every": NEVER,
            "valid_sentences": 0,
            "report_every": STEPS,
            **settings,
        },
    )
    return config.Recipe(text=text, encoder=encoder, decoder=decoder, training=training)


# What the kernels and bfloat16 cost in quality: smaller models on part of the corpus.

SMALL = {"width": 128, "vocabulary": 2000}
SMALL_PAIRS, SMALL_STEPS, EQUAL_STEPS = 10_000, 400, 200


def cpu_training_quality(data: Path, threads: int = 2) -> dict[str, Any]:
    """Losses with fused and with reference kernels; validation in both precisions, by seed."""
    import torch

    torch.set_num_threads(threads)
    corpus = read_corpus(data, SMALL["vocabulary"], SMALL_PAIRS)
    return {
        "corpus": f"Multi30k, English to German, the first {SMALL_PAIRS:,} pairs",
        "model": SMALL,
        "steps": SMALL_STEPS,
        "equal_steps": EQUAL_STEPS,
        "families": {
            family: {
                "fused and reference kernels": equal_losses(family, corpus),
                **{
                    precision: [validation_scores(family, corpus, precision, seed)
                                for seed in (1, 2)]
                    for precision in ("fp32", "bf16")
                },
            }
            for family in FAMILIES
        },
    }  # fmt: skip


def equal_losses(family: str, corpus: Any) -> dict[str, float]:
    """The training loss of both in float32 without dropout, and its largest relative difference."""
    from benchmarks.speed.training import build_trainer, losses, with_reference_kernels

    recipe = make_recipe(
        family, "fp32", **SMALL, dropout=0.0, tokens_per_batch=1024, learning_rate=1e-3
    )
    fused = losses(build_trainer(recipe, corpus, "cpu"), EQUAL_STEPS)
    reference = losses(build_trainer(with_reference_kernels(recipe), corpus, "cpu"), EQUAL_STEPS)
    differences = [abs(a / b - 1) for a, b in zip(fused, reference, strict=True)]
    print(f"{family}: losses {fused[-1]:.4f} and {reference[-1]:.4f}", file=sys.stderr)
    return {
        "fused, last": round(fused[-1], 5),
        "reference, last": round(reference[-1], 5),
        "largest relative difference": float(f"{max(differences):.2g}"),
    }


def validation_scores(family: str, corpus: Any, precision: str, seed: int) -> dict[str, float]:
    """Loss and BLEU of the validation set at the end of a run."""
    from benchmarks.speed.training import build_trainer
    from dhyan.training.events import Validated

    recipe = make_recipe(
        family,
        precision,
        **SMALL,
        tokens_per_batch=1024,
        learning_rate=2e-3,
        steps=SMALL_STEPS,
        valid_sentences=200,
        seed=seed,
    )
    trainer = build_trainer(recipe, corpus, "cpu")
    events = [event for event in trainer.run(SMALL_STEPS) if isinstance(event, Validated)]
    scores = {name: round(value, 3) for name, value in events[-1].scores.items()}
    print(f"{family}, {precision}, seed {seed}: {scores}", file=sys.stderr)
    return scores


def train_bursts(data: Path, family: str, precision: str, threads: int) -> None:
    """The process of one of our systems: a burst of steps for each line of input."""
    from dhyan.cli import let_idle_threads_sleep

    let_idle_threads_sleep()  # before torch is imported
    import torch

    from benchmarks.speed.training import build_trainer
    from dhyan.training.events import Stepped

    torch.set_num_threads(threads)
    trainer = build_trainer(make_recipe(family, precision), read_corpus(data), "cpu")
    trainer.settings = replace(trainer.settings, report_every=STEPS)
    events = (event for event in trainer.run(10**9) if isinstance(event, Stepped))
    for _ in sys.stdin:
        start = time.process_time()
        event = next(events)
        spent = time.process_time() - start
        print(json.dumps([event.tokens, event.seconds, spent]), flush=True)


def misses(figures: Mapping[str, Any]) -> list[str]:
    """What is short of its target."""
    return [
        f"{family}: {result['dhyan / best peer']} times the best peer; the target is {TARGET}"
        for family, result in figures["throughput"].items()
        if result.get("dhyan / best peer", 0) < TARGET
    ]


def tables(figures: Mapping[str, Any]) -> str:
    """The figures as the table of the page."""
    names = [name for name in (*OURS.values(), *PEERS.values())
             if name in figures["throughput"]["transformer"]]  # fmt: skip
    compared = [f"{ours} / best peer" for ours in OURS.values()]
    load = round(statistics.median(figures["load_average"][1]))
    header = f"target tokens per CPU second, threads: {figures['threads']}, load {load} at the end"
    lines = [f"| {header} | {' | '.join([*names, *compared])} |"]
    lines.append("|---" * (1 + len(names) + len(compared)) + "|")
    for family, title in FAMILIES.items():
        result = figures["throughput"][family]["per CPU second"]
        cells = [f"{result[name][0]:,}" for name in names] + [
            str(result[name]) for name in compared
        ]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def quality_tables(figures: Mapping[str, Any]) -> str:
    """Validation loss and BLEU in both precisions, and the difference of the kernels."""
    lines = [
        f"| {figures['corpus']}, {figures['steps']} steps | float32: loss, BLEU | bfloat16: loss, BLEU "
        f"| fused and reference kernels, largest difference of {figures['equal_steps']} losses |",
        "|---|---|---|---|",
    ]
    for family, title in FAMILIES.items():
        result = figures["families"][family]
        cells = [
            "; ".join(f"{scores['loss']:.3f}, {scores['bleu']:.1f}" for scores in result[precision])
            for precision in ("fp32", "bf16")
        ]
        difference = result["fused and reference kernels"]["largest relative difference"]
        lines.append(f"| {title}, two seeds | {' | '.join(cells)} | {100 * difference:.2g} % |")
    return "\n".join(lines)


def all_tables() -> str:
    """The tables of the newest results."""
    throughput, quality = (
        json.loads(newest(what).read_text(encoding="utf-8"))["figures"] for what in (WHAT, QUALITY)
    )
    return f"{tables(throughput)}\n\n{quality_tables(quality)}"


def write_page() -> Path:
    """Write the tables of the newest results into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{all_tables()}\n{END}{after}", encoding="utf-8")
    return PAGE


def page_is_current() -> bool:
    """Whether the tables of the page are those of the newest results."""
    stored = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    return stored.strip() == all_tables().strip()


if __name__ == "__main__":
    train_bursts(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
