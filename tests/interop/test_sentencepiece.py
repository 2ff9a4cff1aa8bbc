"""SentencePiece models read from their files: the ids are those of the `sentencepiece` package."""

import json
import lzma
import os
from itertools import islice
from pathlib import Path

import pytest
import sentencepiece

from dhyan.config import load_recipe
from dhyan.data.encode import train_codecs
from dhyan.errors import UserError
from dhyan.special_tokens import NAMES, UNK
from dhyan.text.safe_tokenizer import count_pieces
from dhyan.text.sentencepiece import SentencePiece
from dhyan.text.sentencepiece_file import SentencePieceFile
from dhyan.text.tokenizer import Tokenizer
from tests.interop.spm_models import SENTENCES, pieces_of, sentencepiece_model

DATA = Path(os.environ.get("DHYAN_DATA", Path(__file__).parents[3] / "shared" / "data"))
REAL = DATA / "real-models" / "opus-mt-en-hi-text"
CORPORA = {  # multilingual sentences: this many of each folder
    "tatoeba-en-hi-large": 1500,
    "tatoeba-en-de": 1000,
    "tatoeba-en-fr": 1000,
    "tatoeba-en-vi": 1000,
    "xnli-5way": 2000,
    "iwslt15-en-vi": 1000,
    "bible-en-hi": 1000,
    "wmt14-en-de": 1000,
    "dakshina-hi-transliteration": 600,
    "flores-systems-en-hi": 900,
}
MODELS = {
    "unigram": {},
    "bpe": {},
    "unigram-identity": {"normalization_rule_name": "identity"},
    "unigram-no-prefix": {"add_dummy_prefix": False},
    "unigram-keeps-spaces": {"remove_extra_whitespaces": False},
    "bpe-nfkc-cf": {"normalization_rule_name": "nmt_nfkc_cf"},
}


@pytest.fixture(scope="module", params=MODELS)
def models(request):
    """Theirs and ours, with a vocabulary that has every piece."""
    data = sentencepiece_model(request.param.split("-")[0], **MODELS[request.param])
    file = SentencePieceFile.from_bytes(data)
    ours = Tokenizer(SentencePiece.from_file(file, [*NAMES, *pieces_of(data)]))
    return sentencepiece.SentencePieceProcessor(model_proto=data), ours


def their_pieces(theirs, known, text):
    return [piece if piece in known else NAMES[UNK] for piece in theirs.encode(text, out_type=str)]


def test_pieces_are_those_of_sentencepiece(models):
    theirs, ours = models
    pieces = list(ours.piece_ids())
    for text in [*SENTENCES, *(f"  {text}\n{text} " for text in SENTENCES)]:
        found = [pieces[id] for id in ours.encode(text)]
        assert found == their_pieces(theirs, pieces[len(NAMES) :], text), text


def test_a_saved_tokenizer_is_the_same(models):
    _, ours = models
    text = ours.to_json()
    again = Tokenizer.from_json(text)
    assert count_pieces(text) == len(again) == len(ours)
    assert again.to_json() == text
    assert again.encode_batch(SENTENCES) == ours.encode_batch(SENTENCES)
    assert again.kind == "sentencepiece"


def test_decoding_gives_the_normalised_text_back(models):
    _, ours = models
    for text in SENTENCES[:2]:
        ids = ours.encode(text)
        normalized = ours.normalize(text)
        assert UNK in ids or ours.decode(ids) == " ".join(normalized.split())


def test_spans_cover_the_normalised_text(models):
    _, ours = models
    for text in SENTENCES:
        spans = ours.offsets(text)
        assert len(spans) == len(ours.encode(text))
        if spans:
            assert spans[-1][1] == len(ours.normalize(text))
            assert "".join(word.text for word in ours.words(ours.encode(text), text))


