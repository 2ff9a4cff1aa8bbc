"""Properties of every primer sentence, and of the splits."""

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
def sample(
    split: str, count: int = 400, seed: int = 1, max_words: int = 60
) -> tuple[SentencePair, ...]:
    return tuple(islice(generate_sentences(split, seed=seed, max_words=max_words), count))


@pytest.fixture(scope="module")
def pairs() -> tuple[SentencePair, ...]:
    return sample("train", 3000)


def test_a_sentence_follows_from_seed_and_index(pairs: tuple[SentencePair, ...]) -> None:
    again = [generate_sentence("train", 1, index) for index in (7, 3, 20)]
    assert again == [pairs[7], pairs[3], pairs[20]]
    assert sample("train", 20, seed=2) != pairs[:20]


def test_no_english_sentence_has_two_translations(pairs: tuple[SentencePair, ...]) -> None:
    translations: dict[str, tuple[str, tuple[str, ...]]] = {}
    for pair in pairs:
        translation = (pair.hindi, pair.others)
        assert translations.setdefault(pair.english, translation) == translation, pair.english
        assert pair.hindi not in pair.others


def test_links_are_within_the_sentences(pairs: tuple[SentencePair, ...]) -> None:
    for pair in pairs:
        english, hindi = pair.english.split(), pair.hindi.split()
        assert pair.sure
        assert pair.sure <= pair.possible
        assert all(
            source < len(english) and target < len(hindi) for source, target in pair.possible
        )
        links = [link.replace("?", "-").split("-") for link in pair.links.split()]
        assert {(int(source), int(target)) for source, target in links} == pair.possible


def test_every_name_is_linked_to_its_translation(pairs: tuple[SentencePair, ...]) -> None:
    names = {name.english: name.hindi for name in read_lexicon().names}
    for pair in pairs:
        hindi = [word.strip(',।?!"') for word in pair.hindi.split()]
        for position, word in enumerate(pair.english.split()):
            name = names.get(word.strip(',.?!"').removesuffix("'s"))
            linked = [hindi[target] for source, target in pair.sure if source == position]
            assert name is None or name in linked, pair.english


def test_heads_form_one_tree_on_each_side(pairs: tuple[SentencePair, ...]) -> None:
    for pair in pairs:
        for side, text in enumerate((pair.english, pair.hindi)):
            heads = pair.heads(side)
            assert len(heads) == len(text.split())
            assert heads.count(ROOT) == 1, text
            assert all(_reaches_the_root(position, heads) for position in range(len(heads))), text


def _reaches_the_root(position: int, heads: tuple[int, ...]) -> bool:
    for _ in heads:
        if position == ROOT:
            return True
        position = heads[position]
    return position == ROOT


def test_nouns_before_a_postposition_are_oblique(pairs: tuple[SentencePair, ...]) -> None:
    """No noun in -ā that inflects is left in the direct case before a postposition."""
    direct = {
        noun.hindi[0][-1]
        for nouns in read_lexicon().nouns.values()
        for noun in nouns
        if noun.hindi[0] != noun.hindi[1]
    }
    others = {form[-1] for ns in read_lexicon().nouns.values() for n in ns for form in n.hindi[1:]}
    wrong = direct - others
    for pair in pairs:
        for word, following in pairwise(pair.hindi.split()):
            assert not (word in wrong and following.strip(",।?") in OBLIQUE_BEFORE), pair.hindi


def test_a_sentence_ends_in_the_punctuation_of_its_type(pairs: tuple[SentencePair, ...]) -> None:
    ends = {".": "।", "?": "?", "!": "!"}
    for pair in pairs:
        assert ends[pair.english.rstrip('"')[-1]] == pair.hindi.rstrip('"')[-1]
        assert pair.english[0].isupper()


def test_lengths_range_from_two_words_to_sixty(pairs: tuple[SentencePair, ...]) -> None:
    lengths = {len(pair.english.split()) for pair in pairs}
    assert min(lengths) <= 3
    assert max(lengths) >= 50
    short = sample("train", 300, max_words=12)
    assert max(len(pair.english.split()) for pair in short) <= 12


@pytest.mark.parametrize("split", TESTS)
def test_no_test_shares_a_sentence_with_training(
    split: str, pairs: tuple[SentencePair, ...]
) -> None:
    tested = sample(split, 150)
    for side in ("english", "hindi"):
        trained = {getattr(pair, side) for seed in (1, 2) for pair in sample("train", 3000, seed)}
        assert trained.isdisjoint(getattr(pair, side) for pair in tested)


