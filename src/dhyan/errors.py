"""What a person can get wrong, said in one line."""


class UserError(ValueError):
    """Something the user can mend; it names the place, what was found, and what would do."""
