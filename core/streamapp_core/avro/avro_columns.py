"""The columns that values of Avro fit: found for a schema, or judged where a spec declares them (docs/avro.md).

Types go by Avro's own rules of schema resolution, with the columns as the reader's schema, all of them nullable.
"""

import re
from collections.abc import Callable, Iterator

from streamapp_core.avro.avro_schema import AvroKind, AvroLogical, AvroSchemaError, AvroType
from streamapp_core.data_types import all_types
from streamapp_core.schema import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Column,
    DataType,
    Schema,
    SchemaError,
    TypeKind,
    array_of,
    map_of,
    parse_schema,
    struct_of,
)
from streamapp_core.schema_mismatch import SchemaMismatch

_PLAIN = {
    AvroKind.BOOLEAN: BOOLEAN,
    AvroKind.INT: INT,
    AvroKind.LONG: BIGINT,
    AvroKind.FLOAT: FLOAT,
    AvroKind.DOUBLE: DOUBLE,
    AvroKind.BYTES: BINARY,
    AvroKind.FIXED: BINARY,
    AvroKind.STRING: STRING,
    AvroKind.ENUM: STRING,
}
_MEANINGS = {
    AvroLogical.UUID: STRING,
    AvroLogical.DATE: DATE,
    AvroLogical.TIMESTAMP_MILLIS: TIMESTAMP,
    AvroLogical.TIMESTAMP_MICROS: TIMESTAMP,
    AvroLogical.LOCAL_TIMESTAMP_MILLIS: TIMESTAMP_NTZ,
    AvroLogical.LOCAL_TIMESTAMP_MICROS: TIMESTAMP_NTZ,
}
_WIDER = {
    AvroKind.INT: (TypeKind.INT, TypeKind.BIGINT, TypeKind.FLOAT, TypeKind.DOUBLE),
    AvroKind.LONG: (TypeKind.BIGINT, TypeKind.FLOAT, TypeKind.DOUBLE),
    AvroKind.FLOAT: (TypeKind.FLOAT, TypeKind.DOUBLE),
    AvroKind.STRING: (TypeKind.STRING, TypeKind.BINARY),
    AvroKind.BYTES: (TypeKind.BINARY, TypeKind.STRING),
}
"""The columns that a type may stand in, where these are more than one."""
_DIGITS = {AvroKind.INT: 10, AvroKind.LONG: 19}
_NEVER = {
    TypeKind.TINYINT: "; declare int, and cast it in a map",
    TypeKind.SMALLINT: "; declare int, and cast it in a map",
    TypeKind.VARIANT: "; declare what it holds, or a string and parse_json(...)",
}
_MEMBER = re.compile(r"member(\d{1,4})")


def columns_of_avro(record: AvroType) -> Schema:
    """Return the columns that hold all that records of a schema do.

    Raises:
        AvroSchemaError: it is no record, or has what no column holds, or names that differ in their case alone.
    """
    for mismatch in find_no_record(record):
        raise AvroSchemaError(mismatch.reason)
    try:
        columns = tuple(Column(field.name, type_of_avro(field.type)) for field in record.fields)
        return parse_schema(str(Schema(columns)))
    except SchemaError as error:
        raise AvroSchemaError(f"its fields are no columns: {error}; write the stream's `schema`") from None


def type_of_avro(avro: AvroType) -> DataType:
    """Return the type of a column that holds all values of a type.

    Raises:
        AvroSchemaError, SchemaError: there is none.
    """
    branches = avro.branches
    if len(branches) == 1:
        return _type_of_branch(branches[0])
    if not branches:
        raise AvroSchemaError("a null that is nothing else is no column; write the stream's `schema` without it")
    types = [_type_of_branch(branch) for branch in branches]
    for wide, narrow in ((BIGINT, INT), (DOUBLE, FLOAT)):
        if set(types) <= {wide, narrow}:
            return wide
    if len(set(types)) == 1:
        return types[0]
    return struct_of([Column(f"member{number}", kind) for number, kind in enumerate(types)])


def _type_of_branch(avro: AvroType) -> DataType:
    match avro.kind:
        case AvroKind.ARRAY:
            return array_of(type_of_avro(avro.parts[0]))
        case AvroKind.MAP:
            return map_of(STRING, type_of_avro(avro.parts[0]))
        case AvroKind.RECORD:
            return struct_of([Column(field.name, type_of_avro(field.type)) for field in avro.fields])
    if avro.logical is AvroLogical.DECIMAL and avro.precision <= MAX_PRECISION:
        return DataType(TypeKind.DECIMAL, precision=avro.precision, scale=avro.scale)
    return _MEANINGS.get(avro.logical, _PLAIN[avro.kind])


def find_unreadable(schema: Schema) -> Iterator[SchemaMismatch]:
    """Find the columns that no value of Avro stands in, whatever its schema."""
    for column in schema.columns:
        for kind in all_types(column.type):
            if kind.kind is TypeKind.MAP and kind.key != STRING:
                yield SchemaMismatch(path=column.name, reason=f"keys of maps in Avro are text, not {kind.key}")
            elif kind.kind in _NEVER:
                yield SchemaMismatch(path=column.name, reason=f"no value of Avro is a {kind}{_NEVER[kind.kind]}")


