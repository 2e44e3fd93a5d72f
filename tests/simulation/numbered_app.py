"""The app of a simulation, and what is written to it.

Each key has the numbers 0, 1, 2, ...; event times rise with them, and pause now and then.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any, ClassVar, Protocol

from support.hashed_keys import number_in

HUB, NAME = "hub", "app"
LOG_FILE = "hub.db"
_FEWEST = 80
"""Rows of an input that come so seldom that a partition may be silent for long."""
_EMBEDDED_SHARE, _OUTSIDE_SHARE, _IDLE_SHARE, _CONTAINERS_SHARE = 0.1, 0.2, 0.6, 0.6
KEYS = [f"k{number}" for number in range(7)]
MAX_AGE_MS, TOMBSTONES_MS = 16_000, 17_000
"""How old a table may be that is used again, and how long its topic keeps tombstones."""
DELETED = "deleted"
"""The key of a name that is deleted."""
LATE = "late"
"""The key of rows that are older than those before them."""
WINDOW_MS, SESSION_GAP_MS, JOIN_MS = 1_000, 1_000, 700
SLIDING_MS, SLIDE_MS = 1_500, 500
_ECHO_MS, _ECHO_WITHIN_MS, _LATE_MS, _LATE_EVERY = 100, 200, 2_500, 6
_STEP_MS, _PAUSE_MS, _PAUSE_EVERY = 90, 1_500, 30
FAR_MS = 10_000_000
"""An event time after all others."""
_IDLE = "10s"
"""Far longer than any partition of the input waits for a row while its writer goes on."""


class Written(Protocol):
    """A record that others write for the app."""

    @property
    def stream(self) -> str:
        """The stream it goes to."""
        ...

    @property
    def key(self) -> str:
        """Its key."""
        ...

    @property
    def value(self) -> bytes | None:
        """Its value; None deletes its key."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the table: its key has a version."""

    key: str
    version: int

    stream: ClassVar[str] = "names"

    @property
    def value(self) -> bytes:
        """The record's value."""
        return json.dumps({"k": self.key, "v": self.version}).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A deletion from the table."""

    key: str

    stream: ClassVar[str] = "names"
    value: ClassVar[None] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the input."""

    stream: ClassVar[str] = "in"

    key: str
    number: int
    at: int

    @property
    def value(self) -> bytes:
        """The record's value."""
        return json.dumps({"k": self.key, "n": self.number, "at": self.at}).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Echo:
    """A row of the second input, which is joined with the first one; `key` is one that this has, or has not."""

    stream: ClassVar[str] = "echoes"

    key: str
    number: int
    at: int

    @property
    def value(self) -> bytes:
        """The record's value."""
        return json.dumps({"r": self.key, "m": self.number, "seen": self.at}).encode()


