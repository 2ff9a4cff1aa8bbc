"""M2M100, NLLB and mBART-50 with weights at random: the same ids, logits, words and scores."""

import json
import shutil

import ctranslate2
import pytest
import torch
import transformers
from transformers.models.nllb import tokenization_nllb as nllb
from typer.testing import CliRunner

import dhyan
from benchmarks.import_parity import trained_tokenizers
from dhyan.batch import Batch, Tokens
from dhyan.cli import app
from dhyan.interop.export_ctranslate2 import export_ctranslate2
from dhyan.interop.import_model import import_model
from dhyan.special_tokens import BOS, EOS, NAMES, PAD, UNK
from dhyan.text.language_tokens import M2M100, code_of, find_language
from dhyan.text.languages import LANGUAGE_NAMES
from dhyan.text.tokenizer import Tokenizer
from tests.interop.multilingual_models import (
    LISTED,
    MULTILINGUAL,
    multilingual_folder,
)
from tests.interop.spm_models import SENTENCES, SHAPES, marian_folder
from tests.interop.test_sentencepiece import REAL

M2M100_TOKENS = [f"__{code}__" for code in M2M100]

LIMIT = 24
TEXTS = [text for text in SENTENCES if text.strip(" ▁") and "</s>" not in text]
OTHERWISE = (
    " ",
    "▁",
    "\t",
    "  ",
    "\u1100",
)  # of NLLB and mBART-50, whose `tokenizers` differs there


def is_cut_alike(text, tokenizer):
    """Whether their tokenizer is SentencePiece, or does the same with a text."""
    if isinstance(tokenizer, transformers.M2M100Tokenizer):
        return True
    return not (
        text.startswith(OTHERWISE) or text.endswith(" ") or any(map(text.count, OTHERWISE[1:]))
    )


@pytest.fixture(scope="module", params=MULTILINGUAL)
def models(request, tmp_path_factory):
    """Theirs, their tokenizer, and ours."""
    folder = tmp_path_factory.mktemp("multilingual") / "theirs"
    theirs, tokenizer = multilingual_folder(folder, **MULTILINGUAL[request.param])
    import_model(folder, folder.with_name("ours"), languages=("en", "hi"))
    return theirs, tokenizer, dhyan.load(folder.with_name("ours"), device="cpu")


def their_ids(theirs, tokenizer, ours):
    """Their id for each of ours."""
    special = {PAD: 1, BOS: 2, EOS: 2, UNK: 3}
    ids = {tokenizer.convert_ids_to_tokens(id): id for id in range(4, theirs.config.vocab_size)}
    if "__hi__" in ours.languages:
        ids |= {f"__{code}__": tokenizer.get_lang_id(code) for code in M2M100}
    ids |= {
        piece: theirs.config.vocab_size - 3 + int(piece[-4:])
        for piece in ours.piece_ids()
        if piece.startswith("madeupword")
    }
    renamed = {"⟨<s>⟩": 0}
    pieces = enumerate(ours.piece_ids())
    return torch.tensor(
        [
            special[id] if id < len(NAMES) else renamed.get(piece, ids.get(piece, -1))
            for id, piece in pieces
        ]
    )


def test_ids_are_those_of_their_tokenizer(models):
    theirs, tokenizer, ours = models
    table = their_ids(theirs, tokenizer, ours.source)
    assert table.min() >= 0
    texts = [text for text in TEXTS if is_cut_alike(text, tokenizer)]
    assert len(texts) >= 10
    for text in texts:
        assert table[ours.source.encode(text)].tolist() == tokenizer(text).input_ids[:-1], text
        expected = tokenizer(text_target=text).input_ids[:-1]
        assert table[ours.target.encode(text)].tolist() == expected, text


def test_logits_are_equal_over_the_whole_vocabulary(models):
    theirs, tokenizer, ours = models
    table = their_ids(theirs, tokenizer, ours.source)
    sources = Tokens.pad([[*ours.source.encode(text), EOS] for text in TEXTS])
    targets = Tokens.pad([[BOS, *ours.target.encode(text), EOS] for text in reversed(TEXTS)])
    with torch.no_grad():
        our_logits = ours.model(Batch(sources, targets)).log_softmax(-1)
        their_logits = theirs(
            input_ids=table[sources.ids],
            attention_mask=sources.mask,
            decoder_input_ids=table[targets.ids[:, :-1]],
        ).logits.log_softmax(-1)
    real = targets.mask[:, :-1]
    difference = (our_logits - their_logits[:, :, table])[real]
    assert difference[:, EOS:].abs().max() <= 5e-4
    assert our_logits[real][:, BOS].max() < -50  # the beginning is never said again
    assert our_logits[real][:, EOS:].std() > 1  # logits with something in them


