"""The translator: batches, constraints, length bounds, placeholders, paragraphs."""

import math
from dataclasses import replace

import pytest
import torch

from dhyan.config import DecodingOptions, Recipe
from dhyan.decoding.forced_decoding import coverage
from dhyan.decoding.prepare_requests import LengthLimits, Request, TooLong
from dhyan.errors import UserError
from dhyan.insight.explain import cross_maps, explain_translation
from dhyan.models.build import build_model
from dhyan.special_tokens import EOS
from dhyan.text.tokenizer import Tokenizer
from tests.insight.test_explain import ENGLISH, HINDI, translator_of
from tests.laws.family import DECODERS, ENCODERS


@pytest.fixture(scope="module")
def translator():
    return translator_of(("transformer", "transformer"))


@pytest.fixture(scope="module")
def word_translator():
    """A word vocabulary, so that other ids are another text."""
    return translator_of(("transformer", "transformer"), pieces="words")


def test_empty_sentences_stay_empty(translator):
    translation = translator(["", "a dog", "   ", "cats see mats", "\t"])
    assert [bool(result.ids) for result in translation] == [False, True, False, True, False]
    assert translation[0].text == translation[2].text == translation[4].text == ""
    assert all(result.finished for result in (translation[0], translation[2], translation[4]))
    assert translator([]) == []


def test_a_single_sentence_is_a_list_of_one(translator):
    assert translator(ENGLISH[0]) == translator([ENGLISH[0]])


@pytest.mark.parametrize("pair", [("bi-lstm", "bahdanau-additive"), ("transformer", "transformer")])
@pytest.mark.parametrize("beam", [1, 4])
def test_a_translation_does_not_depend_on_its_batch(pair, beam):
    translator = translator_of(pair)
    words = sorted({word for line in ENGLISH for word in line.split()})
    lines = [" ".join(words[i : i + n]) for n in (1, 3, 7) for i in range(len(words) - n)]
    batched = [result.text for result in translator(lines, beam=beam)]
    assert batched == [translator(line, beam=beam)[0].text for line in lines]
    assert batched[::-1] == [result.text for result in translator(lines[::-1], beam=beam)]


def test_runners_up_differ_and_are_sorted(word_translator):
    [best] = word_translator(ENGLISH[0], nbest=4, beam=2)
    all_translations = [best, *best.others]
    assert len(all_translations) == 4
    assert len({result.ids for result in all_translations}) == 4
    finished = [result.score for result in all_translations if result.finished]
    assert finished == sorted(finished, reverse=True)


def test_sentences_that_are_too_long_are_named_by_index(translator):
    narrow = replace(translator, limits=LengthLimits(source=5))
    with pytest.raises(TooLong, match=r"\d+ tokens, but this model takes at most 5") as caught:
        narrow(["a", "cats see mats " * 3, "a", "mats see cats " * 4])
    assert caught.value.index == 1
    assert [other.index for other in caught.value.others] == [3]


def test_progress_is_reported_after_every_batch(translator):
    progress = []
    replace(translator, tokens_per_batch=1)([*ENGLISH, ""], on_progress=progress.append)
    assert progress == list(range(1, len(ENGLISH) + 1))


def max_length(request, limits=None, **options):
    """The maximum length of a request under these limits and options."""
    return request.limited(DecodingOptions(**options), limits or LengthLimits()).max_length


def test_the_maximum_length_follows_the_source_unless_it_is_set():
    ids = (5,) * 10 + (EOS,)
    ten, prefixed = Request(ids, 0, 0), Request(ids, 0, 0, prefix=(7, 8))
    narrow = LengthLimits(target=42)
    assert max_length(ten) == 80
    assert max_length(prefixed) == 82
    assert max_length(ten, min_length=20) == 110
    assert max_length(ten, max_length=600) == 600
    assert max_length(ten, narrow, max_length=600) == 42
    with pytest.raises(UserError, match="min_length 60: this model produces at most 42"):
        max_length(ten, narrow, min_length=60)
    with pytest.raises(UserError, match="a prefix of 2 tokens leaves no room for more within 2"):
        max_length(prefixed, max_length=2)


