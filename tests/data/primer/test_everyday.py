"""Everyday frames: laws of agreement, and the words that must occur in training."""

import re
from collections import Counter
from functools import cache
from itertools import islice

import pytest

from dhyan.data.primer import SentencePair, generate_sentences, splits
from dhyan.data.primer.everyday import Frame, everyday_sentence, fill_frame, frames
from dhyan.data.primer.everyday_words import read_word_lists
from dhyan.data.primer.hindi_morphology import COPULA, WAS
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.sentence_builder import SentenceBuilder
from dhyan.data.primer.vocabulary_subsets import held_out_adjectives, held_out_objects

MARKUP = re.compile(r"[_~{}<>|]|[a-z]+")
# By pronoun: the present copula that it takes, whatever stands between.
PRESENT = {"मैं": "हूँ", "तुम": "हो", "आप": "हैं", "हम": "हैं", "वे": "हैं", "वह": "है"}


@cache
def sample(count: int = 12_000) -> tuple[SentencePair, ...]:
    return tuple(everyday_sentence(SentenceBuilder(seed)) for seed in range(count))


def of_group(group: str) -> list[SentencePair]:
    return [
        fill_frame(SentenceBuilder(seed), frame)
        for frame in frames()
        if frame.group == group
        for seed in range(60)
    ]


def words_of(text: str) -> list[str]:
    return text.rstrip("।?!").replace(",", " ").split()


@pytest.mark.parametrize("frame", frames(), ids=lambda frame: frame.group)
def test_a_frame_is_filled_without_a_gap(frame: Frame) -> None:
    for seed in range(6):
        pair = fill_frame(SentenceBuilder(seed), frame)
        for hindi in (pair.hindi, *pair.others):
            assert not MARKUP.search(hindi), hindi
        assert not re.search(r"[_~{}<>|]", pair.english)
        assert pair.sure
        assert pair.hindi not in pair.others


def test_no_everyday_sentence_has_two_translations() -> None:
    translations: dict[str, tuple[str, tuple[str, ...]]] = {}
    for pair in sample():
        translation = (pair.hindi, pair.others)
        assert translations.setdefault(pair.english, translation) == translation, pair.english


def test_the_copula_agrees_with_a_pronoun_in_direct_case() -> None:
    checked = Counter[str]()
    for pair in sample():
        for hindi in (pair.hindi, *pair.others):
            words = words_of(hindi)
            pronouns = [word for word in words if word in PRESENT]
            clauses = {"कि", "क्योंकि", "इसलिए", "लेकिन", "ताकि", "अगर", "जब"} & {*words}
            if len(pronouns) == 1 and words[-1] in COPULA and not clauses and "यह" not in words:
                nouns = words[words.index(pronouns[0]) + 1 : -1]
                if pronouns[0] in ("वह", "वे") and nouns:  # may be a determiner: that book
                    continue
                assert words[-1] == PRESENT[pronouns[0]], hindi
                checked[pronouns[0]] += 1
    assert min(checked[pronoun] for pronoun in ("मैं", "तुम", "आप", "हम")) > 30


def test_verbs_of_a_name_have_its_gender() -> None:
    """A name in direct case with रहता, चाहता, खड़ा, था … as the predicate."""
    genders = {name.hindi: name.gender for name in read_lexicon().names}
    forms = {"m": re.compile(r"(ता|रहा|खड़ा) है$|था$"), "f": re.compile(r"(ती|रही|खड़ी) है$|थी$")}
    checked = Counter[str]()
    for pair in sample():
        words = words_of(pair.hindi)
        if (
            words[0] in genders
            and words[1] not in {*"ने को का के की से".split()}
            and "," not in pair.hindi
        ):
            text = " ".join(words)
            if any(pattern.search(text) for pattern in forms.values()) and not re.search(
                " को | मेहनती | क्योंकि | कि ", text
            ):
                gender = genders[words[0]]
                assert forms[gender].search(text), pair.hindi
                checked[gender] += 1
    assert min(checked.values()) > 100


def test_things_are_near_their_owner_and_relatives_belong_to_them() -> None:
    for pair in of_group("possession"):
        assert re.search(r"े पास|के पास", pair.hindi), pair.hindi
    for pair in of_group("kinship"):
        assert "पास" not in pair.hindi


