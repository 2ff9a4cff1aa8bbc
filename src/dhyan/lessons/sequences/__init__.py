"""Lessons on sequence to sequence: one-hot words, recurrent states, losses, decoding steps."""
