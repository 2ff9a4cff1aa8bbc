"""What a person can get wrong, said in one line."""


class Fault(ValueError):
    """Something the user can mend; it names the place, what was found, and what would do."""
