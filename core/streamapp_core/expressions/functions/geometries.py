"""Geometries and geographies: values inside of an expression, out of well-known binary (WKB) and written as it.

A value is its WKB, checked, with the least byte first; its reference system (SRID) is a part of its type.
"""

from collections.abc import Callable

from streamapp_core.data_types import SPATIAL, DataType, TypeKind
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import WKB
from streamapp_core.expressions.typed_sql import Value, cast
from streamapp_core.schema import BINARY, INT

_GLOBE = 4326
_KNOWN = {TypeKind.GEOMETRY: (0, 3857, _GLOBE), TypeKind.GEOGRAPHY: (_GLOBE,)}
_ENDIANNESS = {"NDR": "false", "XDR": "true"}


def _from_wkb(kind: TypeKind, usual: int) -> Callable[..., Value]:
    def write(value: Value, system: Value | None = None) -> Value:
        data_type = _typed(kind, usual if system is None else system.literal)
        globe = "true" if kind is TypeKind.GEOGRAPHY else "false"
        return Value(data_type, WKB.over(value.sql, globe, "false"))

    return write


def _typed(kind: TypeKind, system: object) -> DataType:
    if system not in _KNOWN[kind]:
        known = ", ".join(map(str, _KNOWN[kind]))
        raise invalid(f"the reference system of a {kind} is {known}, not {system}")
    return DataType(kind, units=str(system))


def _checked(value: Value, function: str) -> Value:
    if value.type is not None and value.kind not in SPATIAL:
        raise Refusal(f"{function} takes a geometry or geography, got {value.type}: st_geomfromwkb(...) makes one")
    return value


def _as_binary(value: Value, endianness: Value | None = None) -> Value:
    written = "NDR" if endianness is None else str(endianness.literal).upper()
    if written not in _ENDIANNESS:
        raise invalid(f"the endianness of st_asbinary is 'NDR' or 'XDR', not '{written[:40]}'")
    if _checked(value, "st_asbinary").type is None:
        return Value(BINARY, cast("NULL", BINARY))
    return Value(BINARY, value.sql if written == "NDR" else WKB.over(value.sql, "false", _ENDIANNESS[written]))


def _system(value: Value) -> Value:
    data_type = _checked(value, "st_srid").type
    if data_type is None:
        return Value(INT, cast("NULL", INT))
    return Value(INT, f"CASE WHEN {value.sql} IS NOT NULL THEN {data_type.units} END")


def _with_system(value: Value, system: Value) -> Value:
    kind = _checked(value, "st_setsrid").kind or TypeKind.GEOGRAPHY
    data_type = _typed(kind, system.literal)
    return Value(data_type, cast("NULL", data_type) if value.type is None else value.sql)


_WKB = Parameter("wkb", Accepts.BINARY)
_SRID = Parameter("srid", Accepts.WHOLE_LITERAL)
_GEOMETRY = Parameter("geometry", Accepts.ANY)
GEOMETRIES = (
    Function(
        name="st_geomfromwkb",
        parameters=(_WKB, _SRID),
        optional=1,
        result="geometry",
        doc="The geometry of well-known binary, with its reference system: 0 if none is given, 3857 or 4326. Null of "
        "bytes that are none, or nested deeper than 200. Slow.",
        write=_from_wkb(TypeKind.GEOMETRY, 0),
    ),
    Function(
        name="st_geogfromwkb",
        parameters=(_WKB,),
        result="geography",
        doc="The same on the globe, with the reference system 4326: null if a longitude is beyond 180, or a latitude "
        "beyond 90. Slow.",
        write=_from_wkb(TypeKind.GEOGRAPHY, _GLOBE),
    ),
    Function(
        name="st_asbinary",
        parameters=(_GEOMETRY, Parameter("endianness", Accepts.TEXT_LITERAL)),
        optional=1,
        result="binary",
        doc="A geometry or geography as well-known binary, with the least byte first or (`'XDR'`, slow) last.",
        write=_as_binary,
    ),
    Function(
        name="st_srid",
        parameters=(_GEOMETRY,),
        result="int",
        doc="The number of the reference system of a geometry or geography.",
        write=_system,
    ),
    Function(
        name="st_setsrid",
        parameters=(_GEOMETRY, _SRID),
        result="the type with the reference system",
        doc="The same geometry with another reference system; its coordinates stay.",
        write=_with_system,
    ),
)