def test_no_text_spells_a_special_token_or_an_invisible_one(models):
    _, ours = models
    for text in ("</s>", "<s>", "<pad> <unk>", " <unk>", "\x1b[31m", "\ud800"):
        assert all(id >= UNK for id in ours.encode(text))
    hidden = Tokenizer(SentencePiece("unigram", {"\x1b": 0.0}, [*NAMES, "\x1b", "a\nb"]))
    assert hidden.decode([4, 5]) == "a b"


def test_a_sentencepiece_vocabulary_is_neither_extended_nor_trained(models):
    _, ours = models
    with pytest.raises(UserError, match="cannot be extended"):
        ours.extended(["new words"], 10_000)
    with pytest.raises(UserError, match=r"text\.tokenizer: .*comes with an imported model"):
        train_codecs(load_recipe("numbers", {"text.tokenizer": "sentencepiece"}), [])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda table: table["vocabulary"].reverse(), "ids must begin with"),
        (lambda table: table["vocabulary"].append("a" * 200), "is no token of 1 to"),
        (lambda table: table["vocabulary"].append(table["vocabulary"][-1]), "comes twice"),
        (lambda table: table["model"]["vocab"].append(["</s>", 0.0]), "special token"),
        (lambda table: table["model"]["vocab"].append(["a b", 0.0]), "has a space"),
        (lambda table: table["model"]["vocab"].append(["new"]), "no piece with a score"),
        (lambda table: table["model"]["vocab"].append(["new", 10**400]), "no piece with a score"),
        (lambda table: table["model"].update(type="evil"), "model is of type 'evil'"),
        (lambda table: table.update(code="1"), "its settings differ"),
        (lambda table: table.update(charsmap="%"), "not in base64"),
        (lambda table: table.update(charsmap="////////"), "trie does not fit"),
        (lambda table: table.update(dummy_prefix="yes"), "model is of type"),
    ],
)
def test_a_changed_tokenizer_file_is_refused(change, match):
    data = sentencepiece_model("unigram")
    file = SentencePieceFile.from_bytes(data)
    table = json.loads(SentencePiece.from_file(file, [*NAMES, *pieces_of(data)]).to_json())
    change(table)
    with pytest.raises(UserError, match=match):
        count_pieces(json.dumps(table))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"model_type": "word"}, "its type is word; unigram and bpe are read"),
        ({"user_defined_symbols": ["<hin>"]}, "'<hin>' is user-defined"),
        ({"byte_fallback": True}, "is byte; only normal ones"),
        ({"treat_whitespace_as_suffix": True}, "treats spaces as suffixes"),
    ],
)
def test_what_a_model_asks_for_beyond_that_is_refused_by_name(settings, match):
    algorithm = settings.pop("model_type", "unigram")
    data = sentencepiece_model.__wrapped__(algorithm, size=420, **settings)
    with pytest.raises(UserError, match=match):
        SentencePieceFile.from_bytes(data)


def sentences():
    for corpus, count in CORPORA.items():
        files = sorted((DATA / corpus).glob("*.xz"))
        for file in files:
            with lzma.open(file, "rt", encoding="utf-8") as lines:
                yield from (line.rstrip("\n") for line in islice(lines, count // len(files) + 1))


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason=f"needs {REAL}, which is not there")
@pytest.mark.parametrize("side", ["source", "target"])
def test_ids_of_real_models_on_real_sentences_are_those_of_sentencepiece(side):
    texts = list(sentences())
    assert len(texts) >= 10_000
    vocabulary = json.loads((REAL / "vocab.json").read_text())
    tokens = [*NAMES, *(token for token in vocabulary if token not in NAMES)]
    theirs = sentencepiece.SentencePieceProcessor(str(REAL / f"{side}.spm"))
    file = SentencePieceFile.read(REAL / f"{side}.spm")
    ours = Tokenizer(SentencePiece.from_file(file, tokens))
    for text, ids in zip(texts, ours.encode_batch(texts), strict=True):
        assert [tokens[id] for id in ids] == their_pieces(theirs, vocabulary, text), text
