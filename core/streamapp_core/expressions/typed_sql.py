"""Typed DuckDB SQL: what every part of an expression is turned into, and how such texts are put together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2b

from streamapp_core.data_types import VARIANT_PARTS
from streamapp_core.schema import DataType, TypeKind

Literal = str | int | float | Decimal | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A remark on what is allowed in an expression and rarely wanted; `repair` is what to write instead."""

    message: str
    repair: str


@dataclass(frozen=True, slots=True)
class Value:
    """DuckDB SQL that yields `type` exactly; the type of a bare `null` is None until the context sets one.

    `literal` is what was written, where the part is a literal. `simple`: the text is cheap and may be
    repeated: a column, a literal or a bound name. `column` is the column that the part is, as it is. `pairs` are the
    keys and values of a map of text literals. `remarks` are about this part alone.
    """

    type: DataType | None
    sql: str
    literal: Literal | None = None
    simple: bool = False
    column: str | None = None
    pairs: tuple[tuple[str, str], ...] | None = None
    remarks: tuple[Remark, ...] = ()

    @property
    def kind(self) -> TypeKind | None:
        """The family of the type; None for a bare `null`."""
        return self.type.kind if self.type else None


NULL = Value(None, "NULL", simple=True)

DUCKDB_TYPES = {
    TypeKind.STRING: "VARCHAR",
    TypeKind.BOOLEAN: "BOOLEAN",
    TypeKind.TINYINT: "TINYINT",
    TypeKind.SMALLINT: "SMALLINT",
    TypeKind.INT: "INTEGER",
    TypeKind.BIGINT: "BIGINT",
    TypeKind.FLOAT: "FLOAT",
    TypeKind.DOUBLE: "DOUBLE",
    TypeKind.DATE: "DATE",
    TypeKind.TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
    TypeKind.TIMESTAMP_NTZ: "TIMESTAMP",
    TypeKind.BINARY: "BLOB",
    TypeKind.VOID: "INTEGER",
    TypeKind.DAY_TIME_INTERVAL: "BIGINT",
    TypeKind.YEAR_MONTH_INTERVAL: "INTEGER",
    TypeKind.VARIANT: "STRUCT(" + ", ".join(f'"{part}" BLOB' for part in VARIANT_PARTS) + ")",
    TypeKind.GEOMETRY: "BLOB",
    TypeKind.GEOGRAPHY: "BLOB",
}


def duckdb_type(data_type: DataType) -> str:
    """Return DuckDB's name of a type."""
    if data_type.kind is TypeKind.DECIMAL:
        return f"DECIMAL({data_type.precision},{data_type.scale})"
    match data_type.kind:
        case TypeKind.ARRAY:
            return f"{duckdb_type(data_type.element)}[]"
        case TypeKind.MAP:
            return f"MAP({duckdb_type(data_type.key)}, {duckdb_type(data_type.value)})"
        case TypeKind.STRUCT:
            return f"STRUCT({', '.join(f'{quoted(part.name)} {duckdb_type(part.type)}' for part in data_type.fields)})"
        case _:
            return DUCKDB_TYPES[data_type.kind]


def variant_value(sql: str) -> str:
    """Write the bytes of the value of a variant, without the names of its fields."""
    return f"struct_extract({sql}, {text(VARIANT_PARTS[0])})"


def quoted(name: str) -> str:
    """Quote a name for DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Write a text as a DuckDB literal."""
    return "'" + value.replace("'", "''") + "'"


def cast(sql: str, target: DataType | str) -> str:
    """Wrap SQL in a cast that can't fail for the values it gets."""
    return f"CAST({sql} AS {target if isinstance(target, str) else duckdb_type(target)})"


def try_cast(sql: str, target: DataType | str) -> str:
    """Wrap SQL in a cast that gives null where the value does not fit."""
    return f"TRY_CAST({sql} AS {target if isinstance(target, str) else duckdb_type(target)})"


def one_zero(sql: str) -> str:
    """Return one value for 0.0 and -0.0, and one for all NaN, of a float or double."""
    return f"CASE WHEN isnan({sql}) THEN 'nan' ELSE {sql} + 0 END"


def bound(values: Sequence[Value], body: Callable[..., str]) -> str:
    """Write `body` over values that it uses several times, so that each is written and evaluated once.

    Values that are no simple texts become the fields of a struct that a lambda takes: without that, nested
    expressions would double in length with each level. Its variable is named after the fields, so that a body may use
    the names of one around it: only what has equal values has an equal name.
    """
    if all(value.simple for value in values):
        return body(*(value.sql for value in values))
    fields = ", ".join(f"'a{place}': {value.sql}" for place, value in enumerate(values))
    variable = f"__v{blake2b(fields.encode(), digest_size=4).hexdigest()}"
    names = (f"{variable}.a{place}" for place in range(len(values)))
    return f"list_transform([{{{fields}}}], lambda {variable}: {body(*names)})[1]"
