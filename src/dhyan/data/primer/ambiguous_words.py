"""Ambiguous words in disambiguating contexts: the bank that lends money, or of a river."""

from typing import NamedTuple
from zlib import crc32

from dhyan.data.primer.adverbials import apart_words
from dhyan.data.primer.english_morphology import a_or_an
from dhyan.data.primer.hindi_morphology import WAS, F, M, hindi_verb
from dhyan.data.primer.lexicon import Cue, Noun, Sense, read_lexicon
from dhyan.data.primer.noun_phrases import PERSONS, name_phrase
from dhyan.data.primer.sentence_builder import SentenceBuilder, form_of, punctuation
from dhyan.data.primer.sentence_pair import SentencePair, TranslationCheck, Word
from dhyan.data.primer.vocabulary_subsets import ambiguous_words

ABOUT = "के बारे में"
HELD_OUT = 6  # of so many pairings of a frame with a cue, one is never seen in training


class Frame(NamedTuple):
    """The verb used with an ambiguous word: in English and in Hindi.

    `marker` is what Hindi puts after the word, `before` a feminine noun inside its verb. One `goes`
    there, or the doer is in the ergative, so that the verb agrees with the word instead.
    """

    verb: str
    hindi: str
    marker: str = ""
    before: tuple[str, ...] = ()
    goes: bool = False
    ergative: bool = False


FRAMES = {
    "place": (
        Frame("went to", "जाना", goes=True),
        Frame("came to", "आना", goes=True),
        Frame("returned from", "लौटना", marker="से"),
        Frame("stopped near", "रुकना", marker="के पास"),
        Frame("saw", "देखना", ergative=True),
    ),
    "thing": (
        Frame("saw", "देखना", ergative=True),
        Frame("looked at", "देखना", ergative=True),
        Frame("thought about", "सोचना", marker=ABOUT, ergative=True),
        Frame("talked about", "करना", marker=ABOUT, before=("बात",), ergative=True),
        Frame("photographed", "लेना", marker="की", before=("तस्वीर",), ergative=True),
    ),
    "maker": (
        Frame("thought about", "सोचना", marker=ABOUT, ergative=True),
        Frame("talked about", "करना", marker=ABOUT, before=("बात",), ergative=True),
        Frame("read about", "पढ़ना", marker=ABOUT, ergative=True),
        Frame("heard about", "सुनना", marker=ABOUT, ergative=True),
    ),
}
LINKS = ("and", "because", "and then")


def disambiguated_sentence(builder: SentenceBuilder) -> SentencePair:
    """A sentence that disambiguates a noun by an action: went to the bank and deposited money."""
    word = builder.choose(ambiguous_words(builder.core_share))
    sense = builder.choose(read_lexicon().senses[word])
    frame, cue, link = (
        builder.choose(FRAMES[sense.kind]),
        builder.choose(sense.cues),
        builder.choose(LINKS),
    )
    while is_held_out(word, frame, cue) != builder.held_out:
        sense = builder.choose(read_lexicon().senses[word])
        frame, cue = builder.choose(FRAMES[sense.kind]), builder.choose(sense.cues)
    if frame.marker == "से" and link == "because":  # leaving has its reason elsewhere
        link = "and"
    builder.has_held_out_pair = builder.held_out
    node = builder.add_node()
    first = _frame(builder, sense, frame, node)
    same = cue.verb.ergative == frame.ergative
    second = _cue(builder, cue, link, node, feminine=first.feminine, same=same)
    builder.checks.append(_make_check(word, sense, first.hindi_words))
    sides = (
        (*first.english, *second[0], punctuation(".")),
        (*first.hindi, *second[1], punctuation("।")),
    )
    return SentencePair(sides, tuple(builder.parents), (), tuple(builder.checks))


def is_held_out(word: str, frame: Frame, cue: Cue) -> bool:
    """Whether this sense of the word with this cue is held out of training."""
    hindi_words = (word, frame.hindi, frame.marker, cue.verb.hindi.stem, *cue.noun.hindi[0])
    return crc32(" ".join(hindi_words).encode()) % HELD_OUT == 0


def _make_check(word: str, sense: Sense, hindi_words: str) -> TranslationCheck:
    """The check that a translation has the right noun, and no form of another sense."""
    own_forms = {" ".join(form) for form in sense.noun.hindi}
    others = {
        " ".join(form)
        for other in read_lexicon().senses[word]
        if other is not sense
        for form in other.noun.hindi
    }
    return TranslationCheck("context", word, (hindi_words,), tuple(sorted(others - own_forms)))


class FrameClause(NamedTuple):
    """The clause with the ambiguous word, before its cue; `hindi_words` is the word in Hindi."""

    english: list[Word]
    hindi: list[Word]
    feminine: bool
    hindi_words: str


