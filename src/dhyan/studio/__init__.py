"""The page on which a sentence is translated, and every number can be opened."""
