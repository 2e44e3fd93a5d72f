"""Spark's types, nested to any sensible depth, and named columns of them; `str()` is their text in a schema."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

RESERVED_PREFIX = "__"
MAX_NAME_LENGTH = 255
MAX_PRECISION = 38
MAX_TYPE_DEPTH = 20
"""Levels of a nested type."""


class SchemaError(ValueError):
    """A schema is invalid; the message has the part, the reason, and what would be valid."""


class TypeKind(StrEnum):
    """The families of types; `decimal` has digits, and the last three hold values of other types."""

    STRING = "string"
    BOOLEAN = "boolean"
    TINYINT = "tinyint"
    SMALLINT = "smallint"
    INT = "int"
    BIGINT = "bigint"
    FLOAT = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    BINARY = "binary"
    VOID = "void"
    """The type of a value in an array, map or struct that can only be null, as in `array()`; no column has it."""
    DAY_TIME_INTERVAL = "day-time interval"
    YEAR_MONTH_INTERVAL = "year-month interval"
    VARIANT = "variant"
    """A JSON value, whose type is its own."""
    GEOMETRY = "geometry"
    GEOGRAPHY = "geography"
    """Shapes on a plane, and on the globe: in expressions, as intervals are."""
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


INTERVALS = frozenset({TypeKind.DAY_TIME_INTERVAL, TypeKind.YEAR_MONTH_INTERVAL})
"""Lengths of time: operands and results in expressions, which no column holds."""
SPATIAL = frozenset({TypeKind.GEOMETRY, TypeKind.GEOGRAPHY})
UNSTORED = INTERVALS | SPATIAL | {TypeKind.VOID}
"""The families of types that no column has."""
UNORDERED = frozenset({TypeKind.MAP, TypeKind.VARIANT}) | SPATIAL
"""The families of types whose values can't be compared."""
VARIANT_PARTS = ("\x01value", "\x01metadata")
"""The fields of the structs that hold variants in batches of rows: no schema can name a field so."""
NESTED = frozenset({TypeKind.ARRAY, TypeKind.MAP, TypeKind.STRUCT})


