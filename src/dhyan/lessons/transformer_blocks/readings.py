"""Sentences that can be read in two ways, with vectors and heads written by hand."""

from dataclasses import dataclass

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Reading:
    """What the sentence then says, and the place of the word that the asking word looks at."""

    key: str
    sees: int


@dataclass(frozen=True)
class Example:
    """A word at a place that asks in two ways, the words' vectors, and a head for each reading.

    `written` has the keys of the names of the output's numbers.
    """

    sentence: str
    asks: int
    readings: tuple[Reading, Reading]
    vectors: Rows
    w_query: tuple[Rows, Rows]
    w_key: tuple[Rows, Rows]
    w_value: tuple[Rows, Rows]
    written: tuple[str, ...]


NOTHING = (0.0, 0.0, 0.0, 0.0)
LOOK, SKIP = (3.0, 0.0), (0.0, 0.0)  # a row of W_q or W_k: asked for by a head, or of no concern
FIRST, SECOND = (1.0, 0.0), (0.0, 1.0)  # where a head's value writes it

# Axes: who does it, what is done, to whom, with what. Nouns ask the first head for the deed; the
# tool asks the second for the one it was done to.
TELESCOPE = Example(
    "The man saw the astronomer with a telescope",
    7,
    (Reading("telescope_1", 2), Reading("telescope_2", 4)),
    (
        NOTHING,
        (1.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 0.0),
        NOTHING,
        (0.0, 0.0, 1.0, 0.0),
        NOTHING,
        NOTHING,
        (0.0, 0.0, 0.0, 1.0),
    ),
    ((LOOK, SKIP, LOOK, LOOK), (SKIP, SKIP, SKIP, LOOK)),
    ((SKIP, LOOK, SKIP, SKIP), (SKIP, SKIP, LOOK, SKIP)),
    ((FIRST, SECOND, SKIP, SKIP), (SKIP, SKIP, FIRST, SECOND)),
    ("who", "deed", "whom", "tool"),
)
# Axes: the animal, its state, the deed, none. The deed asks both heads for the animal; the first
# writes down who eats, the second what is eaten.
CHICKEN = Example(
    "The chicken is ready to eat",
    5,
    (Reading("chicken_1", 1), Reading("chicken_2", 1)),
    (NOTHING, (1.0, 0.0, 0.0, 0.0), NOTHING, (0.0, 1.0, 0.0, 0.0), NOTHING, (0.0, 0.0, 1.0, 0.0)),
    ((SKIP, SKIP, LOOK, SKIP), (SKIP, SKIP, LOOK, SKIP)),
    ((LOOK, SKIP, SKIP, SKIP), (LOOK, SKIP, SKIP, SKIP)),
    ((FIRST, SKIP, SKIP, SKIP), (FIRST, SKIP, SKIP, SKIP)),
    ("eats", "", "is_eaten", ""),
)
EXAMPLES = (TELESCOPE, CHICKEN)
