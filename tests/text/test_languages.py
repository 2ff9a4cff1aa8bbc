"""Languages: codes and English names."""

from dhyan.text.languages import LANGUAGE_NAMES, LANGUAGES


def test_every_language_of_iso_639_1_has_a_name():
    assert len(LANGUAGE_NAMES) == 183
    assert set(LANGUAGE_NAMES) >= LANGUAGES
    assert all(len(code) == 2 and name[0].isupper() for code, name in LANGUAGE_NAMES.items())
    assert (LANGUAGE_NAMES["vi"], LANGUAGE_NAMES["hi"]) == ("Vietnamese", "Hindi")
