"""Schemas of Avro (specification 1.12), read from their JSON: types without names, as each use of a name stands alone.

A type that holds itself is refused, since no column does; so is an array whose elements have no bytes, since a few
bytes could claim any number of them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

_MOST_TYPES = 10_000
_DEEPEST = 50


class AvroSchemaError(ValueError):
    """A schema is none of Avro's, or one that is not supported; the message has the place in it, and why."""


class AvroKind(StrEnum):
    """The types of Avro."""

    NULL = "null"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BYTES = "bytes"
    STRING = "string"
    FIXED = "fixed"
    ENUM = "enum"
    RECORD = "record"
    ARRAY = "array"
    MAP = "map"
    UNION = "union"


class AvroLogical(StrEnum):
    """The meanings that a type may have beside its form; Avro says to ignore others."""

    NONE = ""
    DECIMAL = "decimal"
    UUID = "uuid"
    DATE = "date"
    TIME_MILLIS = "time-millis"
    TIME_MICROS = "time-micros"
    TIMESTAMP_MILLIS = "timestamp-millis"
    TIMESTAMP_MICROS = "timestamp-micros"
    TIMESTAMP_NANOS = "timestamp-nanos"
    LOCAL_TIMESTAMP_MILLIS = "local-timestamp-millis"
    LOCAL_TIMESTAMP_MICROS = "local-timestamp-micros"
    LOCAL_TIMESTAMP_NANOS = "local-timestamp-nanos"


_UNDERLYING: Mapping[AvroLogical, tuple[AvroKind, ...]] = {
    AvroLogical.DECIMAL: (AvroKind.BYTES, AvroKind.FIXED),
    AvroLogical.UUID: (AvroKind.STRING, AvroKind.FIXED),
    AvroLogical.DATE: (AvroKind.INT,),
    AvroLogical.TIME_MILLIS: (AvroKind.INT,),
}
"""The types that have each meaning; those of all others are long."""
_PLAIN = frozenset(AvroKind) - {
    AvroKind.FIXED,
    AvroKind.ENUM,
    AvroKind.RECORD,
    AvroKind.ARRAY,
    AvroKind.MAP,
    AvroKind.UNION,
}
_UUID_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class AvroType:
    """A type: `fields` are a record's, `parts` the element of an array, the value of a map, the branches of a union.

    `size` is the number of bytes of a fixed; `precision` and `scale` are a decimal's.
    """

    kind: AvroKind
    logical: AvroLogical = AvroLogical.NONE
    name: str = ""
    precision: int = 0
    scale: int = 0
    size: int = 0
    symbols: tuple[str, ...] = ()
    fields: tuple["AvroField", ...] = ()
    parts: tuple["AvroType", ...] = ()

    def __str__(self) -> str:
        match self.kind:
            case AvroKind.UNION:
                return f"[{', '.join(map(str, self.parts))}]"
            case AvroKind.ARRAY | AvroKind.MAP:
                return f"{self.kind} of {self.parts[0]}"
            case _:
                form = f"{self.kind} {self.name}" if self.name else str(self.kind)
                digits = f"({self.precision},{self.scale})" if self.logical is AvroLogical.DECIMAL else ""
                return f"{form} ({self.logical}{digits})" if self.logical else form

    @cached_property
    def count(self) -> int:
        """The number of types in this one, itself included."""
        return 1 + sum(part.count for part in (*(field.type for field in self.fields), *self.parts))

    @cached_property
    def least_bytes(self) -> int:
        """The bytes that a value has at the least."""
        match self.kind:
            case AvroKind.NULL:
                return 0
            case AvroKind.FLOAT:
                return 4
            case AvroKind.DOUBLE:
                return 8
            case AvroKind.FIXED:
                return self.size
            case AvroKind.RECORD:
                return sum(field.type.least_bytes for field in self.fields)
            case _:
                return 1

    @property
    def branches(self) -> tuple["AvroType", ...]:
        """The types that a value may have, but for null: those of a union, else this one."""
        types = self.parts if self.kind is AvroKind.UNION else (self,)
        return tuple(part for part in types if part.kind is not AvroKind.NULL)

    def get(self, name: str) -> "AvroField | None":
        """Find the field of a record by its name, with its case."""
        return next((field for field in self.fields if field.name == name), None)


@dataclass(frozen=True, slots=True)
class AvroField:
    """A field of a record; `default` is JSON, None if there is none."""

    name: str
    type: AvroType
    default: str | None = None


@lru_cache(maxsize=100)
def parse_avro_schema(text: str, *named: str) -> AvroType:
    """Read a schema; `named` are others, before it, whose types it names.

    Raises:
        AvroSchemaError: it is none, or holds what is not supported.
    """
    parser = _Parser()
    for each in (*named, text):
        try:
            document = json.loads(each)
        except (ValueError, RecursionError) as error:
            raise AvroSchemaError(f"it is no JSON: {error}") from None
        found = parser.parse(document, "", "the schema", 0)
    return found


