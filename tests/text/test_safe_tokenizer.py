"""Tokenizer files: those of this package are accepted, others are refused."""

import json

import pytest

from dhyan.errors import UserError
from dhyan.text.safe_tokenizer import MAX_PIECES, count_pieces
from dhyan.text.tokenizer import KINDS, Tokenizer
from tests.model_check.valid_model import SENTENCES, tokenizer


@pytest.mark.parametrize("kind", KINDS)
def test_our_own_tokenizers_are_accepted(kind):
    trained = tokenizer(kind, 400)
    assert count_pieces(trained.to_json()) == len(trained)
    extended = trained.extended(["quite other words, नए शब्द"], 450)
    assert count_pieces(extended.to_json()) == len(extended)
    assert Tokenizer.from_json(extended.to_json()).to_json() == extended.to_json()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_tokenizer_is_saved_and_loaded(kind):
    odd = ["a" * 5000, "🇮🇳👩\u200d🚀", "क्‍ष" * 40, '"[{,]}"', "\\", "<pad> <unk> <0x41>"]
    trained = Tokenizer.train(odd * 3, kind=kind, size=400)
    assert Tokenizer.from_json(trained.to_json()).encode(odd[0]) == trained.encode(odd[0])


def test_fields_missing_in_older_library_versions_are_accepted():
    table = json.loads(tokenizer("bpe").to_json())
    for key in ("ignore_merges", "dropout", "fuse_unk"):
        del table["model"][key]
    assert count_pieces(json.dumps(table)) == len(tokenizer("bpe"))


def test_fields_of_newer_library_versions_are_refused():
    table = json.loads(tokenizer("bpe").to_json())
    table["model"]["code"] = False
    with pytest.raises(UserError, match="model settings differ"):
        count_pieces(json.dumps(table))


def test_a_tokenizer_over_the_size_limit_is_not_trained():
    with pytest.raises(UserError, match=f"at most {MAX_PIECES}"):
        Tokenizer.train(SENTENCES, kind="words", size=MAX_PIECES + 1)
