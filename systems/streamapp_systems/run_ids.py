"""Ids of new runs."""

import secrets
import string

_LETTERS = string.ascii_lowercase
_LENGTH = 8


def new_run_id() -> str:
    """Return a run id no other run has: a DNS label of 8 random characters, the first a letter."""
    rest = (secrets.choice(_LETTERS + string.digits) for _ in range(_LENGTH - 1))
    return secrets.choice(_LETTERS) + "".join(rest)
