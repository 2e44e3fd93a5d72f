"""A table and how far its side inputs have gone into it: no update is lost, whatever dies in between."""

import tempfile
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.adjunct import Extent, NoStoreRecord, StoreAction, plan_recovery
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_runtime.rows.event_time_column import add_event_time
from streamapp_runtime.rows.row_codec import decode_row
from streamapp_runtime.rows.tombstones import with_deleted_column
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.checkpoint import InputPosition
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.state.unlogged_state import InMemoryUnloggedStore, PersistentUnloggedStore
from streamapp_runtime.tables.adjunct_store import AdjunctStore, SavedRecord, found_store, read_record
from streamapp_runtime.tables.lookup_table import LookupTable
from streamapp_runtime.tables.side_inputs import SideInputs
from streamapp_runtime.tables.table_changes import SqlChangeExtractor

ROWS = pa.schema([("k", pa.string()), ("v", pa.int64())])
AGE = 1_000
RETENTION = AGE + 1
"""The time for which a compacted topic keeps tombstones, from its first compaction that finds them."""
SOON, LATER = 600, 10_000_000

messages = st.lists(
    st.tuples(st.sampled_from([None, "a", "b", "c"]), st.sampled_from([None, 1, 2, 3])), min_size=1, max_size=4
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 1), messages),
        st.tuples(st.just("take"), st.integers(1, 4)),
        st.tuples(st.just("checkpoint")),
        st.tuples(st.just("commit")),
        st.tuples(st.just("compact")),
        st.tuples(st.just("restart"), st.sampled_from([0, SOON, SOON, LATER]), st.sampled_from([1, 2, 2])),
        st.tuples(st.just("die_at_start"), st.sampled_from([0, SOON, SOON, -LATER])),
    ),
    min_size=5,
    max_size=30,
)


@pytest.fixture(scope="module")
def engine():
    with SqlEngine() as engine:
        yield engine


class Stream:
    """Partitions of keys and values, and batches of them; compacted as Kafka does it."""

    def __init__(self):
        self.partitions = defaultdict(list)
        self.gone = set()
        self.tombstones_until = {}

    def compact(self, now):
        """Remove what a later record of its key replaces, and tombstones that were found long ago."""
        for partition, records in self.partitions.items():
            newest = {key: offset for offset, (key, _) in enumerate(records)}
            for offset, (key, value) in enumerate(records):
                until = self.tombstones_until.setdefault((partition, offset), now + RETENTION)
                if newest[key] > offset or (value is None and until <= now):
                    self.gone.add((partition, offset))

    def batch(self, ssp, start, count):
        offsets = range(start, min(start + count, len(self.partitions[ssp.partition])))
        if not offsets:
            return None
        here = [offset for offset in offsets if (ssp.partition, offset) not in self.gone]
        records = [self.partitions[ssp.partition][offset] for offset in here]
        if not records:
            return DecodedBatch(ssp=ssp, next_offset=offsets.stop, rows=None)
        rows = pa.table([list(column) for column in zip(*records, strict=True)], schema=ROWS)
        rows = with_deleted_column(add_event_time(rows, ()), [value is None for _, value in records])
        return DecodedBatch(ssp=ssp, next_offset=offsets.stop, rows=rows)

    def fold(self, below):
        """Return the latest rows below these offsets; the keys of each partition are its own."""
        rows = {}
        for ssp, end in below.items():
            for key, value in self.partitions[ssp.partition][:end]:
                if key is not None:
                    rows[ssp.partition, key] = value
        return {key: value for key, value in rows.items() if value is not None}


