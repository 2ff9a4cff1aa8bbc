"""What people say to each other: I and you, requests, and what they leave open."""

from dhyan.data.primer.clauses import Clause, Subject, doing, some_object
from dhyan.data.primer.lexicon import people_verbs, read_lexicon
from dhyan.data.primer.noun_phrases import someone
from dhyan.data.primer.pronouns import pronoun_phrase
from dhyan.data.primer.sentence_builder import Draft, Phrase, sign
from dhyan.data.primer.sentence_pair import CLOSING, OPENING, ROOT, Word, written
from dhyan.data.primer.sentences import answering
from dhyan.data.primer.tenses import Mode, Tense
from dhyan.data.primer.word_classes import Verb

# Whom one speaks to: the words, whether one says आप or तुम, and whether it is a woman.
ADDRESSED = (
    ("Sir", "सर", "you, sir", False),
    ("Madam", "मैडम", "you, sir", True),
    ("Mother", "माँ", "you, sir", True),
    ("Father", "पिताजी", "you, sir", False),
    ("Grandmother", "दादीजी", "you, sir", True),
    ("Grandfather", "दादाजी", "you, sir", False),
    ("Teacher", "गुरुजी", "you, sir", False),
    ("Doctor", "डॉक्टर साहब", "you, sir", False),
    ("Son", "बेटा", "you", False),
    ("Daughter", "बेटी", "you", True),
)
TENSES = (Tense.HABIT, Tense.NOW, Tense.PAST, Tense.DONE, Tense.LATER, Tense.THEN)
ASKED = ("whether", "whether", "whether", "where", "when", "why", "what")
MODES = (Mode.PLAIN, Mode.PLAIN, Mode.PLAIN, Mode.CAN, Mode.WANTS, Mode.SHOULD, Mode.HAS_TO)

GOALS = (("here", "यहाँ"), ("there", "वहाँ"), ("home", "घर"))

Said = tuple[list[Word], list[Word], tuple[str, ...]]


def spoken(draft: Draft, size: int) -> Said:
    """Something said to someone or by someone: both sides, and other correct Hindi ones."""
    dice = draft.random()
    if dice < 0.35:
        return quoted(draft, size)
    if dice < 0.65:
        return addressed(draft, size)
    return requested(draft, size) if dice < 0.9 else open_speaker(draft, size)


def quoted(draft: Draft, size: int) -> Said:
    """Sita said, “I am going”: her name tells that it is जा रही हूँ."""
    idea = draft.idea()
    speaker = someone(draft, idea, "ने")
    said = _of_person(draft, size - 4, "I", feminine=speaker.label == "she", parent=idea)
    english = [*speaker.english, ("said", idea, True), sign(","), sign(OPENING), *said.english]
    hindi = [*speaker.hindi, ("कहा", idea, True), sign(","), sign(OPENING), *said.hindi]
    return [*english, sign("."), sign(CLOSING)], [*hindi, sign("।"), sign(CLOSING)], ()


def addressed(draft: Draft, size: int) -> Said:
    """Mother, are you going? The one spoken to decides between आप and तुम, and the gender."""
    english, hindi, key, feminine = _listener(draft)
    if draft.chance(0.4):
        said = _of_person(draft, size - 2, key, feminine=feminine, parent=ROOT)
        ends = (".", "।")
    else:
        said = _asked_of(draft, size - 2, key, feminine=feminine)
        ends = ("?", "?")
    called = draft.idea(said.idea)
    words: list[Word] = [(word, called, True) for word in hindi.split()]
    return (
        [(english, called, True), sign(","), *said.english, sign(ends[0])],
        [*words, sign(","), *said.hindi, sign(ends[1])],
        (),
    )


def _listener(draft: Draft) -> tuple[str, str, str, bool]:
    if draft.chance(0.5):
        return draft.one(ADDRESSED)
    name = draft.fresh(read_lexicon().names)
    return name.english, name.hindi, "you", name.gender == "f"


