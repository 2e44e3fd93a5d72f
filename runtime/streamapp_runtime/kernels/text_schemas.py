"""The types of single values in texts of CSV and XML, as Spark infers them.

Whether a text is a date or timestamp is known from SQL, which reads fewer of them than Spark: of those that may be one,
there is no type.
"""

import re
from collections.abc import Sequence

from streamapp_runtime.kernels.inferred_types import STRING, InferredType
from streamapp_runtime.kernels.java_numbers import floating

_HEXADECIMAL = re.compile(
    r"[\x00-\x20]*[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+[df]?[\x00-\x20]*", re.IGNORECASE | re.ASCII
)
_DOUBTFUL = re.compile(r"[\x00-\x20]*[Tt+\-0-9].*[:T]", re.DOTALL)
DATE, TIMESTAMP, _BOOLEAN = InferredType("DATE"), InferredType("TIMESTAMP"), InferredType("BOOLEAN")


class UnknownTypeError(ValueError):
    """A text may be of a type that is not known here."""


def is_floating(text: str) -> bool:
    """Return whether Java reads a text as a double."""
    return floating(text) is not None or _HEXADECIMAL.fullmatch(text) is not None


def holds(found: Sequence[bool | None], place: int) -> bool:
    """Return what is said of the value at a place."""
    return place < len(found) and bool(found[place])


def type_of_word(text: str, *, date: bool, timestamp: bool) -> InferredType:
    """Return the type of a text that is no number.

    Raises:
        UnknownTypeError: It may be a time that SQL does not read.
    """
    if date or timestamp:
        return DATE if date else TIMESTAMP
    if _DOUBTFUL.match(text):
        raise UnknownTypeError
    return _BOOLEAN if text.lower() in ("true", "false") else STRING
