"""The header of records whose schema a registry has: the id of that schema, as Confluent's clients write it."""

MAGIC = b"\x00"
"""The first byte of values with the id of a schema."""
HEADER = 5
"""The bytes before the record: the first one, and the id in four, the highest first."""


def header_of(number: int) -> bytes:
    """Return what values begin with whose schema has this id."""
    return MAGIC + number.to_bytes(HEADER - 1, "big")
