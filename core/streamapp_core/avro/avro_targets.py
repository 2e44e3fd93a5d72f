"""Columns that are written by a schema of Avro which the spec gives: whether its types hold all of their values."""

from collections.abc import Iterator

from streamapp_core.avro.avro_columns import find_in_members, find_no_record, is_struct_of_members
from streamapp_core.avro.avro_defaults import default_value
from streamapp_core.avro.avro_schema import AvroKind, AvroLogical, AvroSchemaError, AvroType
from streamapp_core.schema import MAX_PRECISION, Column, DataType, Schema, TypeKind
from streamapp_core.schema_mismatch import SchemaMismatch

_SMALL = (TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT)
_HELD = {
    (AvroKind.BOOLEAN, AvroLogical.NONE): (TypeKind.BOOLEAN,),
    (AvroKind.INT, AvroLogical.NONE): _SMALL,
    (AvroKind.INT, AvroLogical.DATE): (TypeKind.DATE,),
    (AvroKind.INT, AvroLogical.TIME_MILLIS): (TypeKind.INT,),
    (AvroKind.LONG, AvroLogical.NONE): (*_SMALL, TypeKind.BIGINT),
    (AvroKind.LONG, AvroLogical.TIME_MICROS): (TypeKind.BIGINT,),
    (AvroKind.LONG, AvroLogical.TIMESTAMP_MILLIS): (TypeKind.TIMESTAMP, TypeKind.BIGINT),
    (AvroKind.LONG, AvroLogical.TIMESTAMP_MICROS): (TypeKind.TIMESTAMP, TypeKind.BIGINT),
    (AvroKind.LONG, AvroLogical.TIMESTAMP_NANOS): (TypeKind.BIGINT,),
    (AvroKind.LONG, AvroLogical.LOCAL_TIMESTAMP_MILLIS): (TypeKind.TIMESTAMP_NTZ, TypeKind.BIGINT),
    (AvroKind.LONG, AvroLogical.LOCAL_TIMESTAMP_MICROS): (TypeKind.TIMESTAMP_NTZ, TypeKind.BIGINT),
    (AvroKind.LONG, AvroLogical.LOCAL_TIMESTAMP_NANOS): (TypeKind.BIGINT,),
    (AvroKind.FLOAT, AvroLogical.NONE): (TypeKind.FLOAT,),
    (AvroKind.DOUBLE, AvroLogical.NONE): (TypeKind.FLOAT, TypeKind.DOUBLE),
    (AvroKind.STRING, AvroLogical.NONE): (TypeKind.STRING,),
    (AvroKind.STRING, AvroLogical.UUID): (TypeKind.STRING,),
    (AvroKind.ENUM, AvroLogical.NONE): (TypeKind.STRING,),
    (AvroKind.BYTES, AvroLogical.NONE): (TypeKind.BINARY,),
    (AvroKind.FIXED, AvroLogical.NONE): (TypeKind.BINARY,),
    (AvroKind.FIXED, AvroLogical.UUID): (TypeKind.STRING,),
}
"""The columns that each type holds; what may be wrong with a single value is found when it is written."""


def find_unwritable_by(record: AvroType, schema: Schema) -> Iterator[SchemaMismatch]:
    """Find the columns that records of a schema don't hold, and the fields that nothing fills."""
    yield from find_no_record(record)
    if record.kind is AvroKind.RECORD:
        yield from _in_record(record, schema.columns, "")


def written_branch(union: AvroType, column: DataType) -> int | None:
    """Return the branch of a union that values of a column are written as: the first that holds them all.

    A branch that holds some of them, such as the symbols of an enum, is taken if there is no other.
    """
    held = [
        number
        for number, branch in enumerate(union.parts)
        if branch.kind is not AvroKind.NULL and next(_in_type(branch, column, ""), None) is None
    ]
    return next(
        (number for number in held if not _is_partial(union.parts[number])), held[0] if len(held) == 1 else None
    )


def _is_partial(avro: AvroType) -> bool:
    return avro.kind in (AvroKind.ENUM, AvroKind.FIXED) or avro.logical is AvroLogical.UUID


def _in_record(record: AvroType, columns: tuple[Column, ...], path: str) -> Iterator[SchemaMismatch]:
    names = {column.name for column in columns}
    for field in record.fields:
        if field.name in names:
            continue
        try:
            filled = default_value(field) is not None or _may_be_null(field.type)
        except AvroSchemaError as error:
            yield SchemaMismatch(path=f"{path}{field.name}", reason=str(error))
            continue
        if not filled:
            reason = "no column has its name, and it has no default and is not nullable; add the column in a map"
            yield SchemaMismatch(path=f"{path}{field.name}", reason=reason, missing=True)
    for column in columns:
        at, target = f"{path}{column.name}", record.get(column.name)
        if target is None:
            reason = f"{record.name} has no field `{column.name}`, so it would not be written; leave it out in a map"
            yield SchemaMismatch(path=at, reason=reason, missing=True)
        else:
            yield from _in_type(target.type, column.type, at)


def _in_type(avro: AvroType, to: DataType, path: str) -> Iterator[SchemaMismatch]:
    if avro.kind is AvroKind.UNION:
        yield from _in_union(avro, to, path)
    elif avro.kind is AvroKind.RECORD and to.kind is TypeKind.STRUCT:
        yield from _in_record(avro, to.fields, f"{path}.")
    elif avro.kind is AvroKind.ARRAY and to.kind is TypeKind.ARRAY:
        yield from _in_type(avro.parts[0], to.element, f"{path}.element")
    elif avro.kind is AvroKind.MAP and to.kind is TypeKind.MAP and to.key.kind is TypeKind.STRING:
        yield from _in_type(avro.parts[0], to.value, f"{path}.value")
    elif not _holds(avro, to):
        yield SchemaMismatch(path=path, reason=f"{to} is written, which {avro} does not hold; cast it in a map")


def _in_union(union: AvroType, to: DataType, path: str) -> Iterator[SchemaMismatch]:
    branches = union.branches
    if is_struct_of_members(union, to):
        yield from find_in_members(union, to, path, _in_type)
    elif len(branches) == 1:
        yield from _in_type(branches[0], to, path)
    elif written_branch(union, to) is None:
        reason = (
            f"{to} is written, which not one branch of {union} holds; cast it, or make a struct of members in a map"
        )
        yield SchemaMismatch(path=path, reason=reason)


def _holds(avro: AvroType, to: DataType) -> bool:
    if avro.logical is not AvroLogical.DECIMAL:
        return to.kind in _HELD.get((avro.kind, avro.logical), ())
    if to.kind is not TypeKind.DECIMAL or to.scale > avro.scale:
        return False
    digits = to.precision - to.scale + avro.scale
    if digits > min(avro.precision, MAX_PRECISION):
        return False
    return avro.kind is AvroKind.BYTES or 10**digits <= 1 << (8 * avro.size - 1)


def _may_be_null(avro: AvroType) -> bool:
    parts = avro.parts if avro.kind is AvroKind.UNION else (avro,)
    return any(part.kind is AvroKind.NULL for part in parts)
