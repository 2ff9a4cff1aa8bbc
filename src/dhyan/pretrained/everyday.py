"""Everyday sentences to try a pretrained model on; they are left out of all training text."""

EVERYDAY_SENTENCES = (
    "My sister works in a hospital.",
    "The children are playing in the garden.",
    "She bought fresh vegetables from the market.",
    "My friend is waiting at the station.",
    "Will you come to my house tomorrow?",
)
