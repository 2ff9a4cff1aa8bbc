"""Lessons on word vectors."""
