"""Words as vectors."""
