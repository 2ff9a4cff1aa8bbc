"""Agreement tables of the primer: every form of every word, with the features it agrees in.

Cells are what a Hindi verb can show, one bit for each person and gender; shapes are the five forms
of an adjective. Both are sets of bits, so that to agree is to have one in common.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dhyan.data.primer.hindi_morphology import HindiVerb
from dhyan.data.primer.lexicon import Noun, Verb, read_lexicon
from dhyan.data.synthetic import english_number, hindi_number

Words = tuple[str, ...]
Pair = tuple[Words, Words]

# मैं, तुम, third person singular and plural; masculine, then feminine.
I_HE, I_SHE, YOU_HE, YOU_SHE, HE, SHE, THEY_HE, THEY_SHE = (1 << bit for bit in range(8))
BY_FORM = (I_HE | HE, YOU_HE | THEY_HE, I_SHE | SHE, YOU_SHE | THEY_SHE)  # रहा रहे रही रहीं
BY_WHO = (I_HE | I_SHE, YOU_HE | YOU_SHE, HE | SHE, THEY_HE | THEY_SHE)  # हूँ हो है हैं
MALE, FEMALE, ALL = BY_FORM[0] | BY_FORM[1], BY_FORM[2] | BY_FORM[3], 255
EITHER = BY_FORM[2] | BY_FORM[3]  # रही is singular and plural


def _forms(words: str, *cells: int) -> dict[str, int]:
    return dict(zip(words.split(), cells, strict=True))


PRESENT = _forms("हूँ हो है हैं", *BY_WHO)
PAST = _forms("था थे थी थीं", *BY_FORM)
FUTURE = _forms(
    "होऊँगा होऊँगी होगे होगा होगी होंगे होंगी",
    I_HE, I_SHE, YOU_HE, HE, YOU_SHE | SHE, THEY_HE, THEY_SHE,
)  # fmt: skip
BEING = PRESENT | PAST | FUTURE
PROGRESSIVE = _forms("रहा रहे रही", *BY_FORM[:2], EITHER)
CAN = _forms("सकता सकते सकती", *BY_FORM[:2], EITHER)
PURPOSE = _forms("सकूँ सको सके सकें", *BY_WHO)
WANT = _forms("चाहता चाहते चाहती", *BY_FORM[:2], EITHER)
BEGAN = _forms("लगा लगे लगी लगीं", *BY_FORM)
AUXILIARIES = (
    PRESENT | PAST | PROGRESSIVE | CAN | PURPOSE | WANT | BEGAN | {"चाहिए": ALL, "हुए": ALL}
)
# Verb forms before each auxiliary; without an auxiliary, the sentence ends in the verb.
FORMS_BEFORE = (
    {"": "perfective future imperative", "चाहिए": "due", "हुए": "resting"}
    | dict.fromkeys(PRESENT, "habitual perfect due")
    | dict.fromkeys(PAST, "habitual perfect")
    | dict.fromkeys((*PROGRESSIVE, *CAN, *PURPOSE), "stem")
    | dict.fromkeys(WANT, "wanted")
    | dict.fromkeys(BEGAN, "begun")
)
FEELING_NOUNS = {"भूख": SHE, "प्यास": SHE, "बुख़ार": HE, "ज़ुकाम": HE, "सिरदर्द": HE}  # रवि को भूख लगी है
WEATHER = dict.fromkeys(("बारिश", "ठंड", "गर्मी"), SHE)  # बारिश हो रही थी
FEELINGS = {
    "hungry": "भूख लगी",
    "thirsty": "प्यास लगी",
    "a fever": "बुख़ार",
    "a cold": "ज़ुकाम",
    "a headache": "सिरदर्द",
}

# By the last character of a word that agrees as an adjective does: का के की, अपना अपने अपनी.
SHAPES = {"ा": 1, "े": 2 | 16, "ी": 4 | 8}
# By English word, Hindi number, and whether a postposition follows.
DEMONSTRATIVES = {
    "this": (("यह", "इस"), ("ये", "इन")),
    "these": ((), ("ये", "इन")),
    "that": (("वह", "उस"), ("वे", "उन")),
    "those": ((), ("वे", "उन")),
}
# Cells, then the direct form, the form with ने and the form with को.
PRONOUNS: dict[str, tuple[tuple[int, str], ...]] = {
    "I": ((I_HE | I_SHE, "मैं मैंने मुझे"),),
    "we": ((THEY_HE | THEY_SHE, "हम हमने हमें"),),
    "you": ((YOU_HE | YOU_SHE, "तुम तुमने तुम्हें"), (THEY_HE | THEY_SHE, "आप आपने आपको")),
    "he": ((HE, "वह उसने उसे"), (THEY_HE, "वे उन्होंने उन्हें")),
    "she": ((SHE, "वह उसने उसे"), (THEY_SHE, "वे उन्होंने उन्हें")),
    "they": ((THEY_HE | THEY_SHE, "वे उन्होंने उन्हें"),),
    "it": ((HE | SHE, "वह उसने उसे"),),
    "who": ((HE, "कौन किसने किसे"),),
    "what": ((HE, "क्या"),),
}
SUBJECTS = {
    (english, word): (cells, case)
    for english, rows in PRONOUNS.items()
    for cells, words in rows
    for word, case in zip(words.split(), ("", "ने", "को"), strict=False)
}
CORRELATIVES = {"वह": "", "वे": "", "उसने": "ने", "उन्होंने": "ने", "उसे": "को", "उन्हें": "को"}
RELATIVES = {
    "जो": "",
    "जिसने": "ने",
    "जिन्होंने": "ने",
    "जिसे": "को",
    "जिन्हें": "को",
    "जिस": "?",
    "जिन": "?",
}
VOCATIVES = {"Sir": MALE, "Madam": FEMALE, "Mother": FEMALE, "Father": MALE, "Grandmother": FEMALE}
VOCATIVES |= {"Grandfather": MALE, "Teacher": MALE, "Doctor": MALE, "Son": MALE, "Daughter": FEMALE}
MARKERS = frozenset("ने को से का के की में पर तक".split())


class VerbForm(NamedTuple):
    """A form of a verb: its kind, and the cells that it may show."""

    verb: Verb
    kind: str
    cells: int


def _hindi_forms(forms: HindiVerb) -> Iterator[tuple[str, str, int]]:
    """Every form of a verb's last word with its kind and cells."""
    for form, cells in enumerate(BY_FORM):
        yield forms.habitual[form], "habitual", cells
        yield forms.perfective[form], "perfective", cells
        yield forms.perfect[form], "perfect", cells
        yield forms.infinitive[form], "due", cells
    for who, cells in enumerate(BY_WHO):
        yield forms.future[who][0], "future", cells & MALE
        yield forms.future[who][1], "future", cells & FEMALE
    yield forms.stem, "stem", ALL
    yield forms.infinitive[0], "wanted", ALL
    yield forms.infinitive[1], "begun", ALL
    yield forms.perfective[1], "resting", ALL
    for word in forms.imperative:
        yield word, "imperative", ALL


