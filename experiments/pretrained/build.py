"""Train the pretrained models side by side within a time, average, score once, pack."""

import shutil
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import torch

import dhyan
from dhyan.atomic_folder import CHECKSUM, MANIFEST, VERSION, checksum, write_manifest
from dhyan.checkpoint import read_manifest, steps_in
from dhyan.compare.train import training_seconds
from dhyan.config import Recipe, RNNDecoder, TransformerDecoder, load_recipe, parse_setting
from dhyan.data.corpus import read_corpus
from dhyan.data.training_sentences import TRAINING_SENTENCES
from dhyan.evaluation.metrics import Score
from dhyan.model_check import read_training_sentences
from dhyan.pretrained import NAMES
from dhyan.pretrained.card import Card, TestScore
from dhyan.quantization import Precision
from dhyan.run.slim_export import write_slim
from experiments.pretrained.corpus import (
    CORPORA,
    Primer,
    data_settings,
    training_texts,
    write_corpus,
)
from experiments.side_by_side import Job, averaged_model, train_side_by_side

RECIPES = Path(__file__).parent / "recipes"
COMMANDS = "commands.txt"  # beside the runs: the commands that trained them
LIMITS = {
    "en-hi": (
        "Short everyday sentences only; long ones, news, and technical or legal text come out wrong.",
        "Names, numbers and words that are rare in the training text are often dropped or replaced.",
        "The form of address (तू, तुम, आप) and a speaker's gender, where English has none, are guesses.",
        "It repeats what people wrote on Tatoeba, with their errors and biases; check what matters.",
    ),
    "en-fr": (
        "Short everyday sentences only; long ones, news, and technical or legal text come out wrong.",
        "Names, numbers and words that are rare in the training text are often dropped or replaced.",
        "The form of address (tu, vous) and a speaker's gender, where English has none, are guesses.",
        "It repeats what people wrote on Tatoeba, with their errors and biases; check what matters.",
    ),
}
NO_ATTENTION_LIMIT = (
    "It has no attention and is here to be compared: expect it to lose the sense often."
)


def language_pair(name: str) -> str:
    """The language pair of a model's name."""
    return "-".join(name.split("-")[:2])


def recipe_file(name: str) -> Path:
    """The recipe of a model's name, which two language pairs may share."""
    return RECIPES / f"{name.removeprefix(language_pair(name)).strip('-')}.toml"


def train(
    names: Sequence[str],
    data: Path,
    out: Path,
    *,
    seconds: float,
    primer: Primer,
    settings: Mapping[str, str],
) -> None:
    """Write the training text and train the models side by side for so many seconds."""
    for pair in dict.fromkeys(map(language_pair, names)):
        write_corpus(pair, data, out / "corpus" / pair, primer)
    jobs = []
    for name in names:
        pair = language_pair(name)
        texts = data_settings(pair, out / "corpus" / pair, primer)
        jobs.append(Job(name, str(recipe_file(name)), {**texts, **settings}))
    if train_side_by_side(jobs, out, seconds):
        sys.exit(1)


def pack(
    names: Sequence[str],
    out: Path,
    models: Path,
    *,
    precision: Precision,
    primer: Primer,
    commit: str,
    command: str,
    tar: bool,
) -> None:
    """Average, score on the test set and write the slim folder of each model; or one .tar of it."""
    models.mkdir(parents=True, exist_ok=True)
    commands = " && ".join([*_training_commands(out), command])
    facts = {"commit": commit, "command": commands}
    for name in names:
        folder = pack_model(name, out, models, precision=precision, primer=primer, **facts)
        add_training_sentences(name, folder, out, primer)
        if tar:
            with tarfile.open(models / f"{name}.tar", "w") as file:
                file.add(folder, arcname=name)
            shutil.rmtree(folder)
        print(name, "packed", flush=True)


