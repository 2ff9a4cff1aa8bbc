"""Finding the words: search over any model, and a translator from text to text."""
