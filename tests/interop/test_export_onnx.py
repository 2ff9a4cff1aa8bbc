"""Models exported as ONNX graphs: every step is ours, and so are the translations of a beam."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import dhyan
from dhyan.batch import Tokens
from dhyan.errors import UserError
from dhyan.interop import export_onnx as exporter
from dhyan.interop.onnx_model import load_onnx, onnx_model
from dhyan.pretrained.everyday_sentences import EVERYDAY_SENTENCES
from dhyan.special_tokens import EOS
from tests import tiny_models
from tests.laws import family
from tests.plain_search import in_pytorch

for package in ("onnx", "onnxscript", "onnxruntime"):
    pytest.importorskip(package, reason="needs the extra onnx: pip install 'dhyan[onnx]'")

ROOT = Path(__file__).parents[2]
PRETRAINED = ("en-hi-transformer", "en-hi-bahdanau", "en-hi-luong")
QUICK = [
    ("gru", "bahdanau-additive"),
    ("gru", "luong-monotonic-dot"),
    ("transformer-rotary-swiglu-grouped", "transformer-rotary-swiglu-grouped"),
    ("transformer-additive", "transformer-copy"),
]
LENGTHS, KEPT = (1, 9, 4, 12, 3), (2, 2, 0, 4)
WRITE = """
import json, sys, torch
from pathlib import Path
from dhyan.errors import UserError
from dhyan.interop.export_onnx import export_onnx, write_graphs
from tests.laws import family

for line in sys.stdin.read().splitlines():
    model, folder, precision = json.loads(line)
    if isinstance(model, str):
        export_onnx(model, Path(folder), precision=precision)
        continue
    torch.manual_seed(1)
    module = family.build(*model).eval()
    Path(folder).mkdir()
    try:
        with torch.no_grad():
            state = write_graphs(module, Path(folder), with_steps="monotonic" in model[1])
    except UserError as error:
        state = {"refused": str(error)}
    (Path(folder) / "state.json").write_text(json.dumps(state))
"""


def export_all(exports):
    """Write graphs in a process of their own: types of shapes are checked here, not in tracing."""
    lines = "\n".join(json.dumps([model, str(out), how]) for model, out, how in exports)
    subprocess.run([sys.executable, "-c", WRITE], input=lines, text=True, check=True, cwd=ROOT)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Folders by model; all that are asked for together are written by one process."""
    folder, written = tmp_path_factory.mktemp("onnx"), {}

    def folders(models, precision="float32"):
        new = {
            model: folder / str(len(written) + at)
            for at, model in enumerate(
                model for model in models if (model, precision) not in written
            )
        }
        if new:
            export_all([(model, out, precision) for model, out in new.items()])
            written.update({(model, precision): out for model, out in new.items()})
        return {model: written[model, precision] for model in models}

    return folders


def check_steps(names, folder):
    torch.manual_seed(1)
    model = family.build(*names).eval()
    theirs = onnx_model(folder, json.loads((folder / "state.json").read_text()))
    draw = torch.Generator().manual_seed(3)
    tokens = [torch.randint(4, family.VOCABULARY, (n,), generator=draw).tolist() for n in LENGTHS]
    source = Tokens.pad([[*row, EOS] for row in tokens])
    with torch.inference_mode():
        ours_state, their_state = model.start(source), theirs.start(source)
        for step in range(9):
            rows = len(LENGTHS) if step < 4 else len(KEPT)
            ids = torch.randint(4, family.VOCABULARY, (rows,), generator=draw)
            logits, ours_state = model.step(ids, ours_state)
            their_logits, their_state = theirs.step(ids, their_state)
            assert torch.allclose(their_logits, logits, atol=1e-5)
            if step == 3:
                kept = torch.tensor(KEPT)
                ours_state, their_state = ours_state.select(kept), their_state.select(kept)


@pytest.mark.parametrize("names", QUICK, ids="/".join)
def test_every_step_has_our_logits_whatever_the_sizes(names, exported):
    """Rows, lengths and steps are others than those that were traced; rows are chosen on the way."""
    check_steps(names, exported(QUICK)[names])


