"""The building of joins of two streams: the kind that a planned join takes, over its store."""

from streamapp_core.expressions import Condition
from streamapp_core.plan.plan import PlannedOperator
from streamapp_core.plan.stream_types.stream_type import Upsert
from streamapp_core.spec.operators import JoinType
from streamapp_runtime.operators.as_of_join import AsOfJoin
from streamapp_runtime.operators.interval_join import IntervalJoin
from streamapp_runtime.operators.joined_rows import LEFT, RIGHT, PairCondition
from streamapp_runtime.operators.regular_join import RegularJoin
from streamapp_runtime.operators.upsert_join import UpsertJoin
from streamapp_runtime.tasks.planned_columns import columns_of, replaced_key
from streamapp_runtime.tasks.stateful_context import StatefulContext
from streamapp_systems.arrow_types import arrow_schema


def build_join(
    planned: PlannedOperator, context: StatefulContext
) -> AsOfJoin | IntervalJoin | RegularJoin | UpsertJoin:
    """Build a join."""
    join = planned.spec.join
    assert join is not None
    left, right = planned.input_schemas
    store = context.store
    of_left, of_right = join.columns
    keys = columns_of(left, of_left), columns_of(right, of_right)
    schemas = arrow_schema(left), arrow_schema(right)
    emitted = planned.type.changes
    if isinstance(emitted, Upsert):
        return UpsertJoin(
            store,
            join_columns=keys,
            schemas=schemas,
            keys=(replaced_key(planned, LEFT), replaced_key(planned, RIGHT)),
            emitted_key=columns_of(planned.schema, emitted.columns),
            deletes=emitted.deletes,
            keeps_left=join.type is JoinType.LEFT,
        )
    bounds = join.bounds
    if join.as_of:
        return AsOfJoin(
            context.engine,
            store,
            keys=keys,
            schemas=schemas,
            keeps_unmatched=join.type is JoinType.LEFT,
            within=None if bounds is None else bounds.before,
            limit=context.results_at_once,
        )
    if bounds is None:
        return RegularJoin(store, keys=keys, schemas=schemas, ttl=planned.spec.ttl)
    condition = None
    if isinstance(planned.compiled, Condition):
        condition = PairCondition(context.engine, planned.compiled)
    return IntervalJoin(
        store,
        keys=keys,
        schemas=schemas,
        kind=join.type,
        before=bounds.before,
        after=bounds.after,
        condition=condition,
    )
