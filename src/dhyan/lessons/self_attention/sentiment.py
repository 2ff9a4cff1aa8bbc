"""Whether a sentence speaks well or ill: by its words, which "not" turns round."""

from collections.abc import Iterable
from functools import cache

from dhyan.data.primer import Twin
from dhyan.data.primer.lexicon import read_lexicon

ILL, NEITHER, WELL = range(3)
GOOD = (
    "good excellent honest kind brave intelligent hardworking generous polite happy calm healthy "
    "beautiful handsome cute tasty fresh interesting funny useful easy precious true nice "
    "help praise encourage thank trust welcome forgive console greet congratulate hug smile laugh "
    "succeed win celebrate enjoy donate defend hope like care happily calmly politely bravely"
).split()
BAD = (
    "bad terrible cruel cowardly foolish lazy greedy arrogant rude ugly sad angry worried tired "
    "sick lonely dangerous poisonous fake false wrong boring faulty dirty broken torn stale "
    "difficult hard deceive insult scold tease punish attack rob steal fight quarrel argue "
    "complain cry scream tremble shiver fall slip stumble fail lose break tear spill hurt kick hit "
    "arrest reject suspect scared fun hungry thirsty fever headache sadly angrily rudely lazily"
).split()
TURNING = frozenset(("not", "cannot", "never"))


def sentiment(words: Iterable[str]) -> int:
    """ILL, NEITHER or WELL: the sum of the words' signs, turned round if it is denied."""
    said = [word.lower().strip('.,?!"') for word in words]
    total = sum(signs().get(word, 0) for word in said)
    if not TURNING.isdisjoint(said):
        total = -total
    return NEITHER + (total > 0) - (total < 0)


def sentiment_of(twin: Twin) -> int:
    """Whether the English sentence speaks well or ill."""
    return sentiment(word for word, _, _ in twin.words[0])


@cache
def signs() -> dict[str, int]:
    """+1 or −1 for every form of the words that speak well or ill."""
    forms: dict[str, tuple[str, ...]] = {}
    for verb in read_lexicon().verbs:
        own = verb.english
        every = (own.base, own.past, own.participle, own.ing, own.third)
        if len(own.base) == 1:
            forms[own.base[0]] = tuple(form[0] for form in every)
    return {
        form: sign
        for words, sign in ((GOOD, 1), (BAD, -1))
        for word in words
        for form in (word, *forms.get(word, ()))
    }
