"""Mechanisms side by side: the same pairs, words, parameters and training, and one report."""
