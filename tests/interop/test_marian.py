"""Marian folders of Hugging Face, with weights at random: the same ids, logits, words and scores."""

import json
import os
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
import torch
import transformers

import dhyan
from dhyan.batch import Batch, Tokens
from dhyan.decoding.search import beam_search
from dhyan.interop.import_model import import_model
from dhyan.special_tokens import BOS, EOS, NAMES, PAD, UNK
from tests.interop.spm_models import SENTENCES, SHAPES, marian_folder

DATA = Path(os.environ.get("DHYAN_DATA", Path(__file__).parents[3] / "shared" / "data"))
REAL = DATA / "real-models" / "opus-mt-en-hi-text"
LIMIT = 24
TEXTS = [text for text in SENTENCES if text.strip(" ▁") and "</s>" not in text]


@pytest.fixture(scope="module", params=SHAPES)
def models(request, tmp_path_factory):
    """Theirs, its folder, and ours."""
    folder = tmp_path_factory.mktemp("marian") / "theirs"
    theirs = marian_folder(folder, **SHAPES[request.param])
    import_model(folder, folder.with_name("ours"))
    return theirs, folder, dhyan.load(folder.with_name("ours"), device="cpu")


def their_ids(tokenizer, vocabulary, pad):
    """Their id for each of ours."""
    special = {PAD: pad, BOS: pad, EOS: vocabulary["</s>"], UNK: vocabulary["<unk>"]}
    pieces = enumerate(tokenizer.piece_ids())
    return torch.tensor([special[id] if id < len(NAMES) else vocabulary[p] for id, p in pieces])


def id_tables(folder, ours, pad):
    names = ["vocab.json", "target_vocab.json"]
    names = [name if (folder / name).exists() else names[0] for name in names]
    return [
        their_ids(tokenizer, json.loads((folder / name).read_text()), pad)
        for tokenizer, name in zip((ours.source, ours.target), names, strict=True)
    ]


def test_ids_are_those_of_the_marian_tokenizer(models):
    theirs, folder, ours = models
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    source, target = id_tables(folder, ours, theirs.config.pad_token_id)
    for text in TEXTS:
        assert source[ours.source.encode(text)].tolist() == tokenizer(text).input_ids[:-1]
        expected = tokenizer(text_target=text).input_ids[:-1]
        assert target[ours.target.encode(text)].tolist() == expected
        ids = ours.target.encode(text)
        decoded = tokenizer.decode(target[ids].tolist(), skip_special_tokens=True)
        assert UNK in ids or ours.target.decode(ids) == " ".join(decoded.split())


def test_logits_are_equal_over_the_whole_vocabulary(models):
    theirs, folder, ours = models
    source, target = id_tables(folder, ours, theirs.config.pad_token_id)
    sources = Tokens.pad([[*ours.source.encode(text), EOS] for text in TEXTS])
    targets = Tokens.pad([[BOS, *ours.target.encode(text), EOS] for text in reversed(TEXTS)])
    with torch.no_grad():
        our_logits = ours.model(Batch(sources, targets)).log_softmax(-1)
        their_logits = theirs(
            input_ids=source[sources.ids],
            attention_mask=sources.mask,
            decoder_input_ids=target[targets.ids[:, :-1]],
        ).logits.log_softmax(-1)
    real = targets.mask[:, :-1]
    difference = (our_logits - their_logits[:, :, target])[real]
    assert difference[:, EOS:].abs().max() <= 5e-4
    assert our_logits[real][:, EOS:].std() > 1  # logits with something in them
    shared_row = our_logits[real][:, [PAD, BOS]].logsumexp(-1)  # one token of theirs is both
    assert (shared_row - their_logits[real][:, target[PAD]]).abs().max() <= 5e-4


@pytest.mark.parametrize("power", [0.6, 1.0])
def test_a_beam_of_four_finds_their_words_and_scores(models, power):
    """Where theirs ended before the limit; what the limit cuts off, ours ranks last."""
    theirs, folder, ours = models
    source, target = id_tables(folder, ours, theirs.config.pad_token_id)
    sources = Tokens.pad([[*ours.source.encode(text), EOS] for text in TEXTS])
    generation = theirs.generate(
        input_ids=source[sources.ids], attention_mask=sources.mask, num_beams=4,
        max_new_tokens=LIMIT, length_penalty=power, do_sample=False,
        bad_words_ids=[[theirs.config.pad_token_id]], return_dict_in_generate=True,
        output_scores=True,
    )  # fmt: skip
    best = beam_search(ours.model, sources, beam=4, max_length=LIMIT, length_penalty=power)
    compared = 0
    for [first, *_], row, score in zip(
        best,
        generation.sequences[:, 1:].tolist(),
        generation.sequences_scores.tolist(),
        strict=True,
    ):
        if 0 in row:  # their EOS
            assert [*target[list(first.ids)].tolist(), 0] == row[: row.index(0) + 1]
            assert first.score == pytest.approx(score, abs=2e-4)
            compared += 1
    assert compared >= 6