@dataclass(frozen=True, kw_only=True)
class AppShape:
    """What varies between the apps of simulations.

    `quiet` is a function with state and timers that finds what sessions find. `table` is one that a stream fills,
    which is read by all tasks if it is `broadcast`; each row is joined with it. `pairs` joins rows with those near in
    time, `echoes` (all of) two inputs. `late` rows are of one key, and may find their windows closed. Streams are in
    Kafka, or in a log that is `embedded`, on the one machine, where workers may have `containers` of their own.
    `outside`: others open transactions in the inputs and do not commit them. Of the windows that are due, at most
    `results_at_once` are closed in one step. `idle`: partitions of the input have an idle timeout; its writer must
    not stand still then. `aging`: the table has a `maxAge`, and its topic is compacted; a name is deleted early, and
    looked up at the end.
    """

    partitions: int
    processors: int
    intermediate_partitions: int
    windows: bool
    sessions: bool
    quiet: bool
    pairs: bool
    table: bool
    broadcast: bool
    files: bool
    commit_ms: int
    rows: int
    kubernetes: bool
    sliding: bool
    echoes: bool
    late: bool
    embedded: bool
    outside: bool
    idle: bool
    results_at_once: int | None
    containers: bool
    aging: bool

    @classmethod
    def of(cls, random: Random) -> "AppShape":
        """Choose one."""
        shape = cls(
            partitions=random.choice([1, 2, 4, 4]),
            processors=random.choice([1, 2, 2, 3]),
            intermediate_partitions=random.choice([1, 2, 4]),
            windows=random.random() < 0.6,
            sessions=random.random() < 0.25,
            quiet=random.random() < 0.25,
            pairs=random.random() < 0.25,
            table=random.random() < 0.25,
            broadcast=random.random() < 0.5,
            files=random.random() < 0.4,
            commit_ms=random.choice([200, 500, 1_000, 2_000]),
            rows=random.choice([_FEWEST, 160, 240]),
            kubernetes=random.random() < 0.5,
            sliding=random.random() < 0.25,
            echoes=random.random() < 0.25,
            late=random.random() < 0.4,
            embedded=random.random() < _EMBEDDED_SHARE,
            outside=random.random() < _OUTSIDE_SHARE,
            idle=random.random() < _IDLE_SHARE,
            results_at_once=random.choice([1, 3, None]),
            containers=random.random() < _CONTAINERS_SHARE,
            aging=False,
        )
        shape = replace(shape, idle=shape.idle and shape.timed and shape.rows > _FEWEST)
        if shape.embedded:
            return replace(shape, kubernetes=False, outside=False)
        return replace(shape, containers=False)

    @property
    def tasks(self) -> int:
        """The number of tasks that the app begins with."""
        return max(self.partitions, self.intermediate_partitions)

    @property
    def inputs(self) -> Mapping[str, int]:
        """The streams that others write, with the number of partitions that they begin with."""
        more = {"names": self.table, "echoes": self.echoes}
        return {"in": self.partitions} | {name: self.intermediate_partitions for name in more if more[name]}

    @property
    def outputs(self) -> Sequence[str]:
        """The streams of results, which are there once something has come out."""
        optional = {
            "windows": self.windows,
            "sessions": self.sessions,
            "quiet": self.quiet,
            "pairs": self.pairs,
            "sliding": self.sliding,
            "matched": self.echoes,
            "named": self.table,
        }
        return ["passed", "totals", "copied", *(name for name, chosen in optional.items() if chosen)]

    @property
    def timed(self) -> bool:
        """Whether late rows would be missing from results."""
        return self.windows or self.sessions or self.quiet or self.pairs or self.sliding or self.echoes

    def document(self, *, edited: bool = False) -> str:
        """Return the app; an edit changes a setting, and adds an output where that may be in a run that goes on."""
        more = edited and self.kubernetes
        spec = {
            "systems": {HUB: self._hub(), "files": {"file": {"path": "."}}},
            "defaultSystem": HUB,
            "streams": self._inputs() | self._outputs(more=more),
            "operators": self._operators(more=more),
            "job": {
                "commitInterval": f"{self.commit_ms + (100 if edited else 0)}ms",
                "watermarkInterval": "100ms",
                "intermediateStreamPartitions": self.intermediate_partitions,
                "partitionMonitor": {"interval": "2s"},
            },
            "processors": {"count": self.processors},
        }
        if self.table:
            aging = {"maxAge": f"{MAX_AGE_MS}ms"} if self.aging else {}
            spec["tables"] = {"name": {"key": "k", "value": "v", "sideInputs": ["names"], **aging}}
        document = {
            "apiVersion": "streamapp.dev/v1alpha1",
            "kind": "StreamApp",
            "metadata": {"name": NAME},
            "spec": spec,
        }
        return json.dumps(document)

    def _hub(self) -> dict[str, Any]:
        return {"log": {"path": LOG_FILE}} if self.embedded else {"kafka": {"bootstrapServers": "simulated:9092"}}

    def _inputs(self) -> dict[str, Any]:
        timed = {"column": "at"} | ({"idleTimeout": _IDLE} if self.idle else {})
        numbered = {"schema": "k string, n bigint, at bigint", "eventTime": timed}
        streams = {"in": {"system": HUB, "name": f"{NAME}.in", "key": "k", **numbered}}
        if self.table:
            names = {"system": HUB, "name": f"{NAME}.names", "key": "k", "schema": "k string, v bigint"}
            streams["names"] = names | ({"broadcast": True} if self.broadcast else {})
        if self.echoes:
            echo = {"schema": "r string, m bigint, seen bigint", "eventTime": {"column": "seen"}}
            streams["echoes"] = {"system": HUB, "name": f"{NAME}.echoes", "key": "r", **echo}
        return streams

    def _outputs(self, *, more: bool) -> dict[str, Any]:
        streams: dict[str, Any] = {
            name: {"system": HUB, "key": "k", "partitions": 2, "name": f"{NAME}.{name}"}
            for name in self.outputs
            if name != "copied" or more
        }
        if self.files:
            streams["filed"] = {"system": "files", "format": "json", "name": "out/filed"}
        return streams

    def _operators(self, *, more: bool) -> list[dict[str, Any]]:
        counts = {"by": ["k"], "select": "count(*) as c, min(n) as lo, max(n) as hi"}
        operators: list[dict[str, Any]] = [
            {"name": "by-k", "from": "in", "partitionBy": {"key": "k"}},
            {"name": "passed-sent", "from": "by-k", "sendTo": "passed"},
            {
                "name": "counted",
                "from": "by-k",
                "aggregate": {"by": ["k"], "select": "count(*) as c, sum(n) as s, max(n) as n"},
            },
            {"name": "totals-sent", "from": "counted", "sendTo": "totals"},
        ]
        if self.windows:
            tumbling = {"tumbling": f"{WINDOW_MS}ms", **counts}
            operators += _sent({"name": "tumbled", "from": "by-k", "window": tumbling}, "windows")
        if self.sliding:
            sliding = {"sliding": f"{SLIDING_MS}ms", "every": f"{SLIDE_MS}ms", **counts}
            operators += _sent({"name": "slid", "from": "by-k", "window": sliding}, "sliding")
        if self.sessions:
            session = {"session": f"{SESSION_GAP_MS}ms", **counts}
            operators += _sent({"name": "visited", "from": "by-k", "window": session}, "sessions")
        if self.quiet:
            function = {
                "function": "simulation.quiet_keys:QuietKeys",
                "schema": "k string, c bigint, lo bigint, hi bigint",
                "state": {"key": "k"},
            }
            operators += _sent({"name": "waited", "from": "by-k", "process": function}, "quiet")
        if self.pairs:
            near = {"with": "again", "on": {"left": "k", "right": "other"}, "within": f"{JOIN_MS}ms"}
            operators.append({"name": "again", "from": "by-k", "map": "k as other, n as m"})
            operators += _sent({"name": "near", "from": "by-k", "join": near}, "pairs")
        if self.echoes:
            both = {
                "with": "by-r",
                "on": {"left": "k", "right": "r"},
                "type": "full",
                "within": f"{_ECHO_WITHIN_MS}ms",
            }
            operators.append({"name": "by-r", "from": "echoes", "partitionBy": {"key": "r"}})
            operators += _sent({"name": "heard", "from": "by-k", "join": both}, "matched")
        if self.table:
            joined = {"table": "name", "on": "k", "type": "left"}
            operators += _sent({"name": "looked-up", "from": "by-k", "joinTable": joined}, "named")
        if self.files:
            operators.append({"name": "filed-sent", "from": "by-k", "sendTo": "filed"})
        if more:
            operators.append({"name": "copied-sent", "from": "by-k", "sendTo": "copied"})
        return operators

    @cached_property
    def written(self) -> Sequence[Row]:
        """Return the rows of the input in the order in which they are written."""
        numbers: Counter[str] = Counter()
        rows = []
        for index in range(self.rows):
            key = KEYS[index * 5 % len(KEYS)]
            at = index * _STEP_MS + index // _PAUSE_EVERY * _PAUSE_MS
            rows.append(Row(key=key, number=numbers[key], at=at))
            numbers[key] += 1
        return rows

    @cached_property
    def records(self) -> Sequence[Sequence[Written]]:
        """Return for each row of the input what is written with it: itself, its echo, and a row that is late."""
        return [[row, *self.echo_of(row), *self._late_row(index, row)] for index, row in enumerate(self.written)]

    def echo_of(self, row: Row) -> Sequence[Echo]:
        """Return the echo of a row, if it has one: some are of the same key, some of one that no row has."""
        echoed = {0: row.key, 2: f"{row.key}-alone"}.get(row.number % 5) if self.echoes else None
        return [] if echoed is None else [Echo(key=echoed, number=row.number, at=row.at + _ECHO_MS)]

    @cached_property
    def late_rows(self) -> Sequence[Row]:
        """Return the rows that may be late."""
        return [row for index, row in enumerate(self.written) for row in self._late_row(index, row)]

    def _late_row(self, index: int, row: Row) -> Sequence[Row]:
        if not self.late or index % _LATE_EVERY:
            return []
        return [Row(key=LATE, number=index // _LATE_EVERY, at=row.at - _LATE_MS)]


def first_names(*, deleted: bool) -> Sequence[Change]:
    """Return what fills the table before the app begins; perhaps with a name that will be deleted."""
    return [Change(key=key, version=0) for key in (KEYS + [DELETED] * deleted)]


def last_rows(partitions: Mapping[str, int]) -> Sequence[Written]:
    """Return the rows that end all windows: one for each partition of the inputs, far in the future."""
    kinds: Sequence[type[Row | Echo]] = (Row, Echo)
    return [
        kind(key=str(number_in(partition)), number=0, at=FAR_MS)
        for kind in kinds
        for partition in range(partitions.get(kind.stream, 0))
    ]


def _sent(operator: dict[str, Any], output: str) -> list[dict[str, Any]]:
    """Return an operator, and one that sends its results to an output."""
    return [operator, {"name": f"{output}-sent", "from": operator["name"], "sendTo": output}]
