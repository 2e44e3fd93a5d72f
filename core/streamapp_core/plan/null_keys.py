"""Rows without a key that reach a group: they are one group, which is right only if one task has all of them.

Producers put such rows anywhere. What a `partitionBy` writes is in partition 0 (docs/kafka.md, "Claims are checked").
"""

from collections.abc import Collection

from streamapp_core.plan.plan import Plan, PlannedOperator
from streamapp_core.plan.stream_types.stream_partitioning import Hashed
from streamapp_core.spec.streams import Partitioner
from streamapp_core.ssp import Ssp


def null_key_column(plan: Plan, operator: PlannedOperator) -> str | None:
    """Return the column by whose hash the rows of a group are partitioned, as its input has it.

    None where no rows are grouped, where the key has several columns, of which there is one whatever is null in it, or
    where files claim only that rows of a key are in one of them.
    """
    by = operator.spec.group_columns
    if not by:
        return None
    (source,), (schema,) = operator.inputs, operator.input_schemas
    type_ = plan.operators[source].type if source in plan.operators else plan.streams[source].type
    key = type_.partitioning
    if not isinstance(key, Hashed) or key.partitioner != Partitioner.MURMUR2 or len(key.columns) > 1:
        return None
    column = next((schema.get(name) for name in by if key.within([name])), None)
    return None if column is None else column.name


def has_null_group(plan: Plan, operator: PlannedOperator, ssps: Collection[Ssp]) -> bool:
    """Return whether the task with these partitions is the one where rows without a key are grouped."""
    return any(_initial_partition(plan, ssp) == 0 for ssp in ssps if ssp.stream in operator.streams)


def _initial_partition(plan: Plan, ssp: Ssp) -> int | None:
    stream = plan.streams[ssp.stream]
    if stream.broadcast:
        return None
    return plan.expansion.initial_partitions(stream.partitions, stream.initial_partitions)[ssp.partition]
