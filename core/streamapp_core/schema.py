"""Schemas of streams and tables: named columns with Spark's types, and their text form.

The text is the column list of a Spark DDL (`carrier string, price decimal(10,2)`). A timestamp is a moment in
UTC with microseconds. Names are found whatever their case, as in Spark, and keep the case they were written in.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

EVENT_TIME_COLUMN = "__event_time"
"""The hidden column of event times in a batch of rows: bigint, milliseconds since 1970 in UTC."""

RESERVED_PREFIX = "__"
MAX_SCHEMA_LENGTH = 65_536
MAX_COLUMNS = 1_000
MAX_NAME_LENGTH = 255
MAX_PRECISION = 38


class SchemaError(ValueError):
    """A schema is invalid; the message has the part, the reason, and what would be valid."""


class TypeKind(StrEnum):
    """The families of types; only `decimal` has parameters."""

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
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class DataType:
    """The type of a column, `str()` as in Spark's DDL; `precision` and `scale` are a decimal's, else 0."""

    kind: TypeKind
    precision: int = 0
    scale: int = 0

    def __post_init__(self) -> None:
        if self.kind is TypeKind.DECIMAL:
            if not (1 <= self.precision <= MAX_PRECISION and 0 <= self.scale <= self.precision):
                raise SchemaError(
                    f"decimal({self.precision},{self.scale}): the precision is 1 to {MAX_PRECISION}, "
                    "the scale 0 to the precision"
                )
        elif self.precision or self.scale:
            raise SchemaError(f"type {self.kind} takes no parameters")

    def __str__(self) -> str:
        if self.kind is TypeKind.DECIMAL:
            return f"decimal({self.precision},{self.scale})"
        return str(self.kind)


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
BINARY = DataType(TypeKind.BINARY)


@dataclass(frozen=True, slots=True)
class Column:
    """A named value of every row. Every column may be null."""

    name: str
    type: DataType

    def __str__(self) -> str:
        name = self.name if _PLAIN_NAME.fullmatch(self.name) else "`" + self.name.replace("`", "``") + "`"
        return f"{name} {self.type}"


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns in order; no two names are equal when case is ignored. `str()` is the text that parses to it.

    Raises:
        SchemaError: Two columns have one name.
    """

    columns: tuple[Column, ...]
    _by_name: Mapping[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name: dict[str, Column] = {}
        for column in self.columns:
            other = by_name.setdefault(column.name.lower(), column)
            if other is not column:
                raise SchemaError(f"two columns are named `{column.name}` (upper and lower case make no difference)")
        object.__setattr__(self, "_by_name", by_name)

    def __str__(self) -> str:
        return ", ".join(map(str, self.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order, as they were written."""
        return tuple(column.name for column in self.columns)

    def get(self, name: str) -> Column | None:
        """Find a column by name, whatever its case."""
        return self._by_name.get(name.lower())


def parse_schema(text: str) -> Schema:
    """Parse a column list such as `k string, price decimal(10,2), at timestamp`.

    Spark's other names of the same types (`integer`, `long`, `real`, `numeric`, ...) are taken too. A name
    with other characters than letters, digits and underscores is written in backquotes.

    Raises:
        SchemaError: The text is no column list, is too long, or names a column twice or with the prefix `__`.
    """
    if len(text) > MAX_SCHEMA_LENGTH:
        raise SchemaError(f"the schema is longer than {MAX_SCHEMA_LENGTH} characters")
    if not text.strip():
        raise SchemaError('the schema is empty: write columns as in "k string, v int"')
    columns: list[Column] = []
    position = 0
    while True:
        match = _COLUMN.match(text, position)
        if match is None:
            near = text[position : position + 40].strip()
            raise SchemaError(f'expected a column such as "k string" at "{near}". {_TYPES_HINT}')
        columns.append(_column(match))
        if len(columns) > MAX_COLUMNS:
            raise SchemaError(f"the schema has more than {MAX_COLUMNS} columns")
        if match["end"] != ",":
            return Schema(tuple(columns))
        position = match.end()


def parse_type(text: str) -> DataType:
    """Parse the name of a type, with its parameters: `int`, `long`, `decimal(10,2)`.

    Raises:
        SchemaError: There is no such type; the message lists them.
    """
    match = _TYPE.fullmatch(text.strip())
    if match is None:
        raise SchemaError(f"`{text[:40]}` is no type. {_TYPES_HINT}")
    return _data_type(match["type"], match["parameters"])


def check_column_name(name: str) -> None:
    """Refuse a name that no column may have: empty, too long, reserved, or with control characters.

    Raises:
        SchemaError: The name, and why it is refused.
    """
    if not name or len(name) > MAX_NAME_LENGTH:
        raise SchemaError(f"a column name has 1 to {MAX_NAME_LENGTH} characters, `{name[:40]}` has {len(name)}")
    if name.startswith(RESERVED_PREFIX):
        raise SchemaError(f"column `{name}`: names that begin with `{RESERVED_PREFIX}` are reserved")
    if not name.isprintable():
        raise SchemaError(f"column {name!r}: a name has printable characters only")


_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_TYPE_PATTERN = r"(?P<type>[A-Za-z_]\w*)\s*(?:\((?P<parameters>[^()]*)\))?"
_TYPE = re.compile(_TYPE_PATTERN)
_COLUMN = re.compile(
    rf"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>{_PLAIN_NAME.pattern}))(?:\s*:\s*|\s+){_TYPE_PATTERN}\s*(?P<end>,|$)"
)
_KINDS = {str(kind): kind for kind in TypeKind} | {
    "byte": TypeKind.TINYINT,
    "short": TypeKind.SMALLINT,
    "integer": TypeKind.INT,
    "long": TypeKind.BIGINT,
    "real": TypeKind.FLOAT,
    "dec": TypeKind.DECIMAL,
    "numeric": TypeKind.DECIMAL,
    "timestamp_ltz": TypeKind.TIMESTAMP,
}
_DEFAULT_DECIMAL = (10, 0)
_TYPES_HINT = "The types are " + ", ".join(
    "decimal(p,s)" if kind is TypeKind.DECIMAL else str(kind) for kind in TypeKind
)


def _column(match: re.Match[str]) -> Column:
    quoted: str | None = match["quoted"]
    name = match["plain"] if quoted is None else quoted.replace("``", "`")
    check_column_name(name)
    try:
        return Column(name, _data_type(match["type"], match["parameters"]))
    except SchemaError as error:
        raise SchemaError(f"column `{name}`: {error}") from None


def _data_type(name: str, parameters: str | None) -> DataType:
    kind = _KINDS.get(name.lower())
    if kind is None:
        raise SchemaError(f"`{name[:40]}` is no type. {_TYPES_HINT}")
    if kind is not TypeKind.DECIMAL:
        if parameters is not None:
            raise SchemaError(f"type {kind} takes no parameters")
        return DataType(kind)
    if parameters is None:
        return DataType(kind, *_DEFAULT_DECIMAL)
    numbers = [number.strip() for number in parameters.split(",")]
    if len(numbers) > 2 or not all(re.fullmatch(r"[0-9]{1,3}", number) for number in numbers):  # noqa: PLR2004
        raise SchemaError(f"decimal({parameters[:40]}): write decimal(precision,scale), as in decimal(10,2)")
    return DataType(kind, int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0)
