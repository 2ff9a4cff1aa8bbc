"""The lexicon: parsing, errors by line, and the consistency of the shipped file."""

import re
import unicodedata
from collections import Counter
from dataclasses import fields
from itertools import chain, combinations

import pytest

from dhyan.data.primer.english_morphology import EnglishVerb, verb_forms
from dhyan.data.primer.hindi_morphology import HindiVerb
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.lexicon_parser import DOMAINS, TAGS
from dhyan.errors import UserError

SMALL = """
# a comment
[names]
Ravi = रवि m
Sita = सीता f
[nouns people]
farmer = किसान m
child / children = बच्चा m   # and another
[nouns family]
mother = माँ f honorific
father = पिता m honorific fixed
[nouns animals]
fish = मछली f
[nouns food]
ice cream = आइसक्रीम f mass
rice = चावल m mass
[nouns clothes]
trousers = पतलून f pair
[nouns vehicles]
boat = नाव f
[nouns places]
garden = बगीचा m in:में
station = स्टेशन m at:पर
[nouns games]
cricket = क्रिकेट m mass
[nouns music]
drum = ढोल m
[nouns money]
money = पैसा m mass
loan = कर्ज़ m
[adjectives]
big = बड़ा | places =boat
old = बूढ़ा | people
old = पुराना | vehicles clothes
excellent = बढ़िया fixed | food
[verbs]
eat / ate / eaten = खाना | people family | =ice cream =rice
play = खेलना | people | games
play = बजाना | people | music
run / ran / run = दौड़ना to | people animals
run / ran / run = चलाना | people | =boat
sit / sat = बैठना rests | people
work = काम करना agrees:m | people
sneeze = छींकना | people animals
bring / brought = लाना plain | people | food
help = मदद करना object:की agrees:f | people | people
deposit = जमा करना | people | =money
take / took / taken = लेना | people | =loan
look at = देखना | people | animals vehicles
catch / caught = पकड़ना | people | =fish
give / gave / given = देना | people | money food | people family
[speech]
say / said = कहना
hope = उम्मीद करना agrees:f
forget / forgot / forgotten = भूलना plain
[manner]
quickly = जल्दी से
[times]
yesterday = कल past
tomorrow = कल future
[senses]
bank = बैंक m place | deposit money, take a loan
bank = किनारा m place | catch fish, look at the boats, catch a fish
bat = बल्ला m thing | play cricket
"""


@pytest.fixture
def write_lexicon(tmp_path):
    def write(text):
        path = tmp_path / "lexicon.txt"
        path.write_text(text, encoding="utf-8")
        return read_lexicon(path)

    return write


@pytest.fixture
def small(write_lexicon):
    return write_lexicon(SMALL)


def text(nouns):
    return [" ".join(noun.english) for noun in nouns]


def test_names_keep_their_gender(small):
    names = [(name.english, name.hindi, name.gender) for name in small.names]
    assert names == [("Ravi", "रवि", "m"), ("Sita", "सीता", "f")]


def test_a_noun_has_its_forms_in_both_languages(small):
    child = small.noun("child")
    assert (child.english, child.plural) == (("child",), ("children",))
    assert child.hindi == (("बच्चा",), ("बच्चे",), ("बच्चे",), ("बच्चों",))
    assert not child.feminine
    assert child.domain == "people"
    assert small.noun("ice cream").english == ("ice", "cream")


def test_tags_determine_noun_inflection(small):
    assert small.noun("mother").honorific
    assert small.noun("father").hindi[1] == ("पिता",)
    assert small.noun("rice").mass
    assert small.noun("trousers").pair
    assert small.noun("trousers").plural == ("trousers",)
    assert small.noun("garden").adpositions == ("in", "में")
    assert small.noun("station").adpositions == ("at", "पर")
    assert small.noun("rice").adpositions is None


def test_adjectives_describe_nouns_by_domain_or_by_name(small):
    def qualities(word):
        return [adjective.hindi[0] for adjective in small.noun(word).adjectives]

    assert qualities("boat") == [("बड़ा",), ("पुराना",)]
    assert qualities("farmer") == [("बूढ़ा",)]
    assert qualities("station") == [("बड़ा",)]
    assert small.noun("rice").adjectives[0].hindi == (("बढ़िया",),) * 5


def test_a_verb_has_subjects_objects_and_recipients(small):
    give = small.verb("give")
    assert text(give.subject_nouns) == ["child", "farmer"]
    assert text(give.object_nouns) == ["loan", "rice", "money", "ice cream"]
    assert text(give.recipient_nouns) == ["child", "farmer", "mother", "father"]
    assert give.named
    assert text(small.verb("eat").object_nouns) == ["rice", "ice cream"]
    assert small.verb("eat").english.participle == ("eaten",)


