"""Many heads, masks, and two sequences."""
