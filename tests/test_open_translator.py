"""Translators opened without torch: what they do, what they leave to PyTorch, and their errors."""

import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import dhyan
from dhyan.atomic_folder import checksum
from dhyan.cpu_engine import library_target, supports_recipe
from dhyan.model_check import read_model
from dhyan.models.build import build_model
from dhyan.open_translator import describe_cpu_engine, length_limits, open_translator, uses_cpu
from dhyan.run.load import make_translator
from tests.laws.family import MODELS, VOCABULARY, recipe_of
from tests.tiny_models import tiny_recipe, write_corpus

pytestmark = pytest.mark.skipif(library_target() is None, reason="the CPU engine is not compiled")

WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # importing it is an error
sys.argv = ["dhyan", *sys.argv[1:]]
from dhyan.cli import main
main()
"""
SENTENCE = "Where is my key?"
MODEL = "en-hi-transformer"


SOURCE = str(Path(__file__).parents[1] / "src")


def dhyan_without_torch(*words, text="", **environment):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *words],
        input=text,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE, **environment},
    )


SERVE_WITHOUT_TORCH = """
import json, sys
sys.modules["torch"] = None
from dhyan.serving.worker import load
from dhyan.serving.worker_protocol import CollectedAnswers, JobOptions, JobText

worker, options = load({"folder": sys.argv[1], "device": "cpu", "threads": 1}), json.load(sys.stdin)
answers = CollectedAnswers()
for job, fields in enumerate(options):
    worker.translate([JobText(job, sys.argv[2])], JobOptions(**fields), answers)
json.dump([answers.answers[job] for job in range(len(options))], sys.stdout)
"""


def test_a_server_translates_without_torch_and_refuses_what_needs_it():
    options = [{"beam": 1}, {"nbest": 2}, {"paragraphs": True}]
    refused = [{"align": True}, {"stream": True}, {"prefix": "a"}, {"glossary": [["key", "a"]]}]
    done = subprocess.run(
        [sys.executable, "-c", SERVE_WITHOUT_TORCH, MODEL, SENTENCE],
        input=json.dumps([*options, *refused]),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    answers = json.loads(done.stdout)
    assert [len(answer["translations"]) for answer in answers[:3]] == [1, 2, 1]
    for answer in answers[3:]:
        assert answer["code"] == "unsupported_option"
        assert answer["error"].startswith("this request needs PyTorch")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    source, target = write_corpus(folder)
    list(dhyan.run.train(tiny_recipe("transformer", source, target), folder / "run", device="cpu"))
    return folder / "run"


@pytest.mark.parametrize("model", ["en-hi-transformer", "en-hi-bahdanau", "en-hi-luong"])
def test_the_command_line_translates_without_torch(model):
    done = dhyan_without_torch("translate", model, "--device", "cpu", text=f"{SENTENCE}\n\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{dhyan.load(model, device='cpu').translate(SENTENCE).text}\n\n"


@pytest.mark.parametrize("words", [("--plain",), ("--prefix", "मेरी"), ("--words",)])
def test_what_needs_torch_says_so(words):
    done = dhyan_without_torch("translate", MODEL, "--device", "cpu", *words, text=SENTENCE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("not installed: pip install torch\n")


def test_without_the_engine_pytorch_translates():
    done = dhyan_without_torch(
        "translate", MODEL, "--device", "cpu", text=SENTENCE, DHYAN_CPU_ENGINE="off"
    )
    assert "pip install torch" in done.stderr
    assert library_target() is not None


def test_a_run_translates_as_pytorch_does(run):
    opened = open_translator(run, device="cpu", threads=1)
    sentences = ["one", "two hundred", "", "seven"]
    for beam in (1, 4):
        engine = opened(sentences, beam=beam, nbest=2 if beam > 1 else 1)
        plain = replace(opened, fast=False)(sentences, beam=beam, nbest=2 if beam > 1 else 1)
        assert [t.text for t in engine] == [t.text for t in plain]
        assert [t.score for t in engine] == pytest.approx([t.score for t in plain], abs=1e-4)
        assert [[o.text for o in t.others] for t in engine] == [
            [o.text for o in t.others] for t in plain
        ]
        assert dict(engine[0].word_probs) == pytest.approx(dict(plain[0].word_probs))


def test_the_model_is_built_when_it_is_used(run):
    opened, loaded = open_translator(run, device="cpu"), dhyan.load(run, device="cpu")
    assert opened.parameters == loaded.parameters
    assert repr(opened) == repr(loaded)
    assert opened.model is opened.model is replace(opened, fast=False).model
    states = zip(opened.model.parameters(), loaded.model.parameters(), strict=True)
    assert all(one.equal(other) for one, other in states)


@pytest.mark.parametrize("pair", MODELS, ids=lambda pair: "-".join(pair))
def test_the_limits_are_those_of_the_model(pair):
    recipe = recipe_of(*pair)
    if not supports_recipe(recipe):
        pytest.skip("the engine has no such model")
    model = build_model(recipe, VOCABULARY, VOCABULARY)
    tokenizer = dhyan.load(MODEL, device="cpu").target
    translator = make_translator(
        recipe, model, tokenizer, tokenizer, model.decoder.output.weight.device
    )
    assert length_limits(recipe) == translator.limits


def test_info_says_what_translates():
    assert describe_cpu_engine(read_model(MODEL)) == f"engine {library_target()}, int8"


def test_only_a_cpu_is_opened_without_torch():
    assert uses_cpu("cpu")
    assert not uses_cpu("cuda")
    assert not uses_cpu("mps")


def test_a_damaged_model_is_the_same_error_as_in_pytorch(run, tmp_path):
    """Whatever byte is changed or cut off: an error in one line, and never a crash."""
    rng = random.Random(1)
    [checkpoint] = sorted(run.glob("step-*"))[-1:]
    for number in range(30):
        folder = tmp_path / str(number)
        shutil.copytree(checkpoint, folder)
        name = rng.choice(["model.safetensors", "recipe.toml", "source.json", "manifest.json"])
        data = bytearray((folder / name).read_bytes())
        if number % 2:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        else:
            del data[rng.randrange(len(data)) :]
        (folder / name).write_bytes(data)
        errors = []
        for load in (dhyan.load, open_translator):
            with pytest.raises(dhyan.UserError) as caught:
                load(folder, device="cpu")
            errors.append(str(caught.value))
        assert errors[0] == errors[1]


def test_a_recipe_that_does_not_fit_the_weights_is_the_same_error_as_in_pytorch(run, tmp_path):
    [checkpoint] = sorted(run.glob("step-*"))[-1:]
    changes = {"heads": 3, "layers": 1, "feed_forward_width": 65, "norm": "post"}
    for number, (key, other) in enumerate(changes.items()):
        folder = tmp_path / str(number)
        shutil.copytree(checkpoint, folder)
        lines = (folder / "recipe.toml").read_text().splitlines()
        value = json.dumps(other)
        lines = [f"{key} = {value}" if line.startswith(f"{key} = ") else line for line in lines]
        data = "\n".join(lines).encode()
        (folder / "recipe.toml").write_bytes(data)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["files"]["recipe.toml"] = checksum(data)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        errors = []
        for load in (dhyan.load, open_translator):
            with pytest.raises(dhyan.UserError) as caught:
                load(folder, device="cpu")
            errors.append(str(caught.value))
        assert errors[0] == errors[1]