class Owner:
    """A task whose table is in a folder, and outlives it."""

    def __init__(self, folder, engine, stream, *, bootstrap):
        self.folder, self.engine, self.stream, self.bootstrap = folder, engine, stream, bootstrap
        self.now, self.clock_error, self.owned = 0, 0, 2
        self.checkpointed = {}
        self.open()

    def open(self):
        self.environment = LmdbEnvironment(self.folder)
        kept = PersistentUnloggedStore(self.environment, "t")
        saved = read_record(kept.record)
        ssps = [Ssp("log", "s", partition) for partition in range(self.owned)]
        decided = plan_recovery(
            bootstrap=self.bootstrap,
            persistent=True,
            max_age=AGE,
            run_id="r1",
            now=self.clock(),
            found=found_store(saved),
            partitions={ssp: Extent(oldest=0, end=len(self.stream.partitions[ssp.partition])) for ssp in ssps},
            checkpoint=self.checkpointed,
        )
        nothing = SavedRecord(run_id="r1", written_at=self.clock())
        self.store = AdjunctStore(
            "t",
            table_in(kept.store, self.engine),
            kept,
            run_id="r1",
            recovery=decided,
            saved=nothing if isinstance(saved, NoStoreRecord) else saved,
            bad_rows=BadRows(),
            now=self.clock(),
        )
        self.kept = kept
        SideInputs([self.store], commit=self.environment.commit, time_of_day=self.clock).commit()
        return decided

    def restart(self, time, owned):
        """Die, and open the store after some time; a negative one sets the clock back."""
        self.environment.close()
        self.now += max(time, 0)
        self.clock_error += min(time, 0)
        self.owned = owned
        return self.open()

    def die_at_start(self, time):
        """Start after some time, and die before anything is read."""
        self.restart(time, self.owned)

    def clock(self):
        """Return the time of day, whose clock may have been set back."""
        return self.now + self.clock_error

    def take(self, count):
        for ssp, position in list(self.store.positions.items()):
            decoded = self.stream.batch(ssp, position.offset, count)
            if decoded is not None:
                self.store.take(prefixed(decoded))

    def read_what_is_awaited(self):
        while self.store.bootstrap_lag():
            self.take(3)

    def checkpoint(self):
        """Commit the first half: death after it leaves the checkpoint ahead of the store."""
        self.checkpointed = self.held()

    def commit(self):
        self.checkpoint()
        self.store.write_record(self.clock())
        self.environment.commit()

    def rows(self):
        found = ((decode_row(key)[0], decode_row(value)[0]) for key, value in self.kept.store.scan())
        return {(int(key[0]), key[1:]): value for key, value in found}

    def held(self):
        return {ssp: position.offset for ssp, position in self.store.positions.items()}


def prefixed(decoded):
    """Make the keys of a partition its own, as partitioning by key does."""
    if decoded.rows is None:
        return decoded
    keys = [None if k is None else f"{decoded.ssp.partition}{k}" for k in decoded.rows.column("k").to_pylist()]
    rows = decoded.rows.set_column(0, "k", pa.array(keys, pa.string()))
    return DecodedBatch(ssp=decoded.ssp, next_offset=decoded.next_offset, rows=rows)


def table_in(store, engine):
    return LookupTable(
        store, SqlChangeExtractor(engine, "SELECT k, v FROM rows", 1), pa.string(), pa.schema([ROWS.field("v")])
    )


@settings(max_examples=150)
@given(steps)
def test_after_its_bootstrap_a_table_is_what_its_stream_comes_to_whatever_died_before(engine, steps):
    with tempfile.TemporaryDirectory() as folder:
        stream = Stream()
        owner = Owner(Path(folder), engine, stream, bootstrap=True)
        for step, *values in [*steps, ("restart", 0, 2)]:
            if step == "append":
                stream.partitions[values[0]] += values[1]
            elif step == "compact":
                stream.compact(owner.now)
            elif step == "restart":
                owner.restart(*values)
                owner.read_what_is_awaited()
                present = {
                    Ssp("log", "s", partition): len(stream.partitions[partition]) for partition in range(owner.owned)
                }
                assert owner.rows() == stream.fold(present)
            else:
                getattr(owner, step)(*values)
        owner.environment.close()


@settings(max_examples=150)
@given(steps)
def test_a_store_never_says_it_holds_what_it_does_not(engine, steps):
    """Without bootstrap too; a store that is rebuilt begins at the checkpoint, and holds nothing from before it."""
    with tempfile.TemporaryDirectory() as folder:
        stream = Stream()
        owner = Owner(Path(folder), engine, stream, bootstrap=False)
        missing = {}
        for step, *values in steps:
            if step == "append":
                stream.partitions[values[0]] += values[1]
            elif step == "restart":
                decided = owner.restart(*values)
                assert decided.action is not StoreAction.CREATE
                missing = missing if decided.action is StoreAction.REUSE else decided.start
            elif step not in ("compact", "die_at_start"):
                getattr(owner, step)(*values)
        later = Stream()
        for ssp, end in owner.held().items():
            records = stream.partitions[ssp.partition][:end]
            later.partitions[ssp.partition] = [(None, None)] * missing.get(ssp, 0) + records[missing.get(ssp, 0) :]
        assert owner.rows() == later.fold(owner.held())
        owner.environment.close()


