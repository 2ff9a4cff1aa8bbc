"""Attention within one sequence."""
