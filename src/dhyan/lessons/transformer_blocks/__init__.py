"""Lessons on attention heads, masks, cross-attention and the Transformer."""
