"""Example sentences of the studio: everyday ones unseen in training, and those of lecture notes.

The sentences of the lecture notes and those like them show a phenomenon each; the page marks those
that a model was trained on. The ones to begin with are new to the English–Hindi models.
"""

from dataclasses import dataclass, replace

from dhyan.pretrained.everyday_sentences import EVERYDAY_SENTENCES

EVERYDAY = 12  # of the everyday sentences
START_EVERYDAY = 3  # of them, to begin with


@dataclass(frozen=True)
class Example:
    """A sentence, the phenomenon it shows, and whether it is offered to begin with."""

    text: str
    phenomenon: str = ""
    start: bool = False


NOTES = (
    Example("Turn off the lights.", "order", start=True),
    Example("The bank of the river is far.", "river"),
    Example("Sita went to the bank and then took a loan.", "money"),
    Example("Amit came to the bank and rowed the boat.", "river"),
    Example("Apple launched a new phone while I was eating an orange.", "meaning"),
    Example("The teacher saw the thief with a telescope.", "readings", start=True),
    Example("The man saw the astronomer with a telescope.", "readings"),
    Example("The chicken is ready to eat.", "readings"),
)


def examples() -> list[Example]:
    """The everyday sentences, then those of the notes."""
    everyday = map(Example, EVERYDAY_SENTENCES[:EVERYDAY])
    return [
        *(replace(own, start=rank < START_EVERYDAY) for rank, own in enumerate(everyday)),
        *NOTES,
    ]
