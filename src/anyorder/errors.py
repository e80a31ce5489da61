"""The one kind of error a user is expected to meet."""


class UsageError(Exception):
    """Something the user can mend: one sentence on what is wrong and what to do."""