def test_the_maximum_length_has_room_for_required_terms():
    ids, phrases = (5, 5, EOS), ((8, 9, 6), (6, 7), (9,))
    terms, required = ("a b", "c", "d"), (*phrases, (11,))
    request = Request(ids, 0, 0, prefix=(7, 6, 7), required=required, terms=terms)
    assert max_length(request) == 6 + 50 + 3 + 7
    assert max_length(request, max_length=7) == 7
    for limits, options in ((LengthLimits(), {"max_length": 6}), (LengthLimits(target=6), {})):
        with pytest.raises(UserError, match="a b, c, d: required terms of 6 tokens.* within 6"):
            max_length(request, limits, **options)
    placeholders = Request(ids, 0, 0, required=((8,), (9,)))
    assert max_length(placeholders, max_length=2) == 2


def test_a_long_term_of_a_short_sentence_fits():
    translator = with_bias(translator_of(GRU, "characters"), [EOS])
    term = " ".join(HINDI * 2)
    [translation] = translator("mats", glossary={"mats": term}, beam=4, max_length=0)
    assert len(translation.ids) > 3 * len("mats") + 50
    assert translation.finished
    assert term in translation.text


def test_learned_positions_bound_the_length():
    pair = ("transformer-post-learned", "transformer-post-learned")
    translator = replace(
        translator_of(pair, pieces="words"),
        limits=LengthLimits(source=40, target=42),
        options=DecodingOptions(beam=1),
    )
    [translation] = translator(" ".join(["cats"] * 40))
    assert 0 < len(translation.ids) <= 42
    assert translation.finished or len(translation.ids) == 42


def test_a_model_in_training_stays_in_training(translator):
    translator.model.train()
    translator("a dog")
    assert translator.model.training
    translator.model.eval()


# Every option meets every kind of vocabulary.
PIECES = pytest.mark.parametrize("pieces", ["words", "characters", "bpe", "unigram"])
GRU = ("gru", "bahdanau-additive")


def with_bias(translator, ids, by=6.0):
    """The same translator, with a bias towards these tokens."""
    with torch.no_grad():
        translator.model.decoder.output.bias[list(ids)] += by
    return translator


def translate_paragraphs(translator, texts, *, glossary=None, numbers=None, **changes):
    options = translator.options.changed(**changes)
    return translator.translate_paragraphs(texts, options, glossary=glossary, numbers=numbers)


def words_of(translator, text):
    return [word.text for word in translator.target.words(translator.target.encode(text), text)]


@PIECES
def test_a_translation_begins_with_its_prefix(pieces):
    translator = translator_of(GRU, pieces)
    for beam in (1, 3):
        [translation] = translator(ENGLISH[0], prefixes="बड़ी बिल्लियाँ", beam=beam, max_length=40)
        assert translation.text.startswith("बड़ी बिल्लियाँ")
        assert len(translation.ids) > len(translator.target.encode("बड़ी बिल्लियाँ"))


def test_every_sentence_can_have_its_own_prefix(translator):
    translation = translator(["", *ENGLISH], prefixes=["पर", "", "कुत्ता", "पर"], max_length=40)
    plain = translator(ENGLISH, max_length=40)
    assert translation[0].text == ""
    assert translation[1].ids == plain[0].ids
    assert translation[2].text.startswith("कुत्ता")
    assert translation[3].text.startswith("पर")
    with pytest.raises(UserError, match="1 prefixes for 2 sentences"):
        translator(["a", "b"], prefixes=["पर"])


def test_a_forbidden_prefix_is_an_error(translator):
    for prefixes in ("पर को", ["पर को"]):
        with pytest.raises(UserError, match="'पर' is forbidden, but a prefix is 'पर को'"):
            translator(ENGLISH[0], prefixes=prefixes, forbidden=["है", "पर"])


@PIECES
def test_translations_contain_the_terms_of_the_glossary(pieces):
    translator = with_bias(translator_of(GRU, pieces), [EOS])
    glossary = {"the cat": "चटाई पर", "Dog": "कुत्ता"}
    options = {"beam": 6, "max_length": 60, "nbest": 3}
    first, second, third = translator(ENGLISH, glossary=glossary, **options)
    for result in (second, *second.others):
        assert result.finished
        words = words_of(translator, result.text)
        assert "कुत्ता" in words
        assert ("चटाई", "पर") in zip(words, words[1:], strict=False)
    plain = translator(ENGLISH, **options)
    assert [first.ids, third.ids] == [plain[0].ids, plain[2].ids]