def test_those_who_like_want_or_need_are_experiencers() -> None:
    dative = {"को", "मुझे", "हमें", "तुम्हें", "आपको", "उसे", "उन्हें"}
    for group in ("liking", "wanting"):
        for pair in of_group(group):
            words = words_of(pair.hindi)
            if {"पसंद", "चाहिए", "ज़रूरत"} & {*words}:
                assert dative & {*words}, pair.hindi


def test_a_counted_relative_has_a_plural_verb() -> None:
    for pair in of_group("kinship"):
        words = words_of(pair.hindi)
        if {"दो", "तीन", "चार", "पाँच", "छह", "कितने"} & {*words}:
            assert words[-1] == "हैं", pair.hindi


def test_the_past_copula_agrees_with_what_is_owned() -> None:
    lists = read_word_lists()
    gender = {form[-1]: noun.feminine for noun in lists.nouns["own"] for form in noun.hindi[::2]}
    checked = 0
    for pair in of_group("possession"):
        words = words_of(pair.hindi)
        if words[-1] in WAS and words[-2] in gender:
            assert (words[-1] in ("थी", "थीं")) == gender[words[-2]], pair.hindi
            checked += 1
    assert checked > 20


def test_a_form_of_address_decides_between_the_two_pronouns() -> None:
    tum, aap = (re.compile(rf"(^|\s){word}") for word in ("तुम", "आप"))
    counts = Counter[str]()
    for pair in sample():
        assert not (tum.search(pair.hindi) and aap.search(pair.hindi)), pair.hindi
        counts["तुम"] += bool(tum.search(pair.hindi))
        counts["आप"] += bool(aap.search(pair.hindi))
        if pair.english.startswith("Sir,"):
            assert not tum.search(pair.hindi)
    assert min(counts.values()) > 300


def test_no_pair_of_words_is_held_out_from_training() -> None:
    lexicon = read_lexicon()
    held = {
        " ".join((*verb.english.base, *form))
        for verb in lexicon.verbs
        for noun in held_out_objects(verb)
        for form in (noun.english, noun.plural)
    }
    for verbs in read_word_lists().verbs.values():
        for verb in verbs:
            words = [word for word in verb.english.base if word not in ("a", "the", "some", "two")]
            assert " ".join(words) not in held
    adjectives = {
        (" ".join(adjective.english), " ".join(noun.english))
        for noun in lexicon.words.values()
        for adjective in held_out_adjectives(noun)
    }
    for pair in sample():
        if match := re.fullmatch(r"(?:The|This|That) ([a-z]+) is ([a-z]+)\.", pair.english):
            assert (match[2], match[1]) not in adjectives, pair.english


def test_two_fifths_of_the_training_stream_are_everyday(monkeypatch: pytest.MonkeyPatch) -> None:
    frames_filled: list[int] = []

    def count(builder: SentenceBuilder) -> SentencePair:
        pair = everyday_sentence(builder)
        frames_filled.append(id(pair))
        kept.append(pair)
        return pair

    kept: list[SentencePair] = []
    monkeypatch.setattr(splits, "everyday_sentence", count)
    for max_words in (15, 60):
        stream = list(islice(generate_sentences("train", max_words=max_words), 2000))
        share = sum(id(pair) in {*frames_filled} for pair in stream) / len(stream)
        assert 0.35 < share < 0.45
    frames_filled.clear()
    list(islice(generate_sentences("train", max_words=15, core_share=0.15), 50))
    assert not frames_filled


def test_everyday_sentences_are_varied() -> None:
    assert len({pair.english for pair in sample()}) > 0.85 * len(sample())
    assert len(frames()) > 150


def test_two_people_of_whom_one_is_asked_for_are_of_one_gender() -> None:
    feminine = {name.hindi: name.gender == "f" for name in read_lexicon().names}
    checked = Counter[bool]()
    for pair in of_group("comparison"):
        if found := re.match(r"(\S+) और (\S+) में से कौन ज़्यादा (\S+) है", pair.hindi):
            first, second, adjective = found.groups()
            assert feminine[first] == feminine[second], pair.hindi
            if adjective[:-1] in ("लंब", "बड़", "छोट"):
                assert (adjective[-1] == "ी") == feminine[first], pair.hindi
                checked[feminine[first]] += 1
    assert min(checked[True], checked[False]) > 5
