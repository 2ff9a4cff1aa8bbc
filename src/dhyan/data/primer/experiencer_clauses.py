"""Experiencer clauses: possession, liking, wanting, hunger; the Hindi subject takes a case marker."""

from dhyan.data.primer.clauses import Clause
from dhyan.data.primer.copula_clauses import copula, person, thing
from dhyan.data.primer.hindi_morphology import COPULA, MANY, ONE, WAS, F, M
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.noun_phrases import PRONOUNS, indefinite_phrase
from dhyan.data.primer.sentence_builder import THIRD_SINGULAR, Phrase, SentenceBuilder, form_of
from dhyan.data.primer.sentence_pair import ROOT, Word
from dhyan.data.primer.verb_groups import BE, BEEN, DO, HAVE

# What comes over someone: the English verb and its words, the Hindi ones, whether feminine.
FEELINGS = (
    ("be", ("hungry",), ("भूख", "लगी"), True),
    ("be", ("thirsty",), ("प्यास", "लगी"), True),
    ("have", ("a", "fever"), ("बुख़ार",), False),
    ("have", ("a", "cold"), ("ज़ुकाम",), False),
    ("have", ("a", "headache"), ("सिरदर्द",), False),
)
LIKED = ("food", "fruits", "drinks", "animals", "games", "music", "clothes")
WANTED = ("food", "fruits", "drinks", "school", "tools", "clothes")
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
    """Someone by a pronoun who has something: मेरे पास."""
    key, owner = builder.choose(OWNERS), builder.add_node(node)
    if builder.is_ambiguous(key):
        key = "we"
    found = PRONOUNS[key]
    return Phrase(
        english=[(found.subject, owner, True)],
        hindi=[(found.whose[1], owner, True)],
        who=found.who,
        form=form_of(feminine=key == "she", plural=key == "we"),
        number=found.number,
        pronoun=key,
        person=True,
        node=owner,
    )


def liking_clause(
    builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT, negated: bool = False
) -> Clause:
    """Ravi likes mangoes: रवि को आम पसंद हैं."""
    node = builder.add_node(parent)
    holder = person(builder, node, "को", 1)
    noun, liked = thing(builder, LIKED), builder.add_node(node)
    plural = not (noun.mass or noun.pair)
    words = noun.english if noun.mass else noun.plural
    said = noun.hindi[2 if plural else 0]
    end = WAS[form_of(feminine=noun.feminine, plural=plural)]
    if time != "past":
        end = COPULA[MANY if plural else ONE]
    verb, no = _english(builder, "like", time, holder, node, negated=negated)
    return Clause(
        [*holder.english, *verb, *((word, liked, True) for word in words)],
        [
            *holder.hindi,
            *((word, liked, True) for word in said),
            ("पसंद", node, True),
            *no,
            (end, node, False),
        ],
        holder,
        node,
    )


def wanting_clause(
    builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT, negated: bool = False
) -> Clause:
    """Ravi wants a pen: रवि को एक क़लम चाहिए."""
    node = builder.add_node(parent)
    holder = person(builder, node, "को", 1)
    wish = indefinite_phrase(builder, thing(builder, WANTED), node)
    verb, no = _english(builder, "want", time, holder, node, negated=negated)
    end: list[Word] = [("चाहिए", node, True)]
    if time == "past":
        end.append((WAS[wish.form], node, False))
    return Clause(
        [*holder.english, *verb, *wish.english],
        [*holder.hindi, *wish.hindi, *no, *end],
        holder,
        node,
    )


def _english(
    builder: SentenceBuilder, base: str, time: str, holder: Phrase, node: int, *, negated: bool
) -> tuple[list[Word], list[Word]]:
    """The English verb, and the Hindi word that denies it if it is denied."""
    past = time == "past"
    if negated:
        no = builder.add_node(node)
        helper: Word = ("did" if past else DO[holder.number], node, False)
        return [helper, ("not", no, True), (base, node, True)], [("नहीं", no, True)]
    if past:
        return [(base + ("d" if base.endswith("e") else "ed"), node, True)], []
    return [(base + ("s" if holder.number == THIRD_SINGULAR else ""), node, True)], []


def feeling_clause(builder: SentenceBuilder, time: str, room: int, *, parent: int = ROOT) -> Clause:
    """Ravi is hungry: रवि को भूख लगी है."""
    node = builder.add_node(parent)
    holder = person(builder, node, "को", 1)
    verb, words, said, feminine = builder.choose(FEELINGS)
    past = time == "past"
    forms = (BEEN if past else BE) if verb == "be" else (("had",) * 3 if past else HAVE)
    end = WAS[F if feminine else M] if past else COPULA[ONE]
    return Clause(
        [*holder.english, (forms[holder.number], node, False), *((w, node, True) for w in words)],
        [*holder.hindi, *((word, node, True) for word in said), (end, node, False)],
        holder,
        node,
    )
