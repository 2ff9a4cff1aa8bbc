"""Maps of every attention, over the words a person reads."""

import threading

import pytest
import torch

import dhyan
from dhyan.attention_maps import watch
from dhyan.batch import Batch, Tokens
from dhyan.config import DecodingOptions
from dhyan.decoding.translator import Translation, Translator
from dhyan.insight.explain import cross_maps, explain_translation
from dhyan.models.build import build_model
from dhyan.text.tokenizer import Tokenizer
from tests.laws.family import DECODERS, ENCODERS, MODELS

ENGLISH = ["the big cats are sleeping on the mat", "a dog sees the cat", "cats see mats"]
HINDI = ["बड़ी बिल्लियाँ चटाई पर सो रही हैं ।", "कुत्ता बिल्ली को देखता है ।"]


def translator_of(kind, pieces="unigram"):
    torch.manual_seed(0)
    decoder = DECODERS[kind[1]]
    shared = decoder.copy_mechanism or decoder.share_source_embedding
    learned = [[*ENGLISH, *HINDI]] * 2 if shared else [ENGLISH, HINDI]
    source = Tokenizer.train(learned[0], kind=pieces, size=340 if shared else 300)
    target = Tokenizer.train(learned[1], kind=pieces, size=340 if shared else 330)
    recipe = dhyan.config.Recipe(
        encoder=ENCODERS[kind[0]],
        decoder=decoder,
        data=dhyan.config.Data(max_tokens=40),
        text=dhyan.config.Text(shared_vocabulary=shared),
    )
    model = build_model(recipe, len(source), len(target)).eval()
    return Translator(model, source, target, options=DecodingOptions(max_length=9, beam=3))


@pytest.mark.parametrize("kind", MODELS, ids="+".join)
def test_every_attention_has_a_map_with_normalised_rows(kind):
    translator = translator_of(kind)
    maps = dhyan.explain(translator, ENGLISH[0])
    names = {n for n, _ in translator.model.named_modules() if n.endswith("attention")}
    assert {m.name for m in maps} == names
    for attention_map in maps:
        assert attention_map.weights.shape[1:] == (
            len(attention_map.target),
            len(attention_map.source),
        )
        total = attention_map.weights.sum(-1)
        if "predicted" in kind[1]:
            assert (total <= 1 + 1e-5).all()
            assert (total < 0.99).any()
        else:
            torch.testing.assert_close(total, torch.ones_like(total))


def test_rows_are_labelled_by_queries_and_columns_by_keys():
    translator = translator_of(("transformer", "transformer"))
    translation = Translation("", 0.0, True, tuple(translator.target.encode(HINDI[1])))
    maps = {m.name: m for m in explain_translation(translator, ENGLISH[1], translation)}
    source_words = ("a", "dog", "sees", "the", "cat", "</s>")
    spoken = ("कुत्ता", "बिल्ली", "को", "देखता", "है", "।")
    encoder = maps["encoder.layers.0.self_attention"]
    assert (encoder.source, encoder.target) == (source_words, source_words)
    cross = maps["decoder.layers.1.cross_attention"]
    assert (cross.source, cross.target) == (source_words, (*spoken, "</s>"))
    past = maps["decoder.layers.0.self_attention"]
    assert (past.source, past.target) == (("<s>", *spoken), ("<s>", *spoken))
    assert (past.weights.triu(1) == 0).all()
    assert [m.name for m in cross_maps(list(maps.values()))] == [
        "decoder.layers.0.cross_attention",
        "decoder.layers.1.cross_attention",
    ]