def verb_forms() -> dict[Pair, list[VerbForm]]:
    """Every form of every verb, by its words in both languages."""
    lexicon = read_lexicon()
    forms_by_words: dict[Pair, list[VerbForm]] = {}
    for verb in (*lexicon.verbs, *lexicon.speech):
        verb_english = verb.english
        for english in {
            verb_english.base,
            verb_english.third,
            verb_english.past,
            verb_english.participle,
            verb_english.ing,
        }:
            _add_forms(forms_by_words, english, verb)
    stems = {verb.hindi.stem: verb for verb in lexicon.verbs if not verb.hindi.before}
    for english_words, stem in (("went to", "जा"), ("came to", "आ"), ("returned from", "लौट"),
                          ("stopped near", "रुक")):  # fmt: skip
        _add_forms(forms_by_words, tuple(english_words.split()), stems[stem])
    _add_forms(forms_by_words, ("talked",), lexicon.verb("talk to"))
    return forms_by_words


def _add_forms(forms_by_words: dict[Pair, list[VerbForm]], english: Words, verb: Verb) -> None:
    for word, kind, cells in dict.fromkeys(_hindi_forms(verb.hindi)):
        act = VerbForm(verb, kind, cells)
        forms_by_words.setdefault((english, (*verb.hindi.before, word)), []).append(act)
    if verb.vector:  # सड़ गया
        for word, kind, cells in dict.fromkeys(_hindi_forms(verb.vector)):
            if kind in ("perfective", "perfect"):
                words = (*verb.hindi.before, verb.hindi.stem, word)
                act = VerbForm(verb, kind, cells)
                forms_by_words.setdefault((english, words), []).append(act)


def nouns() -> dict[Words, list[tuple[Noun, int]]]:
    """Nouns by their English words, with 1 for a plural that is one in Hindi too."""
    lexicon = read_lexicon()
    listed = [noun for domain in lexicon.nouns.values() for noun in domain]
    listed += [sense.noun for senses in lexicon.senses.values() for sense in senses]
    nouns_by_words: dict[Words, list[tuple[Noun, int]]] = {}
    for noun in listed:
        nouns_by_words.setdefault(noun.english, []).append((noun, 0))
        if not (noun.mass or noun.pair):
            nouns_by_words.setdefault(noun.plural, []).append((noun, 1))
    return nouns_by_words