class _Parser:
    """Reads one schema; named types are known from where they stand first."""

    def __init__(self) -> None:
        self._named: dict[str, AvroType | None] = {}
        """None: it is being read, so what names it is inside of it."""

    def parse(self, given: Any, namespace: str, place: str, depth: int) -> AvroType:  # noqa: ANN401 - JSON
        if depth > _DEEPEST:
            raise AvroSchemaError(f"{place}: types are nested in more than {_DEEPEST} levels")
        found = self._parse(given, namespace, place, depth)
        if found.count > _MOST_TYPES:
            raise AvroSchemaError(f"{place}: there are more than {_MOST_TYPES:,} types")
        return found

    def _parse(self, given: Any, namespace: str, place: str, depth: int) -> AvroType:  # noqa: ANN401 - JSON
        if isinstance(given, str):
            return AvroType(kind=AvroKind(given)) if given in _PLAIN else self._find(given, namespace, place)
        if isinstance(given, list):
            return self._union(given, namespace, place, depth)
        if not isinstance(given, dict):
            raise AvroSchemaError(f"{place}: {json.dumps(given)[:40]} is no type")
        kind = given.get("type")
        if isinstance(kind, str) and kind in _PLAIN:
            return _with_meaning(AvroType(kind=AvroKind(kind)), given)
        return self._parse_object(given, namespace, place, depth)

    def _parse_object(self, given: Mapping[str, Any], namespace: str, place: str, depth: int) -> AvroType:
        kind = given.get("type")
        if kind == AvroKind.ARRAY:
            return self._array(given, namespace, place, depth)
        if kind == AvroKind.MAP:
            value = self.parse(given.get("values"), namespace, f"{place}: values", depth + 1)
            return AvroType(kind=AvroKind.MAP, parts=(value,))
        if kind in (AvroKind.FIXED, AvroKind.ENUM, AvroKind.RECORD, "error"):
            return self._define(given, namespace, place, depth)
        return self.parse(kind, namespace, place, depth + 1)

    def _find(self, name: str, namespace: str, place: str) -> AvroType:
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        if full not in self._named:
            full = name
        if full not in self._named:
            raise AvroSchemaError(f"{place}: there is no type `{name}`")
        known = self._named[full]
        if known is None:
            raise AvroSchemaError(f"{place}: record {full} holds itself, which rows can't")
        return known

    def _union(self, given: list[Any], namespace: str, place: str, depth: int) -> AvroType:
        parts = tuple(
            self.parse(part, namespace, f"{place}: branch {number}", depth + 1) for number, part in enumerate(given)
        )
        if not parts or any(part.kind is AvroKind.UNION for part in parts):
            raise AvroSchemaError(f"{place}: a union has types that are none themselves, one at least")
        return AvroType(kind=AvroKind.UNION, parts=parts)

    def _array(self, given: Mapping[str, Any], namespace: str, place: str, depth: int) -> AvroType:
        element = self.parse(given.get("items"), namespace, f"{place}: items", depth + 1)
        if not element.least_bytes:
            raise AvroSchemaError(f"{place}: its elements have no bytes, so their number can be anything")
        return AvroType(kind=AvroKind.ARRAY, parts=(element,))

    def _define(self, given: Mapping[str, Any], namespace: str, place: str, depth: int) -> AvroType:
        name = given.get("name")
        if not isinstance(name, str) or not name:
            raise AvroSchemaError(f"{place}: a {given['type']} has a name")
        space = given.get("namespace", namespace)
        if "." not in name and isinstance(space, str) and space:
            name = f"{space}.{name}"
        inside = name.rpartition(".")[0]
        self._named[name] = None
        kind = AvroKind.RECORD if given["type"] == "error" else AvroKind(given["type"])
        if kind is AvroKind.RECORD:
            found = AvroType(kind=kind, name=name, fields=self._fields(given, inside, name, depth))
        elif kind is AvroKind.ENUM:
            found = AvroType(kind=kind, name=name, symbols=_symbols(given, place))
        else:
            found = _with_meaning(AvroType(kind=kind, name=name, size=_whole(given, "size", place)), given)
        self._named[name] = found
        return found

    def _fields(self, given: Mapping[str, Any], inside: str, name: str, depth: int) -> tuple[AvroField, ...]:
        fields = given.get("fields")
        if not isinstance(fields, list) or not all(
            isinstance(field, dict) and isinstance(field.get("name"), str) for field in fields
        ):
            raise AvroSchemaError(f"record {name}: it has no list of named fields")
        names = [field["name"] for field in fields]
        if len(set(names)) < len(names):
            raise AvroSchemaError(f"record {name}: two fields have one name")
        return tuple(
            AvroField(
                field["name"],
                self.parse(field.get("type"), inside, f"field {field['name']} of {name}", depth + 1),
                json.dumps(field["default"]) if "default" in field else None,
            )
            for field in fields
        )


def _symbols(given: Mapping[str, Any], place: str) -> tuple[str, ...]:
    symbols = given.get("symbols")
    if not isinstance(symbols, list) or not symbols or not all(isinstance(symbol, str) for symbol in symbols):
        raise AvroSchemaError(f"{place}: an enum has a list of symbols")
    return tuple(symbols)


def _whole(given: Mapping[str, Any], name: str, place: str) -> int:
    number = given.get(name, 0)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 31:
        raise AvroSchemaError(f"{place}: {name} is no whole number from 0 on")
    return number


def _with_meaning(plain: AvroType, given: Mapping[str, Any]) -> AvroType:
    """Return a type with its logical type; one that does not fit is none, as Avro says."""
    named = given.get("logicalType")
    if not isinstance(named, str) or named not in set(AvroLogical) or not named:
        return plain
    logical = AvroLogical(named)
    if plain.kind not in _UNDERLYING.get(logical, (AvroKind.LONG,)):
        return plain
    if logical is AvroLogical.UUID and plain.kind is AvroKind.FIXED and plain.size != _UUID_BYTES:
        return plain
    precision, scale = given.get("precision", 0), given.get("scale", 0)
    if logical is AvroLogical.DECIMAL and not (
        isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision and precision > 0
    ):
        return plain
    digits = {"precision": precision, "scale": scale} if logical is AvroLogical.DECIMAL else {}
    return AvroType(kind=plain.kind, logical=logical, name=plain.name, size=plain.size, **digits)