@pytest.mark.parametrize("power", [0.6, 1.0])
def test_a_beam_of_four_finds_their_words_and_scores(models, power):
    """The language is forced, and costs nothing, in both. Compared where theirs ended in time."""
    theirs, tokenizer, ours = models
    table = their_ids(theirs, tokenizer, ours.source)
    languages = {int(table[ours.target.piece_ids()[token]]) for token in ours.target.languages}
    sources = [[*ours.source.encode(text), EOS] for text in TEXTS]
    padded = Tokens.pad(sources)
    generation = theirs.generate(
        input_ids=table[padded.ids], attention_mask=padded.mask, num_beams=4,
        max_new_tokens=LIMIT, length_penalty=power, do_sample=False, bad_words_ids=[[1]],
        forced_bos_token_id=int(table[ours.target.language_prefix[0]]),
        return_dict_in_generate=True, output_scores=True,
    )  # fmt: skip
    translations = ours.translate(TEXTS, beam=4, max_length=LIMIT, length_penalty=power)
    compared = 0
    for translation, row, score in zip(
        translations,
        generation.sequences[:, 1:].tolist(),
        generation.sequences_scores.tolist(),
        strict=True,
    ):
        if 2 in row:  # their EOS
            assert [*table[list(translation.ids)].tolist(), 2] == row[: row.index(2) + 1]
            assert translation.score == pytest.approx(score, abs=2e-4)
            words = [id for id in row if id not in languages]  # which some of theirs would show
            text = tokenizer.decode(words, skip_special_tokens=True)
            assert UNK in translation.ids or translation.text == " ".join(text.split())
            compared += 1
    assert compared >= 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of NLLB."""
    folder = tmp_path_factory.mktemp("nllb") / "theirs"
    multilingual_folder(folder, **MULTILINGUAL["nllb"])
    return folder


def test_languages_are_named_by_code_or_by_token(folder, tmp_path):
    for at, (named, tokens) in enumerate(
        {
            ("en", "hi"): ("eng_Latn", "hin_Deva"),
            ("hin", "fr"): ("hin_Deva", "fra_Latn"),
            ("eng_Latn", "zho_Hant"): ("eng_Latn", "zho_Hant"),
        }.items()
    ):
        model = import_model(folder, tmp_path / str(at), languages=named)
        sides = (model.source, model.target)
        assert tuple(side.pieces(side.language_prefix)[0] for side in sides) == tokens
        assert model.recipe.data.target_language == code_of(tokens[1])


def test_one_import_translates_between_any_of_its_languages(folder, tmp_path):
    """In Python and on the command line, like an import of that pair; others have one pair."""
    import_model(folder, tmp_path / "en-hi", languages=("en", "hi"))
    import_model(folder, tmp_path / "fr-bn", languages=("fr", "bn"))
    expected = dhyan.load(tmp_path / "fr-bn", device="cpu").translate("The lamp.", max_length=9)
    ours = dhyan.load(tmp_path / "en-hi", device="cpu")
    found = ours.in_languages("fr", "ben_Beng").translate("The lamp.", max_length=9)
    assert (found.ids, found.score) == (expected.ids, expected.score)
    assert ours.in_languages(target="fr").source_language == "en"
    assert ours.in_languages("hi").translate("The lamp.").ids[:1] == ours.target.language_prefix
    arguments = ["translate", str(tmp_path / "en-hi"), "--source-language", "fr", "--threads", "1"]
    invocation = CliRunner().invoke(
        app, [*arguments, "--target-language", "bn", "--max-length", "9"], input="The lamp.\n"
    )
    assert invocation.stdout == f"{expected.text}\n"
    with pytest.raises(dhyan.UserError, match=r"the model: has no language 'xx'; it has bn, en"):
        ours.in_languages("en", "xx")
    marian_folder(tmp_path / "marian", **SHAPES["square"])
    with pytest.raises(dhyan.UserError, match=r"no language tokens: it only translates en into hi"):
        dhyan.load(tmp_path / "marian", device="cpu").in_languages("hi", "en")


@pytest.mark.parametrize(
    ("languages", "match"),
    [
        (
            ("", "hi"),
            r"is a multilingual model; import it with a source and a target .*it has bn, en, fr",
        ),
        (
            ("en", "zh"),
            r"has zho_Hans, zho_Hant for 'zh'; name one of them, as in target_language=",
        ),
        (("en", "xx"), r"has no language 'xx'; it has bn, en, fr, hi, zh"),
    ],
)
def test_a_language_that_is_missing_or_unclear_is_asked_for(folder, tmp_path, languages, match):
    theirs = shutil.copytree(folder, tmp_path / "theirs")
    path = theirs / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps(settings | {"src_lang": None, "tgt_lang": None}))
    with pytest.raises(dhyan.UserError, match=match):
        import_model(theirs, tmp_path / "ours", languages=languages)
    assert not (tmp_path / "ours").exists()


def test_every_language_of_the_models_has_a_code():
    """Those that ISO 639-1 has are known by it, whatever the model calls them."""
    known = {kind: {code_of(token) for token in tokens} & set(LANGUAGE_NAMES) for kind, tokens in (
        ("m2m100", M2M100), ("nllb", nllb.FAIRSEQ_LANGUAGE_CODES), ("mbart50", LISTED["mbart50"]),
    )}  # fmt: skip
    assert len(M2M100) == len(known["m2m100"]) + len({"ast", "ceb", "ilo", "ns"})
    assert known["mbart50"] == {token[:2] for token in LISTED["mbart50"]}
    every = set().union(*known.values())
    assert known["nllb"] >= every - {"br", "fy", "no"}
    assert find_language("hi", M2M100_TOKENS, place="", side="target") == "__hi__"


def test_a_text_does_not_spell_a_language_and_a_phrase_has_none(folder, tmp_path):
    import_model(folder, tmp_path / "ours", languages=("en", "hi"))
    ours = dhyan.load(tmp_path / "ours", device="cpu")
    [language] = ours.source.language_prefix
    ids = ours.source.encode("hin_Deva eng_Latn The lamp")
    assert (ids[0], ids.count(language)) == (language, 1)
    assert ours.source.encode("The lamp", within=True) == ours.source.encode("The lamp")[1:]
    assert ours.source.encode("") == ours.source.encode(" ") == []
    words = ours.source.words(ours.source.encode("The lamp"), "The lamp")
    assert [word.text for word in words] == ["eng_Latn", "The", "lamp"]
    hindi = ours.source.in_language("hin_Deva")
    assert hindi.encode("The lamp")[1:] == ours.source.encode("The lamp")[1:]
    assert hindi.decode(hindi.encode("The lamp")) == "The lamp"
    assert hindi.to_json() == Tokenizer.from_json(hindi.to_json()).to_json()
    with pytest.raises(ValueError, match="'xx' is none of ben_Beng"):
        hindi.in_language("xx")


def test_prefixes_and_glossaries_work_beside_the_language(folder, tmp_path):
    import_model(folder, tmp_path / "ours", languages=("en", "hi"))
    ours = dhyan.load(tmp_path / "ours", device="cpu")
    language = ours.target.language_prefix
    best = ours.translate("The lamp is old.", prefixes="बच्चे सो", max_length=20)
    assert best.text.startswith("बच्चे सो")
    assert best.ids[:1] == language
    best = ours.translate("The lamp is old.", glossary={"lamp": "कहानी"}, beam=8, max_length=30)
    assert not best.missing_terms
    assert "कहानी" in best.text
    assert best.ids.count(*language) == 1
    assert all("hin_Deva" not in word for word, _ in best.word_probs)
    best = ours.translate("The lamp is old.", sample=True, seed=3, max_length=9)
    assert best.ids[:1] == language
    maps = dhyan.explain(ours, "The lamp is old.")
    assert maps[0].source[0] == "eng_Latn"
    assert "hin_Deva" in maps[-1].target


def test_an_imported_model_is_fine_tuned_with_its_languages(folder, tmp_path):
    import_model(folder, tmp_path / "ours", languages=("en", "hi"))
    pairs = [(SENTENCES[0], SENTENCES[2]), (SENTENCES[1], SENTENCES[3])] * 4
    dhyan.train(
        pairs,
        tmp_path / "ours" / "recipe.toml",
        out=tmp_path / "run",
        settings={
            "training.init_from": str(tmp_path / "ours"),
            "training.steps": 2,
            "training.valid_sentences": 0,
        },
    )
    tuned = dhyan.load(tmp_path / "run", device="cpu")
    assert tuned.target.pieces(tuned.target.language_prefix) == ["hin_Deva"]
    assert tuned.translate("The lamp is old.", max_length=8).ids[:1] == tuned.target.language_prefix


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason=f"needs {REAL.parent}, which is not there")
def test_ids_on_ten_thousand_sentences_are_those_of_their_tokenizers(tmp_path):
    rows = list(trained_tokenizers(tmp_path))
    assert [row["equal_ids"] for row in rows] == [row["sentences"] for row in rows]
    assert min(row["sentences"] for row in rows) >= 10_000


def test_an_export_to_ctranslate2_takes_the_language_as_prefix(folder, tmp_path):
    import_model(folder, tmp_path / "ours", languages=("en", "hi"))
    export_ctranslate2(tmp_path / "ours", tmp_path / "ct2")
    ours = dhyan.load(tmp_path / "ours", device="cpu")
    pieces = list(ours.source.piece_ids())
    theirs = ctranslate2.Translator(
        str(tmp_path / "ct2"), compute_type="float32", intra_threads=1
    ).translate_batch(
        [[pieces[id] for id in ours.source.encode(text)] for text in TEXTS],
        target_prefix=[["hin_Deva"]] * len(TEXTS), beam_size=1, max_decoding_length=20,
        min_decoding_length=0,
    )  # fmt: skip
    found = ours.translate(TEXTS, beam=1, max_length=20)
    assert [[pieces[id] for id in best.ids] for best in found] == [
        result.hypotheses[0] for result in theirs
    ]