def record_command(command: str, out: Path) -> None:
    """Add a command of a training to those that trained the runs in a folder."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / COMMANDS).open("a", encoding="utf-8") as file:
        print(command, file=file)


def _training_commands(out: Path) -> list[str]:
    path = out / COMMANDS
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def pack_model(
    name: str,
    out: Path,
    models: Path,
    *,
    precision: Precision,
    primer: Primer,
    commit: str,
    command: str,
) -> Path:
    """The slim folder of a model, with the card of its own scores."""
    run, pair = out / name, language_pair(name)
    with tempfile.TemporaryDirectory(dir=out) as temporary:
        place = Path(temporary)
        model = averaged_model(run, place / "average")
        scored = write_slim(model, place / "slim", precision=precision)
        target = CORPORA[pair].target
        test = [out / "corpus" / pair / f"test.{language}" for language in ("en", target)]
        evaluation = dhyan.evaluate(str(scored), (str(test[0]), str(test[1])), ("bleu", "chrf"))
        recipe = load_recipe(scored / "recipe.toml")
        card = Card(
            about=recipe.about,
            source_language="en",
            target_language=target,
            architecture=architecture(recipe),
            parameters=sum(weight.numel() for weight in dhyan.load(scored).model.parameters()),
            precision=precision,
            data=tuple(training_texts(pair, out / "corpus" / pair, primer)),
            test=f"{CORPORA[pair].folder} test",
            test_pairs=len(evaluation.translations),
            beam=recipe.decoding.beam,
            scores=test_scores(evaluation.scores),
            limits=(*LIMITS[pair], *[NO_ATTENTION_LIMIT] * name.endswith("no-attention")),
            steps=max(steps_in(run)),
            training_seconds=round(training_seconds(run, max(steps_in(run))), 1),
            machine=torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
            commit=commit,
            command=command,
            date=f"{datetime.now(UTC):%Y-%m-%d}",
        )
        if (models / name / MANIFEST).exists():
            shutil.rmtree(models / name)
        return write_slim(model, models / name, precision=precision, card=card.to_json())


def add_training_sentences(name: str, folder: Path, out: Path, primer: Primer) -> None:
    """Add the hashes of the training sentences, or of their words, to a packed model without them.

    The text must have the fingerprint in the model's manifest: the pairs that it was trained on.
    """
    manifest = read_manifest(folder)
    known = read_training_sentences(folder)
    if known is not None and known.has_words:
        return
    pair = language_pair(name)
    settings = data_settings(pair, out / "corpus" / pair, primer)
    typed = dict(parse_setting(f"{key}={value}") for key, value in settings.items())
    corpus = read_corpus(load_recipe(str(recipe_file(name)), typed))
    if corpus.fingerprint != manifest["data_fingerprint"]:
        sys.exit(f"{name}: was trained on another text than that of {out / 'corpus' / pair}")
    sentences = corpus.training_sentences()
    if sentences is None:
        sys.exit(f"{name}: its training text has too many pairs")
    data = sentences.to_bytes()
    (folder / TRAINING_SENTENCES).write_bytes(data)
    facts = {key: manifest[key] for key in manifest if key not in (VERSION, "files", CHECKSUM)}
    files = {**manifest["files"], TRAINING_SENTENCES: checksum(data)}
    write_manifest(folder, facts, files)
    print(f"{name}: {len(sentences):,} training sentences, {len(data):,} bytes", flush=True)


def test_scores(scores: Mapping[str, Score]) -> dict[str, TestScore]:
    """Scores as a card has them."""
    return {
        key: TestScore(score.name, round(score.value, 2), score.signature)
        for key, score in scores.items()
    }


def architecture(recipe: Recipe) -> str:
    """Kind, layers and widths of a model in a few words."""
    encoder, decoder = recipe.encoder, recipe.decoder
    layers = f"{encoder.layers}+{decoder.layers} layers"
    if isinstance(decoder, TransformerDecoder):
        return f"Transformer, {layers}, {decoder.width} wide, {decoder.heads} heads"
    if isinstance(decoder, RNNDecoder):
        mechanism = "no attention"
    else:
        mechanism = f"{decoder.kind.title()}, {decoder.attention.score} score"
    widths = f"{encoder.width} and {decoder.width} wide"
    return f"{decoder.cell.upper()}, {mechanism}, {layers}, {widths}"


def check_names(names: Sequence[str]) -> list[str]:
    """The models to build: all, unless some are named."""
    for name in names:
        if name not in NAMES:
            sys.exit(f"no model {name!r}; there are {', '.join(NAMES)}")
    return list(names or NAMES)
