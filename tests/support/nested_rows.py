"""Random rows of random schemas: as Python values, and as the JSON that another program would write."""

import base64
import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from streamapp_core.data_types import VARIANT, VARIANT_PARTS, DataType, TypeKind, all_types
from streamapp_core.expressions.conversions import WHOLE_BITS
from streamapp_core.schema import Column, Schema
from streamapp_systems.variants.variant_decoding import decoded
from streamapp_systems.variants.variant_encoding import Variant
from streamapp_systems.variants.variant_json import json_of, variant_of_json
from support.data_types import FLAT_TYPES, data_types

_NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=4)
_TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
_VARIANTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.sampled_from([0.5, -12.25, 1e300]) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=5,
).map(lambda value: _variant(json_of(decoded(_encoded(json.dumps(value))))))
_DATES = st.dates()
_TIMES = st.datetimes()


def schemas() -> st.SearchStrategy[Schema]:
    """Return a strategy of schemas that streams may have."""
    columns = st.lists(
        st.builds(Column, _NAMES.filter(lambda name: not name.startswith("__")), st.one_of(FLAT_TYPES, _storable())),
        min_size=1,
        max_size=4,
        unique_by=lambda column: column.name.lower(),
    )
    return columns.map(lambda found: Schema(tuple(found)))


def rows(schema: Schema) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return a strategy of rows."""
    return st.lists(st.fixed_dictionaries({c.name: values(c.type) for c in schema.columns}), min_size=1, max_size=5)


def values(data_type: DataType) -> st.SearchStrategy[Any]:
    """Return a strategy of the values of a type, as Arrow gives them to Python."""
    return st.none() | _present(data_type)


def json_text(value: Any, data_type: DataType) -> str:
    """Return a value as JSON."""
    if value is None:
        return "null"
    match data_type.kind:
        case TypeKind.STRUCT:
            return json_object(value, data_type.fields)
        case TypeKind.VARIANT:
            return json_of(decoded(Variant(*value.values())))
        case TypeKind.ARRAY:
            return "[ " + ",".join(json_text(item, data_type.element) for item in value) + "]"
        case TypeKind.MAP:
            entries = (f"{json.dumps(key_text(k, data_type.key))}:{json_text(v, data_type.value)}" for k, v in value)
            return "{" + ",".join(entries) + "}"
        case TypeKind.DECIMAL:
            return f"{value:f}"
        case TypeKind.STRING | TypeKind.DATE | TypeKind.TIMESTAMP | TypeKind.TIMESTAMP_NTZ | TypeKind.BINARY:
            return json.dumps(key_text(value, data_type))
        case _:
            return json.dumps(value)


def json_object(row: dict[str, Any], columns: Sequence[Column]) -> str:
    """Return a row as a JSON object, without the variants that are null: a null of JSON is a value that they have."""
    given = [column for column in columns if column.type != VARIANT or row[column.name] is not None]
    fields = (f"{json.dumps(column.name)}: {json_text(row[column.name], column.type)}" for column in given)
    return "{" + " , ".join(fields) + "}"


def key_text(value: Any, data_type: DataType) -> str:
    """Return a plain value as text."""
    match data_type.kind:
        case TypeKind.DATE | TypeKind.TIMESTAMP | TypeKind.TIMESTAMP_NTZ:
            return str(value.isoformat())
        case TypeKind.BINARY:
            return base64.b64encode(value).decode()
        case TypeKind.DECIMAL:
            return f"{value:f}"
        case TypeKind.BOOLEAN:
            return str(value).lower()
        case _:
            return str(value)


def _storable() -> st.SearchStrategy[DataType]:
    return data_types(_NAMES).filter(
        lambda data_type: not any(part.kind is TypeKind.MAP and part.key.nested for part in all_types(data_type))
    )


def _variant(text: str) -> dict[str, bytes]:
    return dict(zip(VARIANT_PARTS, _encoded(text), strict=True))


def _encoded(text: str) -> Variant:
    found = variant_of_json(text)
    assert found is not None
    return found


def _held(data_type: DataType) -> st.SearchStrategy[Any]:
    """Return a strategy of the values in arrays and maps, where a missing variant would be read as JSON's null."""
    return _present(data_type) if data_type == VARIANT else values(data_type)


def _present(data_type: DataType) -> st.SearchStrategy[Any]:
    kind = data_type.kind
    if kind in WHOLE_BITS:
        half = 2 ** (WHOLE_BITS[kind] - 1)
        return st.integers(-half, half - 1)
    match kind:
        case TypeKind.STRUCT:
            return st.fixed_dictionaries({field.name: values(field.type) for field in data_type.fields})
        case TypeKind.ARRAY:
            return st.lists(_held(data_type.element), max_size=3)
        case TypeKind.MAP:
            entries = st.tuples(_present(data_type.key), _held(data_type.value))
            return st.lists(entries, max_size=3, unique_by=lambda entry: entry[0])
        case TypeKind.DECIMAL:
            most = 10**data_type.precision - 1
            return st.integers(-most, most).map(lambda digits: Decimal(f"{digits}E-{data_type.scale}"))
        case TypeKind.TIMESTAMP:
            return _TIMES.map(lambda time: time.replace(tzinfo=dt.UTC))
        case TypeKind.FLOAT | TypeKind.DOUBLE:
            return st.floats(width=32 if kind is TypeKind.FLOAT else 64, allow_nan=False, allow_infinity=False)
        case TypeKind.STRING:
            return _TEXTS
        case TypeKind.VARIANT:
            return _VARIANTS
        case TypeKind.BOOLEAN:
            return st.booleans()
        case TypeKind.DATE:
            return _DATES
        case TypeKind.TIMESTAMP_NTZ:
            return _TIMES
        case _:
            return st.binary(max_size=4)