def test_the_object_disambiguates_a_verb(small):
    assert small.verb("play", small.noun("drum")).hindi.stem == "बजा"
    assert small.verb("play", small.noun("cricket")).hindi.stem == "खेल"
    with pytest.raises(UserError, match="no verb 'play' in the lexicon takes 'rice'"):
        small.verb("play", small.noun("rice"))


def test_transitive_verbs_are_ergative(small):
    ergative = {" ".join(v.english.base) for v in (*small.verbs, *small.speech) if v.ergative}
    assert ergative.isdisjoint({"sit", "bring", "forget"})
    assert ergative >= {"eat", "work", "sneeze", "help", "say", "hope"}
    assert not small.verb("run").ergative


def test_tags_determine_verb_behaviour(small):
    assert small.verb("run").to
    assert small.verb("sit").rests
    assert (small.verb("help").marker, small.verb("help").agrees) == ("की", "f")
    assert (small.verb("eat").marker, small.verb("eat").agrees) == ("", "")


def test_speech_verbs_have_human_subjects_by_default(small):
    assert small.verb("say").subjects == ("people", "family")
    assert small.verb("say").named


def test_a_time_has_its_tense(small):
    times = [(time.english, time.tense) for time in small.times]
    assert times == [(("tomorrow",), "future"), (("yesterday",), "past")]
    assert small.manner[0].hindi == ("जल्दी", "से")


def test_cues_are_actions_of_the_lexicon(small):
    money, shore = small.senses["bank"]
    assert (money.kind, money.noun.hindi[0]) == ("place", ("बैंक",))
    cues = [(c.verb.hindi.stem, c.article, c.noun.english, c.plural) for c in shore.cues]
    assert cues == [
        ("पकड़", "", ("fish",), True),
        ("देख", "the", ("boat",), True),
        ("पकड़", "a", ("fish",), False),
    ]
    assert [cue.noun.mass for cue in money.cues] == [True, False]
    [bat] = small.senses["bat"]
    assert bat.cues[0].verb.hindi.stem == "खेल"


def test_choices_are_distinct_with_short_words_first(small):
    assert text(small.choices(("food", "=rice", "=drum"))) == ["rice", "drum", "ice cream"]
    assert small.choices(("food",)) is small.choices(("food",))


def test_precomposed_letters_are_normalised(write_lexicon):
    assert write_lexicon("[nouns money]\nloan = कर्\u095b m").noun("loan").hindi[0] == ("कर्ज\u093c",)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[nouns planets]", r": no domain 'planets': write \[nouns DOMAIN\] with one of people"),
        ("[verb]", r": no section 'verb': write one of names, nouns"),
        ("[nouns food]\nbread रोटी f", r": 'bread रोटी f' is no entry: write ENGLISH = HINDI"),
        ("[nouns food]\nbread = roti f", r": 'bread = roti f' is no entry"),
        ("[nouns food]\nbread2 = रोटी f", r": bread2: 'bread2' is no English word"),
        ("[nouns food]\nbread = रोटी।: f", r": bread: 'रोटी।:' is not written in Devanagari"),
        ("[nouns food]\nbread = रोटी", r": bread: has none of m, f; write exactly one of them"),
        ("[nouns food]\nbread = रोटी m f", r": bread: has m and f of m, f; write exactly one"),
        ("[nouns food]\nbread = रोटी f warm", r": bread: no tag 'warm' in \[nouns\]; it may"),
        ("[nouns food]\nbread / a / b = रोटी f", r": bread: has 3 forms; write at most 2"),
        ("[nouns food]\nrice = भात m", r": rice: stands on line \d+ already; write it once"),
        ("[times]\nsoon = जल्दी", r": soon: has none of past, future, habitual, progressive"),
        ("[adjectives]\nold = पुराना | =boat", r": old: goes with boat on line \d+ too; name it"),
        ("[verbs]\nplay = बजाना | people | =cricket", r": play: goes with cricket on line \d+"),
        ("[verbs]\nrun = भागना | people", r": run: goes with child on line \d+ too"),
        ("[verbs]\ncook = पका | people", r": cook: 'पका' is no infinitive; .* ends in ना"),
        ("[adjectives]\nred = लाल", r": red: has no nouns to describe; write \| domains"),
        ("[nouns food]\nbread = रोटी f | food", r": bread: has 1 fields after \|; write at most 0"),
        ("[verbs]\ncook = पकाना", r": cook: has no subjects; write \| people"),
        ("[verbs]\ncook = पकाना | peple", r": cook: 'peple' is no domain.*; did you mean people"),
        ("[verbs]\ncook = पकाना | people | =rise", r": cook: '=rise' is no .*; did you mean =rice"),
        ("[verbs]\ncook = पकाना | people | tools", r": cook: nothing is listed under tools yet"),
        ("[senses]\nbat = चमगादड़ m", r": bat: has none of place, thing, maker; write exactly one"),
        ("[senses]\nbat = चमगादड़ m thing", r": bat: cue '' begins with no verb that takes"),
        ("[senses]\nbat = चमगादड़ m thing | sit money", r"cue 'sit money' begins with no verb that"),
        ("[senses]\nbat = चमगादड़ m thing | catch a fsh", r"names 'fsh', .*; did you mean fish"),
        ("[senses]\nbat = चमगादड़ m thing | take loan", r"cue 'take loan' has a bare loan; "),
        ("[senses]\nbat = चमगादड़ m thing | play rice", r": bat: cue 'play rice': no verb 'play'"),
    ],
)  # fmt: skip
def test_an_error_names_the_line_and_what_to_write(write_lexicon, line, message):
    with pytest.raises(UserError, match=message) as caught:
        write_lexicon(SMALL + line)
    last = (SMALL + line).count("\n") + 1
    assert f"lexicon.txt:{last}: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_ambiguous_word_cannot_be_a_noun_too(write_lexicon):
    with pytest.raises(UserError, match=r"bank: stands on line \d+ already; write it once"):
        write_lexicon(SMALL + "[nouns food]\nbank = भात m")


