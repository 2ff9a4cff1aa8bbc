"""Transformers exported for Hugging Face: `transformers` loads them and finds our translations."""

import json
import random

import pytest
import sentencepiece
import torch
import transformers
from tokenizers import Tokenizer as Backend

import dhyan
from dhyan.batch import Batch, Tokens
from dhyan.errors import UserError
from dhyan.interop.export_huggingface import export_huggingface
from dhyan.interop.import_model import import_model
from dhyan.interop.joint_tokenizer import joint_tokenizer
from dhyan.pretrained.everyday_sentences import EVERYDAY_SENTENCES
from dhyan.special_tokens import BOS, EOS
from dhyan.text.sentencepiece_file import SentencePieceFile
from dhyan.text.tokenizer import Tokenizer
from tests import tiny_models
from tests.interop.random_models import TEXTS, random_model
from tests.interop.spm_models import SENTENCES, SHAPES, marian_folder, sentencepiece_model
from tests.plain_search import in_pytorch

POST, LEARNED = {"norm": "post"}, {"positions": "learned"}
MARIAN = {**POST, "activation": "silu", "sinusoids": "halves", "scale_embedding": False}
FAMILY = {
    "pegasus": ({}, {}),
    "pegasus-shared": ({"layers": 3}, {"share_source_embedding": True, "heads": 2}),
    "pegasus-halves": ({"sinusoids": "halves"}, {"sinusoids": "halves"}),
    "marian": (MARIAN, {**MARIAN, "layers": 1}),
    "marian-untied": (
        {**POST, "activation": "gelu"}, {**POST, "activation": "gelu", "tie_embeddings": False},
    ),
    "blenderbot": ({**LEARNED, "reads_eos": False}, {**LEARNED, "feed_forward_width": 16}),
    "blenderbot-tensor2tensor": ({"sinusoids": "tensor2tensor"}, {"positions": "none"}),
}  # fmt: skip


def load_theirs(folder):
    """The model and its tokenizer, saved once more by transformers and loaded from there."""
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for part in (model, tokenizer):
        part.save_pretrained(folder / "again")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder / "again").eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder / "again")


def check_equal(ours, folder, texts):
    """Greedy translations and the probabilities of every step are ours."""
    model, tokenizer = load_theirs(folder)
    encoded = tokenizer(texts, return_tensors="pt", padding=True)
    ids = model.generate(**encoded, num_beams=1, max_new_tokens=12)
    translations = ours.translate(texts, beam=1, max_length=12)
    first = model.config.vocab_size - len(ours.target)
    for row, translation in zip((ids[:, 1:] - first).tolist(), translations, strict=True):
        assert (*row, EOS)[: (*row, EOS).index(EOS)] == translation.ids
    assert len({translation.ids for translation in translations}) >= 2
    sources = [ours.encode(text) for text in texts]
    targets = [[BOS, *translation.ids, EOS] for translation in translations]
    batch = Batch(Tokens.pad(sources), Tokens.pad(targets))
    with torch.inference_mode():
        logits = model(**encoded, decoder_input_ids=batch.inputs.ids + first).logits
        expected = ours.model(batch).log_softmax(-1)
    logprobs = logits.log_softmax(-1)[..., first:]
    assert torch.allclose(logprobs[batch.inputs.mask], expected[batch.inputs.mask], atol=2e-4)
    assert float(logits.softmax(-1)[..., :first].sum()) == 0  # no token of the source
    return model


@pytest.mark.parametrize("name", FAMILY)
def test_words_and_probabilities_are_ours(name, tmp_path):
    ours = random_model(tmp_path / "ours", name, family=FAMILY)
    export_huggingface(tmp_path / "ours", tmp_path / "theirs")
    model = check_equal(ours, tmp_path / "theirs", TEXTS)
    assert model.config.model_type == name.split("-")[0]


@pytest.mark.parametrize("kind", ["unigram", "words", "characters"])
def test_every_kind_of_tokenizer_is_written(kind, tmp_path):
    ours = random_model(tmp_path / "ours", "pegasus", family=FAMILY, kind=kind)
    export_huggingface(tmp_path / "ours", tmp_path / "theirs")
    check_equal(ours, tmp_path / "theirs", TEXTS)


@pytest.mark.parametrize("name", SHAPES)
def test_an_imported_marian_model_goes_back_with_its_sentencepiece_models(name, tmp_path):
    marian_folder(tmp_path / "first", **SHAPES[name])
    import_model(tmp_path / "first", tmp_path / "ours", languages=("en", "hi"))
    export_huggingface(tmp_path / "ours", tmp_path / "theirs")
    texts = [text for text in TEXTS if "</s>" not in text]  # there, texts can spell it
    model = check_equal(dhyan.load(tmp_path / "ours", device="cpu"), tmp_path / "theirs", texts)
    assert model.config.model_type == "marian"
    import_model(tmp_path / "theirs", tmp_path / "back", languages=("en", "hi"))
    ours, back = (dhyan.load(tmp_path / folder, device="cpu") for folder in ("ours", "back"))
    assert [t.ids for t in back.translate(texts, beam=2, max_length=9)] == [
        t.ids for t in ours.translate(texts, beam=2, max_length=9)
    ]


