"""Experiencer clauses: possession, liking, wanting, hunger; the Hindi subject takes a case marker."""

from dhyan.data.primer.clauses import Clause
from dhyan.data.primer.copula_clauses import copula, person, sample_thing
from dhyan.data.primer.hindi_morphology import COPULA, MANY, ONE, WAS, F, M
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.noun_phrases import PRONOUNS, indefinite_phrase
from dhyan.data.primer.sentence_builder import THIRD_SINGULAR, Phrase, SentenceBuilder, form_of
from dhyan.data.primer.sentence_pair import ROOT, Word
from dhyan.data.primer.verb_groups import BE, BEEN, DO, HAVE

# States: the English verb and its words, the Hindi words, whether feminine.
FEELINGS = (
    ("be", ("hungry",), ("भूख", "लगी"), True),
    ("be", ("thirsty",), ("प्यास", "लगी"), True),
    ("have", ("a", "fever"), ("बुख़ार",), False),
    ("have", ("a", "cold"), ("ज़ुकाम",), False),
    ("have", ("a", "headache"), ("सिरदर्द",), False),
)
LIKABLE = ("food", "fruits", "drinks", "animals", "games", "music", "clothes")
DESIRABLE = ("food", "fruits", "drinks", "school", "tools", "clothes")
OWNERS = ("he", "she", "we")


def possession_clause(
    builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT
) -> Clause:
    """Ravi has a book: रवि के पास एक किताब है."""
    node = builder.add_node(parent)
    owner = person(builder, node, "के", 0) if builder.flip(0.75) else _pronoun(builder, node)
    owned = indefinite_phrase(
        builder, builder.sample(read_lexicon().verb("buy").object_nouns), node
    )
    has: list[Word] = [("had" if time == "past" else HAVE[owner.number], node, True)]
    if time == "future":
        has = [("will", node, False), ("have", node, True)]
    _, hai = copula(owned, time, node)
    near: Word = ("पास", node, False)
    return Clause(
        [*owner.english, *has, *owned.english],
        [*owner.hindi, near, *owned.hindi, *hai],
        owner,
        node,
    )


def _pronoun(builder: SentenceBuilder, node: int) -> Phrase:
    """A possessor as a pronoun: मेरे पास."""
    key, owner = builder.choose(OWNERS), builder.add_node(node)
    if builder.is_ambiguous(key):
        key = "we"
    pronoun_forms = PRONOUNS[key]
    return Phrase(
        english=[(pronoun_forms.subject, owner, True)],
        hindi=[(pronoun_forms.whose[1], owner, True)],
        who=pronoun_forms.who,
        form=form_of(feminine=key == "she", plural=key == "we"),
        number=pronoun_forms.number,
        pronoun=key,
        person=True,
        node=owner,
    )


def liking_clause(
    builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT, negated: bool = False
) -> Clause:
    """Ravi likes mangoes: रवि को आम पसंद हैं."""
    node = builder.add_node(parent)
    experiencer = person(builder, node, "को", 1)
    noun, liked = sample_thing(builder, LIKABLE), builder.add_node(node)
    plural = not (noun.mass or noun.pair)
    words = noun.english if noun.mass else noun.plural
    hindi_words = noun.hindi[2 if plural else 0]
    end = WAS[form_of(feminine=noun.feminine, plural=plural)]
    if time != "past":
        end = COPULA[MANY if plural else ONE]
    verb, no = _english(builder, "like", time, experiencer, node, negated=negated)
    return Clause(
        [*experiencer.english, *verb, *((word, liked, True) for word in words)],
        [
            *experiencer.hindi,
            *((word, liked, True) for word in hindi_words),
            ("पसंद", node, True),
            *no,
            (end, node, False),
        ],
        experiencer,
        node,
    )


def wanting_clause(
    builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT, negated: bool = False
) -> Clause:
    """Ravi wants a pen: रवि को एक क़लम चाहिए."""
    node = builder.add_node(parent)
    experiencer = person(builder, node, "को", 1)
    desired = indefinite_phrase(builder, sample_thing(builder, DESIRABLE), node)
    verb, no = _english(builder, "want", time, experiencer, node, negated=negated)
    end: list[Word] = [("चाहिए", node, True)]
    if time == "past":
        end.append((WAS[desired.form], node, False))
    return Clause(
        [*experiencer.english, *verb, *desired.english],
        [*experiencer.hindi, *desired.hindi, *no, *end],
        experiencer,
        node,
    )


def _english(
    builder: SentenceBuilder, base: str, time: str, experiencer: Phrase, node: int, *, negated: bool
) -> tuple[list[Word], list[Word]]:
    """The English verb, and the Hindi word that denies it if it is denied."""
    past = time == "past"
    if negated:
        no = builder.add_node(node)
        helper: Word = ("did" if past else DO[experiencer.number], node, False)
        return [helper, ("not", no, True), (base, node, True)], [("नहीं", no, True)]
    if past:
        return [(base + ("d" if base.endswith("e") else "ed"), node, True)], []
    return [(base + ("s" if experiencer.number == THIRD_SINGULAR else ""), node, True)], []


def feeling_clause(builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT) -> Clause:
    """Ravi is hungry: रवि को भूख लगी है."""
    node = builder.add_node(parent)
    experiencer = person(builder, node, "को", 1)
    verb, words, hindi_words, feminine = builder.choose(FEELINGS)
    past = time == "past"
    forms = (BEEN if past else BE) if verb == "be" else (("had",) * 3 if past else HAVE)
    end = WAS[F if feminine else M] if past else COPULA[ONE]
    return Clause(
        [
            *experiencer.english,
            (forms[experiencer.number], node, False),
            *((w, node, True) for w in words),
        ],
        [*experiencer.hindi, *((word, node, True) for word in hindi_words), (end, node, False)],
        experiencer,
        node,
    )