@pytest.mark.parametrize("starts", [1, 2, 4])
def test_opening_a_store_does_not_make_it_young(engine, tmp_path, starts):
    stream = Stream()
    stream.partitions[0] = [("a", 1)]
    owner = Owner(tmp_path, engine, stream, bootstrap=True)
    owner.take(1)
    owner.commit()
    stream.partitions[0] += [("a", None), ("b", 2)]
    stream.compact(owner.now)
    for _ in range(starts):
        owner.die_at_start(AGE // starts)
    owner.now += 1
    stream.compact(owner.now)
    assert owner.restart(0, 2).action is StoreAction.RECREATE
    owner.read_what_is_awaited()
    assert owner.rows() == {(0, "b"): 2}
    owner.environment.close()


def test_a_store_is_as_young_as_its_last_commit_when_it_has_all_that_its_stream_had_at_the_start(engine, tmp_path):
    stream = Stream()
    owner = Owner(tmp_path, engine, stream, bootstrap=False)
    for _ in range(3):
        owner.now += SOON
        owner.commit()
        assert owner.restart(SOON, 2).action is StoreAction.REUSE
    stream.partitions[0] = [("a", 1), ("b", 2)]
    assert owner.restart(SOON, 2).action is StoreAction.REUSE
    owner.take(1)
    owner.commit()
    assert owner.restart(SOON, 2).action is StoreAction.RECREATE
    owner.environment.close()


def test_a_store_of_a_quiet_side_input_stays_young(engine):
    ssp, now, commits = Ssp("log", "s", 0), [0], []
    stores = [opened(InMemoryUnloggedStore("t"), engine, {ssp: 0})]
    inputs = SideInputs(stores, commit=lambda: commits.append(now[0]), time_of_day=lambda: now[0])
    for now[0] in range(0, 300_000, 20_000):
        inputs.commit_unchanged()
    assert commits == [60_000, 120_000, 180_000, 240_000]


@pytest.mark.parametrize(("ahead", "action"), [(LATER << 10, StoreAction.RECREATE), (1_000, StoreAction.REUSE)])
def test_a_store_of_the_future_is_old_but_clocks_may_differ_a_little(engine, tmp_path, ahead, action):
    owner = Owner(tmp_path, engine, Stream(), bootstrap=True)
    owner.now = ahead
    owner.commit()
    assert owner.restart(-ahead, 2).action is action
    assert owner.restart(0, 2).action is StoreAction.REUSE
    owner.environment.close()


def opened(store, engine, starts, wait_for=None):
    decided = plan_recovery(
        bootstrap=wait_for is not None,
        persistent=False,
        max_age=None,
        run_id="r1",
        now=0,
        found=NoStoreRecord.NO_STORE,
        partitions={ssp: Extent(oldest=start, end=(wait_for or {}).get(ssp, start)) for ssp, start in starts.items()},
        checkpoint={},
    )
    return AdjunctStore(
        "t",
        table_in(store.store, engine),
        store,
        run_id="r1",
        recovery=decided,
        saved=SavedRecord(run_id="r1", written_at=0),
        bad_rows=BadRows(),
        now=0,
    )


def test_a_table_that_is_ahead_leaves_out_what_another_one_needs_again(engine):
    stream, ssp = Stream(), Ssp("log", "s", 0)
    stream.partitions[0] = [("a", 1), ("a", 2), ("a", 3), ("b", None)]
    ahead, behind = InMemoryUnloggedStore("ahead"), InMemoryUnloggedStore("behind")
    stores = [opened(ahead, engine, {ssp: 3}), opened(behind, engine, {ssp: 0})]
    inputs = SideInputs(stores, commit=lambda: None, time_of_day=lambda: 0)
    assert inputs.positions[ssp].offset == 0
    inputs.take(stream.batch(ssp, 0, 2))
    assert [*ahead.store.scan()] == []
    assert inputs.positions[ssp].offset == 2
    inputs.take(stream.batch(ssp, 2, 2))
    assert [*ahead.store.scan()] == [*behind.store.scan()]
    assert inputs.positions[ssp].offset == 4


def test_a_partition_that_ends_before_it_should_is_not_waited_for(engine):
    ssp = Ssp("log", "s", 0)
    store = opened(InMemoryUnloggedStore("t"), engine, {ssp: 0}, wait_for={ssp: 5})
    inputs = SideInputs([store], commit=lambda: None, time_of_day=lambda: 0)
    assert inputs.bootstrap_lag() == {ssp: 5}
    inputs.take(DecodedBatch(ssp=ssp, next_offset=3, rows=None, ended=True))
    assert inputs.bootstrap_lag() == {}
    assert inputs.has_ended(ssp)


def test_a_store_remembers_which_partitions_wait_for_no_other_any_more(engine, tmp_path):
    owner = Owner(tmp_path, engine, Stream(), bootstrap=True)
    ssp = Ssp("log", "s", 1)
    owner.store.take(DecodedBatch(ssp=ssp, next_offset=3, rows=None, ungated=True))
    owner.store.take(DecodedBatch(ssp=ssp, next_offset=5, rows=None))
    owner.commit()
    owner.environment.close()
    owner.open()
    assert owner.store.positions[ssp] == InputPosition(offset=5, rows=0, ungated=True)
    owner.environment.close()


def test_a_record_that_is_none_is_unreadable():
    assert read_record(b'{"run_id": 7}') is NoStoreRecord.UNREADABLE
    assert read_record(b"\x00") is NoStoreRecord.UNREADABLE
    assert read_record(None) is NoStoreRecord.NO_STORE