def test_every_translation_is_theirs_as_text(models):
    theirs, folder, ours = models
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    generation = theirs.generate(
        **batch, max_new_tokens=LIMIT, num_beams=1, do_sample=False,
        bad_words_ids=[[theirs.config.pad_token_id]],
    )  # fmt: skip
    texts = tokenizer.batch_decode(generation, skip_special_tokens=True)
    ours_greedy = ours.translate(TEXTS, beam=1, max_length=LIMIT - 1)
    assert ours.options.beam == 4
    for text, translation in zip(texts, ours_greedy, strict=True):
        if translation.finished:
            assert (
                translation.text == " ".join(text.replace("<unk>", "").split())
                or UNK in translation.ids
            )


def test_padding_that_their_search_takes_from_the_probabilities_has_none(tmp_path):
    folder = tmp_path / "theirs"
    theirs = marian_folder(folder, **SHAPES["square"])
    path = folder / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"renormalize_logits": True}))
    import_model(folder, tmp_path / "ours")
    ours = dhyan.load(tmp_path / "ours", device="cpu")
    _, target = id_tables(folder, ours, theirs.config.pad_token_id)
    sources = Tokens.pad([[EOS]])
    with torch.no_grad():
        logprobs, _ = ours.model.step(torch.tensor([BOS]), ours.model.start(sources))
        logits = theirs(
            input_ids=torch.tensor([[0]]), decoder_input_ids=target[torch.tensor([[BOS]])]
        ).logits[0]
    logits[:, theirs.config.pad_token_id] = -torch.inf
    difference = logprobs.log_softmax(-1) - logits.log_softmax(-1)[:, target]
    assert difference[:, EOS:].abs().max() <= 1e-4


def test_what_is_wanted_of_a_multilingual_model_is_named_by_a_token(tmp_path):
    folder = tmp_path / "theirs"
    marian_folder(folder, **SHAPES["square"])
    ids = json.loads((folder / "vocab.json").read_text())
    last = next(piece for piece in reversed(ids) if piece.isalpha())
    ids = {">>hin<<" if piece == last else piece: id for piece, id in ids.items()}
    (folder / "vocab.json").write_text(json.dumps(ids))
    import_model(folder, tmp_path / "ours")
    ours = dhyan.load(tmp_path / "ours", device="cpu")
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    table = their_ids(ours.source, ids, tokenizer.pad_token_id)
    text = ">>hin<< The lamp is old."
    found = ours.source.encode(text)
    assert ours.source.pieces(found)[0] == ">>hin<<"
    assert table[found].tolist() == tokenizer(text).input_ids[:-1]
    spans = ours.source.offsets(text)
    assert spans[0] == (0, len(">>hin<<"))
    assert all(before <= after for before, after in pairwise(spans))
    assert spans[-1][1] == len(">>hin<<The lamp is old.")


@pytest.mark.skipif(not REAL.is_dir(), reason=f"needs {REAL}, which is not there")
def test_the_real_tokenizer_and_settings_of_opus_mt_work_with_weights_at_random(tmp_path):
    """Its weights are not to be had here: a small model with its vocabulary has random ones."""
    folder = tmp_path / "theirs"
    shutil.copytree(REAL, folder)
    folder.chmod(0o755)
    for file in folder.iterdir():
        file.chmod(0o644)
    settings = transformers.MarianConfig.from_pretrained(
        folder, d_model=16, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=16,
        decoder_ffn_dim=16,
    )  # fmt: skip
    theirs = transformers.MarianMTModel(settings).eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    theirs.save_pretrained(folder)
    shutil.copy(REAL / "generation_config.json", folder)
    import_model(folder, tmp_path / "ours")
    ours = dhyan.load(tmp_path / "ours", device="cpu")
    assert (ours.source_language, ours.language, ours.options.beam) == ("en", "hi", 4)
    vocabulary = json.loads((REAL / "vocab.json").read_text())
    for side, tables in ((ours.source, {}), (ours.target, {"text_target": True})):
        table = their_ids(side, vocabulary, tokenizer.pad_token_id)
        for text in TEXTS:
            expected = tokenizer(text_target=text) if tables else tokenizer(text)
            assert table[side.encode(text)].tolist() == expected.input_ids[:-1]