REFUSED = [("transformer-coverage", "bahdanau-additive")]  # steps along the source
REFUSED += [("transformer-location_aware", "bahdanau-additive")]
OTHERS = [names for names in family.MODELS if names not in (*QUICK, *REFUSED)]


@pytest.mark.soak
@pytest.mark.parametrize("names", OTHERS, ids="/".join)
def test_so_has_every_step_of_every_other_model(names, exported):
    check_steps(names, exported(OTHERS)[names])


@pytest.mark.soak
@pytest.mark.parametrize("names", REFUSED, ids="/".join)
def test_a_graph_for_one_length_alone_is_refused(names, exported):
    state = json.loads((exported(REFUSED)[names] / "state.json").read_text())
    assert "goes from position to position" in state["refused"]
    assert "--slim" in state["refused"]


@pytest.mark.parametrize(
    "name",
    [PRETRAINED[0], *(pytest.param(name, marks=pytest.mark.soak) for name in PRETRAINED[1:])],
)
def test_a_beam_of_a_pretrained_model_finds_our_translations_and_scores(name, exported):
    folder = exported([name])[name]
    theirs = load_onnx(folder).translate(EVERYDAY_SENTENCES, nbest=2)
    ours = in_pytorch(dhyan.load(name)).translate(EVERYDAY_SENTENCES, nbest=2)
    for translation, expected in zip(theirs, ours, strict=True):
        assert translation.text == expected.text
        assert translation.score == pytest.approx(expected.score, abs=1e-4)
        assert [other.text for other in translation.others] == [t.text for t in expected.others]
    probs = [prob for _, prob in theirs[0].word_probs]
    assert probs == pytest.approx([prob for _, prob in ours[0].word_probs], abs=1e-4)
    card = (folder / "README.md").read_text()
    assert "CC BY 2.0 FR" in card
    assert "load_onnx" in card


@pytest.mark.soak
@pytest.mark.parametrize("name", PRETRAINED)
def test_int8_graphs_are_smaller_and_translate(name, exported):
    whole, small = exported([name])[name], exported([name], "int8")[name]
    assert (small / "step.onnx").stat().st_size < 0.8 * (whole / "step.onnx").stat().st_size
    ours = in_pytorch(dhyan.load(name)).translate(EVERYDAY_SENTENCES)
    theirs = load_onnx(small).translate(EVERYDAY_SENTENCES)
    same = sum(a.text == b.text for a, b in zip(ours, theirs, strict=True))
    assert same >= 0.8 * len(ours)


def test_the_example_translates_without_dhyan_and_torch(exported, tmp_path):
    """The greedy search of examples/onnx_translate.py, in which both packages are hidden."""
    example = ROOT / "examples" / "onnx_translate.py"
    assert len(example.read_text().splitlines()) < 40
    code = (
        "import runpy, sys\n"
        "sys.modules['torch'] = sys.modules['dhyan'] = None\n"
        f"runpy.run_path({str(example)!r}, run_name='__main__')\n"
    )
    sentences = list(EVERYDAY_SENTENCES[:6])
    result = subprocess.run(
        [sys.executable, "-c", code, str(exported(PRETRAINED[:1])[PRETRAINED[0]]), *sentences],
        capture_output=True, text=True, check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    ours = in_pytorch(dhyan.load("en-hi")).translate(sentences, beam=1)
    assert result.stdout.splitlines() == [translation.text for translation in ours]


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch, tmp_path):
    found = exporter.find_spec
    monkeypatch.setattr(
        exporter, "find_spec", lambda name: None if name == "onnxscript" else found(name)
    )
    with pytest.raises(UserError, match="onnxscript: not installed.*pip install onnxscript$"):
        exporter.export_onnx("en-hi", tmp_path / "out")


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(UserError, match="is no folder that dhyan export --to onnx wrote"):
        load_onnx(tmp_path)
    (tmp_path / "dhyan.json").write_text(json.dumps([1]))
    with pytest.raises(UserError, match="is no folder that dhyan export --to onnx wrote"):
        load_onnx(tmp_path)


def test_the_command_says_what_it_wrote(tmp_path):
    result = tiny_models.dhyan("export", "en-hi-luong", "--to", "onnx", "out", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == b""
    assert b"encoder.onnx and step.onnx" in result.stdout