def test_weights_of_tokens_are_merged_to_words():
    translator = translator_of(("gru", "bahdanau-additive"))
    translation = Translation("", 0.0, True, tuple(translator.target.encode(HINDI[0])))
    [full_map] = explain_translation(translator, ENGLISH[0], translation)
    [pieces] = explain_translation(translator, ENGLISH[0], translation, words=False)
    assert len(pieces.source) > len(full_map.source)
    columns = translator.source.words(translator.encode(ENGLISH[0]))
    rows = translator.target.words([*translation.ids, 2])
    for r, row in enumerate(rows):
        for c, column in enumerate(columns):
            block = pieces.weights[:, row.first : row.last, column.first : column.last]
            torch.testing.assert_close(full_map.weights[:, r, c], block.sum(-1).mean(-1))


@pytest.mark.parametrize("words", [True, False])
def test_an_unknown_word_is_labelled_with_its_text(words):
    translator = translator_of(("gru", "luong-dot"), pieces="words")
    [only] = dhyan.explain(translator, "a Zebra, sees  naïve cats", words=words)
    assert only.source == ("a", "Zebra", ",", "sees", "naïve", "cats", "</s>")


def test_unknown_characters_stay_in_their_word():
    translator = translator_of(("gru", "luong-dot"), pieces="characters")
    text = "खाट cat zqx क\u200dष"
    [words] = dhyan.explain(translator, text)
    assert words.source == ("खाट", "cat", "zqx", "क\u200dष", "</s>")
    [pieces] = dhyan.explain(translator, text, words=False)
    assert pieces.source[:4] == ("▁", "ख", "◌ा", "ट")
    assert "⟨ZWJ⟩" in pieces.source


def test_the_bottleneck_is_one_bright_column():
    for kind, column in ((("gru", "luong-bottleneck"), -1), (("backwards-lstm",) * 2, 0)):
        encoder, decoder = kind if kind[1].startswith("luong") else (kind[0], "luong-bottleneck")
        [only] = dhyan.explain(translator_of((encoder, decoder)), ENGLISH[0])
        assert (only.weights[..., column] == 1).all()


def test_a_translation_that_was_cut_off_has_no_eos():
    translator = translator_of(("gru", "luong-general"))
    translation = Translation("", 0.0, False, tuple(translator.target.encode(HINDI[1])))
    [only] = explain_translation(translator, ENGLISH[1], translation)
    assert only.target[-1] == "।"


def test_maps_do_not_depend_on_the_search():
    translator = translator_of(("bi-lstm", "luong-general"))
    [translation] = translator(ENGLISH[0], beam=3)
    [again] = explain_translation(translator, ENGLISH[0], translation)
    [explained_map] = dhyan.explain(translator, ENGLISH[0], beam=3)
    assert torch.equal(again.weights, explained_map.weights)


def test_two_models_can_be_watched_at_the_same_time():
    model, other = (
        translator_of(k).model for k in (("gru", "luong-dot"), ("gru", "luong-general"))
    )
    batch = Batch(Tokens.pad([[5, 6, 2]]), Tokens.pad([[1, 7, 2]]))
    with watch(model) as first, watch(other) as second:
        model(batch)
        other(batch)
    [[one_map], [other_map]] = first.weights(), second.weights()
    assert one_map.name == other_map.name == "decoder.attention"


def test_explaining_leaves_a_model_in_training(monkeypatch):
    translator = translator_of(("gru", "luong-dot"))
    translator.model.train()
    dhyan.explain(translator, ENGLISH[0])
    assert translator.model.training


def test_threads_record_only_their_own_attention():
    translator = translator_of(("transformer", "transformer"))
    alone = {s: dhyan.explain(translator, s) for s in ENGLISH}
    results, plain = {}, translator(ENGLISH)

    def work(sentence):
        results[sentence] = [dhyan.explain(translator, sentence) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(s,)) for s in ENGLISH]
    for thread in threads:
        thread.start()
    runs = [translator(ENGLISH) for _ in range(5)]
    for thread in threads:
        thread.join()
    assert all([t.text for t in run] == [t.text for t in plain] for run in runs)
    for sentence, runs in results.items():
        for maps in runs:
            for ours, theirs in zip(maps, alone[sentence], strict=True):
                torch.testing.assert_close(ours.weights, theirs.weights)
