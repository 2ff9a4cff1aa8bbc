"""Transformers exported for CTranslate2: its words and scores are ours, and back again."""

from itertools import product

import ctranslate2
import pytest
import torch

import dhyan
from dhyan.checkpoint import find_checkpoint, tensors_from_bytes
from dhyan.errors import UserError
from dhyan.interop.ctranslate2_file import SCALE, ModelFile
from dhyan.interop.export_ctranslate2 import export_ctranslate2
from dhyan.interop.import_model import import_model
from dhyan.run.load import weights_of
from tests import tiny_models
from tests.interop.random_models import FAMILY, TEXTS, random_model


def their_words(folder, ours, **settings):
    theirs = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    pieces = list(ours.source.piece_ids())
    return theirs.translate_batch(
        [[pieces[id] for id in ours.source.encode(text)] for text in TEXTS],
        return_scores=True, max_decoding_length=16, min_decoding_length=0, **settings,
    )  # fmt: skip


@pytest.mark.parametrize(("name", "precision"), list(product(FAMILY, ["float32", "int8"])))
def test_words_and_scores_are_ours_and_an_import_gives_the_model_back(name, precision, tmp_path):
    ours = random_model(tmp_path / "ours", name)
    export_ctranslate2(tmp_path / "ours", tmp_path / "theirs", precision=precision)
    import_model(tmp_path / "theirs", tmp_path / "back", languages=("en", "hi"))
    back = dhyan.load(tmp_path / "back", device="cpu")
    assert back.source.to_json() == ours.source.to_json()
    weights = weights_of(back.model)
    for key, weight in weights_of(ours.model).items():
        exact = precision == "float32" or weight.dim() < 2 or key.endswith("positions.table")
        bound = 0 if exact else float(weight.detach().abs().max()) / 127
        assert (weights[key] - weight).abs().max() <= bound
    reference = ours if precision == "float32" else back  # which has the rounded weights
    results = their_words(tmp_path / "theirs", ours, beam_size=1)
    translations = reference.translate(TEXTS, beam=1, max_length=16)
    pieces = list(ours.target.piece_ids())
    for result, translation in zip(results, translations, strict=True):
        assert result.hypotheses[0] == [pieces[id] for id in translation.ids]
        assert result.scores[0] == pytest.approx(translation.score, abs=2e-4)
    assert len({translation.ids for translation in translations}) >= 3


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            {"decoder.positions": "rotary"},
            "cannot hold decoder.positions = rotary; ONNX has: --to onnx",
        ),
        ({"encoder.kv_heads": 1}, "cannot hold encoder.kv_heads = 1"),
        ({"encoder.score": "additive"}, "cannot hold encoder.score = additive"),
    ],
)
def test_settings_that_ctranslate2_has_not_are_named(change, match, tmp_path, monkeypatch):
    monkeypatch.setitem(FAMILY, "changed", ({}, {}))
    for key, value in change.items():
        side, name = key.split(".")
        FAMILY["changed"][side == "decoder"][name] = value
    random_model(tmp_path / "ours", "changed")
    with pytest.raises(UserError, match=match):
        export_ctranslate2(tmp_path / "ours", tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()


def test_the_command_refuses_recurrent_models_with_the_format_that_holds_them(tmp_path):
    result = tiny_models.dhyan("export", "en-hi-luong", "--to", "ctranslate2", "out", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.decode().splitlines() == [
        "dhyan: en-hi-luong: CTranslate2 cannot hold encoder.kind = rnn; ONNX has: --to onnx"
    ]


def test_the_whole_numbers_of_a_pretrained_model_are_kept(tmp_path):
    """Weights that are int8 already are not rounded again: every number is as it was stored."""
    export_ctranslate2("en-hi", tmp_path / "out", precision="int8")
    theirs = ModelFile.from_bytes((tmp_path / "out" / "model.bin").read_bytes()).variables
    stored = tensors_from_bytes((find_checkpoint("en-hi") / "model.safetensors").read_bytes())
    pairs = {
        "encoder/embeddings_0/weight": ["encoder.embedding.token_embedding"],
        "decoder/layer_1/ffn/linear_1/weight": ["decoder.layers.1.feed_forward.down"],
        "encoder/layer_3/self_attention/linear_0/weight": [
            f"encoder.layers.3.self_attention.{part}" for part in ("query", "key", "value")
        ],
    }
    for name, parts in pairs.items():
        whole = torch.cat([stored[f"{part}.weight"] for part in parts])
        scales = torch.cat([stored[f"{part}.weight:scale"] for part in parts])
        assert torch.equal(theirs[name], whole)
        assert torch.allclose(1 / theirs[name + SCALE], scales, rtol=1e-6)
