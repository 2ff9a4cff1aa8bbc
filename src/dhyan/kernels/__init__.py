"""The arithmetic of attention: its definitions, and what computes the same faster."""