@pytest.mark.parametrize("algorithm", ["unigram", "bpe"])
def test_a_sentencepiece_model_that_is_written_cuts_as_the_one_that_was_read(algorithm):
    data = sentencepiece_model(algorithm)
    file = SentencePieceFile.from_bytes(data)
    assert SentencePieceFile.from_bytes(file.to_bytes()) == file
    library, again = (
        sentencepiece.SentencePieceProcessor(model_proto=proto) for proto in (data, file.to_bytes())
    )
    for text in SENTENCES:
        assert again.encode(text, out_type=str) == library.encode(text, out_type=str)


def test_a_beam_of_a_trained_model_finds_our_translations_and_scores(tmp_path):
    export_huggingface("en-hi", tmp_path / "theirs")
    model, tokenizer = load_theirs(tmp_path / "theirs")
    sentences = list(EVERYDAY_SENTENCES)
    generated = model.generate(
        **tokenizer(sentences, return_tensors="pt", padding=True),
        return_dict_in_generate=True, output_scores=True,
    )  # fmt: skip
    texts = tokenizer.batch_decode(generated.sequences, skip_special_tokens=True)
    translations = in_pytorch(dhyan.load("en-hi")).translate(sentences)
    assert texts == [translation.text for translation in translations]
    scores = [translation.score for translation in translations]
    assert generated.sequences_scores.tolist() == pytest.approx(scores, abs=1e-4)


ALPHABET = [
    *"ab cde'|।॥ \t\n\x0b\x1c\x85\u2028\u3000काखि\u093c़ग\u0929\u0958“”‘▁_éé\u0301\u200b\u200c\u200d",
    *("\u2063", "\ufeff", "</s>", "<unk>", "<0x41>", "\u2063</s>", "||", "| ", '|"', "👩\u200d🚀"),
    *("日本", "ﬁ", "\u1100\u1161", "  "),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["bpe", "unigram", "words", "characters"])
def test_the_written_tokenizer_cuts_and_joins_any_text_as_ours(kind):
    """Normalisation included: it is written as rules that the library runs without us."""
    source = Tokenizer.train(TEXTS * 2, kind=kind, size=400)
    target = Tokenizer.train(TEXTS[1:5], kind=kind, size=330)
    joint = Backend.from_str(joint_tokenizer(source, target, shared=False, reads_eos=True))
    joint.encode_special_tokens = True  # what split_special_tokens sets
    draw = random.Random(7)
    texts = ["".join(draw.choices(ALPHABET, k=draw.randint(1, 25))) for _ in range(2000)]
    for text in texts:
        assert joint.encode(text).ids == [*source.encode(text), EOS]
        ids = target.encode(text)
        theirs = [len(source) + id for id in (1, *ids, EOS)]
        assert joint.decode([*theirs, 0]) == target.decode(ids)


@pytest.mark.parametrize(
    ("encoder", "decoder", "match"),
    [
        ({}, {"positions": "rotary"}, "no decoder.positions = rotary; ONNX has: --to onnx"),
        ({"activation": "swiglu"}, {}, "no encoder.activation = swiglu; ONNX has"),
        (POST, {}, "no decoder.norm = pre, where encoder.norm = post; ONNX has"),
        ({**POST, **LEARNED}, POST, "no encoder.positions = learned with encoder.norm = post"),
        (POST, {**POST, "positions": "none"}, "no decoder.positions = none with decoder.norm"),
    ],
)
def test_settings_that_no_architecture_has_are_named_with_the_format_that_has(
    encoder, decoder, match, tmp_path
):
    random_model(tmp_path / "ours", "changed", family={"changed": (encoder, decoder)})
    with pytest.raises(UserError, match=match):
        export_huggingface(tmp_path / "ours", tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()


def test_the_command_writes_the_card_and_refuses_recurrent_models(tmp_path):
    export = ["export", "--to", "huggingface"]
    refused = tiny_models.dhyan(*export, "en-hi-luong", "out", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.decode().splitlines() == [
        "dhyan: en-hi-luong: transformers has no encoder.kind = rnn; ONNX has: --to onnx"
    ]
    written = tiny_models.dhyan(*export, "en-hi", "out", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert b"PegasusForConditionalGeneration" in written.stdout
    card = (tmp_path / "out" / "README.md").read_text()
    pretrained = dhyan.pretrained.card_of("en-hi")
    assert f"| BLEU | {pretrained.scores['bleu'].value:.2f} |" in card
    assert all(text.licence in card for text in pretrained.data)
    assert 'language: ["en", "hi"]' in card
    assert json.loads((tmp_path / "out" / "config.json").read_text())["model_type"] == "pegasus"
