"""Clauses where Hindi has things come to someone: having, liking, wanting, being hungry."""

from dhyan.data.primer.clauses import Clause
from dhyan.data.primer.copula_clauses import copula, person, thing
from dhyan.data.primer.hindi_morphology import COPULA, MANY, ONE, WAS, F, M
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.noun_phrases import unknown
from dhyan.data.primer.pronouns import PRONOUNS
from dhyan.data.primer.sentence_builder import OTHER, Draft, Phrase, form_of
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


def having(draft: Draft, mood: str, room: int, *, parent: int = ROOT) -> Clause:
    """Ravi has a book: रवि के पास एक किताब है."""
    idea = draft.idea(parent)
    owner = person(draft, idea, "के", 0) if draft.chance(0.75) else _pronoun(draft, idea)
    owned = unknown(draft, draft.word(read_lexicon().verb("buy").object_nouns), idea)
    has: list[Word] = [("had" if mood == "past" else HAVE[owner.number], idea, True)]
    if mood == "future":
        has = [("will", idea, False), ("have", idea, True)]
    _, hai = copula(owned, mood, idea)
    near: Word = ("पास", idea, False)
    return Clause(
        [*owner.english, *has, *owned.english],
        [*owner.hindi, near, *owned.hindi, *hai],
        owner,
        idea,
    )


def _pronoun(draft: Draft, idea: int) -> Phrase:
    """Someone by a pronoun who has something: मेरे पास."""
    key, owner = draft.one(OWNERS), draft.idea(idea)
    if draft.open(key):
        key = "we"
    found = PRONOUNS[key]
    return Phrase(
        english=[(found.subject, owner, True)],
        hindi=[(found.whose[1], owner, True)],
        who=found.who,
        form=form_of(feminine=key == "she", plural=key == "we"),
        number=found.number,
        label=key,
        person=True,
        idea=owner,
    )


def liking(
    draft: Draft, mood: str, room: int, *, parent: int = ROOT, negated: bool = False
) -> Clause:
    """Ravi likes mangoes: रवि को आम पसंद हैं."""
    idea = draft.idea(parent)
    holder = person(draft, idea, "को", 1)
    noun, liked = thing(draft, LIKED), draft.idea(idea)
    plural = not (noun.mass or noun.pair)
    words = noun.english if noun.mass else noun.plural
    said = noun.hindi[2 if plural else 0]
    end = WAS[form_of(feminine=noun.feminine, plural=plural)]
    if mood != "past":
        end = COPULA[MANY if plural else ONE]
    verb, no = _english(draft, "like", mood, holder, idea, negated=negated)
    return Clause(
        [*holder.english, *verb, *((word, liked, True) for word in words)],
        [
            *holder.hindi,
            *((word, liked, True) for word in said),
            ("पसंद", idea, True),
            *no,
            (end, idea, False),
        ],
        holder,
        idea,
    )


def wanting(
    draft: Draft, mood: str, room: int, *, parent: int = ROOT, negated: bool = False
) -> Clause:
    """Ravi wants a pen: रवि को एक क़लम चाहिए."""
    idea = draft.idea(parent)
    holder = person(draft, idea, "को", 1)
    wish = unknown(draft, thing(draft, WANTED), idea)
    verb, no = _english(draft, "want", mood, holder, idea, negated=negated)
    end: list[Word] = [("चाहिए", idea, True)]
    if mood == "past":
        end.append((WAS[wish.form], idea, False))
    return Clause(
        [*holder.english, *verb, *wish.english],
        [*holder.hindi, *wish.hindi, *no, *end],
        holder,
        idea,
    )


def _english(
    draft: Draft, base: str, mood: str, holder: Phrase, idea: int, *, negated: bool
) -> tuple[list[Word], list[Word]]:
    """The English verb, and the Hindi word that denies it if it is denied."""
    past = mood == "past"
    if negated:
        no = draft.idea(idea)
        helper: Word = ("did" if past else DO[holder.number], idea, False)
        return [helper, ("not", no, True), (base, idea, True)], [("नहीं", no, True)]
    if past:
        return [(base + ("d" if base.endswith("e") else "ed"), idea, True)], []
    return [(base + ("s" if holder.number == OTHER else ""), idea, True)], []


def feeling(draft: Draft, mood: str, room: int, *, parent: int = ROOT) -> Clause:
    """Ravi is hungry: रवि को भूख लगी है."""
    idea = draft.idea(parent)
    holder = person(draft, idea, "को", 1)
    verb, words, said, feminine = draft.one(FEELINGS)
    past = mood == "past"
    forms = (BEEN if past else BE) if verb == "be" else (("had",) * 3 if past else HAVE)
    end = WAS[F if feminine else M] if past else COPULA[ONE]
    return Clause(
        [*holder.english, (forms[holder.number], idea, False), *((w, idea, True) for w in words)],
        [*holder.hindi, *((word, idea, True) for word in said), (end, idea, False)],
        holder,
        idea,
    )