def test_words_before_any_section_are_an_error(write_lexicon):
    with pytest.raises(UserError, match=r":2: 'rice = चावल m mass' stands before any \[section\]"):
        write_lexicon("\nrice = चावल m mass")


def test_an_unknown_word_is_an_error_with_a_suggestion(small):
    with pytest.raises(UserError, match="no noun 'fsh' in the lexicon; did you mean fish"):
        small.noun("fsh")
    with pytest.raises(UserError, match="no verb 'cach' in the lexicon; did you mean catch"):
        small.verb("cach")


# The lexicon that is shipped.

HINDI = re.compile(r"[\u0900-\u097f]+(-[\u0900-\u097f]+)*")
ENGLISH = re.compile(r"[A-Za-z]+(['-][A-Za-z]+)*")
IRREGULAR = (
    "be become begin bend bite blow break bring build burst buy catch choose come creep dig do "
    "draw drink drive eat fall feed feel fight find fly forget forgive freeze get give go grow "
    "hang have hear hide hold keep know lay lead leave lend lose make mean meet pay ride ring rise "
    "run say see seek sell send shake shine shoot sing sink sit sleep speak spend spin stand steal "
    "stick strike sweep swim swing take teach tear tell think throw understand wake wear weave win "
    "write bet cast cost cut hit hurt let put quit set shut split spread read grind sting light"
).split()


@pytest.fixture(scope="module")
def lexicon():
    return read_lexicon()


def all_nouns(lexicon):
    senses = (sense.noun for sense in chain(*lexicon.senses.values()))
    return [*chain(*lexicon.nouns.values()), *senses]


def all_verbs(lexicon):
    return [*lexicon.verbs, *lexicon.speech]


def verb_words(verb):
    for field in fields(HindiVerb):
        value = getattr(verb.hindi, field.name)
        for form in (value,) if isinstance(value, str) else value:
            yield from (form,) if isinstance(form, str) else form


def words_of(lexicon):
    """Every form of every word, first in English, then in Hindi."""
    plain = (*lexicon.adjectives, *lexicon.manner, *lexicon.times)
    english = [name.english for name in lexicon.names]
    english += chain(*(word.english for word in plain))
    english += chain(*(chain(noun.english, noun.plural) for noun in all_nouns(lexicon)))
    forms = [word.name for word in fields(EnglishVerb)]
    english += chain(*(getattr(v.english, form) for v in all_verbs(lexicon) for form in forms))
    hindi = [name.hindi for name in lexicon.names]
    inflected = [*lexicon.adjectives, *all_nouns(lexicon)]
    hindi += chain(*(form for word in inflected for form in word.hindi))
    hindi += chain(*(word.hindi for word in (*lexicon.manner, *lexicon.times)))
    hindi += chain(*map(verb_words, all_verbs(lexicon)))
    return english, hindi


