"""Language detection by script and known words."""

import pytest

from dhyan.serving.language_detection import detect

ENGLISH, GERMAN = {"the", "house", "is", "red"}, {"das", "haus", "ist", "rot", "is"}
VOCABULARIES = {"en": [ENGLISH], "de": [GERMAN], "hi": [{"घर"}]}


def confidences(text):
    detections = detect(text, VOCABULARIES)
    return {detection.language: detection.confidence for detection in detections}


def test_known_words_tell_languages_of_one_script_apart():
    assert confidences("The house is red.") == {"en": 100.0, "de": 62.5, "hi": 0.0}
    assert detect("Das Haus ist rot!", VOCABULARIES)[0].language == "de"
    assert detect("is", VOCABULARIES)[0].language == "en"  # equally likely: the first


def test_a_script_tells_languages_apart_without_known_words():
    assert confidences("किताब") == {"hi": 50.0, "en": 0.0, "de": 0.0}
    assert detect("घर", VOCABULARIES)[0].confidence == 100.0


def test_mixed_text_divides_the_confidence():
    assert confidences("the घर") == {"en": 50.0, "hi": 50.0, "de": 25.0}


@pytest.mark.parametrize("text", ["", "  ", "42", "!?", "１２", "привет мир", "\u200d"])
def test_nothing_to_go_by_gives_no_confidence(text):
    assert set(confidences(text).values()) == {0.0}


def test_every_model_of_a_language_adds_its_words():
    [only] = detect("alpha beta", {"en": [{"alpha"}, {"beta"}]})
    assert only.confidence == 100.0
