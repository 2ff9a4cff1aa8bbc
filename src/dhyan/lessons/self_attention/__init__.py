"""Lessons on self-attention."""
