"""Train the pretrained models side by side within a time, average, score once, pack."""

import shutil
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from experiments.pretrained.corpus import TEXTS, Primer, Texts
from experiments.side_by_side import Job, averaged_model, train_side_by_side

RECIPES = Path(__file__).parent / "recipes"
COMMANDS = "commands.txt"  # beside the runs: the commands that trained them
SENTENCE_LIMITS = (
    "Short everyday sentences only; long ones, news, and technical or legal text come out wrong.",
    "Names, numbers and words that are rare in the training text are often dropped or replaced.",
)
TATOEBA_LIMIT = (
    "It repeats what people wrote on Tatoeba, with their errors and biases; check what matters."
)
HINDI_LIMITS = (
    *SENTENCE_LIMITS,
    "The form of address (तू, तुम, आप) and a speaker's gender, where English has none, are guesses.",
    TATOEBA_LIMIT,
)
FRENCH_LIMITS = (
    *SENTENCE_LIMITS,
    "The form of address (tu, vous) and a speaker's gender, where English has none, are guesses.",
    TATOEBA_LIMIT,
)
NO_ATTENTION_LIMIT = (
    "It has no attention and is here to be compared: expect it to lose the sense often."
)
TRANSLITERATION_LIMITS = (
    "One word of Hindi at a time, in small letters a to z, as people type it.",
    "Latin letters do not tell all: where several words are spelled alike it gives one; ask for more "
    "with --nbest.",
    "English words, names from other languages and abbreviations are the most frequent errors.",
    "The texts are under CC BY-SA 4.0: name the Dakshina data set where you pass its words on.",
)
PRONUNCIATION_LIMITS = (
    "One word at a time, in small letters; the phonemes are those of American English (ARPABET).",
    "Names and words of other languages, and the place of the stress, are the most frequent errors.",
    "Of words that are spelled alike and spoken differently (read, lead) it gives one.",
)


@dataclass(frozen=True)
class Build:
    """How a pretrained model is made: its texts, its recipe, and what its card says of its limits."""

    texts: str
    recipe: str
    limits: tuple[str, ...]

    def folder(self, out: Path) -> Path:
        """The folder of its texts, which several models may share."""
        return out / "corpus" / self.texts


BUILDS = {
    "en-hi-transformer": Build("en-hi", "transformer", HINDI_LIMITS),
    "en-hi-bahdanau": Build("en-hi", "bahdanau", HINDI_LIMITS),
    "en-hi-luong": Build("en-hi", "luong", HINDI_LIMITS),
    "en-hi-no-attention": Build("en-hi", "no-attention", (*HINDI_LIMITS, NO_ATTENTION_LIMIT)),
    "en-fr-transformer": Build("en-fr", "transformer", FRENCH_LIMITS),
    "en-fr-bahdanau": Build("en-fr", "bahdanau", FRENCH_LIMITS),
    "hi-transliteration": Build("dakshina", "transliteration", TRANSLITERATION_LIMITS),
    "en-pronunciation": Build("cmudict", "pronunciation", PRONUNCIATION_LIMITS),
}


def texts_of(name: str) -> Texts:
    """The texts of a model."""
    return TEXTS[BUILDS[name].texts]


def recipe_file(name: str) -> Path:
    """The recipe of a model, which several may share."""
    return RECIPES / f"{BUILDS[name].recipe}.toml"


def write_texts(names: Sequence[str], data: Path, out: Path, primer: Primer) -> list[Path]:
    """Write the texts of the models that are not there yet; their folders."""
    folders = {BUILDS[name].folder(out): texts_of(name) for name in names}
    return [texts.write(data, folder, primer) for folder, texts in folders.items()]


def train(
    names: Sequence[str],
    data: Path,
    out: Path,
    *,
    seconds: float,
    primer: Primer,
    settings: Mapping[str, str],
) -> None:
    """Write the texts that are not there, and train the models side by side for so many seconds."""
    write_texts(names, data, out, primer)
    jobs = []
    for name in names:
        texts = texts_of(name).settings(BUILDS[name].folder(out), primer)
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
    run, texts, folder = out / name, texts_of(name), BUILDS[name].folder(out)
    with tempfile.TemporaryDirectory(dir=out) as temporary:
        place = Path(temporary)
        model = averaged_model(run, place / "average")
        scored = write_slim(model, place / "slim", precision=precision)
        result = texts.test(scored, folder)
        recipe = load_recipe(scored / "recipe.toml")
        card = Card(
            about=recipe.about,
            source_language=texts.languages[0],
            target_language=texts.languages[1],
            architecture=architecture(recipe),
            parameters=sum(weight.numel() for weight in dhyan.load(scored).model.parameters()),
            precision=precision,
            data=tuple(texts.listed(folder, primer)),
            test=result.name,
            test_pairs=result.pairs,
            beam=recipe.decoding.beam,
            scores=test_scores(result.scores),
            limits=BUILDS[name].limits,
            steps=max(steps_in(run)),
            training_seconds=round(training_seconds(run, max(steps_in(run))), 1),
            machine=torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
            commit=commit,
            command=command,
            date=f"{datetime.now(UTC):%Y-%m-%d}",
            task=recipe.task,
        )
        if (models / name / MANIFEST).exists():
            shutil.rmtree(models / name)
        return write_slim(model, models / name, precision=precision, card=card.to_json())


def add_training_sentences(name: str, folder: Path, out: Path, primer: Primer) -> None:
    """Add the hashes of the training sentences to a packed model without them.

    The text must have the fingerprint in the model's manifest: the pairs that it was trained on.
    """
    manifest = read_manifest(folder)
    if read_training_sentences(folder) is not None:
        return
    texts = BUILDS[name].folder(out)
    settings = texts_of(name).settings(texts, primer)
    typed = dict(parse_setting(f"{key}={value}") for key, value in settings.items())
    corpus = read_corpus(load_recipe(str(recipe_file(name)), typed))
    if corpus.fingerprint != manifest["data_fingerprint"]:
        sys.exit(f"{name}: was trained on another text than that of {texts}")
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