def adjectives() -> dict[Pair, int]:
    """The shapes that an adjective has, by its words in both languages."""
    shapes: dict[Pair, int] = {}
    for adjective in read_lexicon().adjectives:
        for shape, hindi in enumerate(adjective.hindi):
            shapes[adjective.english, hindi] = (
                shapes.get((adjective.english, hindi), 0) | 1 << shape
            )
    return shapes


def names() -> dict[str, tuple[str, int]]:
    """People's names in Hindi, with their cells."""
    return {
        name.english: (name.hindi, SHE if name.gender == "f" else HE)
        for name in read_lexicon().names
    }


# Function words, each with all its Hindi translations; / separates words, + joins them.
FUNCTION_WORDS = """
and और | but लेकिन | because क्योंकि | so इसलिए | so+that ताकि | that कि/जो | and+then और+फिर | when जब/कब
although हालाँकि | if अगर | where कहाँ | why क्यों | not नहीं/मत | please कृपया | here यहाँ | there वहाँ
home घर | in में/पर | on पर/में/को | at पर/में | from से | to में/पर/तक | with के+साथ | every हर
a एक/कोई/किसी | an एक/कोई/किसी
some कुछ | many कई | how+many कितने/कितनी | who कौन/किसने/किसे/जो/जिस/जिन/जिसने/जिसे/जिन्होंने/जिन्हें
that जिस/जिन/जिसने/जिसे/जिन्होंने/जिन्हें | what क्या | cannot सकता/सकते/सकती
can सकता/सकते/सकती/सके/सकें/सको/सकूँ | could सके/सकें/सको/सकूँ
want चाहता/चाहते/चाहती/चाहिए | wants चाहता/चाहते/चाहती/चाहिए | wanted चाहता/चाहती/चाहिए | should चाहिए
began लगा/लगे/लगी/लगीं | am हूँ | is है | are हैं/हो | was था/थी/थे/थीं | were थे/थीं/था/थी
has है/हैं | have हूँ/हो/है/हैं | had था/थे/थी/थीं | like पसंद | likes पसंद | liked पसंद
are है | is हैं | have होगा/होगी/होंगे/होंगी | be होगा/होगी/होंगे/होंगी
said कहा | photographed तस्वीर+ली | about के+बारे+में
it उसे/उससे/उस/उसका/उसकी/उसके | them उन्हें/उनसे/उन/उनका/उनकी/उनके
raining बारिश+हो | cold ठंड | hot गर्मी
him उसे/उससे/उस/उसका/उसकी/उसके | her उसे/उससे/उस/उसका/उसकी/उसके
he उसके | she उसके | we हमारे
Sir सर | Madam मैडम | Mother माँ | Father पिताजी | Grandmother दादीजी | Grandfather दादाजी
Teacher गुरुजी | Doctor डॉक्टर+साहब | Son बेटा | Daughter बेटी
"""
# Possessives, without the ending that agrees.
POSSESSIVES = {"his": "उसक उनक अपन", "her": "उसक उनक अपन", "our": "हमार अपन", "their": "उनक अपन"}
POSSESSIVES |= {"my": "मेर अपन", "your": "तुम्हार आपक अपन"}


def pairs() -> set[Pair]:
    """All words that may translate each other, except the genitives of names."""
    translations: set[Pair] = {*verb_forms(), *adjectives(), *_function_word_pairs()}
    translations |= {
        (english, form)
        for english, all in nouns().items()
        for noun, _ in all
        for form in noun.hindi
    }
    translations |= {((english,), (hindi,)) for english, (hindi, _) in names().items()}
    lexicon = read_lexicon()
    translations |= {
        (singular.english, singular.hindi) for singular in (*lexicon.manner, *lexicon.times)
    }
    translations |= {
        ((english_number(n).replace(" ", "-"),), (hindi_number(n),)) for n in range(2, 100)
    }
    translations |= {((str(n),), (str(n),)) for n in range(1, 29)}
    translations |= {(month.english, month.hindi) for month in lexicon.months}
    translations |= {((english,), (hindi,)) for english, hindi in SUBJECTS}
    translations |= {
        ((*english.split(),), (*hindi.split(),)) for english, hindi in FEELINGS.items()
    }
    translations |= {
        ((english,), (word,))
        for english, (singular, plural) in DEMONSTRATIVES.items()
        for word in (*singular, *plural)
    }
    return translations


def _function_word_pairs() -> Iterable[Pair]:
    for line in FUNCTION_WORDS.strip().replace("\n", " | ").split(" | "):
        english, hindi = line.split()
        for word in hindi.split("/"):
            yield (*english.split("+"),), (*word.split("+"),)