@PIECES
def test_a_required_term_may_repeat_ngrams(pieces):
    translator = with_bias(translator_of(GRU, pieces), [EOS])
    term = "पर चटाई पर"
    [translation] = translator(
        "a dog", glossary={"dog": term}, no_repeat_ngram=1, beam=6, max_length=60
    )
    assert translation.finished
    assert term in translation.text


def test_missing_terms_are_listed():
    translator = translator_of(GRU, "words")
    with_bias(translator, [EOS], by=-20.0)
    glossary = {"a": "कुत्ता", "cat": "बिल्ली को"}
    [translation] = translator("a cat", glossary=glossary, beam=2, nbest=2, max_length=4)
    for result in (translation, *translation.others):
        words = words_of(translator, result.text)
        pairs = list(zip(words, words[1:], strict=False))
        expected = {"कुत्ता": "कुत्ता" in words, "बिल्ली को": ("बिल्ली", "को") in pairs}
        assert result.missing_terms == tuple(
            term for term, occurs in expected.items() if not occurs
        )
    assert any(result.missing_terms for result in (translation, *translation.others))
    [paragraph] = translate_paragraphs(
        translator, ["a cat. cat."], glossary=glossary, beam=2, max_length=4
    )
    assert paragraph.missing_terms == tuple(
        term for _, result in paragraph.sentences for term in result.missing_terms
    )
    with_bias(translator, [EOS], by=40.0)
    assert translator("a cat", glossary=glossary, beam=4, max_length=20)[0].missing_terms == ()


SEARCH_OPTIONS = [{"beam": 1}, {"beam": 3}, {"beam": 4, "beam_groups": 2}, {"sample": True}]


@pytest.mark.parametrize("search_options", SEARCH_OPTIONS)
def test_a_dead_end_stops_a_translation_or_names_the_rules(search_options):
    translator = translator_of(GRU, "words")
    words = len(translator.target) - 3  # all but the marks
    [translation] = translator(
        "a dog", no_repeat_ngram=1, min_length=110, max_length=0, **search_options
    )
    assert translation.no_token_allowed
    assert not translation.finished
    [cut_off] = translator("a dog", min_length=4, max_length=5, **search_options)
    assert not cut_off.no_token_allowed
    assert len(set(translation.ids)) == len(translation.ids) == words
    assert -100 < translation.score < 0
    every = [piece.strip("▁") for piece in translator.target.piece_ids()][4:]
    unknown = translator.target.piece_ids()["<unk>"]
    with_bias(translator, [unknown], by=-math.inf)
    with pytest.raises(
        UserError, match=r"no token is allowed with min_length 1, \d+ forbidden terms:"
    ):
        translator("a dog", min_length=1, forbidden=every, **search_options)


@pytest.mark.parametrize("search_options", SEARCH_OPTIONS)
def test_diverged_weights_are_an_error(search_options):
    translator = with_bias(translator_of(GRU, "words"), [5], by=math.nan)
    with pytest.raises(UserError, match="its weights have diverged"):
        translator("a dog", no_repeat_ngram=1, **search_options)


@pytest.mark.parametrize("search_options", [{}, {"beam_groups": 2, "diversity_penalty": 2.0}])
def test_no_two_of_nbest_have_the_same_text(search_options):
    """A word in one token or in characters is the same text."""
    translator = translator_of(GRU, "unigram")
    pieces = translator.target.piece_ids()
    with_bias(translator, [pieces["▁"], EOS], by=9.0)
    [translation] = translator("a dog", nbest=6, beam=6, max_length=8, **search_options)
    all_translations = [translation, *translation.others]
    assert len({result.text for result in all_translations}) == len(all_translations) < 6