def _frame(builder: SentenceBuilder, sense: Sense, frame: Frame, node: int) -> FrameClause:
    noun, word = sense.noun, builder.add_node(node)
    doer = name_phrase(builder, node, "ने" if frame.ergative else "")
    marker = frame.marker
    if frame.goes and not noun.goal:
        marker = noun.adpositions[1] if noun.adpositions else "में"
    if frame.ergative and not marker and noun.domain == "animals":
        marker = "को"
    hindi_words = noun.hindi[bool(marker) or not frame.ergative]
    about_node = builder.add_node(word) if marker == ABOUT else node
    english = [*doer.english]
    english += [
        (word_part, about_node if word_part == "about" else node, True)
        for word_part in frame.verb.split()
    ]
    english += [] if sense.kind == "maker" else [("the", word, False)]
    english += [(word_part, word, True) for word_part in noun.english]
    hindi = [*doer.hindi, *((word_part, word, True) for word_part in hindi_words)]
    if marker == ABOUT:
        hindi += [(word_part, about_node, True) for word_part in marker.split()]
    else:
        hindi += [(word_part, word, False) for word_part in marker.split()]
    hindi += [(word_part, node, True) for word_part in frame.before]
    form = doer.form
    if frame.ergative:
        form = F if frame.before else M if marker else form_of(feminine=noun.feminine, plural=False)
    hindi.append((hindi_verb(frame.hindi).perfective[form], node, True))
    return FrameClause(english, hindi, doer.form == F, " ".join(hindi_words))


def _cue(
    builder: SentenceBuilder, cue: Cue, link: str, parent: int, *, feminine: bool, same: bool
) -> tuple[list[Word], list[Word]]:
    """The disambiguating action: what the same person did or wanted to do.

    Hindi names him again if his case is not the `same`.
    """
    action = builder.add_node(parent)
    connective = builder.add_node(action)
    english_object, hindi_object, form = _object(builder, cue, action)
    words, hindi = cue.verb.english, cue.verb.hindi
    before: list[Word] = [(word_part, action, True) for word_part in hindi.before[cue.verb.apart :]]
    hindi_object = [*apart_words(cue.verb, action), *hindi_object]
    if link == "because":
        desire = builder.add_node(action)
        he: Word = ("she" if feminine else "he", desire, False)
        english = [
            ("because", connective, True),
            he,
            ("wanted", desire, True),
            ("to", action, False),
        ]
        english += [(word_part, action, True) for word_part in words.base]
        wants = [(hindi_verb("चाहना").habitual[F if feminine else M], desire, True)]
        was: Word = (WAS[F if feminine else M], desire, False)
        hindi_words = [("क्योंकि", connective, True), ("वह", desire, False), *hindi_object, *before]
        hindi_words += [(hindi.infinitive[M], action, True), *wants, was]
        return english + english_object, hindi_words
    english = [(word_part, connective, True) for word_part in link.split()]
    english += [(word_part, action, True) for word_part in words.past]
    hindi_words = [
        (word_part, connective, True)
        for word_part in ("और फिर" if link == "and then" else "और").split()
    ]
    if not same:
        hindi_words.append(("उसने" if cue.verb.ergative else "वह", action, False))
    hindi_words += [*hindi_object, *before]
    verb_form = form if cue.verb.ergative else F if feminine else M
    hindi_words += [(word_part, action, True) for word_part in cue.verb.perfective(verb_form)]
    return english + english_object, hindi_words


def _object(builder: SentenceBuilder, cue: Cue, action: int) -> tuple[list[Word], list[Word], int]:
    """The object of a cue, with its article."""
    noun: Noun = cue.noun
    object_node = builder.add_node(action)
    met = noun.domain in PERSONS or (noun.domain == "animals" and cue.article == "the")
    marker = cue.verb.marker or ("को" if met else "")
    english_words = noun.plural if cue.plural or noun.pair else noun.english
    english: list[Word] = [(word_part, object_node, True) for word_part in english_words]
    hindi: list[Word] = [
        (word_part, object_node, True) for word_part in noun.hindi[2 * cue.plural + bool(marker)]
    ]
    if cue.article == "the":
        english.insert(0, ("the", object_node, False))
    elif cue.article:
        amount = builder.add_node(object_node)
        english.insert(0, (a_or_an(english[0][0]), amount, True))
        hindi.insert(0, ("एक", amount, True))
    if marker:
        hindi.append((marker, object_node, False))
    form = form_of(feminine=noun.feminine, plural=cue.plural)
    if cue.verb.agrees:
        form = F if cue.verb.agrees == "f" else M
    elif marker:
        form = M
    return english, hindi, form