def test_held_out_contexts_do_not_occur_in_training() -> None:
    """Two English verbs may be one in Hindi; what is held out is held out on both sides."""
    trained = [disambiguated_sentence(SentenceBuilder(seed)) for seed in range(12_000)]
    tested = [disambiguated_sentence(SentenceBuilder(seed, held_out=True)) for seed in range(3000)]
    for side in ("english", "hindi"):
        sentences = {getattr(pair, side) for pair in trained}
        assert sentences.isdisjoint(getattr(pair, side) for pair in tested)


def test_unseen_pairs_are_not_in_training_but_their_words_are(
    pairs: tuple[SentencePair, ...],
) -> None:
    lexicon = read_lexicon()
    held = {
        (verb.english.base, noun.english)
        for verb in lexicon.verbs
        for noun in held_out_objects(verb)
    } | {
        (adjective.english, noun.english)
        for nouns in lexicon.nouns.values()
        for noun in nouns
        for adjective in held_out_adjectives(noun)
    }
    assert len(held) > 200
    trained = {
        word for seed in range(8) for pair in sample("train", 3000, seed) for word in _words(pair)
    }
    missing = [
        word for pair in sample("unseen", 200) for word in _words(pair) if word not in trained
    ]
    assert len(missing) < 5  # of words; a form may be rare


def _words(pair: SentencePair) -> list[str]:
    return [word.strip(',.?!।"').lower() for word in pair.english.split()]


def test_longer_sentences_are_longer_than_any_in_training() -> None:
    assert min(len(pair.english.split()) for pair in sample("longer", 30, max_words=20)) == 21
    assert max(len(pair.english.split()) for pair in sample("longer", 60, max_words=20)) <= 30


@pytest.mark.parametrize("split", ["context", "idiom", "agreement"])
def test_every_reference_passes_its_own_checks(split: str) -> None:
    for pair in sample(split, 200):
        checks = [check for check in pair.checks if check.kind == split]
        assert checks
        assert all(check.passes(pair.hindi) for check in checks), pair.hindi


def test_attachments_are_ambiguous_or_have_a_check() -> None:
    pairs = sample("attachment", 200)
    assert all(bool(pair.others) != bool(pair.checks) for pair in pairs)
    assert all(check.passes(pair.hindi) for pair in pairs for check in pair.checks)
    assert {bool(pair.others) for pair in pairs} == {True, False}


def test_every_sense_of_every_word_is_tested() -> None:
    tested = {
        (check.about, check.right) for pair in sample("context", 2000) for check in pair.checks
    }
    assert {word for word, _ in tested} == set(ambiguous_words())
    for word, senses in read_lexicon().senses.items():
        forms = {" ".join(form) for sense in senses for form in sense.noun.hindi}
        assert len({right for about, right in tested if about == word}) >= len(senses) > 1
        assert all(right[0] in forms for about, right in tested if about == word)


def test_every_template_is_filled_without_a_gap() -> None:
    for template in templates():
        for seed in range(4):
            pair = fill_template(SentenceBuilder(seed), template)
            text = pair.english + pair.hindi
            assert not any(mark in text for mark in "_~{}<>|"), text
            assert all(check.passes(pair.hindi) for check in pair.checks), template


def test_a_first_person_sentence_has_both_genders_as_translations() -> None:
    first_person = [pair for pair in sample("train", 3000) if pair.english.startswith("I ")]
    assert first_person
    agreeing = [t for t in first_person if "रहा हूँ" in t.hindi or "ता हूँ" in t.hindi]
    assert agreeing
    assert all(pair.others for pair in agreeing)


def test_pairs_have_both_directions() -> None:
    pairs = sample("train", 5)
    forward, backward = list(primer_pairs(pairs)), list(primer_pairs(pairs, backwards=True))
    assert [(pair.source, pair.target) for pair in forward] == [
        (pair.target, pair.source) for pair in backward
    ]


def test_an_unknown_split_is_an_error() -> None:
    with pytest.raises(UserError, match="no split 'test': choose one of train, valid"):
        generate_sentences("test")


def test_a_translation_check_matches_whole_words() -> None:
    check = TranslationCheck("context", "bank", ("बैंक",), ("किनारा", "किनारे"))
    assert check.passes("रवि बैंक गया।")
    assert not check.passes("रवि बैंकों में गया।")
    assert not check.passes("रवि बैंक के किनारे गया।")


def test_nearly_all_pairs_are_distinct() -> None:
    pairs = sample("train", 3000)
    assert len({pair.english for pair in pairs}) > 0.97 * len(pairs)
