"""Columns of a planned operator, as its rows have them."""

from collections.abc import Sequence

from streamapp_core.plan.plan import PlannedOperator
from streamapp_core.plan.stream_types.stream_type import Upsert
from streamapp_core.schema import Schema


def columns_of(schema: Schema, names: Sequence[str]) -> list[str]:
    """Return columns as a schema has them, whatever their case."""
    found = [schema.get(name) for name in names]
    return [column.name for column in found if column is not None]


def replaced_key(planned: PlannedOperator, number: int = 0) -> list[str]:
    """Return the columns by which the rows of an input replace each other; none of an input whose rows stay."""
    changes, schema = planned.input_types[number].changes, planned.input_schemas[number]
    return columns_of(schema, changes.columns) if isinstance(changes, Upsert) else []
