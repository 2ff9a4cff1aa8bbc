"""Dialogue: first and second person, forms of address, requests, quotations."""

from dhyan.data.primer.adverbials import apart_words
from dhyan.data.primer.clauses import Clause, Subject, action_clause, sample_object
from dhyan.data.primer.lexicon import Verb, human_verbs, read_lexicon
from dhyan.data.primer.noun_phrases import name_phrase, pronoun_phrase
from dhyan.data.primer.sentence_builder import Phrase, SentenceBuilder, punctuation
from dhyan.data.primer.sentence_pair import CLOSING, OPENING, ROOT, Word, join_words
from dhyan.data.primer.sentences import answering
from dhyan.data.primer.verb_groups import ClausePlan, Modality, Tense

# Forms of address: the words, the pronoun (आप or तुम), and whether feminine.
FORMS_OF_ADDRESS = (
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
TENSES = (
    Tense.HABITUAL,
    Tense.PRESENT_PROGRESSIVE,
    Tense.SIMPLE_PAST,
    Tense.PRESENT_PERFECT,
    Tense.FUTURE,
    Tense.PAST_PROGRESSIVE,
)
QUESTIONS = ("whether", "whether", "whether", "where", "when", "why", "what")
MODES = (
    Modality.PLAIN,
    Modality.PLAIN,
    Modality.PLAIN,
    Modality.CAN,
    Modality.WANTS,
    Modality.SHOULD,
    Modality.HAS_TO,
)

GOALS = (("here", "यहाँ"), ("there", "वहाँ"), ("home", "घर"))

DialogueSentence = tuple[list[Word], list[Word], tuple[str, ...]]


def dialogue_sentence(builder: SentenceBuilder, size: int) -> DialogueSentence:
    """A sentence of a dialogue in both languages, and other correct Hindi translations."""
    dice = builder.random()
    if dice < 0.35:
        return direct_speech(builder, size)
    if dice < 0.65:
        return direct_address(builder, size)
    return request(builder, size) if dice < 0.9 else unknown_speaker(builder, size)


def direct_speech(builder: SentenceBuilder, size: int) -> DialogueSentence:
    """Direct speech: Sita said, “I am going”; her name decides for जा रही हूँ."""
    node = builder.add_node()
    speaker = name_phrase(builder, node, "ने")
    clause = _statement_by(builder, size - 4, "I", feminine=speaker.pronoun == "she", parent=node)
    english = [
        *speaker.english,
        ("said", node, True),
        punctuation(","),
        punctuation(OPENING),
        *clause.english,
    ]
    hindi = [
        *speaker.hindi,
        ("कहा", node, True),
        punctuation(","),
        punctuation(OPENING),
        *clause.hindi,
    ]
    return (
        [*english, punctuation("."), punctuation(CLOSING)],
        [*hindi, punctuation("।"), punctuation(CLOSING)],
        (),
    )


def direct_address(builder: SentenceBuilder, size: int) -> DialogueSentence:
    """Direct address: Mother, are you going? The addressee decides on आप or तुम, and the gender."""
    english, hindi, key, feminine = _listener(builder)
    if builder.flip(0.4):
        clause = _statement_by(builder, size - 2, key, feminine=feminine, parent=ROOT)
        ends = (".", "।")
    else:
        clause = _question_to(builder, size - 2, key, feminine=feminine)
        ends = ("?", "?")
    called = builder.add_node(clause.node)
    words: list[Word] = [(word, called, True) for word in hindi.split()]
    return (
        [(english, called, True), punctuation(","), *clause.english, punctuation(ends[0])],
        [*words, punctuation(","), *clause.hindi, punctuation(ends[1])],
        (),
    )


def _listener(builder: SentenceBuilder) -> tuple[str, str, str, bool]:
    if builder.flip(0.5):
        return builder.choose(FORMS_OF_ADDRESS)
    name = builder.sample_new(read_lexicon().names)
    return name.english, name.hindi, "you", name.gender == "f"


def _statement_by(
    builder: SentenceBuilder, size: int, key: str, *, feminine: bool, parent: int
) -> Clause:
    verb = _sample_human_verb(builder)
    modality = Modality.PLAIN if verb.befalls else builder.choose(MODES)
    tense = builder.choose(TENSES)
    negated = modality != Modality.HAS_TO and builder.flip(0.15)
    return action_clause(
        builder,
        tense,
        size - 5,
        parent=parent,
        verb=verb,
        subject=_pronoun_subject(key, feminine=feminine),
        modality=modality,
        negated=negated,
        fronts=False,
    )


def _question_to(builder: SentenceBuilder, size: int, key: str, *, feminine: bool) -> Clause:
    question, verb = builder.choose(QUESTIONS), _sample_human_verb(builder)
    while verb not in answering(question):
        verb = _sample_human_verb(builder)
    subject = _pronoun_subject(key, feminine=feminine)
    return action_clause(
        builder, builder.choose(TENSES), size - 5, verb=verb, subject=subject, question=question
    )


def _sample_human_verb(builder: SentenceBuilder) -> Verb:
    return builder.sample(human_verbs())


def _pronoun_subject(key: str, *, feminine: bool) -> Subject:
    """A pronoun as a subject: I or you."""

    def subject(builder: SentenceBuilder, verb: Verb, case: str, node: int, room: int) -> Phrase:
        return pronoun_phrase(builder, key, node, case, feminine=feminine)

    return subject


def request(builder: SentenceBuilder, size: int) -> DialogueSentence:
    """A request: Open the door. Addressee or please decide on खोलो or खोलिए, else both are right."""
    verb = _sample_human_verb(builder)
    while verb.befalls or verb.recipient_nouns or not (verb.object_nouns or verb.to):
        verb = _sample_human_verb(builder)
    dice = builder.random()
    polite = dice < 0.35
    node = builder.add_node()
    negated = builder.flip(0.25)
    english, hindi = _request_words(builder, verb, node, size, negated=negated)
    form = verb.hindi.imperative
    ends = [punctuation("।")]

    def ending(level: int) -> list[Word]:
        return [*hindi, (form[level], node, True), *ends]

    if polite:
        please = builder.add_node(node)
        first: Word = ("कृपया", please, True)
        return [("please", please, True), *english, punctuation(".")], [first, *ending(1)], ()
    if dice < 0.8:
        name, hindi_name, key, _ = _listener(builder)
        vocative = builder.add_node(node)
        words: list[Word] = [(word, vocative, True) for word in hindi_name.split()]
        return (
            [(name, vocative, True), punctuation(","), *english, punctuation(".")],
            [*words, punctuation(","), *ending(key == "you, sir")],
            (),
        )
    return [*english, punctuation(".")], ending(1), (join_words(ending(0)),)


def _request_words(
    builder: SentenceBuilder, verb: Verb, node: int, size: int, *, negated: bool
) -> tuple[list[Word], list[Word]]:
    """The words of a request, up to the Hindi verb itself."""
    you = Phrase([], [], pronoun="you")
    english: list[Word] = []
    hindi: list[Word] = []
    no = builder.add_node(node) if negated else ROOT
    if negated:
        english += [("do", node, False), ("not", no, True)]
    english += [(word, node, True) for word in verb.english.base]
    hindi += apart_words(verb, node)
    if verb.object_nouns:
        plan = ClausePlan(verb, Tense.HABITUAL, negated=negated)
        patient = sample_object(builder, plan, node, you, (size - 4) // 2)
        english += patient.english
        hindi += patient.hindi
    else:
        goal = _there(builder, verb, node)
        english += goal.english
        hindi += goal.hindi
    hindi += [(word, node, True) for word in verb.hindi.before[verb.apart :]]
    if negated:
        hindi.append(("मत", no, True))
    return english, hindi


def _there(builder: SentenceBuilder, verb: Verb, node: int) -> Phrase:
    """Here, there or home as a goal; "go" does not take here."""
    goal = builder.add_node(node)
    english, hindi = builder.choose(GOALS[verb.hindi.stem == "जा" :])
    return Phrase([(english, goal, True)], [(hindi, goal, True)], node=goal)


def unknown_speaker(builder: SentenceBuilder, size: int) -> DialogueSentence:
    """A speaker of unknown gender: I am going, जा रहा हूँ or जा रही हूँ."""
    state = builder.source.getstate()
    clause = _statement_by(builder, size, "I", feminine=False, parent=ROOT)
    english, hindi = [*clause.english, punctuation(".")], [*clause.hindi, punctuation("।")]
    builder.source.setstate(state)
    builder.clear()
    other = _statement_by(builder, size, "I", feminine=True, parent=ROOT)
    text = join_words([*other.hindi, punctuation("।")])
    return english, hindi, () if text == join_words(hindi) else (text,)
