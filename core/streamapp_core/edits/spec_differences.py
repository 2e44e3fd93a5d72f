"""Differences between two specs. A value that is written differently but means the same is no difference."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from streamapp_core.edits.edit_classes import Path
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.operators import OperatorSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field (its path below `spec`, operators by name) and its values, as in YAML; None: not there."""

    field: Path
    before: JsonValue
    after: JsonValue


def differences(old: StreamAppSpec, new: StreamAppSpec) -> Iterator[Difference]:
    """Find the fields that differ, in the order of the spec's fields; new streams, tables and operators come last."""
    yield from _compare((), _written(old), _written(new))


def _written(spec: StreamAppSpec) -> JsonValue:
    """Write a spec with all defaults, and its operators by name."""
    document: dict[str, JsonValue] = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    document["operators"] = {operator.name: _operator(operator) for operator in spec.operators}
    return document


def _operator(operator: OperatorSpec) -> JsonValue:
    document: dict[str, JsonValue] = operator.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"name", "from_"}
    )
    inputs = operator.inputs
    if operator.sql is not None:
        return document
    return {"from": inputs[0] if len(inputs) == 1 else list(inputs), **document}


def _compare(field: Path, before: JsonValue, after: JsonValue) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys([*before, *after]):
            yield from _compare((*field, name), before.get(name), after.get(name))
    elif _text(before) != _text(after):
        yield Difference(field=field, before=before, after=after)


def _text(value: JsonValue) -> str:
    """Return a text that differs where Python's values are equal: `1` and `true`."""
    return json.dumps(value, sort_keys=True)
