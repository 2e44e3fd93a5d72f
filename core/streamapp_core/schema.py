"""Schemas of streams and tables: named columns with Spark's types, and their text form.

The text is the column list of a Spark DDL (`carrier string, price decimal(10,2), tags array<string>`). A timestamp is
a moment in UTC with microseconds. Names are found whatever their case, as in Spark, and keep the case they were written
in.
"""

import re
from collections.abc import Callable, Mapping
from functools import cached_property

import msgspec

from streamapp_core.data_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_NAME_LENGTH,
    MAX_PRECISION,
    MAX_TYPE_DEPTH,
    RESERVED_PREFIX,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNSTORED,
    VOID,
    Column,
    DataType,
    SchemaError,
    TypeKind,
    all_types,
    array_of,
    check_column_name,
    check_distinct,
    check_field_name,
    map_of,
    struct_of,
)

__all__ = [
    "BIGINT",
    "BINARY",
    "BOOLEAN",
    "DATE",
    "DOUBLE",
    "EVENT_TIME_COLUMN",
    "FLOAT",
    "INT",
    "MAX_COLUMNS",
    "MAX_NAME_LENGTH",
    "MAX_PRECISION",
    "MAX_SCHEMA_LENGTH",
    "MAX_TYPE_DEPTH",
    "RESERVED_PREFIX",
    "SMALLINT",
    "STRING",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "TINYINT",
    "VOID",
    "Column",
    "DataType",
    "Schema",
    "SchemaError",
    "TypeKind",
    "array_of",
    "check_column_name",
    "check_field_name",
    "map_of",
    "parse_schema",
    "parse_type",
    "struct_of",
]

EVENT_TIME_COLUMN = "__event_time"
"""The hidden column of event times in a batch of rows: bigint, milliseconds since 1970 in UTC."""

MAX_SCHEMA_LENGTH = 65_536
MAX_COLUMNS = 1_000


