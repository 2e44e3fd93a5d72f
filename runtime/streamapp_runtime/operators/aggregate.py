"""Running aggregates: each batch gives out the new result of every key in it."""

import pyarrow as pa

from streamapp_core.expressions import Aggregation
from streamapp_runtime.operators.group_states import GroupStates
from streamapp_runtime.operators.partials import PartialResults
from streamapp_runtime.operators.protocol import StatelessOperator
from streamapp_runtime.operators.results import Results
from streamapp_runtime.rows.codec import encode_key
from streamapp_runtime.sql.engine import SqlEngine
from streamapp_runtime.state.protocol import Store


class Aggregate(StatelessOperator):
    """Results per key since the beginning; event time plays no part, no row is late."""

    def __init__(self, engine: SqlEngine, store: Store, aggregation: Aggregation) -> None:
        self._by = len(aggregation.by_columns)
        self._partials = PartialResults(engine, aggregation, [f'"{column.name}"' for column in aggregation.by_columns])
        self._results = Results(engine, aggregation, [])
        self._states = GroupStates(store)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        grouped, _ = self._partials.of_batch(rows)
        changed = {}
        for partial in grouped:
            key = encode_key(partial[: self._by])
            state = self._partials.merge(self._states.get(key), partial)
            self._states.put(key, state)
            changed[key] = state
        return self._results.of_states(list(changed.values()))

    def flush(self) -> None:
        """See `Operator.flush`."""
        self._states.flush()
