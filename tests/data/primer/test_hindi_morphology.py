"""Hindi inflection: regular classes and irregular words."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dhyan.data.primer.hindi_morphology import (
    COPULA,
    FF,
    GENITIVE,
    HE,
    MM,
    RAHA,
    THEY,
    WAS,
    YOU,
    F,
    I,
    M,
    adjective_forms,
    hindi_verb,
    noun_forms,
)

VERBS = "खाना जाना करना पीना देना लेना होना छूना सोना सीना देखना आना खेना उठाना"

MASCULINE = """
    लड़का लड़के लड़के लड़कों
    घर घर घर घरों
    आदमी आदमी आदमी आदमियों
    भाई भाई भाई भाइयों
    कवि कवि कवि कवियों
    आलू आलू आलू आलुओं
    साधु साधु साधु साधुओं
    जूता जूते जूते जूतों
    कुआँ कुएँ कुएँ कुओं
    धुआँ धुएँ धुएँ धुओं
    कौआ कौए कौए कौओं
    रुपया रुपये रुपये रुपयों
    पहिया पहिये पहिये पहियों
    गाँव गाँव गाँव गाँवों
    पहाड़ पहाड़ पहाड़ पहाड़ों
    रेडियो रेडियो रेडियो रेडियों
    जौ जौ जौ जौओं
"""
FEMININE = """
    लड़की लड़की लड़कियाँ लड़कियों
    मिठाई मिठाई मिठाइयाँ मिठाइयों
    शक्ति शक्ति शक्तियाँ शक्तियों
    चिड़िया चिड़िया चिड़ियाँ चिड़ियों
    गौरैया गौरैया गौरैयाँ गौरैयों
    प्रतिक्रिया प्रतिक्रिया प्रतिक्रियाएँ प्रतिक्रियाओं
    समस्या समस्या समस्याएँ समस्याओं
    किताब किताब किताबें किताबों
    गाय गाय गायें गायों
    भाषा भाषा भाषाएँ भाषाओं
    बुआ बुआ बुआएँ बुआओं
    बहू बहू बहुएँ बहुओं
    वस्तु वस्तु वस्तुएँ वस्तुओं
    माँ माँ माँएँ माँओं
    लौ लौ लौएँ लौओं
    फ़ोटो फ़ोटो फ़ोटो फ़ोटों
"""
FIXED = """
    राजा राजा राजा राजाओं
    पिता पिता पिता पिताओं
    चाचा चाचा चाचा चाचाओं
    मुखिया मुखिया मुखिया मुखियों
