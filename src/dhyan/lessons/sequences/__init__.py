"""From one sequence to another: words, states, losses, and what is said step by step."""
