"""Seeing what a model attends to: explanations, figures, and heat maps for the terminal."""
