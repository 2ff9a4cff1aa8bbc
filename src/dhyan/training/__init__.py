"""Finding the weights: one loop that yields what happened, and never loses its place."""