def test_forbidden_terms_do_not_occur():
    translator = translator_of(GRU, "words")
    with_bias(translator, translator.target.encode("पर को"), by=9.0)
    for search_options in ({"beam": 1}, {"beam": 4}, {"sample": True, "nbest": 4}):
        plain, restricted = (
            translator(ENGLISH[0], max_length=12, **search_options, forbidden=terms)
            for terms in ([], ["पर", "x"])
        )
        assert "पर" in words_of(translator, plain[0].text)
        for result in (restricted[0], *restricted[0].others):
            assert "पर" not in words_of(translator, result.text)


@pytest.mark.parametrize("pieces", ["words", "unigram"])
def test_length_bounds_and_no_repeat_hold_for_every_search(pieces):
    translator = translator_of(GRU, pieces)
    for search_options in (
        {"beam": 1},
        {"beam": 4},
        {"beam": 4, "beam_groups": 2},
        {"sample": True},
    ):
        [translation] = translator(
            ENGLISH[0], min_length=6, max_length=20, no_repeat_ngram=2, **search_options
        )
        assert 6 <= len(translation.ids) <= 20
        pairs = list(zip(translation.ids, translation.ids[1:], strict=False))
        assert len(pairs) == len(set(pairs))


def test_samples_follow_from_seed_and_sentence_number(translator):
    sampled = translator(ENGLISH, sample=True, nbest=3)
    assert sampled == translator(ENGLISH, sample=True, nbest=3)
    assert sampled != translator(ENGLISH, sample=True, nbest=3, seed=2)
    assert len({result.ids for result in (sampled[0], *sampled[0].others)}) > 1
    for index, sentence in enumerate(ENGLISH):
        [alone] = translator(sentence, sample=True, numbers=[index])
        assert alone.ids == sampled[index].ids
    batched = replace(translator, tokens_per_batch=1)(ENGLISH, sample=True)
    assert [result.ids for result in batched] == [result.ids for result in sampled]


def test_cold_sampling_is_greedy(translator):
    cold = translator(ENGLISH, sample=True, temperature=1e-4)
    assert [result.ids for result in cold] == [result.ids for result in translator(ENGLISH, beam=1)]


def test_beam_groups_differ_in_their_first_tokens(word_translator):
    plain_beam, diverse = (
        word_translator(ENGLISH[0], nbest=4, beam=4, **search_options)[0]
        for search_options in ({}, {"beam_groups": 4, "diversity_penalty": 9.0})
    )
    first = [
        {result.ids[:1] for result in (translation, *translation.others)}
        for translation in (plain_beam, diverse)
    ]
    assert len(first[1]) == 4 > len(first[0])


def test_the_coverage_penalty_follows_its_formula(word_translator):
    [plain] = word_translator(ENGLISH[0], nbest=4)
    [ranked] = word_translator(ENGLISH[0], nbest=4, coverage_penalty=0.7)
    results = {result.ids: result for result in (plain, *plain.others)}
    all_translations = [ranked, *ranked.others]
    assert {result.ids for result in all_translations} == set(results)
    for result in all_translations:
        maps = cross_maps(explain_translation(word_translator, ENGLISH[0], result, words=False))
        coverage_by_token = torch.stack([m.weights.mean(0) for m in maps]).mean(0).sum(0)[:-1]
        bonus = 0.7 * sum(math.log(min(float(weight), 1.0)) for weight in coverage_by_token)
        assert result.score == pytest.approx(results[result.ids].score + bonus, abs=1e-4)
    keys = [(not result.finished, -result.score) for result in all_translations]
    assert keys == sorted(keys)


def test_coverage_is_zero_when_all_is_covered():
    """Coverage is 0 for full attention and large and negative for half."""
    full, half = torch.full((2, 2), 0.5), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert coverage(full) == 0.0
    assert coverage(half) < -10


PLACEHOLDERS = ("number", "url", "tag")
MASKED = ["\ue000 देखता है", "को \ue001 पर \ue000"]


def with_placeholders(pieces):
    """A model whose vocabulary has placeholders."""
    torch.manual_seed(0)
    translator = translator_of(GRU, pieces)
    source = Tokenizer.train([*ENGLISH, *MASKED], kind=pieces, size=330)
    target = Tokenizer.train([*HINDI, *MASKED], kind=pieces, size=360)
    recipe = Recipe(encoder=ENCODERS["gru"], decoder=DECODERS["bahdanau-additive"])
    model = build_model(recipe, len(source), len(target)).eval()
    masked = replace(
        translator, network=model, source=source, target=target, placeholders=PLACEHOLDERS
    )
    return with_bias(masked, [EOS])


