"""Grapheme clusters: nothing is lost, and no mark stands alone."""

import unicodedata

import pytest

from dhyan.text.grapheme_clusters import grapheme_clusters


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        ("क्षत्रिय", ["क्ष", "त्रि", "य"]),
        ("ज़िंदगी", ["ज़िं", "द", "गी"]),
        ("हिन्दी", ["हि", "न्दी"]),
        ("३ आम।", ["३", " ", "आ", "म", "।"]),
        ("क्\u200dष", ["क्\u200dष"]),
        ("क्\u200cष", ["क्\u200c", "ष"]),
        ("cafe\u0301s", ["c", "a", "f", "e\u0301", "s"]),
        ("", []),
    ],
)
def test_conjuncts_and_marks_stay_together(text, clusters):
    assert list(grapheme_clusters(text)) == clusters


def test_clusters_put_together_are_the_text():
    text = "उन्होंने श्रीमती ट्रैफ़िक में ऋतु को कृष्ण कहा, naïve e\u0301. "
    clusters = list(grapheme_clusters(text))
    assert "".join(clusters) == text
    assert not any(unicodedata.category(cluster[0]).startswith("M") for cluster in clusters)