def _of_person(draft: Draft, size: int, key: str, *, feminine: bool, parent: int) -> Clause:
    verb = _personal(draft)
    mode = Mode.PLAIN if verb.befalls else draft.one(MODES)
    tense = draft.one(TENSES)
    negated = mode != Mode.HAS_TO and draft.chance(0.15)
    return doing(
        draft, tense, size - 5, parent=parent, verb=verb, subject=_pronoun(key, feminine=feminine),
        mode=mode, negated=negated, fronts=False,
    )  # fmt: skip


def _asked_of(draft: Draft, size: int, key: str, *, feminine: bool) -> Clause:
    asks, verb = draft.one(ASKED), _personal(draft)
    while verb not in answering(asks):
        verb = _personal(draft)
    subject = _pronoun(key, feminine=feminine)
    return doing(draft, draft.one(TENSES), size - 5, verb=verb, subject=subject, asks=asks)


def _personal(draft: Draft) -> Verb:
    return draft.word(people_verbs())


def _pronoun(key: str, *, feminine: bool) -> Subject:
    """A subject that is I or you."""

    def subject(draft: Draft, verb: Verb, case: str, idea: int, room: int) -> Phrase:
        return pronoun_phrase(draft, key, idea, case, feminine=feminine)

    return subject


def requested(draft: Draft, size: int) -> Said:
    """Open the door: खोलो or खोलिए, as whom one asks and a please decide; else both are right."""
    verb = _personal(draft)
    while verb.befalls or verb.recipient_nouns or not (verb.object_nouns or verb.to):
        verb = _personal(draft)
    dice = draft.random()
    polite = dice < 0.35
    idea = draft.idea()
    negated = draft.chance(0.25)
    english, hindi = _request(draft, verb, idea, size, negated=negated)
    form = verb.hindi.imperative
    ends = [sign("।")]

    def ending(level: int) -> list[Word]:
        return [*hindi, (form[level], idea, True), *ends]

    if polite:
        please = draft.idea(idea)
        first: Word = ("कृपया", please, True)
        return [("please", please, True), *english, sign(".")], [first, *ending(1)], ()
    if dice < 0.8:
        name, called, key, _ = _listener(draft)
        whom = draft.idea(idea)
        words: list[Word] = [(word, whom, True) for word in called.split()]
        return (
            [(name, whom, True), sign(","), *english, sign(".")],
            [*words, sign(","), *ending(key == "you, sir")],
            (),
        )
    return [*english, sign(".")], ending(0), (written(ending(1)),)


def _request(
    draft: Draft, verb: Verb, idea: int, size: int, *, negated: bool
) -> tuple[list[Word], list[Word]]:
    """What is asked for, up to the Hindi verb itself."""
    you = Phrase([], [], label="you")
    english: list[Word] = []
    hindi: list[Word] = []
    no = draft.idea(idea) if negated else ROOT
    if negated:
        english += [("do", idea, False), ("not", no, True)]
    english += [(word, idea, True) for word in verb.english.base]
    if verb.object_nouns:
        patient = some_object(draft, verb, idea, you, (size - 4) // 2)
        english += patient.english
        hindi += patient.hindi
    else:
        goal = _there(draft, verb, idea)
        english += goal.english
        hindi += goal.hindi
    hindi += [(word, idea, True) for word in verb.hindi.before]
    if negated:
        hindi.append(("मत", no, True))
    return english, hindi


def _there(draft: Draft, verb: Verb, idea: int) -> Phrase:
    """Here, there or home, as a goal; one comes here, and never goes."""
    place = draft.idea(idea)
    english, hindi = draft.one(GOALS[verb.hindi.stem == "जा" :])
    return Phrase([(english, place, True)], [(hindi, place, True)], idea=place)


def open_speaker(draft: Draft, size: int) -> Said:
    """I am going: जा रहा हूँ, and as correctly जा रही हूँ, for nothing tells who speaks."""
    state = draft.source.getstate()
    said = _of_person(draft, size, "I", feminine=False, parent=ROOT)
    english, hindi = [*said.english, sign(".")], [*said.hindi, sign("।")]
    draft.source.setstate(state)
    draft.clear()
    other = _of_person(draft, size, "I", feminine=True, parent=ROOT)
    text = written([*other.hindi, sign("।")])
    return english, hindi, () if text == written(hindi) else (text,)