@PIECES
def test_placeholders_survive_with_a_beam(pieces):
    translator = with_placeholders(pieces)
    text = "the cat sees 1,234.50 at https://example.org/a?b=1"
    [translation] = translator(text, beam=6, max_length=40)
    assert translation.finished
    assert translation.missing_placeholders == ()
    assert "1,234.50" in translation.text
    assert "https://example.org/a?b=1" in translation.text
    greedy = translator(text, beam=1, max_length=2)[0]
    assert set(greedy.missing_placeholders) == {
        span for span in ("1,234.50", "https://example.org/a?b=1") if span not in greedy.text
    }
    assert greedy.missing_placeholders


@PIECES
def test_attention_maps_show_the_spans(pieces):
    translator = with_placeholders(pieces)
    translation = translator("the cat sees 12:30", beam=4, max_length=40)[0]
    [only] = explain_translation(translator, "the cat sees 12:30", translation)
    assert only.source[-2:] == ("12:30", "</s>")
    assert "12:30" in only.target


def test_glossary_terms_share_placeholders_with_the_sentence():
    translator = with_placeholders("unigram")
    [translation] = translator(
        "the cat sees 5", glossary={"cat sees 5": "पर 5"}, beam=6, max_length=40
    )
    assert translation.finished
    assert translation.text.count("5") == 1
    assert "पर 5" in translation.text


@PIECES
def test_a_glossary_term_replaces_a_span(pieces):
    translator = with_placeholders(pieces)
    glossary = {"5": "देखता", "mat 6": "पर"}
    [translation] = translator("the cat sees 5 on mat 6", glossary=glossary, beam=6, max_length=40)
    assert translation.finished
    assert {"देखता", "पर"} <= set(words_of(translator, translation.text))
    assert not {"5", "6"} & set(translation.text)
    assert translation.missing_placeholders == ()
    [translations] = translator(
        "5 cats or 5 mats on mat 6", glossary={"5 cats": "देखता"}, beam=6, max_length=40
    )
    assert "देखता" in translations.text
    assert {"5", "6"} <= set(translations.text)


def test_a_span_cannot_be_forbidden():
    with pytest.raises(UserError, match="'42' is forbidden, but the model copies such spans"):
        with_placeholders("unigram")("the cat sees 42", forbidden=["42"])


def test_paragraphs_keep_the_spaces_between_sentences(translator):
    translator = replace(translator, source_language="en")
    sentences = ["The cats are sleeping.", "A dog sees the cat!", "Cats see mats?"]
    text = "  {}  {}\n\n{} ".format(*sentences)
    [paragraph] = translate_paragraphs(translator, [text])
    alone = translator(sentences)
    assert paragraph.text == f"  {alone[0].text}  {alone[1].text}\n\n{alone[2].text} "
    assert [result for _, result in paragraph.sentences] == alone
    assert [sentence[-1] for sentence, _ in paragraph.sentences] == [".", "!", "?"]
    assert paragraph.finished == all(result.finished for result in alone)
    assert translate_paragraphs(translator, ["", " \t"])[1].text == " \t"


def test_a_paragraph_may_be_longer_than_a_sentence(translator):
    narrow = replace(translator, limits=LengthLimits(source=20), source_language="en")
    line = "A dog. " * 20
    with pytest.raises(TooLong):
        narrow([line])
    assert translate_paragraphs(narrow, [line])[0].text
    with pytest.raises(TooLong) as caught:
        translate_paragraphs(narrow, ["A dog. A cat.", "A dog. " + "cats see mats " * 9])
    assert caught.value.index == 1


def test_samples_of_paragraphs_do_not_depend_on_the_batch(translator):
    texts = ["A dog. A cat.", "Mats. A cat. A dog."]
    translations = translate_paragraphs(translator, texts, sample=True)
    [second] = translate_paragraphs(translator, texts[1:], sample=True, numbers=[1])
    assert translations[1].text == second.text
    with pytest.raises(UserError, match="a paragraph has one translation"):
        translate_paragraphs(translator, texts, nbest=2)
