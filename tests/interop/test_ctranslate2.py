"""CTranslate2 folders: a real trained model, and models at random that its converter wrote."""

import json
import os
from dataclasses import replace
from pathlib import Path

import ctranslate2
import pytest
import torch
import transformers

import dhyan
from dhyan.interop.import_model import import_model
from dhyan.models.positions import LearnedPositions
from tests.interop.spm_models import SENTENCES, SHAPES, marian_folder

DATA = Path(os.environ.get("DHYAN_DATA", Path(__file__).parents[3] / "shared" / "data"))
REAL = DATA / "real-models" / "ct2-aren-transliteration"
TEXTS = [text for text in SENTENCES if text.strip(" ▁") and "</s>" not in text]


@pytest.mark.skipif(not REAL.is_dir(), reason=f"needs {REAL}, which is not there")
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_real_model_says_the_same_with_the_same_score(precision, tmp_path):
    """With int8 weights, CTranslate2 computes in float32 here too: by default it rounds states."""
    import_model(REAL / precision, tmp_path / "ours")
    ours = dhyan.load(tmp_path / "ours", device="cpu")
    theirs = ctranslate2.Translator(str(REAL / precision), compute_type="float32", intra_threads=1)
    words = ["آتزمون", "آتشيسون", "سلام", "محمد", "ي"]
    results = theirs.translate_batch(  # a least length takes its probability from the first EOS
        [list(word) for word in words], beam_size=2, return_scores=True, min_decoding_length=0
    )
    for result, translation in zip(results, ours.translate(words, beam=2), strict=True):
        assert translation.text == "".join(result.hypotheses[0])
        assert translation.score == pytest.approx(result.scores[0], abs=1e-4)
    if precision == "float32":
        found = ours.translate("آتزمون")
        assert (found.text, round(found.score, 4)) == ("atzmon", -0.1517)


@pytest.fixture(scope="module", params=["square", "relu-unscaled", "separate-embeddings"])
def marian(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian") / "theirs"
    marian_folder(folder, **SHAPES[request.param])
    return folder


HALF = {"float16": torch.float16, "bfloat16": torch.bfloat16}


@torch.no_grad()
def round_positions(model, dtype):
    """Half precision rounds its table of sinusoids too; ours has the exact ones, unless so made."""
    for stack in (model.encoder, model.decoder):
        table = LearnedPositions(stack.width, 128)
        table.table.copy_(stack.embedding.positions(0, 128).to(dtype))
        stack.embedding.positions = table


@pytest.mark.parametrize("precision", ["float32", "int8", "int16", *HALF])
def test_a_converted_marian_model_says_the_same(marian, precision, tmp_path):
    folder = tmp_path / "converted"
    ctranslate2.converters.TransformersConverter(
        str(marian), copy_files=["source.spm", "target.spm"]
    ).convert(str(folder), quantization=precision)
    import_model(folder, tmp_path / "ours", languages=("en", "hi"))
    ours = dhyan.load(tmp_path / "ours", device="cpu")
    if precision in HALF:
        assert ours.model.encoder.embedding.positions.layout == "halves"
        round_positions(ours.model, HALF[precision])
        ours = replace(ours, fast=False)  # the engine does not know of it
    theirs = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    tokenizer = transformers.MarianTokenizer.from_pretrained(marian)
    tokens = [tokenizer.convert_ids_to_tokens(tokenizer(text).input_ids) for text in TEXTS]
    results = (
        theirs.translate_batch(  # greedy: its beam search ends with the first ended hypothesis
            tokens, beam_size=1, return_scores=True, max_decoding_length=20, min_decoding_length=0
        )
    )
    pieces = list(ours.target.piece_ids())
    translations = ours.translate(TEXTS, beam=1, max_length=20)
    for result, translation in zip(results, translations, strict=True):
        assert [pieces[id] for id in translation.ids] == result.hypotheses[0]
        assert translation.score == pytest.approx(result.scores[0], abs=2e-4)
    assert len({translation.ids for translation in translations}) >= 2
    assert ours.source_language == "en"


def test_a_model_whose_tokens_are_not_characters_needs_its_sentencepiece_models(marian, tmp_path):
    folder = tmp_path / "converted"
    ctranslate2.converters.TransformersConverter(str(marian)).convert(str(folder))
    with pytest.raises(dhyan.UserError, match=r"put the SentencePiece models.*source\.spm"):
        import_model(folder, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_settings_that_cannot_be_imported_are_named(marian, tmp_path):
    folder = tmp_path / "converted"
    ctranslate2.converters.TransformersConverter(
        str(marian), copy_files=["source.spm", "target.spm"]
    ).convert(str(folder))
    config = json.loads((folder / "config.json").read_text())
    for key, value in (("layer_norm_epsilon", 1e-6), ("add_source_bos", True)):
        (folder / "config.json").write_text(json.dumps(config | {key: value}))
        with pytest.raises(dhyan.UserError, match=f"config.json: {key} is"):
            import_model(folder, tmp_path / "ours")
