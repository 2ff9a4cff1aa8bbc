"""English inflection: spelling of plurals, verb forms and articles."""

import pytest

from dhyan.data.primer.english_morphology import a_or_an, noun_plural, verb_forms


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        ("book", "books"), ("bus", "buses"), ("box", "boxes"), ("dish", "dishes"),
        ("peach", "peaches"), ("stomach", "stomachs"), ("city", "cities"), ("day", "days"),
        ("key", "keys"), ("potato", "potatoes"), ("radio", "radios"), ("photo", "photos"),
        ("knife", "knives"), ("leaf", "leaves"), ("roof", "roofs"), ("fisherman", "fishermen"),
        ("woman", "women"), ("human", "humans"), ("child", "children"), ("sheep", "sheep"),
        ("train station", "train stations"), ("mother-in-law", "mothers-in-law"),
    ],
)  # fmt: skip
def test_the_plural_is_spelled_right(word, plural):
    assert noun_plural(word) == plural


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("walk", "walks walked walking"),
        ("stop", "stops stopped stopping"),
        ("beg", "begs begged begging"),
        ("hug", "hugs hugged hugging"),
        ("plan", "plans planned planning"),
        ("visit", "visits visited visiting"),
        ("open", "opens opened opening"),
        ("listen", "listens listened listening"),
        ("fix", "fixes fixed fixing"),
        ("play", "plays played playing"),
        ("sew", "sews sewed sewing"),
        ("cook", "cooks cooked cooking"),
        ("carry", "carries carried carrying"),
        ("wash", "washes washed washing"),
        ("kiss", "kisses kissed kissing"),
        ("dance", "dances danced dancing"),
        ("agree", "agrees agreed agreeing"),
        ("lie", "lies lied lying"),
        ("prefer", "prefers preferred preferring"),
    ],
)
def test_a_regular_verb_is_spelled_right(word, forms):
    verb = verb_forms(word)
    third, past, ing = ((form,) for form in forms.split())
    assert verb.base == (word,)
    assert (verb.third, verb.past, verb.participle, verb.ing) == (third, past, past, ing)


@pytest.mark.parametrize(
    ("word", "ing"),
    [
        ("run", "running"), ("cut", "cutting"), ("put", "putting"), ("sit", "sitting"),
        ("swim", "swimming"), ("forget", "forgetting"), ("begin", "beginning"),
        ("quit", "quitting"), ("draw", "drawing"), ("make", "making"), ("see", "seeing"),
        ("be", "being"), ("tie", "tying"), ("eat", "eating"), ("write", "writing"),
    ],
)  # fmt: skip
def test_the_ing_form_is_spelled_right(word, ing):
    assert verb_forms(word).ing == (ing,)


def test_be_and_have_have_irregular_third_persons():
    words = ("go", "do", "have", "be")
    assert [verb_forms(word).third for word in words] == [("goes",), ("does",), ("has",), ("is",)]


def test_a_missing_participle_equals_the_past():
    assert verb_forms("buy", "bought").participle == ("bought",)
    eat = verb_forms("eat", "ate", "eaten")
    assert (eat.past, eat.participle) == (("ate",), ("eaten",))


def test_the_first_of_several_words_inflects():
    verb = verb_forms("look at")
    assert verb.third == ("looks", "at")
    assert verb.past == ("looked", "at")
    assert verb.ing == ("looking", "at")
    assert verb_forms("wake up", "woke", "woken up").past == ("woke", "up")
    assert verb_forms("wake up", "woke", "woken up").participle == ("woken", "up")


@pytest.mark.parametrize(
    "words",
    [
        "a university", "a uniform", "a useful", "a European", "a one", "a utensil", "a house",
        "a ukulele", "a year", "an hour", "an honest", "an honorable", "an heir", "an umbrella",
        "an uncle", "an ugly", "an unimportant", "an onion", "an old", "an egg", "a hospital",
        "a honey", "an unusual", "an Indian",
    ],
)  # fmt: skip
def test_the_article_follows_the_sound(words):
    article, word = words.split()
    assert a_or_an(word) == article