def test_every_form_is_written_in_its_script(lexicon):
    english, hindi = words_of(lexicon)
    assert [word for word in english if not ENGLISH.fullmatch(word)] == []
    assert [word for word in hindi if not HINDI.fullmatch(word)] == []
    assert all(unicodedata.is_normalized("NFC", word) for word in hindi)


def test_no_form_has_a_vowel_sign_without_a_consonant(lexicon):
    _, hindi = words_of(lexicon)
    stray = re.compile(r"(?:^|[\u0904-\u0914\u093e-\u094c])[\u093e-\u094c]")
    assert [word for word in hindi if stray.search(word)] == []


def test_every_word_has_all_its_forms(lexicon):
    assert {len(noun.hindi) for noun in all_nouns(lexicon)} == {4}
    assert {len(word.hindi) for word in lexicon.adjectives} == {5}
    for verb in all_verbs(lexicon):
        assert [len(getattr(verb.hindi, name)) for name in ("perfective", "perfect")] == [4, 4]
        assert [len(forms) for forms in verb.hindi.future] == [2] * 4


def test_every_domain_and_every_section_has_words(lexicon):
    assert [domain for domain in DOMAINS if not lexicon.nouns[domain]] == []
    assert [section for section in TAGS if not getattr(lexicon, section)] == []
    assert {time.tense for time in lexicon.times} == {*TAGS["times"]}


def test_both_languages_have_hundreds_of_words(lexicon):
    plain = (*lexicon.adjectives, *lexicon.manner, *lexicon.times, *all_nouns(lexicon))
    english = {name.english for name in lexicon.names} | {word.english for word in plain}
    english |= {verb.english.base for verb in all_verbs(lexicon)}
    inflected = (*lexicon.adjectives, *all_nouns(lexicon))
    hindi = {name.hindi for name in lexicon.names} | {word.hindi[0] for word in inflected}
    hindi |= {word.hindi for word in (*lexicon.manner, *lexicon.times)}
    hindi |= {(*v.hindi.before, v.hindi.infinitive[0]) for v in all_verbs(lexicon)}
    assert len(english) >= 800
    assert len(hindi) >= 800


def test_every_english_word_has_one_entry(lexicon):
    words = [name.english for name in lexicon.names]
    words += text(noun for nouns in lexicon.nouns.values() for noun in nouns)
    words += lexicon.senses
    assert [word for word, times in Counter(words).items() if times > 1] == []


def test_no_form_of_a_noun_is_a_form_of_another(lexicon):
    owners = {}
    for noun in all_nouns(lexicon):
        for form in (noun.english, noun.plural):
            owners.setdefault(form, set()).add(noun.english)
    assert [form for form, words in owners.items() if len(words) > 1] == []


def test_an_adjective_has_one_translation_per_noun(lexicon):
    for noun in all_nouns(lexicon):
        words = [adjective.english for adjective in noun.adjectives]
        assert len(words) == len(set(words)), noun


def test_a_verb_has_one_translation_per_object(lexicon):
    for first, second in combinations([verb for verb in lexicon.verbs if verb.objects], 2):
        if first.english.base == second.english.base:
            assert not {*first.object_nouns} & {*second.object_nouns}, first.english.base


def test_every_list_of_partners_has_nouns(lexicon):
    for verb in all_verbs(lexicon):
        assert verb.subject_nouns, verb
        assert bool(verb.object_nouns) == bool(verb.objects), verb
        assert bool(verb.recipient_nouns) == bool(verb.recipients), verb


def test_irregular_verbs_have_their_own_past(lexicon):
    wrong = [
        verb.english.base
        for verb in all_verbs(lexicon)
        if verb.english.base[0] in IRREGULAR
        and verb.english.past == verb_forms(" ".join(verb.english.base)).past
    ]
    assert wrong == []


def test_every_sense_has_cues_that_no_other_sense_of_its_word_has(lexicon):
    for word, senses in lexicon.senses.items():
        assert len(senses) > 1, word
        assert len({sense.noun.hindi for sense in senses}) == len(senses), word
        cues = [{(cue.verb, cue.noun) for cue in sense.cues} for sense in senses]
        assert all(len(first) >= 6 for first in cues), word
        assert all(not first & second for first, second in combinations(cues, 2)), word


def test_the_noun_of_a_cue_is_an_object_of_its_verb(lexicon):
    strange = [
        (word, " ".join((*cue.verb.english.base, *cue.noun.english)))
        for word, senses in lexicon.senses.items()
        for sense in senses
        for cue in sense.cues
        if cue.noun not in cue.verb.object_nouns
    ]
    assert strange == []
