"""How fast the library trains and translates beside others, and whether it stays right."""
