"""Dhyan: sequence-to-sequence learning, with attention as the subject."""

__version__ = "0.1.0"
