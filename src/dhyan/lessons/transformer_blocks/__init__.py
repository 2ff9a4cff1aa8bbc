"""Lessons on heads, masks, cross-attention and the Transformer."""
