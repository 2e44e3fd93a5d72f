"""Names that were probably meant."""

import difflib
from collections.abc import Sequence

_COMPARED = 200
_LENGTH = 80


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Return `; did you mean ...?` with the nearest of the known names, whatever their case; empty if none is near.

    Of long lists the first names are compared: it must cost little for any spec.
    """
    names = {one[:_LENGTH].lower(): one for one in reversed(known[:_COMPARED])}
    close = difflib.get_close_matches(name[:_LENGTH].lower(), list(names), n=1)
    return f"; did you mean `{names[close[0]]}`?" if close else ""
