"""Paragraphs cut into sentences and put together again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dhyan.text.sentence_splitter import Paragraph, split_paragraph, split_sentences

PARTS = [
    *("He left", "Dr", "U.S", "e.g", "J", "मैं गया", "डॉ", "他来了", "3.14", "1", "so it was"),
    *(".", "!", "?", "…", "...", "।", "॥", "。", "！", '"', "”", ")", "(", " ", "  ", "\n", "\t"),
    *("\r\n", "\u2028", "\x1c", "\u00a0", "\u200b"),
]
texts = st.text() | st.lists(st.sampled_from(PARTS)).map("".join)
languages = st.sampled_from(["", "en", "hi", "de", "zh"])
patient = settings(deadline=None)

# Sentences are parted by | where they should be cut.
HARD = [
    "He left.| She stayed!| Why?| Nobody knows.",
    "वह चला गया।| मैं रुका।| क्यों?| पता नहीं॥",
    "वह चला गया।|मैं रुका।",
    "वह चला गया. |मैं रुका.",
    "धर्म की जय हो ॥ १ ॥| अब आगे सुनो।",
    "पहला पद ।।१।।| दूसरा पद ।।२।।",
    "Dr. Rao met Mrs. Iyer and Prof. Sen.| They spoke.",
    "Bring fruit, e.g. mangoes, i.e. The good ones.",
    "The U.S. Army came.| It left.",
    "They live in the U.S.| He does too.",
    "A. P. J. Abdul Kalam spoke.| We heard.",
    "Mr. J. R. Rao won.| The others lost.",
    "डॉ. राव और श्री. सेन आए।| प्रो. दास नहीं आए।",
    "ए. पी. जे. कलाम बोले. |हमने सुना.",
    "आई. एम. एफ. की बैठक हुई। |वह आई. |मैं गया.",
    "बी.ए. पास है।| ठीक है।",
    "Pi is 3.14 or so.| Not 3.",
    "See www.a.example/b.html and c.d@e.example. |Then write.",
    "See https://a.example/?q=1. |Then write.",
    "Well... maybe not.| Well... |Yes.",
    "And so … it was.| So… |Then it ended.",
    "वह... आया नहीं।| अच्छा… ठीक।",
    "1. Wash the rice.| 2. Boil the water.",
    "१. चावल धोएँ।| २. पानी उबालें।",
    "a. First point.\n|b. Second point.",
    "See Fig. 3 and No. 5 on pp. 4 and 6.| Then go on.",
    "No.| I will not.",
    "Figs, dates etc. are sweet.| Apples, pears etc.| We ate all.",
    'He said, "I will go."| She did not.',
    '"Will you go?" he asked.| "No!" she said.',
    "(He left.)| She stayed.",
    "what?| no way!| really?| yes. no.",
    "उसने कहा, “मैं जाऊँगा।”| वह नहीं गई।",
    "他来了。|她走了！|为什么？|“我不知道。”|好。",
    "यह क्या है?!| Wow!!!| ठीक।",
    "one line\n|another line\n|\n|a third. |And more",
    "یہ کیا ہے؟| میں نہیں جانتا۔| ٹھیک۔",
    "no end at all",
    "वह गया। ”| मैं रुका। )| ठीक।",
    ". He left.| She stayed. :-)",
    "... !\n|...",
    "Er sagte: „Ich gehe.“| Dann ging er.",
    "At 5 p.m. we left.| At 6 a.m.| They came.",
    "Plan B.| The rest is easy.",
    "It was in 2015.| Then came 2016.",
]


@pytest.mark.parametrize("marked", HARD)
def test_hard_texts_are_split_correctly(marked):
    text = marked.replace("|", "")
    expected = [part.strip() for part in marked.split("|") if part.strip()]
    assert split_sentences(text) == expected
    assert split_paragraph(text).join(expected) == text


def test_the_language_selects_the_abbreviations():
    german = "Am 3. Mai kam Hr. Meier. Er blieb."
    assert split_sentences(german, "de") == ["Am 3. Mai kam Hr. Meier.", "Er blieb."]
    assert split_sentences(german, "en") == ["Am 3.", "Mai kam Hr.", "Meier.", "Er blieb."]


@patient
@given(text=texts, language=languages)
def test_sentences_and_gaps_restore_the_text(text, language):
    paragraph = split_paragraph(text, language)
    assert paragraph.join(paragraph.sentences) == text
    assert len(paragraph.gaps) == len(paragraph.sentences) + 1
    assert not "".join(paragraph.gaps).strip()


@patient
@given(text=texts, language=languages)
def test_a_sentence_is_never_blank_and_has_one_line(text, language):
    for sentence in split_sentences(text, language):
        assert sentence
        assert sentence == sentence.strip()
        assert len(sentence.splitlines()) == 1


def test_other_sentences_have_the_same_gaps():
    paragraph = split_paragraph("  वह गया।  मैं रुका।\n\nठीक।\n")
    assert paragraph.join(["He left.", "I stayed.", "Fine."]) == "  He left.  I stayed.\n\nFine.\n"


def test_a_space_is_added_after_a_stop_without_one():
    assert (
        split_paragraph("他来了。她走了。").join(["He came.", "She left."]) == "He came. She left."
    )
    assert (
        split_paragraph("他来了。她走了。").join(["彼は来た。", "彼女は去った。"])
        == "彼は来た。彼女は去った。"
    )


def test_joining_needs_the_same_number_of_sentences():
    with pytest.raises(ValueError, match="1 sentences for a text of 2"):
        split_paragraph("One. Two.").join(["one"])


def test_white_space_has_no_sentences():
    assert split_paragraph(" \n ") == Paragraph((), (" \n ",))
    assert split_sentences("") == []


@pytest.mark.parametrize("part", ["a", ".", ". ", "a. A ", "।", '"', " "])
def test_a_long_line_is_split(part):
    text = part * 10_000
    assert split_paragraph(text).join(split_sentences(text)) == text
