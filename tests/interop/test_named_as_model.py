"""A folder in another toolkit's format wherever a model is named: it is imported on the way."""

import json
import shutil

import pytest
import torch
from typer.testing import CliRunner

import dhyan
from dhyan.checkpoint import find_checkpoint
from dhyan.cli import app
from dhyan.interop.import_cache import VARIABLE, imported_folder
from dhyan.interop.import_model import import_model
from dhyan.studio.registry import ModelRegistry
from tests.interop.multilingual_models import MULTILINGUAL, multilingual_folder
from tests.interop.spm_models import SENTENCES, SHAPES, marian_folder
from tests.serving.running_server import running_server
from tests.tiny_models import command

TEXT = "The lamp is old."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A Marian folder, which nobody has imported yet."""
    folder = tmp_path_factory.mktemp("named") / "opus-mt"
    marian_folder(folder, **SHAPES["separate-embeddings"])
    return folder


@pytest.fixture(scope="module")
def expected(folder, tmp_path_factory):
    """The translation by the model that `dhyan import` writes."""
    ours = tmp_path_factory.mktemp("imported") / "ours"
    import_model(folder, ours)
    return dhyan.load(ours, device="cpu").translate(TEXT, max_length=12)


def invoke(*arguments, input=None):
    invocation = CliRunner().invoke(app, [str(a) for a in arguments], input=input)
    if invocation.exception and not isinstance(invocation.exception, SystemExit):
        raise invocation.exception
    assert invocation.exit_code == 0, invocation.stderr
    return invocation.stdout


def test_it_is_loaded_like_a_model_and_imported_once(folder, expected, cache):
    found = dhyan.load(folder, device="cpu").translate(TEXT, max_length=12)
    assert (found.text, found.score) == (expected.text, expected.score)
    [imported] = [
        path for path in cache.glob("imported/*/opus-mt") if path == imported_folder(folder)
    ]
    before = imported.stat().st_mtime_ns
    dhyan.load(str(folder), device="cpu")
    assert imported.stat().st_mtime_ns == before


def test_it_is_imported_anew_when_its_content_changes(folder, tmp_path):
    other = shutil.copytree(folder, tmp_path / folder.name)
    assert imported_folder(other) == imported_folder(folder)
    path = other / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"num_beams": 2}))
    (other / "generation_config.json").unlink()
    assert imported_folder(other) != imported_folder(folder)
    assert dhyan.load(other, device="cpu").beam == 2


def test_it_translates_shows_and_is_scored_on_the_command_line(folder, expected, tmp_path):
    options = ("--max-length", 12, "--threads", 1)
    translated = invoke("translate", folder, *options, input=f"{TEXT}\n")
    assert translated == f"{expected.text}\n"
    assert "</s>" in invoke("show", folder, TEXT, "--tokens", "--threads", 1)
    source, target = tmp_path / "test.en", tmp_path / "test.hi"
    source.write_text(f"{TEXT}\n")
    target.write_text(f"{SENTENCES[2]}\n", encoding="utf-8")
    scores = invoke("evaluate", folder, "--source", source, "--target", target, "--bootstrap", 0)
    assert "BLEU" in scores
    assert "imported from opus-mt" in invoke("info", folder)


def test_it_is_fine_tuned_by_init_from(folder, tmp_path):
    pairs = "".join(f"{a}\t{b}\n" for a, b in [SENTENCES[:2], SENTENCES[2:4]] * 4)
    (tmp_path / "pairs.tsv").write_text(f"en\thi\n{pairs}", encoding="utf-8")
    invoke(
        "train", folder, "--init-from", folder, "--source", tmp_path / "pairs.tsv",
        "--out", tmp_path / "run", "--set", "training.steps=2", "--set",
        "training.valid_sentences=0", "--threads", 1, "--quiet",
    )  # fmt: skip
    before, after = dhyan.load(folder, device="cpu"), dhyan.load(tmp_path / "run", device="cpu")
    assert after.source.to_json() == before.source.to_json()
    weights = zip(after.model.parameters(), before.model.parameters(), strict=True)
    changes = torch.stack([(new - old).abs().max() for new, old in weights])
    assert 0 < changes.max() < 1e-3


def test_it_is_opened_in_the_studio(folder, expected):
    [(name, model)] = ModelRegistry([folder]).models.items()
    assert name == "opus-mt"
    assert model.card().name == "opus-mt"
    assert model.training_sentences is None
    with model.translator() as translator:
        assert translator.translate(TEXT, max_length=12).text == expected.text


def test_it_is_served(folder, tmp_path):
    canary = tmp_path / "canary.tsv"
    text = dhyan.load(folder, device="cpu").translate(TEXT).text
    canary.write_text(f"{TEXT}\t{text}\n", encoding="utf-8")
    options = ("--port", "0", "--threads", "1", "--device", "cpu", "--canary", canary)
    arguments = command("serve", folder, *options)
    with running_server(tmp_path, arguments=arguments, ready=False) as running:
        running.wait_until_ready()
        status, answer = running.translate(TEXT)
    assert (status, text in json.dumps(answer, ensure_ascii=False)) == (200, True)


def test_a_cache_that_cannot_be_written_is_named_with_the_variable(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    with pytest.raises(dhyan.UserError, match=r"set DHYAN_CACHE to another folder, or import"):
        dhyan.load(folder)


def test_a_multilingual_model_asks_for_its_languages(tmp_path):
    """Unless its tokenizer_config.json names them, as one that was fine-tuned has it."""
    multilingual_folder(tmp_path / "m2m", **MULTILINGUAL["m2m100"])
    assert dhyan.load(tmp_path / "m2m").language == "hi"
    (tmp_path / "m2m" / "tokenizer_config.json").unlink()
    with pytest.raises(dhyan.UserError, match="is a multilingual model; import it with a source"):
        dhyan.load(tmp_path / "m2m")


JOEY = "fairseq, OpenNMT-py or JoeyNMT; they are pickled, which can run any code on loading"
TRANSFORMERS = (
    "is pickled, which can run any code .* make model.safetensors with AutoModelForSeq2Seq"
)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("checkpoint_best.pt", JOEY),
        ("model_step_1000.pt", JOEY),
        ("best.ckpt", JOEY),
        ("pytorch_model.bin", TRANSFORMERS),
    ],
)
def test_a_pickled_checkpoint_is_named_and_never_read(tmp_path, name, sentence):
    """As a file, and in its folder; import says the same."""
    (tmp_path / "theirs").mkdir()
    file = tmp_path / "theirs" / name
    file.write_bytes(b"\x80\x02}q\x00.")
    for model in (file, tmp_path / "theirs"):
        for read in (find_checkpoint, lambda path: import_model(path, tmp_path / "ours")):
            with pytest.raises(dhyan.UserError, match=sentence):
                read(model)


def test_a_model_that_lacks_a_part_here_says_which(tmp_path):
    (tmp_path / "bart").mkdir()
    (tmp_path / "bart" / "config.json").write_text('{"model_type": "bart"}')
    (tmp_path / "bart" / "model.safetensors").write_bytes(b"")
    with pytest.raises(dhyan.UserError, match="BART: it needs the byte-level BPE of GPT-2"):
        dhyan.load(tmp_path / "bart")
