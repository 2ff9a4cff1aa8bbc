"""Synthetic tasks with a known answer: reversing, copying, dates, number names, counting."""

import random
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import count
from zlib import crc32

from dhyan.data.pairs import Pair

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0000123456789"  # zeros are where the two languages differ most
TRAINED_VERSES, MOST_VERSES = 60, 99  # of the counting task: to train on, and at all
COLOURS = {
    "red": "लाल", "blue": "नीला", "green": "हरा", "yellow": "पीला", "white": "सफ़ेद", "black": "काला",
    "pink": "गुलाबी", "brown": "भूरा", "purple": "बैंगनी", "orange": "नारंगी", "grey": "स्लेटी",
    "golden": "सुनहरा",
}  # fmt: skip
UNPAIRED = frozenset(("red", "green"))  # colours that never occur together in training


def reverse_pairs(*, seed: int, min_length: int = 2, max_length: int = 8) -> Iterator[Pair]:
    """Random letters and the same letters reversed; endless."""
    rng = random.Random(seed)
    for line in count(1):
        letters = rng.choices(LETTERS, k=rng.randint(min_length, max_length))
        yield Pair(" ".join(letters), " ".join(reversed(letters)), line)


def copy_pairs(*, seed: int, min_length: int = 2, max_length: int = 8) -> Iterator[Pair]:
    """Random letters and the same letters; endless."""
    for pair in reverse_pairs(seed=seed, min_length=min_length, max_length=max_length):
        yield Pair(pair.source, pair.source, pair.line)


def date_pairs(*, seed: int) -> Iterator[Pair]:
    """Dates of two centuries in English and in ISO 8601; endless.

    The year moves from the end to the front, and the name of a month becomes a number.
    """
    rng = random.Random(seed)
    for line in count(1):
        day = FIRST_DAY + timedelta(days=rng.randrange(DAYS))
        yield Pair(english_date(day, rng.choice(DATE_FORMATS)), day.isoformat(), line)


def english_date(day: date, date_format: str) -> str:
    """A date in English, whatever the locale of the machine."""
    return date_format.format(
        weekday=WEEKDAYS[day.weekday()], day=day.day, month=MONTHS[day.month - 1], year=day.year
    )


def number_pairs(*, seed: int, max_digits: int = 7) -> Iterator[Pair]:
    """Number names in English and in Hindi, of all lengths; endless.

    English groups by thousands and millions, Hindi by हज़ार and लाख, and Hindi has a word of its own
    for every number up to a hundred, so words are reordered and none has a single translation.
    """
    rng = random.Random(seed)
    for line in count(1):
        digits = rng.choices(DIGITS, k=rng.randint(1, max_digits))
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
            words += [*_below_thousand(group), *([name] if name else [])]
    return " ".join(words)


def _below_thousand(number: int) -> list[str]:
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


def counting_pairs(*, seed: int, max_verses: int = TRAINED_VERSES) -> Iterator[Pair]:
    """Six words in English, such as "red blue pink 5 to 64", and hundreds in Hindi; endless.

    The output counts from the first number to the last, with the three colours after each number.
    Short counts are more frequent than long ones. Counts that `is_held_out_count` holds out for
    tests are left out.
    """
    rng = random.Random(seed)
    line = 1
    while True:
        verses = rng.randint(1, rng.randint(1, max_verses))
        first = rng.randint(1, MOST_VERSES - verses + 1)
        pair = counting_pair(rng.sample(sorted(COLOURS), 3), first, first + verses - 1, line)
        if not is_held_out_count(pair.source):
            yield pair
            line += 1


def is_held_out_count(source: str) -> bool:
    """Whether a source is never trained on: both of `UNPAIRED`, or one in ten by its checksum."""
    return {*source.split()} >= UNPAIRED or crc32(source.encode()) % 10 == 0


def counting_pair(colours: Sequence[str], first: int, last: int, line: int = 1) -> Pair:
    """Colours to be said after each number from `first` to `last`, and the whole count."""
    refrain = " ".join(COLOURS[colour] for colour in colours)
    verses = (f"{HINDI[number]} {refrain}" for number in range(first, last + 1))
    return Pair(f"{' '.join(colours)} {first} to {last}", " ".join(verses), line)


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
DATE_FORMATS = (
    "{day} {month} {year}",
    "{month} {day}, {year}",
    "{weekday}, {day} {month} {year}",
    "the {day} of {month} {year}",
)
FIRST_DAY, DAYS = date(1900, 1, 1), 73_000
