"""Lessons on attention between two sequences, by hand and in trained models."""
