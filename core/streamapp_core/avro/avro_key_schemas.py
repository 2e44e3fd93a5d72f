"""The schemas of keys that are Avro: records, or of one column a plain value, whose bytes are those of a record."""

from streamapp_core.avro.avro_schema import AvroField, AvroKind, AvroType


def record_of_key(found: AvroType, column: str) -> AvroType:
    """Return the schema of a key of one column as a record: what is none has the column as its only field."""
    if found.kind is AvroKind.RECORD:
        return found
    return AvroType(kind=AvroKind.RECORD, name="Key", fields=(AvroField(column, found),))
