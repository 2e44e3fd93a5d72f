"""The records that a stream takes: where one refuses others, all of a transaction with one of them fails."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLimits:
    """The limits of the records of a stream.

    Attributes:
        before: how far a record's time may lie behind the time of day, in ms; None: as far as it likes.
        after: how far it may lie ahead of the time of day, in ms; None: as far as it likes.
        needs_key: whether a record without a key is refused.
    """

    before: int | None = None
    after: int | None = None
    needs_key: bool = False
