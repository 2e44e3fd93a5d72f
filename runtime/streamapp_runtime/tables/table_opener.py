"""Opens the tables of tasks and processors, those of side inputs as their recovery says (docs/adjunct-stores.md)."""

from collections.abc import Callable, Collection, Mapping, Sequence

from streamapp_core.adjunct.recovery import Extent, NoStoreRecord, plan_recovery
from streamapp_core.plan.plan import Plan, PlannedTable
from streamapp_core.ssp import Ssp
from streamapp_runtime.functions.extractor import Extractor
from streamapp_runtime.functions.guarded_call import GuardedCall
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.unlogged_state import InMemoryUnloggedStore, UnloggedState, UnloggedStore
from streamapp_runtime.tables.adjunct_store import AdjunctStore, SavedRecord, found_store, read_record
from streamapp_runtime.tables.lookup_table import LookupTable
from streamapp_runtime.tables.side_inputs import SideInputs
from streamapp_runtime.tables.table_changes import (
    ChangeExtractor,
    FunctionChangeExtractor,
    SqlChangeExtractor,
    change_sql,
)
from streamapp_systems.arrow_types import arrow_schema, arrow_type


class TableOpener:
    """Opens the tables of one processor and its tasks."""

    def __init__(
        self,
        plan: Plan,
        engine: SqlEngine,
        extractors: Mapping[str, Extractor],
        *,
        extents: Mapping[Ssp, Extent],
        time_of_day: Callable[[], int],
    ) -> None:
        """Take the extents of the side inputs' partitions when the processor starts; times are milliseconds."""
        self._plan = plan
        self._engine = engine
        self._extractors = extractors
        self._extents = extents
        self._time_of_day = time_of_day

    def open_table(self, planned: PlannedTable, store: Store, bad_rows: BadRows) -> LookupTable:
        """Open a table in a store; `bad_rows` has the place of the rows that fill it."""
        assert planned.key_type is not None
        extract = self._extractor(planned, bad_rows)
        return LookupTable(store, extract, arrow_type(planned.key_type), arrow_schema(planned.schema))

    def open_side_inputs(
        self,
        tables: Sequence[PlannedTable],
        owned: Collection[Ssp],
        checkpoint: Mapping[Ssp, int],
        open_state: Callable[[], UnloggedState],
    ) -> SideInputs:
        """Open tables that side inputs fill, as their recovery says.

        They commit at once: a store without a record would be taken for an absent one after a crash, and read on from a
        checkpoint that is ahead of it.

        `owned` are the partitions that their owner has, `checkpoint` the offsets in its checkpoint; `open_state` is
        called if one of the tables is persistent.
        """
        state = open_state() if any(table.spec.persistent for table in tables) else None
        stores = [self._adjunct(table, _unlogged_store(table, state), owned, checkpoint) for table in tables]
        commit = _commit_nothing if state is None else state.commit
        opened = SideInputs(stores, commit=commit, time_of_day=self._time_of_day)
        opened.commit()
        return opened

    def _adjunct(
        self, planned: PlannedTable, unlogged: UnloggedStore, owned: Collection[Ssp], checkpoint: Mapping[Ssp, int]
    ) -> AdjunctStore:
        spec, now = planned.spec, self._time_of_day()
        saved = read_record(unlogged.record)
        decided = plan_recovery(
            bootstrap=spec.bootstrap,
            persistent=spec.persistent,
            max_age=spec.max_age,
            run_id=self._plan.run_id,
            now=now,
            found=found_store(saved),
            partitions={ssp: self._extents[ssp] for ssp in owned if ssp.stream in spec.side_inputs},
            checkpoint=checkpoint,
        )
        bad_rows = BadRows()
        empty = SavedRecord(run_id=self._plan.run_id, written_at=now)
        return AdjunctStore(
            planned.name,
            self.open_table(planned, unlogged.store, bad_rows),
            unlogged,
            run_id=self._plan.run_id,
            recovery=decided,
            saved=empty if isinstance(saved, NoStoreRecord) else saved,
            bad_rows=bad_rows,
        )

    def _extractor(self, planned: PlannedTable, bad_rows: BadRows) -> ChangeExtractor:
        extractor = self._extractors.get(planned.name)
        if extractor is None:
            return SqlChangeExtractor(self._engine, change_sql(planned))
        on_error = self._plan.app.spec.job.on_error
        return FunctionChangeExtractor(
            GuardedCall(f"table `{planned.name}`", extractor, on_error, bad_rows), extractor.schema
        )


def _unlogged_store(planned: PlannedTable, state: UnloggedState | None) -> UnloggedStore:
    if state is None or not planned.spec.persistent:
        return InMemoryUnloggedStore(planned.name)
    return state.store(planned.name)


def _commit_nothing() -> None:
    """Commit stores in memory, which takes nothing."""
