"""Decoding: search over any model, and the translator from text to text."""
