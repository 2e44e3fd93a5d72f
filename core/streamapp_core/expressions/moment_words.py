"""Literals that Spark takes for moments by the present time, and `epoch`, which it does not take in data."""

import re

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.typed_sql import Value

_WORD = re.compile(r"\s*(epoch|now|today|tomorrow|yesterday)(\s+\S.*)?\s*", re.IGNORECASE | re.DOTALL)

_TIME = re.compile(r"\s*(T\d|\d\d?:)")


def timestamp_text(value: Value) -> str:
    """Return the SQL of a text that is read as a timestamp, as `moment_text` does.

    Raises:
        Refusal: It is a literal that depends on the present time.
    """
    if isinstance(value.literal, str) and _TIME.match(value.literal):
        raise invalid(
            f"'{value.literal}' has no date: that of the present day would give another result when the same rows are "
            "read again; write the date, too"
        )
    read = moment_text(value)
    return read if read == value.sql else "'1970-01-01 00:00:00Z'"


def moment_text(value: Value) -> str:
    """Return the SQL of a text that is read as a date or timestamp, with a moment in place of a literal word.

    Raises:
        Refusal: The word depends on the present time, or has a time zone.
    """
    word = _WORD.fullmatch(value.literal) if isinstance(value.literal, str) else None
    if word is None:
        return value.sql
    if word[1].lower() == "epoch" and not word[2]:
        return "'1970-01-01'"
    raise invalid(
        f"'{value.literal}' would give another result when the same rows are read again; use the event time: a column "
        "of the row, or the end of the window"
    )
