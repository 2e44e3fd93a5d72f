"""Opens the tables of tasks and processors, those of side inputs as their recovery says (docs/adjunct-stores.md)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa

from streamapp_core.adjunct.recovery import Extent, NoStoreRecord, StoreRecord, plan_recovery
from streamapp_core.plan.plan import Plan, PlannedTable
from streamapp_core.spec.base import format_duration
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
        extract = self._extractor(planned, bad_rows)
        key_type = arrow_type(planned.key_types[0]) if len(planned.key_types) == 1 else pa.string()
        return LookupTable(store, extract, key_type, arrow_schema(planned.schema))

    def open_side_inputs(
        self,
        tables: Sequence[PlannedTable],
        owned: Collection[Ssp],
        checkpoint: Mapping[Ssp, int],
        open_state: Callable[[], UnloggedState],
        *,
        checkpoint_versions: Mapping[Ssp, str] = MappingProxyType({}),
    ) -> SideInputs:
        """Open tables that side inputs fill, as their recovery says.

        They commit at once: a store without a record would be taken for an absent one after a crash, and read on from a
        checkpoint that is ahead of it.

        `owned` are the partitions that their owner has, `checkpoint` the offsets in its checkpoint; `open_state` is
        called if one of the tables is persistent.
        """
        state = open_state() if any(table.spec.persistent for table in tables) else None
        stores = [
            self._adjunct(table, _unlogged_store(table, state), owned, checkpoint, checkpoint_versions)
            for table in tables
        ]
        commit = _commit_nothing if state is None else state.commit
        opened = SideInputs(stores, commit=commit, time_of_day=self._time_of_day)
        opened.commit()
        return opened

    def _adjunct(
        self,
        planned: PlannedTable,
        unlogged: UnloggedStore,
        owned: Collection[Ssp],
        checkpoint: Mapping[Ssp, int],
        checkpoint_versions: Mapping[Ssp, str],
    ) -> AdjunctStore:
        spec, now = planned.spec, self._time_of_day()
        saved = read_record(unlogged.record)
        found = found_store(saved)
        partitions = {ssp: self._extents[ssp] for ssp in owned if ssp.stream in spec.side_inputs}
        decided = plan_recovery(
            bootstrap=spec.bootstrap,
            persistent=spec.persistent,
            max_age=spec.max_age,
            run_id=self._plan.run_id,
            now=now,
            found=found,
            partitions=partitions,
            checkpoint=checkpoint,
            checkpoint_versions=checkpoint_versions,
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
            now=now,
            versions={ssp: extent.version for ssp, extent in partitions.items()},
            incomplete=_incomplete(planned, found, now) if decided.incomplete else "",
        )

    def _extractor(self, planned: PlannedTable, bad_rows: BadRows) -> ChangeExtractor:
        extractor = self._extractors.get(planned.name)
        if extractor is None:
            return SqlChangeExtractor(self._engine, change_sql(planned), len(planned.key))
        on_error = self._plan.app.spec.job.on_error
        return FunctionChangeExtractor(
            GuardedCall(f"table `{planned.name}`", extractor, on_error, bad_rows), extractor.schema
        )


def _unlogged_store(planned: PlannedTable, state: UnloggedState | None) -> UnloggedStore:
    if state is None or not planned.spec.persistent:
        return InMemoryUnloggedStore(planned.name)
    return state.store(planned.name)


def _incomplete(planned: PlannedTable, found: StoreRecord | NoStoreRecord, now: int) -> str:
    """Return why a table that is not bootstrapped begins without rows that its side inputs hold, and the repair."""
    path, max_age = f"tables.{planned.name}", planned.spec.max_age
    repair = f"{path}.bootstrap: true reads them again"
    if not planned.spec.persistent:
        reason = "it is kept in memory only"
        repair += f", {path}.persistent: true keeps them"
    elif isinstance(found, NoStoreRecord):
        reason = "it has no store" if found is NoStoreRecord.NO_STORE else "its store can't be read"
    elif max_age is not None and now - found.written_at > max_age:
        reason = f"its store is older than maxAge ({format_duration(max_age)})"
        repair += f", {path}.maxAge: null keeps a store of any age"
    elif max_age is not None and now < found.written_at:
        reason = f"its store is {format_duration(found.written_at - now)} in the future: a clock was wrong"
        repair += f", {path}.maxAge: null keeps a store of any age"
    else:
        reason = "its store is of another run, or of partitions that its task does not have any more"
    return (
        f"table {planned.name} lacks the rows that were read before this start: {reason}, and without bootstrap its "
        f"side inputs are read on from the checkpoint. {repair}"
    )


def _commit_nothing() -> None:
    """Commit stores in memory, which takes nothing."""
