"""Verbs that agree with a noun a whole clause away."""

from dhyan.data.primer.clauses import doing
from dhyan.data.primer.lexicon import people_verbs
from dhyan.data.primer.relative_clauses import told_subject
from dhyan.data.primer.sentence_builder import Draft, sign
from dhyan.data.primer.sentence_pair import Twin, Wanted
from dhyan.data.primer.tenses import Tense

LEAST = 6  # Hindi words between the noun and its verb
TENSES = {
    "present": (Tense.HABIT, Tense.NOW),
    "past": (Tense.THEN, Tense.ONCE),
    "future": (Tense.LATER,),
}


def at_a_distance(draft: Draft, most: int) -> Twin | None:
    """The girl who … is going: जो लड़की …, वह जा रही है. Nothing, if the two come too close."""
    draft.mood = draft.one(tuple(TENSES))
    verb = draft.word(people_verbs())
    said = doing(
        draft,
        draft.one(TENSES[draft.mood]),
        min(most - 8, 10),
        verb=verb,
        subject=told_subject,
        fronts=False,
    )
    head = next(place for place, word in enumerate(said.hindi) if word[1] == said.about.idea)
    if len(said.hindi) - len(said.verb) - head < LEAST:
        return None
    shown = " ".join(word[0] for word in said.verb)
    draft.wanted.append(Wanted("agreement", " ".join(verb.english.base), (shown,)))
    sides = ((*said.english, sign(".")), (*said.hindi, sign("।")))
    return Twin(sides, tuple(draft.parents), (), tuple(draft.wanted))
