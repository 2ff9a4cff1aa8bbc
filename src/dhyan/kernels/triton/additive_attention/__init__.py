"""Additive attention of one query, and of all pairs of queries and keys."""
