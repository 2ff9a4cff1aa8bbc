"""The programs of examples/ run at a tiny size, are short, and say what they do."""

import json
from pathlib import Path

import pytest
import torch

from dhyan.audio.codebook import Codebook
from dhyan.audio.spectrogram import SpectrogramSettings
from tests.docs.test_documents import run
from tests.docs.test_import_examples import PACKAGES

EXAMPLES = Path(__file__).parents[2] / "examples"
FEW = (
    "training.steps=2", "training.warmup_steps=0", "training.valid_sentences=2",
    "training.tokens_per_batch=400", "data.max_tokens=240", "decoding.max_length=8",
)  # fmt: skip
NARROW = tuple(
    f"{side}.{key}={value}"
    for side in ("encoder", "decoder")
    for key, value in (("width", 16), ("feed_forward_width", 32), ("layers", 1))
)
WORDS = "red blue green small large near far old new good bad slow fast".split()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Small files of each sort."""
    folder = tmp_path_factory.mktemp("files")
    rows = [(f"{a} {b}", a, b) for a in WORDS for b in WORDS]
    table = [f"{text}\t{'good' if a < b else 'bad'}\n" for text, a, b in rows]
    (folder / "labels.tsv").write_text("".join(table))
    (folder / "words.tsv").write_text("".join(f"{a}{b}\t{b} {a}\n" for _, a, b in rows))
    tagged = "".join(f"{a}\tB-X\n{b}\tO\n\n" for _, a, b in rows)
    (folder / "tags.conll").write_text(tagged)
    for name, chosen in (("train", rows[20:]), ("test", rows[:3])):
        lines = [json.dumps({"text": text, "summary": a}) + "\n" for text, a, _ in chosen]
        (folder / f"{name}.jsonl").write_text("".join(lines))
    sounds = [torch.sin(torch.arange(6000) * step) for step in (0.05, 0.1, 0.2)]
    codebook = Codebook.train(sounds, SpectrogramSettings(), size=8)
    codebook.write(folder / "codebook.safetensors")
    for name, chosen in (("train", rows[:40]), ("valid", rows[40:44]), ("test", rows[50:52])):
        symbols = " ".join(codebook.encode(sounds[0]).split()[:9])
        lines = [f"{' '.join(a + b)}\t{symbols}\n" for _, a, b in chosen]
        (folder / f"{name}.tsv").write_text("".join(lines))
    return folder


@pytest.mark.parametrize(
    ("name", "arguments", "expected_output"),
    [
        ("attend_by_hand.py", (), "0.422 0.155 0.422"),
        ("train_in_python.py", ("out", 3), "attention.svg"),
        ("train_on_frame.py", ("out", 3), "chrF++"),
        ("own_score.py", ("out", 3), "Saved(step=3"),
        ("classify_texts.py", ("labels.tsv", "out", *FEW), "%  gripping"),
        ("tag_entities.py", ("tags.conll", "out", *FEW), "New Delhi . →"),
        ("summarize_texts.py", ("train.jsonl", "test.jsonl", "out", *FEW, *NARROW), "ROUGE-L"),
        ("transliterate_words.py", ("words.tsv", "out", *FEW, *NARROW), "namaste →"),
        ("pronounce_words.py", ("words.tsv", "out", *FEW, *NARROW), "knight.svg"),
        ("read_pictures.py", ("out", *FEW, "data.pairs=60"), "is read as"),
        ("describe_scenes.py", ("out", *FEW, "data.pairs=60"), "wrong:"),
        ("draw_scenes.py", ("out", *FEW, "data.pairs=60"), "of its attributes drawn"),
        ("speak.py", (".", "out", *FEW), "0.wav"),
    ],
)
def test_an_example_runs_and_is_short(name, arguments, expected_output, tmp_path, files):
    for file in files.iterdir():
        (tmp_path / file.name).symlink_to(file)
    script = EXAMPLES / name
    assert len(script.read_text().splitlines()) < 40
    assert expected_output in run(script, *arguments, cwd=tmp_path)


def test_every_example_is_run():
    [cases] = list(test_an_example_runs_and_is_short.pytestmark)
    tested = {case[0] for case in cases.args[1]} | set(PACKAGES)
    assert tested == {path.name for path in EXAMPLES.glob("*.py")}
