"""What holds of every sentence of the primer, and of its splits."""

from functools import cache
from itertools import islice, pairwise

import pytest

from dhyan.data.primer import (
    SPLITS,
    SentencePair,
    TranslationCheck,
    generate_sentence,
    generate_sentences,
    primer_pairs,
)
from dhyan.data.primer.ambiguous_words import disambiguated_sentence
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.sentence_builder import SentenceBuilder
from dhyan.data.primer.sentence_pair import ROOT
from dhyan.data.primer.templates import fill_template, templates
from dhyan.data.primer.vocabulary_subsets import (
    ambiguous_words,
    held_out_adjectives,
    held_out_objects,
)
from dhyan.errors import UserError

OBLIQUE_BEFORE = frozenset(("ने", "को", "से", "में", "पर", "का", "के", "की", "तक"))
TESTS = [split for split in SPLITS if split != "train"]


@cache
def some(
    split: str, count: int = 400, seed: int = 1, longest: int = 60
) -> tuple[SentencePair, ...]:
    return tuple(islice(generate_sentences(split, seed=seed, max_words=longest), count))


@pytest.fixture(scope="module")
def twins() -> tuple[SentencePair, ...]:
    return some("train", 3000)


def test_a_sentence_follows_from_seed_and_index(twins: tuple[SentencePair, ...]) -> None:
    again = [generate_sentence("train", 1, index) for index in (7, 3, 20)]
    assert again == [twins[7], twins[3], twins[20]]
    assert some("train", 20, seed=2) != twins[:20]


def test_no_english_sentence_has_two_translations(twins: tuple[SentencePair, ...]) -> None:
    said: dict[str, tuple[str, tuple[str, ...]]] = {}
    for twin in twins:
        meant = (twin.hindi, twin.others)
        assert said.setdefault(twin.english, meant) == meant, twin.english
        assert twin.hindi not in twin.others


def test_links_join_words_that_are_there(twins: tuple[SentencePair, ...]) -> None:
    for twin in twins:
        english, hindi = twin.english.split(), twin.hindi.split()
        assert twin.sure
        assert twin.sure <= twin.possible
        assert all(one < len(english) and other < len(hindi) for one, other in twin.possible)
        written = [link.replace("?", "-").split("-") for link in twin.links.split()]
        assert {(int(one), int(other)) for one, other in written} == twin.possible


def test_every_name_is_linked_to_itself(twins: tuple[SentencePair, ...]) -> None:
    names = {name.english: name.hindi for name in read_lexicon().names}
    for twin in twins:
        hindi = [word.strip(',।?!"') for word in twin.hindi.split()]
        for place, word in enumerate(twin.english.split()):
            name = names.get(word.strip(',.?!"').removesuffix("'s"))
            linked = [hindi[other] for one, other in twin.sure if one == place]
            assert name is None or name in linked, twin.english


def test_heads_form_one_tree_on_each_side(twins: tuple[SentencePair, ...]) -> None:
    for twin in twins:
        for side, text in enumerate((twin.english, twin.hindi)):
            heads = twin.heads(side)
            assert len(heads) == len(text.split())
            assert heads.count(ROOT) == 1, text
            assert all(_reaches_the_root(place, heads) for place in range(len(heads))), text


def _reaches_the_root(place: int, heads: tuple[int, ...]) -> bool:
    for _ in heads:
        if place == ROOT:
            return True
        place = heads[place]
    return place == ROOT


def test_what_stands_before_a_marker_is_oblique(twins: tuple[SentencePair, ...]) -> None:
    """No noun in -ā that inflects is left in the direct case before a postposition."""
    direct = {
        noun.hindi[0][-1]
        for nouns in read_lexicon().nouns.values()
        for noun in nouns
        if noun.hindi[0] != noun.hindi[1]
    }
    others = {form[-1] for ns in read_lexicon().nouns.values() for n in ns for form in n.hindi[1:]}
    wrong = direct - others
    for twin in twins:
        for one, other in pairwise(twin.hindi.split()):
            assert not (one in wrong and other.strip(",।?") in OBLIQUE_BEFORE), twin.hindi


def test_a_sentence_ends_in_the_punctuation_of_its_type(twins: tuple[SentencePair, ...]) -> None:
    ends = {".": "।", "?": "?", "!": "!"}
    for twin in twins:
        assert ends[twin.english.rstrip('"')[-1]] == twin.hindi.rstrip('"')[-1]
        assert twin.english[0].isupper()


def test_lengths_range_from_two_words_to_sixty(twins: tuple[SentencePair, ...]) -> None:
    lengths = {len(twin.english.split()) for twin in twins}
    assert min(lengths) <= 3
    assert max(lengths) >= 55
    short = some("train", 300, longest=12)
    assert max(len(twin.english.split()) for twin in short) <= 12


