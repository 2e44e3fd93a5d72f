"""The app of a simulation, what is written to it, and what must come out: each number of each key once, in order.

Each key has the numbers 0, 1, 2, ...; event times rise with them.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from random import Random

from support.hashed_keys import number_in

HUB, NAME = "hub", "app"
KEYS = [f"k{number}" for number in range(7)]
WINDOW_MS, STEP_MS = 1_000, 90
_FAR_MS = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the input."""

    key: str
    number: int
    at: int

    @property
    def value(self) -> bytes:
        """The record's value."""
        return json.dumps({"k": self.key, "n": self.number, "at": self.at}).encode()


@dataclass(frozen=True, kw_only=True)
class AppShape:
    """What varies between the apps of simulations."""

    partitions: int
    processors: int
    intermediate_partitions: int
    windows: bool
    files: bool
    commit_ms: int
    rows: int
    kubernetes: bool

    @classmethod
    def of(cls, random: Random) -> "AppShape":
        """Choose one."""
        return cls(
            partitions=random.choice([1, 2, 4, 4]),
            processors=random.choice([1, 2, 2, 3]),
            intermediate_partitions=random.choice([1, 2, 4]),
            windows=random.random() < 0.6,
            files=random.random() < 0.4,
            commit_ms=random.choice([200, 500, 1_000, 2_000]),
            rows=random.choice([60, 120, 200]),
            kubernetes=random.random() < 0.5,
        )

    def document(self) -> str:
        """Return the app."""
        out = {"system": HUB, "key": "k", "partitions": 2}
        streams = {
            "in": {
                "system": HUB,
                "name": f"{NAME}.in",
                "key": "k",
                "schema": "k string, n bigint, at bigint",
                "eventTime": {"column": "at"},
            },
            "passed": {**out, "name": f"{NAME}.passed"},
            "totals": {**out, "name": f"{NAME}.totals"},
        }
        operators = [
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
            streams["windows"] = {**out, "name": f"{NAME}.windows"}
            tumbling = {
                "tumbling": f"{WINDOW_MS}ms",
                "by": ["k"],
                "select": "count(*) as c, min(n) as lo, max(n) as hi",
            }
            operators += [
                {"name": "tumbled", "from": "by-k", "window": tumbling},
                {"name": "windows-sent", "from": "tumbled", "sendTo": "windows"},
            ]
        if self.files:
            streams["filed"] = {"system": "files", "format": "json", "name": "out/filed"}
            operators += [{"name": "filed-sent", "from": "by-k", "sendTo": "filed"}]
        spec = {
            "systems": {HUB: {"kafka": {"bootstrapServers": "simulated:9092"}}, "files": {"file": {"path": "."}}},
            "defaultSystem": HUB,
            "streams": streams,
            "operators": operators,
            "job": {
                "commitInterval": f"{self.commit_ms}ms",
                "watermarkInterval": "100ms",
                "intermediateStreamPartitions": self.intermediate_partitions,
                "partitionMonitor": {"interval": "2s"},
            },
            "processors": {"count": self.processors},
        }
        document = {
            "apiVersion": "streamapp.dev/v1alpha1",
            "kind": "StreamApp",
            "metadata": {"name": NAME},
            "spec": spec,
        }
        return json.dumps(document)

    @cached_property
    def written(self) -> Sequence[Row]:
        """Return the rows of the input in the order in which they are written."""
        numbers: Counter[str] = Counter()
        rows = []
        for index in range(self.rows):
            key = KEYS[index * 5 % len(KEYS)]
            rows.append(Row(key=key, number=numbers[key], at=index * STEP_MS))
            numbers[key] += 1
        return rows


def last_rows(partitions: int) -> Sequence[Row]:
    """Return the rows that end all windows: one for each partition, far in the future."""
    return [Row(key=str(number_in(partition)), number=0, at=_FAR_MS) for partition in range(partitions)]


@lru_cache(maxsize=100_000)
def _parsed(value: bytes) -> dict:
    """Parse a result: the same ones are looked at again and again."""
    return json.loads(value)


def wrong_results(
    shape: AppShape, outputs: Mapping[str, Sequence[Sequence[bytes | None]]], folder: Path, *, complete: bool
) -> str | None:
    """Return what is wrong with the results so far: the values of each output's partitions, in order.

    `complete`: they must be all there, too.
    """
    rows = shape.written
    found = {name: [[_parsed(v) for v in values if v] for values in parts] for name, parts in outputs.items()}
    problems = [
        _wrong_order(rows, found["passed"], complete=complete),
        _wrong_totals(rows, found["totals"], complete=complete),
    ]
    if shape.windows:
        problems.append(_wrong_windows(rows, found["windows"], complete=complete))
    if shape.files:
        problems.append(_wrong_files(rows, folder, complete=complete))
    return next((problem for problem in problems if problem is not None), None)


def _wrong_order(rows: Sequence[Row], partitions: Sequence[Sequence[dict]], *, complete: bool) -> str | None:
    seen: dict[str, list[int]] = defaultdict(list)
    for values in partitions:
        for value in values:
            seen[value["k"]].append(value["n"])
    expected = Counter(row.key for row in rows)
    for key, count in sorted(expected.items()):
        if seen[key] != list(range(len(seen[key]))):
            return f"passed: the numbers of {key} are not 0, 1, 2, ...: {seen[key]}"
        if len(seen[key]) > count or (complete and len(seen[key]) < count):
            return f"passed: {len(seen[key])} numbers of {key}, not {count}"
    return None


def _wrong_totals(rows: Sequence[Row], partitions: Sequence[Sequence[dict]], *, complete: bool) -> str | None:
    expected = Counter(row.key for row in rows)
    last: dict[str, int] = {}
    for values in partitions:
        for value in values:
            key, count = value["k"], value["c"]
            if key not in KEYS:
                continue
            if value["n"] != count - 1 or value["s"] != count * (count - 1) // 2:
                return f"totals: a count that is none of {key}: {value}"
            if count <= last.get(key, 0):
                return f"totals: {key} has {count} after {last[key]}"
            last[key] = count
    if complete and last != dict(expected):
        return f"totals: the last ones are {last}, not {dict(expected)}"
    return None


def _wrong_windows(rows: Sequence[Row], partitions: Sequence[Sequence[dict]], *, complete: bool) -> str | None:
    members: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in rows:
        members[row.key, row.at // WINDOW_MS].append(row.number)
    expected = Counter((key, len(numbers), min(numbers), max(numbers)) for (key, _), numbers in members.items())
    found = Counter((v["k"], v["c"], v["lo"], v["hi"]) for values in partitions for v in values if v["k"] in KEYS)
    if extra := found - expected:
        return f"windows: early, late or twice: {sorted(extra.items())[:5]}"
    if complete and (missing := expected - found):
        return f"windows: missing: {sorted(missing.items())[:5]}"
    return None


def _wrong_files(rows: Sequence[Row], folder: Path, *, complete: bool) -> str | None:
    found: Counter[tuple[str, int]] = Counter()
    for part in sorted((folder / "out" / "filed").glob("part-*")):
        for line in part.read_text().splitlines():
            value = json.loads(line)
            found[value["k"], value["n"]] += 1
    expected = Counter((row.key, row.number) for row in rows)
    found = Counter({key: count for key, count in found.items() if key[0] in KEYS})
    if extra := found - expected:
        return f"files: twice, or never written: {sorted(extra.items())[:5]}"
    if complete and (missing := expected - found):
        return f"files: missing: {sorted(missing.items())[:5]}"
    return None