@dataclass(frozen=True, slots=True)
class DataType:
    """The type of a column, `str()` as in Spark's DDL.

    `precision` and `scale` are a decimal's, else 0. `fields` are the types inside: those of a struct, the `element` of
    an array, the `key` and `value` of a map. `units` are those of an interval: `day to second`, `month`; or the
    reference system of a geometry.
    """

    kind: TypeKind
    precision: int = 0
    scale: int = 0
    fields: tuple["Column", ...] = field(default=(), repr=False)
    units: str = ""

    def __post_init__(self) -> None:
        if self.kind is TypeKind.DECIMAL:
            if not (1 <= self.precision <= MAX_PRECISION and 0 <= self.scale <= self.precision):
                raise SchemaError(
                    f"decimal({self.precision},{self.scale}): the precision is 1 to {MAX_PRECISION}, "
                    "the scale 0 to the precision"
                )
        elif self.precision or self.scale:
            raise SchemaError(f"type {self.kind} takes no parameters")
        if bool(self.fields) != (self.kind in NESTED):
            raise SchemaError(_EMPTY.get(self.kind, f"type {self.kind} has no types inside"))
        if self.kind is TypeKind.MAP and UNORDERED & self.key.kinds:
            raise SchemaError(f"{self}: the keys of a map can't be or hold {unordered(self.key)}s")
        if self.depth > MAX_TYPE_DEPTH:
            raise SchemaError(f"a type is nested in more than {MAX_TYPE_DEPTH} levels")
        if self.kind is TypeKind.STRUCT:
            check_distinct(self.fields, "fields of a struct")

    def __str__(self) -> str:
        match self.kind:
            case TypeKind.DECIMAL:
                return f"decimal({self.precision},{self.scale})"
            case TypeKind.ARRAY | TypeKind.MAP:
                return f"{self.kind}<{','.join(str(part.type) for part in self.fields)}>"
            case TypeKind.STRUCT:
                return f"struct<{','.join(f'{written_name(part.name)}:{part.type}' for part in self.fields)}>"
            case TypeKind.GEOMETRY | TypeKind.GEOGRAPHY:
                return f"{self.kind}({self.units})"
            case _:
                return f"interval {self.units}" if self.units else str(self.kind)

    @property
    def nested(self) -> bool:
        """Whether values hold other values."""
        return self.kind in NESTED

    @property
    def element(self) -> "DataType":
        """The type of an array's elements."""
        return self.fields[0].type

    @property
    def key(self) -> "DataType":
        """The type of a map's keys."""
        return self.fields[0].type

    @property
    def value(self) -> "DataType":
        """The type of a map's values."""
        return self.fields[1].type

    @property
    def depth(self) -> int:
        """The levels of the type; 1 without types inside."""
        return 1 + max((part.type.depth for part in self.fields), default=0)

    @property
    def kinds(self) -> frozenset[TypeKind]:
        """The families of this type and of all types inside."""
        return frozenset({self.kind}).union(*(part.type.kinds for part in self.fields))

    def get(self, name: str) -> "Column | None":
        """Find the field of a struct by name, whatever its case."""
        return next((part for part in self.fields if part.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class Column:
    """A named value of every row, or a field of a struct. Every column may be null."""

    name: str
    type: DataType

    def __str__(self) -> str:
        return f"{written_name(self.name)} {self.type}"


STRING = DataType(TypeKind.STRING)
BOOLEAN = DataType(TypeKind.BOOLEAN)
TINYINT = DataType(TypeKind.TINYINT)
SMALLINT = DataType(TypeKind.SMALLINT)
INT = DataType(TypeKind.INT)
BIGINT = DataType(TypeKind.BIGINT)
FLOAT = DataType(TypeKind.FLOAT)
DOUBLE = DataType(TypeKind.DOUBLE)
DATE = DataType(TypeKind.DATE)
TIMESTAMP = DataType(TypeKind.TIMESTAMP)
TIMESTAMP_NTZ = DataType(TypeKind.TIMESTAMP_NTZ)
BINARY = DataType(TypeKind.BINARY)
VARIANT = DataType(TypeKind.VARIANT)
VOID = DataType(TypeKind.VOID)


def array_of(element: DataType) -> DataType:
    """Return the type of arrays of these elements."""
    return DataType(TypeKind.ARRAY, fields=(Column("element", element),))


def map_of(key: DataType, value: DataType) -> DataType:
    """Return the type of maps.

    Raises:
        SchemaError: The keys are or hold maps.
    """
    return DataType(TypeKind.MAP, fields=(Column("key", key), Column("value", value)))


def struct_of(fields: Sequence[Column]) -> DataType:
    """Return the type of structs.

    Raises:
        SchemaError: There is no field, or two have one name.
    """
    return DataType(TypeKind.STRUCT, fields=tuple(fields))


def check_distinct(columns: Sequence[Column], what: str) -> None:
    """Refuse columns of one name.

    Raises:
        SchemaError: Two names differ in their case at most.
    """
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise SchemaError(f"two {what} are named `{column.name}` (upper and lower case make no difference)")
        seen.add(column.name.lower())


def check_column_name(name: str) -> None:
    """Refuse a name that no column may have: as `check_field_name`, or reserved.

    Raises:
        SchemaError: The name, and why it is refused.
    """
    check_field_name(name)
    if name.startswith(RESERVED_PREFIX):
        raise SchemaError(f"column `{name}`: names that begin with `{RESERVED_PREFIX}` are reserved")


def check_field_name(name: str) -> None:
    """Refuse a name that no field of a struct may have: empty, too long, or with control characters.

    Raises:
        SchemaError: The name, and why it is refused.
    """
    if not name or len(name) > MAX_NAME_LENGTH:
        raise SchemaError(f"a column name has 1 to {MAX_NAME_LENGTH} characters, `{name[:40]}` has {len(name)}")
    if not name.isprintable():
        raise SchemaError(f"column {name!r}: a name has printable characters only")


def written_name(name: str) -> str:
    """Write a name as it stands in a schema: in backquotes where it has other characters than words have."""
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def all_types(data_type: DataType) -> Iterator[DataType]:
    """Return a type and all types inside."""
    yield data_type
    for part in data_type.fields:
        yield from all_types(part.type)


def unordered(data_type: DataType) -> TypeKind | None:
    """Return the family of what can't be compared in values of a type; None if they can be."""
    return next((part.kind for part in all_types(data_type) if part.kind in UNORDERED), None)


_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_EMPTY = {
    TypeKind.ARRAY: "write the type of the elements, as in array<int>",
    TypeKind.MAP: "write the types of keys and values, as in map<string,int>",
    TypeKind.STRUCT: "a struct has one field at least, as in struct<a:int>",
}