def find_mismatches(record: AvroType, schema: Schema) -> Iterator[SchemaMismatch]:
    """Find the columns of a stream that records of a writer's schema don't fit."""
    yield from find_no_record(record)
    if record.kind is AvroKind.RECORD:
        yield from _in_record(record, schema.columns, "", record.name)


def find_no_record(schema: AvroType) -> Iterator[SchemaMismatch]:
    """Find that a schema has no fields, which columns go by."""
    if schema.kind is not AvroKind.RECORD:
        yield SchemaMismatch(path="", reason=f"rows are records, and the schema is a {schema.kind}")


def member_number(name: str) -> int | None:
    """Return which branch of a union, nulls left out, a field of a struct stands for: `member0` is the first."""
    found = _MEMBER.fullmatch(name)
    return None if found is None else int(found[1])


def is_struct_of_members(avro: AvroType, to: DataType) -> bool:
    """Return whether a column holds a union as Spark does: a struct with a field for each branch, one of them set."""
    return (
        len(avro.branches) > 1
        and to.kind is TypeKind.STRUCT
        and all(member_number(part.name) is not None for part in to.fields)
    )


def find_in_members(
    union: AvroType,
    to: DataType,
    path: str,
    find_in_branch: Callable[[AvroType, DataType, str], Iterator[SchemaMismatch]],
) -> Iterator[SchemaMismatch]:
    """Find what `find_in_branch` finds in the fields of a struct of members, and those that stand for no branch."""
    branches = union.branches
    for part in to.fields:
        at, number = f"{path}.{part.name}", member_number(part.name)
        if number is None or number >= len(branches):
            reason = f"{union} has {len(branches)} branches beside null, so there is no `{part.name}`"
            yield SchemaMismatch(path=at, reason=reason)
        else:
            yield from find_in_branch(branches[number], part.type, at)


def _in_record(record: AvroType, columns: tuple[Column, ...], path: str, where: str) -> Iterator[SchemaMismatch]:
    for column in columns:
        at, field = f"{path}{column.name}", record.get(column.name)
        if field is None:
            near = next((other.name for other in record.fields if other.name.lower() == column.name.lower()), None)
            hint = f"; there is `{near}`, and names are compared with their case" if near else ""
            yield SchemaMismatch(
                path=at, reason=f"{where or 'the record'} has no field `{column.name}`{hint}", missing=True
            )
        else:
            yield from _in_type(field.type, column.type, at)


def _in_type(avro: AvroType, to: DataType, path: str) -> Iterator[SchemaMismatch]:
    branches = avro.branches
    if is_struct_of_members(avro, to):
        yield from find_in_members(avro, to, path, _in_branch)
        return
    for branch in branches:
        for mismatch in _in_branch(branch, to, path):
            if not (mismatch.missing and len(branches) > 1):
                yield mismatch


def _in_branch(avro: AvroType, to: DataType, path: str) -> Iterator[SchemaMismatch]:
    if avro.kind is AvroKind.RECORD and to.kind is TypeKind.STRUCT:
        yield from _in_record(avro, to.fields, f"{path}.", avro.name)
    elif avro.kind is AvroKind.ARRAY and to.kind is TypeKind.ARRAY:
        yield from _in_type(avro.parts[0], to.element, f"{path}.element")
    elif avro.kind is AvroKind.MAP and to.kind is TypeKind.MAP and to.key.kind is TypeKind.STRING:
        yield from _in_type(avro.parts[0], to.value, f"{path}.value")
    elif not _fits(avro, to):
        yield SchemaMismatch(path=path, reason=f"{avro} is no {to}{_instead(avro, to)}")


def _fits(avro: AvroType, to: DataType) -> bool:
    if to.kind is TypeKind.DECIMAL:
        if avro.logical is AvroLogical.DECIMAL:
            return avro.scale <= to.scale and avro.precision - avro.scale <= to.precision - to.scale
        return not avro.logical and to.precision - to.scale >= _DIGITS.get(avro.kind, MAX_PRECISION + 1)
    if to == _MEANINGS.get(avro.logical):
        return True
    if avro.kind is AvroKind.FIXED or avro.logical is AvroLogical.DECIMAL:
        return to == BINARY
    if avro.logical in (AvroLogical.NONE, AvroLogical.UUID):
        plain = _PLAIN.get(avro.kind)
        return to.kind in _WIDER.get(avro.kind, () if plain is None else (plain.kind,))
    return to.kind in (TypeKind.BIGINT, TypeKind(_PLAIN[avro.kind].kind))


def _instead(avro: AvroType, to: DataType) -> str:
    try:
        fitting = type_of_avro(avro)
    except (AvroSchemaError, SchemaError):
        return ""
    if to.kind is TypeKind.TIMESTAMP and avro.kind is AvroKind.LONG and not avro.logical:
        return "; declare bigint, and make one of it: timestamp_millis(...)"
    if to.kind in (TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT) and fitting in (INT, BIGINT):
        return f"; declare {fitting}, and cast it in a map"
    return f"; declare {fitting}"
