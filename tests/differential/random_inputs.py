"""Random inputs: rows of all kinds of keys, out of order within the bound that the stream declares, in partitions."""

import itertools
import json
from dataclasses import replace
from random import Random
from typing import Any

from differential.cases import DELETION, Row, Source, Stage
from differential.key_kinds import KeyKind
from support.hashed_keys import partition_of

BOUNDS = {"0ms": 0, "10m": 600, "1h": 3600, "1d": 86_400}
"""How far rows are out of order, in seconds; within a day they may come in any order."""
LONGEST = 5 * 3600
LAST = 10 * 86_400
"""The seconds after `START` up to which rows are, and of the last rows of a stream without an end."""
MOST_ROWS = 30
CHANGED_IDS = 6
"""The different ids in a stream of changes: few, so that most rows replace others."""


def random_source(random: Random, kind: KeyKind, *, bound: str, starts: int) -> Source:
    """Return an input of a file system or a log, which may have no end, and then may grow.

    `starts` are those of the app before the last one.
    """
    system = random.choice(["files", "log"])
    placings = (
        ["anywhere", "apart"]
        if system == "files"
        else ["anywhere", *(["hashed", "hashed", "hashed by both"] if kind.hashed else [])]
    )
    placing = random.choice(placings)
    partitions = random.randint(1, 4)
    rows = _rows(random, _readable(kind, system), bound)
    endless = system == "log" and random.random() < 0.5
    stages = (Stage(partitions=partitions, end=len(rows)),)
    if endless and random.random() < 0.6:
        stages = _growth(random, partitions, len(rows), starts, at_once=bound == "1d")
    count = stages[-1].partitions
    last = tuple(_last_row(random, _readable(kind, system), placing, number, count) for number in range(count))
    return Source(system=system, placing=placing, rows=rows, stages=stages, last=last if endless else ())


def random_changes(random: Random, kind: KeyKind, *, starts: int, grows: bool) -> Source:
    """Return an input of a log whose rows replace each other by a key, or delete it; it may have no end, and grow.

    It does not if the run may begin after the growth: then a key has rows in two partitions, in no order.
    """
    placing = random.choice(["hashed by id", "hashed by id", *(["hashed", "hashed by both"] if kind.hashed else [])])
    rows = []
    for number, key, other, value, seconds in _rows(random, _readable(kind, "log"), "1d"):
        whole = (number % CHANGED_IDS, key, other, value, seconds)
        if placing != "hashed by id":  # such a key is never null
            whole = (number, other if key is None else key, other, value, seconds)
        rows.append((*whole[:3], DELETION, seconds) if random.random() < 0.2 else whole)
    partitions = random.randint(1, 4)
    stages, endless = (Stage(partitions=partitions, end=len(rows)),), random.random() < 0.3
    if endless and grows and random.random() < 0.6:
        stages = _growth(random, partitions, len(rows), starts, at_once=True)
    count = stages[-1].partitions
    last = tuple(_last_row(random, _readable(kind, "log"), placing, number, count) for number in range(count))
    return Source(
        system="log", placing=placing, rows=tuple(rows), stages=stages, last=last if endless else (), changes=True
    )


def random_table(random: Random, kind: KeyKind, *, avoid: set[str], one_file: bool) -> Source:
    """Return a side input that has each key once, and none of `avoid`; the keys that it has are added to it."""
    system = random.choice(["files", "log"])
    placing = "hashed" if system == "log" and kind.hashed else "apart"
    rows = []
    values = _readable(kind, system).values
    for key in random.sample(values, random.randint(1, len(values))):
        text = kind.canonical(str(key))
        if text not in avoid:
            avoid.add(text)
            size = random.randint(0, 9)
            rows.append((size, key, key, size, 0))
    partitions = 1 if one_file and system == "files" else random.randint(1, 4)
    stages = (Stage(partitions=partitions, end=len(rows)),)
    return Source(system=system, placing=placing, rows=tuple(rows), stages=stages)


def place(source: Source, kind: KeyKind, index: int, row: Row, partitions: int) -> int:
    """Return the partition of a row of an input that has so many partitions."""
    if source.placing == "anywhere":
        return index % partitions
    if source.placing in ("hashed by both", "hashed by id") or (source.placing == "hashed" and row[1] is not None):
        return partition_of(record_key(source, row), partitions)
    if row[1] is None:
        return 0
    known = list(dict.fromkeys(kind.canonical(str(value)) for value in kind.values))
    return known.index(kind.canonical(str(row[1]))) % partitions


def record_key(source: Source, row: Row) -> str:
    """Return the key of a row's record, as a producer writes it; rows are hashed by it."""
    if source.placing == "hashed by both":
        return _written(row)
    return str(row[0] if source.placing == "hashed by id" else row[1])


def _written(row: Row) -> str:
    """Return the key of g and k as a producer writes it."""
    return json.dumps({"g": row[2], "k": row[1]}, ensure_ascii=False, separators=(",", ":"))


def _readable(kind: KeyKind, system: str) -> KeyKind:
    """Return the kind without what the system's messages can't express: JSON has no NaN."""
    if system == "files":
        return kind
    return replace(kind, values=tuple(value for value in kind.values if value == value))  # noqa: PLR0124


def _rows(random: Random, kind: KeyKind, bound: str) -> tuple[Row, ...]:
    def key() -> Any:
        return random.choice(kind.values)

    rows = []
    for _ in range(random.randint(1, MOST_ROWS)):
        seconds = random.choice([random.randint(0, LONGEST), random.randint(0, 10) * 1800])
        maybe = key() if random.random() < 0.9 else None
        rows.append((random.randint(0, 99), maybe, key(), random.choice([None, *range(-9, 10)]), seconds))
    jitter = BOUNDS[bound]
    return tuple(sorted(rows, key=lambda row: row[4] + random.uniform(0, jitter)))


def _growth(random: Random, partitions: int, rows: int, starts: int, *, at_once: bool) -> tuple[Stage, ...]:
    """Return a growth or two. Rows of a new partition may come before the growth is noticed if none can be late."""
    stages = [Stage(partitions=partitions, end=random.randint(0, rows))]
    for _ in range(random.choice([1, 1, 2])):
        before = stages[-1]
        grown = before.partitions * random.choice([2, 2, 3])
        running = random.random() < 0.3 or before.start == starts
        start = random.randint(before.start + (not running), starts)
        reports = random.randint(1, 3) if running else 0
        if running and not at_once:
            stages.append(Stage(partitions=grown, end=before.end, start=start, reports=reports))
        stages.append(Stage(partitions=grown, end=random.randint(before.end, rows), start=start, reports=reports))
        if grown >= 8:
            break
    return (*stages[:-1], replace(stages[-1], end=rows))


def _last_row(random: Random, kind: KeyKind, placing: str, partition: int, partitions: int) -> Row:
    """Return a row that is in this partition, by a key of its own where the ordinary ones are elsewhere."""
    key = random.choice(kind.values)
    if placing == "hashed by id":
        number = next(number for number in itertools.count(100) if partition_of(str(number), partitions) == partition)
        return (number, key, random.choice(kind.values), 1, LAST)
    if placing.startswith("hashed"):
        others = (f"z{number}" if kind.type == "string" else number for number in itertools.count(100))
        keys = [*kind.values, *(next(others) for _ in range(200))]
        if placing == "hashed by both":
            made = ((partition, key, other, 1, LAST) for key in keys for other in kind.values)
            return next(row for row in made if partition_of(_written(row), partitions) == partition)
        key = next(key for key in keys if partition_of(str(key), partitions) == partition)
    return (partition, key, random.choice(kind.values), 1, LAST)
