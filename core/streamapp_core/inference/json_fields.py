"""The columns of JSON objects: their names, where the fields have names that no column may have, and their types."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamapp_core.data_types import MAX_NAME_LENGTH, TIMESTAMP, Column, SchemaError, all_types, check_column_name
from streamapp_core.inference.value_types import JsonTypes
from streamapp_core.spec.streams import JsonOptions, JsonTimestamps


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonColumns:
    """The columns of some objects, and how objects hold them; `left_out` are fields that no column can stand for."""

    columns: tuple[Column, ...]
    options: JsonOptions
    left_out: tuple[str, ...]


def guess_json_columns(objects: Sequence[Mapping[str, Any]]) -> JsonColumns:
    """Return the columns of all fields that objects have."""
    fields = dict.fromkeys(name for each in objects for name in each)
    names = _column_names(fields)
    columns, times = _typed(objects, names)
    renamed = {column: name for name, column in names.items() if column != name}
    return JsonColumns(
        columns=columns,
        options=JsonOptions.model_validate(
            ({} if times is JsonTimestamps.TEXT else {"timestamps": times}) | ({"fields": renamed} if renamed else {})
        ),
        left_out=tuple(name for name in fields if name not in names),
    )


def options_of(columns: Sequence[Column], options: JsonOptions) -> dict[str, Any]:
    """Return the layout of objects of which only these columns are read, as YAML has it; empty if it is the usual."""
    fields = {name: options.fields[name] for column in columns if (name := column.name) in options.fields}
    given: dict[str, Any] = options.model_copy(update={"fields": fields}).model_dump(
        mode="json", by_alias=True, exclude_defaults=True
    )
    return given


def _typed(objects: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> tuple[tuple[Column, ...], JsonTimestamps]:
    """Return the columns of fields, with timestamps as numbers if there are such and none are texts."""

    def columns(types: JsonTypes) -> tuple[Column, ...]:
        values = {name: [each.get(name) for each in objects] for name in names}
        return tuple(Column(column, types.type_of(name, values[name])) for name, column in names.items())

    types = JsonTypes()
    found = columns(types)
    if not types.units or any(TIMESTAMP in all_types(column.type) for column in found):
        return found, JsonTimestamps.TEXT
    ((unit, _),) = types.units.most_common(1)
    return columns(JsonTypes(unit)), unit


def _column_names(fields: Mapping[str, object]) -> dict[str, str]:
    """Return the name of a column for each field that can have one: its own, if columns may be named so."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for field in fields:
        name = field if _is_column_name(field) else re.sub(r"\W+", "_", field).strip("_")[:MAX_NAME_LENGTH]
        number = 1
        unique = name
        while unique.lower() in taken:
            number += 1
            unique = f"{name[: MAX_NAME_LENGTH - 5]}_{number}"
        if len(field) <= MAX_NAME_LENGTH and field.isprintable() and _is_column_name(unique):
            names[field] = unique
            taken.add(unique.lower())
    return names


def _is_column_name(name: str) -> bool:
    try:
        check_column_name(name)
    except SchemaError:
        return False
    return True