@pytest.mark.parametrize("split", TESTS)
def test_no_test_shares_a_sentence_with_training(
    split: str, twins: tuple[SentencePair, ...]
) -> None:
    tested = some(split, 150)
    for side in ("english", "hindi"):
        trained = {getattr(twin, side) for seed in (1, 2) for twin in some("train", 3000, seed)}
        assert trained.isdisjoint(getattr(twin, side) for twin in tested)


def test_held_out_contexts_do_not_occur_in_training() -> None:
    """Two English verbs may be one in Hindi; what is held out is held out on both sides."""
    trained = [disambiguated_sentence(SentenceBuilder(seed)) for seed in range(12_000)]
    tested = [disambiguated_sentence(SentenceBuilder(seed, held_out=True)) for seed in range(3000)]
    for side in ("english", "hindi"):
        known = {getattr(twin, side) for twin in trained}
        assert known.isdisjoint(getattr(twin, side) for twin in tested)


def test_unseen_pairs_are_not_in_training_but_their_words_are(
    twins: tuple[SentencePair, ...],
) -> None:
    lexicon = read_lexicon()
    held = {
        (verb.english.base, noun.english)
        for verb in lexicon.verbs
        for noun in held_out_objects(verb)
    } | {
        (one.english, noun.english)
        for nouns in lexicon.nouns.values()
        for noun in nouns
        for one in held_out_adjectives(noun)
    }
    assert len(held) > 200
    trained = {
        word for seed in range(8) for twin in some("train", 3000, seed) for word in _words(twin)
    }
    missing = [word for twin in some("unseen", 200) for word in _words(twin) if word not in trained]
    assert len(missing) < 5  # of words; a form may be rare


def _words(twin: SentencePair) -> list[str]:
    return [word.strip(',.?!।"').lower() for word in twin.english.split()]


def test_longer_sentences_are_longer_than_any_in_training() -> None:
    assert min(len(twin.english.split()) for twin in some("longer", 30, longest=20)) == 21
    assert max(len(twin.english.split()) for twin in some("longer", 60, longest=20)) <= 30


@pytest.mark.parametrize("split", ["context", "idiom", "agreement"])
def test_every_phenomenon_is_marked_and_its_reference_is_right(split: str) -> None:
    for twin in some(split, 200):
        marks = [one for one in twin.checks if one.kind == split]
        assert marks
        assert all(one.passes(twin.hindi) for one in marks), twin.hindi


def test_attachments_have_both_readings_or_a_context_that_decides() -> None:
    twins = some("attachment", 200)
    assert all(bool(twin.others) != bool(twin.checks) for twin in twins)
    assert all(one.passes(twin.hindi) for twin in twins for one in twin.checks)
    assert {bool(twin.others) for twin in twins} == {True, False}


def test_every_sense_of_every_word_is_tested() -> None:
    tested = {(one.about, one.right) for twin in some("context", 2000) for one in twin.checks}
    assert {word for word, _ in tested} == set(ambiguous_words())
    for word, senses in read_lexicon().senses.items():
        forms = {" ".join(form) for sense in senses for form in sense.noun.hindi}
        assert len({right for about, right in tested if about == word}) >= len(senses) > 1
        assert all(right[0] in forms for about, right in tested if about == word)


def test_every_template_is_filled_without_a_gap() -> None:
    for template in templates():
        for seed in range(4):
            twin = fill_template(SentenceBuilder(seed), template)
            text = twin.english + twin.hindi
            assert not any(mark in text for mark in "_~{}<>|"), text
            assert all(one.passes(twin.hindi) for one in twin.checks), template


def test_what_is_open_in_english_carries_every_translation() -> None:
    open_ones = [twin for twin in some("train", 3000) if twin.english.startswith("I ")]
    assert open_ones
    agreeing = [t for t in open_ones if "रहा हूँ" in t.hindi or "ता हूँ" in t.hindi]
    assert agreeing
    assert all(twin.others for twin in agreeing)


def test_pairs_go_both_ways() -> None:
    twins = some("train", 5)
    there, back = list(primer_pairs(twins)), list(primer_pairs(twins, backwards=True))
    assert [(one.source, one.target) for one in there] == [(o.target, o.source) for o in back]


def test_a_split_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="no split 'test': choose one of train, valid"):
        generate_sentences("test")


def test_a_translation_check_matches_whole_words() -> None:
    wanted = TranslationCheck("context", "bank", ("बैंक",), ("किनारा", "किनारे"))
    assert wanted.passes("रवि बैंक गया।")
    assert not wanted.passes("रवि बैंकों में गया।")
    assert not wanted.passes("रवि बैंक के किनारे गया।")


def test_many_pairs_are_distinct() -> None:
    twins = some("train", 3000)
    assert len({twin.english for twin in twins}) > 0.97 * len(twins)
