"""Tasks made by code, with a known answer, for watching a model learn in a minute."""

import random
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import count

from dhyan.data.pairs import Pair

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0000123456789"  # empty places are where the two languages differ most


def reverse_pairs(*, seed: int, shortest: int = 2, longest: int = 8) -> Iterator[Pair]:
    """Random letters, and the same letters backwards, without end."""
    chance = random.Random(seed)
    for line in count(1):
        word = chance.choices(LETTERS, k=chance.randint(shortest, longest))
        yield Pair(" ".join(word), " ".join(reversed(word)), line)


def copy_pairs(*, seed: int, shortest: int = 2, longest: int = 8) -> Iterator[Pair]:
    """Random letters, and the same letters, without end."""
    for pair in reverse_pairs(seed=seed, shortest=shortest, longest=longest):
        yield Pair(pair.source, pair.source, pair.line)


def date_pairs(*, seed: int) -> Iterator[Pair]:
    """Days of two centuries as people write them, and as ISO 8601 does, without end.

    The year is said last or nearly so and written first; a month is a word and becomes a number.
    """
    chance = random.Random(seed)
    for line in count(1):
        day = FIRST_DAY + timedelta(days=chance.randrange(DAYS))
        yield Pair(spoken_date(day, chance.choice(MANNERS)), day.isoformat(), line)


def spoken_date(day: date, manner: str) -> str:
    """A day in one of the manners; names in English, whatever the machine speaks."""
    return manner.format(
        weekday=WEEKDAYS[day.weekday()], day=day.day, month=MONTHS[day.month - 1], year=day.year
    )


def number_pairs(*, seed: int, most_digits: int = 7) -> Iterator[Pair]:
    """Numbers in English words and in Hindi ones, short and long alike, without end.

    English groups by thousands and millions, Hindi by हज़ार and लाख, and names every number up to
    a hundred by its own word, so words change places and no word has one translation.
    """
    chance = random.Random(seed)
    for line in count(1):
        digits = chance.choices(DIGITS, k=chance.randint(1, most_digits))
        number = int("".join(digits))
        yield Pair(english_number(number), hindi_number(number), line)


def english_number(number: int) -> str:
    """A number from 0 to 999,999,999 in English words."""
    if number == 0:
        return "zero"
    words = []
    for size, name in ((1_000_000, "million"), (1000, "thousand"), (1, "")):
        group, number = divmod(number, size)
        if group:
            words += [*_below_a_thousand(group), *([name] if name else [])]
    return " ".join(words)


def _below_a_thousand(number: int) -> list[str]:
    hundreds, rest = divmod(number, 100)
    words = [ONES[hundreds], "hundred"] if hundreds else []
    if rest < 20:
        return words + ([ONES[rest]] if rest else [])
    tens, ones = divmod(rest, 10)
    return [*words, TENS[tens], *([ONES[ones]] if ones else [])]


def hindi_number(number: int) -> str:
    """A number from 0 to 999,999,999 in Hindi words."""
    if number == 0:
        return HINDI[0]
    words = []
    sizes = ((10_000_000, "करोड़"), (100_000, "लाख"), (1000, "हज़ार"), (100, "सौ"), (1, ""))
    for size, name in sizes:
        group, number = divmod(number, size)
        if group:
            words += [HINDI[group], *([name] if name else [])]
    return " ".join(words)


ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
HINDI = (
    "शून्य एक दो तीन चार पाँच छह सात आठ नौ "
    "दस ग्यारह बारह तेरह चौदह पंद्रह सोलह सत्रह अठारह उन्नीस "
    "बीस इक्कीस बाईस तेईस चौबीस पच्चीस छब्बीस सत्ताईस अट्ठाईस उनतीस "
    "तीस इकतीस बत्तीस तैंतीस चौंतीस पैंतीस छत्तीस सैंतीस अड़तीस उनतालीस "
    "चालीस इकतालीस बयालीस तैंतालीस चौवालीस पैंतालीस छियालीस सैंतालीस अड़तालीस उनचास "
    "पचास इक्यावन बावन तिरपन चौवन पचपन छप्पन सत्तावन अट्ठावन उनसठ "
    "साठ इकसठ बासठ तिरसठ चौंसठ पैंसठ छियासठ सड़सठ अड़सठ उनहत्तर "
    "सत्तर इकहत्तर बहत्तर तिहत्तर चौहत्तर पचहत्तर छिहत्तर सतहत्तर अठहत्तर उनासी "
    "अस्सी इक्यासी बयासी तिरासी चौरासी पचासी छियासी सत्तासी अट्ठासी नवासी "
    "नब्बे इक्यानवे बानवे तिरानवे चौरानवे पचानवे छियानवे सत्तानवे अट्ठानवे निन्यानवे"
).split()
MONTHS = (
    "january february march april may june july august september october november december"
).split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
MANNERS = (
    "{day} {month} {year}",
    "{month} {day}, {year}",
    "{weekday}, {day} {month} {year}",
    "the {day} of {month} {year}",
)
FIRST_DAY, DAYS = date(1900, 1, 1), 73_000
