"""The CPU that state takes, natively and without the native library, by turns: one operator of one task with its store.

No broker: rows are made, results and changelog entries go nowhere. Each case runs in a process of its own, and prints
the CPU microseconds a row (or a record): of rows once more, when their groups are there.
"""

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_runtime.operators.aligned_window import AlignedWindow
from streamapp_runtime.operators.operator import Operator
from streamapp_runtime.operators.running_aggregate import Aggregate
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.changelog_restore import restore_from_changelog
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.state.prefixed_store import with_prefix
from streamapp_systems.native.library import SWITCH
from streamapp_systems.protocols import Message, MessageColumns, Messages, MessageTuple

_ROUNDS, _KEYS, _BATCH, _ROWS, _RECORDS, _READ = 3, 100_000, 50_000, 600_000, 300_000, 20_000
_STEP, _WINDOW = 1_000, 3_000
"""Milliseconds of event time in a batch, and in a window."""
_SCHEMA = parse_schema("id string, v bigint")
_AGGREGATION = check_aggregate("count(*) as n, sum(v) as s", ["id"], _SCHEMA)


def main() -> None:
    """Run all cases by turns, and print the medians."""
    for case in CASES:
        found: dict[str, list[float]] = {"native": [], "off": []}
        for _ in range(_ROUNDS):
            for setting, taken in found.items():
                taken.append(_run(case, setting))
        native, without = (median(taken) for taken in found.values())
        print(
            f"{case:<30} {native:6.2f} us with the native library, {without:6.2f} without "
            f"({without / native:.1f} times); load {os.getloadavg()[0]:.0f}",
            flush=True,
        )


def _run(case: str, setting: str) -> float:
    environment = {name: value for name, value in os.environ.items() if name != SWITCH}
    if setting != "native":
        environment[SWITCH] = setting
    command = [sys.executable, "-m", "benchmarks.keyed_state", case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    return float(done.stdout)


def _batches(keys: int) -> Iterator[pa.Table]:
    random = np.random.default_rng(1)
    schema = pa.schema([("id", pa.string()), ("v", pa.int64()), EVENT_TIME_FIELD])
    for number in range(_ROWS // _BATCH):
        ids = np.char.add("sensor-", random.integers(0, keys, _BATCH).astype("U9"))
        times = number * _STEP + np.arange(_BATCH) * _STEP // _BATCH
        yield pa.Table.from_arrays(
            [pa.array(ids), pa.array(random.integers(0, 1_000, _BATCH)), pa.array(times)], schema=schema
        )


def _later(rows: pa.Table, by: int) -> pa.Table:
    times = pc.add(rows.column(EVENT_TIME_COLUMN), by)
    return rows.set_column(rows.schema.get_field_index(EVENT_TIME_COLUMN), EVENT_TIME_FIELD, times)


def _take(make: Callable[[LmdbEnvironment], Operator], rows_a_commit: int) -> float:
    """Return the microseconds a row of an operator that commits after so many rows, when it gets all once more."""
    batches = list(_batches(_KEYS))
    later = len(batches) * _STEP
    with tempfile.TemporaryDirectory() as folder:
        environment = LmdbEnvironment(Path(folder))
        operator = make(environment)
        for turn in range(2):
            timed = [_later(batch, turn * later) for batch in batches]
            began, waiting = time.process_time(), 0
            for batch in timed:
                operator.process(batch)
                operator.advance_watermark(batch.column(EVENT_TIME_COLUMN)[-1].as_py() - _WINDOW)
                waiting += len(batch)
                if waiting >= rows_a_commit:
                    operator.flush()
                    for keys, _ in environment.changes("state"):
                        with_prefix(b"state\0", keys)
                    environment.commit()
                    waiting = 0
            seconds = time.process_time() - began
        environment.close()
    return seconds / _ROWS * 1e6


def _windows(environment: LmdbEnvironment) -> AlignedWindow:
    return AlignedWindow(SqlEngine(), environment.store("state"), _AGGREGATION, length=_WINDOW, step=_WINDOW)


def _aggregate(environment: LmdbEnvironment) -> Aggregate:
    return Aggregate(SqlEngine(), environment.store("state"), _AGGREGATION)


class _Changelog:
    """Records with values of one size, in a random order of their keys; their making is not counted."""

    def __init__(self, size: int) -> None:
        self._order = np.random.default_rng(2).permutation(_RECORDS).tolist()
        self._value = os.urandom(size)
        self.seconds = 0.0

    def identity(self) -> str:
        return "changelog"

    def end(self) -> int:
        return _RECORDS

    def read(self, start: int, end: int) -> Iterator[Messages]:
        for first in range(start, end, _READ):
            began = time.process_time()
            keys = [b"state\0\x91\xa9%09d" % self._order[offset] for offset in range(first, min(first + _READ, end))]
            messages = self._messages(first, keys)
            self.seconds += time.process_time() - began
            yield messages

    def _messages(self, first: int, keys: list[bytes]) -> Messages:
        if os.environ.get(SWITCH) == "off":
            return MessageTuple(Message(first + at, 0, key, self._value) for at, key in enumerate(keys))
        return MessageColumns(
            offset_column=np.arange(first, first + len(keys)),
            timestamp_column=np.zeros(len(keys), np.int64),
            key_column=pa.array(keys, pa.binary()),
            value_column=pa.array([self._value] * len(keys), pa.binary()),
        )


def _restore(size: int) -> float:
    """Return the microseconds a record of a restore of everything."""
    changelog = _Changelog(size)
    with tempfile.TemporaryDirectory() as folder:
        environment = LmdbEnvironment(Path(folder))
        began = time.process_time()
        restore_from_changelog(
            environment,
            changelog,
            start=0,
            end=_RECORDS,
            kept=False,
            commit=lambda _: environment.commit(),
            on_progress=id,
        )
        environment.commit()
        seconds = time.process_time() - began - changelog.seconds
        environment.close()
    return seconds / _RECORDS * 1e6


CASES: dict[str, Callable[[], float]] = {
    "aggregate, commits of 50,000": lambda: _take(_aggregate, 50_000),
    "aggregate, commits of 400,000": lambda: _take(_aggregate, 400_000),
    "windows, commits of 150,000": lambda: _take(_windows, 150_000),
    "restore, values of 40 bytes": lambda: _restore(40),
    "restore, values of 1,000 bytes": lambda: _restore(1_000),
}

if __name__ == "__main__":
    gc.set_threshold(100_000, 20, 20)  # as in a worker
    print(CASES[sys.argv[1]]())