class Schema(msgspec.Struct, frozen=True, cache_hash=True, dict=True):
    """Columns in order; no two names are equal when case is ignored. `str()` is the text that parses to it.

    Raises:
        SchemaError: Two columns have one name.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        check_distinct(self.columns, "columns")

    def __str__(self) -> str:
        return ", ".join(map(str, self.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order, as they were written."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name.lower(): column for column in self.columns}

    def get(self, name: str) -> Column | None:
        """Find a column by name, whatever its case."""
        return self._by_name.get(name.lower())

    def find(self, path: str) -> Column | None:
        """Find a column, or a field of structs by the path to it (`bid.at`), whatever their case."""
        first, *names = [path] if self.get(path) else path.split(".")
        column = self.get(first)
        for name in names:
            column = column.type.get(name) if column is not None and column.type.kind is TypeKind.STRUCT else None
        return column


def parse_schema(text: str) -> Schema:
    """Parse a column list such as `k string, price decimal(10,2), tags array<string>, at struct<x:double,y:double>`.

    Spark's other names of the same types (`integer`, `long`, `real`, `numeric`, ...) are taken too. A name
    with other characters than letters, digits and underscores is written in backquotes.

    Raises:
        SchemaError: The text is no column list, is too long, or names a column twice or with the prefix `__`.
    """
    parser = _Parser(text)
    if not text.strip():
        raise SchemaError('the schema is empty: write columns as in "k string, v int"')
    columns = parser.columns(check_column_name)
    parser.end()
    if sum(1 for column in columns for _ in all_types(column.type)) > MAX_COLUMNS:
        raise SchemaError(f"the schema has more than {MAX_COLUMNS} columns, those in nested types included")
    return Schema(tuple(columns))


def parse_type(text: str) -> DataType:
    """Parse a type: `int`, `long`, `decimal(10,2)`, `map<string,array<int>>`, `variant`.

    Raises:
        SchemaError: There is no such type; the message lists them.
    """
    parser = _Parser(text)
    data_type = parser.type()
    parser.end()
    return data_type


_TOKEN = re.compile(r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<word>\w+)|(?P<sign>[<>(),:])|(?P<other>\S))")
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_DIGITS = re.compile(r"[0-9]{1,3}")
_KINDS = {str(kind): kind for kind in TypeKind if kind not in UNSTORED} | {
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
_WRITTEN = {
    TypeKind.DECIMAL: "decimal(p,s)",
    TypeKind.ARRAY: "array<type>",
    TypeKind.MAP: "map<type,type>",
    TypeKind.STRUCT: "struct<name:type,...>",
}
_TYPES_HINT = "The types are " + ", ".join(_WRITTEN.get(kind, str(kind)) for kind in TypeKind if kind not in UNSTORED)
_TEXTS_OF_LENGTH = frozenset({"varchar", "char", "character"})


class _Parser:
    """A reader of one text, token by token, by recursive descent."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_SCHEMA_LENGTH:
            raise SchemaError(f"the schema is longer than {MAX_SCHEMA_LENGTH} characters")
        self._text = text.rstrip()
        self._position = 0
        self._depth = 0

    def columns(self, check_name: Callable[[str], None]) -> list[Column]:
        """Read a list of names and types, separated by commas."""
        columns = [self._column(check_name)]
        while self._skip(","):
            columns.append(self._column(check_name))
            if len(columns) > MAX_COLUMNS:
                raise SchemaError(f"the schema has more than {MAX_COLUMNS} columns")
        return columns

    def type(self) -> DataType:
        """Read a type."""
        start = self._position
        word = self._word() or ""
        kind = _KINDS.get(word.lower())
        if word.lower() in _TEXTS_OF_LENGTH:
            raise SchemaError(f"`{word}`: lengths of texts are not checked; write string")
        if kind is None:
            shown = word or self._text[start : start + 40].strip()
            raise SchemaError(f"`{shown[:40]}` is no type. {_TYPES_HINT}")
        if kind is TypeKind.DECIMAL:
            return DataType(kind, *self._digits())
        if kind in _WRITTEN:
            return self._nested(kind)
        if self._peek("("):
            raise SchemaError(f"type {kind} takes no parameters")
        return DataType(kind)

    def end(self) -> None:
        """Refuse text after what was read."""
        if self._position < len(self._text):
            raise self._expected("a comma or the end")

    def _column(self, check_name: Callable[[str], None]) -> Column:
        start = self._position
        name = self._name()
        if name is None:
            raise self._expected('a column such as "k string"')
        check_name(name)
        colon = self._skip(":")
        if not colon and self._position == len(self._text):
            self._position = start
            raise self._expected('a column such as "k string"')
        try:
            return Column(name, self.type())
        except SchemaError as error:
            raise SchemaError(f"column `{name}`: {error}") from None

    def _nested(self, kind: TypeKind) -> DataType:
        self._depth += 1
        if self._depth >= MAX_TYPE_DEPTH:
            raise SchemaError(f"a type is nested in more than {MAX_TYPE_DEPTH} levels")
        if not self._skip("<"):
            return DataType(kind)  # which says what is missing
        if kind is TypeKind.STRUCT:
            data_type = DataType(kind) if self._peek(">") else struct_of(self.columns(check_field_name))
        elif kind is TypeKind.ARRAY:
            data_type = array_of(self.type())
        else:
            key = self.type()
            if not self._skip(","):
                raise self._expected("a comma and the type of the values")
            data_type = map_of(key, self.type())
        if not self._skip(">"):
            raise self._expected("`>`")
        self._depth -= 1
        return data_type

    def _digits(self) -> tuple[int, int]:
        if not self._skip("("):
            return _DEFAULT_DECIMAL
        start = self._position
        numbers = [self._word() or ""]
        if self._skip(","):
            numbers.append(self._word() or "")
        if not self._skip(")") or not all(_DIGITS.fullmatch(number) for number in numbers):
            shown = self._text[start:].partition(")")[0][:40]
            raise SchemaError(f"decimal({shown}): write decimal(precision,scale), as in decimal(10,2)")
        return int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0

    def _name(self) -> str | None:
        token = _TOKEN.match(self._text, self._position)
        if token is None:
            return None
        quoted: str | None = token["quoted"]
        plain: str = token["word"] or ""
        if quoted is None and not _PLAIN_NAME.fullmatch(plain):
            return None
        self._position = token.end()
        return plain if quoted is None else quoted.replace("``", "`")

    def _word(self) -> str | None:
        token = _TOKEN.match(self._text, self._position)
        if token is None or token["word"] is None:
            return None
        self._position = token.end()
        return str(token["word"])

    def _peek(self, sign: str) -> bool:
        token = _TOKEN.match(self._text, self._position)
        return token is not None and token["sign"] == sign

    def _skip(self, sign: str) -> bool:
        token = _TOKEN.match(self._text, self._position)
        if token is None or token["sign"] != sign:
            return False
        self._position = token.end()
        return True

    def _expected(self, what: str) -> SchemaError:
        near = self._text[self._position : self._position + 40].strip()
        return SchemaError(f'expected {what} at "{near}". {_TYPES_HINT}')