"""


def rows(table):
    return [
        unicodedata.normalize("NFC", line).split() for line in table.split("\n") if line.strip()
    ]


@pytest.mark.parametrize("forms", rows(MASCULINE), ids=lambda forms: forms[0])
def test_a_masculine_noun_has_the_forms_of_its_class(forms):
    assert noun_forms(forms[0], "m") == tuple(forms)


@pytest.mark.parametrize("forms", rows(FEMININE), ids=lambda forms: forms[0])
def test_a_feminine_noun_has_the_forms_of_its_class(forms):
    assert noun_forms(forms[0], "f") == tuple(forms)


@pytest.mark.parametrize("forms", rows(FIXED), ids=lambda forms: forms[0])
def test_a_fixed_noun_changes_in_the_oblique_plural_only(forms):
    assert noun_forms(forms[0], "m", fixed=True) == tuple(forms)


def test_the_last_of_several_words_inflects():
    assert noun_forms("रेल गाड़ी", "f") == ("रेल गाड़ी", "रेल गाड़ी", "रेल गाड़ियाँ", "रेल गाड़ियों")
    assert noun_forms("चाय वाला", "m")[3] == "चाय वालों"


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("बड़ा", "बड़ा बड़े बड़ी बड़ी बड़े"),
        ("नया", "नया नए नई नई नए"),
        ("बायाँ", "बायाँ बाएँ बाईं बाईं बाएँ"),
        ("पाँचवाँ", "पाँचवाँ पाँचवें पाँचवीं पाँचवीं पाँचवें"),
        ("लाल", "लाल लाल लाल लाल लाल"),
        ("भारी", "भारी भारी भारी भारी भारी"),
    ],
)
def test_an_adjective_agrees_if_it_ends_in_a(word, forms):
    assert adjective_forms(word) == tuple(forms.split())


def test_a_fixed_adjective_stays_as_it_is():
    assert adjective_forms("बढ़िया", fixed=True) == ("बढ़िया",) * 5


def test_a_participle_agrees_together_with_its_auxiliary():
    assert adjective_forms("थका हुआ") == (
        "थका हुआ", "थके हुए", "थकी हुई", "थकी हुई", "थके हुए",
    )  # fmt: skip
    assert adjective_forms("लकड़ी का")[F] == "लकड़ी की"


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("खाना", "खाया खाए खाई खाईं"),
        ("आना", "आया आए आई आईं"),
        ("जाना", "गया गए गई गईं"),
        ("करना", "किया किए की कीं"),
        ("पीना", "पिया पिए पी पीं"),
        ("सीना", "सिया सिए सी सीं"),
        ("देना", "दिया दिए दी दीं"),
        ("लेना", "लिया लिए ली लीं"),
        ("होना", "हुआ हुए हुई हुईं"),
        ("छूना", "छुआ छुए छुई छुईं"),
        ("सोना", "सोया सोए सोई सोईं"),
        ("बोना", "बोया बोए बोई बोईं"),
        ("देखना", "देखा देखे देखी देखीं"),
        ("पढ़ना", "पढ़ा पढ़े पढ़ी पढ़ीं"),
    ],
)
def test_the_perfective_follows_from_the_stem(word, forms):
    assert hindi_verb(word).perfective == tuple(forms.split())


@pytest.mark.parametrize(
    ("word", "masculine", "feminine"),
    [
        ("खाना", "खाऊँगा खाओगे खाएगा खाएँगे", "खाऊँगी खाओगी खाएगी खाएँगी"),
        ("देना", "दूँगा दोगे देगा देंगे", "दूँगी दोगी देगी देंगी"),
        ("लेना", "लूँगा लोगे लेगा लेंगे", "लूँगी लोगी लेगी लेंगी"),
        ("पीना", "पिऊँगा पियोगे पिएगा पिएँगे", "पिऊँगी पियोगी पिएगी पिएँगी"),
        ("होना", "होऊँगा होगे होगा होंगे", "होऊँगी होगी होगी होंगी"),
        ("करना", "करूँगा करोगे करेगा करेंगे", "करूँगी करोगी करेगी करेंगी"),
        ("जाना", "जाऊँगा जाओगे जाएगा जाएँगे", "जाऊँगी जाओगी जाएगी जाएँगी"),
        ("छूना", "छुऊँगा छुओगे छुएगा छुएँगे", "छुऊँगी छुओगी छुएगी छुएँगी"),
        ("सोना", "सोऊँगा सोओगे सोएगा सोएँगे", "सोऊँगी सोओगी सोएगी सोएँगी"),
    ],
)
def test_the_future_agrees_in_person_and_gender(word, masculine, feminine):
    future = hindi_verb(word).future
    assert tuple(forms[False] for forms in future) == tuple(masculine.split())
    assert tuple(forms[True] for forms in future) == tuple(feminine.split())


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("खाना", "खाओ खाइए"),
        ("करना", "करो कीजिए"),
        ("देना", "दो दीजिए"),
        ("लेना", "लो लीजिए"),
        ("पीना", "पियो पीजिए"),
        ("सीना", "सियो सीजिए"),
        ("जीना", "जियो जिएँ"),
        ("जाना", "जाओ जाइए"),
        ("होना", "होओ होइए"),
        ("छूना", "छुओ छुइए"),
        ("धोना", "धोओ धोइए"),
        ("देखना", "देखो देखिए"),
    ],
)
def test_imperatives_are_familiar_or_polite(word, forms):
    assert hindi_verb(word).imperative == tuple(forms.split())


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("खाना", "खाऊँ खाओ खाए खाएँ"),
        ("देखना", "देखूँ देखो देखे देखें"),
        ("देना", "दूँ दो दे दें"),
        ("पीना", "पिऊँ पियो पिए पिएँ"),
    ],
)
def test_the_subjunctive_has_a_form_for_each_person(word, forms):
    assert hindi_verb(word).subjunctive == tuple(forms.split())


def test_words_before_a_verb_stay_and_its_last_inflects():
    verb = hindi_verb("बंद करना")
    assert verb.before == ("बंद",)
    assert verb.stem == "कर"
    assert verb.infinitive == ("करना", "करने", "करनी", "करनी")
    assert verb.habitual == ("करता", "करते", "करती", "करती")


def test_the_conjunctive_participle_joins_the_stem():
    assert hindi_verb("खाना").doing == "खाकर"
    assert hindi_verb("करना").doing == "करके"


@pytest.mark.parametrize("verb", [*map(hindi_verb, VERBS.split(" "))], ids=lambda verb: verb.stem)
def test_only_the_feminine_plural_differs_before_an_auxiliary(verb):
    assert verb.perfect == (*verb.perfective[:FF], verb.perfective[F])
    assert verb.perfective[FF] == verb.perfective[F] + "ं"


def test_tables_are_in_the_order_of_their_indices():
    assert [COPULA[who] for who in (I, YOU, HE, THEY)] == ["हूँ", "हो", "है", "हैं"]
    assert [WAS[form] for form in (M, MM, F, FF)] == ["था", "थे", "थी", "थीं"]
    assert [RAHA[form] for form in (M, MM, F, FF)] == ["रहा", "रहे", "रही", "रही"]
    assert adjective_forms("का") == GENITIVE


CONSONANTS = st.sampled_from("कगचजटडतदनपबमयरलवसह")
VOWELS = st.sampled_from(["", *"ािीुूेैोौ"])
WORDS = st.lists(st.tuples(CONSONANTS, VOWELS).map("".join), min_size=2, max_size=4).map("".join)
VOWEL_SIGNS = {*"ािीुूेैोौृॅॉ"}


def well_formed(word):
    """Whether every vowel sign follows a consonant."""
    return all(
        "क" <= before <= "ह" or before == "़"
        for before, character in pairwise(" " + word)
        if character in VOWEL_SIGNS
    )


@given(WORDS, st.sampled_from("mf"), st.booleans())
def test_the_forms_of_any_noun_are_well_formed(word, gender, fixed):
    forms = noun_forms(word, gender, fixed=fixed)
    assert forms[0] == word
    assert all(map(well_formed, forms))
    assert forms[3].endswith("ं")


@given(WORDS)
def test_the_forms_of_any_stem_are_well_formed(stem):
    verb = hindi_verb(stem + "ना")
    future = [form for forms in verb.future for form in forms]
    forms = (*verb.perfective, *verb.subjunctive, *verb.imperative, *future)
    assert all(map(well_formed, forms))
